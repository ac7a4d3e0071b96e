"""Sums of a table's cells, and the best agreement of several noisy marginals of one table.

A marginal splits into effects, one for each set of its attributes: the part of the counts over the
set that sums to zero along each of its axes. Marginals that share a set of attributes measure the
same effect, each with its own noise; effects of different sets are uncorrelated. So the least squares
problem over all marginals falls apart into one weighted mean for each effect, exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.chance.distortion import contract
from sfumato.laws.asking import formula
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts over some attributes with independent noise of equal variance in every cell.

    Parameters
    ----------
    names
        One for each axis.
    counts
        ``(size of the first attribute, size of the second, ...)``.
    variance
        Of the noise of one cell.
    """

    names: tuple[str, ...]
    counts: Floats
    variance: float


def sum_cells(table: NoisyTable, weights: Mapping[str, Floats]) -> Estimates:
    """Sums of cells of one table, with their covariance.

    Parameters
    ----------
    table
        The noisy counts.
    weights
        For an attribute, ``(kept, size)``: which categories each kept entry adds up. Attributes that
        are not named are summed over. Axes come in the table's order.

    Examples
    --------
    >>> table = NoisyTable(("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]]), variance=2.0)
    >>> sums = sum_cells(table, {"a": np.eye(2)})
    >>> sums.values.tolist(), sums.variances.tolist()
    ([3.0, 7.0], [4.0, 4.0])
    """
    rows = _rows(table, weights)
    values = contract(table.counts, [each.T for each in rows]).ravel()
    return _estimates(values, [(table.variance, [each @ each.T for each in rows])])


def combine_tables(tables: Sequence[NoisyTable], weights: Mapping[str, Floats]) -> Estimates:
    """Sums of cells over the attributes named, from all tables together, by weighted least squares.

    Unbiased, and of smaller variance than any unbiased linear estimate from some of the tables. Axes
    come in the order of ``weights``.

    Parameters
    ----------
    tables
        Independent noisy tables of the same rows; one of them at least holds every attribute named.
    weights
        As for :func:`sum_cells`.

    Notes
    -----
    For a set S of attributes, each table that holds S measures the effect of S with a variance
    proportional to its cell variance times the number of cells summed into one cell over S, and the
    same correlation. The weighted mean over tables with reciprocal weights is the least squares
    solution; its variance factor v is the reciprocal of the sum of weights. An effect adds
    ``effect / r`` to every cell, r being the cells of the other attributes, and to the covariance
    ``v / r^2`` times the product over axes of ``I - J/n`` (in S) or J (not in S).

    Examples
    --------
    >>> one = NoisyTable(("a",), np.array([10.0, 20.0]), variance=1.0)
    >>> two = NoisyTable(("a",), np.array([14.0, 24.0]), variance=3.0)
    >>> combine_tables([one, two], {"a": np.eye(2)}).values.tolist()
    [11.0, 21.0]
    """
    names = tuple(weights)
    sizes = [each.shape[1] for each in weights.values()]
    total = np.zeros(sizes)
    parts: list[tuple[float, list[Floats]]] = []
    for subset in _subsets(names):
        effect, variance = _best_effect(tables, subset)
        others = math.prod(size for name, size in zip(names, sizes, strict=True) if name not in subset)
        shape = [size if name in subset else 1 for name, size in zip(names, sizes, strict=True)]
        total += effect.reshape(shape) / others
        factors = [
            each @ _correlation(size, is_in=name in subset) @ each.T
            for (name, each), size in zip(weights.items(), sizes, strict=True)
        ]
        parts.append((variance / others**2, factors))
    values = contract(total, [each.T for each in weights.values()]).ravel()
    return _estimates(values, parts)


def _rows(table: NoisyTable, weights: Mapping[str, Floats]) -> list[Floats]:
    """For each axis of a table, ``(kept, size)``: a row of ones where the axis is summed over."""
    shape = zip(table.names, table.counts.shape, strict=True)
    return [weights[name] if name in weights else np.ones((1, size)) for name, size in shape]


def _best_effect(tables: Sequence[NoisyTable], subset: tuple[str, ...]) -> tuple[Floats, float]:
    """Weighted mean of an effect over the tables that hold it, and its variance factor."""
    numerator: Floats | float = 0.0
    precision = 0.0
    for table in tables:
        if not set(subset) <= set(table.names):
            continue
        gone = tuple(axis for axis, name in enumerate(table.names) if name not in subset)
        summed = table.counts.sum(axis=gone)
        kept = [name for name in table.names if name in subset]
        effect = summed.transpose([kept.index(name) for name in subset])
        for axis in range(effect.ndim):
            effect = effect - effect.mean(axis=axis, keepdims=True)
        # Noise that is surely zero would have an infinite weight; a tiny variance has the same effect.
        cells_summed = table.counts.size // summed.size
        weight = 1 / max(table.variance * cells_summed, 1e-300)
        numerator = numerator + weight * effect
        precision += weight
    return np.asarray(numerator / precision), 1 / precision


def _correlation(size: int, *, is_in: bool) -> Floats:
    ones = np.ones((size, size))
    return np.eye(size) - ones / size if is_in else ones


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return itertools.chain.from_iterable(
        itertools.combinations(names, number) for number in range(len(names) + 1)
    )


def _estimates(values: Floats, parts: Sequence[tuple[float, Sequence[Floats]]]) -> Estimates:
    """Values whose covariance is a sum of Kronecker products; of large tables the diagonal only."""
    is_small = values.size <= formula.LARGEST_COVARIANCE
    covariance: Floats = np.zeros((values.size, values.size) if is_small else values.size)
    for factor, matrices in parts:
        product: Floats = np.ones((1, 1) if is_small else 1)
        for each in matrices:
            product = np.asarray(np.kron(product, each if is_small else np.diagonal(each)), np.float64)
        covariance += factor * product
    return Estimates.with_covariance(values, covariance) if is_small else Estimates(values, covariance)
