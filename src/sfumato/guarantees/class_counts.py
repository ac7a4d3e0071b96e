"""Counting the classes of published rows, some at a time where they are too many for memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.parts import in_parts

CELLS_AT_ONCE = 4_000_000
"""Counts over (class, value) held at a time while a release is judged."""

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


def in_turns(
    rows_of: Callable[[slice], AnyClassCounts | None], overall_of: Callable[[], Integers], rows: int
) -> Iterator[tuple[AnyClassCounts, Integers]]:
    """All classes at once, or a part of them in each of several passes where they are too many for memory."""
    whole = rows_of(slice(0, None, 1))
    if whole is not None:
        yield whole, whole.overall
        return
    passes, overall = -(-rows // COMBINATIONS_AT_ONCE) + 1, overall_of()
    for number in range(passes):
        found = rows_of(slice(number, None, passes))
        assert found is not None
        yield found, overall


AnyClassCounts = ClassCounts | DenseClassCounts


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

    def rows_of(part: slice) -> AnyClassCounts | None:
        try:
            if part.step == 1:
                dense = count_dense(scan(names), names, radices, size, rows)
                if dense is not None:
                    return dense
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

    return in_turns(rows_of, overall, rows)


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
    batches: Iterable[CodedBatch], names: Sequence[str], radices: Sequence[int | None], size: int, rows: int
) -> DenseClassCounts | None:
    """The same by a count for each combination, in one pass and without sorting; None where those would be too many.

    Parameters
    ----------
    rows
        How many there are, about.

    Raises
    ------
    DoesNotFitError
        Where rows must be told apart column by column.
    """
    later = _later(radices)
    most = min(DENSE_CELLS_AT_ONCE, max(DENSE_PER_ROW * rows, CELLS_AT_ONCE))
    cells: npt.NDArray[Any] = np.zeros(0, np.uint32)
    seen = 0
    for batch in batches:
        keys = _packed(batch, names, radices, later)
        # Up to the end of the last class.
        last = -(-(int(keys.max(initial=-1)) + 1) // size) * size
        if last > most:
            return None
        if last > cells.size:
            grown: npt.NDArray[Any] = np.zeros(
                last + last // 8, np.uint32 if last <= WIDE_CELLS_AT_ONCE else np.uint8
            )
            # Counts that no longer fit are cut, which the sum shows.
            grown[: cells.size] = cells
            cells = grown
        np.add.at(cells, keys, cells.dtype.type(1))
        seen += batch.number_of_rows
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
    """Different rows with the sums of their counts."""
    _, first, place = np.unique(_keys(rows), return_index=True, return_inverse=True)
    return rows[first], np.bincount(place, weights=counts, minlength=len(first)).astype(np.int64)


def _numbered(rows: Integers) -> Integers:
    """Number of each row: equal rows have equal numbers, from 0 on.

    Examples
    --------
    >>> _numbered(np.array([[7, 1], [7, 0], [7, 1]])).tolist()
    [1, 0, 1]
    """
    return np.unique(_keys(rows), return_inverse=True)[1]


def _keys(rows: Integers) -> Integers:
    """A number for each row, the same for equal rows and different for others; entries are not negative."""
    ranges = [int(column.max(initial=0)) + 1 for column in rows.T]
    keys = np.zeros(len(rows), np.int64)
    if math.prod(ranges) <= 2**63:
        for column, size in zip(rows.T, ranges, strict=True):
            keys *= size
            keys += column
        return keys
    # Numbered anew at every column, because the product of all ranges does not fit 64 bits.
    for column in rows.T:
        values, codes = np.unique(column, return_inverse=True)
        keys = np.unique(keys * len(values) + codes, return_inverse=True)[1]
    return keys
