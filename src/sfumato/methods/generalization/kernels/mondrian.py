"""Multidimensional local recoding: classes are boxes, cut again and again while the criterion allows.

All boxes of one depth are cut in the same vectorized step: a row knows its box, and everything a cut needs
is a count over (box, side, sensitive value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.data.coarsening.hierarchy import Hierarchy
from sfumato.methods.generalization.kernels.rows import Criterion, DistinctRows
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.mixed_radix import MixedRadix

CELLS_AT_ONCE = 20_000_000
"""Counts over (box, side, sensitive value) held at a time; more boxes are judged in turns."""


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

    @property
    def fanout(self) -> int:
        """A cut has two sides."""
        return 2

    def run(self, first: int, last: int) -> int:
        """The number that stands for a run."""
        return first * self.size + last

    def cover(self, value: int) -> tuple[int, ...]:
        """Categories of a run."""
        return tuple(range(value // self.size, value % self.size + 1))

    def loss(self, values: Integers) -> Floats:
        """Share of the range that a run spans: (s - 1)/(m - 1)."""
        return np.asarray((values % self.size - values // self.size) / max(self.size - 1, 1))

    def propose(
        self, values: Integers, box: Integers, codes: Integers, counts: Integers, k: int
    ) -> tuple[Integers, Integers]:
        """Side of every row, and the runs ``(boxes, 2)``: cut where it parts the rows most evenly."""
        table = MixedRadix([len(values), self.size]).tabulate([box, codes], counts)
        below = np.cumsum(table, axis=1)
        total = below[:, -1:]
        # A cut after category c leaves below[:, c] rows on the first side.
        fits = (below >= k) & (total - below >= k)
        distance = np.where(fits, np.abs(below - total / 2), np.inf)
        after = distance.argmin(axis=1)
        # Where no cut fits, everything is on the first side and the run stays as it is.
        after = np.where(fits.any(axis=1), after, values % self.size)
        first = values - values % self.size + after
        second = np.minimum(after + 1, self.size - 1) * self.size + values % self.size
        return np.asarray(codes > after[box], np.int64), np.stack((first, second), axis=1)


@dataclass(frozen=True, eq=False)
class Nested:
    """An attribute whose values may be generalized to the nodes of a hierarchy."""

    hierarchy: Hierarchy

    @property
    def whole(self) -> int:
        """The root."""
        return self.hierarchy.root

    @cached_property
    def fanout(self) -> int:
        """Largest number of children."""
        return max(len(each) for each in self.hierarchy.children)

    @cached_property
    def _side(self) -> Integers:
        """``(nodes, size)``: which child of a node a category is below; 0 where it is not below the node."""
        table = np.zeros((len(self.hierarchy.labels), self.hierarchy.size), dtype=np.int64)
        for node, children in enumerate(self.hierarchy.children):
            for side, child in enumerate(children):
                table[node, list(self.hierarchy.covers[child])] = side
        return table

    @cached_property
    def _children(self) -> Integers:
        """``(nodes, fanout)``: the children of a node; the node itself where there are fewer."""
        table = np.repeat(np.arange(len(self.hierarchy.labels))[:, None], self.fanout, axis=1)
        for node, children in enumerate(self.hierarchy.children):
            table[node, : len(children)] = children
        return table

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

    def propose(
        self, values: Integers, box: Integers, codes: Integers, counts: Integers, k: int
    ) -> tuple[Integers, Integers]:
        """Side of every row, and the nodes ``(boxes, fanout)``: the children of the box's node."""
        del counts, k
        return self._side[values[box], codes], self._children[values]


Domain = Ordered | Nested
"""How one attribute may be generalized."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The classes of a recoding.

    Parameters
    ----------
    box
        ``(n,)`` class of every distinct row.
    values
        ``(classes, attributes)``: the run or node that stands for an attribute in a class.
    sizes
        ``(classes,)`` rows.
    """

    box: Integers
    values: Integers
    sizes: Integers


def cut_boxes(rows: DistinctRows, domains: Sequence[Domain], criterion: Criterion) -> Boxes | None:
    """Cut all rows into boxes as small as the criterion allows.

    A box is cut along the attribute that lowers the loss most, among the cuts after which every side
    satisfies the criterion: at the category nearest to the median for ordered attributes, into the
    children of its node for nested ones. A cut must part rows, and the run or node of a box follows from
    the cuts alone: drawn tight around the rows inside it would publish their extremes (:func:`tighten`).

    Parameters
    ----------
    rows
        Distinct rows.
    domains
        How every quasi-identifier may be generalized.
    criterion
        What every class must satisfy.

    Returns
    -------
    Boxes or None
        None when not even one class of all rows satisfies the criterion.

    References
    ----------
    LeFevre, DeWitt and Ramakrishnan (2006), Mondrian multidimensional k-anonymity.

    Examples
    --------
    >>> rows = DistinctRows.count(MixedRadix([4]), 1, [np.array([0, 1, 2, 2, 3])])
    >>> boxes = cut_boxes(rows, [Ordered(4)], Criterion(2))
    >>> [Ordered(4).cover(value) for value in boxes.values[:, 0]], boxes.sizes.tolist()
    ([(0, 1), (2, 3)], [2, 3])
    """
    columns = [rows.codes(place) for place in range(len(domains))]
    sensitive = rows.sensitive if criterion.needs_sensitive else None
    judge = _Judge(criterion, rows.sensitive_size)
    box = np.zeros(len(rows.keys), dtype=np.int64)
    values = np.array([[domain.whole for domain in domains]], dtype=np.int64)
    if not judge.passes(box, rows.counts, sensitive, 1).all():
        return None
    finished_box = np.empty(len(rows.keys), dtype=np.int64)
    finished: list[Integers] = []
    number_finished = 0
    active = np.arange(len(rows.keys))
    while len(active):
        part = _Part(box, rows.counts[active], None if sensitive is None else sensitive[active])
        step = _cut_once(part, [column[active] for column in columns], values, domains, judge)
        stays = step.stays[box]
        number = np.cumsum(step.stays) - 1 + number_finished
        finished_box[active[stays]] = number[box[stays]]
        finished.append(values[step.stays])
        number_finished += int(step.stays.sum())
        active, box, values = active[~stays], step.box[~stays], step.values
    sizes = np.bincount(finished_box, weights=rows.counts, minlength=number_finished)
    return Boxes(finished_box, np.concatenate(finished), sizes.astype(np.int64))


def tighten(boxes: Boxes, rows: DistinctRows, domains: Sequence[Domain]) -> Boxes:
    """The same classes, each with the smallest runs and nodes that hold its rows.

    Less is lost, but the extremes of every class are published: they are the values of single rows.

    Examples
    --------
    >>> rows = DistinctRows.count(MixedRadix([9]), 1, [np.array([1, 2, 6, 7])])
    >>> tight = tighten(cut_boxes(rows, [Ordered(9)], Criterion(2)), rows, [Ordered(9)])
    >>> [Ordered(9).cover(value) for value in tight.values[:, 0]]
    [(1, 2), (6, 7)]
    """
    number = len(boxes.sizes)
    values = boxes.values.copy()
    for place, domain in enumerate(domains):
        codes = rows.codes(place)
        if isinstance(domain, Ordered):
            first, last = _extremes(boxes.box, codes, number)
            values[:, place] = first * domain.size + last
            continue
        # From the root down to the lowest level at which all rows of a box still share one node.
        for level in range(domain.hierarchy.height, -1, -1):
            first, last = _extremes(boxes.box, domain.hierarchy.level(level)[codes], number)
            values[:, place] = np.where(first == last, first, values[:, place])
    return Boxes(boxes.box, values, boxes.sizes)


def _extremes(box: Integers, numbers: Integers, boxes: int) -> tuple[Integers, Integers]:
    """Smallest and largest number in every box."""
    first = np.full(boxes, np.iinfo(np.int64).max)
    last = np.full(boxes, -1)
    np.minimum.at(first, box, numbers)
    np.maximum.at(last, box, numbers)
    return first, last


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows still in boxes that may be cut."""

    box: Integers
    counts: Integers
    sensitive: Integers | None


@dataclass(frozen=True, eq=False)
class _Step:
    """One cut of every box: which boxes stay, and the new box of each row of the others."""

    stays: Booleans
    box: Integers
    values: Integers


class _Judge:
    """Decides which cells, numbered from 0, satisfy the criterion; empty cells do."""

    def __init__(self, criterion: Criterion, sensitive_size: int) -> None:
        self.criterion = criterion
        self.sensitive_size = sensitive_size

    def passes(self, cell: Integers, counts: Integers, sensitive: Integers | None, cells: int) -> Booleans:
        sizes = np.bincount(cell, weights=counts, minlength=cells).astype(np.int64)
        passed: Booleans = (sizes >= self.criterion.k) | (sizes == 0)
        if sensitive is None:
            return passed
        # Sensitive counts are made only for the cells that are large enough.
        large = np.flatnonzero(passed & (sizes > 0))
        place = np.full(cells, -1)
        place[large] = np.arange(len(large))
        turn = max(1, CELLS_AT_ONCE // self.sensitive_size)
        for start in range(0, len(large), turn):
            chosen = large[start : start + turn]
            local = place[cell] - start
            inside = (local >= 0) & (local < len(chosen))
            radix = MixedRadix([len(chosen), self.sensitive_size])
            table = radix.tabulate([local[inside], sensitive[inside]], counts[inside])
            passed[chosen] = self.criterion.passes(sizes[chosen], table.astype(np.int64))
        return passed


def _cut_once(
    part: _Part, columns: list[Integers], values: Integers, domains: Sequence[Domain], judge: _Judge
) -> _Step:
    """Cut every box along its best attribute."""
    boxes = len(values)
    fanout = max(domain.fanout for domain in domains)
    best_gain = np.zeros(boxes)
    best_place = np.full(boxes, -1)
    sides = np.zeros(len(part.box), dtype=np.int64)
    new_values = np.repeat(values[:, None, :], fanout, axis=1)
    for place, (domain, codes) in enumerate(zip(domains, columns, strict=True)):
        side, proposed = domain.propose(values[:, place], part.box, codes, part.counts, judge.criterion.k)
        cell = part.box * domain.fanout + side
        cells = boxes * domain.fanout
        sizes = np.bincount(cell, weights=part.counts, minlength=cells).reshape(boxes, -1)
        lost = (sizes * domain.loss(proposed)).sum(axis=1)
        gain = sizes.sum(axis=1) * domain.loss(values[:, place]) - lost
        fits = judge.passes(cell, part.counts, part.sensitive, cells).reshape(boxes, -1).all(axis=1)
        # Rows on one side only: cutting would publish where there are none, and part nobody.
        fits &= (sizes > 0).sum(axis=1) > 1
        better = fits & (gain > best_gain * (1 + 1e-12))
        best_gain[better] = gain[better]
        best_place[better] = place
        sides = np.where(better[part.box], side, sides)
    for place, domain in enumerate(domains):
        chosen = np.flatnonzero(best_place == place)
        if len(chosen):
            # The proposal is made again for the chosen boxes alone; it depends on nothing else.
            inside = best_place[part.box] == place
            where = np.searchsorted(chosen, part.box[inside])
            _, proposed = domain.propose(
                values[chosen, place], where, columns[place][inside], part.counts[inside], judge.criterion.k
            )
            new_values[chosen, : domain.fanout, place] = proposed
    stays = best_place < 0
    moving = ~stays[part.box]
    cell = part.box * fanout + sides
    used, relabelled = np.unique(cell[moving], return_inverse=True)
    box = np.zeros(len(part.box), dtype=np.int64)
    box[moving] = relabelled
    return _Step(stays, box, new_values.reshape(boxes * fanout, -1)[used])
