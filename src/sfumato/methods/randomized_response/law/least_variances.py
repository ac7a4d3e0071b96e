"""The least variance that publishing can have left in an estimate, whatever the truth.

The unbiased estimate of a variance can fall below it, even below zero, in cells that few published rows
are near. Taken for the variance it would say that such a cell is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.chance.distortion import AxisMatrix, TwoValued, contract, squared, transposed
from sfumato.values.arrays import Booleans, Floats

Weights = tuple[AxisMatrix, AxisMatrix]
"""The distortion of an axis, None where it was published as it is, and what it is multiplied by."""


def least_variances(counts: Floats, axes: Sequence[Weights]) -> Floats:
    """Lower bounds of the variances of the cells that published counts are contracted to.

    Parameters
    ----------
    counts
        Published counts, ``(d_0, d_1, ...)``.
    axes
        For each axis its distortion, ``(d_i, d_i)``, and its weights, ``(d_i, e_i)``.

    Returns
    -------
    numpy.ndarray
        ``(e_0, e_1, ...)``.

    Notes
    -----
    Given the truth a row adds ``E[h^2] - E[h]^2`` to the variance of a cell, where E[h] is 1 when the row
    belongs to the cell and 0 otherwise, and E[h^2] is the product over the axes of second moments that
    depend on the row's true category there. The least of it over all true categories, times the rows
    that have the cell's unperturbed categories (known exactly), cannot exceed the variance.

    Examples
    --------
    >>> warner = TwoValued(0.9, 0.1)
    >>> inverse = TwoValued(1.125, -0.125)
    >>> least_variances(np.array([0.0, 3.0]), [(warner, inverse)]).round(6).tolist()
    [0.421875, 0.421875]
    """
    rows = counts
    inside, outside = [], []
    for axis, (distortion, weights) in enumerate(axes):
        if distortion is None:
            rows = contract(rows, [None] * axis + [weights])
            moments = np.ones(rows.shape[axis]), np.full(rows.shape[axis], np.nan)
        else:
            rows = rows.sum(axis=axis, keepdims=True)
            moments = _least_second_moments(distortion, weights, counts.shape[axis])
        # Axes before this one are broadcast by themselves.
        later = (1,) * (counts.ndim - axis - 1)
        inside.append(moments[0].reshape(-1, *later))
        outside.append(moments[1].reshape(-1, *later))
    # Not-a-number stands for "no category": fmin passes over it.
    either = [np.fmin(*pair) for pair in zip(inside, outside, strict=True)]
    least: Floats = math.prod(inside, start=np.ones(())) - 1
    for axis, moment in enumerate(outside):
        least = np.fmin(least, math.prod(either[:axis] + either[axis + 1 :], start=moment))
    return np.asarray(rows * np.clip(least, 0, None))


def _least_second_moments(distortion: AxisMatrix, weights: AxisMatrix, size: int) -> tuple[Floats, Floats]:
    """For each cell of an axis the least ``E[h^2]`` of a true category inside and of one outside it."""
    if isinstance(distortion, TwoValued) and isinstance(weights, TwoValued):
        # Two values again: the whole product would take the square of a long category list.
        cells = size if weights.columns is None else len(weights.columns)
        own, other = squared(weights).diagonal, squared(weights).elsewhere
        inside = distortion.diagonal * own + (size - 1) * distortion.elsewhere * other
        outside = (
            distortion.diagonal + (size - 2) * distortion.elsewhere
        ) * other + distortion.elsewhere * own
        return np.full(cells, inside), np.full(cells, outside)
    entries = np.eye(size) if weights is None else weights
    entries = entries.dense(size) if isinstance(entries, TwoValued) else entries
    by_true = [transposed(distortion), None]
    second = contract(entries**2, by_true)
    # The expectation is 1 inside and 0 outside, but for rounding.
    is_inside = contract(entries, by_true) > 0.5
    return _least(second, is_inside), _least(second, ~is_inside)


def _least(moments: Floats, is_meant: Booleans) -> Floats:
    """Least of the entries meant in each column; not a number where none is."""
    least = np.min(moments, axis=0, where=is_meant, initial=np.inf)
    return np.where(is_meant.any(axis=0), least, np.nan)
