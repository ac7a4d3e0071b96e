"""What an attacker knows from elsewhere: records with some attributes of some people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.data.sources import open_source
from sfumato.data.sources.base import Source
from sfumato.errors import DataError, nearest, without_origins
from sfumato.values.counts import CountTable, OccupiedCounts, empty_counts
from sfumato.values.schema import Schema


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Outside records on attributes of a release.

    Parameters
    ----------
    source
        Where the records are.
    schema
        The attributes they hold, as the release declares them.
    engine
        Counts them.
    """

    source: Source
    schema: Schema
    engine: Engine

    def __repr__(self) -> str:
        return f"Knowledge({', '.join(self.schema.names)})"

    def occupied(self, names: Sequence[str] | None = None) -> OccupiedCounts:
        """Outside records of each combination that occurs; those with a value outside the schema are left out."""
        attributes = self.schema.select(self.schema.names if names is None else names)
        return self.engine.count_occupied(self.source, attributes, unfit="skip")

    def counts(self) -> CountTable:
        """How many outside records there are of each combination, in a table over all of them."""
        occupied = self.occupied()
        counts = empty_counts(occupied.attributes)
        counts[tuple(each.astype(np.int64) for each in occupied.codes)] = occupied.counts
        return CountTable(occupied.attributes, counts)

    def sentences(self, used: Sequence[str]) -> tuple[str, ...]:
        """What became of the outside records: columns used and not used, and records that were skipped.

        Parameters
        ----------
        used
            The attributes that an attack went by; none when it has no use for records.
        """
        others = [name for name in self.source.columns() if name not in used]
        told = f"Of the outside records the columns {', '.join(used)} were used" if used else ""
        if used and others:
            told += f"; {', '.join(others)} were not"
        result = [
            f"{told}."
            if used
            else "This attack has no use for outside records: none of their columns was used."
        ]
        if used:
            number = self.engine.number_of_rows(self.source)
            skipped = number - int(self.occupied(used).counts.sum())
            if skipped:
                result.append(
                    f"{skipped:,} of {number:,} outside records have a value outside the release's schema and were skipped."
                )
        return tuple(result)


def knowledge_from(source: Source, schema: Schema, *, engine: Engine | None = None) -> Knowledge:
    """Outside records, restricted to the attributes that a release also has.

    Raises
    ------
    DataError
        When no column of the records is an attribute of the release.
    """
    present = source.columns()
    shared = tuple(each for each in schema.attributes if each.name in present)
    if not shared:
        raise DataError(
            f"{source.description} has no column in common with the release; "
            f"{nearest(present[0] if present else '', schema.names)}"
        )
    return Knowledge(source, Schema(attributes=shared), engine or DuckDBEngine())


@without_origins()
def read_knowledge(
    data: Any,
    schema: Schema,
    *,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    engine: Engine | None = None,
) -> Knowledge:
    """Outside records from anything :func:`~sfumato.data.private_table.read_table` takes."""
    source = open_source(
        data,
        table=table,
        query=query,
        encoding=encoding,
        delimiter=delimiter,
        names=names,
        engine=engine,
    )
    return knowledge_from(source, schema, engine=engine)
