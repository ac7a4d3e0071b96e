"""Tables of category codes in memory, in the place of private tables and of releases.

A statistical check publishes thousands of times; these skip files and the database, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.arrays import Codes
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.estimates.counts import OccupiedCounts
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import Publication, make_rows
from sfumato.schema import Schema


class ArrayTable(PrivateTable):
    """What methods ask of a private table, and laws of a release, over arrays of codes."""

    def __init__(
        self, schema: Schema, codes: Mapping[str, Codes], *, rows_per_batch: int | None = None
    ) -> None:
        engine = ArrayEngine() if rows_per_batch is None else ArrayEngine(rows_per_batch=rows_per_batch)
        super().__init__(CodedRows(schema, codes), schema, engine=engine)
        self.codes = codes

    def count_occupied(
        self, names: Sequence[str], *, weight: str | None = None, fewest: int = 1
    ) -> OccupiedCounts:
        """Counts of what occurs, or sums of an integer column."""
        return self.engine.count_occupied(
            self.source, self.schema.select(names), weight=weight, fewest=fewest
        )


def published(
    publication: Publication, private: PrivateTable, noise: NoiseSource, *, place: int = 0
) -> ArrayTable:
    """A table of a publication as a release would hold it, in the order it is made."""
    table = publication.tables[place]
    made = make_rows(table.rows, private.scan, noise)
    return ArrayTable(table.schema, CodedRows.gathered(table.schema, made).codes)
