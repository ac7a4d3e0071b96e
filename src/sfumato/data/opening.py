"""Which kind of source something is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.data.sources import (
    ArrowData,
    CsvFile,
    DatabaseQuery,
    DuckDBTable,
    ParquetFile,
    Source,
)
from sfumato.data.sql_text import quote_name
from sfumato.errors import SourceError


def open_source(data: Any, *, table: str | None = None, query: str | None = None) -> Source:
    """Find out what kind of source something is.

    Parameters
    ----------
    data
        A path to a CSV, Parquet or DuckDB file, a ``sqlite:///`` or ``postgresql://`` address, or any
        object with the Arrow C stream protocol (pyarrow, polars, pandas).
    table
        Table of a database; ``file.duckdb::table`` names it in the path itself.
    query
        SQL for SQLite or Postgres, instead of a whole table.
    """
    if not isinstance(data, str | Path):
        if not hasattr(data, "__arrow_c_stream__"):
            raise SourceError(
                f"cannot read rows from a {type(data).__name__}. Give a path, a database address, "
                "or a pyarrow, polars or pandas table."
            )
        import pyarrow as pa

        # A reader can be read once, a publication may need several passes.
        return ArrowData(data.read_all() if isinstance(data, pa.RecordBatchReader) else data)
    text = str(data)
    if text.startswith(("sqlite:", "postgresql:", "postgres:")):
        if (table is None) == (query is None):
            raise SourceError("a database address needs a table or a query, one of them.")
        return DatabaseQuery(text, query or f"SELECT * FROM {quote_name(table or '')}")
    path_text, separator, named = text.partition("::")
    path = Path(path_text)
    suffix = path.suffix.lower()
    if suffix in (".duckdb", ".db", ".ddb") or separator:
        chosen = table or named
        if not chosen:
            raise SourceError(f"{path.name} is a database: name the table as {path.name}::table.")
        return DuckDBTable(path, chosen)
    if suffix in (".parquet", ".pq"):
        return ParquetFile(path)
    if suffix in (".csv", ".tsv", ".txt", ".data"):
        return CsvFile(path)
    raise SourceError(
        f"cannot tell the format of {path.name!r} by its name. Known are .csv, .tsv, .parquet and .duckdb."
    )
