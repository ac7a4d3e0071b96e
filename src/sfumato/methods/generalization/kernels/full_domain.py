"""Optimal full-domain generalization: one level for each attribute, the same for all rows.

The levels form a lattice. Two facts cut it down. Merging classes never makes a class of k smaller, so
when a node must drop more rows than allowed, every finer node must too. And a node's loss is the loss of
its levels, known from the margins alone, plus a penalty for the rows it drops, which only grows towards
finer nodes; so a penalty once seen bounds the loss of every finer node from below.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.methods.generalization.kernels.rows import Criterion, DistinctRows, group, run_starts
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.mixed_radix import MixedRadix

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
