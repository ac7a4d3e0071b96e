"""What several releases of one table add up to, as the custodian's ledger says it; Li and Li: the parameters add up."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from sfumato import Schema, publish, read_table
from sfumato.custody.ledger import Ledger, compose_entries
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.methods.columnized_counts.design import ColumnizedCounts

BUDGETS = ((1.0, 1e-5), (math.log(5), 1e-5), (math.log(10), 1e-3))
"""Three points of the paper's grid."""


def composed() -> dict[str, Any]:
    """Three releases of one table in a ledger of their own, and the sum that it states for adding a row."""
    schema = Schema.from_dict(
        {
            "attributes": {
                "movie": {"role": "quasi-identifier", "categories": ["a", "b"]},
                "stars": {"role": "sensitive", "categories": ["1", "2", "3"]},
            }
        }
    )
    rows = {"movie": ["a", "b"] * 90, "stars": ["1", "2", "3"] * 60}
    with TemporaryDirectory() as folder:
        table, ledger = read_table(pa.table(rows), schema), Ledger(Path(folder) / "ledger.db")
        for number, (epsilon, delta) in enumerate(BUDGETS):
            design = ColumnizedCounts(k=10, epsilon=epsilon, delta=delta)
            publish(
                table,
                design,
                Path(folder) / str(number),
                ledger=ledger,
                again=True,
                say=lambda *_: None,
            )
        found = compose_entries(ledger.entries())
    sums = [each for each in found.together if isinstance(each, DifferentialPrivacy)]
    stated = next(each for each in sums if each.relation == "add-remove")
    return {"epsilon": stated.epsilon, "delta": stated.delta}
