"""Tables in memory that speak Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.sources.base import Asked, Source, fresh_name, told_apart
from sfumato.data.sources.spark import is_spark_frame
from sfumato.errors import SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyarrow import RecordBatchReader


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
