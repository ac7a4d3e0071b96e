"""Rows that are category codes already, in memory: a source, and an engine that counts them.

Where thousands of small tables are published, opening a database for each count would be nearly all of
the time. The source can be read by any engine; :class:`ArrayEngine` reads nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sfumato.data.counting import attributes_of, count_tables
from sfumato.data.engine import Condition, Found, Unfit
from sfumato.data.fitting import Misfit
from sfumato.data.portions import ROWS_PER_BATCH, PortionCounts, PortionStep, count_portions, map_portions
from sfumato.data.sources.base import Asked, Source, fresh_name
from sfumato.errors import ParameterError
from sfumato.values.arrays import Booleans, Codes, Integers
from sfumato.values.batches import CodedBatch, UnitRows
from sfumato.values.counts import CountTable, OccupiedCounts, empty_counts, numbers_of_rows
from sfumato.values.schema import Attribute, Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
        self, source: Source, attributes: Sequence[Attribute], *, integers: Sequence[str] = ()
    ) -> Iterator[CodedBatch]:
        """All rows in their order, in batches."""
        rows = _coded(source)
        names = [*(each.name for each in attributes), *integers]
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
        self, source: Source, attributes: Sequence[Attribute], step: PortionStep[Found]
    ) -> Iterator[Found]:
        """What a step finds in each portion of the rows."""
        return map_portions(self.scan(source, attributes), step)

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
