"""Designs beside each other: the same every time, gone on with where they stopped, beaten only beyond doubt."""

from __future__ import annotations

import dataclasses
import json
import stat
import sys

import numpy as np
import pyarrow as pa
import pytest

from coded_tables import table_of, with_learned_lists
from sfumato import Schema, compare_designs, read_table
from sfumato.compare import run as comparing
from sfumato.compare.frontier import Comparison
from sfumato.compare.grid import RAW, Candidate, candidate, default_candidates, read_candidates
from sfumato.compare.trial import RARE_WITH, RARE_WITHOUT, SURE_RARE_WITH, Outcome
from sfumato.custody.audit.scores import LINKABLE, MEANINGS
from sfumato.errors import DataError, MissingExtraError, ParameterError
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.methods.base import METHODS
from sfumato.report.risk_pages import describe_frontier
from sfumato.testing import sample_table

DESIGNS = (
    RAW,
    candidate("randomized-response", {"retention": 0.8}),
    candidate("distribution-resampling", {}),
    candidate("anatomy", {"l_value": 50}),
)


def run(folder, **changes):
    """A small comparison."""
    settings = {"candidates": DESIGNS, "queries": 12, "repeats": 3, "seed": 1, "workers": 0, **changes}
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


def test_designs_that_suppress_attributes_go_on_beside_the_others(tmp_path):
    """Questions and tables of an attribute whose values were all merged are refused, and priced as refusals."""
    several = [RAW, *(candidate("generalization", {"k": k}) for k in (2, 50, 300))]
    asked = {"queries": 24, "repeats": 3, "seed": 1, "workers": 0, "tables": [["region"], ["region", "job"]]}
    table = with_learned_lists(sample_table(400))
    found = compare_designs(table, tmp_path / "job", candidates=several, classifier_repeats=1, **asked)
    assert not any(each.refusal for each in found.points)
    refused = [each.numbers["refused"] for each in found.points]
    assert refused == sorted(refused)
    assert refused[1] == 0 < refused[2] < refused[3] < 1
    names = [each.numbers["total variation of region"] for each in found.points]
    assert names[0] == pytest.approx(0)
    # Without an answer the regions are taken to be equally frequent.
    assert names[2] == pytest.approx(names[3])
    assert names[2] > 0.05
    # Nobody can be attacked through an attribute that was not published.
    attacked = compare_designs(table, tmp_path / "region", candidates=several, sensitive="region", **asked)
    assert [bool(each.refusal) for each in attacked.points] == [False, False, True, True]
    assert "'region' was left out of the release" in attacked.points[2].refusal
    assert "refused" in attacked.summary()


def test_a_seed_repeats_and_workers_do_not_matter(tmp_path):
    """The same table of results from this process and from two of their own."""
    one, two = (run(tmp_path / str(number), workers=number, candidates=DESIGNS[:2]) for number in (0, 2))
    assert same(one, two)
    assert not same(one, run(tmp_path / "other", seed=2, candidates=DESIGNS[:2]))


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


NUMBERS = {"refused": 0.0, "covered": 1.0, RARE_WITH: 0.0, RARE_WITHOUT: 0.0, SURE_RARE_WITH: 0.0}


def measured(label, risks, errors):
    """Outcomes with these risks and errors."""
    scores = dict.fromkeys(MEANINGS, 0.0)
    return [
        Outcome(label, place, "", {**scores, LINKABLE: risk}, scores, {}, {**NUMBERS, "error": error}, 0.0)
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


def test_errors_have_intervals_over_splits():
    """Errors of .2, .3 and .4: t of 2 degrees is 4.3027, a third and a quarter for splits that overlap, cut to what can be."""
    one = Candidate("one", "anatomy", {})
    found = Comparison((one,), tuple(measured("one", [0.1, 0.11, 0.1], [0.2, 0.3, 0.4])), "s", 3, 1)
    half = 4.30265 * np.sqrt((1 / 3 + 1 / 4) * 0.01)
    assert found.points[0].error_interval == pytest.approx((0, 0.3 + half), abs=1e-4)
    told = found.to_dict()["designs"][0]
    assert (told["error_low"], told["error_high"]) == found.points[0].error_interval
    wide = Comparison((one,), tuple(measured("one", [0.1, 0.11, 0.1], [0.49, 0.5, 0.51])), "s", 3, 1)
    assert wide.points[0].error_interval == pytest.approx((0.5 - half / 10, 0.5 + half / 10), abs=1e-5)


def test_grids_are_cut_to_what_the_table_allows():
    """A value held by three fifths allows no group of two; four settings and more stay of every other method."""
    skewed = table_of([3, 4], [np.arange(500) % 3, np.where(np.arange(500) < 300, 0, 1 + np.arange(500) % 3)])
    by_method = {}
    for each in default_candidates(skewed):
        by_method.setdefault(each.method, []).append(each)
    assert [each.parameters for each in by_method["anatomy"]] == [{"l_value": 2}]
    assert set(by_method) - {""} == set(METHODS.members)
    for method, kept in by_method.items():
        if method not in ("", "anatomy", "splu-gen", "distribution-resampling"):
            assert len(kept) >= 4
    even = table_of([3, 12], [np.arange(1200) % 3, np.arange(1200) % 12])
    gammas = [each.parameters["gamma"] for each in default_candidates(even) if each.method == "splu-gen"]
    assert gammas == [2, 3, 4, 5, 6, 8, 10]


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


def test_designs_in_one_line_are_read_and_their_faults_told_by_number(tmp_path):
    """An array is TOML as well; there is no line of [[design]] to name."""
    path = tmp_path / "designs.toml"
    path.write_text(
        'design = [{method = "anatomy", l_value = 3}, {method = "splu-gen", gamma = 2}]\n', encoding="utf-8"
    )
    assert [each.label for each in read_candidates(path)][1:] == ["anatomy l_value=3", "splu-gen gamma=2"]
    path.write_text('design = [{method = "anatomy", l_value = 3}, {method = "nothing"}]\n', encoding="utf-8")
    with pytest.raises(ParameterError, match="design 2: "):
        read_candidates(path)


def test_the_same_design_twice_and_text_that_is_none_are_refused(tmp_path):
    """Twice the same would count its splits twice; other encodings, no file and lines in a text are told."""
    path = tmp_path / "designs.toml"
    one = '[[design]]\nmethod = "anatomy"\nl_value = 3\n'
    path.write_text(one + "# again\n" + one, encoding="utf-8")
    with pytest.raises(ParameterError, match="line 5: the same design as line 1"):
        read_candidates(path)
    path.write_bytes(b"\xff\xfe" + one.encode())
    with pytest.raises(ParameterError, match="not UTF-8"):
        read_candidates(path)
    with pytest.raises(ParameterError, match="cannot be read"):
        read_candidates(tmp_path / "nothing.toml")


def test_results_are_written_for_other_tools(tmp_path):
    """A row for each design and split."""
    from pyarrow import parquet

    found = run(tmp_path / "out")
    found.write_parquet(tmp_path / "all.parquet")
    rows = parquet.read_table(tmp_path / "all.parquet")
    assert rows.num_rows == len(DESIGNS) * 3
    assert np.isnan(rows.column("error").to_numpy(zero_copy_only=False).astype(float)).sum() == 3


def test_too_few_people_and_unasked_for_questions_are_refused(tmp_path):
    """A fifth of a hundred rows gives no interval; a workload that no row satisfies asks nothing."""
    with pytest.raises(DataError, match="150 rows or more"):
        compare_designs(sample_table(100), tmp_path / "few", candidates=DESIGNS)
    nobody = "sex = 'Female' AND sex = 'Male'"
    with pytest.raises(ParameterError, match="no row satisfies any"):
        run(tmp_path / "none", questions=[nobody])
    # Nothing is left behind that would refuse the next try.
    assert not (tmp_path / "none").exists()
    asked = run(tmp_path / "own", questions=[nobody, "job = 'Tech' OR age < 35"])
    assert asked.workload == "own questions"
    assert asked.points[0].error == 0
    with pytest.raises(ParameterError, match="other rows, questions or seed"):
        run(tmp_path / "own", questions=["job = 'Tech'"])


def test_a_classifier_attacks_on_some_splits_and_is_named_where_it_finds_more(tmp_path, monkeypatch):
    """It knows no law: where it does better than who does, the law's attacker is weak."""
    found = run(tmp_path / "out", classifier_repeats=2, candidates=DESIGNS[:2])
    assert [bool(each.classifier) for each in found.outcomes if each.label == RAW.label] == [
        True,
        True,
        False,
    ]
    assert found.points[0].classifier is not None

    def where_it_does_better(splits):
        outcomes = [
            dataclasses.replace(each, classifier=dict.fromkeys(each.classifier, 1.5))
            if each.label == RAW.label and each.repeat < splits
            else each
            for each in found.outcomes
        ]
        return dataclasses.replace(found, outcomes=tuple(outcomes)).weak_attackers()

    assert RAW.label in where_it_does_better(2)
    # On one of two splits it may be luck.
    assert RAW.label not in where_it_does_better(1)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"sfumato\[learning\]"):
        run(tmp_path / "without", classifier_repeats=1)
    assert not (tmp_path / "without").exists()


def test_designs_whose_intervals_hold_too_seldom_are_marked_and_not_recommended():
    """The cheapest design must be honest."""
    dishonest, honest = (Candidate(name, "anatomy", {}) for name in ("dishonest", "honest"))
    low = [
        dataclasses.replace(each, numbers={**each.numbers, "covered": 0.5})
        for each in measured("dishonest", [0.1, 0.11, 0.1], [0.1, 0.1, 0.11])
    ]
    outcomes = (*low, *measured("honest", [0.1, 0.11, 0.1], [0.3, 0.3, 0.31]))
    found = Comparison((dishonest, honest), outcomes, "s", 3, 1)
    assert found.cheapest(0.5).candidate.label == "honest"
    assert found.points[0].standing == "frontier, covers too little"


def test_caps_stand_beside_risks_and_more_than_they_allow_is_named():
    """A promise of epsilon .1 allows little; a risk of .5 with it is refuted, one of .01 is not."""
    much, little = (Candidate(name, "noisy-marginals", {}) for name in ("much", "little"))
    scores = dict.fromkeys(MEANINGS, 0.2)
    outcomes = tuple(
        Outcome(
            label, place, "", {**scores, LINKABLE: 0.2 + risk}, scores, {}, {**NUMBERS, "error": 0.1}, 0.0
        )
        for label, risks in (("much", (0.5, 0.51, 0.5)), ("little", (0.01, 0.011, 0.01)))
        for place, risk in enumerate(risks)
    )
    promise = (DifferentialPrivacy(epsilon=0.1),)
    found = Comparison((much, little), outcomes, "s", 3, 1, promises=(promise, promise))
    assert found.refuted() == ("much",)
    assert found.points[1].cap == pytest.approx(0.2 * np.exp(0.1))
    assert "more be found than its promise allows" in found.summary()


@pytest.mark.parametrize("role", ["household", "unit", "identifier"])
def test_that_households_were_split_is_told(tmp_path, role):
    """As an audit tells it: in the summary, in the file and on the page; where there are none nothing is."""
    draw = np.random.default_rng(4)
    rows = {
        "place": draw.choice(list("abc"), 600),
        "job": draw.choice(list("uvwxyz"), 600),
        "home": np.arange(600) // 3,
    }
    schema = Schema.from_dict(
        {
            "attributes": {
                "place": {"role": "quasi-identifier", "categories": list("abc")},
                "job": {"role": "sensitive", "categories": list("uvwxyz")},
                "home": {"role": role},
            }
        }
    )
    found = compare_designs(
        read_table(pa.table(rows), schema),
        tmp_path / "out",
        candidates=(RAW, candidate("distribution-resampling", {})),
        queries=6,
        repeats=3,
        seed=1,
        workers=0,
    )
    told = "Rows of one unit or household were not kept together when people were held out."
    page = str(describe_frontier(found, data="DATA", schema="SCHEMA"))
    for text in (found.summary(), found.to_dict()["note"], page):
        assert (told in text) == (role != "identifier")
