"""Second moments of what every published row adds to the cells asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.chance.distortion import AxisMatrix, TwoValued, contract
from sfumato.values.arrays import Floats


def second_moment(counts: Floats, left: Sequence[AxisMatrix], right: Sequence[AxisMatrix]) -> Floats:
    """``sum over published cells of count * h g'``, one axis at a time.

    A published row of a cell adds h to one set of estimates and g to another, each a product of one
    factor for each axis.

    Parameters
    ----------
    counts
        Published counts, ``(d_0, d_1, ...)``.
    left, right
        For each axis the factors of h and of g, ``(d_i, e_i)`` and ``(d_i, f_i)``.

    Returns
    -------
    numpy.ndarray
        ``(product of the e, product of the f)``.

    Examples
    --------
    >>> second_moment(np.array([3.0, 1.0]), [np.eye(2)], [np.ones((2, 1))]).tolist()
    [[3.0], [1.0]]
    """
    pairs = [
        (_entries(one, size), _entries(other, size))
        for one, other, size in zip(left, right, counts.shape, strict=True)
    ]
    # Axes that end as one number go first: the pairs below then stand on a small table.
    is_summed = [one.shape[1] == other.shape[1] == 1 for one, other in pairs]
    tensor = contract(
        counts,
        [one * other if summed else None for (one, other), summed in zip(pairs, is_summed, strict=True)],
    )
    for (one, other), summed in zip(pairs, is_summed, strict=True):
        # The next published axis is always the first; its pair of output axes is put last.
        moved = np.moveaxis(tensor, 0, -1)[..., None]
        tensor = moved if summed else one.T @ (moved * other)
    number = len(pairs)
    # Each output axis now has its twin beside it; bring the first of every pair to the front.
    order = [*range(0, 2 * number, 2), *range(1, 2 * number, 2)]
    shape = [math.prod(each[side].shape[1] for each in pairs) for side in (0, 1)]
    return tensor.transpose(order).reshape(shape)


def _entries(matrix: AxisMatrix, size: int) -> Floats:
    """The matrix of an axis entry by entry; the identity where the axis is left alone."""
    if matrix is None:
        return np.eye(size)
    return matrix.dense(size) if isinstance(matrix, TwoValued) else matrix
