"""Portions: cuts that follow from the order of rows alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import read_table
from sfumato.data import chunks as portions
from sfumato.data.chunks import CodedBatch, Portion, in_portions, map_portions, rebatched
from sfumato.errors import DataError
from sfumato.schema import Attribute, Role, Schema


def batches(*sizes):
    """Batches that number their rows."""
    start = 0
    for size in sizes:
        yield CodedBatch({"n": np.arange(start, start + size)}, size)
        start += size


def numbers(given):
    """The rows of some batches."""
    return [each.codes["n"].tolist() for each in given]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Portions of six rows, in two batches."""
    monkeypatch.setattr(portions, "ROWS_PER_BATCH", 3)
    monkeypatch.setattr(portions, "BATCHES_PER_PORTION", 2)


@pytest.mark.parametrize("sizes", [(14,), (3, 3, 3, 3, 2), (1,) * 14, (5, 0, 9), (0, 13, 1)])
def test_cuts_do_not_depend_on_how_rows_come(sizes):
    """Six, six and two rows, three at a time."""
    assert [numbers(each) for each in in_portions(batches(*sizes))] == [
        [[0, 1, 2], [3, 4, 5]],
        [[6, 7, 8], [9, 10, 11]],
        [[12, 13]],
    ]


def test_what_a_step_leaves_unread_is_not_in_the_next_portion():
    """Portions begin where they begin."""
    assert [next(each).codes["n"][0] for each in in_portions(batches(14))] == [0, 6, 12]


def test_whole_batches_are_handed_on_without_a_copy():
    """The usual case costs nothing."""
    given = list(batches(3, 3))
    assert [one is other for one, other in zip(rebatched(given, 3), given, strict=True)] == [True, True]


def test_no_rows_are_no_portion():
    """And no batch."""
    assert list(in_portions(batches())) == list(in_portions(batches(0, 0))) == []


def test_every_batch_has_a_stream_of_its_own():
    """Portion above, batch below."""

    def streams(portion, number):
        return [Portion(number, None).stream_number(place) for place, _ in enumerate(portion)]

    assert list(map_portions(batches(14), streams)) == [[0, 1], [1 << 32, (1 << 32) + 1], [2 << 32]]
    assert Portion(3, None).stream_number(5) == (3 << 32) + 5


def test_the_engine_counts_the_portions_that_a_scan_gives():
    """Rows of each job in each portion, however they are stored."""
    table = read_table(people(50), SCHEMA)
    counted = table.count_portions(["sex", "job"])
    expected = [
        np.bincount(np.concatenate([each.codes["job"] for each in portion]), minlength=4).tolist()
        for portion in in_portions(table.scan(["job"]))
    ]
    assert counted.of_attribute("job").tolist() == expected
    assert counted.number_of_portions == len(expected) == 9


def test_portions_are_counted_as_the_schema_reads_cells():
    """Values that it recodes count as their category."""
    recoded = Attribute(name="job", role=Role.SENSITIVE, recode={"work": ("1", "2"), "none": ("3",)})
    table = read_table(pa.table({"job": ["1", "2", "3", "work"] * 2}), Schema(attributes=(recoded,)))
    assert table.count_portions(["job"]).of_attribute("job").tolist() == [[5, 1], [1, 1]]


def test_counting_portions_refuses_what_the_schema_does_not_know():
    """With the column, and without the value."""
    rows = people(50)
    broken = rows.set_column(4, "job", pa.array([*rows["job"].to_pylist()[:-1], "SECRET"]))
    with pytest.raises(DataError, match="'job' has a value outside") as caught:
        read_table(broken, SCHEMA).count_portions(["job"])
    assert "SECRET" not in str(caught.value)
