"""Searches for a recoding: optimal full-domain lattice, Mondrian regions, and measures of information loss."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.arrays import Booleans, Codes, Floats, Integers, MixedRadix
from sfumato.methods.generalization.kernels import Criterion, DistinctRows, WideRows, group, run_starts
from sfumato.schema.hierarchies import Hierarchy

# --------------------------------------------------------------------------------------------------
# How one attribute may be generalized, and where boxes may be cut along it.
#
# What a cut needs follows the number of rows: of thousands of categories only those that occur in a box are
# looked at.


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


# --------------------------------------------------------------------------------------------------
# What generalization costs: four measures of the literature, from classes alone.


@dataclass(frozen=True)
class InformationLoss:
    """Four measures of one recoding.

    Parameters
    ----------
    normalized_certainty_penalty
        Between 0 and 1: mean over cells of the share of an attribute's range that the published value
        leaves open; 0 for a value published as it is, 1 for a dropped row.
    granularity
        Between 0 and 1, higher is better: 1 minus the mean over cells of (s - 1)/(m - 1), where a value
        stands for s of m categories and a dropped row for all.
    discernibility
        Sum over rows of the number of rows each cannot be told apart from; a dropped row counts all.
    average_class_size
        Rows of a class on average, divided by k; 1 is the best possible.
    """

    normalized_certainty_penalty: float
    granularity: float
    discernibility: int
    average_class_size: float


def information_loss(
    covered: Integers,
    sizes: Integers,
    categories: Integers,
    is_ordered: Booleans,
    *,
    k: int,
    suppressed: int = 0,
) -> InformationLoss:
    """Measure a recoding.

    Parameters
    ----------
    covered
        ``(classes, attributes)``: how many categories the published value stands for.
    sizes
        ``(classes,)`` rows.
    categories
        ``(attributes,)``: how many categories there are.
    is_ordered
        ``(attributes,)``: whether values are runs of an ordered domain, whose penalty is their width
        (s - 1)/(m - 1), or sets, whose penalty is s/m, and 0 for one category.
    k
        Fewest rows of a class.
    suppressed
        Rows that were dropped.

    References
    ----------
    Xu et al. (2006) for the penalty; Iyengar (2002) for granularity; Bayardo and Agrawal (2005) for
    discernibility; LeFevre, DeWitt and Ramakrishnan (2006) for the average class size.

    Examples
    --------
    >>> information_loss(
    ...     np.array([[1, 2], [3, 2]]), np.array([2, 2]), np.array([5, 2]), np.array([True, False]), k=2
    ... )
    InformationLoss(normalized_certainty_penalty=0.625, granularity=0.375, discernibility=8, average_class_size=1.0)
    """
    rows = int(sizes.sum()) + suppressed
    widths = (covered - 1) / np.maximum(categories - 1, 1)
    shares = np.where(covered > 1, covered / categories, 0.0)
    penalties = np.where(is_ordered, widths, shares)
    cells = rows * len(categories)
    dropped = suppressed * len(categories)
    return InformationLoss(
        normalized_certainty_penalty=float((sizes @ penalties).sum() + dropped) / cells,
        granularity=1 - float((sizes @ widths).sum() + dropped) / cells,
        discernibility=int(np.square(sizes).sum()) + suppressed * rows,
        average_class_size=float(sizes.sum() / max(len(sizes), 1) / k),
    )


# --------------------------------------------------------------------------------------------------
# Optimal full-domain generalization: one level for each attribute, the same for all rows.
#
# The levels form a lattice. Two facts cut it down. Merging classes never makes a class of k smaller, so
# when a node must drop more rows than allowed, every finer node must too. And a node's loss is the loss of
# its levels, known from the margins alone, plus a penalty for the rows it drops, which only grows towards
# finer nodes; so a penalty once seen bounds the loss of every finer node from below.


Node = tuple[int, ...]
"""A level for every attribute."""

BYTES_OF_TABLES = 400 * 2**20
"""Memory for grouped tables that are kept to start others from."""


@dataclass(frozen=True)
class FullDomainResult:
    """The best node of the lattice.

    Parameters
    ----------
    levels
        Level of every attribute.
    suppressed
        Rows in classes that fail the criterion, to be dropped.
    loss
        Between 0 (nothing generalized) and 1 (nothing left); 1 minus granularity.
    nodes_evaluated, nodes
        How many nodes were looked at, of how many.
    """

    levels: Node
    suppressed: int
    loss: float
    nodes_evaluated: int
    nodes: int


def search_full_domain(
    rows: DistinctRows,
    levels: Sequence[Sequence[Integers]],
    criterion: Criterion,
    *,
    most_suppressed: int = 0,
) -> FullDomainResult | None:
    """The node of least loss among those that satisfy the criterion after dropping few enough rows.

    The loss of a value that stands for s of an attribute's m categories is (s - 1)/(m - 1), that of a
    dropped row is 1; averaged over attributes and rows (Iyengar's loss).

    Parameters
    ----------
    rows
        Distinct rows.
    levels
        For each attribute and level, ``(size,)``: the first category of every category's group. Level 0
        is the identity; each level merges groups of the one before.
    criterion
        What classes must satisfy.
    most_suppressed
        Rows that may be dropped.

    Returns
    -------
    FullDomainResult or None
        None when no node satisfies the criterion.

    References
    ----------
    Samarati (2001) and LeFevre, DeWitt and Ramakrishnan (2005) for the lattice; Iyengar (2002) for the loss.

    Examples
    --------
    >>> rows = DistinctRows.count(MixedRadix([4]), 1, [np.array([0, 1, 2, 2, 3])])
    >>> levels = [[np.array([0, 1, 2, 3]), np.array([0, 0, 2, 2]), np.array([0, 0, 0, 0])]]
    >>> search_full_domain(rows, levels, Criterion(2)).levels
    (1,)
    """
    used = rows if criterion.needs_sensitive else rows.without_sensitive()
    return _Search(used, levels, criterion, most_suppressed).run()


class _Tables:
    """Grouped tables of nodes, each made from that of the node with the last attribute not yet generalized."""

    def __init__(self, rows: DistinctRows, levels: Sequence[Sequence[Integers]]) -> None:
        self.rows = rows
        self.levels = levels
        sizes = rows.radix.sizes
        # Attributes with most categories first: tables become small early, and are shared by many nodes.
        self.order = sorted(range(len(sizes)), key=lambda place: -sizes[place])
        self.kept: OrderedDict[Node, tuple[Integers, Integers]] = OrderedDict()
        self.bytes_kept = 0

    def at(self, node: Node) -> tuple[Integers, Integers]:
        """Keys and counts of the classes at a node (by sensitive value, where there is one)."""
        return self._prefix(tuple(node[place] for place in self.order))

    def _prefix(self, chosen: Node) -> tuple[Integers, Integers]:
        if not chosen:
            return self.rows.keys, self.rows.counts
        if chosen in self.kept:
            self.kept.move_to_end(chosen)
            return self.kept[chosen]
        keys, counts = self._prefix(chosen[:-1])
        place = self.order[len(chosen) - 1]
        if chosen[-1] > 0:
            radix = self.rows.whole
            shift = self.levels[place][chosen[-1]] - np.arange(radix.sizes[place])
            moved = (shift * radix.strides[place])[radix.digit(keys, place)]
            keys, counts = group(keys + moved, counts)
            self._keep(chosen, keys, counts)
        return keys, counts

    def _keep(self, chosen: Node, keys: Integers, counts: Integers) -> None:
        self.kept[chosen] = (keys, counts)
        self.bytes_kept += keys.nbytes + counts.nbytes
        while self.bytes_kept > BYTES_OF_TABLES:
            _, (old_keys, old_counts) = self.kept.popitem(last=False)
            self.bytes_kept -= old_keys.nbytes + old_counts.nbytes


class _Search:
    """Branch and bound over the lattice, whose state is one array of bounds with an axis for each attribute."""

    def __init__(
        self,
        rows: DistinctRows,
        levels: Sequence[Sequence[Integers]],
        criterion: Criterion,
        most_suppressed: int,
    ) -> None:
        self.rows = rows
        self.criterion = criterion
        self.most_suppressed = most_suppressed
        self.tables = _Tables(rows, levels)
        self.losses = [[_loss_of_groups(level) for level in attribute] for attribute in levels]
        self.shape = tuple(len(attribute) for attribute in levels)
        self.loss_of_levels = self._loss_of_levels()
        self.penalty = np.zeros(self.shape)
        self.is_open = np.ones(self.shape, dtype=np.bool_)
        self.best: tuple[float, int, Node] | None = None
        self.evaluated = 0

    def run(self) -> FullDomainResult | None:
        top = tuple(size - 1 for size in self.shape)
        if self._visit(top) is not None:
            self._descend(top)
        # Coarse nodes first: what they show, a failure or a penalty, holds for everything finer.
        while (node := self._next()) is not None:
            self._visit(node)
        if self.best is None:
            return None
        loss, suppressed, levels = self.best
        return FullDomainResult(levels, suppressed, loss, self.evaluated, math.prod(self.shape))

    def _descend(self, node: Node | None) -> None:
        """Refine greedily, so that the search starts with a good solution."""
        while node is not None:
            finer = [
                (*node[:place], level - 1, *node[place + 1 :]) for place, level in enumerate(node) if level
            ]
            visited = [(self._visit(each), each) for each in finer if self.is_open[each]]
            losses = [(loss, each) for loss, each in visited if loss is not None]
            node = min(losses)[1] if losses else None

    def _next(self) -> Node | None:
        bound = np.where(self.is_open, self.loss_of_levels + self.penalty, np.inf)
        to_beat = np.inf if self.best is None else self.best[0]
        candidates = np.where(bound < to_beat, self.loss_of_levels, -np.inf)
        place = int(candidates.argmax())
        if not candidates.flat[place] > -np.inf:
            return None
        return tuple(int(each) for each in np.unravel_index(place, self.shape))

    def _visit(self, node: Node) -> float | None:
        """Evaluate a node, keep what it proves, and give its loss; None when it drops too many rows."""
        self.evaluated += 1
        self.is_open[node] = False
        keys, sizes, passed = self._classes(node)
        finer = tuple(slice(level + 1) for level in node)
        # What a node proves of finer ones: failing classes that stay failing however they are split.
        # Without suppression that is every failure, where passing classes merge into passing ones.
        merging = self.criterion.merging
        proves_all = merging == "any" or (merging == "keeping" and self.most_suppressed == 0)
        proving = ~passed if proves_all else sizes < self.criterion.k
        if sizes[proving].sum() > self.most_suppressed:
            self.is_open[finer] = False
            return None
        known = self._penalty(node, keys[proving], sizes[proving])
        np.maximum(self.penalty[finer], known, out=self.penalty[finer])
        suppressed = int(sizes[~passed].sum())
        if suppressed > self.most_suppressed:
            return None
        loss = float(self.loss_of_levels[node] + self._penalty(node, keys[~passed], sizes[~passed]))
        if self.best is None or (loss, suppressed, node) < self.best:
            self.best = (loss, suppressed, node)
        return loss

    def _classes(self, node: Node) -> tuple[Integers, Integers, Booleans]:
        """Keys of the quasi-identifiers, sizes, and which classes pass."""
        keys, counts = self.tables.at(node)
        if not self.criterion.needs_sensitive:
            return keys, counts, self.criterion.passes(counts, None)
        number = self.rows.sensitive_size
        of_class = keys // number
        starts = run_starts(of_class)
        sizes = np.add.reduceat(counts, starts)
        # Only classes that are large enough get a row of sensitive counts: at most rows / k of them.
        large = sizes >= self.criterion.k
        entries = np.repeat(large, np.diff(np.append(starts, len(keys))))
        place = np.repeat(np.cumsum(large) - 1, np.diff(np.append(starts, len(keys))))[entries]
        radix = MixedRadix([int(large.sum()), number])
        table = radix.tabulate([place, keys[entries] % number], counts[entries])
        passed = large.copy()
        passed[large] = self.criterion.passes(sizes[large], table.astype(np.int64))
        return of_class[starts], sizes, passed

    def _penalty(self, node: Node, keys: Integers, sizes: Integers) -> float:
        """What dropping classes costs beyond generalizing them: the sum of 1 - loss over their rows."""
        if not len(keys):
            return 0.0
        kept = np.zeros(len(keys))
        for place, level in enumerate(node):
            kept += 1 - self.losses[place][level][self.rows.radix.digit(keys, place)]
        return float(kept @ sizes) / len(node) / self.rows.total

    def _loss_of_levels(self) -> Floats:
        total = np.zeros(self.shape)
        for place, losses in enumerate(self.losses):
            codes = self.rows.codes(place)
            weights = np.bincount(codes, weights=self.rows.counts, minlength=self.rows.radix.sizes[place])
            means = np.array([each @ weights for each in losses]) / self.rows.total / len(self.shape)
            total += means.reshape([-1 if axis == place else 1 for axis in range(len(self.shape))])
        return total


def _loss_of_groups(first: Integers) -> Floats:
    """(s - 1)/(m - 1) for every category's group of s, ``(m,)``."""
    members = np.bincount(first, minlength=len(first))
    return np.asarray((members[first] - 1) / max(len(first) - 1, 1))


# --------------------------------------------------------------------------------------------------
# Multidimensional local recoding: classes are boxes, cut again and again while the criterion allows.
#
# All boxes of one depth are cut in the same vectorized step: a row knows its box, and everything a cut needs
# is a count over (box, side, sensitive value).


CELLS_AT_ONCE = 20_000_000
"""Counts over (box, side, sensitive value) held at a time; more boxes are judged in turns."""


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


def cut_boxes(rows: DistinctRows | WideRows, domains: Sequence[Domain], criterion: Criterion) -> Boxes | None:
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
    box = np.zeros(len(rows.counts), dtype=np.int64)
    values = np.array([[domain.whole for domain in domains]], dtype=np.int64)
    if not judge.passes(box, rows.counts, sensitive, 1).all():
        return None
    finished_box = np.empty(len(rows.counts), dtype=np.int64)
    finished: list[Integers] = []
    number_finished = 0
    active = np.arange(len(rows.counts))
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


def tighten(boxes: Boxes, rows: DistinctRows | WideRows, domains: Sequence[Domain]) -> Boxes:
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
    part: _Part, columns: list[Codes], values: Integers, domains: Sequence[Domain], judge: _Judge
) -> _Step:
    """Cut every box along its best attribute."""
    boxes = len(values)
    best_gain = np.zeros(boxes)
    best_place = np.full(boxes, -1)
    # Where each row goes by the best cut of its box so far, and what then stands for the attribute that is cut.
    cells = np.zeros(len(part.box), dtype=np.int64)
    cell_values = np.zeros(len(part.box), dtype=np.int64)
    numbered = 0
    for place, (domain, codes) in enumerate(zip(domains, columns, strict=True)):
        cut = domain.propose(values[:, place], part.box, codes, part.counts, judge.criterion.k)
        number = len(cut.box)
        sizes = np.bincount(cut.cell, weights=part.counts, minlength=number)
        lost = np.bincount(cut.box, weights=sizes * domain.loss(cut.value), minlength=boxes)
        total = np.bincount(cut.box, weights=sizes, minlength=boxes)
        gain = total * domain.loss(values[:, place]) - lost
        passed = judge.passes(cut.cell, part.counts, part.sensitive, number)
        fits = np.bincount(cut.box[~passed], minlength=boxes) == 0
        # Rows on one side only: cutting would publish where there are none, and part nobody.
        fits &= np.bincount(cut.box[sizes > 0], minlength=boxes) > 1
        better = fits & (gain > best_gain * (1 + 1e-12))
        best_gain[better] = gain[better]
        best_place[better] = place
        moved = better[part.box]
        cells[moved] = cut.cell[moved] + numbered
        cell_values[moved] = cut.value[cut.cell[moved]]
        numbered += number
    stays = best_place < 0
    moving = np.flatnonzero(~stays[part.box])
    _, first, relabelled = np.unique(cells[moving], return_index=True, return_inverse=True)
    box = np.zeros(len(part.box), dtype=np.int64)
    box[moving] = relabelled
    parents = part.box[moving][first]
    new_values = values[parents]
    new_values[np.arange(len(parents)), best_place[parents]] = cell_values[moving][first]
    return _Step(stays, box, new_values)
