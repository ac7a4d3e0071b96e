"""Tables of category codes in memory, in the place of private tables and of releases.

A statistical check publishes thousands of times; these skip files and the engine, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource
from sfumato.data.portions import PortionCounts, rows_per_portion
from sfumato.release.making import make_rows
from sfumato.release.publication import Publication
from sfumato.values.batches import CodedBatch
from sfumato.values.counts import CountTable, OccupiedCounts, empty_counts
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection

Codes = Mapping[str, npt.NDArray[Any]]


class ArrayTable:
    """What methods ask of a private table, and laws of a release, over arrays of codes."""

    def __init__(self, schema: Schema, codes: Codes, *, rows_per_batch: int | None = None) -> None:
        self.schema = schema
        self.codes = codes
        self.number_of_rows = next(iter(codes.values())).size
        self.rows_per_batch = rows_per_batch or self.number_of_rows

    def scan(self, names: Sequence[str] | None = None) -> Iterator[CodedBatch]:
        """The rows in their order, in batches."""
        for start in range(0, self.number_of_rows, self.rows_per_batch):
            rows = slice(start, start + self.rows_per_batch)
            batch = {name: self.codes[name][rows] for name in names or self.schema.names}
            yield CodedBatch(batch, next(iter(batch.values())).size)

    def select(self, where: Selection) -> npt.NDArray[np.bool_]:
        """Which rows satisfy a selection."""
        chosen = np.ones(self.number_of_rows, dtype=bool)
        for name, codes in where.conditions:
            chosen &= np.isin(self.codes[name], codes)
        return chosen

    def count_by(self, names: Sequence[str], where: Selection | None = None) -> CountTable:
        """Counts over the full product."""
        attributes = self.schema.select(names)
        counts = empty_counts(attributes)
        chosen = self.select(where or Selection())
        if names:
            np.add.at(counts, tuple(self.codes[name][chosen].astype(int) for name in names), 1)
        else:
            counts[...] = np.count_nonzero(chosen)
        return CountTable(attributes, counts)

    def count_occupied(self, names: Sequence[str], *, weight: str | None = None) -> OccupiedCounts:
        """Counts of what occurs."""
        attributes = self.schema.select(names)
        keys = np.zeros(self.number_of_rows, dtype=np.int64)
        for each in attributes:
            keys = keys * each.size + self.codes[each.name]
        known, first, place = np.unique(keys, return_index=True, return_inverse=True)
        weights = None if weight is None else self.codes[weight]
        counts = np.bincount(place, weights=weights, minlength=known.size).astype(np.int64)
        return OccupiedCounts(attributes, tuple(self.codes[name][first] for name in names), counts)

    def count_portions(self, names: Sequence[str]) -> PortionCounts:
        """Counts of what occurs in each portion."""
        rows = rows_per_portion()
        parts = [
            ArrayTable(self.schema, {name: self.codes[name][start : start + rows] for name in names})
            for start in range(0, self.number_of_rows, rows)
        ]
        counted = [each.count_occupied(names) for each in parts]
        codes = tuple(np.concatenate([each.codes_of(name) for each in counted]) for name in names)
        counts = np.concatenate([each.counts for each in counted])
        portions = np.repeat(np.arange(len(counted)), [each.counts.size for each in counted])
        return PortionCounts(OccupiedCounts(self.schema.select(names), codes, counts), portions)


def published(publication: Publication, private: Any, noise: NoiseSource, *, place: int = 0) -> ArrayTable:
    """A table of a publication as a release would hold it, in the order it is made."""
    table = publication.tables[place]
    batches = list(make_rows(table.rows, private.scan, noise))
    codes = {name: np.concatenate([each.codes[name] for each in batches]) for name in batches[0].codes}
    return ArrayTable(table.schema, codes)
