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
    if one.cells == other.cells == 1:
        # One question with one other, which is most of what is asked: sparse matrices take three times as long.
        sums = [
            np.bincount(each.groups, weights=each.values, minlength=effects.size) for each in (one, other)
        ]
        whole = np.array([float(np.sum(effects * sums[0] * sums[1]))])
        return whole if is_diagonal else whole[:, None]
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


def fixed_leaning(parts: Parts, fixed: Floats, effects: Floats, sizes: Floats) -> Floats:
    """What fixed sizes take away from the covariance of each cell's estimate with its estimated variance, ``(cells,)``.

    Parameters
    ----------
    parts
        Of groups.
    fixed, effects, sizes
        ``a / N``, ``(d - 1) / N`` and N of every group, with a the part of d - 1 that fixed sizes take away.

    Notes
    -----
    A part x of a group of N has the estimated variance ``(d - 1) x - a x^2 / N``, which changes by
    ``d - 1 - 2 a x / N`` with x. Their product is ``(d - 1)^2 x`` less ``3 (d - 1) a x^2 / N - 2 a^2 x^3 / N^2``: where a is
    all of it, a half of its group leans to neither side, and most of it to the other.

    Examples
    --------
    Half of a group, and all of it.

    >>> halves = Parts(np.array([0]), np.array([0]), np.array([50.0]), 1)
    >>> fixed_leaning(halves, np.array([0.02]), np.array([0.02]), np.array([100.0])).tolist()
    [200.0]
    >>> whole = Parts(np.array([0, 0]), np.array([0, 0]), np.array([50.0, 50.0]), 1)
    >>> fixed_leaning(whole, np.array([0.02]), np.array([0.02]), np.array([100.0])).tolist()
    [400.0]
    """
    number = effects.size
    places, index = np.unique(parts.cell * number + parts.groups, return_inverse=True)
    values = np.bincount(index.ravel(), weights=parts.values, minlength=places.size)
    group = places % number
    taken = fixed[group] * values**2 * (3 * effects[group] * sizes[group] - 2 * fixed[group] * values)
    return np.bincount(places // number, weights=taken, minlength=parts.cells).astype(np.float64)
