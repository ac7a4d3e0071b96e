"""Published fragments as records that a person may be behind."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.chunks import CodedBatch
from sfumato.data.long_format import SparseUnits
from sfumato.errors import ParameterError
from sfumato.methods.columnized_counts.law import NoisyRows, SparseRecords, long_columns_of, read_records
from sfumato.methods.columnized_counts.noisy_counts import LongColumns, NoisyCountMatrix, PublishedColumn
from sfumato.schema import Attribute, Role, Schema

MATRIX = NoisyCountMatrix(k=5, epsilon=2.0, delta=1e-5)
# Column 1 holds one fragment (item 2 and 0, for nine people), column 2 two, column 3 none.
ENTRIES = {
    "item": np.array([0, 1, 0, 1, 2, 0]),
    "stars": np.array([0, 0, 0, 1, 1, 1]),
    "column": np.array([2, 2, 2, 2, 1, 1]),
    "fragment": np.array([7, 7, 4, 4, 2, 2]),
    "count": np.array([30, 30, 20, 20, 9, 9]),
}


class Published:
    """A release of ratings in columns."""

    schema = Schema(
        attributes=(
            Attribute(name="item", role=Role.OTHER, categories=("i", "j", "k")),
            Attribute(name="stars", role=Role.SENSITIVE, categories=("1", "2")),
        )
    )

    def scan(self, table, names):
        """All entries in one batch."""
        assert table == "fragments"
        yield CodedBatch({name: ENTRIES[name] for name in names}, 6)


def held(records):
    """What each record holds, and for how many people."""
    units = records.units
    return [
        (list(zip(units.items[a:b].tolist(), units.values[a:b].tolist(), strict=True)), int(crowd))
        for a, b, crowd in zip(units.starts[:-1], units.starts[1:], records.crowd, strict=True)
    ]


@pytest.mark.parametrize("value", ["stars", None])
def test_fragments_are_records_of_their_columns(value):
    """By number; without values every entry has the only one."""
    long = LongColumns(table="fragments", item="item", value=value, columns=((0, 2), (0, 1), (1,)))
    first, second, third = read_records(Published(), long)
    two = 1 if value else 0
    assert held(first) == [([(0, two), (2, two)], 9)]
    assert held(second) == [([(0, 0), (1, two)], 20), ([(0, 0), (1, 0)], 30)]
    assert held(third) == []
    assert (first.units.number_of_items, first.units.number_of_values) == (3, 2 if value else 1)


def test_raw_ratings_stand_for_one_person_each():
    """One record for each rater."""
    units = SparseUnits.from_triples(("a", "b"), [0, 1, 1], [0, 0, 2], [1, 0, 1], 3, 2)
    assert held(SparseRecords.raw(units)) == [([(0, 1)], 1), ([(0, 0), (2, 1)], 1)]


def test_a_release_of_rows_has_no_columns_of_items():
    """It is refused with what it takes."""
    column = PublishedColumn(table="rows", attributes=("sex",), sizes=(2,))
    with pytest.raises(ParameterError, match="unit-item-value"):
        long_columns_of(NoisyRows(matrix=MATRIX, columns=(column,)))
