"""Counts of published rows, kept for the next question."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sfumato.data.counting import covering_sets
from sfumato.data.engine import Engine
from sfumato.data.sources.base import Source
from sfumato.values.counts import CountTable, OccupiedCounts
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection

KEPT_BYTES = 256 * 2**20
"""Memory that kept counts may take; the oldest go first. The last counted are kept whatever they take."""

LARGEST_KEPT_TABLE = 2**22
"""Cells of a table that is counted whole to be kept; above, the rows asked for are counted and not kept."""


class KeptCounts:
    """Counts of one published table. Whoever asks about the same attributes again waits for no rows.

    A question about some attributes is answered from the table over all of them, which is counted once
    or summed up from a kept one that has more. Safe to ask from several threads.

    Parameters
    ----------
    engine
        Counts rows.
    source
        Where the rows are.
    schema
        Their attributes.
    """

    def __init__(self, engine: Engine, source: Source, schema: Schema) -> None:
        self.engine = engine
        self.source = source
        self.schema = schema
        self._kept: dict[Any, CountTable | OccupiedCounts] = {}
        self._expected: frozenset[frozenset[str]] = frozenset()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[KeptCounts], tuple[Engine, Source, Schema]]:
        return KeptCounts, (self.engine, self.source, self.schema)

    def count_by(self, names: Sequence[str], where: Selection) -> CountTable:
        """Counts over some attributes, among the rows selected."""
        attributes = self.schema.select(names)
        conditions = [(self.schema[name], codes) for name, codes in where.conditions]
        needed = frozenset((*names, *where.names))
        if not self._is_kept_size(needed):
            return self.engine.count_by(self.source, attributes, conditions)
        table = self._table(needed)
        for name, codes in where.conditions:
            table = _without_others(table, name, codes) if name in names else table.condition(name, codes)
        return table.project(names)

    def count_occupied(self, names: Sequence[str], weight: str | None) -> OccupiedCounts:
        """Combinations that occur, with their rows or the sum of an integer column of theirs."""
        key = (tuple(names), weight)
        found = self._find(key)
        if not isinstance(found, OccupiedCounts):
            attributes = self.schema.select(names)
            found = self.engine.count_occupied(self.source, attributes, weight=weight)
            self._keep(key, found)
        return found

    @contextmanager
    def expecting(self, sets: Iterable[frozenset[str]]) -> Iterator[None]:
        """Until the end, the first question that needs rows counts for all of these sets in the same pass."""
        before, self._expected = (
            self._expected,
            frozenset(each for each in sets if each and self._is_kept_size(each)),
        )
        try:
            yield
        finally:
            self._expected = before

    def _is_kept_size(self, names: frozenset[str]) -> bool:
        known = [each for each in self.schema.attributes if each.name in names]
        return len(known) == len(names) and math.prod(each.size for each in known) <= LARGEST_KEPT_TABLE

    def _table(self, names: frozenset[str]) -> CountTable:
        """The whole table over some attributes, in the order of the schema."""
        ordered = [name for name in self.schema.names if name in names]
        table = self._find(names)
        if isinstance(table, CountTable):
            return table
        if names in self._expected and self._covering(names) is None:
            self._count_expected(names)
        larger = self._covering(names)
        if larger is None:
            table = self.engine.count_by(self.source, self.schema.select(ordered), ())
        else:
            table = larger.project(ordered)
        self._keep(names, table)
        return table

    def _covering(self, names: frozenset[str]) -> CountTable | None:
        """The smallest kept table that has all of some attributes."""
        with self._lock:
            tables = [each for each in self._kept.values() if isinstance(each, CountTable)]
        fitting = [each for each in tables if names.issubset(each.names)]
        return min(fitting, key=lambda each: each.counts.size, default=None)

    def _count_expected(self, first: frozenset[str]) -> None:
        """Count what is expected in one pass: the set asked for, and others while they fit."""
        waiting = [each for each in self._expected if self._covering(each) is None]
        chosen: list[tuple[str, ...]] = []
        room = KEPT_BYTES // 2
        for names in sorted(covering_sets(waiting, self.schema), key=lambda each: not first <= each):
            attributes = [each for each in self.schema.attributes if each.name in names]
            room -= 8 * math.prod(each.size for each in attributes)
            if room >= 0 or not chosen:
                chosen.append(tuple(each.name for each in attributes))
        for table in self.engine.count_tables(self.source, [self.schema.select(names) for names in chosen]):
            self._keep(frozenset(table.names), table)

    def _find(self, key: Any) -> CountTable | OccupiedCounts | None:
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None:
                # Last in the order of going.
                self._kept[key] = found
            return found

    def _keep(self, key: Any, counted: CountTable | OccupiedCounts) -> None:
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = counted
            taken = sum(_bytes(each) for each in self._kept.values())
            for oldest in list(self._kept)[:-1]:
                if taken <= KEPT_BYTES:
                    break
                taken -= _bytes(self._kept.pop(oldest))


def _bytes(counted: CountTable | OccupiedCounts) -> int:
    codes = counted.codes if isinstance(counted, OccupiedCounts) else ()
    return counted.counts.nbytes + sum(each.nbytes for each in codes)


def _without_others(table: CountTable, name: str, codes: Sequence[int]) -> CountTable:
    """The table with no rows in the categories that were not chosen."""
    axis = table.axis_of(name)
    chosen = np.zeros(table.counts.shape[axis], dtype=bool)
    chosen[list(codes)] = True
    shape = [-1 if place == axis else 1 for place in range(table.counts.ndim)]
    return CountTable(table.attributes, table.counts * chosen.reshape(shape))
