"""The process that plans and counts; the only part of the studio that reads private rows.

``python -m sfumato.studio.planner`` takes orders as lines of JSON and answers each with one. It keeps the table open
and remembers counts, so that the next question about the same rows is quick. It writes nothing but what it is told to,
so it may be killed at any time; closing its input ends it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sfumato.data.private_table import PrivateTable, read_table
from sfumato.errors import SfumatoError, without_origins
from sfumato.estimates.counts import CountTable, OccupiedCounts
from sfumato.query.selection import Selection
from sfumato.schema import Schema
from sfumato.studio.processes import own_output, write_line

Found = TypeVar("Found")

ROWS_SHOWN = 10
"""Rows of a preview, which a person has to ask for."""

SECONDS_KEPT = 60
"""For which counts of a database are remembered, which does not say when its rows change."""

REFUSED, FAULT = 1, 70


class RememberingTable(PrivateTable):
    """Private rows whose counts are kept, since every step of a slider asks for the same ones."""

    def __init__(self, table: PrivateTable, schema: Schema) -> None:
        super().__init__(table.source, schema, engine=table.engine)
        self._known: dict[Hashable, Any] = {}

    def count_by(self, names: Sequence[str], where: Selection | None = None) -> CountTable:
        """As the table, counted once."""
        counted = super().count_by
        return self._once(("count", *names, str(where)), lambda: counted(names, where))

    def count_occupied(self, names: Sequence[str], *, fewest: int = 1) -> OccupiedCounts:
        """As the table, counted once."""
        counted = super().count_occupied
        return self._once(("occupied", *names, fewest), lambda: counted(names, fewest=fewest))

    def group_sizes(self, names: Sequence[str]) -> dict[int, int]:
        """As the table, counted once."""
        counted = super().group_sizes
        return self._once(("sizes", *names), lambda: counted(names))

    def group_diversity(self, names: Sequence[str], sensitive: str) -> dict[tuple[int, int], int]:
        """As the table, counted once."""
        counted = super().group_diversity
        return self._once(("diversity", *names, sensitive), lambda: counted(names, sensitive))

    def _once(self, key: Hashable, count: Callable[[], Found]) -> Found:
        if key not in self._known:
            self._known[key] = count()
        found: Found = self._known[key]
        return found


def plan_design(order: Mapping[str, Any]) -> dict[str, Any]:
    """What ``sfumato plan --json`` prints for a design; with the private rows where the order names them."""
    from sfumato.custody.plan import plan
    from sfumato.methods.base import METHODS

    design = METHODS.make(order["method"], order["parameters"])
    schema = Schema.from_dict(order["schema"])
    table = _table(order) if order.get("data") else None
    rows = order["rows"] if table is None else table.number_of_rows
    return plan(design, schema, rows, table=table, check=False).to_dict()


def promise_of_design(order: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a plan that takes no time: what is promised, and what is not prevented."""
    from sfumato.custody.plan import Plan, promise
    from sfumato.methods.base import METHODS

    design, guarantees = promise(
        METHODS.make(order["method"], order["parameters"]), Schema.from_dict(order["schema"])
    )
    return Plan(design, order["rows"], guarantees, ()).to_dict()


def count_columns(order: Mapping[str, Any]) -> dict[str, Any]:
    """Number of rows, and of rows in every category of the attributes named."""
    table = _table(order)
    counts = {name: [int(number) for number in table.count_by([name]).counts] for name in order["names"]}
    return {"rows": table.number_of_rows, "counts": counts}


def show_rows(order: Mapping[str, Any]) -> dict[str, Any]:
    """The first rows as they are in the source; only ever for a person who asked to see them."""
    import duckdb

    from sfumato.data.duckdb_connection import CAREFUL
    from sfumato.data.sources import open_source

    source = open_source(order["data"], **order["options"])
    with duckdb.connect(config=CAREFUL) as cursor, source.relation(cursor) as named:
        cursor.execute("set enable_progress_bar = false")
        found = cursor.sql(f"SELECT * FROM {named} LIMIT {ROWS_SHOWN}")
        rows = [["" if cell is None else str(cell) for cell in row] for row in found.fetchall()]
        return {"columns": list(found.columns), "rows": rows}


def write_parquet(order: Mapping[str, Any]) -> dict[str, Any]:
    """A table of answers, as ``counts --json`` prints it, as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [{**row["values"], **{name: row[name] for name in order["numbers"]}} for row in order["rows"]]
    parquet.write_table(pa.Table.from_pylist(rows), order["to"])
    return {}


ORDERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "plan": plan_design,
    "promise": promise_of_design,
    "count": count_columns,
    "rows": show_rows,
    "parquet": write_parquet,
}


def _table(order: Mapping[str, Any]) -> RememberingTable:
    changed = _changed(order["data"])
    return _opened(order["data"], json.dumps(order["options"]), json.dumps(order["schema"]), changed)


def _changed(data: str) -> Hashable:
    """Something else once the rows may be others: files by when they were written, databases every minute."""
    import time

    if "://" in data:
        return int(time.monotonic() / SECONDS_KEPT)
    path = Path(data.partition("::")[0])
    found = (
        [path] if path.exists() else sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
    )
    return tuple((str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in found)


@lru_cache(maxsize=4)
def _opened(data: str, options: str, schema: str, changed: Hashable) -> RememberingTable:
    del changed
    declared = Schema.from_dict(json.loads(schema))
    return RememberingTable(read_table(data, declared, **json.loads(options)), declared)


@without_origins()
def _carry_out(order: Mapping[str, Any]) -> dict[str, Any]:
    return ORDERS[order["do"]](order)


def answer(order: Mapping[str, Any]) -> dict[str, Any]:
    """What becomes of an order; a refusal is its sentence, and a fault says nothing that could quote a cell."""
    try:
        return {"exit": 0, "result": _carry_out(order)}
    except SfumatoError as error:
        return {"exit": REFUSED, "said": str(error), "parameter": getattr(error, "parameter", None)}
    except Exception as error:  # noqa: BLE001 - the top: whatever is not foreseen is a fault of ours
        return {
            "exit": FAULT,
            "said": f"a fault of ours ({type(error).__name__}), not of your input. Please report it.",
        }


def main() -> None:
    """Answer orders until there are no more."""
    out = own_output()
    for line in sys.stdin:
        order = json.loads(line)
        write_line(out, {"number": order["number"], **answer(order)})


if __name__ == "__main__":
    main()
