"""SQLite and Postgres, through their ADBC drivers."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.sources.base import Asked, Source, existing, fresh_name, told_apart
from sfumato.data.sql_text import quote_name
from sfumato.errors import MissingExtraError, SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
