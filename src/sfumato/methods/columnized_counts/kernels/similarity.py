"""How alike two items, or two attributes, are: the measures that columns are made from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.chance.noise import DiscreteLaplace, scale_at_least
from sfumato.chance.randomness import NoiseSource
from sfumato.errors import TooLargeError
from sfumato.methods.columnized_counts.kernels.units import SparseUnits
from sfumato.values.arrays import Counts

ItemSimilarity = Literal["agreement", "agreement-over-product", "cosine", "phi-squared"]
"""Agreeing units over units that have either item (Li and Li, section 7.2); over the product of the supports
(section 6.1); over its root; mean square contingency of having the two items."""

LARGEST_EXACT = 2**24
"""Whole numbers below this are exact in float32, and so is every count of pairs."""

UNITS_PER_BLOCK = 4096
ITEMS_PER_BLOCK = 1024
DENSE_COST = 12
"""How many multiplications of a dense product cost as much as one of a sparse product; measured."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Numbers of units over pairs of items, as float32 where they are whole numbers below 2**24.

    Parameters
    ----------
    agreeing
        ``(items, items)`` units that have both items with equal values.
    both
        ``(items, items)`` units that have both.
    supports
        ``(items,)`` units that have the item.
    units
        All of them.
    """

    agreeing: Counts
    both: Counts
    supports: Counts
    units: float

    def similarity(self, measure: ItemSimilarity) -> Counts:
        """``(items, items)``, between 0 and 1, with ones on the diagonal; 0 where nobody has an item.

        Examples
        --------
        >>> two = SparseUnits.from_triples(["a", "b"], [0, 0, 1], [0, 1, 0], [4, 4, 3], 2, 5)
        >>> count_pairs(two).similarity("agreement")[0, 1].item()
        0.5
        """
        size = self.supports.size
        result = np.empty((size, size), np.float32)
        for first in range(0, size, ITEMS_PER_BLOCK):
            rows = slice(first, first + ITEMS_PER_BLOCK)
            result[rows] = self._similarity_of(rows, measure)
        np.fill_diagonal(result, 1)
        return result

    def _similarity_of(self, rows: slice, measure: ItemSimilarity) -> Counts:
        """Some rows of the similarity, in double: with thousands of items the whole would not fit."""
        mine, yours = self.supports[rows, None], self.supports[None, :]
        both = self.both[rows].astype(np.float64) if self.both.size else np.zeros(0)
        if measure == "phi-squared":
            # phi^2 = (n n_ij - n_i n_j)^2 / (n_i n_j (n - n_i) (n - n_j)).
            top = (self.units * both - mine * yours) ** 2
            bottom = mine * yours * (self.units - mine) * (self.units - yours)
        else:
            top = self.agreeing[rows].astype(np.float64)
            product = mine * yours
            bottoms = {"agreement-over-product": product, "cosine": np.sqrt(product)}
            bottom = bottoms[measure] if measure in bottoms else mine + yours - both
        shares = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
        # Noise can push a share beyond what counts could give.
        return np.asarray(np.clip(shares, 0, 1))


def count_pairs(units: SparseUnits, *, with_agreement: bool = True) -> PairCounts:
    """Pair counts of all items; sparse or dense products, whichever is cheaper.

    Dense blocks win where units have more than about a tenth of all items; memory is a few matrices of
    items by items and one block of units.
    """
    if units.number_of_units >= LARGEST_EXACT:
        raise TooLargeError(
            f"pairs of items are counted exactly for fewer than {LARGEST_EXACT:,} units, and there are more. "
            "Give column_sets, learned from a part of the units that is not published."
        )
    size = units.number_of_items
    is_alike = units.number_of_values == 1
    both = np.zeros((size, size), np.float32)
    agreeing = np.zeros((size, size), np.float32) if with_agreement and not is_alike else both
    lengths = np.diff(units.starts).astype(np.float64)
    is_dense = float((lengths**2).sum()) * DENSE_COST > units.number_of_units * float(size) ** 2
    add = _add_dense if is_dense else _add_sparse
    for part in _blocks(units):
        add(both, part)
        if agreeing is not both:
            for value in range(units.number_of_values):
                add(agreeing, part.keep(part.values == value))
    return PairCounts(agreeing, both, units.supports().astype(np.float64), float(units.number_of_units))


def _blocks(units: SparseUnits) -> Iterator[SparseUnits]:
    for first in range(0, units.number_of_units, UNITS_PER_BLOCK):
        starts = units.starts[first : first + UNITS_PER_BLOCK + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        yield SparseUnits(
            (),
            starts - starts[0],
            units.items[inside],
            units.values[inside],
            units.number_of_items,
            units.number_of_values,
        )


def _add_dense(total: Counts, part: SparseUnits) -> None:
    """Add ``X'X`` for the incidence matrix of a block; the symmetric product does half the work."""
    from scipy.linalg.blas import ssyrk

    incidence = np.zeros((part.number_of_items, part.number_of_units), np.float32, order="F")
    incidence[part.items, part.units()] = 1
    product = ssyrk(1.0, incidence, lower=0)
    total += product
    total += np.tril(product.T, -1)


def _add_sparse(total: Counts, part: SparseUnits) -> None:
    from scipy.sparse import csr_array

    ones = np.ones(part.items.size, np.float32)
    shape = (part.number_of_units, part.number_of_items)
    incidence = csr_array((ones, part.items.astype(np.int32), part.starts), shape=shape)
    product = (incidence.T @ incidence).tocoo()
    # Coordinates of a product are unique, so plain indexing adds every entry.
    total[product.row, product.col] += product.data


def pair_sensitivity(items_of_unit: int, measure: ItemSimilarity) -> int:
    """How much a unit with at most so many items changes the statistics that a measure needs, in L1.

    Every pair of its items is in one cell of each matrix used, every item in one support; phi-squared also
    needs the number of units.

    Examples
    --------
    >>> pair_sensitivity(10, "agreement"), pair_sensitivity(10, "cosine"), pair_sensitivity(10, "phi-squared")
    (100, 55, 56)
    """
    pairs = math.comb(items_of_unit, 2)
    matrices = 2 if measure == "agreement" else 1
    return matrices * pairs + items_of_unit + (measure == "phi-squared")


def noisy_pairs(
    units: SparseUnits, measure: ItemSimilarity, epsilon: float, items_of_unit: int, noise: NoiseSource
) -> PairCounts:
    """Pair counts with discrete Laplace noise: epsilon-private for one unit more or less.

    Units are first cut to ``items_of_unit`` random items, so that one of them changes only so much.
    """
    from fractions import Fraction

    cut = units.at_most(items_of_unit, noise.named("items of units").stream(0))
    exact = count_pairs(cut, with_agreement=measure != "phi-squared")
    law = DiscreteLaplace(
        scale=scale_at_least(Fraction(pair_sensitivity(items_of_unit, measure)) / Fraction(epsilon))
    )
    size = units.number_of_items

    def added(counts: Counts, purpose: str) -> Counts:
        # In place and row by row above the diagonal: a second matrix would not fit beside thousands of items.
        bits = noise.named(purpose)
        for row in range(size - 1):
            noisy = counts[row, row + 1 :].astype(np.int64) + law.draw(bits.stream(row), size - row - 1)
            counts[row, row + 1 :] = noisy
            counts[row + 1 :, row] = noisy
        return counts

    supports = exact.supports + law.draw(noise.named("supports").stream(0), size)
    needs_agreement, needs_both = measure != "phi-squared", measure in ("agreement", "phi-squared")
    # Where all values are equal the two matrices are one, and each gets noise of its own.
    agreeing = exact.agreeing.copy() if exact.agreeing is exact.both else exact.agreeing
    total = exact.units + int(law.draw(noise.named("units").stream(0), 1)[0])
    return PairCounts(
        added(agreeing, "agreeing") if needs_agreement else np.zeros(0),
        added(exact.both, "both") if needs_both else np.zeros(0),
        np.maximum(supports, 1),
        max(float(total), float(supports.max()) + 1),
    )


def phi_squared(table: npt.ArrayLike) -> float:
    """Mean square contingency of a two-way table, divided by its largest possible value.

    ``1 / (min(rows, columns) - 1) * sum (f_ij - f_i f_j)^2 / (f_i f_j)`` over shares; 0 for independent
    attributes, 1 where one determines the other.

    Examples
    --------
    >>> phi_squared([[3, 1], [1, 3]])
    0.25
    """
    counts = np.asarray(table, np.float64)
    total = counts.sum()
    smallest = min(counts.shape) - 1
    if total <= 0 or smallest < 1:
        return 0.0
    shares = counts / total
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    parts = np.divide(
        (shares - independent) ** 2, independent, out=np.zeros_like(shares), where=independent > 0
    )
    return float(min(parts.sum() / smallest, 1.0))
