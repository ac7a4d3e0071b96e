"""Tables of databases: SQLite, PostgreSQL, DuckDB, Spark."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.coding import quote_name, quote_text
from sfumato.data.sources.base import (
    Asked,
    Source,
    columns_of_query,
    existing,
    fresh_name,
    over_data,
    told_apart,
    unchanged,
)
from sfumato.errors import MissingExtraError, ParameterError, SourceError, nearest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# SQLite and Postgres, through their ADBC drivers.


@dataclass(frozen=True)
class DatabaseQuery(Source):
    """A query, or a whole table, of SQLite or Postgres.

    Parameters
    ----------
    address
        ``sqlite:///path/to/file.db`` or ``postgresql://user@host/database``.
    query
        SQL that gives the rows. It runs again for every pass over the data, so it should give the
        same rows each time.
    """

    kind = "database"
    reads = "a file of SQLite, sqlite:/// or postgresql:// addresses with a table or a query"
    takes = frozenset({"table", "query"})
    # The driver settles each column's type by its first rows.
    cure = (
        "the database broke off, or a column holds numbers in some rows and text in others. "
        "Cast such columns to text in the query"
    )

    address: str
    query: str

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the beginning of the address, or of the file."""
        address = f"sqlite:///{asked.text}" if _is_sqlite(asked.path) else asked.text
        if not address.startswith(("sqlite:", "postgresql:", "postgres:")):
            return None
        if (asked.table is None) == (asked.query is None):
            raise SourceError("a database needs a table or a query, one of them. Say --table or --query.")
        return cls(address, asked.query or f"SELECT * FROM {quote_name(asked.table or '')}")

    def __repr__(self) -> str:
        # An address may hold a password.
        return f"DatabaseQuery({self._kind_of_database})"

    @property
    def _kind_of_database(self) -> str:
        return self.address.partition(":")[0]

    @property
    def description(self) -> str:
        """The kind of database; an address may hold a password."""
        return f"the {self._kind_of_database} query"

    def columns(self) -> tuple[str, ...]:
        """Column names of the query's result."""
        with self._reader() as reader:
            return told_apart(reader.schema.names, self.description)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Run the query and register its stream."""
        name = fresh_name("streamed")
        with self._reader() as reader:
            cursor.register(name, reader)
            yield name

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        kind = self._kind_of_database
        driver = "sqlite" if kind == "sqlite" else "postgresql"
        try:
            dbapi = importlib.import_module(f"adbc_driver_{driver}.dbapi")
        except ImportError:
            raise MissingExtraError("reading databases", extra="db") from None
        address = self.address
        if kind == "sqlite":
            # Three slashes, then the path: sqlite:///data.db is relative, sqlite:////srv/data.db absolute.
            address = str(existing(Path(address.removeprefix("sqlite:///"))))
        try:
            connection = dbapi.connect(address)
        except dbapi.Error:
            raise SourceError(
                f"cannot connect to the {kind} database. Check the address and that it is up."
            ) from None
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(self.query)
                yield cursor.fetch_record_batch()
        except dbapi.Error:
            raise SourceError(
                f"the {kind} database refused the query or broke off. Try the query in the database's own shell."
            ) from None


def _is_sqlite(path: Path | None) -> bool:
    """Whether a file is a database of SQLite, by its first bytes; endings are used by others too."""
    if path is None or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\x00"
    except OSError:
        # Whoever reads it says why it cannot be read.
        return False


# --------------------------------------------------------------------------------------------------
# Tables, views and queries of DuckDB database files.


@dataclass(frozen=True)
class DuckDBTable(Source):
    """A table or view of a DuckDB database file, or a query on it, opened for reading only."""

    kind = "duckdb"
    reads = ".duckdb, .ddb or .db with ::table or a query"
    takes = frozenset({"table", "query"})

    path: Path
    table: str | None
    query: str | None = None

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the ending of the name, or by two colons in it."""
        if asked.path is None:
            return None
        path_text, separator, named = asked.text.partition("::")
        path = Path(path_text)
        if path.suffix.lower() not in (".duckdb", ".ddb", ".db") and not separator:
            return None
        table = asked.table or named or None
        if table is None and asked.query is None:
            raise SourceError(
                f"{path.name} is a database: name the table as {path.name}::table, or give a query."
            )
        return cls(path, table, asked.query)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    @property
    def description(self) -> str:
        """Table and file."""
        return f"{self.path.name}::{self.table}" if self.query is None else f"the query on {self.path.name}"

    def columns(self) -> tuple[str, ...]:
        """Column names from the database's catalog."""
        import duckdb

        try:
            with duckdb.connect(str(existing(self.path)), read_only=True) as connection:
                tables = [
                    row[0]
                    for row in connection.sql("select table_name from information_schema.tables").fetchall()
                ]
                if self.table is not None and self.table not in tables:
                    raise SourceError(
                        f"{self.path.name} has no table {self.table!r}; {nearest(self.table, tables)}"
                    )
                if self.query is None:
                    found = connection.sql(f"from {quote_name(self.table or '')} limit 0").columns
                    return told_apart(found, self.description)
        except duckdb.Error:
            raise SourceError(f"{self.path.name} cannot be opened as a DuckDB database.") from None
        return columns_of_query(self)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Attach the database for reading, for as long as it is read: attached, others cannot write to it."""
        attached = fresh_name("attached")
        with unchanged(existing(self.path)):
            cursor.execute(f"attach {quote_text(str(self.path))} as {attached} (read_only)")
            try:
                table = f"{attached}.{quote_name(self.table)}" if self.table is not None else "(select 1)"
                if self.query is not None:
                    # The query names tables of the file as if it stood in it.
                    cursor.execute(f"use {attached}")
                    yield over_data(table, self.query)
                else:
                    yield table
            finally:
                # By another cursor: this one may still hold a result that nobody will read to its end.
                with cursor.cursor() as other:
                    other.execute(f"detach {attached}")


# --------------------------------------------------------------------------------------------------
# Spark data frames, and tables of a Spark catalog.


ADDRESS = "spark:"
"""Begins the address of a table of the session's catalog: ``spark:register.people``."""


def is_spark_frame(data: object) -> bool:
    """Whether something is a data frame of Spark, without loading it."""
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")


@dataclass(frozen=True, eq=False)
class SparkFrame(Source):
    """Rows that a Spark session gives; an engine that runs there reads them."""

    kind = "spark"
    reads = "a Spark data frame, spark:catalog.table"

    frame: Any
    name: str = "the Spark data frame"

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the type, without loading Spark; a table by the beginning of its address."""
        if is_spark_frame(asked.data):
            return cls(asked.data)
        if not asked.text.startswith(ADDRESS):
            return None
        from pyspark.errors import PySparkException

        from sfumato.data.distributed.spark import find_session

        name = asked.text.removeprefix(ADDRESS)
        try:
            return cls(find_session().table(name), f"table {name}")
        except PySparkException:
            raise SourceError(
                f"the Spark catalog has no table {name!r} that can be read. Name it as catalog.database.table."
            ) from None

    def __repr__(self) -> str:
        return "SparkFrame()"

    @property
    def description(self) -> str:
        """The table's name, or that it is a frame."""
        return self.name

    def columns(self) -> tuple[str, ...]:
        """Column names of the frame."""
        return told_apart(self.frame.columns, self.description)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Refused: the rows are in Spark."""
        del cursor
        raise ParameterError(
            f"{self.description} is read by Spark. Give an engine that runs there, or use --engine spark.",
            parameter="engine",
        )
        yield ""
