"""How one attribute may be generalized, and where boxes may be cut along it.

What a cut needs follows the number of rows: of thousands of categories only those that occur in a box are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.data.coarsening.hierarchy import Hierarchy
from sfumato.methods.generalization.kernels.rows import run_starts
from sfumato.values.arrays import Floats, Integers
from sfumato.values.mixed_radix import MixedRadix

CELLS_PER_ROW = 4
"""Cells of (box, category) for each row up to which they are counted as a table; above, rows are sorted."""

FEW_CELLS = 2**16
"""Cells that are counted as a table however few rows there are."""


@dataclass(frozen=True, eq=False)
class Cut:
    """One cut of every box along an attribute: its rows go to cells, each of which would be a box.

    Parameters
    ----------
    cell
        ``(rows,)`` where each row goes; cells are numbered from 0.
    box, value
        ``(cells,)`` the box that a cell is a part of, and the run or node that stands for the attribute in it.
    """

    cell: Integers
    box: Integers
    value: Integers


@dataclass(frozen=True)
class Ordered:
    """An attribute whose values may be generalized to any run of neighbouring categories.

    A box holds a run ``first`` to ``last``, stored as one number ``first * size + last``.

    Examples
    --------
    >>> Ordered(5).cover(Ordered(5).run(1, 3))
    (1, 2, 3)
    """

    size: int

    @property
    def whole(self) -> int:
        """The run of all categories."""
        return self.size - 1

    def run(self, first: int, last: int) -> int:
        """The number that stands for a run."""
        return first * self.size + last

    def cover(self, value: int) -> tuple[int, ...]:
        """Categories of a run."""
        return tuple(range(value // self.size, value % self.size + 1))

    def loss(self, values: Integers) -> Floats:
        """Share of the range that a run spans: (s - 1)/(m - 1)."""
        return np.asarray((values % self.size - values // self.size) / max(self.size - 1, 1))

    def propose(self, values: Integers, box: Integers, codes: Integers, counts: Integers, k: int) -> Cut:
        """Cut where it parts the rows of a box most evenly, with k at least on both sides.

        Parameters
        ----------
        values
            ``(boxes,)`` runs.
        box, codes, counts
            ``(rows,)`` each.
        k
            Fewest rows of a side.
        """
        # Where no cut fits, everything is on the first side and the run stays as it is.
        last = values % self.size
        if _is_dense(len(values) * self.size, len(box)):
            after = _even_cuts(last, box, codes, counts, k, self.size)
        else:
            after = _even_cuts_sorted(last, box, codes, counts, k, self.size)
        first = values - last + after
        second = np.minimum(after + 1, self.size - 1) * self.size + last
        runs = np.stack((first, second), axis=1).ravel()
        return Cut(2 * box + (codes > after[box]), np.arange(2 * len(values)) // 2, runs)


def _is_dense(cells: int, rows: int) -> bool:
    return cells <= max(FEW_CELLS, CELLS_PER_ROW * rows)


def _even_cuts(
    last: Integers, box: Integers, codes: Integers, counts: Integers, k: int, size: int
) -> Integers:
    """The category after which each box is cut, ``(boxes,)``; its last one where no cut fits."""
    table = MixedRadix([len(last), size]).tabulate([box, codes], counts)
    below = np.cumsum(table, axis=1)
    total = below[:, -1:]
    # A cut after category c leaves below[:, c] rows on the first side.
    fits = (below >= k) & (total - below >= k)
    distance = np.where(fits, np.abs(below - total / 2), np.inf)
    return np.where(fits.any(axis=1), distance.argmin(axis=1), last)


def _even_cuts_sorted(
    last: Integers, box: Integers, codes: Integers, counts: Integers, k: int, size: int
) -> Integers:
    """The same from the categories that occur alone: between two of them all cuts part the rows alike."""
    keys = box * size + codes
    order = np.argsort(keys, kind="stable")
    starts = run_starts(keys[order])
    occurs = keys[order][starts]
    of_box, category = occurs // size, occurs % size
    sums = np.cumsum(np.add.reduceat(counts[order], starts))
    total = np.bincount(box, weights=counts, minlength=len(last)).astype(np.int64)
    below = sums - (np.cumsum(total) - total)[of_box]
    fits = np.flatnonzero((below >= k) & (total[of_box] - below >= k))
    distance = np.abs(below[fits] - total[of_box[fits]] / 2)
    # The nearest to the middle of each box, and of two as near the first.
    best = fits[np.lexsort((category[fits], distance, of_box[fits]))]
    first = run_starts(of_box[best])
    after = last.copy()
    after[of_box[best][first]] = category[best][first]
    return after


@dataclass(frozen=True, eq=False)
class Nested:
    """An attribute whose values may be generalized to the nodes of a hierarchy."""

    hierarchy: Hierarchy

    @property
    def whole(self) -> int:
        """The root."""
        return self.hierarchy.root

    @cached_property
    def _levels(self) -> Integers:
        """``(levels, size)``: the node that stands for a category at each level."""
        return np.stack([self.hierarchy.level(number) for number in range(self.hierarchy.height + 1)])

    @cached_property
    def _below(self) -> Integers:
        """``(nodes,)``: the level at which the children of a node stand; 0 for leaves, which stand for themselves."""
        lowest = np.zeros(len(self.hierarchy.labels), np.int64)
        # A node stands for the same categories at every level at which it does, so that the lowest is one for all.
        for number in range(self.hierarchy.height, -1, -1):
            lowest[self._levels[number]] = number
        return np.maximum(lowest - 1, 0)

    @cached_property
    def _children(self) -> Integers:
        """All children, those of one node side by side."""
        return np.array([child for each in self.hierarchy.children for child in each], np.int64)

    @cached_property
    def _fanouts(self) -> Integers:
        """``(nodes,)`` number of children."""
        return np.array([len(each) for each in self.hierarchy.children], np.int64)

    @cached_property
    def _side(self) -> Integers:
        """``(nodes,)`` which child of its parent a node is."""
        sides = np.zeros(len(self.hierarchy.labels), np.int64)
        for children in self.hierarchy.children:
            sides[list(children)] = np.arange(len(children))
        return sides

    @cached_property
    def _losses(self) -> Floats:
        sizes = np.array([len(each) for each in self.hierarchy.covers])
        return np.where(sizes > 1, sizes / self.hierarchy.size, 0.0)

    def cover(self, value: int) -> tuple[int, ...]:
        """Categories below a node."""
        return self.hierarchy.covers[value]

    def loss(self, values: Integers) -> Floats:
        """Share of the categories that a node covers; 0 for one category."""
        return np.asarray(self._losses[values])

    def propose(self, values: Integers, box: Integers, codes: Integers, counts: Integers, k: int) -> Cut:
        """Cut into the children of each box's node; a leaf stays whole. Parameters as for runs."""
        del counts, k
        child = self._levels[self._below[values[box]], codes]
        fanouts = self._fanouts[values]
        # A leaf is its own and only child.
        parts = np.maximum(fanouts, 1)
        if _is_dense(int(parts.sum()), len(box)):
            ends = np.cumsum(parts)
            nodes = np.repeat(values, parts)
            inner = np.repeat(fanouts > 0, parts)
            starts = (np.cumsum(self._fanouts) - self._fanouts)[nodes]
            within = np.arange(int(parts.sum())) - np.repeat(ends - parts, parts)
            nodes[inner] = self._children[(starts + within)[inner]]
            side = np.where(fanouts[box] > 0, self._side[child], 0)
            return Cut((ends - parts)[box] + side, np.repeat(np.arange(len(values)), parts), nodes)
        found, cell = np.unique(box * len(self._fanouts) + child, return_inverse=True)
        return Cut(cell, found // len(self._fanouts), found % len(self._fanouts))


Domain = Ordered | Nested
"""How one attribute may be generalized."""
