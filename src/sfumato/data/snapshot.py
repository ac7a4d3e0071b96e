"""Private rows at rest: read once, kept as category codes, and counted as often as a method needs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sfumato.data.patience import PatientCursor
from sfumato.data.sources.base import Asked, Source, fresh_name
from sfumato.data.sql_text import quote_name
from sfumato.values.schema import Attribute, Role, Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot(Source):
    """Rows of another source as its first reading gave them; whoever reads again sees the same rows.

    They are read when they are first asked for, into the database that asks: the codes of what may be published,
    and, as they are, the columns that say whose a row is. What does not fit its memory it spills, enciphered.

    Parameters
    ----------
    original
        Where the rows come from.
    schema
        What they must fit.
    """

    kind = "snapshot"
    reads = "rows that were read already"

    original: Source
    schema: Schema
    name: str = field(default_factory=lambda: fresh_name("snapshot"))
    _taken: threading.Event = field(default_factory=threading.Event)
    _taking: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """Nothing: it is made by an engine."""
        del asked
        return None

    def __repr__(self) -> str:
        return f"Snapshot({self.description})"

    @property
    def is_taken(self) -> bool:
        """Whether the rows were read."""
        return self._taken.is_set()

    @property
    def description(self) -> str:
        """That of the original."""
        return self.original.description

    @property
    def cells(self) -> Source:
        """The original, whose cells are not codes yet."""
        return self.original

    def columns(self) -> tuple[str, ...]:
        """Those of the schema, identifiers excepted."""
        return tuple(each.name for each in self._kept)

    @property
    def _kept(self) -> tuple[Attribute, ...]:
        # Names of people are read only where they say which rows belong together.
        unit = None if self.schema.long is None else self.schema.long.unit
        return tuple(
            each for each in self.schema.attributes if each.role is not Role.IDENTIFIER or each.name == unit
        )

    def stated_number_of_rows(self) -> int | None:
        """As the original states it."""
        return self.original.stated_number_of_rows()

    def code(self, attribute: Attribute) -> str:
        """SQL: the column itself."""
        return quote_name(attribute.name)

    def coded(self, attributes: Sequence[Attribute]) -> Sequence[Attribute]:
        """All that may be published, since all are read at once; then none."""
        del attributes
        return () if self.is_taken else self.schema.publishable.attributes

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Name of the table that holds the rows."""
        with self._taking:
            if not self.is_taken:
                self._take(cursor)
        yield self.name

    def _take(self, cursor: DuckDBPyConnection) -> None:
        coded = self.schema.publishable
        columns = [
            f"{self.original.code(each)} as {quote_name(each.name)}"
            if each.name in coded
            else quote_name(each.name)
            for each in self._kept
        ]
        try:
            with self.original.relation(cursor) as rows:
                # Signals that reach DuckDB in the main thread come out as faults, or not at all.
                patient = PatientCursor(cursor, f"Reading {self.description}")
                patient.execute(f"create table {self.name} as select {', '.join(columns)} from {rows}")
        except BaseException:
            # The source may have changed under the reader, which is seen at its end.
            cursor.execute(f"drop table if exists {self.name}")
            raise
        self._taken.set()
