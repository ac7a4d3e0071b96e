"""Intervals of counts that few published rows are behind: single cells, joint ones, shares, differences and sums, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.estimates.exact_intervals import FewSteps
from sfumato.estimates.intervals import score_limits
from sfumato.laws.estimator import answer
from sfumato.methods.randomized_response.law import PerturbedCounts
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import TwoValued

KEPT = np.array([[0.9, 0.1], [0.05, 0.95]])
"""Of the second category 95 in a hundred are published as they are; of the first ten in a hundred become it."""


def formula(counts, *matrices):
    """Published counts, whose axes are called a, b, c, with the matrix of each."""
    names = tuple("abc"[: counts.ndim])
    inverses = [None if each is None else np.linalg.inv(each) for each in matrices]
    return PerturbedCounts(counts, names, matrices, inverses, float(counts.sum()))


def few(seen, rows, kept, gained, besides=None):
    """The same by chances that were worked out by hand."""
    return FewSteps(*(np.array([float(each)]) for each in (seen, rows, kept, gained)), besides)


def where(**codes):
    """One number."""
    return Tabulation(where=Selection(tuple(codes.items())))


def test_a_cell_is_judged_among_the_rows_of_its_group():
    """Four of the second category among twelve rows of the first group, one among thirty of the second."""
    counts = np.array([[8.0, 4.0], [29.0, 1.0]])
    low, high = answer(formula(counts, None, KEPT), (Tabulation(by=("a", "b")),), "table").intervals(0.95)
    for place, (seen, rows, kept, gained) in {
        1: (4, 12, 0.95, 0.1),
        2: (29, 30, 0.9, 0.05),
        3: (1, 30, 0.95, 0.1),
    }.items():
        expected = few(seen, rows, kept, gained)(0.95)
        assert (low[place], high[place]) == (expected[0][0], expected[1][0])


def test_axes_in_any_order_have_the_same_ends():
    """The perturbed attribute first."""
    counts = np.array([[8.0, 4.0], [29.0, 1.0]])
    one = answer(formula(counts, None, KEPT), (Tabulation(by=("a", "b")),), "table").intervals(0.95)
    other = answer(formula(counts.T, KEPT, None), (Tabulation(by=("a", "b")),), "table").intervals(0.95)
    for side, turned in zip(one, other, strict=True):
        assert side.reshape(2, 2).tolist() == turned.reshape(2, 2).T.tolist()


def test_a_sum_of_categories_is_seen_as_one():
    """Two of three categories kept with .8: both together with .9, and the third becomes one of them with .2."""
    uniform = TwoValued(0.8, 0.1)
    counts = np.array([3.0, 2.0, 25.0])
    published = PerturbedCounts(counts, ("a",), [uniform], [TwoValued(9 / 7, -1 / 7)], 30.0)
    found = answer(published, (where(a=(0, 1)),), "table").intervals(0.95)
    expected = few(5, 30, 0.9, 0.2)(0.95)
    assert (found[0][0], found[1][0]) == pytest.approx((expected[0][0], expected[1][0]))


def test_a_joint_cell_takes_what_it_gains_from_the_rows_seen():
    """Kept with .95^2; what is left of those seen, spread over the other rows; and the score interval is held too."""
    counts = np.array([[30.0, 5.0], [6.0, 3.0]])
    published = formula(counts, KEPT, KEPT)
    cell = where(a=(1,), b=(1,))
    estimates = answer(published, (cell,), "table")
    value = float(estimates.values[0])
    others = float(f"{3 - 0.9025 * value:.2g}")
    score = score_limits(estimates.values, *published.spread(cell), 1.959963984540054)
    expected = few(3, 44, 0.9025, others / (44 - round(value)))(0.95)
    low, high = estimates.intervals(0.95)
    assert low[0] == pytest.approx(min(expected[0][0], score[0][0]))
    assert high[0] == pytest.approx(max(expected[1][0], score[1][0]))


def test_a_joint_cell_that_gains_as_much_as_it_keeps_has_a_score_interval():
    """Nothing is seen of the rows themselves there."""
    counts = np.array([[3.0, 2.0], [2.0, 4.0]])
    published = formula(counts, KEPT, KEPT)
    limits = published.limits(Tabulation(by=("a", "b")), "table")
    is_seen = ~np.isnan(limits.gained)
    assert is_seen.any()
    low, _ = limits(0.95)
    assert np.isnan(low[~is_seen]).all()


def test_nothing_is_said_of_a_population_nor_of_what_is_published_as_it_is():
    """A draw varies by more than a few; an exact count has an interval of its own."""
    published = formula(np.array([[8.0, 4.0], [29.0, 1.0]]), None, KEPT)
    assert published.limits(Tabulation(by=("a", "b")), "population") is None
    assert published.limits(Tabulation(by=("a",)), "table") is None


def test_a_share_of_a_known_group_has_the_ends_of_its_count():
    """Divided by the twelve rows of the group."""
    published = formula(np.array([[8.0, 4.0], [29.0, 1.0]]), None, KEPT)
    counts = answer(published, (where(a=(0,), b=(1,)), where(a=(0,))), "table")
    low, high = counts.ratio([1, 0], [0, 1]).intervals(0.95)
    expected = few(4, 12, 0.95, 0.1)(0.95)
    assert (low[0], high[0]) == pytest.approx((expected[0][0] / 12, expected[1][0] / 12))
    # Rounding never leaves out a truth that is the end.
    assert low[0] <= expected[0][0] / 12
    assert high[0] >= expected[1][0] / 12


def test_a_share_of_cells_that_add_up_to_a_known_group_has_the_ends_of_its_count():
    """The group is the sum of its cells, which are estimates all; a group of the perturbed attribute is not known, and its shares have ends of their own."""
    published = formula(np.array([[8.0, 4.0], [29.0, 1.0]]), None, KEPT)
    counts = answer(published, (Tabulation(by=("a", "b")),), "table")
    known, unknown = [[1, 1, 0, 0], [0, 0, 1, 1]], [[0, 1, 0, 1]]
    low, high = counts.ratios([[0, 1, 0, 0], [0, 0, 0, 1]], known).intervals(0.95)
    ends = counts.intervals(0.95)
    assert low == pytest.approx(ends[0][[1, 3]] / [12, 30], abs=1e-9)
    assert high == pytest.approx(ends[1][[1, 3]] / [12, 30], abs=1e-9)
    few_ends = counts.ratios([[0, 1, 0, 0]], unknown).limits.few(0.95, is_part=False)
    assert np.isnan(few_ends).all()


LIGHT = np.array([[0.99, 0.01], [0.02, 0.98]])
"""Of twelve rows and of thirty hardly any is published as another."""


def parts_of_two_groups():
    """Ends of two and of one row, of which each may miss half as often as their combination."""
    ends = [few(*each, 0.98, 0.01)(0.975) for each in ((2, 12), (1, 30))]
    return [(low[0], high[0]) for low, high in ends]


def test_a_difference_of_numbers_that_hardly_vary_reaches_as_far_as_their_ends():
    """What is off is one of them, by a whole row: nothing averages out."""
    published = formula(np.array([[10.0, 2.0], [29.0, 1.0]]), None, LIGHT)
    counts = answer(published, (where(a=(0,), b=(1,)), where(a=(1,), b=(1,))), "table")
    low, high = counts.linear(np.array([[1.0, -1.0]])).intervals(0.95)
    first, second = parts_of_two_groups()
    assert (low[0], high[0]) == pytest.approx((first[0] - second[1], first[1] - second[0]))


def test_a_sum_of_numbers_that_hardly_vary_reaches_as_far_as_their_ends():
    """Asked as one, and added up afterwards."""
    published = formula(np.array([[10.0, 2.0], [29.0, 1.0]]), None, LIGHT)
    tabulations = (where(a=(0,), b=(1,)), where(a=(1,), b=(1,)))
    first, second = parts_of_two_groups()
    for found in (
        answer(published, tabulations, "table", np.array([[1.0, 1.0]])),
        answer(published, tabulations, "table").linear(np.array([[1.0, 1.0]])),
    ):
        low, high = found.intervals(0.95)
        assert (low[0], high[0]) == pytest.approx((first[0] + second[0], first[1] + second[1]))


def test_a_difference_of_numbers_that_vary_has_the_interval_that_it_would_have_without():
    """Their errors average out, and ends that are cut where rows end say too little of them."""
    published = formula(np.array([[20.0, 8.0], [26.0, 9.0]]), None, np.array([[0.8, 0.2], [0.2, 0.8]]))
    counts = answer(published, (where(a=(0,), b=(1,)), where(a=(1,), b=(1,))), "table")
    smooth = [each.tolist() for each in counts.limits.smooth(0.95)]
    assert smooth != [each.tolist() for each in counts.intervals(0.95)]
    found = counts.linear(np.array([[1.0, -1.0]])).intervals(0.95)
    below = np.hypot(counts.values[0] - smooth[0][0], smooth[1][1] - counts.values[1])
    assert found[0][0] == pytest.approx(counts.values[0] - counts.values[1] - below)


def test_a_sum_that_varies_by_much_has_its_score_interval():
    """Forty groups alike: their errors average out."""
    kept = np.array([[0.95, 0.05], [0.05, 0.95]])
    published = formula(np.tile([[28.0, 4.0]], (40, 1)), None, kept)
    tabulations = tuple(where(a=(each,), b=(1,)) for each in range(40))
    found = answer(published, tabulations, "table", np.ones((1, 40)))
    value, spread = found.values, found.limits.spread.both
    expected = score_limits(value, *spread, 1.959963984540054)
    assert [each.tolist() for each in found.intervals(0.95)] == [each.tolist() for each in expected]


def test_what_is_known_though_its_parts_are_not_stays_known():
    """Both cells of a group of twelve, asked as one and added up, and a cell less itself."""
    published = formula(np.array([[10.0, 2.0], [29.0, 1.0]]), None, LIGHT)
    cells = (where(a=(0,), b=(0,)), where(a=(0,), b=(1,)))
    for found in (
        answer(published, cells, "table", np.array([[1.0, 1.0]])),
        answer(published, cells, "table").linear(np.array([[1.0, 1.0]])),
        answer(published, (cells[1], cells[1]), "table").linear(np.array([[1.0, -1.0]])),
    ):
        low, high = found.intervals(0.95)
        assert high[0] - low[0] < 1


def test_cells_of_a_table_are_judged_as_if_asked_by_themselves():
    """Of a matrix in which the last category alone is gained with one chance: the first two are estimated, the last is not."""
    matrix = np.array([[0.95, 0.0, 0.05], [0.25, 0.7, 0.05], [0.0, 0.1, 0.9]])
    published = formula(np.array([20.0, 6.0, 4.0]), matrix)
    table = answer(published, (Tabulation(by=("a",)),), "table").intervals(0.95)
    for code in range(3):
        alone = answer(published, (where(a=(code,)),), "table").intervals(0.95)
        assert [each[code] for each in table] == [each[0] for each in alone]
    expected = few(4, 30, 0.9, 0.05)(0.95)
    assert (table[0][2], table[1][2]) == pytest.approx((expected[0][0], expected[1][0]))


def test_three_numbers_that_hardly_vary_reach_as_far_as_their_ends_and_four_do_not():
    """A third of what may be missed for each; of four that would be too much, and the sum has its score interval."""
    published = formula(np.tile([[11.0, 1.0]], (4, 1)), None, LIGHT)
    ends = few(1, 12, 0.98, 0.01)(1 - 0.05 / 3)
    for number in (3, 4):
        cells = tuple(where(a=(each,), b=(1,)) for each in range(number))
        low, high = answer(published, cells, "table").linear(np.ones((1, number))).intervals(0.95)
        if number == 3:
            assert (low[0], high[0]) == pytest.approx((3 * ends[0][0], 3 * ends[1][0]), abs=1e-9)
        else:
            assert high[0] - low[0] < 4 * (ends[1][0] - ends[0][0]) / 2
