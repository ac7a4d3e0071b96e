"""Everything in which data and schema do not fit, all at once, without values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.data.fitting import Misfit
from sfumato.data.refusals import column_hint
from sfumato.data.sources import open_source
from sfumato.errors import without_origins
from sfumato.values.number_text import Cell, capital, counted
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Schema


@dataclass(frozen=True)
class SchemaCheck:
    """How data fit a schema: numbers of rows and reasons, without values of the data.

    Parameters
    ----------
    misfits
        Columns that do not fit, each with a reason and a number of rows.
    absent
        Attributes of the schema that the data lack, with what may have been meant.
    undeclared
        Columns of the data that the schema does not name; they are not published.
    untold
        How many more there are of these whose names are not told: where one of the schema's is absent, the first line may be no
        header but a row, or a broken header with a row behind it, and its names cells.
    remarks
        What a reader of the data might not expect, such as columns without a name.
    """

    misfits: tuple[Misfit, ...]
    absent: tuple[tuple[str, str], ...]
    undeclared: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    untold: int = 0

    @property
    def fits(self) -> bool:
        """Whether the data could be published with the schema."""
        return not self.misfits and not self.absent

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong and what to do, a sentence or two each."""
        return (
            *(f"the data have no column {name!r}; {hint}" for name, hint in self.absent),
            *map(str, self.misfits),
        )

    def summary(self) -> str:
        """A table of what does not fit, and what is left out."""
        rows: tuple[tuple[Cell, ...], ...] = (
            *((name, "no such column", "all") for name, _ in self.absent),
            *((each.attribute, each.reason, each.number_of_rows) for each in self.misfits),
        )
        table = ResultTable(
            "What does not fit the schema", ("column", "reason", "rows"), rows, is_private=True
        )
        parts = [table.to_text()] if rows else ["Every row fits the schema."]
        if self.undeclared:
            names = ", ".join(map(repr, self.undeclared))
            parts.append(f"Not in the schema, so not published: {names}.")
        if self.untold:
            parts.append(
                f"{capital(counted(self.untold, 'column'))} not in the schema, so not published. Names of the schema are not "
                "among theirs, so theirs are not shown: if the file has no header line, or a broken one, they are values of a "
                "row. Look at its first line; where it is no header, give the names of the columns by --names."
            )
        return "\n\n".join([*parts, *self.remarks])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``schema check --json`` prints it."""
        return {
            "fits": self.fits,
            "private": True,
            "misfits": [
                {"column": each.attribute, "reason": each.reason, "number_of_rows": each.number_of_rows}
                for each in self.misfits
            ],
            "absent": [name for name, _ in self.absent],
            "undeclared": list(self.undeclared),
            "untold": self.untold,
            "remarks": list(self.remarks),
        }


@without_origins()
def check_schema(
    data: Any,
    schema: Schema,
    *,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    engine: Engine | None = None,
) -> SchemaCheck:
    r"""Hold data against a schema, and name everything that does not fit.

    Parameters
    ----------
    data
        Anything :func:`~sfumato.data.private_table.read_table` takes.
    schema
        What they should fit.
    table, query, encoding, delimiter, names, engine
        As for :func:`~sfumato.data.private_table.read_table`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> print(check_schema(pa.table({"job": ["a", "c", None]}), schema).summary())
    What does not fit the schema  [private: computed from the data]
    column  reason   rows
    job     missing     1
    job     outside     1
    """
    source = open_source(
        data,
        table=table,
        query=query,
        encoding=encoding,
        delimiter=delimiter,
        names=names,
        engine=engine,
    )
    present = source.columns()
    absent = tuple((name, column_hint(name, present)) for name in schema.names if name not in present)
    known = tuple(each for each in schema.attributes if each.name in present)
    undeclared = tuple(name for name in present if name not in schema)
    may_be_cells = bool(absent)
    return SchemaCheck(
        (engine or DuckDBEngine()).misfits(source, known),
        absent,
        () if may_be_cells else undeclared,
        source.remarks,
        len(undeclared) if may_be_cells else 0,
    )
