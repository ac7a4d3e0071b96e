"""The coverage matrix in little: an honest law passes its rules, a sabotaged one does not, and no claim is false."""

from __future__ import annotations

import dataclasses
import math

import pytest

from conformance.sabotage import sabotage, too_narrow
from coverage_matrix import __main__ as running
from coverage_matrix import trying
from coverage_matrix.entries import Key
from coverage_matrix.judging import ALPHA, judge
from coverage_matrix.page import write_page
from coverage_matrix.results import Part, Results
from coverage_matrix.settings import SETTINGS
from coverage_matrix.tables import SKEWS, population
from coverage_matrix.trying import Trial, run_trial
from matrix_entries import GOOD, JOINT, RESPONSE
from sfumato.laws import LAWS
from sfumato.testing import release_in_memory

pytestmark = pytest.mark.statistical

CONTRAST = Key("contrast", "table", "100+")


def faults_of(trial, alpha):
    """What the matrix's own rules find, with bounds that all entries keep together with probability 1 - alpha."""
    entries = math.ceil(len(trial.entries) * ALPHA / alpha)
    return {
        key: found
        for key, entry in trial.entries.items()
        if (found := judge(RESPONSE, key, entry, None, entries).fault)
    }


def test_the_matrix_passes_an_honest_law_and_not_a_sabotaged_one(alarm_budget, monkeypatch):
    """Null: no entry's simultaneous bound excludes 94 %, no claim is false. 25 releases, asymptotic by release.

    Twin: standard errors 30 % too small, which cover 83 %; the joint cells of 10 to 99 have 40 answers a release.
    """
    check = alarm_budget.draw("the coverage matrix in little")
    seed = check.seed % 2**20
    honest = run_trial(RESPONSE, "strong associations", releases=25, seed=seed)
    assert faults_of(honest, check.alpha) == {}
    sabotage(monkeypatch, LAWS.get("perturbed-rows"), too_narrow)
    only = frozenset({JOINT})
    broken = run_trial(RESPONSE, "strong associations", releases=25, seed=seed, only=only)
    assert "covers 8" in faults_of(broken, check.alpha)[JOINT]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_nothing_that_claims_no_error_is_wrong_in_any_setting(setting):
    """Two releases of each; certain claims are never false, so that no alarm rate is needed."""
    trial = run_trial(setting, "strong associations", releases=2, seed=3)
    assert trial.unpublished == 0, trial.reason
    assert trial.entries
    assert {key: each.wrong for key, each in trial.entries.items() if each.wrong} == {}


def test_a_false_claim_is_seen(monkeypatch):
    """Estimates called exact are wrong nearly always; one of the four tables is of public attributes, and right."""

    def certain(estimates):
        return dataclasses.replace(estimates, certainty=estimates.certainty * 0 + 2)

    sabotage(monkeypatch, LAWS.get("perturbed-rows"), certain)
    trial = run_trial(RESPONSE, "strong associations", releases=1, seed=3, only=frozenset({JOINT}))
    assert trial.entries[JOINT].wrong > 0.6 * trial.entries[JOINT].answers
    assert "claims are false" in judge(RESPONSE, JOINT, trial.entries[JOINT], None, 1).fault


def test_what_waits_is_asked_where_it_comes_up_and_nothing_else(monkeypatch):
    """Six people have the rarest job: tables in which ten or more have it are one in twelve, and only they are published."""
    published = []

    def told(table, design, *, seed):
        published.append(table.count_by(("job",)).counts[-2])
        return release_in_memory(table, design, seed=seed)

    monkeypatch.setattr(trying, "release_in_memory", told)
    rare = Key("margin", "table", "10-99")
    trial = run_trial(RESPONSE, "no association", releases=60, seed=5, only=frozenset({rare}))
    # The first release says what can be asked.
    assert all(10 <= each < 100 for each in published[1:])
    assert 1 < len(published) < 20
    assert trial.entries.keys() == {rare}
    assert trial.entries[rare].answers == sum(10 <= each < 100 for each in published)


def test_intervals_that_are_made_otherwise_are_known_by_their_widths_and_made_anew(tmp_path, monkeypatch):
    """The same law gives the same widths, and nothing is run; one that states other errors is run with the same seeds."""
    first = run_trial(RESPONSE, SKEWS[0], releases=2, seed=1)
    further = Part(2, 400, Trial({JOINT: GOOD}))
    Results(RESPONSE, SKEWS[0], [Part(1, 2, first), further]).write(tmp_path)
    before = Results(RESPONSE, SKEWS[0]).path(tmp_path).read_bytes()
    running.make_anew([RESPONSE], math.inf, tmp_path)
    assert Results(RESPONSE, SKEWS[0]).path(tmp_path).read_bytes() == before

    sabotage(monkeypatch, LAWS.get("perturbed-rows"), too_narrow)
    running.make_anew([RESPONSE], -math.inf, tmp_path)
    assert Results(RESPONSE, SKEWS[0]).path(tmp_path).read_bytes() == before
    running.make_anew([RESPONSE], math.inf, tmp_path)
    found = Results.of(RESPONSE, SKEWS[0], tmp_path)
    today = run_trial(RESPONSE, SKEWS[0], releases=2, seed=1)
    assert {key: each.to_dict() for key, each in found.first.items()} == {
        key: each.to_dict() for key, each in today.entries.items()
    }
    assert today.entries[JOINT].to_dict() != first.entries[JOINT].to_dict()
    assert found.again(JOINT) is None
    assert not found.were_made_otherwise()


def test_what_comes_out_the_same_keeps_its_further_runs_and_their_seeds():
    """One entry is another: its further runs are forgotten, those of the other are not; without any left, seeds are free."""
    other = dataclasses.replace(GOOD, coverage=0.9)
    further = Part(2, 400, Trial({JOINT: GOOD, CONTRAST: GOOD}))
    results = Results(
        RESPONSE,
        SKEWS[0],
        [Part(1, 400, Trial({JOINT: GOOD, CONTRAST: GOOD})), further, Part(3, 400, Trial({JOINT: GOOD}))],
    )
    assert results.replace_first(Trial({JOINT: other, CONTRAST: GOOD})) == 1
    assert results.first[JOINT] == other
    assert results.again(JOINT) is None
    assert results.again(CONTRAST) == GOOD
    assert [part.seed for part in results.parts] == [1, 2, 3]
    assert results.replace_first(Trial({JOINT: other, CONTRAST: other})) == 1
    assert [part.seed for part in results.parts] == [1]


def test_one_kind_of_answers_is_asked_anew_and_others_stay(tmp_path, monkeypatch):
    """The same as a first run would say of it today; nothing else changes, and its further runs are forgotten."""
    first = run_trial(RESPONSE, SKEWS[0], releases=3, seed=1)
    results = Results(RESPONSE, SKEWS[0])
    results.parts = [Part(1, 3, first), Part(2, 400, Trial({JOINT: GOOD, CONTRAST: GOOD}))]
    results.write(tmp_path)
    sabotage(monkeypatch, LAWS.get("perturbed-rows"), too_narrow)
    running.ask_anew([RESPONSE], ["contrast"], math.inf, tmp_path)
    found = Results.of(RESPONSE, SKEWS[0], tmp_path)
    today = run_trial(RESPONSE, SKEWS[0], releases=3, seed=1)
    for name, trial in (("contrast", today), ("joint", first), ("share", first)):
        expected = {key: each.to_dict() for key, each in trial.entries.items() if key.kind == name}
        assert {key: each.to_dict() for key, each in found.first.items() if key.kind == name} == expected
        assert found.parts[0].trial.widths[f"{name}, table"] == pytest.approx(
            trial.widths[f"{name}, table"], abs=1e-4
        )
    assert today.widths["contrast, table"] < first.widths["contrast, table"]
    assert found.again(CONTRAST) is None
    assert found.again(JOINT) == GOOD


def test_a_run_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    """What is there is not run again; what covered too little is, with fresh seeds; the page says what waits."""
    asked = []
    small = Key("joint", "table", "1-9")

    def told(setting, skew, *, releases, seed, only):
        assert setting is RESPONSE
        asked.append((skew, releases, seed, only))
        low = dataclasses.replace(GOOD, coverage=0.94, coverage_error=0.006)
        return Trial(
            {JOINT: low, small: GOOD} if seed == 1 else {JOINT: dataclasses.replace(low, coverage=0.938)}
        )

    monkeypatch.setattr(running, "run_trial", told)
    # Time is over at once: nothing is begun.
    running.run_missing([RESPONSE], -math.inf, tmp_path)
    assert asked == []
    running.run_missing([RESPONSE], math.inf, tmp_path)
    assert asked[:3] == [(skew, 400, 1, None) for skew in SKEWS]
    # 0.938 with an error of 0.006 decides nothing; four such runs together are known to 0.003. Parts double.
    wanted = [
        (SKEWS[0], number, seed, {JOINT}) for seed, number in ((2, 400), (3, 400), (4, 800), (5, 1_600))
    ]
    assert asked[3:7] == wanted
    asked.clear()
    running.run_missing([RESPONSE], math.inf, tmp_path)
    assert asked == []
    known = [Results.of(RESPONSE, skew, tmp_path) for skew in SKEWS]
    assert known[0].again(JOINT).coverage_error == pytest.approx(0.003)
    page = tmp_path / "coverage.md"
    assert write_page(known, page) == 0
    told = page.read_text(encoding="utf-8")
    assert "*93.8*" in told
    assert "None of 6 entries fails. None waits for the end of a second run." in told
    known[0].parts = known[0].parts[:1]
    write_page(known, page)
    told = page.read_text(encoding="utf-8")
    assert (
        "3 of 3 settings and tables were run. None of 6 entries fails. 1 waits for the end of a second run."
        in told
    )
    known[0].parts = []
    write_page(known, page)
    told = page.read_text(encoding="utf-8")
    assert (
        "2 of 3 settings and tables were run. None of 4 entries fails. None waits for the end of a second run."
        in told
    )


def test_what_fails_is_named_on_the_page_and_ends_in_another_exit_code(tmp_path, monkeypatch):
    """One entry of two covers 90 %, known to 0.15 points."""
    low = dataclasses.replace(GOOD, coverage=0.9)
    known = [Results(RESPONSE, SKEWS[1], [Part(1, 400, Trial({JOINT: low, CONTRAST: GOOD}))])]
    page = tmp_path / "coverage.md"
    assert write_page(known, page) == 1
    told = page.read_text(encoding="utf-8")
    assert "1 of 2 entries fail" in told
    assert f"| {RESPONSE.name} | {SKEWS[1]} | joint | table | 10-99 | covers 90.0% |" in told
    assert "**90.0 fails**" in told
    monkeypatch.setattr("sys.argv", ["coverage_matrix", "--page-only"])
    for faults in (0, 1):
        monkeypatch.setattr(running, "write_page", lambda _, faults=faults: faults)
        assert running.main() == faults


@pytest.mark.parametrize("skew", SKEWS)
def test_tables_have_counts_of_every_size(skew):
    """None, a few, tens and hundreds among the cells of two attributes; nobody has the last job."""
    table = population(skew)
    counts = table.count_by(("region", "job")).counts
    jobs = counts.sum(axis=0)
    assert jobs[-1] == 0
    assert jobs[-2] == 6
    assert (counts == 0).any()
    assert ((counts > 9) & (counts < 100)).any()
    assert (counts >= 100).any()


def test_the_page_says_which_results_cannot_be_held_against_the_intervals_of_today(tmp_path):
    """Those without widths of all that they answer; what was asked anew since is told apart."""
    page = tmp_path / "coverage.md"
    known = [
        Results(RESPONSE, SKEWS[0], [Part(1, 400, Trial({JOINT: GOOD, CONTRAST: GOOD}))]),
        Results(
            RESPONSE,
            SKEWS[1],
            [Part(1, 400, Trial({JOINT: GOOD, CONTRAST: GOOD}, widths={"contrast, table": 9.0}))],
        ),
        Results(RESPONSE, SKEWS[2], [Part(1, 400, Trial({JOINT: GOOD}, widths={"joint, table": 9.0}))]),
    ]
    write_page(known, page)
    told = page.read_text(encoding="utf-8").split("## What was asked of earlier code")[1]
    assert f"- all answers: randomized-response on {SKEWS[0]}." in told
    assert f"- all but contrast: randomized-response on {SKEWS[1]}." in told
    assert SKEWS[2] not in told


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_what_is_stored_was_made_by_the_intervals_of_today(setting):
    """By the widths of two releases; where they are others, ``make coverage COVERAGE=--check`` runs it anew."""
    stored = Results.of(setting, "long tail")
    assert stored.parts
    assert not stored.were_made_otherwise()
