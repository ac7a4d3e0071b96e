"""Counting the classes of published rows, some at a time where they are too many for memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.guarantees.class_tables import CELLS_AT_ONCE, AnyClassCounts, ClassCounts, DenseClassCounts
from sfumato.values.arrays import Integers
from sfumato.values.batches import CodedBatch

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
