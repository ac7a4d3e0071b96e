"""Tables are recognized whatever was made of them, and not without the key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from samples import people
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.fingerprints import SKETCH_SIZE, Sketch, fingerprint
from sfumato.data.sources.arrow import ArrowData

KEY = bytes(range(32))


def taken(table: pa.Table, key: bytes = KEY, people: tuple[str, ...] = ()):
    """Fingerprint of a table in memory."""
    return fingerprint(ArrowData(table), DuckDBEngine(), key, people)


def test_the_order_of_rows_does_not_matter():
    """A table sorted another way is the same table."""
    table = people(300)
    order = np.random.default_rng(1).permutation(300)
    assert taken(table) == taken(table.take(pa.array(order)))


def test_a_part_of_the_columns_is_the_same_table():
    """Another schema may publish other columns of the same rows."""
    table = people(300)
    assert taken(table).is_same_table(taken(table.select(["sex", "job"])))


def test_one_other_cell_is_another_digest_of_its_column_alone():
    """Columns have digests of their own."""
    table = people(300)
    job = table["job"].to_pylist()
    job[0] = "Sales" if job[0] != "Sales" else "Tech"
    changed = table.set_column(table.schema.get_field_index("job"), "job", pa.array(job))
    first, second = taken(table), taken(changed)
    assert [name for name in first.columns if first.columns[name] != second.columns[name]] == ["job"]
    assert first.is_same_table(second)


def test_other_rows_are_another_table():
    """Drawn with another seed from the same population."""
    assert not taken(people(300, seed=1)).is_same_table(taken(people(300, seed=2)))
    assert not taken(people(300)).is_same_table(taken(people(301)))


def test_values_swapped_between_rows_keep_every_digest():
    """The digests say which values a column has, not whose they are."""
    table = people(300)
    job = pa.array(table["job"].to_pylist()[::-1])
    assert taken(table) == taken(table.set_column(table.schema.get_field_index("job"), "job", job))


def test_without_the_key_nothing_can_be_compared():
    """Under another key every digest is another."""
    first, second = taken(people(100)), taken(people(100), key=bytes(32))
    assert not set(first.columns.values()) & set(second.columns.values())


def test_a_missing_cell_is_not_an_empty_one():
    """Text that is there but empty differs from no text."""
    missing, empty = pa.table({"a": ["x", None]}), pa.table({"a": ["x", ""]})
    assert taken(missing) != taken(empty)


@pytest.mark.parametrize(
    ("first", "second", "shared"), [(300, 300, 150), (5_000, 8_000, 3_000), (9_000, 9_000, 0)]
)
def test_shared_people_are_counted(first, second, shared):
    """Exactly while all hashes are kept, and within four standard errors of the sketch beyond.

    The standard error of the Jaccard index is at most 0.5 / sqrt(k).
    """
    names = [f"person {number}" for number in range(first + second - shared)]
    left = taken(pa.table({"id": names[:first]}), people=("id",))
    right = taken(pa.table({"id": names[first - shared :]}), people=("id",))
    found = left.people_shared_with(right)
    if first <= SKETCH_SIZE:
        assert found == pytest.approx(shared)
    else:
        assert abs(found - shared) <= 4 * 0.5 / np.sqrt(SKETCH_SIZE) * (first + second)


def test_no_identifier_tells_nothing():
    """None, rather than zero."""
    assert taken(people(50)).people_shared_with(taken(people(50))) is None
    assert Sketch((), 0).shared_with(Sketch((), 0)) == 0


def test_a_fingerprint_shows_nothing():
    """Not even in its repr."""
    assert repr(taken(people(50))) == "Fingerprint(5 columns)"
