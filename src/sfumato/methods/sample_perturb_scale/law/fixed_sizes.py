"""What the fixed size of every group's sample takes away from the errors of its parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.values.arrays import Floats, Integers


class Parts(NamedTuple):
    """Estimates in parts of groups: group, cell and estimate of each, ``(parts,)``, and how many cells there are."""

    groups: Integers
    cell: Integers
    values: Floats
    cells: int


def fixed_by_group(one: Parts, other: Parts, effects: Floats, *, is_diagonal: bool = False) -> Floats:
    """``sum over groups of effect x x'``, for all pairs of cells or for each cell with itself.

    Parameters
    ----------
    one, other
        Parts of the same groups.
    effects
        ``(groups,)``.
    is_diagonal
        ``(cells,)`` instead of ``(cells, cells)``.

    Examples
    --------
    >>> parts = Parts(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3.0, 2.0, 5.0]), 2)
    >>> fixed_by_group(parts, parts, np.array([1.0, 10.0])).tolist()
    [[259.0, 6.0], [6.0, 4.0]]
    """
    from scipy.sparse import csr_array

    left: Any
    right: Any
    left, right = (
        csr_array((each.values, (each.cell, each.groups)), shape=(each.cells, effects.size))
        for each in (one, other)
    )
    weighted = left * effects[None, :]
    if is_diagonal:
        return np.asarray(weighted.multiply(right).sum(axis=1)).ravel()
    return np.asarray((weighted @ right.T).toarray())
