"""The engine on DuckDB: reads any source, keeps a snapshot, gives category codes."""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sfumato.data.arrow import as_numpy
from sfumato.data.chunks import (
    ROWS_PER_BATCH,
    CodedBatch,
    PortionCounts,
    PortionStep,
    UnitRows,
    count_portions,
    map_portions,
)
from sfumato.data.coding import (
    Misfit,
    cell_text,
    complaints,
    declarations,
    has_code,
    is_missing,
    misfits_counted,
    misfits_error,
    misfits_of_units,
    quote_name,
    quote_text,
    sizes_of_units,
)
from sfumato.data.duckdb_connection import KeptConnection, PatientCursor
from sfumato.data.engine import Condition, Found, Unfit, attributes_of, count_tables, watched
from sfumato.data.sources.base import Asked, Queried, Source, fresh_name
from sfumato.errors import DataError, ParameterError, SfumatoError, SourceError, without_origins
from sfumato.estimates.counts import CountTable, OccupiedCounts, empty_counts
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import counted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# What is said of a source that cannot be read: never what stands in it.


def unreadable(source: Source, error: Exception) -> SourceError:
    """A sentence for a failed read. The engine's own text quotes lines of the data, so none of it is used."""
    kind = str(error).lower()
    # Only these fixed words are looked for; no part of the text goes on but the number of a line.
    if "unicode" in kind or "utf-8" in kind or "utf8" in kind or "encoding" in kind:
        reason = (
            "it holds bytes that are not in the encoding it is read in, UTF-8 unless said otherwise. "
            "Say --encoding with the one it was saved in, such as cp1252, or save it as UTF-8"
        )
    elif "out of memory" in kind or "no space" in kind:
        reason = "memory or temporary disk space ran out. Free some and try again"
    elif isinstance(source, Queried) and kind.startswith("conversion error"):
        reason = (
            "a cell is no number, or no date, where the query needs one. Cells of text files are text, and files of "
            "statistics are read by their labels: compare with the label in quotes, or write try_cast(age as double), "
            "which leaves out what is none"
        )
    elif "maximum line size" in kind:
        reason = "some line is longer than two million bytes. Is a quote not closed? Otherwise shorten the cell, or leave the column out"
    elif "csv" in kind:
        found = re.search(r"csv error on line: (\d+)", kind)
        line = "some line" if found is None else f"line {int(found[1]):,}"
        reason = (
            f"{line} does not have the header's number of columns, or a quote is not closed. Mend the line"
        )
    else:
        reason = source.cure
    return SourceError(f"{source.description} cannot be read: {reason}.")


def require_columns(source: Source, attributes: Sequence[Attribute]) -> None:
    """Refuse a source that lacks a column, with the nearest that it has; other names may be cells of a headless file."""
    present = source.columns()
    absent = [each.name for each in attributes if each.name not in present]
    if absent:
        names = ", ".join(repr(name) for name in absent)
        hint = column_hint(absent[0], present)
        raise DataError(f"{source.description} has no column {names}; {hint}", attribute=absent[0])


def column_hint(absent: str, present: Sequence[str]) -> str:
    """What to do about a column that is not there: the nearest that is, never all of them, which may be cells."""
    close = difflib.get_close_matches(absent, present, n=1)
    return (
        f"did you mean {close[0]!r}?"
        if close
        else "correct the schema's names, or give the data that column."
    )


# --------------------------------------------------------------------------------------------------
# Private rows at rest: read once, kept as category codes, and counted as often as a method needs.


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot(Source):
    """Rows of another source as its first reading gave them; whoever reads again sees the same rows.

    They are read when they are first asked for, into the database that asks: the codes of what may be published,
    and, as they are, the columns that say whose a row is. What does not fit its memory it spills, enciphered.

    Parameters
    ----------
    original
        Where the rows come from.
    schema
        What they must fit.
    """

    kind = "snapshot"
    reads = "rows that were read already"

    original: Source
    schema: Schema
    name: str = field(default_factory=lambda: fresh_name("snapshot"))
    _taken: threading.Event = field(default_factory=threading.Event)
    taking: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """Nothing: it is made by an engine."""
        del asked
        return None

    def __repr__(self) -> str:
        return f"Snapshot({self.description})"

    @property
    def is_taken(self) -> bool:
        """Whether the rows were read."""
        return self._taken.is_set()

    def take(self) -> None:
        """Say that the rows were read."""
        self._taken.set()

    def forget(self) -> None:
        """Say that the rows are gone; they are read anew when they are asked for."""
        self._taken.clear()

    @property
    def description(self) -> str:
        """That of the original."""
        return self.original.description

    @property
    def cells(self) -> Source:
        """The original, whose cells are not codes yet."""
        return self.original

    def columns(self) -> tuple[str, ...]:
        """Those of the schema, except identifiers, strata and clusters."""
        return tuple(each.name for each in self._kept)

    @property
    def _kept(self) -> tuple[Attribute, ...]:
        # Names of people are read only where they say which rows belong together.
        unit = None if self.schema.long is None else self.schema.long.unit
        unread = (Role.IDENTIFIER, Role.STRATUM, Role.CLUSTER)
        return tuple(each for each in self.schema.attributes if each.role not in unread or each.name == unit)

    def stated_number_of_rows(self) -> int | None:
        """As the original states it."""
        return self.original.stated_number_of_rows()

    def code(self, attribute: Attribute) -> str:
        """SQL: the column itself."""
        return quote_name(attribute.name)

    def coded(self, attributes: Sequence[Attribute]) -> Sequence[Attribute]:
        """All that may be published, since all are read at once; then none."""
        del attributes
        return () if self.is_taken else [each for each in self.schema.attributes if each.role.is_published]

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Name of the table that holds the rows."""
        with self.taking:
            if not self.is_taken:
                self._take(cursor)
        yield self.name

    def _take(self, cursor: DuckDBPyConnection) -> None:
        coded = self.schema.publishable
        columns = [
            f"{self.original.code(each)} as {quote_name(each.name)}"
            if each.name in coded
            else quote_name(each.name)
            for each in self._kept
        ]
        try:
            with (
                self.original.relation(cursor) as rows,
                # Signals that reach DuckDB in the main thread come out as faults, or not at all.
                PatientCursor(cursor, f"Reading {self.description}") as patient,
            ):
                patient.execute(f"create table {self.name} as select {', '.join(columns)} from {rows}")
        except BaseException:
            # The source may have changed under the reader, which is seen at its end.
            cursor.execute(f"drop table if exists {self.name}")
            raise
        self.take()


PLACE = "sfumato place"
"""Name of the column with the places of rows, from which they are drawn."""


def hashed_place(key: str, place: str) -> str:
    """SQL: a row's place, hashed under a key; texts of one length, so that a plain hash is a pseudo-random function."""
    return f"sha256({quote_text(key)} || lpad({place}::varchar, 20, '0'))"


@dataclass(frozen=True, eq=False, repr=False)
class DrawnUnits(Snapshot):
    """At most k rows of each unit, drawn uniformly without replacement: contribution bounding (Wilson et al. 2020).

    A row's place is hashed under a secret key, and the k smallest hashes of a unit are kept: no cell decides which.

    Parameters
    ----------
    noise
        Where the key comes from.
    sessions
        The open database that holds the rows.
    """

    noise: NoiseSource = field(default_factory=NoiseSource.from_operating_system)
    sessions: list[object] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"DrawnUnits({self.description})"

    @property
    def is_drawn(self) -> bool:
        """Rows are drawn."""
        return True

    @property
    def cells(self) -> Source:
        """The original, with all rows."""
        return self.original.cells

    def stated_number_of_rows(self) -> int | None:
        """Known once the rows are drawn."""
        return None

    def coded(self, attributes: Sequence[Attribute]) -> Sequence[Attribute]:
        """None: rows are coded before they are drawn."""
        del attributes
        return ()

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Name of the table that holds the drawn rows."""
        del cursor
        yield self.name

    def statement(self, rows: str) -> str:
        """SQL: draws from all rows, coded already."""
        unit = self.schema.unit
        assert unit is not None
        key = self.noise.named("rows of units").stream(0).words(4).tobytes().hex()
        word = hashed_place(key, quote_name(PLACE))
        kept = ", ".join(quote_name(name) for name in self.columns())
        return (
            f"create table {self.name} as select {kept} from ("
            f"select *, row_number() over () as {quote_name(PLACE)} from {rows}) "
            f"qualify row_number() over (partition by {cell_text(unit)} order by {word}, {quote_name(PLACE)}) "
            f"<= {self.schema.rows_drawn_per_unit} order by {quote_name(PLACE)}"
        )


# --------------------------------------------------------------------------------------------------
# The embedded engine: DuckDB reads, we get category codes.
#
# Each column becomes an expression that gives the code of its category, or NULL where the value has
# none. DuckDB evaluates it in parallel while it reads; only small unsigned integers cross into Python.


MOST_THREADS = 1_024
"""More would be a slip of the keyboard."""


class DuckDBEngine:
    """Runs on this machine, out of core, with nothing to set up.

    It keeps one connection, opened at first use. Close it, or use it in a ``with`` statement, to give
    memory back early; a closed engine opens anew when it is asked again.

    Parameters
    ----------
    memory_limit
        What DuckDB may use before it spills to a temporary folder, in its own notation.
    threads
        Threads that DuckDB may use; as many as there are cores unless said otherwise.
    temporary_folder
        Where it spills to; the system's place for temporary files unless said otherwise.

    Raises
    ------
    ParameterError
        When a setting is not one that DuckDB takes.
    """

    def __init__(
        self,
        *,
        memory_limit: str = "1GB",
        threads: int | None = None,
        temporary_folder: str | Path | None = None,
    ) -> None:
        _refuse_wrong(memory_limit, threads, temporary_folder)
        self.memory_limit = memory_limit
        self.threads = threads
        self.temporary_folder = None if temporary_folder is None else Path(temporary_folder)
        settings = {
            "memory_limit": memory_limit,
            # Nothing may reach out to the network by itself.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        } | ({} if threads is None else {"threads": str(threads)})
        self._connection = KeptConnection(settings, self.temporary_folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection's memory and files back."""
        self._connection.close()

    def scan(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        *,
        integers: Sequence[str] = (),
        unit: Attribute | None = None,
    ) -> Iterator[CodedBatch]:
        """All rows as codes, in batches."""
        # A cell that is no whole number becomes NULL, which is refused below as any other unfit cell.
        numbers = [f"try_cast({quote_name(name)} as bigint) as {quote_name(name)}" for name in integers]
        codes = [f"{source.code(each)} as {quote_name(each.name)}" for each in attributes]
        types = {each.name: each.code_type for each in attributes} | dict.fromkeys(
            integers, np.dtype(np.int64)
        )
        if unit is not None:
            codes.append(f"hash({cell_text(unit)}) as {quote_name(unit.name)}")
            numbers, types = (
                [],
                {**{each.name: each.code_type for each in attributes}, unit.name: np.dtype(np.uint64)},
            )
        expressions = ", ".join(codes + numbers)
        with self.open(source, attributes) as (cursor, relation):
            reader = cursor.sql(f"select {expressions} from {relation}").to_arrow_reader(ROWS_PER_BATCH)
            for batch in reader:
                if any(column.null_count for column in batch.columns):
                    break
                yield CodedBatch(
                    codes={
                        name: as_numpy(column).astype(kind, copy=False)
                        for (name, kind), column in zip(types.items(), batch.columns, strict=True)
                    },
                    number_of_rows=batch.num_rows,
                )
            else:
                return
        self._refuse(source, attributes)

    def count_by(
        self, source: Source, attributes: Sequence[Attribute], where: Sequence[Condition]
    ) -> CountTable:
        """Counts over the product of the attributes, among rows with the given codes."""
        counts = empty_counts(attributes)
        conditions = " and ".join(has_code(source.code(attribute), codes) for attribute, codes in where)
        clauses = f"where {conditions}" if conditions else ""
        grouping = "group by all" if attributes else ""
        *codes, totals = self._arrays(
            source,
            attributes,
            lambda rows: (
                f"select {_keys(source, attributes)}count(*) as total from {rows} {clauses} {grouping}"
            ),
            conditioned=[attribute for attribute, _ in where],
        )
        # Without attributes there is one cell, and one row for it.
        counts[tuple(codes)] = totals if codes else totals[0]
        return CountTable(tuple(attributes), counts)

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
        codes_present = " and ".join(f"{source.code(each)} is not null" for each in attributes)
        fitting = f"where {codes_present}" if unfit == "skip" else ""
        measure = "count(*)" if weight is None else f"cast(sum({quote_name(weight)}) as bigint)"
        # Rows without a code are seen however few they are. Outside the grouping: a cell that is named there besides its
        # code would be grouped by, and several texts may have one code.
        kept = " or ".join(
            [f"size >= {fewest}", *(f"key{place} is null" for place in range(len(attributes)))]
        )
        columns = self._arrays(
            source,
            attributes,
            lambda rows: (
                f"select * exclude (size) from (select {_keys(source, attributes)}{measure} as total, count(*) as size "
                f"from {rows} {fitting} group by all) where {kept}"
            ),
        )
        return _occupied(attributes, columns)

    def count_portions(self, source: Source, attributes: Sequence[Attribute]) -> PortionCounts:
        """Counts of the combinations that occur in each portion of the rows."""
        return count_portions(self.scan(source, attributes), attributes)

    def count_tables(self, source: Source, sets: Sequence[Sequence[Attribute]]) -> tuple[CountTable, ...]:
        """Counts over the product of each set's attributes, all in one pass."""
        rows = self.scan(source, attributes_of(sets))
        return count_tables(watched("Counting", rows, source.stated_number_of_rows), sets)

    def map_portions(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        step: PortionStep[Found],
        *,
        unit: Attribute | None = None,
    ) -> Iterator[Found]:
        """What a step finds in each portion of the rows, as they are read."""
        return map_portions(self.scan(source, attributes, unit=unit), step)

    @contextmanager
    def at_rest(self, source: Source, schema: Schema) -> Iterator[Snapshot]:
        """The source's rows as they are when they are first asked for, until the end."""
        if isinstance(source, DrawnUnits) and self._has(source):
            yield source
            return
        snapshot = source if isinstance(source, DrawnUnits) else Snapshot(source, schema)
        try:
            yield snapshot
        finally:
            if snapshot.is_taken:
                with self._connection.cursor() as cursor:
                    cursor.execute(f"drop table if exists {snapshot.name}")
                snapshot.forget()

    def _has(self, source: DrawnUnits) -> bool:
        """Whether the rows were drawn into the database that is open now."""
        return source.is_taken and source.sessions[-1] is self._connection.session

    def _draw(self, source: DrawnUnits) -> None:
        """Draw rows of each unit, after all rows were seen to fit: what is refused does not depend on the draw."""
        publishable = source.schema.publishable.attributes
        with self.at_rest(source.original, source.schema) as whole:
            withheld = source.schema.with_role(Role.WEIGHT, Role.UNIT, Role.HOUSEHOLD)
            found = self.misfits(whole, withheld)
            if found:
                raise misfits_error(found)
            unfit = " or ".join(f"{quote_name(each.name)} is null" for each in publishable)
            if self._one_row(whole, lambda rows: f"select count(*) from {rows} where {unfit}")[0]:
                self._refuse(whole, publishable)
            with self.open(whole) as (cursor, rows):
                cursor.execute(source.statement(rows))
        source.sessions[:] = [self._connection.session]
        source.take()

    def _arrays(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        statement: Callable[[str], str],
        *,
        conditioned: Sequence[Attribute] = (),
    ) -> list[Any]:
        """The columns of a statement's result, refused where a row has no code."""
        with self.open(source, (*attributes, *conditioned)) as (cursor, relation):
            found = list(cursor.sql(statement(relation)).fetch_numpy().values())
        # A masked array holds a NULL; asked by name, because masks themselves take long to load.
        if any(type(column).__name__ == "MaskedArray" and column.mask.any() for column in found):
            self._refuse(source, attributes)
        return [np.asarray(column) for column in found]

    def rows_of_units(self, source: Source, unit: Attribute, attributes: Sequence[Attribute]) -> UnitRows:
        """All rows, gathered by the unit they belong to.

        One number stands for all codes of a row, so that the lists of a unit cannot fall out of step.
        """
        key = "0::bigint"
        for each in attributes:
            key = f"({key}) * {each.size} + {source.code(each)}"
        name = f"case when {is_missing(unit)} then null else {cell_text(unit)} end"
        with self.open(source, (unit, *attributes)) as (cursor, relation):
            selected = f"select {name} as name, list({key}) as keys from {relation} group by 1 order by 1"
            result = cursor.sql(selected).to_arrow_reader(ROWS_PER_BATCH).read_all()
        names, lists = (column.combine_chunks() for column in result.columns)
        keys = lists.flatten()
        if keys.null_count:
            self._refuse(source, attributes)
        ends = np.cumsum(as_numpy(lists.value_lengths()), dtype=np.int64)
        if names.null_count:
            # Missing names sort last and are one group.
            without = int(ends[-1] - (ends[-2] if ends.size > 1 else 0))
            raise DataError(
                f"column {unit.name!r} has no value in {counted(without, 'row')}, and every row must say whose it is. "
                "Fill the names in, or leave those rows out.",
                attribute=unit.name,
                number_of_rows=without,
            )
        rest = as_numpy(keys)
        codes = {}
        for each in reversed(attributes):
            rest, code = np.divmod(rest, each.size)
            codes[each.name] = code.astype(each.code_type)
        return UnitRows(names.to_pylist(), ends, codes)

    def number_of_rows(self, source: Source) -> int:
        """Rows of the source."""
        return int(self.count_by(source, (), ()).total)

    def group_sizes(self, source: Source, attributes: Sequence[Attribute]) -> dict[int, int]:
        """How many groups of rows equal on the attributes there are of each size."""
        groups = "select size, 1 as different, unfit from cells"
        return {size: number for size, _, number in self._group_histogram(source, attributes, groups)}

    def group_diversity(
        self, source: Source, attributes: Sequence[Attribute], sensitive: Attribute
    ) -> dict[tuple[int, int], int]:
        """How many groups there are of each size and number of different sensitive categories."""
        keys = ", ".join(f"key{place}" for place in range(len(attributes)))
        groups = (
            "select sum(size) as size, count(*) as different, bool_or(unfit) as unfit from cells"
            f"{f' group by {keys}' if keys else ''}"
        )
        histogram = self._group_histogram(source, (*attributes, sensitive), groups)
        return {(size, different): number for size, different, number in histogram}

    def _group_histogram(
        self, source: Source, attributes: Sequence[Attribute], groups: str
    ) -> list[tuple[int, int, int]]:
        """Size, different values and number of groups, for groups made from the cells of some attributes.

        Aggregated inside DuckDB: what crosses into Python is a histogram, however many groups there are.
        """
        # A value outside the schema has no code; whether there is one is found in the same pass.
        unfit = " or ".join(f"key{place} is null" for place in range(len(attributes))) or "false"
        with self.open(source, attributes) as (cursor, relation):
            rows = cursor.execute(
                f"with counted as (select {_keys(source, attributes)}count(*) as size from {relation} group by all), "
                f"cells as (select *, {unfit} as unfit from counted), groups as ({groups}) "
                "select size, different, count(*), bool_or(unfit) from groups where size > 0 group by all order by all"
            ).fetchall()
        if any(row[3] for row in rows):
            self._refuse(source, attributes)
        return [(int(size), int(different), int(number)) for size, different, number, _ in rows]

    def misfits(self, source: Source, attributes: Sequence[Attribute]) -> tuple[Misfit, ...]:
        """Everything in which rows do not fit the attributes, in one pass, with numbers of rows and without values."""
        found = misfits_counted(attributes, self.count_misfits(source, attributes))
        for each in attributes:
            if each.role is Role.UNIT:
                found += misfits_of_units(each, self._one_row(source, partial(sizes_of_units, each)))
        return tuple(found)

    def count_misfits(self, source: Source, attributes: Sequence[Attribute]) -> tuple[int, ...]:
        """Rows that each complaint is about, then rows with a value of each attribute; numbers of parts add up."""
        require_columns(source, attributes)
        asked = [complaint for each in attributes for complaint in complaints(each)]
        conditions = [complaint.condition for complaint in asked]
        conditions += [f"not {is_missing(each)}" for each in attributes]
        # Not by `filter`, whose memory and time grow with the square of the number of conditions.
        found = ", ".join(
            f"case when {each} then 1 end as found{place}" for place, each in enumerate(conditions)
        )
        counted = ", ".join(f"count(found{place})" for place in range(len(conditions)))
        if not counted:
            return ()
        return self._one_row(
            source, lambda relation: f"select {counted} from (select {found} from {relation})", attributes
        )

    def _one_row(
        self, source: Source, statement: Callable[[str], str], attributes: Sequence[Attribute] = ()
    ) -> tuple[Any, ...]:
        """The result of a statement about the source; a pass of its own, since a stream can be read once."""
        with self.open(source, attributes) as (cursor, relation):
            row = cursor.execute(statement(relation)).fetchone()
        assert row is not None
        return row

    def _refuse(self, source: Source, attributes: Sequence[Attribute]) -> None:
        """Say which columns do not fit the schema, and in how many rows."""
        found = self.misfits(source.cells, attributes)
        if not found:
            raise SourceError(
                f"{source.description} changed while it was read. Try again when it is at rest."
            )
        raise misfits_error(found)

    @contextmanager
    def open(
        self, source: Source, attributes: Sequence[Attribute] = ()
    ) -> Iterator[tuple[PatientCursor, str]]:
        """A cursor with the source in it; every failure of reading becomes one sentence without values.

        Parameters
        ----------
        source
            What is read.
        attributes
            Those that are asked for, whose codes the cursor can then be asked for; a failure because one has no
            column is told as such.
        """
        with without_origins(), _told(source, attributes):
            if isinstance(source, DrawnUnits):
                with source.taking:
                    if not self._has(source):
                        self._draw(source)
            types = (declarations(each) for each in source.coded(attributes))
            self._connection.declare({name: text for each in types for name, text in each.items()})
            with (
                self._connection.cursor() as cursor,
                source.relation(cursor) as relation,
                PatientCursor(cursor, f"Reading {source.description}") as patient,
            ):
                yield patient, relation


@contextmanager
def _told(source: Source, attributes: Sequence[Attribute]) -> Iterator[None]:
    """What the engine complains of, in words of ours."""
    import duckdb

    try:
        yield
    except SfumatoError:
        raise
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, OSError) as error:
        if isinstance(error, duckdb.BinderException):
            require_columns(source, attributes)
        raise unreadable(source, error) from None


MEMORY = r"\s*(\d{1,9}(\.\d{1,3})?\s*[kmg]i?b|\d{1,6}(\.\d{1,3})?\s*ti?b|([1-9]\d?(\.\d{1,3})?|100)\s*%)\s*"
"""Sizes that DuckDB can count in: of larger ones it says what would be taken for a damaged file."""


def _refuse_wrong(memory_limit: str, threads: int | None, temporary_folder: str | Path | None) -> None:
    if not re.fullmatch(MEMORY, memory_limit, re.IGNORECASE):
        raise ParameterError(
            f"memory must be a number with a unit, such as 4GB or 500MB, below a million TB, or 1% to 100%; got {memory_limit!r}.",
            parameter="memory",
        )
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise ParameterError(
            f"threads must be from 1 to {MOST_THREADS}, got {threads}. Leave it out for one per core.",
            parameter="threads",
        )
    if temporary_folder is not None and not Path(temporary_folder).is_dir():
        raise ParameterError(
            f"there is no folder {str(temporary_folder)!r} for temporary files. Make it, or name another.",
            parameter="temporary_folder",
        )


def _keys(source: Source, attributes: Sequence[Attribute]) -> str:
    """SQL: the code of every attribute, each followed by a comma."""
    return "".join(f"{source.code(each)} as key{place}, " for place, each in enumerate(attributes))


def _occupied(attributes: Sequence[Attribute], columns: Sequence[Any]) -> OccupiedCounts:
    *codes, counts = columns
    arrays = tuple(
        column.astype(each.code_type, copy=False) for each, column in zip(attributes, codes, strict=True)
    )
    return OccupiedCounts(tuple(attributes), arrays, counts)
