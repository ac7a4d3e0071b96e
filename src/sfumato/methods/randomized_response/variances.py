"""Variance functions of randomized response: least variance, variance as a function of the count, sensitivity and false-positive rates of cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from sfumato.arrays import Booleans, Floats
from sfumato.estimates.estimates import Limits
from sfumato.estimates.exact_intervals import FewSteps, chances_of_being_seen, largest_chances
from sfumato.laws.estimator import indicator
from sfumato.randomness.distortion import AxisMatrix, TwoValued, contract, squared, transposed

# --------------------------------------------------------------------------------------------------
# The least variance that publishing can have left in an estimate, whatever the truth.
#
# The unbiased estimate of a variance can fall below it, even below zero, in cells that few published rows
# are near. Taken for the variance it would say that such a cell is known exactly.


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


# --------------------------------------------------------------------------------------------------
# How the estimated variance of a count goes with the count that was estimated.


class Axis(NamedTuple):
    """An axis of published counts.

    ``matrix`` and ``inverse`` are None where it was published as it is; ``weights`` are what its categories count toward
    each cell, and ``codes`` those asked for, None for all of them.
    """

    matrix: AxisMatrix
    inverse: AxisMatrix
    weights: AxisMatrix
    codes: tuple[int, ...] | None


def variance_slopes(counts: Floats, axes: Sequence[Axis], variances: Floats) -> Floats:
    """Change of each cell's variance with its count, for each row, ``(cells,)``.

    Parameters
    ----------
    counts
        Published counts, ``(d_0, d_1, ...)``.
    axes
        One for each axis.
    variances
        Those stated of the cells, ``(cells,)``.

    Notes
    -----
    The estimate is ``sum h`` and its variance is estimated by ``sum h^2 - sum h``; the covariance of the two is the sum
    over rows of ``E[h^3] - E[h^2] E[h]``, less the variance. E[h] says whether the row is in the cell. Of one attribute
    kept with probability p the quotient is exact: the variance is a line in the count. The slope of h^2 over h lies
    between twice the least and twice the largest h, so that noise cannot take the quotient beyond.

    Examples
    --------
    >>> warner, inverse = TwoValued(0.9, 0.1), TwoValued(1.125, -0.125)
    >>> variance_slopes(np.array([40.0, 60.0]), [Axis(warner, inverse, inverse, None)], np.full(2, 14.0)).round(6).tolist()
    [0.0, 0.0]
    """
    weights = [each.weights for each in axes]
    estimates = contract(counts, weights).ravel()
    squares = contract(counts, [squared(each) for each in weights]).ravel()
    cubes = contract(counts, [squared(each, 3) for each in weights]).ravel()
    inside = contract(
        counts, [_second_moments(*each) for each in zip(axes, counts.shape, strict=True)]
    ).ravel()
    covariance = cubes - inside - (squares - estimates)
    largest = 2 * math.prod(_largest(each) for each in weights) + 1
    slopes = np.divide(covariance, variances, out=np.zeros_like(covariance), where=variances > 0)
    return np.clip(slopes, -largest, largest)


def _second_moments(axis: Axis, size: int) -> AxisMatrix:
    """What published categories count toward ``sum E[h^2] E[h]``: estimated rows inside, each times its second moment."""
    matrix, two = axis.matrix, axis.weights
    if matrix is None:
        return two
    if isinstance(matrix, TwoValued) and isinstance(two, TwoValued):
        moment = matrix.diagonal * two.diagonal**2 + (size - 1) * matrix.elsewhere * two.elsewhere**2
        return TwoValued(moment * two.diagonal, moment * two.elsewhere, two.columns)
    weights = _dense(axis.weights, size)
    moments = contract(weights**2, [transposed(axis.matrix), None])
    # Weights of single categories stand side by side; those of a sum of categories are one column.
    is_sum = weights.shape[1] == 1
    chosen = indicator(size, axis.codes)[:, None] if is_sum else _dense(TwoValued(1.0, 0.0, axis.codes), size)
    return contract(chosen * moments, [transposed(axis.inverse), None])


def _dense(matrix: AxisMatrix, size: int) -> Floats:
    if matrix is None:
        return np.eye(size)
    return matrix.dense(size) if isinstance(matrix, TwoValued) else matrix


def _largest(matrix: AxisMatrix) -> float:
    if matrix is None:
        return 1.0
    entries = (matrix.diagonal, matrix.elsewhere) if isinstance(matrix, TwoValued) else matrix
    # A row inside a cell counts 1 on average, so that some entry is no smaller.
    return float(np.max(np.abs(entries), initial=1.0))


# --------------------------------------------------------------------------------------------------
# How likely the rows of a cell are published in it, and all others: what intervals of few rows are made of.


@dataclass(frozen=True, eq=False)
class SeenCells:
    """Published counts of the cells asked for.

    Parameters
    ----------
    counts
        Published counts, ``(d_0, d_1, ...)``.
    matrices
        Axis to its distortion, of those that are perturbed and asked about.
    selectors
        For each axis which categories each cell adds up, ``(d_i, e_i)`` of 0 and 1.
    rows
        For every cell the rows that have its unperturbed values, ``(cells,)``.
    """

    counts: Floats
    matrices: Mapping[int, AxisMatrix]
    selectors: Sequence[AxisMatrix]
    rows: Floats

    def limits(self, estimates: Floats, besides: Limits) -> FewSteps:
        """Limits of the true counts of the cells.

        Where a row of another cell is published in this one with a chance that hangs on which cell that is, its mean is estimated: as much as
        is left of the rows seen when the estimated ones of the cell are taken off. What the intervals would be without this they then hold too.

        Parameters
        ----------
        estimates
            Of the true counts, ``(cells,)``.
        besides
            Limits of the same counts that know how their estimates vary, but not that they take few values.
        """
        seen = contract(self.counts, self.selectors)
        kept: Floats = np.ones(seen.shape)
        gained: Floats = np.ones(seen.shape)
        for axis, matrix in self.matrices.items():
            chances = chances_of_being_seen(matrix, self.selectors[axis], self.counts.shape[axis])
            along = [-1 if each == axis else 1 for each in range(seen.ndim)]
            kept, gained = kept * chances[0].reshape(along), gained * chances[1].reshape(along)
        shown, kept, gained = seen.ravel(), kept.ravel(), gained.ravel()
        # Of several attributes the product of chances is that of rows outside in all of them, and there are others.
        is_estimated = np.isnan(gained) | (len(self.matrices) > 1)
        if not is_estimated.any():
            return FewSteps(shown, self.rows, kept, gained)
        true = np.clip(estimates, 0, self.rows)
        others = np.clip(shown - kept * true, 0, None)
        # All may seem to be of the cell; then one of them may be none of it.
        outside = np.maximum(self.rows - np.round(true), 1)

        def steps(rows_gained: Floats, more: Limits) -> FewSteps:
            mean = _two_digits(rows_gained) / outside
            chances = np.where(is_estimated, np.where(mean < kept, mean, np.nan), gained)
            return FewSteps(shown, self.rows, kept, chances, partial(_of_estimated, is_estimated, more))

        # A row that came over counts as one of the cell, and nothing seems to be gained then: a row more may have been.
        return steps(others, steps(others + self._largest_of_one(), besides))

    def _largest_of_one(self) -> Floats:
        """The largest chance with which a row of another cell is published in each, ``(cells,)``."""
        shape = contract(self.counts, self.selectors).shape
        either: Floats = np.ones(shape)
        most: Floats = np.zeros(shape)
        for axis, matrix in self.matrices.items():
            along = [-1 if each == axis else 1 for each in range(len(shape))]
            inside, outside = (
                each.reshape(along)
                for each in largest_chances(matrix, self.selectors[axis], self.counts.shape[axis])
            )
            most = np.maximum(most * np.maximum(inside, outside), either * outside)
            either = either * np.maximum(inside, outside)
        return most.ravel()


def _of_estimated(is_estimated: Booleans, besides: Limits, confidence_level: float) -> tuple[Floats, Floats]:
    """Limits of cells whose chances are estimates, where they are told; of all others ends that nothing is moved by."""
    low, high = besides(confidence_level)
    is_told = is_estimated & ~np.isnan(low)
    return np.where(is_told, low, np.inf), np.where(is_told, high, -np.inf)


def _two_digits(numbers: Floats) -> Floats:
    """Numbers that are not negative, of which no more is known: so that cells that are nearly alike are one case.

    Examples
    --------
    >>> _two_digits(np.array([0.0, 0.01234, 56.7])).tolist()
    [0.0, 0.012, 57.0]
    """
    unit = 10.0 ** (np.floor(np.log10(np.where(numbers > 0, numbers, 1.0))) - 1)
    return np.where(numbers > 0, np.round(numbers / unit) * unit, 0.0)
