"""Parquet files and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.duckdb_connection import small_cursor
from sfumato.data.sources.base import (
    Asked,
    CheckedFile,
    Source,
    existing,
    fresh_name,
    held,
    quote_path,
    told_apart,
)
from sfumato.data.sources.databases import is_spark_frame
from sfumato.errors import SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyarrow import RecordBatchReader

# --------------------------------------------------------------------------------------------------
# Parquet files.


@dataclass(frozen=True)
class ParquetFile(Source):
    """A Parquet file."""

    kind = "parquet"
    reads = ".parquet, .pq"

    path: Path
    checks: tuple[CheckedFile, ...] = field(default=(), compare=False)

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the ending of the name."""
        return cls(asked.path) if asked.path and asked.suffix in (".parquet", ".pq") else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    @property
    def description(self) -> str:
        """The file's name."""
        return self.path.name

    def columns(self) -> tuple[str, ...]:
        """Column names from the file's footer."""
        # A column that is a table itself is followed by its parts, all of them below the one root.
        names, inside = [], 0
        for name, parts in self._footer("name, coalesce(num_children, 0) from parquet_schema")[1:]:
            if inside == 0:
                names.append(name)
            inside = max(inside - 1, 0) + parts
        return told_apart(names, self.description)

    def stated_number_of_rows(self) -> int | None:
        """Rows from the file's footer."""
        return int(self._footer("num_rows from parquet_file_metadata")[0][0])

    def _footer(self, asked: str) -> list[tuple[Any, ...]]:
        with held((self.path,), self.checks) as paths:
            return _footers(paths, asked)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Read the file in place."""
        del cursor
        with held((self.path,), self.checks) as (path,):
            yield f"read_parquet({quote_path(path)})"


@dataclass(frozen=True)
class ParquetFiles(Source):
    """Parquet files that are one table, in a stated order; never a pattern, so that no stray file joins them.

    Parameters
    ----------
    name
        Of the table.
    paths
        Of the files, at least one.
    checks
        Of the files, where they are of a release.
    """

    name: str
    paths: tuple[Path, ...]
    checks: tuple[CheckedFile, ...] = field(default=(), compare=False)

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """None: a release says which files it is made of."""
        del asked
        return None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files."""
        return self.paths

    @property
    def description(self) -> str:
        """The table and how many files it is in."""
        return f"{self.name} ({len(self.paths)} files)"

    def columns(self) -> tuple[str, ...]:
        """Those of the first file."""
        return ParquetFile(self.paths[0], self.checks[:1]).columns()

    def stated_number_of_rows(self) -> int | None:
        """Rows from the files' footers."""
        with held(self.paths, self.checks) as paths:
            return sum(rows_of_files(paths))

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Read the files in place, one after the other."""
        del cursor
        with held(self.paths, self.checks) as paths:
            yield f"read_parquet([{', '.join(map(quote_path, paths))}])"


def row_groups_of_files(paths: Sequence[Path]) -> list[list[int]]:
    """Rows of every row group of each of some Parquet files, from their footers.

    Raises
    ------
    SourceError
        When one is none.
    """
    found = []
    for path in paths:
        # A line for each column of each row group.
        groups = dict(_footers([path], "row_group_id, row_group_num_rows from parquet_metadata"))
        found.append([int(groups[number]) for number in sorted(groups)])
    return found


def rows_of_files(paths: Sequence[Path]) -> list[int]:
    """Rows of each of some Parquet files, from their footers.

    Raises
    ------
    SourceError
        Naming the first that is none.
    """
    if not paths:
        return []
    try:
        found = dict(_footers(paths, "file_name, num_rows from parquet_file_metadata"))
        return [int(found[str(path)]) for path in paths]
    except (SourceError, KeyError):
        # One by one, to tell which.
        return [int(ParquetFile(path).stated_number_of_rows() or 0) for path in paths]


def _footers(paths: Sequence[Path], asked: str) -> list[tuple[Any, ...]]:
    # DuckDB's reader and not pyarrow's, which takes longer to load than a small question takes in all.
    import duckdb

    listed = ", ".join(quote_path(existing(each)) for each in paths)
    with small_cursor() as cursor:
        try:
            return cursor.execute(
                f"select {asked}({listed if len(paths) == 1 else f'[{listed}]'})"
            ).fetchall()
        except duckdb.Error:
            pass
    raise SourceError(
        f"{paths[0].name} is not a whole Parquet file: it is damaged, truncated or of another format. "
        "Get it again from where it came."
    )


# --------------------------------------------------------------------------------------------------
# Tables in memory that speak Arrow.


@dataclass(frozen=True, eq=False)
class ArrowData(Source):
    """Any object with the Arrow C stream protocol: pyarrow, polars or pandas tables.

    A stream that can be read only once is read into memory when the source is made.
    """

    kind = "arrow"
    reads = "a pyarrow, polars or pandas table"

    data: Any

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the protocol; a Spark data frame speaks it too, by bringing all its rows here."""
        if not hasattr(asked.data, "__arrow_c_stream__") or is_spark_frame(asked.data):
            return None
        import pyarrow as pa

        # A reader can be read once, a publication may need several passes.
        return cls(asked.data.read_all() if isinstance(asked.data, pa.RecordBatchReader) else asked.data)

    def __repr__(self) -> str:
        return f"ArrowData({type(self.data).__name__})"

    @property
    def description(self) -> str:
        """The object's type."""
        return f"the {type(self.data).__name__}"

    def _stream(self) -> RecordBatchReader:
        """The rows as columns of one type each; what a library says of a cell that does not fit quotes the cell."""
        import pyarrow as pa

        try:
            return pa.RecordBatchReader.from_stream(self.data)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise SourceError(
                f"{self.description} cannot be read: some column holds values of several types, or numbers that its type cannot "
                "hold. Give every column one type first, text if need be."
            ) from None

    def columns(self) -> tuple[str, ...]:
        """Column names of the stream."""
        return told_apart(self._stream().schema.names, self.description)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Register the stream."""
        name = fresh_name("streamed")
        cursor.register(name, self._stream())
        yield name
