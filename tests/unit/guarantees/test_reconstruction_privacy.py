"""Reconstruction privacy: caps, violations and what is refused."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.guarantees.reconstruction_privacy import (
    ReconstructionPrivacy,
    chernoff_cap,
    exact_caps,
    exact_tails,
    exact_uniform_cap,
    largest_relative_error,
    normal_cap,
    require_achievable,
)
from sfumato.immutable import MOST_ROWS
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale

PAPER = {"relative_error": 0.3, "error_probability": 0.3}

# The curves of figure 4.1, recomputed from eq. 4.11; frequency to the caps at retention .1, .3, .5, .7, .9.
RETENTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)
CAPS_OF_TWO = {
    0.5: (5351.0, 594.6, 214.0, 109.2, 66.1),
    0.6: (3790.3, 437.7, 163.5, 86.5, 54.1),
    0.7: (2839.3, 339.7, 131.0, 71.3, 45.8),
    0.8: (2215.6, 274.1, 108.7, 60.6, 39.7),
    0.9: (1783.7, 227.5, 92.5, 52.6, 35.1),
}
CAPS_OF_FIFTY = {
    0.1: (7491.4, 1308.0, 642.1, 415.0, 303.9),
    0.3: (1426.9, 343.5, 190.3, 131.0, 99.8),
    0.5: (727.7, 195.0, 111.3, 77.8, 59.7),
    0.7: (480.5, 135.9, 78.6, 55.3, 42.6),
    0.9: (356.7, 104.2, 60.8, 42.9, 33.1),
}


def promise(**changes):
    """A promise with the paper's numbers."""
    settings = {"sensitive": "job", "groups": ("sex", "age"), "retention": 0.5, "size": 10, **PAPER}
    return ReconstructionPrivacy(**{**settings, **changes})


@pytest.mark.parametrize(("size", "table"), [(2, CAPS_OF_TWO), (50, CAPS_OF_FIFTY)])
def test_chernoff_caps_are_those_of_figure_4_1(size, table):
    """Every cell of both tables to its printed digit."""
    for frequency, expected in table.items():
        caps = [float(chernoff_cap(frequency, retention=p, size=size, **PAPER)) for p in RETENTIONS]
        assert [round(cap, 1) for cap in caps] == list(expected)


@pytest.mark.parametrize(
    ("frequency", "retention", "size", "expected"),
    [(0.75, 0.8, 2, 52.02), (1.0, 0.5, 2, 80.26), (0.1, 0.5, 50, 642.12)],
)
def test_chernoff_cap_of_the_worked_examples(frequency, retention, size, expected):
    """Three caps computed by hand from eq. 4.9."""
    assert round(float(chernoff_cap(frequency, retention=retention, size=size, **PAPER)), 2) == expected


@pytest.mark.parametrize(("retention", "size", "delta"), [(0.2, 10, 0.3), (0.5, 10, 0.1), (0.1, 50, 0.3)])
def test_every_size_up_to_the_exact_cap_keeps_the_tail_and_the_next_does_not(retention, size, delta):
    """For every number of rows with the value."""
    cap = exact_uniform_cap(retention=retention, size=size, relative_error=0.3, error_probability=delta)

    def smallest(rows):
        return min(
            exact_tails(rows, count, retention=retention, size=size, relative_error=0.3).lower
            for count in range(1, rows + 1)
        )

    assert cap >= 1
    assert all(smallest(rows) >= delta for rows in range(1, cap + 1))
    assert smallest(cap + 1) < delta


def test_exact_caps_of_groups_are_between_the_uniform_cap_and_chernoffs():
    """The exact test is stricter than the bound; a group's own composition cannot be worse than the worst."""
    counts, starts = np.array([90, 10, 50, 30, 20]), np.array([0, 2])
    options = {"retention": 0.2, "size": 10, **PAPER}
    exact = exact_caps(counts, starts, **options)
    bound = chernoff_cap([0.9, 0.5], **options)
    assert (exact >= exact_uniform_cap(**options)).all()
    assert (exact < bound).all()


def test_the_uniform_cap_is_below_every_cap_by_group():
    """Chernoff's cap falls with the frequency, so frequency 1 gives the smallest."""
    some = promise()
    assert some.uniform_cap <= some.caps_at(np.linspace(0.1, 1, 100)).min()
    assert some.uniform_cap == 58


def test_violations_are_groups_larger_than_their_cap():
    """A group of 300 at frequency 1/3 passes at 58.9 rows for frequency 1 only when it is small enough."""
    counts, starts = np.array([100, 100, 100, 20]), np.array([0, 3])
    caps = promise().group_caps(counts, starts)
    assert (promise().are_violated(counts, starts) == (np.array([300, 20]) > caps)).all()


def test_the_sentence_states_the_true_probabilities():
    """A reader sees what the bound is worth."""
    some = promise()
    tails = some.true_tails(58, 1.0)
    assert f"within 30 % {tails.within:.3g}" in some.sentence
    assert f"{100 * tails.within:.0f} %" in some.plain_words
    assert "58 rows" in some.sentence
    assert "a size of its own" in promise(cap="group").sentence


def test_relative_error_beyond_corollary_6_is_refused_with_the_range():
    """At retention .5 and 10 categories the range ends at 1.1."""
    assert largest_relative_error(0.5, 10) == pytest.approx(1.1)
    with pytest.raises(ParameterError, match=r"at most .* = 1\.1 .*got 1\.2"):
        require_achievable(
            retention=0.5, size=10, relative_error=1.2, error_probability=0.3, bound="chernoff"
        )


@pytest.mark.parametrize(("bound", "error_probability"), [("chernoff", 0.999), ("exact", 0.6)])
def test_a_cap_below_one_row_is_refused(bound, error_probability):
    """One row alone may already tell too much."""
    with pytest.raises(ParameterError, match="below one row"):
        require_achievable(
            retention=0.9, size=2, relative_error=1.0, error_probability=error_probability, bound=bound
        )


@pytest.mark.parametrize("error_probability", [0.0, 1.0, -0.1])
def test_an_error_probability_outside_the_open_interval_is_refused(error_probability):
    """Zero caps nothing and one leaves nothing."""
    with pytest.raises(ParameterError, match="error_probability"):
        promise(error_probability=error_probability)


def test_a_group_as_large_as_its_cap_keeps_the_promise():
    """Exact caps are whole numbers: 3 rows of one value at retention .2 of 10 pass, 4 do not."""
    exact = promise(retention=0.2, bound="exact")
    assert exact.uniform_cap == 3
    assert exact.are_violated(np.array([3, 4]), np.array([0, 1])).tolist() == [False, True]


def test_caps_of_groups_agree_with_single_tails():
    """Every sample size up to the cap keeps the tail for both roundings of every value, and the next does not."""
    counts, starts = np.array([90, 10, 50, 30, 20, 1, 1, 7]), np.array([0, 2, 5, 7])
    options = {"retention": 0.2, "size": 10, "relative_error": 0.3}
    caps = exact_caps(counts, starts, **options, error_probability=0.3)

    def smallest(rows, group):
        roundings = {
            rounding(rows * each / sum(group)) for each in group for rounding in (math.floor, math.ceil)
        }
        return min(exact_tails(rows, count, **options).lower for count in roundings if count)

    groups = [[90, 10], [50, 30, 20], [1, 1], [7]]
    for cap, group in zip(caps, groups, strict=True):
        assert all(smallest(rows, group) >= 0.3 for rows in range(1, cap + 1))
        assert smallest(cap + 1, group) < 0.3
    found = promise(retention=0.2, bound="exact").group_caps(counts, starts)
    assert found.tolist() == caps.tolist()


def test_the_caps_of_groups_by_chernoff_use_the_largest_frequency():
    """Two groups, 1/2 and 1: eq. 4.9 by hand, -2 (f/2 + .05) ln .3 / (.15 f)^2."""
    caps = promise().group_caps(np.array([1, 2, 1, 5]), np.array([0, 3]))
    expected = [-2 * (f / 2 + 0.05) * math.log(0.3) / (0.15 * f) ** 2 for f in (0.5, 1.0)]
    assert caps == pytest.approx(expected)


def test_the_cap_of_exactly_one_row_is_enough():
    """A tail of one row with the value is 1 - q1; at an error probability of just that, one row may be used."""
    edge = {"retention": 0.5, "size": 2, "relative_error": 0.3, "bound": "exact"}
    require_achievable(**edge, error_probability=0.25)
    with pytest.raises(ParameterError, match="below one row"):
        require_achievable(**edge, error_probability=0.2501)


def test_the_end_of_the_range_of_corollary_6_is_in_it():
    """1 + .5/(2 * .5 * f): 1.5 at frequency 1, 2 at 1/2."""
    assert largest_relative_error(0.5, 2) == 1.5
    assert largest_relative_error(0.5, 2, frequency=0.5) == 2.0
    require_achievable(retention=0.5, size=2, relative_error=1.5, error_probability=0.01, bound="chernoff")
    with pytest.raises(ParameterError, match="relative_error"):
        require_achievable(
            retention=0.5, size=2, relative_error=1.51, error_probability=0.01, bound="chernoff"
        )


def test_the_search_for_an_exact_cap_stops_at_500_rows():
    """At a retention of .01 far larger groups would keep a tail of .01."""
    options = {"retention": 0.01, "size": 2, "relative_error": 0.3, "error_probability": 0.01}
    assert exact_uniform_cap(**options) == 500
    assert exact_caps(np.array([1]), np.array([0]), **options).tolist() == [500]


def test_chernoffs_cap_of_exactly_one_row_is_enough():
    """-2 * .75 ln(delta) / (1.5 * .5)^2 is 1 at exp(-.375) = .68729."""
    edge = {"retention": 0.5, "size": 2, "relative_error": 1.5, "bound": "chernoff"}
    require_achievable(**edge, error_probability=0.6872)
    with pytest.raises(ParameterError, match="below one row"):
        require_achievable(**edge, error_probability=0.6874)


@pytest.mark.parametrize(("frequency", "size", "expected"), [(0.5, 2, 9), (0.1, 50, 41)])
def test_the_normal_cap_of_the_worked_examples(frequency, size, expected):
    """9 rows for Chernoff's 214, 41 for 642, at 0.3 and 0.3 and retention 1/2."""
    parameters = {"retention": 0.5, "size": size, "relative_error": 0.3, "error_probability": 0.3}
    cap = float(normal_cap(frequency, **parameters))
    assert int(cap) == expected
    assert cap < float(chernoff_cap(frequency, **parameters)) / 10


def test_the_normal_cap_is_where_a_normal_error_has_the_probability():
    """By the normal law itself: 30 % of the frequency are 0.524 standard deviations there."""
    parameters = {"retention": 0.3, "size": 7, "relative_error": 0.25, "error_probability": 0.3}
    cap = float(normal_cap(0.4, **parameters))
    own, elsewhere = 0.3 + 0.7 / 7, 0.7 / 7
    variance = (0.4 * own * (1 - own) + 0.6 * elsewhere * (1 - elsewhere)) / (cap * 0.3**2)
    assert NormalDist(0.4, variance**0.5).cdf(0.4 - 0.25 * 0.4) == pytest.approx(0.3)


def test_the_normal_cap_falls_with_the_frequency_so_that_one_fits_all():
    """The uniform cap is its value at frequency 1."""
    normal = promise(bound="normal")
    caps = normal.caps_at(np.linspace(1 / normal.size, 1, 50))
    assert (np.diff(caps) < 0).all()
    assert normal.uniform_limit == caps[-1]
    assert "the normal approximation of the probability" in normal.sentence


@pytest.mark.parametrize("probability", [0.5, 0.6, 0.999])
def test_no_row_is_allowed_by_a_normal_tail_of_one_half_or_more(probability):
    """A normal error is too low less than half of the time."""
    with pytest.raises(ParameterError, match="bound 'normal'"):
        promise(error_probability=probability, bound="normal")


def test_the_weakness_that_is_stated_is_the_range_over_the_thesis_grid():
    """Within 30 % at the cap for 0.3 and 0.3: from 88 % to nearly 100 %."""
    found = []
    for retention, size, frequency in itertools.product(
        (0.1, 0.3, 0.5, 0.7, 0.9), (2, 10, 50), (0.02, 0.1, 0.5, 0.9, 1.0)
    ):
        if frequency * size >= 1:
            numbers = {"retention": retention, "size": size, "relative_error": 0.3}
            rows = int(chernoff_cap(frequency, **numbers, error_probability=0.3))
            found.append(exact_tails(rows, max(1, round(rows * frequency)), **numbers).within)
    assert min(found) == pytest.approx(0.8837, abs=5e-5)
    assert max(found) > 0.99999
    assert any("88 % to nearly 100 %" in each for each in SamplePerturbScale.weaknesses)


def test_a_tail_as_probable_as_the_promise_says_is_enough():
    """One row of one value: a quarter comes out too low, which a quarter allows and a little more does not."""
    options = {"retention": 0.5, "size": 2, "relative_error": 0.3}
    for probability, rows in ((0.25, 1), (0.2501, 0)):
        found = exact_caps(np.array([1]), np.array([0]), error_probability=probability, **options)
        assert min(int(found[0]), 1) == rows
        assert min(exact_uniform_cap(error_probability=probability, **options), 1) == rows


def test_a_cap_beyond_all_tables_is_a_number_of_rows():
    """So small an error that no table could be too large."""
    assert promise(relative_error=1e-6, retention=0.01, bound="chernoff").uniform_cap == MOST_ROWS
