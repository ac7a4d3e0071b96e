"""The three ways to make estimates feasible."""

from __future__ import annotations

import math

import numpy as np

from sfumato.estimates.counts import clip_to_totals, most_likely, project_to_simplex

WARNER = np.array([[0.9, 0.1], [0.1, 0.9]])


def test_projection_is_the_nearest_point_of_the_simplex():
    """Nothing on a grid of the simplex is nearer."""
    values = np.array([[0.7, -0.3, 0.6]])
    projected = project_to_simplex(values, np.array([1.0]))[0]
    grid = np.array([[a, b, 100 - a - b] for a in range(101) for b in range(101 - a)]) / 100
    nearest = grid[((grid - values) ** 2).sum(axis=1).argmin()]
    # The grid is a hundredth wide.
    assert np.allclose(projected, nearest, atol=0.01)
    assert math.isclose(projected.sum(), 1)


def test_projection_to_a_total_of_zero_is_zero():
    """Every entry is cut."""
    assert project_to_simplex(np.array([[3.0, -3.0]]), np.array([0.0])).tolist() == [[0.0, 0.0]]


def test_clip_cuts_and_scales_to_the_total():
    """12 and 4 become 6 and 2 of 8."""
    assert clip_to_totals(np.array([[12.0, -2.0, 4.0]]), np.array([8.0])).tolist() == [[6.0, 0.0, 2.0]]


def test_clip_spreads_a_total_evenly_when_nothing_is_positive():
    """No entry says where it belongs."""
    assert clip_to_totals(np.array([[-1.0, 0.0]]), np.array([3.0])).tolist() == [[1.5, 1.5]]


def test_most_likely_is_the_unbiased_estimate_inside_the_simplex():
    """30 and 70 published at p = .9: x = ((30 - 10)/.8, (70 - 10)/.8) = (25, 75), by hand."""
    found = most_likely(
        np.array([30.0, 70.0]), lambda x: x @ WARNER, lambda y: y @ WARNER.T, np.array([50.0, 50.0])
    )
    # The steps shrink by about a third each, so the stopping rule leaves an error of some millionths.
    assert np.allclose(found, [25, 75], atol=1e-3)


def test_most_likely_outside_the_simplex_is_on_its_edge():
    """5 and 95 published would need -6.25: the likelihood rises up to the corner."""
    found = most_likely(
        np.array([5.0, 95.0]), lambda x: x @ WARNER, lambda y: y @ WARNER.T, np.array([50.0, 50.0])
    )
    assert np.allclose(found, [0, 100], atol=1e-2)


def test_most_likely_has_no_lower_likelihood_than_any_table_on_a_grid():
    """Brute force over whole percents, three categories and an uneven matrix."""
    matrix = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    published = np.array([12.0, 80.0, 8.0])
    found = most_likely(published, lambda x: x @ matrix, lambda y: y @ matrix.T, np.full(3, 100 / 3))
    grid = np.array([[a, b, 100 - a - b] for a in range(101) for b in range(101 - a)], float)

    def likelihood(true):
        return (published * np.log(true @ matrix)).sum(axis=-1)

    assert likelihood(found) >= likelihood(grid).max() - 1e-6
    assert math.isclose(found.sum(), 100)


def test_projection_with_variances_of_every_group():
    """By hand: each group gives way by its own units, 3 and 1 of four rows, then 1 and 3."""
    values, totals = np.array([[8.0, 6.0], [8.0, 6.0]]), np.array([10.0, 10.0])
    found = project_to_simplex(values, totals, np.array([[3.0, 1.0], [1.0, 3.0]]))
    assert found.tolist() == [[5.0, 5.0], [7.0, 3.0]]
