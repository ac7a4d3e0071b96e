"""Where rows come from: files, database tables, Arrow streams.

A source knows how to become a relation inside a DuckDB cursor, and which columns it has. It never
puts a cell's text into a message: the texts of DuckDB's, pyarrow's and the drivers' own errors quote
the offending line, so they are replaced, not passed on.
"""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.data.sql_text import quote_name, quote_text
from sfumato.errors import MissingExtraError, SourceError, nearest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DELIMITERS = (",", ";", "\t", "|")
"""Tried in this order on the header line of a CSV file; the one that splits it most wins."""

HEADER_BYTES = 1_048_576
"""How much of a CSV file is read to find its header."""


class Source(Protocol):
    """Somewhere rows can be read from, more than once."""

    @property
    def description(self) -> str:
        """What the source is, for messages: a file's name, a table's name."""

    def columns(self) -> tuple[str, ...]:
        """Column names, in order."""

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """SQL that names the rows inside the cursor; checks afterwards that nothing changed meanwhile."""


def _quote_path(path: Path) -> str:
    """Quote a path for a DuckDB reader, which would take ``data[1].csv`` for a pattern and read ``data1.csv``."""
    return quote_text("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))


def _told_apart(names: Iterable[str], description: str) -> tuple[str, ...]:
    """Names as they are, refused when two are the same to DuckDB, which would read one column for the other."""
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise SourceError(
                f"{description} has two columns named {seen[name.lower()]!r} and {name!r}; names must differ in "
                "more than capitals. Rename one, so that it is clear which is meant."
            )
        seen[name.lower()] = name
    return tuple(seen.values())


@contextmanager
def _unchanged(path: Path) -> Iterator[None]:
    """Refuse a file that is not the same after reading as before."""
    before = path.stat()
    yield
    try:
        after = path.stat()
    except OSError:
        after = None
    if after is None or (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise SourceError(
            f"{path.name} changed while it was read. Nothing was written; try again when it is at rest."
        )


def _existing(path: Path) -> Path:
    if not path.exists():
        near = nearest(
            path.name, [each.name for each in path.parent.glob("*")] if path.parent.is_dir() else []
        )
        raise SourceError(f"there is no file {str(path)!r}; {near}")
    if path.is_dir():
        raise SourceError(f"{str(path)!r} is a folder, not a data file. Name a CSV, Parquet or DuckDB file.")
    if not path.is_file():
        raise SourceError(
            f"{str(path)!r} is a pipe or a device, and rows are read more than once. Save them to a file first."
        )
    return path


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file."""

    path: Path

    @property
    def description(self) -> str:
        """The file's name."""
        return self.path.name

    def columns(self) -> tuple[str, ...]:
        """Column names from the file's footer."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            names = pq.read_schema(_existing(self.path)).names
        except (OSError, pa.ArrowException):
            raise SourceError(
                f"{self.path.name} is not a whole Parquet file: it is damaged, truncated or of another format. "
                "Get it again from where it came."
            ) from None
        return _told_apart(names, self.description)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Read the file in place."""
        del cursor
        with _unchanged(_existing(self.path)):
            yield f"read_parquet({_quote_path(self.path)})"


@dataclass(frozen=True)
class CsvFile:
    """A CSV file with a header line, in UTF-8, with or without a byte-order mark.

    Columns go by the names in the header, never by position. Every cell is read as text.
    """

    path: Path

    @property
    def description(self) -> str:
        """The file's name."""
        return self.path.name

    def columns(self) -> tuple[str, ...]:
        """Column names from the header line."""
        return self._header()[1]

    def _header(self) -> tuple[str, tuple[str, ...]]:
        """Delimiter and column names."""
        with _existing(self.path).open("rb") as file:
            start = file.read(HEADER_BYTES)
        if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in start:
            raise self._unreadable("it is not UTF-8 text (it looks like UTF-16, or is binary)")
        try:
            # The last line may be cut in the middle of a character; the header is never that long.
            text = start.decode("utf-8-sig", errors="strict" if len(start) < HEADER_BYTES else "ignore")
        except UnicodeDecodeError:
            raise self._unreadable("it is not UTF-8 text") from None
        best: tuple[str, tuple[str, ...]] = (",", ())
        for delimiter in DELIMITERS:
            try:
                names = tuple(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), []))
            except csv.Error:
                raise self._unreadable("its header line is not CSV") from None
            if len(names) > len(best[1]):
                best = (delimiter, names)
        if not best[1]:
            raise self._unreadable("it is empty; a header line with the column names comes first")
        return best[0], _told_apart(best[1], self.description)

    def _unreadable(self, reason: str) -> SourceError:
        return SourceError(
            f"{self.path.name} cannot be read as CSV: {reason}. Save it as UTF-8 CSV, or as Parquet."
        )

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Read the file with the column names and the delimiter of its own header."""
        del cursor
        delimiter, names = self._header()
        # DuckDB takes `columns` by position, so they are the header's own names in the header's order.
        columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
        with _unchanged(self.path):
            yield (
                f"read_csv({_quote_path(self.path)}, header=true, auto_detect=false, strict_mode=true, "
                f"delim={quote_text(delimiter)}, quote='\"', escape='\"', columns={{{columns}}})"
            )


@dataclass(frozen=True)
class DuckDBTable:
    """A table or view of a DuckDB database file, opened for reading only."""

    path: Path
    table: str

    @property
    def description(self) -> str:
        """Table and file."""
        return f"{self.path.name}::{self.table}"

    def columns(self) -> tuple[str, ...]:
        """Column names from the database's catalog."""
        import duckdb

        try:
            with duckdb.connect(str(_existing(self.path)), read_only=True) as connection:
                tables = [
                    row[0]
                    for row in connection.sql("select table_name from information_schema.tables").fetchall()
                ]
                if self.table not in tables:
                    raise SourceError(
                        f"{self.path.name} has no table {self.table!r}; {nearest(self.table, tables)}"
                    )
                return tuple(connection.sql(f"from {quote_name(self.table)} limit 0").columns)
        except duckdb.Error:
            raise SourceError(f"{self.path.name} cannot be opened as a DuckDB database.") from None

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Attach the database for reading."""
        with _unchanged(_existing(self.path)):
            cursor.execute(
                f"attach if not exists {quote_text(str(self.path))} as attached_source (read_only)"
            )
            yield f"attached_source.{quote_name(self.table)}"


@dataclass(frozen=True, eq=False)
class ArrowData:
    """Any object with the Arrow C stream protocol: pyarrow, polars or pandas tables.

    A stream that can be read only once is read into memory when the source is made.
    """

    data: Any

    def __repr__(self) -> str:
        return f"ArrowData({type(self.data).__name__})"

    @property
    def description(self) -> str:
        """The object's type."""
        return f"the {type(self.data).__name__}"

    def columns(self) -> tuple[str, ...]:
        """Column names of the stream."""
        import pyarrow as pa

        return _told_apart(pa.RecordBatchReader.from_stream(self.data).schema.names, self.description)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Register the stream."""
        import pyarrow as pa

        cursor.register("streamed_source", pa.RecordBatchReader.from_stream(self.data))
        yield "streamed_source"


@dataclass(frozen=True)
class DatabaseQuery:
    """A query, or a whole table, of SQLite or Postgres, read through its ADBC driver.

    Parameters
    ----------
    address
        ``sqlite:///path/to/file.db`` or ``postgresql://user@host/database``.
    query
        SQL that gives the rows. It runs again for every pass over the data, so it should give the
        same rows each time.
    """

    address: str
    query: str

    def __repr__(self) -> str:
        # An address may hold a password.
        return f"DatabaseQuery({self._kind})"

    @property
    def _kind(self) -> str:
        return self.address.partition(":")[0]

    @property
    def description(self) -> str:
        """The kind of database; an address may hold a password."""
        return f"the {self._kind} query"

    def columns(self) -> tuple[str, ...]:
        """Column names of the query's result."""
        with self._reader() as reader:
            return _told_apart(reader.schema.names, self.description)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Run the query and register its stream."""
        with self._reader() as reader:
            cursor.register("streamed_source", reader)
            yield "streamed_source"

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        driver = "sqlite" if self._kind == "sqlite" else "postgresql"
        try:
            dbapi = importlib.import_module(f"adbc_driver_{driver}.dbapi")
        except ImportError:
            raise MissingExtraError("reading databases", extra="db") from None
        address = self.address
        if self._kind == "sqlite":
            # Three slashes, then the path: sqlite:///data.db is relative, sqlite:////srv/data.db absolute.
            address = str(_existing(Path(address.removeprefix("sqlite:///"))))
        try:
            connection = dbapi.connect(address)
        except dbapi.Error:
            raise SourceError(
                f"cannot connect to the {self._kind} database. Check the address and that it is up."
            ) from None
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(self.query)
                yield cursor.fetch_record_batch()
        except dbapi.Error:
            raise SourceError(
                f"the {self._kind} database refused the query or broke off. Try the query in the database's own shell."
            ) from None
