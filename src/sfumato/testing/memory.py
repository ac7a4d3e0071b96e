"""Tables and releases in memory, for whoever publishes many times."""

from __future__ import annotations

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.custody.publish import admitted, prepare
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.methods.base import Design
from sfumato.release.in_memory import hold_release
from sfumato.release.release import Release
from sfumato.values.schema import Schema


def in_memory(table: PrivateTable) -> PrivateTable:
    """The same private rows, read once and kept as category codes: quick to publish again and again.

    Memory grows with the number of rows. Of unit-item-value data the units are numbered; their names are
    not kept.
    """
    schema = table.schema
    if isinstance(table.source, CodedRows):
        return table
    if schema.long is None:
        rows = CodedRows.gathered(schema.publishable, table.scan())
    else:
        units = table.rows_of_units()
        sizes = np.diff(units.ends, prepend=0)
        rows = CodedRows(
            schema.publishable, {**units.codes, schema.long.unit: np.repeat(np.arange(sizes.size), sizes)}
        )
    return PrivateTable(rows, schema, engine=ArrayEngine())


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


def release_in_memory(table: PrivateTable, design: Design, *, seed: int | None = None) -> Release:
    r"""Publish private rows by a design without writing files, and open the release.

    It is published, shuffled, described and opened by the code that :func:`sfumato.publish` and
    :func:`sfumato.load_release` use; only the files are missing, and its ``folder`` is None.

    Parameters
    ----------
    table
        The private rows; give :func:`in_memory` of them when publishing many times.
    design
        A method with its parameters.
    seed
        For repeatable tests; as for :func:`sfumato.publish`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato import RandomizedResponse, Schema, read_table
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> table = read_table(pa.table({"job": ["a", "b"] * 500}), schema)
    >>> release_in_memory(table, RandomizedResponse(retention=0.5))
    Release(randomized-response: job; 1,000 rows)
    """
    noise = NoiseSource.from_operating_system() if seed is None else NoiseSource.seeded(seed)
    publication, describe = prepare(table, admitted(table, design), noise)
    return hold_release(publication.tables, describe, read=table.scan, noise=noise)
