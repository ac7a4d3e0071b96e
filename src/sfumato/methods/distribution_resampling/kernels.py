"""The row phase of distribution resampling: values sampled by their counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Integers, Words
from sfumato.data.chunks import CodedBatch, Portion
from sfumato.randomness.streams import NoiseSource

LEADING_BITS = 12
"""Of a row's number, by which its value is looked up first."""


@dataclass(frozen=True, eq=False)
class ResampleCodes:
    """Replaces values by those of rows drawn uniformly from the whole table, with replacement.

    Parameters
    ----------
    counts
        Attribute to the rows of each of its categories, ``(size,)``.
    """

    counts: dict[str, Integers]

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[None], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """The same rows with these attributes drawn anew."""
        sorted_rows = {name: _SortedRows(counts) for name, counts in self.counts.items()}
        for number, batch in enumerate(batches):
            codes = dict(batch.codes)
            for name, values in sorted_rows.items():
                stream = noise.named(f"resample {name}").stream(portion.stream_number(number))
                rows = stream.integers_below(np.full(batch.number_of_rows, values.number_of_rows))
                codes[name] = values.at(rows).astype(codes[name].dtype)
            yield CodedBatch(codes, batch.number_of_rows)


class _SortedRows:
    """The values of a column as if its rows were sorted, found from their counts.

    Rows are looked up by the leading bits of their number; only where rows of equal leading bits hold
    different values is there a search.
    """

    def __init__(self, counts: Integers) -> None:
        self._ends = np.cumsum(counts).astype(np.uint64)
        self.number_of_rows = self._ends[-1]
        self._bits = np.uint64(max(int(self.number_of_rows).bit_length() - LEADING_BITS, 0))
        first = np.arange(2**LEADING_BITS, dtype=np.uint64) << self._bits
        last = first + (np.uint64(1) << self._bits) - np.uint64(1)
        self._value = self._search(first)
        self._is_one_value = self._value == self._search(last)

    def at(self, rows: Words) -> Integers:
        """The values of some rows."""
        leading = (rows >> self._bits).view(np.int64)
        values = self._value[leading]
        unclear = np.flatnonzero(~self._is_one_value[leading])
        values[unclear] = self._search(rows[unclear])
        return values

    def _search(self, rows: Words) -> Integers:
        return np.searchsorted(self._ends, rows, side="right")
