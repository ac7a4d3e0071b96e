"""The only type that gives original rows to others."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sfumato.data.chunks import CodedBatch, PortionCounts, PortionStep, UnitRows
from sfumato.data.coding import Misfit, is_its_text, misfits_error
from sfumato.data.duckdb_engine import DrawnUnits, DuckDBEngine
from sfumato.data.engine import CodedRows, CountsInTurns, Engine, Found
from sfumato.data.sources import open_source
from sfumato.data.sources.base import Source
from sfumato.data.sources.databases import SparkFrame
from sfumato.errors import DataError, SchemaError, without_origins
from sfumato.estimates.counts import CountTable, OccupiedCounts
from sfumato.query.selection import Selection
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role, Schema


class PrivateTable:
    """Private rows with their schema. Its ``repr`` shows the schema only.

    Made by :func:`read_table`. Rows are read anew for every pass, as category codes; nothing is kept
    in memory but what a method asks for. Its engine keeps one connection; :meth:`close`, or a ``with``
    statement, gives it back early.

    Parameters
    ----------
    source
        Where the rows are.
    schema
        What they must fit. Methods see it as :attr:`schema`, without how cells become categories, so that
        nothing of that can reach a release.
    engine
        Reads and counts them.
    """

    def __init__(self, source: Source, schema: Schema, *, engine: Engine | None = None) -> None:
        self.schema = schema.as_published
        self._declared = schema
        self.engine: Engine = engine or engine_for(source.cells)
        # Rows in memory are those of a table that was read.
        if schema.rows_drawn_per_unit and not source.is_drawn and not isinstance(source, CodedRows):
            source = DrawnUnits(source, schema)
        self.source = source

    def __repr__(self) -> str:
        return f"PrivateTable({', '.join(self.schema.names)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what the engine holds; the table can still be read, by opening anew."""
        self.engine.close()

    @contextmanager
    def at_rest(self) -> Iterator[PrivateTable]:
        """The table for as long as a publication takes, every pass over which gives the same rows.

        The source is read once, at the first pass; a table that is never asked is never read.
        """
        with self.engine.at_rest(self.source, self._declared) as source:
            yield PrivateTable(source, self._declared, engine=self.engine)

    def drawn_by(self, noise: NoiseSource) -> PrivateTable:
        """The table whose rows of units a seed draws; the table itself without a seed, or where no rows are drawn."""
        if not self.source.is_drawn or not noise.is_reproducible:
            return self
        drawn = DrawnUnits(self.source.cells, self._declared, noise=noise)
        return PrivateTable(drawn, self._declared, engine=self.engine)

    @property
    def undrawn(self) -> PrivateTable:
        """The table with all rows of each unit; the table itself where no rows are drawn."""
        if not self.source.is_drawn:
            return self
        found = copy.copy(self)
        found.source = self.source.cells
        found.__dict__.pop("number_of_rows", None)
        return found

    @property
    def learned_lists(self) -> frozenset[str]:
        """Attributes whose categories were read off the data one by one; bins and periods are ranges."""
        return frozenset(
            each.name for each in self._declared.attributes if each.learned and each.categories is not None
        )

    @property
    def told_by_counts(self) -> tuple[Attribute, ...]:
        """Attributes whose cells are known to whoever knows how many rows each of their categories has."""
        if self.source.is_drawn:
            return ()
        return tuple(
            each for each in self._declared.attributes if each.role.is_published and is_its_text(each)
        )

    @cached_property
    def number_of_rows(self) -> int:
        """Rows of the table; an empty table is refused."""
        rows = self.engine.number_of_rows(self.source)
        if rows == 0:
            raise DataError(
                f"{self.source.description} has no rows. There is nothing to publish.",
                number_of_rows=0,
            )
        return rows

    @property
    def stated_number_of_rows(self) -> int | None:
        """Rows as the source states them, or None where only a pass over the data would tell."""
        return self.source.stated_number_of_rows()

    def scan(self, names: Sequence[str] | None = None, *, with_units: bool = False) -> Iterator[CodedBatch]:
        """Rows as codes, in batches; all publishable attributes unless some are named.

        With units, a number that is the same for rows of the same person comes under the name of the unit's column.
        """
        chosen = self.schema.publishable.names if names is None else names
        unit = self._unit if with_units else None
        return self.engine.scan(self.source, self._declared.select(chosen), unit=unit)

    @property
    def _unit(self) -> Attribute | None:
        name = self.unit_column
        return None if name is None else self._declared[name]

    @property
    def unit_column(self) -> str | None:
        """The column that says whose rows they are; None where none is declared, or codes in memory are without it."""
        declared = self._declared.unit
        name = declared.name if declared is not None else self.schema.long and self.schema.long.unit
        return name if name is not None and name in self.source.columns() else None

    def count_by(self, names: Sequence[str], where: Selection | None = None) -> CountTable:
        """True counts over some attributes. Private: nothing of it may be published as it is."""
        conditions = [(self._declared[name], codes) for name, codes in (where or Selection()).conditions]
        counted = self.engine.count_by(self.source, self._declared.select(names), conditions)
        return CountTable(self.schema.select(names), counted.counts)

    def count_tables(self, sets: Sequence[Sequence[str]]) -> CountsInTurns:
        """True counts over each of many sets of attributes, in as few passes as memory allows. Private."""
        return CountsInTurns(self.schema, self._count_sets, sets)

    def _count_sets(self, sets: Sequence[Sequence[Attribute]]) -> tuple[CountTable, ...]:
        declared = [self._declared.select([each.name for each in attributes]) for attributes in sets]
        counted = self.engine.count_tables(self.source, declared)
        return tuple(
            CountTable(tuple(attributes), each.counts) for attributes, each in zip(sets, counted, strict=True)
        )

    def map_portions(
        self, names: Sequence[str], step: PortionStep[Found], *, with_units: bool = False
    ) -> Iterator[Found]:
        """What a step finds in each portion of the rows. Private; where rows are elsewhere, all that comes here."""
        unit = self._unit if with_units else None
        return self.engine.map_portions(self.source, self._declared.select(names), step, unit=unit)

    def count_occupied(self, names: Sequence[str], *, fewest: int = 1) -> OccupiedCounts:
        """True counts of the combinations that so many rows have. Private."""
        counted = self.engine.count_occupied(self.source, self._declared.select(names), fewest=fewest)
        return dataclasses.replace(counted, attributes=self.schema.select(names))

    def misfits(self) -> tuple[Misfit, ...]:
        """Everything in which the rows do not fit the schema: columns, reasons and numbers of rows, without values."""
        return self.engine.misfits(self.source.cells, self._declared.attributes)

    def refuse_unfit_withheld(self) -> None:
        """Refuse rows whose weight, unit or household is not as it must be; publishing would not look at them.

        Raises
        ------
        DataError
            Naming every such column and the number of rows.
        """
        withheld = self._declared.with_role(Role.WEIGHT, Role.UNIT, Role.HOUSEHOLD)
        found = self.engine.misfits(self.source, withheld) if withheld else ()
        if found:
            raise misfits_error(found)

    def count_portions(self, names: Sequence[str]) -> PortionCounts:
        """True counts of the combinations that occur in each portion of the rows. Private."""
        counted = self.engine.count_portions(self.source, self._declared.select(names))
        occupied = dataclasses.replace(counted.occupied, attributes=self.schema.select(names))
        return dataclasses.replace(counted, occupied=occupied)

    def rows_of_units(self) -> UnitRows:
        """Rows of unit-item-value data, gathered by unit. Private.

        Raises
        ------
        SchemaError
            When the schema does not say which columns are unit, item and value.
        DataError
            When a row lacks its unit or item.
        """
        long = self.schema.long
        if long is None:
            raise SchemaError("the schema has no [long] table, which says the unit, item and value. Add one.")
        declared = self._declared
        return self.engine.rows_of_units(self.source, declared[long.unit], declared.select(long.names))

    def group_sizes(self, names: Sequence[str]) -> dict[int, int]:
        """How many groups of rows equal on some attributes there are of each size. Private."""
        return self.engine.group_sizes(self.source, self._declared.select(names))

    def group_diversity(self, names: Sequence[str], sensitive: str) -> dict[tuple[int, int], int]:
        """How many groups there are of each size and number of different sensitive categories. Private."""
        declared = self._declared
        return self.engine.group_diversity(self.source, declared.select(names), declared[sensitive])


def engine_for(source: Source) -> Engine:
    """What reads a source where nobody says: DuckDB, except for rows that are in a Spark session."""
    if not isinstance(source, SparkFrame):
        return DuckDBEngine()
    from sfumato.data.distributed.spark import SparkEngine

    return SparkEngine(source.frame.sparkSession)


@without_origins()
def read_table(
    data: Any,
    schema: Schema | str | Path,
    *,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    engine: Engine | None = None,
) -> PrivateTable:
    r"""Private rows from a file, a database or a table in memory.

    Only the column names are looked at here; values are checked when rows are read.

    Parameters
    ----------
    data
        A path to a CSV, Parquet, Excel, SPSS, Stata, SAS or DuckDB file (``file.duckdb::table``), a pattern
        of such paths, ``-`` for stdin, a ``sqlite:///`` or ``postgresql://`` address, a pyarrow, polars or
        pandas table, a Spark data frame, or ``spark:`` with the name of a table of its catalog.
    schema
        A schema, or the path of a schema file.
    table
        Table of a database.
    query
        SQL that gives the rows: a database's own, or else DuckDB's, which calls the rows ``data``.
    encoding, delimiter, names
        Of a text file, where it does not say them itself: names of columns where it has no header line.
    engine
        DuckDB on this machine unless said otherwise; for a Spark data frame its session.

    Raises
    ------
    DataError
        When a column of the schema is not in the data.

    Examples
    --------
    >>> import pyarrow as pa
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> read_table(pa.table({"job": ["a", "b", "a"]}), schema)
    PrivateTable(job)
    """
    known = schema if isinstance(schema, Schema) else Schema.read(schema)
    source = open_source(
        data,
        table=table,
        query=query,
        encoding=encoding,
        delimiter=delimiter,
        names=names,
        engine=engine,
    )
    present = source.columns()
    absent = [name for name in known.names if name not in present]
    if absent:
        names = ", ".join(repr(name) for name in absent)
        raise DataError(
            f"{source.description} has no column {names}, which the schema declares. "
            "Correct the schema's names, or give the data that column.",
            attribute=absent[0],
        )
    return PrivateTable(source, known, engine=engine)
