"""Designs beside each other: the same every time, gone on with where they stopped, beaten only beyond doubt."""

from __future__ import annotations

import itertools
import json
import stat

import numpy as np
import pytest

from sfumato import compare_designs
from sfumato.compare import comparing
from sfumato.compare.designs import RAW, Candidate, candidate, default_candidates, read_candidates
from sfumato.compare.frontier import Comparison
from sfumato.compare.task import Outcome
from sfumato.compare.workload import make_workload, measure_errors
from sfumato.custody.audit.measuring import LINKABLE, MEANINGS
from sfumato.custody.audit.raw import raw_release
from sfumato.errors import ParameterError
from sfumato.methods.base import METHODS
from sfumato.testing import release_in_memory, sample_table

DESIGNS = (
    RAW,
    candidate("randomized-response", {"retention": 0.8}),
    candidate("distribution-resampling", {}),
    candidate("anatomy", {"l_value": 50}),
)


def run(folder, **changes):
    """A small comparison."""
    settings = {"candidates": DESIGNS, "queries": 12, "repeats": 3, "seed": 1, "workers": 1, **changes}
    return compare_designs(sample_table(600), folder, **settings)


def plain(found):
    """What was measured, without the time that it took."""
    return [
        {name: value for name, value in each.to_dict().items() if name != "seconds"}
        for each in found.outcomes
    ]


def same(one, other):
    """Equal, not-a-numbers included."""
    return json.dumps(plain(one)) == json.dumps(plain(other))


def test_the_table_itself_answers_without_error_and_resampling_refuses(tmp_path):
    """Anchors at both ends; what cannot be published is a row with its sentence."""
    found = run(tmp_path / "out")
    raw, _, resampled, refused = found.points
    assert raw.error == 0
    assert resampled.error > 0.3
    assert resampled.risk is not None
    assert resampled.risk.low <= 0 <= resampled.risk.high
    assert refused.refusal
    assert "refused: " in found.summary()
    assert not raw.is_beaten


def test_a_seed_repeats_and_workers_do_not_matter(tmp_path):
    """The same table of results from one process and from two."""
    one, two = run(tmp_path / "one"), run(tmp_path / "two", workers=2)
    assert same(one, two)
    assert not same(one, run(tmp_path / "other", seed=2))


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, monkeypatch, after):
    """Killed after some tasks and started again: only what was missing is made, and the results are the same."""
    whole = run(tmp_path / "whole")
    made = []
    original = comparing.run_task

    def counting(task, *arguments):
        if len(made) == after:
            raise KeyboardInterrupt
        made.append(task)
        return original(task, *arguments)

    monkeypatch.setattr(comparing, "run_task", counting)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped")
    monkeypatch.setattr(comparing, "run_task", original)
    files = set((tmp_path / "stopped" / "results").iterdir())
    assert len(files) == after
    kept = {each: each.stat().st_mtime_ns for each in files}
    assert same(run(tmp_path / "stopped"), whole)
    assert {each: each.stat().st_mtime_ns for each in files} == kept


def test_the_folder_of_a_comparison_is_its_owners_alone(tmp_path):
    """It holds figures about few people and a digest of the rows, from which who knows the others can tell the last."""
    run(tmp_path / "out", candidates=DESIGNS[:1])
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "out" / "run.json").stat().st_mode) == 0o600


def test_other_rows_in_the_same_folder_are_refused(tmp_path):
    """Neither mixed nor overwritten."""
    run(tmp_path / "out")
    with pytest.raises(ParameterError, match="other rows, questions or seed"):
        compare_designs(
            sample_table(500), tmp_path / "out", candidates=DESIGNS, queries=12, repeats=3, seed=1
        )
    with pytest.raises(ParameterError, match="other rows, questions or seed"):
        run(tmp_path / "out", seed=5)


def measured(label, risks, errors):
    """Outcomes with these risks and errors."""
    scores = dict.fromkeys(MEANINGS, 0.0)
    return [
        Outcome(label, place, "", {**scores, LINKABLE: risk}, scores, 0.0, 0.0, error, 0.0, 1.0, 0.0)
        for place, (risk, error) in enumerate(zip(risks, errors, strict=True))
    ]


def test_a_design_is_beaten_only_beyond_the_uncertainty_of_both():
    """Less risk and less error on every split beats; less of one, or by luck, does not."""
    good, bad, mixed, lucky = (Candidate(name, "anatomy", {}) for name in ("good", "bad", "mixed", "lucky"))
    outcomes = (
        *measured("good", [0.10, 0.11, 0.12, 0.11], [0.20, 0.21, 0.20, 0.21]),
        *measured("bad", [0.30, 0.31, 0.32, 0.31], [0.40, 0.41, 0.40, 0.41]),
        *measured("mixed", [0.50, 0.51, 0.52, 0.51], [0.10, 0.11, 0.10, 0.11]),
        *measured("lucky", [0.00, 0.40, 0.10, 0.30], [0.21, 0.22, 0.21, 0.22]),
    )
    found = Comparison((good, bad, mixed, lucky), outcomes, "s", 4, 1)
    assert [each.is_beaten for each in found.points] == [False, True, False, False]
    assert found.cheapest(0.2).candidate.label == "good"
    assert found.cheapest(0.01) is None


def test_errors_by_hand():
    """Every question refused costs one; exact answers cost nothing, and their intervals hold."""
    table = sample_table(600)
    questions = make_workload(table.schema, 24, 3)
    exact = measure_errors(raw_release(table), table.source, questions)
    assert (exact.error, exact.refused, exact.covered) == (0.0, 0.0, 1.0)
    release = release_in_memory(table, METHODS.members["distribution-resampling"](), seed=1)
    found = measure_errors(release, table.source, questions)
    joint = [
        each for each in questions if "one sensitive" in each.stratum and not each.stratum.startswith("1")
    ]
    assert found.refused == len(joint) / len(questions)
    with pytest.raises(ParameterError, match="one of each kind"):
        make_workload(table.schema, 2, 3)


def test_every_command_publishes_the_design():
    """Parameters as the command line reads them give back the design."""
    from sfumato.cli.parameters import design_from

    for each in default_candidates()[1:]:
        words = each.command("people.csv", "schema.toml").split()
        settings = [word for before, word in itertools.pairwise(words) if before == "--set"]
        assert design_from(each.method, settings, None) == each.design()
    assert {each.method for each in default_candidates()} - {""} == set(METHODS.members)


def test_all_problems_of_a_designs_file_are_told_at_once(tmp_path):
    """Unknown method, unknown parameter, no method: each with its line."""
    path = tmp_path / "designs.toml"
    path.write_text(
        '[[design]]\nmethod = "anatomy"\nl_value = 3\n\n[[design]]\nmethod = "anatomie"\n\n[[design]]\nl_value = 2\n'
        '\n[[design]]\nmethod = "anatomy"\nl = 2\n',
        encoding="utf-8",
    )
    with pytest.raises(ParameterError) as refused:
        read_candidates(path)
    for line in ("line 5:", "line 8:", "line 11:"):
        assert line in str(refused.value)
    path.write_text('[[design]]\nmethod = "anatomy"\nl_value = 3\n', encoding="utf-8")
    assert [each.label for each in read_candidates(path)] == ["the table itself", "anatomy l_value=3"]


def test_results_are_written_for_other_tools(tmp_path):
    """A row for each design and split."""
    from pyarrow import parquet

    found = run(tmp_path / "out")
    found.write_parquet(tmp_path / "all.parquet")
    rows = parquet.read_table(tmp_path / "all.parquet")
    assert rows.num_rows == len(DESIGNS) * 3
    assert np.isnan(rows.column("error").to_numpy()).sum() == 3
