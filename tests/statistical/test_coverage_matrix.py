"""The coverage matrix in little: an honest law passes its rules, a sabotaged one does not, and no claim is false."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from conformance.sabotage import sabotage, too_narrow
from coverage_matrix import __main__ as running
from coverage_matrix import trying
from coverage_matrix.entries import BEYOND_ANY, Entry, Key, combined, entry_of
from coverage_matrix.judging import (
    ALPHA,
    judge,
    needs_another_run,
    settled,
    simultaneous,
    spread_settled,
    waits,
)
from coverage_matrix.page import write_page
from coverage_matrix.results import Part, Results
from coverage_matrix.settings import SETTINGS
from coverage_matrix.tables import SKEWS, population
from coverage_matrix.trying import NEVER_TOO_WIDE, Trial, run_trial
from sfumato.laws import LAWS
from sfumato.testing import release_in_memory

pytestmark = pytest.mark.statistical

RESPONSE = SETTINGS[0]
CONTRAST = Key("contrast", "table", "100+")
JOINT = Key("joint", "table", "10-99")
GOOD = Entry(
    answers=20_000, certain=0, wrong=0, intervals=20_000, coverage=0.951, coverage_error=0.0015, below=0.025,
    above=0.024, cut=0.0, spread=1.01, spread_error=0.01,
)  # fmt: skip


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


@pytest.mark.parametrize(
    ("key", "first", "again", "fault"),
    [
        (JOINT, {}, None, ""),
        (JOINT, {"wrong": 1}, None, "1 claims are false"),
        # 0.93 + 3.09 * 0.003 lies below 0.94, 0.93 + 3.09 * 0.004 does not.
        (JOINT, {"coverage": 0.93, "coverage_error": 0.003}, None, "covers 93.0%"),
        (JOINT, {"coverage": 0.93, "coverage_error": 0.004}, None, ""),
        (JOINT, {"coverage": 0.94}, {"coverage": 0.934}, "covers 93.40% in another run"),
        # Three errors of 0.01 below 0.935 need not be known better; two are not enough.
        (
            JOINT,
            {"coverage": 0.94},
            {"coverage": 0.9, "coverage_error": 0.01},
            "covers 90.00% in another run",
        ),
        (JOINT, {"coverage": 0.94}, {"coverage": 0.91, "coverage_error": 0.01}, ""),
        (JOINT, {"coverage": 0.94}, {"coverage": 0.936}, ""),
        (JOINT, {"coverage": 0.995, "coverage_error": 0.001}, None, "covers 99.5% without a reason"),
        (JOINT, {"coverage": 0.995, "coverage_error": 0.001, "cut": 0.5}, None, ""),
        (Key("joint", "table", "1-9"), {"coverage": 0.995, "coverage_error": 0.001}, None, ""),
        (Key("sum", "table", "100+"), {"spread": 1.2}, None, "states 1.20 times the real spread"),
        (Key("sum", "table", "100+"), {"spread": 0.8}, None, "states 0.80 times the real spread"),
        (Key("joint", "table", "100+"), {"spread": 1.2}, None, ""),
    ],
)
def test_the_rules_of_the_matrix(key, first, again, fault):
    """Ten entries: the bound is 3.09 standard errors, and 1 % of ten is 0.001."""
    assert simultaneous(10) == pytest.approx(3.09, abs=0.005)
    one = dataclasses.replace(GOOD, **first)
    other = None if again is None else dataclasses.replace(GOOD, **again)
    assert judge(RESPONSE, key, one, other, 10).fault == fault


@pytest.mark.parametrize(
    ("again", "reached"),
    [
        # Independent answers: 2 * sqrt(0.935 * 0.065 / 1,000) = 0.0156, 3 of them are 0.0234.
        ({"intervals": 1_000, "coverage": 0.951, "coverage_error": 0.00683}, True),
        ({"intervals": 1_000, "coverage": 0.950, "coverage_error": 0.00689}, None),
        ({"intervals": 1_000, "coverage": 0.911, "coverage_error": 0.009}, False),
        ({"intervals": 1_000, "coverage": 0.912, "coverage_error": 0.009}, None),
        # The same with releases whose answers hang together so that the error is twice as large.
        ({"intervals": 1_000, "coverage": 0.951, "coverage_error": 0.01366}, None),
        # Thirty answers that were all held are held with 13 % at 0.935: no proof. A hundred are.
        ({"intervals": 30, "coverage": 1.0, "coverage_error": 0.024}, None),
        ({"intervals": 100, "coverage": 1.0, "coverage_error": 0.007}, True),
        ({"intervals": 6_000, "coverage": 0.9351, "coverage_error": 0.003}, True),
        ({"intervals": 6_000, "coverage": 0.9349, "coverage_error": 0.003}, False),
        ({"intervals": 0, "coverage": math.nan, "coverage_error": math.nan}, None),
    ],
)
def test_further_runs_end_early_where_they_need_not_go_on(again, reached):
    """By hand, from the standard error at 93.5 %."""
    assert settled(dataclasses.replace(GOOD, **again)) is reached


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


def test_runs_add_up_by_their_number_of_intervals():
    """0.951 of 20,000 and 0.9 of 5,000 are 0.9408; errors add up as squares: 4/5 * 0.0015 and 1/5 * 0.006."""
    both = combined([GOOD, dataclasses.replace(GOOD, intervals=5_000, coverage=0.9, coverage_error=0.006)])
    assert both.coverage == pytest.approx(0.9408)
    assert both.coverage_error == pytest.approx((0.0012**2 + 0.0012**2) ** 0.5)
    assert needs_another_run(RESPONSE, JOINT, both)
    assert not needs_another_run(RESPONSE, JOINT, GOOD)


def test_runs_that_say_nothing_of_the_spread_do_not_draw_it_to_nothing():
    """1.01 of 20,000 and 1.11 of 5,000 are 1.03; a run of few answers changes neither that nor its error."""
    silent = dataclasses.replace(GOOD, intervals=25_000, spread=math.nan, spread_error=math.nan)
    wide = dataclasses.replace(GOOD, intervals=5_000, spread=1.11, spread_error=0.03)
    both = combined([GOOD, silent, wide])
    assert both.spread == pytest.approx(1.03)
    assert both.spread_error == pytest.approx((0.008**2 + 0.006**2) ** 0.5)
    assert both.coverage == pytest.approx(0.951)
    assert math.isnan(combined([silent, silent]).spread)


@pytest.mark.parametrize(
    ("real", "stated", "spread"),
    [
        # Two sums of 40 releases: errors of 3 and stated errors of 3; twice as wide; half as wide.
        ((3.0, 3.0), (3.0, 3.0), 1.0),
        ((3.0, 30.0), (6.0, 60.0), 2.0),
        ((6.0, 6.0), (3.0, 3.0), 0.5),
        # Never an error, and two rows are stated: no wider than whole numbers must be. Three are.
        ((0.0, 3.0), (2.0, 3.0), 1.0),
        # Squares over their mean: 2 and 0, 1 and 1; 3 / 1.
        ((0.0, 3.0), (3.0, 3.0), 3**0.5),
        ((0.0, 0.0), (3.0, 3.0), BEYOND_ANY),
        # The excuse is none for what states too little: 1 / 2.5 and 4 / 2.5, 1 and 1; 1.4 / 2.6.
        ((2.0, 3.0), (1.0, 3.0), (1.4 / 2.6) ** 0.5),
        ((3.0, 3.0), (0.0, 0.0), 0.0),
    ],
)  # fmt: skip
def test_the_spread_of_sums_by_hand(real, stated, spread):
    """Every sum counts alike; what states up to two rows is never too wide, and may be too narrow."""
    size = (40, 2)
    arrays = {name: np.zeros(size) for name in ("places", "misses", "certain", "wrong", "is_cut")}
    arrays |= {"errors": np.full(size, real), "variances": np.full(size, stated) ** 2}
    assert entry_of(arrays, 0, NEVER_TOO_WIDE).spread == pytest.approx(spread)
    assert NEVER_TOO_WIDE == 2


def test_numbers_of_other_kinds_have_no_width_that_is_never_too_wide():
    """A share states hundredths: twice its real error is twice too wide."""
    arrays = {name: np.zeros((40, 1)) for name in ("places", "misses", "certain", "wrong", "is_cut")}
    arrays |= {"errors": np.full((40, 1), 0.01), "variances": np.full((40, 1), 0.02) ** 2}
    assert entry_of(arrays, 0).spread == pytest.approx(2)


@pytest.mark.parametrize(
    ("again", "reached"),
    [
        # 1.10 is the limit above, 0.909 below: two errors inside, three outside, or known to 0.02.
        ({"spread": 1.03, "spread_error": 0.034}, True),
        ({"spread": 1.03, "spread_error": 0.036}, None),
        ({"spread": 0.98, "spread_error": 0.035}, True),
        ({"spread": 1.2, "spread_error": 0.03}, False),
        ({"spread": 1.2, "spread_error": 0.034}, None),
        ({"spread": 0.8, "spread_error": 0.03}, False),
        ({"spread": 1.09, "spread_error": 0.02}, True),
        ({"spread": 1.11, "spread_error": 0.02}, False),
        ({"spread": math.nan, "spread_error": math.nan}, None),
    ],
)  # fmt: skip
def test_sums_outside_of_what_is_allowed_are_run_again_until_their_spread_is_known(again, reached):
    """A first run of 1.15 that is not surely outside decides nothing by itself."""
    key = Key("sum", "table", "100+")
    first = dataclasses.replace(GOOD, spread=1.15, spread_error=0.05)
    further = dataclasses.replace(GOOD, **again)
    assert waits(RESPONSE, key, first, None)
    assert judge(RESPONSE, key, first, None, 10).fault == ""
    assert spread_settled(further) is reached
    assert waits(RESPONSE, key, first, further) is (reached is None)
    fault = judge(RESPONSE, key, first, further, 10).fault
    assert fault == (
        f"states {again['spread']:.2f} times the real spread in another run" if reached is False else ""
    )
    # No other kind, and nothing of a law that calls itself conservative.
    assert not waits(RESPONSE, JOINT, first, None)
    assert not waits(dataclasses.replace(RESPONSE, conservative="by its own account"), key, first, None)


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
    assert "None of 6 entries fails. None waits for a second run." in told
    known[0].parts = known[0].parts[:1]
    write_page(known, page)
    told = page.read_text(encoding="utf-8")
    assert "3 of 3 settings and tables were run. None of 6 entries fails. 1 waits for a second run." in told
    known[0].parts = []
    write_page(known, page)
    told = page.read_text(encoding="utf-8")
    assert (
        "2 of 3 settings and tables were run. None of 4 entries fails. None waits for a second run." in told
    )


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
