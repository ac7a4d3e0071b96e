"""The card of a data set: what it is, whence it comes, under which terms, and how to cite it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

Kind = Literal["generated", "fetched"]
"""``generated`` sets are drawn here by a seed; ``fetched`` ones are downloaded and checked."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a reader must know before using a data set.

    Parameters
    ----------
    name
        The name on the command line.
    title
        One line for a listing.
    kind
        ``generated`` or ``fetched``.
    rows
        Number of rows, or None where the user chooses it.
    attributes
        The columns and how many values each has, in words.
    source
        Where the data come from.
    licence
        The terms under which they may be used.
    citation
        How to cite them.
    notes
        What a careful user must know.
    schema_resource
        The file name of the schema that ships with the set.
    """

    name: str
    title: str
    kind: Kind
    rows: int | None
    attributes: str
    source: str
    licence: str
    citation: str
    notes: str
    schema_resource: str

    def read_schema(self) -> str:
        """Text of the schema that ships with the set, as TOML."""
        folder = resources.files("sfumato.datasets") / "schemas"
        return (folder / self.schema_resource).read_text(encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """The card as plain data."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class DatasetFiles:
    """The two files that making or fetching a data set leaves behind.

    Parameters
    ----------
    data
        The rows.
    schema
        The schema of these rows, beside them.
    rows
        Number of rows in ``data``.
    """

    data: Path
    schema: Path
    rows: int

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, paths as text."""
        return {"data": str(self.data), "schema": str(self.schema), "rows": self.rows}
