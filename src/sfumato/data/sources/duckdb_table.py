"""Tables, views and queries of DuckDB database files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sfumato.data.sources.base import Asked, Source, existing, fresh_name, told_apart, unchanged
from sfumato.data.sources.combining import columns_of_query, over_data
from sfumato.data.sql_text import quote_name, quote_text
from sfumato.errors import SourceError, nearest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
