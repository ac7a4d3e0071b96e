"""A release that was never a folder: the same manifest, the same law, rows kept as codes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.portions import Read
from sfumato.release.loading import opened
from sfumato.release.making import make_rows
from sfumato.release.manifest import Manifest, TableEntry
from sfumato.release.publication import PublishedTable
from sfumato.release.release import Release
from sfumato.release.storage import Describe, entry_of, shuffled
from sfumato.values.batches import CodedBatch


def hold_release(
    tables: Sequence[PublishedTable], describe: Describe, *, read: Read, noise: NoiseSource
) -> Release:
    """The release that tables become, without files; arguments are those of writing a folder.

    Rows are shuffled and the manifest is written and read again as for a folder, so that everything but
    the file format is what a reader of the folder would meet. Memory grows with the number of rows.
    """
    held = [_hold(table, make_rows(table.rows, read, noise), noise) for table in tables]
    manifest = describe(tuple(entry for entry, _ in held))
    again = Manifest.from_text(json.dumps(manifest.to_descriptor(), ensure_ascii=False))
    return opened(Release(None, again, {entry.name: rows for entry, rows in held}, ArrayEngine()))


def _hold(
    table: PublishedTable, made: Iterator[CodedBatch], noise: NoiseSource
) -> tuple[TableEntry, CodedRows]:
    rows = CodedRows.gathered(table.schema, shuffled(table, made, noise, None))
    codes = {
        name: rows.codes.get(name, np.empty(0, np.int64)) for name in (*table.schema.names, *table.integers)
    }
    digest = hashlib.sha256()
    for name, column in codes.items():
        digest.update(name.encode())
        digest.update(column.tobytes())
    # What the file would be called; there is none.
    entry = entry_of(table, f"{table.name}.parquet", "parquet", digest.hexdigest(), rows.number_of_rows)
    return entry, CodedRows(table.schema, codes)
