"""Tables and releases in memory, for whoever publishes many times."""

from __future__ import annotations

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.custody.in_memory import in_memory, release_in_memory
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.values.schema import Schema

__all__ = ["as_asked", "in_memory", "redrawn", "release_in_memory"]


def redrawn(table: PrivateTable, noise: NoiseSource) -> PrivateTable:
    """A table of as many rows, or units, drawn from those of a table in memory with replacement.

    The table is thereby a population whose counts are known.
    """
    rows = table.source
    if not isinstance(rows, CodedRows):
        return redrawn(in_memory(table), noise)
    stream = noise.named("redrawn rows").stream(0)
    if table.schema.long is None:
        count = rows.number_of_rows
        drawn = rows.take(stream.integers_below(np.full(count, count)).astype(np.int64))
    else:
        # Rows of a unit stand together; a unit drawn twice becomes two.
        unit = table.schema.long.unit
        _, starts, sizes = np.unique(rows.codes[unit], return_index=True, return_counts=True)
        chosen = stream.integers_below(np.full(sizes.size, sizes.size)).astype(np.int64)
        places = [np.arange(starts[each], starts[each] + sizes[each]) for each in chosen]
        drawn = rows.take(np.concatenate(places))
        renumbered = np.repeat(np.arange(chosen.size), sizes[chosen])
        drawn = CodedRows(rows.schema, {**drawn.codes, unit: renumbered})
    return PrivateTable(drawn, table.schema, engine=table.engine)


def as_asked(table: PrivateTable, asked: Schema) -> PrivateTable:
    """The private rows in the form that a release answers in: of baskets and ratings a row for each unit, where it does.

    Parameters
    ----------
    table
        In memory.
    asked
        The attributes that the release can be asked about.
    """
    long, rows = table.schema.long, table.source
    if long is None or not isinstance(rows, CodedRows) or set(asked.names) <= set(table.schema.names):
        return table
    _, unit = np.unique(rows.codes[long.unit], return_inverse=True)
    code = 1 if long.value is None else rows.codes[long.value].astype(np.int64) + 1
    wide = np.zeros((len(asked.names), int(unit.max()) + 1), np.int64)
    wide[rows.codes[long.item], unit] = code
    columns = {
        each.name: codes.astype(each.code_type) for each, codes in zip(asked.attributes, wide, strict=True)
    }
    return PrivateTable(CodedRows(asked, columns), asked, engine=ArrayEngine())
