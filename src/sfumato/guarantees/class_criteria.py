"""Guarantees that each equivalence class satisfies or breaks by its own counts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Counts, Integers, in_parts
from sfumato.data.chunks import CodedBatch
from sfumato.guarantees.base import Guarantee, Judgement, PublishedTables
from sfumato.schema import Role

# --------------------------------------------------------------------------------------------------
# Rows of classes by a watched value: the combinations that occur, or a count for each.


CELLS_AT_ONCE = 4_000_000
"""Counts over (class, value) held at a time while a release is judged."""


class ClassCounts:
    """Rows of classes by a watched value, kept as the combinations that occur.

    Parameters
    ----------
    classes
        ``(combinations,)``: number of the class, from 0 on.
    values
        ``(combinations,)``: code of the watched value, below ``size``.
    counts
        ``(combinations,)`` rows.
    size
        Number of values.

    Examples
    --------
    >>> some = ClassCounts(np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([5, 2, 3]), 2)
    >>> [part.tolist() for part in some.parts()], some.overall.tolist()
    ([[[0, 5], [2, 3]]], [2, 8])
    """

    def __init__(self, classes: Integers, values: Integers, counts: Integers, size: int) -> None:
        if np.any(classes[1:] < classes[:-1]):
            order = np.argsort(classes, kind="stable")
            classes, values, counts = classes[order], values[order], counts[order]
        self.classes, self.values, self.counts = classes, values, counts
        self.size = size
        self.number_of_classes = int(self.classes[-1]) + 1 if len(classes) else 0
        self.overall: Integers = np.bincount(self.values, weights=self.counts, minlength=size).astype(
            np.int64
        )

    def parts(self) -> Iterator[Integers]:
        """Dense counts ``(classes, values)`` of some classes at a time."""
        for part in in_parts(self.number_of_classes, each=self.size, at_once=CELLS_AT_ONCE):
            number = part.stop - part.start
            inside = slice(*np.searchsorted(self.classes, (part.start, part.stop)))
            cells = (self.classes[inside] - part.start) * self.size + self.values[inside]
            counted = np.bincount(cells, weights=self.counts[inside], minlength=number * self.size)
            yield counted.reshape(number, self.size).astype(np.int64)

    def packed_parts(self) -> Iterator[Integers]:
        """Counts of the values that occur in each class, in any order and filled up by zeros; some classes at a time.

        What a hundred thousand values come to: a class of five rows has five of them at most.

        Examples
        --------
        >>> some = ClassCounts(np.array([0, 1, 1]), np.array([7_000, 0, 1]), np.array([5, 2, 3]), 10_000)
        >>> [part.tolist() for part in some.packed_parts()]
        [[[5, 0], [2, 3]]]
        """
        lengths = np.bincount(self.classes, minlength=self.number_of_classes)
        starts = np.cumsum(lengths) - lengths
        width = int(lengths.max(initial=1))
        for part in in_parts(self.number_of_classes, each=width, at_once=CELLS_AT_ONCE):
            inside = slice(*np.searchsorted(self.classes, (part.start, part.stop)))
            classes = self.classes[inside]
            packed = np.zeros((part.stop - part.start, width), np.int64)
            place = np.arange(inside.start, inside.stop) - starts[classes]
            packed[classes - part.start, place] = self.counts[inside]
            yield packed


class DenseClassCounts:
    """The same where most combinations occur: one count for each, in few bytes.

    Parameters
    ----------
    cells
        ``(classes * size,)`` counts; classes that no row has may be among them.
    size
        Number of values.

    Examples
    --------
    >>> some = DenseClassCounts(np.array([0, 5, 0, 0, 2, 3], np.uint8), 2)
    >>> [part.tolist() for part in some.parts()], some.overall.tolist(), some.number_of_classes
    ([[[0, 5], [2, 3]]], [2, 8], 2)
    """

    def __init__(self, cells: npt.NDArray[np.unsignedinteger[Any]], size: int) -> None:
        self.size = size
        self._cells = cells[: cells.size // size * size].reshape(-1, size)
        self.overall: Integers = self._cells.sum(axis=0, dtype=np.int64)
        self.number_of_classes = sum(len(each) for each in self._occupied())

    def parts(self) -> Iterator[Integers]:
        """Dense counts ``(classes, values)`` of some classes at a time."""
        return (each.astype(np.int64) for each in self._occupied())

    packed_parts = parts

    def _occupied(self) -> Iterator[npt.NDArray[np.unsignedinteger[Any]]]:
        for part in in_parts(len(self._cells), each=self.size, at_once=CELLS_AT_ONCE):
            cells = self._cells[part.start : part.stop]
            yield cells[cells.any(axis=1)]


AnyClassCounts = ClassCounts | DenseClassCounts


# --------------------------------------------------------------------------------------------------
# Counting the classes of published rows, some at a time where they are too many for memory.


COMBINATIONS_AT_ONCE = 6_000_000
"""Combinations of class and value held at a time; where there are more, a table is read several times."""

ROWS_WAITING_AT_ONCE = 1_000_000
"""Combinations gathered before they are merged with those counted already; bounds memory."""

KEYS_WAITING_AT_ONCE = 4_000_000
"""The same where a combination is one number, before equal ones are counted; sorted at once rather than merged often."""

DENSE_CELLS_AT_ONCE = 2**28
"""Cells over (class, value) that may be counted in one byte each: 256 MB."""

WIDE_CELLS_AT_ONCE = 2**24
"""Cells up to which four bytes count them: classes of many rows are met where there are few of them."""

DENSE_PER_ROW = 16
"""Cells for a row beyond which nearly all would be empty, and sorting rows is faster."""

_Runs = tuple[Integers, Integers]
"""Different keys, increasing, and how often each occurs."""


def classes_of(
    scan: Callable[[list[str]], Iterable[CodedBatch]],
    names: list[str],
    radices: Sequence[int | None],
    *,
    watched: int | None,
    rows: int,
) -> Iterator[tuple[AnyClassCounts, Integers]]:
    """Classes of rows some at a time, and counts of all rows by the watched value.

    Parameters
    ----------
    scan
        Gives the rows of some columns, as often as it is asked.
    names, radices
        What a class is equal on, then the watched attribute if there is one, as for :func:`count_packed`.
    watched
        Number of the watched attribute's values; None where none is watched.
    rows
        How many there are.
    """
    size = 1 if watched is None else watched

    def rows_of(part: slice) -> ClassCounts | None:
        try:
            return count_packed(scan(names), names, radices, size, part)
        except DoesNotFitError:
            return count_any(scan(names), names, size, part, is_watched=watched is not None)

    def overall() -> Integers:
        if watched is None:
            return np.array([rows])
        batches = scan(names[-1:])
        return sum(
            (np.bincount(each.codes[names[-1]], minlength=size) for each in batches), np.zeros(size, np.int64)
        )

    try:
        dense = count_dense(scan(names), names, radices, size, rows)
        whole = dense or rows_of(slice(0, None, 1))
        windows = [] if whole else _windows(scan(names), names, radices, size, rows)
    except DoesNotFitError:
        whole, windows = rows_of(slice(0, None, 1)), []
    if whole is not None:
        yield whole, whole.overall
        return
    total = overall()
    for window in windows:
        for each in _counted_within(lambda: scan(names), names, radices, size, window):
            yield each, total
    passes = 0 if windows else -(-rows // COMBINATIONS_AT_ONCE) + 1
    for number in range(passes):
        found = rows_of(slice(number, None, passes))
        assert found is not None
        yield found, total


def _windows(
    batches: Iterable[CodedBatch], names: Sequence[str], radices: Sequence[int | None], size: int, rows: int
) -> list[range]:
    """Runs of cells that can be counted one byte each, whole classes, up to the last that occurs; none where most are empty."""
    later = _later(radices)
    last = max((int(_packed(each, names, radices, later).max(initial=-1)) for each in batches), default=-1)
    cells = (last // size + 1) * size
    if cells > DENSE_PER_ROW * rows:
        return []
    width = max(DENSE_CELLS_AT_ONCE // size, 1) * size
    return [range(start, min(start + width, cells)) for start in range(0, cells, width)]


def _counted_within(
    scan: Callable[[], Iterable[CodedBatch]],
    names: Sequence[str],
    radices: Sequence[int | None],
    size: int,
    window: range,
) -> Iterator[DenseClassCounts]:
    """The classes of a run of cells; in quarters of it and four bytes each where one byte does not hold all counts."""
    found = count_dense(scan(), names, radices, size, 0, within=window)
    if found is not None:
        yield found
        return
    width = max(len(window) // size // 4, 1) * size
    for start in range(window.start, window.stop, width):
        part = range(start, min(start + width, window.stop))
        quarter = count_dense(scan(), names, radices, size, 0, within=part, kind=np.uint32)
        assert quarter is not None
        yield quarter


class DoesNotFitError(Exception):
    """The columns of a row do not fit into one number."""


def count_packed(
    batches: Iterable[CodedBatch], names: Sequence[str], radices: Sequence[int | None], size: int, part: slice
) -> ClassCounts | None:
    """The classes of some rows, each row as one number: sorting numbers is several times faster than telling rows apart.

    Parameters
    ----------
    batches
        The rows.
    names
        What a class is equal on, then the watched attribute if there is one.
    radices
        Number of categories of each; None for whole numbers, of which at most the first may be.
    size
        Of the watched attribute; 1 where none is watched.
    part
        With a step, only classes whose key leaves the start of the slice as its remainder.

    Returns
    -------
    ClassCounts
        None when all are asked for and they are too many.

    Raises
    ------
    DoesNotFitError
        Where rows must be told apart column by column.
    """
    later = _later(radices)
    counted: _Runs = (np.empty(0, np.int64),) * 2
    waiting: list[Integers] = []
    for batch in batches:
        keys = _packed(batch, names, radices, later)
        if part.step > 1:
            keys = keys[_keys_of_classes((keys // size)[:, np.newaxis]) % np.uint64(part.step) == part.start]
        waiting.append(keys)
        if sum(each.size for each in waiting) > max(KEYS_WAITING_AT_ONCE, counted[0].size):
            counted, waiting = _joined(counted, waiting), []
            if part.step == 1 and counted[0].size > COMBINATIONS_AT_ONCE:
                return None
    keys, counts = _joined(counted, waiting)
    classes, values = np.divmod(keys, size)
    numbers = np.zeros(keys.size, np.int64)
    np.cumsum(classes[1:] != classes[:-1], out=numbers[1:])
    return ClassCounts(numbers, values, counts, size)


def count_dense(
    batches: Iterable[CodedBatch],
    names: Sequence[str],
    radices: Sequence[int | None],
    size: int,
    rows: int,
    *,
    within: range | None = None,
    kind: type[np.unsignedinteger[Any]] = np.uint8,
) -> DenseClassCounts | None:
    """The same by a count for each combination, in one pass and without sorting; None where those would be too many.

    Parameters
    ----------
    rows
        How many there are, about.
    within
        Only these cells, whole classes of them; all when not given.
    kind
        What counts each, where cells are many.

    Raises
    ------
    DoesNotFitError
        Where rows must be told apart column by column.
    """
    later = _later(radices)
    most = len(within) if within else min(DENSE_CELLS_AT_ONCE, max(DENSE_PER_ROW * rows, CELLS_AT_ONCE))
    cells: npt.NDArray[Any] = np.zeros(0, np.uint32)
    seen = 0
    for batch in batches:
        keys = _packed(batch, names, radices, later)
        if within is not None:
            keys = keys[(keys >= within.start) & (keys < within.stop)] - within.start
        # Up to the end of the last class.
        last = -(-(int(keys.max(initial=-1)) + 1) // size) * size
        if last > most:
            return None
        if last > cells.size:
            grown: npt.NDArray[Any] = np.zeros(
                min(last + last // 8, most), np.uint32 if last <= WIDE_CELLS_AT_ONCE else kind
            )
            # Counts that no longer fit are cut, which the sum shows.
            grown[: cells.size] = cells
            cells = grown
        np.add.at(cells, keys, cells.dtype.type(1))
        seen += keys.size
    # A count beyond what its bytes hold is seen by the rows that are lacking.
    return DenseClassCounts(cells, size) if int(cells.sum(dtype=np.int64)) == seen else None


def _later(radices: Sequence[int | None]) -> int:
    """Combinations of all columns but the first."""
    later = math.prod(each for each in radices[1:] if each is not None)
    if None in radices[1:] or later * ((radices[0] if radices else None) or 1) > 2**63:
        raise DoesNotFitError
    return later


def _packed(batch: CodedBatch, names: Sequence[str], radices: Sequence[int | None], later: int) -> Integers:
    """A number for each row; the columns are its digits."""
    keys = np.zeros(batch.number_of_rows, np.int64)
    for name, radix in zip(names, radices, strict=True):
        column = batch.codes[name]
        if radix is None:
            if column.min(initial=0) < 0 or int(column.max(initial=0)) >= 2**63 // later:
                raise DoesNotFitError
            keys += column
        else:
            keys *= radix
            keys += column
    return keys


def _starts(keys: Integers) -> Integers:
    """Where each run of equal keys begins; ``keys`` are in order."""
    differs = np.ones(keys.size, np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=differs[1:])
    return np.flatnonzero(differs)


def _joined(counted: _Runs, waiting: Sequence[Integers]) -> _Runs:
    """What was counted, and what waited."""
    if not waiting:
        return counted
    fresh = np.concatenate(waiting)
    fresh.sort()
    first = _starts(fresh)
    keys, counts = fresh[first], np.diff(first, append=fresh.size)
    if not counted[0].size:
        return keys, counts
    keys, counts = (np.concatenate(each) for each in zip(counted, (keys, counts), strict=True))
    # A stable sort finds the two runs that are in order already, and merges them.
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = _starts(keys)
    return keys[first], np.add.reduceat(counts[order], first)


def count_any(
    batches: Iterable[CodedBatch], names: list[str], size: int, part: slice, *, is_watched: bool
) -> ClassCounts | None:
    """The same as :func:`count_packed` of whatever columns there are."""
    found = _count(batches, names, len(names) - is_watched, part)
    if found is None:
        return None
    rows, counts = found
    values = rows[:, -1] if is_watched else np.zeros(len(counts), np.int64)
    return ClassCounts(_numbered(rows[:, :-1] if is_watched else rows), values, counts, size)


def _count(
    batches: Iterable[CodedBatch], names: list[str], by_class: int, part: slice
) -> tuple[Integers, Integers] | None:
    """Different rows, ``(different, columns)``, and how often each occurs; None when all are asked for and too many."""
    rows, counts = np.empty((0, len(names)), np.int64), np.empty(0, np.int64)
    waiting = [(rows, counts)]
    for batch in batches:
        found = np.stack([np.asarray(batch.codes[name], np.int64) for name in names], axis=1)
        if part.step > 1:
            found = found[_keys_of_classes(found[:, :by_class]) % np.uint64(part.step) == part.start]
        waiting.append(_distinct(found, np.ones(len(found), np.int64)))
        if sum(len(each) for each, _ in waiting) > max(ROWS_WAITING_AT_ONCE, 2 * len(waiting[0][0])):
            waiting = [_merged(waiting)]
            if part.step == 1 and len(waiting[0][0]) > COMBINATIONS_AT_ONCE:
                return None
    return _merged(waiting)


def _keys_of_classes(rows: Integers) -> npt.NDArray[np.uint64]:
    """A number for each row that is the same for rows of one class."""
    keys = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        # An odd factor and a shift mix the digits well enough to share classes out evenly.
        keys = (keys ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(32)
    return keys


def _merged(parts: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    rows, counts = zip(*parts, strict=True)
    return _distinct(np.concatenate(rows), np.concatenate(counts))


def _distinct(rows: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Different rows, in order, with the sums of their counts."""
    order, first = _runs(rows)
    return rows[order[first]], np.add.reduceat(counts[order], first)


def _numbered(rows: Integers) -> Integers:
    """Number of each row: equal rows have equal numbers, from 0 on.

    Examples
    --------
    >>> _numbered(np.array([[7, 1], [7, 0], [7, 1]])).tolist()
    [1, 0, 1]
    """
    order, first = _runs(rows)
    numbers = np.empty(len(rows), np.int64)
    numbers[order] = np.repeat(np.arange(first.size), np.diff(first, append=len(rows)))
    return numbers


def _runs(rows: Integers) -> tuple[Integers, Integers]:
    """An order in which equal rows stand together, and where each run of them begins."""
    order = np.lexsort(rows.T)
    ordered = rows[order]
    differs = np.ones(len(rows), np.bool_)
    np.any(ordered[1:] != ordered[:-1], axis=1, out=differs[1:])
    return order, np.flatnonzero(differs)


# --------------------------------------------------------------------------------------------------
# Promises about classes of rows: each class keeps or breaks them by its own counts.


Merging = Literal["any", "keeping", "none"]
"""What a class that keeps a promise may be merged with so that it still does: any other class, one that keeps it too,
or none for certain."""


class ClassCriterion(Guarantee):
    """A promise that is kept when every class of rows that look alike keeps it.

    A member decides for many classes at once in :meth:`classes_that_hold`. That is all that a method which
    makes classes, and an auditor who finds them in a release, need.
    """

    holds_of_tables: ClassVar[bool] = True

    only_how_often: ClassVar[bool] = False
    """Whether a class is judged by how often its values occur alone, whichever they are and whatever the table has."""

    @property
    def watched(self) -> str | None:
        """The attribute whose counts within a class decide; None when the number of rows does."""
        return None

    @property
    def class_attributes(self) -> tuple[str, ...] | None:
        """On what the rows of a class are equal; None for all quasi-identifiers that are published."""
        return None

    @property
    def survives_merging(self) -> Merging:
        """With what classes can be merged; a search may skip more when it is much."""
        return "none"

    @abstractmethod
    def classes_that_hold(self, counts: Counts, overall: Counts) -> Booleans:
        """Which classes keep the promise.

        Parameters
        ----------
        counts
            ``(classes, values)`` rows of each class by the watched attribute; one column where none is
            watched. Every class has at least one row.
        overall
            ``(values,)``: of the whole table, which classes may be compared with.

        Returns
        -------
        numpy.ndarray
            ``(classes,)``.
        """

    def holds_for(self, counts: npt.NDArray[Any]) -> bool:
        """Whether classes, which together are the table, keep the promise; ``(classes, values)``.

        Where no attribute is watched, sizes of classes in any shape; an entry of 0 is no class.
        """
        numbers = np.asarray(counts)
        if self.watched is None:
            numbers = numbers.reshape(-1, 1)
        numbers = numbers[numbers.sum(axis=1) > 0]
        return bool(self.classes_that_hold(numbers, numbers.sum(axis=0)).all())

    def shortfall(self, overall: Counts) -> str:
        """Why no table of these overall counts can keep the promise, and what to ask for instead."""
        del overall
        return f"not even one class of all rows keeps this promise: {self.sentence} Ask for less."

    def follows_from(self, premises: Sequence[Guarantee], published: PublishedTables) -> bool:
        """Whether the release could keep it, and its law does not give less.

        Tables keep or break it by themselves (:meth:`judge`). What can be said before they are read is whether any
        table of so many rows could: one class, in which the rows are spread evenly over the watched values.
        """
        known = {*published.schema.names}
        # On an attribute without a column all rows are equal.
        if not {*(self.class_attributes or ())} <= known | {*published.schema.left_out}:
            return False
        if self.watched is not None and self.watched not in known:
            return False
        of_its_kind = [each for each in premises if type(each) is type(self) and each.watched == self.watched]
        if not all(map(self.is_within, of_its_kind)):
            return False
        size = 1 if self.watched is None else published.schema[self.watched].size
        rows = max(each.number_of_rows for each in published.tables)
        even = np.full((1, size), rows // size)
        even[0, : rows % size] += 1
        return self.holds_for(even)

    def judge(self, published: PublishedTables) -> Judgement | None:
        """Whether every class in the published tables keeps the promise; None when they hold no such classes.

        Classes are compared with all *published* rows: of rows that a method dropped, the tables say nothing.
        """
        classes = broken = 0
        found = published_classes(published, self)
        if found is None:
            return None
        for counts, overall in found:
            classes += counts.number_of_classes
            for part in counts.packed_parts() if self.only_how_often else counts.parts():
                broken += int(np.count_nonzero(~self.classes_that_hold(part, overall)))
        return Judgement(
            broken == 0, f"{broken:,} of {classes:,} classes of published rows break the promise"
        )


class SensitiveCriterion(ClassCriterion):
    """A promise about how the values of one attribute are spread in every class."""

    attribute: str

    @property
    def watched(self) -> str | None:
        """The attribute that the promise is about."""
        return self.attribute


def published_classes(
    published: PublishedTables, criterion: ClassCriterion
) -> Iterator[tuple[AnyClassCounts, Integers]] | None:
    """The classes of a release that a criterion is about, some at a time, and counts of all rows by the watched value.

    None when no table shows them.

    Rows of a class are equal on the quasi-identifiers beside the watched attribute, and on the whole numbers
    that another table has too: those tell which of its rows belong together with which here.
    """
    watched = criterion.watched
    tables = [each for each in published.tables if watched is None or watched in each.schema_of_attributes]
    if not tables:
        return None
    table, others = tables[0], [each for each in published.tables if each.name != tables[0].name]
    shared = [name for name in table.integers if any(name in each.integers for each in others)]
    known = table.schema_of_attributes
    quasi_identifiers = [each.name for each in known.with_role(Role.QUASI_IDENTIFIER)]
    named = criterion.class_attributes
    by = [name for name in (quasi_identifiers if named is None else named) if name in known]
    names = [*shared, *(name for name in by if name != watched), *([] if watched is None else [watched])]
    radices = [None if name in shared else known[name].size for name in names]
    return classes_of(
        lambda some: published.scan(table.name, some or known.names[:1]),
        names,
        radices,
        watched=None if watched is None else known[watched].size,
        rows=table.number_of_rows,
    )
