"""Spark data frames, and tables of a Spark catalog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.sources.base import Asked, Source, told_apart
from sfumato.errors import ParameterError, SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

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

        from sfumato.data.distributed.spark_session import find_session

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
