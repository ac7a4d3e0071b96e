"""Ranges of measures of tables in which a row, a column or a cell has a handful of rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from known_counts import KnownCounts
from published_rows import category_attribute
from sfumato.analysis.counts import ask_two_way
from sfumato.analysis.equations import quadratic_interval
from sfumato.analysis.measure_formulas import MEASURES, if_independent, of_counts
from sfumato.analysis.measures import _is_divisor, looseness, measure

A, Y = category_attribute("a", 2), category_attribute("y", 2)
HALF = 1.959963984540054


def found(counts, covariance, name, **more):
    """One measure of known counts."""
    return measure(KnownCounts((A, Y), counts, covariance), "a", "y", only=[name], **more)[name]


def test_near_independence_few_rows_vary_as_they_would_if_independent():
    """By hand: of a public row of m with share p, a mean of 1 and a variance of ``2 + (1 - 3 p q) / (m p q)``, whatever was drawn of the m.

    That is among so many others that they are known; here they are 10,000 times as many, which leaves as much of a difference.
    """
    share, rows, others = 0.25, 4, 40_000
    for few in (0, 1, 4):
        # All others make up for it, so that the column keeps its share.
        yes = round(share * (others + rows)) - few
        table = ask_two_way(KnownCounts((A, Y), [others - yes, yes, rows - few, few]), "a", "y")
        mean, variance = if_independent(of_counts(MEASURES["chi-square"], (2, 2)), table, "population")
        both = share * (1 - share)
        np.testing.assert_allclose(mean, 1, rtol=3e-4)
        np.testing.assert_allclose(variance, 2 + (1 - 3 * both) / (rows * both), rtol=1e-3)


def test_the_noise_of_the_release_has_no_tails_of_a_draw():
    """By hand, about the table: residuals of a row of m have the variance v of their noise, and Pearson's statistic the mean v / (m p q), twice its square in variance."""
    noise = np.zeros((4, 4))
    noise[2:, 2:] = 3.0 * np.array([[1, -1], [-1, 1]])
    table = ask_two_way(KnownCounts((A, Y), [20_000, 20_000, 5.5, -1.5], noise), "a", "y")
    mean, variance = if_independent(of_counts(MEASURES["chi-square"], (2, 2)), table, "table")
    np.testing.assert_allclose([mean, variance], [3.0, 18.0], rtol=3e-3)


@pytest.mark.parametrize("few", [0, 3])
def test_few_rows_that_are_alike_do_not_show_an_association(few):
    """Three rows that are all of one kind, as half of all rows are: one draw in eight is so."""
    table = [750, 750, 3 - few, few]
    assert found(table, 0, "chi-square", target="population").low == 0


def test_what_comes_out_far_below_nothing_does_not_exclude_nothing():
    """The roots of the equation are both above 0 there: 1.7 and 1,435."""
    low, high = quadratic_interval(-50.0, 10.0, 4_000.0, 2.0, HALF)
    assert low == 0
    np.testing.assert_allclose((-50 - high) ** 2, HALF**2 * (400 * high + 2))


def test_a_share_of_a_loose_group_reaches_as_far_as_fiellers():
    """The roots of ``(a - x b)^2 = z^2 Var(a - x b)``: 18 of 30, each cell with a variance of 16; the delta method's end where it is the further."""
    value = found([900, 600, 12, 18], 16, "confidence")
    roots = np.roots([30**2 - 32 * HALF**2, -2 * 18 * 30 + 32 * HALF**2, 18**2 - 16 * HALF**2])
    np.testing.assert_allclose(value.high, roots.max(), rtol=1e-9)
    delta = 0.6 - HALF * 4 * math.sqrt(0.4**2 + 0.6**2) / 30
    np.testing.assert_allclose(value.low, min(roots.min(), delta), rtol=1e-9)
    # Of a group of 300 with such noise it is the delta method's.
    value = found([900, 600, 120, 180], 16, "confidence")
    np.testing.assert_allclose(value.high - 0.6, HALF * 4 * math.sqrt(0.4**2 + 0.6**2) / 300, rtol=1e-9)


@pytest.mark.parametrize("name", ["confidence", "added-value", "risk-difference", "lift", "conviction"])
def test_what_divides_by_a_group_that_may_be_nobody_may_be_anything(name):
    """The second row has 12 rows with a standard error of 8; a note names it. Known without noise, it is some of them."""
    measured = measure(KnownCounts((A, Y), [900, 600, 2, 10], 32), "a", "y", only=[name])
    assert measured[name].is_untold
    (note,) = measured.notes
    assert "a = '1'" in note
    assert "may be nobody" in note
    assert not found([900, 600, 2, 10], 0, name, target="population").is_untold


def test_which_measures_divide_by_a_group():
    """By hand: those with the second row alone under a fraction, or in a logarithm; of roots and of squares by sums there is less the smaller it is."""
    table = ask_two_way(KnownCounts((A, Y), [900, 600, 12, 18], 16), "a", "y")
    row = np.array([False, False, True, True])
    divided = {
        name
        for name, each in MEASURES.items()
        if not each.is_quadratic and _is_divisor(of_counts(each, table.shape), table, row)
    }
    assert divided == {
        "confidence",
        "added-value",
        "certainty",
        "risk-difference",
        "odds-ratio",
        "risk-ratio",
        "lift",
        "conviction",
    }


def test_looseness_is_the_square_of_the_half_width_by_the_group():
    """By hand: the second row of 30 with a variance of 32; a group of nobody that is known is not loose, one that is not known is."""
    table = ask_two_way(KnownCounts((A, Y), [900, 600, 12, 18], 16), "a", "y")
    np.testing.assert_allclose(looseness(table, 2.0)[1], 4 * 32 / 30**2)
    nobody = [900, 600, 0, 0]
    assert looseness(ask_two_way(KnownCounts((A, Y), nobody), "a", "y"), 2.0).tolist() == [0, 0, 0, 0]
    assert looseness(ask_two_way(KnownCounts((A, Y), nobody, 16), "a", "y"), 2.0)[1] == math.inf


def test_small_counts_have_a_row_less_in_ratios():
    """By hand: of 4 rows among a million, (4 - 1) exp(-z / sqrt(4 - 1)) for the lower end of lift, and the upper of conviction; of one row there is none."""
    million = 1_000_000
    fewer = 3 * math.exp(-HALF / math.sqrt(3)) / 4
    lift = found([million, million, million, 4], 0, "lift", target="population")
    np.testing.assert_allclose(lift.low / lift.estimate, fewer, rtol=1e-4)
    conviction = found([million, million, 4, million], 0, "conviction", target="population")
    np.testing.assert_allclose(conviction.estimate / conviction.high, fewer, rtol=1e-4)
    assert found([million, million, million, 1], 0, "lift", target="population").low == 0
    # Of 100 rows the interval is that of the logarithm.
    lift = found([million, million, million, 100], 0, "lift", target="population")
    np.testing.assert_allclose(lift.low / lift.estimate, math.exp(-HALF / 10), rtol=1e-4)


def test_a_logged_cell_that_is_part_of_a_divisor_is_as_near_to_nobody_as_it_is():
    """By hand: 12 of a public 20 with a standard error of 4, less a row, are at least 11 - 4 z of 19."""
    noise = np.zeros((4, 4))
    noise[2:, 2:] = 16.0 * np.array([[1, -1], [-1, 1]])
    value = found([500, 500, 8, 12], noise, "risk-ratio")
    np.testing.assert_allclose(value.low, (11 - 4 * HALF) / 19 / 0.5, rtol=1e-9)


def test_a_ratio_with_a_loose_group_reaches_as_far_as_the_logarithm_of_its_lower_end():
    """By hand: 4 in 5 of 100 with a standard error of 20, known to be so: nothing else varies, and 100 are at least 100 - 20 z."""
    together = np.array([0.0, 0.0, 0.2, 0.8])
    value = found([900, 600, 20, 80], 400 * np.outer(together, together), "lift")
    of_row = found([900, 600, 20, 80], 0, "lift").estimate
    np.testing.assert_allclose(value.estimate, of_row)
    half = 20 * HALF / 100
    delta = HALF * value.std_error / value.estimate
    # The cell of 80 varies besides, so that below it is the logarithm of its lower end.
    cell = -math.log1p(-delta)
    np.testing.assert_allclose(
        math.log(value.estimate / value.low), cell * -math.log1p(-half) / half, rtol=1e-6
    )
    np.testing.assert_allclose(
        math.log(value.high / value.estimate), delta * -math.log1p(-half) / half, rtol=1e-6
    )
