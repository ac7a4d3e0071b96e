"""Numbers that could be a quantile: the variance by which they are judged, and where the set of them ends."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from known_counts import KnownCounts, numbered_attribute
from sfumato.analysis.moments import quantile, variance_of_draw
from sfumato.schema import Attribute, Role

AGE = Attribute(name="age", role=Role.OTHER, bins=(0, 10, 20, 30, 40))
CHILDREN = numbered_attribute("children", 4)
Z = 1.959964


@pytest.mark.parametrize(
    ("share", "at", "chances"),
    [(0.5, 0.25, (0.4, 0.4, 0.2)), (0.9, 0.5, (0.85, 0.1, 0.05)), (0.25, 0.75, (0.1, 0.2, 0.7))],
)
def test_variance_is_that_of_all_tables_that_can_be_drawn(share, at, chances):
    """Brute force: every table of five rows, from a population in which the point is the quantile."""
    weights = np.array([1.0, at, 0.0]) - share
    assert abs(weights @ chances) < 1e-12
    second = sum(
        math.prod(chances[cell] for cell in drawn) * float(weights[list(drawn)].sum()) ** 2
        for drawn in itertools.product(range(3), repeat=5)
    )
    np.testing.assert_allclose(variance_of_draw(share, at, 5 * chances[0], 5 * chances[1], 5), second)


@pytest.mark.parametrize(("below", "within", "rows"), [(30, 0, 30), (12, 18, 30), (0, 1, 30), (-2, 3, 9)])
@pytest.mark.parametrize("at", [0.0, 1.0])
def test_at_ends_of_bins_it_is_that_of_the_sign_test(at, below, within, rows):
    """``N s (1 - s)``, whatever was drawn: the hypothesis says how many rows are to be expected on both sides."""
    np.testing.assert_allclose(variance_of_draw(0.9, at, below, within, rows), rows * 0.09)


def test_rows_are_added_until_the_share_is_met():
    """By hand. Of 4, 4 and 2 rows, 6 count below the middle of the second bin, where 3 of 10 should.

    Ten more rows above meet 6 of 20. With weights .7, .2 and -.3, 4, 4 and 12 rows have squares of 1.96 + 0.16 + 1.08 = 3.2, which for ten
    rows in place of twenty is 1.6. From above, 10 rows below meet a share of .8: weights of .2, -.3 and -.8, and 14, 4 and 2
    rows, give 0.56 + 0.36 + 1.28 = 2.2, and half of it.
    """
    np.testing.assert_allclose(variance_of_draw(0.3, 0.5, 4, 4, 10), 1.6)
    np.testing.assert_allclose(variance_of_draw(0.8, 0.5, 4, 4, 10), 1.1)


def test_noise_does_not_make_it_negative():
    """More rows than all in one bin, because others are estimated below nobody: the bin alone has no more than meets the share."""
    assert variance_of_draw(0.5, 0.5, -20, 60, 30) == 0
    assert variance_of_draw(0.3, 0.75, -20, 60, 30) == pytest.approx(30 * (0.21 - 0.1875 * 0.4))
    assert variance_of_draw(0.3, 0.75, 20, -15, 30) == pytest.approx(30 * 0.21)


def test_that_nobody_was_drawn_on_top_does_not_rule_the_top_out():
    """Thirty rows, none in the highest category: 1.5 fewer than 1 in 20, whose standard error is ``sqrt(30 / 20 * 0.95)``, 1.19."""
    release = KnownCounts((CHILDREN,), [10, 10, 10, 0])
    found = quantile(release, "children", 0.95, target="population")
    assert (found.estimate, found.low, found.high) == (2, 2, 3)
    # 90 rows: 4.5 fewer, with a standard error of 2.07.
    surely = quantile(KnownCounts((CHILDREN,), [30, 30, 30, 0]), "children", 0.95, target="population")
    assert (surely.low, surely.high) == (2, 2)
    lowest = quantile(KnownCounts((CHILDREN,), [0, 10, 10, 10]), "children", 0.05, target="population")
    assert (lowest.low, lowest.high) == (0, 1)


def test_ends_within_bins_are_where_the_share_is_just_not_rejected():
    """Of 30 rows in three bins, by the equation itself; of the empty bin on top nothing is ruled out."""
    found = quantile(KnownCounts((AGE,), [10, 10, 10, 0]), "age", 0.95, target="population")
    at = (found.low - 20) / 10
    excess = 20 + 10 * at - 28.5
    assert excess < 0
    # The bin below the point, which is a third, keeps its proportion to what lies above: nobody else is there.
    of_bin = 0.05 * 10 / (30 - 20 - 10 * at)
    variance = 30 * (0.95 * 0.05 - at * (1 - at) * of_bin)
    np.testing.assert_allclose(excess**2, Z**2 * variance, rtol=1e-5)
    assert found.high == 40


def test_a_set_smaller_than_any_part_of_a_bin_is_found():
    """A hundred million rows in one bin: the set is the quantile itself, to a few digits."""
    found = quantile(KnownCounts((AGE,), [1, 1e8, 0, 0]), "age", 0.123, target="population")
    assert found.low <= found.estimate <= found.high
    assert found.high - found.low < 1e-2


def test_bins_that_are_met_nowhere_keep_nothing():
    """About the table, without noise, one point is kept, wherever it lies."""
    for share in (0.01, 0.3, 0.77):
        found = quantile(KnownCounts((AGE,), [25, 25, 25, 25]), "age", share)
        np.testing.assert_allclose((found.low, found.high), (40 * share, 40 * share))
