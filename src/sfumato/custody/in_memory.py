"""Private rows and releases in memory, for whoever publishes many times."""

from __future__ import annotations

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.custody.publish import admitted, prepare
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.methods.base import Design
from sfumato.release.in_memory import hold_release
from sfumato.release.release import Release


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


def release_in_memory(
    table: PrivateTable, design: Design, *, seed: int | None = None, withhold_law: bool = False
) -> Release:
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
    withhold_law
        As for :func:`sfumato.publish`.

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
    publication, describe = prepare(table, admitted(table, design), noise, withhold_law=withhold_law)
    return hold_release(publication.tables, describe, read=table.scan, noise=noise)
