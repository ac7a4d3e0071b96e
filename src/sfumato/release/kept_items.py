"""What units have of some items, read from a long table and kept for the next question."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sfumato.errors import ReleaseDamagedError
from sfumato.values.arrays import Codes, Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.long_tables import LongTable
from sfumato.values.schema import Schema

KEPT_BYTES = 256 * 2**20
"""Memory that columns of items may take; the oldest go first. Those last asked for are kept whatever they take."""


class KeptItems:
    """Columns of the wide table that a long one stands for: a code for each unit, 0 where it lacks the item.

    Parameters
    ----------
    long
        The table.
    schema
        Its attributes.
    scan
        Gives some of its columns, in batches.
    """

    def __init__(
        self, long: LongTable, schema: Schema, scan: Callable[[Sequence[str]], Iterator[CodedBatch]]
    ) -> None:
        self.long = long
        self.scan = scan
        self.number_of_items = schema[long.item].size
        self.number_of_codes = 2 if long.value is None else schema[long.value].size + 1
        self._counts: Integers | None = None
        self._columns: dict[int, Codes] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        # A lock cannot be sent elsewhere, and columns are read again there.
        return {**vars(self), "_columns": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def counts(self) -> Integers:
        """Units by item and code, ``(items, codes)``.

        Raises
        ------
        ReleaseDamagedError
            When a row is of a unit that there is not, or an item has more rows than there are units.
        """
        if self._counts is None:
            cells = np.zeros(self.number_of_items * self.number_of_codes, np.int64)
            for units, items, codes in self._entries():
                if units.size and (units.min() < 0 or units.max() >= self.long.number_of_units):
                    _refuse("rows of units that it does not have")
                cells += np.bincount(
                    items.astype(np.int64) * self.number_of_codes + codes, minlength=cells.size
                )
            counts = cells.reshape(self.number_of_items, self.number_of_codes)
            counts[:, 0] = self.long.number_of_units - counts[:, 1:].sum(axis=1)
            if (counts < 0).any():
                _refuse("more rows of an item than units")
            self._counts = counts
        return self._counts

    def codes(self, places: Sequence[int]) -> tuple[Codes, ...]:
        """What every unit has of some items, ``(units,)`` each.

        Raises
        ------
        ReleaseDamagedError
            When a unit has an item twice.
        """
        with self._lock:
            known = {place: self._columns[place] for place in places if place in self._columns}
        missing = [place for place in dict.fromkeys(places) if place not in known]
        if missing:
            known |= self._read(missing)
        with self._lock:
            for place in dict.fromkeys(places):
                # Last in the order of going.
                self._columns.pop(place, None)
                self._columns[place] = known[place]
            most = max(KEPT_BYTES // max(self.long.number_of_units, 1), len(set(places)))
            for oldest in list(self._columns)[: max(len(self._columns) - most, 0)]:
                del self._columns[oldest]
        return tuple(known[place] for place in places)

    def _read(self, places: Sequence[int]) -> dict[int, Codes]:
        counts = self.counts()
        kind = np.min_scalar_type(self.number_of_codes - 1)
        table = np.zeros((len(places), self.long.number_of_units), kind)
        row_of = np.full(self.number_of_items, -1, np.int32)
        row_of[list(places)] = np.arange(len(places), dtype=np.int32)
        for units, items, codes in self._entries():
            rows = row_of[items]
            asked = rows >= 0
            table[rows[asked], units[asked]] = codes[asked] if isinstance(codes, np.ndarray) else codes
        if (np.count_nonzero(table, axis=1) != counts[list(places), 1:].sum(axis=1)).any():
            _refuse("units that have an item twice")
        return dict(zip(places, table, strict=True))

    def _entries(self) -> Iterator[tuple[Integers, Codes, Codes | int]]:
        """Unit, item and code of every row, in batches."""
        for batch in self.scan((*self.long.names, self.long.unit)):
            value = 1 if self.long.value is None else batch.codes[self.long.value].astype(np.int64) + 1
            yield batch.codes[self.long.unit], batch.codes[self.long.item], value


def _refuse(what: str) -> None:
    raise ReleaseDamagedError(f"the release has {what}. Get the release again from where it came.")
