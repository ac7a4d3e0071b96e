"""What an attacker knows from elsewhere: records with some attributes of some people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.data.sources import open_source
from sfumato.data.sources.base import Source
from sfumato.errors import DataError, nearest
from sfumato.values.counts import CountTable
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

    def counts(self) -> CountTable:
        """How many outside records there are of each combination."""
        return self.engine.count_by(self.source, self.schema.attributes, ())


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


def read_knowledge(data: Any, schema: Schema) -> Knowledge:
    """Outside records from a CSV or Parquet file, or any Arrow table."""
    return knowledge_from(open_source(Path(data) if isinstance(data, str) else data), schema)
