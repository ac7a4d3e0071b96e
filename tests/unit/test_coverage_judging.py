"""The rules by which entries of the coverage matrix are judged, worked out by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from coverage_matrix.entries import BEYOND_ANY, Key, combined, entry_of
from coverage_matrix.judging import judge, needs_another_run, settled, simultaneous, spread_settled, waits
from coverage_matrix.trying import NEVER_TOO_WIDE
from matrix_entries import GOOD, JOINT, RESPONSE


@pytest.mark.parametrize(
    ("key", "first", "again", "fault"),
    [
        (JOINT, {}, None, ""),
        (JOINT, {"wrong": 1}, None, "1 claims are false"),
        (JOINT, {"coverage": 0.94}, {"wrong": 2}, "2 claims are false"),
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
