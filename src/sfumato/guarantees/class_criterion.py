"""Promises about classes of rows: each class keeps or breaks them by its own counts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.guarantees.base import Guarantee, Judgement, PublishedTables
from sfumato.values.arrays import Booleans, Counts, Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.parts import in_parts
from sfumato.values.schema import Role

Merging = Literal["any", "keeping", "none"]
"""What a class that keeps a promise may be merged with so that it still does: any other class, one that keeps it too,
or none for certain."""

CELLS_AT_ONCE = 4_000_000
"""Counts over (class, value) held at a time while a release is judged."""

MOST_COMBINATIONS = 4_000_000
"""Combinations of class and value held at a time; where there are more, a table is read several times."""

COMBINATIONS_WAITING = 1_000_000
"""Combinations gathered before they are merged with those counted already; bounds memory."""


class ClassCriterion(Guarantee):
    """A promise that is kept when every class of rows that look alike keeps it.

    A member decides for many classes at once in :meth:`classes_that_hold`. That is all that a method which
    makes classes, and an auditor who finds them in a release, need.
    """

    holds_of_tables: ClassVar[bool] = True

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
        if not {*(self.class_attributes or ()), *filter(None, (self.watched,))} <= {*published.schema.names}:
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
            for part in counts.parts():
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
        order = np.argsort(classes, kind="stable")
        self.classes, self.values, self.counts = classes[order], values[order], counts[order]
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


def published_classes(
    published: PublishedTables, criterion: ClassCriterion
) -> Iterator[tuple[ClassCounts, Integers]] | None:
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
    size = 1 if watched is None else known[watched].size
    by_class = len(names) - (watched is not None)

    def rows_of(part: slice) -> tuple[Integers, Integers] | None:
        return _count(published.scan(table.name, names or known.names[:1]), names, by_class, part)

    def overall() -> Integers:
        if watched is None:
            return np.array([table.number_of_rows])
        batches = published.scan(table.name, [watched])
        return sum(
            (np.bincount(each.codes[watched], minlength=size) for each in batches), np.zeros(size, np.int64)
        )

    return _in_parts(rows_of, overall, table.number_of_rows, size, is_watched=watched is not None)


def _in_parts(
    rows_of: Callable[[slice], tuple[Integers, Integers] | None],
    overall_of: Callable[[], Integers],
    rows: int,
    size: int,
    *,
    is_watched: bool,
) -> Iterator[tuple[ClassCounts, Integers]]:
    """All classes at once, or a part of them in each of several passes where they are too many for memory."""

    def classes(found: tuple[Integers, Integers]) -> ClassCounts:
        combinations, counts = found
        values = combinations[:, -1] if is_watched else np.zeros(len(counts), np.int64)
        return ClassCounts(
            _numbered(combinations[:, :-1] if is_watched else combinations), values, counts, size
        )

    found = rows_of(slice(0, None, 1))
    if found is not None:
        whole = classes(found)
        yield whole, whole.overall
        return
    passes, overall = -(-rows // MOST_COMBINATIONS) + 1, overall_of()
    for number in range(passes):
        found = rows_of(slice(number, None, passes))
        assert found is not None
        yield classes(found), overall


def _count(
    batches: Iterable[CodedBatch], names: list[str], by_class: int, part: slice
) -> tuple[Integers, Integers] | None:
    """Different rows, ``(different, columns)``, and how often each occurs; None when all are asked for and too many.

    With a step, of those classes whose key leaves the start of the slice as its remainder.
    """
    rows, counts = np.empty((0, len(names)), np.int64), np.empty(0, np.int64)
    waiting = [(rows, counts)]
    for batch in batches:
        columns = [np.asarray(batch.codes[name], np.int64) for name in names]
        found = np.stack(columns, axis=1) if names else np.empty((batch.number_of_rows, 0), np.int64)
        if part.step > 1:
            found = found[_keys_of_classes(found[:, :by_class]) % np.uint64(part.step) == part.start]
        waiting.append(_distinct(found, np.ones(len(found), np.int64)))
        if sum(len(each) for each, _ in waiting) > max(COMBINATIONS_WAITING, 2 * len(waiting[0][0])):
            waiting = [_merged(waiting)]
            if part.step == 1 and len(waiting[0][0]) > MOST_COMBINATIONS:
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
    if math.prod(ranges) < 2**63:
        for column, size in zip(rows.T, ranges, strict=True):
            keys *= size
            keys += column
        return keys
    # Numbered anew at every column, because the product of all ranges does not fit 64 bits.
    for column in rows.T:
        values, codes = np.unique(column, return_inverse=True)
        keys = np.unique(keys * len(values) + codes, return_inverse=True)[1]
    return keys
