"""Counting the rows that declared queries select, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sfumato.arrays import Booleans, Integers
from sfumato.data.chunks import CodedBatch
from sfumato.query.selection import Selection
from sfumato.schema import Schema


@dataclass(frozen=True, eq=False)
class CountSelected:
    """How many rows of a portion each of some questions selects.

    Parameters
    ----------
    conditions
        For each question, its attributes and which of their codes a row may have.
    """

    conditions: tuple[tuple[tuple[str, Booleans], ...], ...]

    @classmethod
    def of(cls, selections: Sequence[Selection], schema: Schema) -> Self:
        """Of questions about a schema's attributes."""
        return cls(
            tuple(
                tuple((name, _chosen(schema[name].size, codes)) for name, codes in each.conditions)
                for each in selections
            )
        )

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> Integers:
        """Rows of each question, ``(questions,)``."""
        del number
        counts = np.zeros(len(self.conditions), np.int64)
        for batch in batches:
            for place, conditions in enumerate(self.conditions):
                is_selected = np.ones(batch.number_of_rows, np.bool_)
                for name, is_chosen in conditions:
                    is_selected &= is_chosen[batch.codes[name]]
                counts[place] += np.count_nonzero(is_selected)
        return counts


def _chosen(size: int, codes: Sequence[int]) -> Booleans:
    is_chosen = np.zeros(size, np.bool_)
    is_chosen[list(codes)] = True
    return is_chosen
