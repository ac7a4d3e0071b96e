"""How an estimated variance goes with the estimate: every published outcome of a row, weighed by its probability."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.methods.randomized_response.variances import Axis, variance_slopes
from sfumato.randomness.distortion import TwoValued

DENSE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])
UNIFORM = TwoValued(0.6, 0.2)
INVERSE = TwoValued(0.8 / 0.4, -0.2 / 0.4)
"""Of p = 0.4 and m = 3: inverse (I - 0.2 J) / 0.4."""


def dense_axis(codes, *, is_sum):
    """An axis that a full matrix distorted: single categories side by side, or a sum of some."""
    inverse = np.linalg.inv(DENSE)
    chosen = np.zeros(3)
    chosen[list(codes)] = 1
    weights = (inverse @ chosen)[:, None] if is_sum else inverse[:, list(codes)]
    truth = chosen[:, None] if is_sum else np.eye(3)[:, list(codes)]
    return Axis(DENSE, inverse, weights, codes), DENSE, weights, truth


def uniform_axis(codes, *, is_sum):
    """The same of a matrix with two values."""
    dense, inverse = UNIFORM.dense(3), INVERSE.dense(3)
    chosen = np.zeros(3)
    chosen[list(codes)] = 1
    if is_sum:
        weights = (inverse @ chosen)[:, None]
        return Axis(UNIFORM, INVERSE, weights, codes), dense, weights, chosen[:, None]
    weights = TwoValued(INVERSE.diagonal, INVERSE.elsewhere, codes)
    return Axis(UNIFORM, INVERSE, weights, codes), dense, inverse[:, list(codes)], np.eye(3)[:, list(codes)]


def half_written_axis():
    """The same, of which only the distortion was written out."""
    axis, dense, weights, truth = uniform_axis((2, 0), is_sum=False)
    return axis._replace(matrix=dense), dense, weights, truth


def public_axis(codes):
    """An axis that was published as it is, summed over some categories."""
    chosen = np.zeros((2, 1))
    chosen[list(codes)] = 1
    return Axis(None, None, chosen, codes), np.eye(2), chosen, chosen


AXES = {
    "dense": [dense_axis((0, 1, 2), is_sum=False)],
    "dense, some": [dense_axis((0, 2), is_sum=False)],
    "dense, a sum": [dense_axis((0, 2), is_sum=True)],
    "uniform": [uniform_axis((0, 1, 2), is_sum=False)],
    "uniform, some": [uniform_axis((2, 0), is_sum=False)],
    "uniform, written out": [half_written_axis()],
    "uniform, a sum": [uniform_axis((1, 2), is_sum=True)],
    "two": [dense_axis((0, 1), is_sum=False), uniform_axis((0, 2), is_sum=True)],
    "with a public one": [public_axis((1,)), uniform_axis((0, 1, 2), is_sum=False)],
}


def outer(columns):
    """The product of one row of each axis, ``(cells,)``."""
    found = np.ones(1)
    for each in columns:
        found = np.outer(found, each).ravel()
    return found


@pytest.mark.parametrize("kind", list(AXES))
def test_the_covariance_of_an_estimate_with_its_variance_by_counting(kind):
    """For a row of every true value: E[h (h^2 - h)] - E[h] E[h^2 - h] over all that may be published of it."""
    axes, matrices, weights, truths = zip(*AXES[kind], strict=True)
    sizes = [len(each) for each in matrices]
    cells = len(outer([each[0] for each in weights]))
    for true in itertools.product(*map(range, sizes)):
        stated, h1, h2, h3 = (np.zeros(cells) for _ in range(4))
        for published in itertools.product(*map(range, sizes)):
            chance = np.prod([matrix[u, v] for matrix, u, v in zip(matrices, true, published, strict=True)])
            counts = np.zeros(sizes)
            counts[published] = 1
            # Of a variance of a million the slope is nowhere near its limits.
            stated += chance * variance_slopes(counts, axes, np.full(cells, 1e6)) * 1e6
            h = outer([each[v] for each, v in zip(weights, published, strict=True)])
            h1, h2, h3 = h1 + chance * h, h2 + chance * h**2, h3 + chance * h**3
        inside = outer([each[u] for each, u in zip(truths, true, strict=True)])
        assert h1 == pytest.approx(inside, abs=1e-12)
        assert stated == pytest.approx(h3 - h2 - h1 * (h2 - h1), abs=1e-8)


def test_slopes_stay_between_the_ends_that_h_allows():
    """H is at most 2 here, so that the slope of h^2 - h is at most 2 * 2 + 1 either way; none without a variance."""
    axis = Axis(UNIFORM, INVERSE, INVERSE, None)
    found = variance_slopes(np.array([900.0, 0.0, 0.0]), [axis], np.array([1e-6, 1e-6, 0.0]))
    assert found.tolist() == [5.0, 5.0, 0.0]
    found = variance_slopes(np.array([900.0, 0.0, 0.0]), [axis], np.full(3, 900.0))
    assert found.tolist() == pytest.approx([1.0, 3 / 8, 3 / 8])


def test_the_ends_of_several_axes_are_those_of_their_largest_products():
    """Of three categories of which 0.9 are kept h is at most 29/27, its square of two such axes, and no more beside a public one."""
    matrix, inverse = TwoValued(28 / 30, 1 / 30), TwoValued(29 / 27, -1 / 27)
    axis, public = Axis(matrix, inverse, inverse, None), Axis(None, None, None, None)
    written = Axis(matrix.dense(3), inverse.dense(3), inverse.dense(3), None)
    counts = np.zeros((3, 3))
    counts[0, 0] = 900
    for axes, largest in (
        ((axis, axis), (29 / 27) ** 2),
        ((axis, public), 29 / 27),
        ((written, public), 29 / 27),
    ):
        found = variance_slopes(counts, axes, np.full(9, 1e-6))
        assert found.max() == pytest.approx(2 * largest + 1)


def test_what_counts_below_nothing_can_count_most():
    """A category that is shown less often than any other, once in ten: h is -11/7 there, and 9/7 elsewhere."""
    matrix, inverse = TwoValued(0.1, 0.45), TwoValued(-11 / 7, 9 / 7)
    found = variance_slopes(np.array([900.0, 0, 0]), [Axis(matrix, inverse, inverse, None)], np.full(3, 1e-6))
    assert np.abs(found).max() == pytest.approx(2 * 11 / 7 + 1)


def test_no_variance_below_a_row_is_taken_for_none():
    """Half of the variance has twice the slope."""
    axis = Axis(UNIFORM, INVERSE, INVERSE, None)
    whole, half = (variance_slopes(np.array([1.0, 0, 0]), [axis], np.full(3, each)) for each in (1.0, 0.5))
    assert np.abs(half).max() < 5
    assert half == pytest.approx(2 * whole)
    assert np.abs(whole).min() > 0
