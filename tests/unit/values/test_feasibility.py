"""The three ways to make estimates feasible."""

from __future__ import annotations

import math

import numpy as np

from sfumato.values.feasibility import (
    clip_to_totals,
    most_likely,
    project_to_simplex,
    rake_axes,
    scale_axis,
)

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


def test_tables_are_scaled_along_an_axis_each_by_itself():
    """Two tables of two by three: the categories of the axis have what is given, in proportion to what they had."""
    cells = np.array([[[1.0, 1.0, 2.0], [3.0, 1.0, 0.0]], [[1.0, 2.0, 1.0], [0.0, 1.0, 1.0]]])
    by_rows = scale_axis(cells, 1, np.array([[2.0, 8.0], [4.0, 1.0]]))
    assert by_rows.tolist() == [[[0.5, 0.5, 1.0], [6.0, 2.0, 0.0]], [[1.0, 2.0, 1.0], [0.0, 0.5, 0.5]]]
    by_columns = scale_axis(cells, 2, np.array([[4.0, 4.0, 1.0], [2.0, 3.0, 0.0]]))
    assert by_columns.tolist() == [[[1.0, 2.0, 1.0], [3.0, 2.0, 0.0]], [[2.0, 2.0, 0.0], [0.0, 1.0, 0.0]]]


def test_axes_are_raked_by_turns():
    """One round by hand: rows of 3 and 1 become 2 and 2, then columns of 2 and 2 become 1 and 3."""
    cells = np.array([[[2.0, 1.0], [0.5, 0.5]]])
    margins = {1: np.array([[2.0, 2.0]]), 2: np.array([[1.0, 3.0]])}
    first = np.array([[4 / 3, 2 / 3], [1.0, 1.0]])
    expected = first * [1 / (7 / 3), 3 / (5 / 3)]
    assert np.allclose(rake_axes(cells, margins, rounds=1)[0], expected)


def test_raked_axes_meet_all_their_margins():
    """Three axes and two tables, of which one fits already and stays as it is."""
    draw = np.random.default_rng(1)
    cells, wanted = draw.gamma(1.0, 1.0, (2, 2, 3, 4)), draw.gamma(1.0, 1.0, (2, 2, 3, 4))
    cells[1] = wanted[1]
    margins = {1: wanted.sum(axis=(2, 3)), 2: wanted.sum(axis=(1, 3)), 3: wanted.sum(axis=(1, 2))}
    raked = rake_axes(cells, margins, rounds=100)
    for axis, totals in margins.items():
        others = tuple(each for each in (1, 2, 3) if each != axis)
        assert np.allclose(raked.sum(axis=others), totals)
    assert np.allclose(raked[1], wanted[1])


def test_what_is_empty_gets_its_rows_when_axes_are_raked():
    """A category without a row in the cells, but with some in the margin, shares them out as the other axis has them."""
    cells = np.array([[[3.0, 1.0], [0.0, 0.0]]])
    margins = {1: np.array([[2.0, 2.0]]), 2: np.array([[3.0, 1.0]])}
    raked = rake_axes(cells, margins, rounds=3)[0]
    assert np.allclose(raked, [[1.5, 0.5], [1.5, 0.5]])
    assert np.all(rake_axes(cells, {1: np.array([[4.0, 0.0]])}, rounds=3)[0, 1] == 0)


def test_the_grain_of_large_tables_is_small():
    """Two million rows in either margin: an empty cell gets a billionth of what independence would give it."""
    cells = np.array([[[1e6, 0.0], [0.0, 1e6]]])
    margins = {1: np.array([[1e6, 1e6]]), 2: np.array([[1e6, 1e6]])}
    assert np.allclose(rake_axes(cells, margins, rounds=1)[0], [[1e6, 5e-4], [5e-4, 1e6]], rtol=1e-6)
