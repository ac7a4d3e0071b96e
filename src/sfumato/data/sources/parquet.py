"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.sources.base import Asked, Source, existing, quote_path, told_apart, unchanged
from sfumato.errors import SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class ParquetFile(Source):
    """A Parquet file."""

    kind = "parquet"
    reads = ".parquet, .pq"

    path: Path

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the ending of the name."""
        return cls(asked.path) if asked.path and asked.suffix in (".parquet", ".pq") else None

    @property
    def description(self) -> str:
        """The file's name."""
        return self.path.name

    def columns(self) -> tuple[str, ...]:
        """Column names from the file's footer."""
        return told_apart(self._footer().schema.to_arrow_schema().names, self.description)

    def stated_number_of_rows(self) -> int | None:
        """Rows from the file's footer."""
        return int(self._footer().num_rows)

    def _footer(self) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_metadata(existing(self.path))
        except (OSError, pa.ArrowException):
            raise SourceError(
                f"{self.path.name} is not a whole Parquet file: it is damaged, truncated or of another format. "
                "Get it again from where it came."
            ) from None

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Read the file in place."""
        del cursor
        with unchanged(existing(self.path)):
            yield f"read_parquet({quote_path(self.path)})"
