"""How the estimated variance of a count goes with the count that was estimated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.chance.distortion import AxisMatrix, TwoValued, contract, squared, transposed
from sfumato.laws.asking import indicator
from sfumato.values.arrays import Floats


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
