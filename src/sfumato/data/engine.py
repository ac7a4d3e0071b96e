"""What an engine does (codes and counts of rows), and the engine for rows in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Codes, Integers, MixedRadix
from sfumato.data.chunks import (
    ROWS_PER_BATCH,
    CodedBatch,
    PortionCounts,
    PortionStep,
    UnitRows,
    count_portions,
    map_portions,
)
from sfumato.data.coding import Misfit
from sfumato.data.sources.base import Asked, Source, fresh_name
from sfumato.errors import ParameterError
from sfumato.estimates.counts import CountTable, OccupiedCounts, empty_counts, numbers_of_rows
from sfumato.progress import watcher
from sfumato.schema import Attribute, Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# Several tables of counts from one pass over the rows.


MOST_MERGED_CELLS = 2**17
"""Sets are merged while their union has no more cells than this: counting is then fast in a processor's cache."""

CELLS_AT_ONCE = 2**25
"""Cells of all tables that are counted in the same pass: 256 MB."""

MERGED_FOR_MANY = 2**15
"""Cells of a union where very many tables are counted, so that the unions fit a cache and memory together."""


def count_tables(
    batches: Iterable[CodedBatch], sets: Sequence[Sequence[Attribute]]
) -> tuple[CountTable, ...]:
    """Counts over the product of each set's attributes; no set is empty.

    Codes of a row become one number for each set, and numbers are counted: some nanoseconds a row and
    set, far less than a hash table for each.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> rows = CodedBatch({"sex": np.array([0, 1, 1]), "job": np.array([2, 0, 0])}, 3)
    >>> [each.counts.tolist() for each in count_tables([rows], [(sex,), (sex, job)])]
    [[1, 2], [[0, 0, 1], [2, 0, 0]]]
    """
    totals = [empty_counts(each).reshape(-1) for each in sets]
    radixes = [MixedRadix([each.size for each in attributes]) for attributes in sets]
    for batch in batches:
        # Once for all sets: a column is in many of them, and numbers of one type are added fastest.
        columns = {name: column.astype(np.int64) for name, column in batch.codes.items()}
        for attributes, radix, total in zip(sets, radixes, totals, strict=True):
            add_codes(radix.encode([columns[each.name] for each in attributes]), total)
    return tuple(
        CountTable(tuple(attributes), total.reshape([each.size for each in attributes]))
        for attributes, total in zip(sets, totals, strict=True)
    )


def watched(
    phase: str, batches: Iterable[CodedBatch], total: Callable[[], int | None]
) -> Iterator[CodedBatch]:
    """The same rows; whoever watches is told how many came, of how many where that is known."""
    found, done = watcher(), 0
    expected = None if found is None else total()
    for batch in batches:
        yield batch
        done += batch.number_of_rows
        if found is not None:
            found.show(phase, done, expected)
    if found is not None:
        found.finish()


def attributes_of(sets: Iterable[Sequence[Attribute]]) -> tuple[Attribute, ...]:
    """Every attribute of some sets, once."""
    return tuple({each.name: each for attributes in sets for each in attributes}.values())


def add_codes(cells: npt.NDArray[Any], total: npt.NDArray[Any]) -> None:
    """Add one to the total of each cell that a row has."""
    if total.size <= ROWS_PER_BATCH:
        np.add(total, np.bincount(cells, minlength=total.size), out=total)
    else:
        # A table far larger than a batch must not be gone through for each.
        np.add.at(total, cells, 1)


class CountsInTurns:
    """Tables over very many sets of attributes, in as few passes over the rows as memory allows.

    The first pass is made at once, others when a table of theirs is asked for; the tables of the last one are held.

    Parameters
    ----------
    schema
        The attributes.
    count
        Gives the tables of some sets, from one pass over the rows.
    sets
        Names of the attributes of each table, at least one.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> rows = CodedBatch({"sex": np.array([0, 1, 1]), "job": np.array([2, 0, 0])}, 3)
    >>> schema = Schema(attributes=(sex, job))
    >>> counts = CountsInTurns(schema, lambda sets: count_tables([rows], sets), [("job", "sex"), ("sex",)])
    >>> counts[0].counts.tolist(), counts[1].counts.tolist()
    ([[0, 2], [0, 0], [1, 0]], [1, 2])
    """

    def __init__(
        self,
        schema: Schema,
        count: Callable[[Sequence[Sequence[Attribute]]], tuple[CountTable, ...]],
        sets: Sequence[Sequence[str]],
    ) -> None:
        self._schema = schema
        self._count_sets = count
        self._sets = [tuple(each) for each in sets]
        self._turns = list(_turns([_cells(schema, each) for each in self._sets]))
        self._held: dict[frozenset[str], CountTable] = {}
        self._now = range(0)
        if self._sets:
            self._count(0)

    def __getitem__(self, place: int) -> CountTable:
        """The table of a set, its axes as the set names them."""
        if place not in self._now:
            self._count(place)
        names = frozenset(self._sets[place])
        smallest = min(
            (each for held, each in self._held.items() if names <= held), key=lambda each: each.counts.size
        )
        return smallest.project(self._sets[place])

    def _count(self, place: int) -> None:
        turn = next(each for each in self._turns if place in each)
        sets = [frozenset(self._sets[each]) for each in turn]
        covering = covering_sets(sets, self._schema, most_cells=MERGED_FOR_MANY)
        chosen = [[name for name in self._schema.names if name in each] for each in covering]
        self._held = {}
        tables = self._count_sets([self._schema.select(each) for each in chosen])
        self._held = {frozenset(each.names): each for each in tables}
        self._now = turn


def _turns(cells: Sequence[int]) -> Iterator[range]:
    """Runs of tables that are counted together."""
    start, room = 0, CELLS_AT_ONCE
    for place, number in enumerate(cells):
        # Two sets or more may become one of MERGED_FOR_MANY cells.
        needed = max(number, MERGED_FOR_MANY // 2)
        if needed > room and place > start:
            yield range(start, place)
            start, room = place, CELLS_AT_ONCE
        room -= needed
    if cells:
        yield range(start, len(cells))


def _cells(schema: Schema, names: Iterable[str]) -> int:
    return math.prod(schema[name].size for name in names)


def covering_sets(
    sets: Iterable[frozenset[str]], schema: Schema, *, most_cells: int = MOST_MERGED_CELLS
) -> list[frozenset[str]]:
    """Fewer sets of attributes that contain all of some sets: each is merged where the union stays small.

    Parameters
    ----------
    sets
        Of attributes' names.
    schema
        The attributes.
    most_cells
        Of a union.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> sizes = {"a": 10, "b": 20, "c": 30, "d": 90_000}
    >>> schema = Schema(
    ...     attributes=tuple(
    ...         Attribute(name=name, role=Role.OTHER, categories=tuple(map(str, range(size))))
    ...         for name, size in sizes.items()
    ...     )
    ... )
    >>> found = covering_sets([frozenset("ab"), frozenset("bc"), frozenset("d"), frozenset("a")], schema)
    >>> sorted("".join(sorted(each)) for each in found)
    ['abc', 'd']
    """
    sizes = {each.name: each.size for each in schema.attributes}

    def cells(names: Iterable[str]) -> int:
        return math.prod(sizes[name] for name in names)

    merged: list[frozenset[str]] = []
    cells_of: list[int] = []
    for each in sorted(set(sets), key=lambda names: (-cells(names), sorted(names))):
        if any(each <= other for other in merged):
            continue
        growths = [
            (growth, place)
            for place, number in enumerate(cells_of)
            # Few attributes have one category; what is nearly full is not looked at for each set again.
            if 2 * number <= most_cells and (growth := cells(each - merged[place])) * number <= most_cells
        ]
        if growths:
            growth, place = min(growths)
            merged[place] |= each
            cells_of[place] *= growth
        else:
            merged.append(each)
            cells_of.append(cells(each))
    return merged


# --------------------------------------------------------------------------------------------------
# What an engine does: give rows as category codes, and count them.


Condition = tuple[Attribute, tuple[int, ...]]
"""An attribute and the codes a row may have in it."""


Found = TypeVar("Found")

Unfit = Literal["refuse", "skip"]
"""What becomes of rows with a value outside the schema."""


class Engine(Protocol):
    """Reads sources as codes of a schema's categories.

    A value outside the schema is an error that names the column and the number of rows, and nothing else.
    """

    def scan(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        *,
        integers: Sequence[str] = (),
        unit: Attribute | None = None,
    ) -> Iterator[CodedBatch]:
        """All rows, in batches; memory does not grow with the number of rows.

        Columns named in ``integers`` hold whole numbers instead of categories and come as ``int64``; of a unit comes
        a number for each of its cells, the same for equal ones.
        """

    def count_by(
        self, source: Source, attributes: Sequence[Attribute], where: Sequence[Condition]
    ) -> CountTable:
        """Counts over the product of the attributes, among rows with the given codes."""

    def count_occupied(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        *,
        weight: str | None = None,
        unfit: Unfit = "refuse",
        fewest: int = 1,
    ) -> OccupiedCounts:
        """Counts of the combinations that occur, or sums of an integer column over each; those of fewer rows are left out.

        For attributes whose full product is too large for a :class:`~sfumato.estimates.counts.CountTable`. Rows with a
        value outside the schema are refused all together, or skipped.
        """

    def count_portions(self, source: Source, attributes: Sequence[Attribute]) -> PortionCounts:
        """Counts of the combinations that occur in each portion of the rows, as :meth:`scan` orders them."""

    def count_tables(self, source: Source, sets: Sequence[Sequence[Attribute]]) -> tuple[CountTable, ...]:
        """Counts over the product of each set's attributes, all in one pass; no set is empty."""

    def map_portions(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        step: PortionStep[Found],
        *,
        unit: Attribute | None = None,
    ) -> Iterator[Found]:
        """What a step finds in each portion of the rows; nothing else of them comes here."""

    def at_rest(self, source: Source, schema: Schema) -> AbstractContextManager[Source]:
        """A source of the same rows that gives the same ones however often it is read, until the end.

        Nothing is read before the first pass over it; what fits no attribute of the schema is seen then.
        """

    def rows_of_units(self, source: Source, unit: Attribute, attributes: Sequence[Attribute]) -> UnitRows:
        """All rows, gathered by the unit they belong to; in memory, some bytes a row."""

    def misfits(self, source: Source, attributes: Sequence[Attribute]) -> tuple[Misfit, ...]:
        """Everything in which rows do not fit, with numbers of rows and without values; empty when all fit."""

    def number_of_rows(self, source: Source) -> int:
        """Rows of the source."""

    def group_sizes(self, source: Source, attributes: Sequence[Attribute]) -> dict[int, int]:
        """Size to the number of groups of that many rows, equal on all the attributes.

        Aggregated in the engine: the product of the attributes' categories may be far too large for a
        :class:`~sfumato.estimates.counts.CountTable`.
        """

    def group_diversity(
        self, source: Source, attributes: Sequence[Attribute], sensitive: Attribute
    ) -> dict[tuple[int, int], int]:
        """Size and number of different sensitive categories to the number of groups that have both."""

    def close(self) -> None:
        """Give back what is held; the next call takes it anew."""


# --------------------------------------------------------------------------------------------------
# Rows that are category codes already, in memory: a source, and an engine that counts them.
#
# Where thousands of small tables are published, opening a database for each count would be nearly all of
# the time. The source can be read by any engine; :class:`ArrayEngine` reads nothing else.


@dataclass(frozen=True, eq=False, repr=False)
class CodedRows(Source):
    """Columns of category codes and of whole numbers, in memory.

    Parameters
    ----------
    schema
        The categorical columns.
    codes
        Every column by its name, each ``(number_of_rows,)``; those not in the schema are whole numbers.
    """

    kind = "codes"
    reads = "category codes in memory"

    schema: Schema
    codes: Mapping[str, Codes]

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """Only what is one already."""
        return asked.data if isinstance(asked.data, cls) else None

    def __repr__(self) -> str:
        return f"CodedRows({', '.join(self.codes)})"

    @classmethod
    def gathered(cls, schema: Schema, batches: Iterator[CodedBatch]) -> CodedRows:
        """All rows of some batches; columns of the schema without rows where there is no batch."""
        parts = list(batches)
        if not parts:
            return cls(schema, {each.name: np.empty(0, each.code_type) for each in schema.attributes})
        return cls(
            schema, {name: np.concatenate([each.codes[name] for each in parts]) for name in parts[0].codes}
        )

    @property
    def description(self) -> str:
        """What it is, for messages."""
        return "the table in memory"

    @property
    def number_of_rows(self) -> int:
        """Rows of every column."""
        return int(next(iter(self.codes.values())).size)

    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(self.codes)

    def take(self, rows: Integers) -> CodedRows:
        """Some rows by their places, in the order given."""
        return CodedRows(self.schema, {name: column[rows] for name, column in self.codes.items()})

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Register the columns, categories as their labels."""
        import pyarrow as pa

        labelled = {
            name: pa.DictionaryArray.from_arrays(
                pa.array(column.astype(np.int64)), pa.array(self.schema[name].labels, pa.string())
            )
            if name in self.schema
            else pa.array(column)
            for name, column in self.codes.items()
        }
        name = fresh_name("coded")
        cursor.register(name, pa.table(labelled))
        yield name


class ArrayEngine:
    """Counts :class:`CodedRows` by array arithmetic, without a database.

    Parameters
    ----------
    rows_per_batch
        Rows that a scan gives at a time.
    """

    def __init__(self, *, rows_per_batch: int = ROWS_PER_BATCH) -> None:
        self.rows_per_batch = rows_per_batch

    def scan(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        *,
        integers: Sequence[str] = (),
        unit: Attribute | None = None,
    ) -> Iterator[CodedBatch]:
        """All rows in their order, in batches."""
        rows = _coded(source)
        names = [*(each.name for each in attributes), *integers, *([] if unit is None else [unit.name])]
        for start in range(0, rows.number_of_rows, self.rows_per_batch):
            part = slice(start, min(start + self.rows_per_batch, rows.number_of_rows))
            yield CodedBatch({name: rows.codes[name][part] for name in names}, part.stop - part.start)

    def count_by(
        self, source: Source, attributes: Sequence[Attribute], where: Sequence[Condition]
    ) -> CountTable:
        """Counts over the product of the attributes, among rows with the given codes."""
        rows = _coded(source)
        counts = empty_counts(attributes)
        chosen = _satisfying(rows, where)
        keys = _combinations(rows, attributes)
        counted = np.bincount(keys if chosen is None else keys[chosen], minlength=counts.size)
        return CountTable(tuple(attributes), counted.reshape(counts.shape))

    def count_occupied(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        *,
        weight: str | None = None,
        unfit: Unfit = "refuse",
        fewest: int = 1,
    ) -> OccupiedCounts:
        """Counts of the combinations that enough rows have; with a weight, sums of that integer column."""
        # Rows that are codes already fit their schema.
        del unfit
        rows = _coded(source)
        _, first, place = np.unique(_combinations(rows, attributes), return_index=True, return_inverse=True)
        counts = np.zeros(first.size, dtype=np.int64)
        np.add.at(counts, place, 1 if weight is None else rows.codes[weight])
        enough = np.bincount(place, minlength=first.size) >= fewest
        codes = tuple(column[first[enough]] for column in _columns(rows, attributes))
        return OccupiedCounts(tuple(attributes), codes, counts[enough])

    @contextmanager
    def at_rest(self, source: Source, schema: Schema) -> Iterator[Source]:
        """The source itself: arrays in memory are at rest."""
        del schema
        yield source

    def count_portions(self, source: Source, attributes: Sequence[Attribute]) -> PortionCounts:
        """Counts of the combinations that occur in each portion of the rows."""
        return count_portions(self.scan(source, attributes), attributes)

    def count_tables(self, source: Source, sets: Sequence[Sequence[Attribute]]) -> tuple[CountTable, ...]:
        """Counts over the product of each set's attributes, all in one pass."""
        return count_tables(self.scan(source, attributes_of(sets)), sets)

    def map_portions(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        step: PortionStep[Found],
        *,
        unit: Attribute | None = None,
    ) -> Iterator[Found]:
        """What a step finds in each portion of the rows."""
        return map_portions(self.scan(source, attributes, unit=unit), step)

    def misfits(self, source: Source, attributes: Sequence[Attribute]) -> tuple[Misfit, ...]:
        """None: what has a code fits."""
        del source, attributes
        return ()

    def rows_of_units(self, source: Source, unit: Attribute, attributes: Sequence[Attribute]) -> UnitRows:
        """All rows, gathered by the unit they belong to; its column holds a whole number for each unit."""
        rows = _coded(source)
        whose = rows.codes[unit.name]
        order = np.argsort(whose, kind="stable")
        present, sizes = np.unique(whose, return_counts=True)
        return UnitRows(
            [str(number) for number in present],
            np.cumsum(sizes).astype(np.int64),
            {each.name: rows.codes[each.name][order] for each in attributes},
        )

    def number_of_rows(self, source: Source) -> int:
        """Rows of the source."""
        return _coded(source).number_of_rows

    def group_sizes(self, source: Source, attributes: Sequence[Attribute]) -> dict[int, int]:
        """How many groups of rows equal on the attributes there are of each size."""
        return self.count_occupied(source, attributes).sizes()

    def group_diversity(
        self, source: Source, attributes: Sequence[Attribute], sensitive: Attribute
    ) -> dict[tuple[int, int], int]:
        """How many groups there are of each size and number of different sensitive categories."""
        cells = self.count_occupied(source, (*attributes, sensitive))
        return cells.diversity([each.name for each in attributes])

    def close(self) -> None:
        """There is nothing to give back."""


def _coded(source: Source) -> CodedRows:
    if not isinstance(source, CodedRows):
        raise ParameterError(
            f"this engine counts category codes in memory, and {source.description} is something else. "
            "Leave the engine out, so that DuckDB reads it.",
            parameter="engine",
        )
    return source


def _satisfying(rows: CodedRows, where: Sequence[Condition]) -> Booleans | None:
    """Which rows have the given codes; None for all of them."""
    chosen = None
    for attribute, codes in where:
        allowed = np.zeros(attribute.size, dtype=np.bool_)
        allowed[list(codes)] = True
        fits = allowed[rows.codes[attribute.name]]
        chosen = fits if chosen is None else chosen & fits
    return chosen


def _columns(rows: CodedRows, attributes: Sequence[Attribute]) -> tuple[Codes, ...]:
    return tuple(rows.codes[each.name] for each in attributes)


def _combinations(rows: CodedRows, attributes: Sequence[Attribute]) -> Integers:
    """A number for each row, the same for rows that are equal on the attributes."""
    if not attributes:
        return np.zeros(rows.number_of_rows, dtype=np.int64)
    return numbers_of_rows(attributes, _columns(rows, attributes))
