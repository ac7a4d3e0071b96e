"""Rows that a Python library reads, on their way to the engine: every cell as text."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato.data.sources.base import fresh_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def cell_text(cell: Any) -> str | None:
    """A cell as a CSV file would hold it; None where it holds nothing.

    Such files store whole numbers as floating-point ones, so 1.0 is written as 1.

    Examples
    --------
    >>> [cell_text(each) for each in (1.0, 2.5, True, "x", float("nan"), dt.date(2019, 12, 31))]
    ['1', '2.5', 'true', 'x', None, '2019-12-31']
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return cell.isoformat(sep=" ") if isinstance(cell, dt.datetime) else str(cell)


@contextmanager
def registered(
    cursor: DuckDBPyConnection, names: Sequence[str], parts: Iterable[Sequence[Sequence[str | None]]]
) -> Iterator[str]:
    """The name in the engine of rows that come in parts, each one list of texts for every column."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, pa.string()) for name in names])
    batches = (
        pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in part], schema=schema)
        for part in parts
    )
    name = fresh_name("cells")
    cursor.register(name, pa.RecordBatchReader.from_batches(schema, batches))
    yield name
