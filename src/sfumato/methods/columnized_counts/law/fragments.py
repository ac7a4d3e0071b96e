"""Published fragments of unit-item-value data, column by column, as sparse records with their counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.laws.base import Law, Published
from sfumato.methods.columnized_counts.kernels.units import SparseUnits
from sfumato.methods.columnized_counts.law.columns import (
    COLUMN_COLUMN,
    COUNT_COLUMN,
    FRAGMENT_COLUMN,
    LongColumns,
    read_table,
)
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.values.arrays import Integers


@dataclass(frozen=True, eq=False)
class SparseRecords:
    """Records that a target may be behind: rows of ratings, or published fragments.

    Parameters
    ----------
    units
        What each record holds.
    crowd
        ``(records,)`` people that each record stands for; 1 for raw rows.
    """

    units: SparseUnits
    crowd: Integers

    def __repr__(self) -> str:
        return f"SparseRecords({self.units.number_of_units} records)"

    @classmethod
    def raw(cls, units: SparseUnits) -> SparseRecords:
        """Ratings as they are, one record for each rater."""
        return cls(units, np.ones(units.number_of_units, np.int64))


def long_columns_of(law: Law) -> LongColumns:
    """The columns of a release of unit-item-value data.

    Raises
    ------
    ParameterError
        When the release is of another kind.

    Examples
    --------
    >>> from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix
    >>> columns = LongColumns(table="fragments", item="movie", columns=((0, 1),))
    >>> long_columns_of(NoisyRows(matrix=NoisyCountMatrix(k=5, epsilon=1.0, delta=1e-5), long=columns)).item
    'movie'
    """
    if not isinstance(law, NoisyRows) or law.long is None:
        raise ParameterError(
            "this is about published unit-item-value data (columnized-counts of a table with [long]), and the release is "
            "of another kind. Publish ratings or baskets, or ask something else of this release.",
            parameter="release",
        )
    return law.long


def read_records(published: Published, long: LongColumns) -> list[SparseRecords]:
    """Fragments of each column with the number of people each stands for; empty columns have none."""
    integers = (COLUMN_COLUMN, FRAGMENT_COLUMN, COUNT_COLUMN)
    codes, (column, fragment, count) = read_table(published, long.table, long.names, integers)
    items = published.schema[long.item].size
    values = 1 if long.value is None else published.schema[long.value].size
    found = []
    for number in range(1, len(long.columns) + 1):
        inside = column == number
        numbers, first, unit = np.unique(fragment[inside], return_index=True, return_inverse=True)
        item = codes[long.item][inside]
        value = np.zeros_like(item) if long.value is None else codes[long.value][inside]
        names_of = tuple(str(each) for each in numbers.tolist())
        units = SparseUnits.from_triples(names_of, unit, item, value, items, values)
        found.append(SparseRecords(units, count[inside][first]))
    return found
