"""Ends of intervals of counts in buckets beyond 95 %: moments by brute force, ends by hand."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from sfumato.estimates.estimates import normal_quantile
from sfumato.estimates.exact_intervals import Spread
from sfumato.methods.anatomy.buckets import BucketComposition
from sfumato.methods.anatomy.law import RareEnds, moments_of_cells

BUCKETS = BucketComposition.from_pairs(
    np.repeat(np.arange(1, 6), 2), np.array([0, 1, 0, 1, 0, 2, 1, 2, 0, 1]), 3
)
"""Values 0 and 1 have four places each, value 2 has two."""


def ends(value, variance, slope, usual, there):
    """Of one number."""
    each = (np.array([float(part)]) for part in (value, variance, slope, usual, there))
    values, variances, slopes, expected, others = each
    return RareEnds(values, Spread(lambda: (variances, slopes)), Spread(lambda: (expected, others)))


@pytest.mark.parametrize("inside", [(1, 0, 1), (1, 1, 0), (3, 2, 1), (0, 3, 2)])
def test_moments_are_those_of_all_ways_to_deal_rows(inside):
    """Every choice of places for the cell's rows of each value, all alike likely."""
    outputs = np.array([[1.0, -0.5, 0.25], [0.0, 2.0, 1.0]])
    places = [np.flatnonzero((BUCKETS.places == value).any(axis=1)) for value in range(3)]
    counted = np.stack([outputs[:, row].sum(axis=1) / 2 for row in BUCKETS.places])
    ways = itertools.product(
        *(itertools.combinations(own, rows) for own, rows in zip(places, inside, strict=True))
    )
    sums = np.array([counted[[place for part in way for place in part]].sum(axis=0) for way in ways])
    errors = sums - sums.mean(axis=0)
    variances, slopes = moments_of_cells(BUCKETS, np.array([inside], float), outputs)
    np.testing.assert_allclose(variances[0], (errors**2).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(slopes[0] * variances[0], (errors**3).mean(axis=0), atol=1e-12)


def test_up_to_95_percent_nothing_is_said():
    """Intervals are then those of every law."""
    assert np.isnan(ends(3, 4, 1, 0, 9)(0.95)).all()
    assert np.isnan(ends(3, 4, 1, 0, 9)(0.5)).all()


def test_what_has_no_variance_is_left_to_others():
    """That no error could be computed is no reason for an interval of no width."""
    assert np.isnan(ends(3, 0, 0, 3, 0)(0.99)).all()


def test_ends_lean_by_the_third_moment():
    """By hand, at 99.9 %: where the usual number is no less known, the lean is all there is."""
    half = normal_quantile(0.999)
    low, high = ends(3, 4, 0.6, 3, 4)(0.999)
    np.testing.assert_allclose((low[0], high[0]), (3 - 2 * half - (half**2 - 1) / 10, 3 + 2 * half))
    low, high = ends(3, 4, -0.6, 3, 4)(0.999)
    np.testing.assert_allclose((low[0], high[0]), (3 - 2 * half, 3 + 2 * half + (half**2 - 1) / 10))


def test_the_end_toward_the_usual_number_has_the_variance_there():
    """By hand: from 30 with variance 4 to 10 with 24 it grows by one for each row; at the end that is what it is."""
    half = normal_quantile(0.999)
    low, high = ends(30, 4, 0, 10, 24)(0.999)
    np.testing.assert_allclose((30 - low[0]) ** 2, half**2 * (4 + 30 - low[0]))
    np.testing.assert_allclose(high[0], 30 + 2 * half)
    mirrored = ends(10, 4, 0, 30, 24)(0.999)
    np.testing.assert_allclose(mirrored[1][0] - 10, 30 - low[0])
    # Near the usual number it grows no further than to the variance there, and never falls.
    np.testing.assert_allclose(ends(30, 4, 0, 29, 9)(0.999)[0][0], 30 - 3 * half)
    np.testing.assert_allclose(ends(30, 4, 0, 10, 1)(0.999)[0][0], 30 - 2 * half)


def test_from_95_to_99_percent_ends_change_evenly():
    """No interval is shorter at a higher level, and none jumps."""
    levels = np.linspace(0.9500001, 0.9999, 200)
    found = np.array([ends(30, 4, 0.5, 10, 24)(each)[0][0] for each in levels])
    assert (np.diff(found) < 0).all()
    np.testing.assert_allclose(found[0], 30 - 2 * normal_quantile(0.95), atol=1e-4)
    half, first, last = (normal_quantile(each) for each in (0.97, 0.95, 0.99))
    lean = (half - first) / (last - first) * (half**2 - 1) / 6 * 0.5
    np.testing.assert_allclose(ends(30, 4, 0.5, 30, 4)(0.97)[0][0], 30 - 2 * half - lean)


def test_ends_travel_without_what_they_are_worked_out_from():
    """A pickled answer has its numbers."""
    spread = Spread(lambda: (np.array([4.0]), np.array([0.5])))
    sent = RareEnds(np.array([3.0]), spread, Spread(lambda: (np.array([1.0]), np.array([5.0]))))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sent))(0.99), sent(0.99))
