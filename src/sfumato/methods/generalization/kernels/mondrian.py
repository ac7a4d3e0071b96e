"""Multidimensional local recoding: classes are boxes, cut again and again while the criterion allows.

All boxes of one depth are cut in the same vectorized step: a row knows its box, and everything a cut needs
is a count over (box, side, sensitive value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.methods.generalization.kernels.domains import Domain, Ordered
from sfumato.methods.generalization.kernels.rows import Criterion, DistinctRows, WideRows
from sfumato.values.arrays import Booleans, Codes, Integers
from sfumato.values.mixed_radix import MixedRadix

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
