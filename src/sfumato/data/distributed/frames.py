"""Rows of a Spark data frame: in its session for the engine, as a stream within a task."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.sources.base import Asked, Source, fresh_name
from sfumato.errors import DataError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, eq=False, repr=False)
class StreamOnce(Source):
    """Arrow batches that come once: those of a partition, within its task."""

    first: Any
    rest: Iterator[Any]
    _begun: list[bool] = field(default_factory=list)

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """None: it is made within a task."""
        del asked
        return None

    @property
    def description(self) -> str:
        """What it is to whoever gave it."""
        return "the data frame"

    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(self.first.schema.names)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Register the stream, once."""
        import pyarrow as pa

        if self._begun:
            # Whoever reads again wants to know what does not fit, which is counted over all partitions at once.
            raise DataError("rows of the data frame do not fit the schema.", attribute="")
        self._begun.append(True)
        name = fresh_name("frame")
        batches = itertools.chain([self.first], self.rest)
        cursor.register(name, pa.RecordBatchReader.from_batches(self.first.schema, batches))
        yield name
