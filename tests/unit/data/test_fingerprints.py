"""Tables are recognized whatever was made of them, and not without the key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from samples import people
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.fingerprints import SKETCH_SIZE, CellTally, Sketch, fingerprint
from sfumato.data.private_table import read_table
from sfumato.data.sources.columnar import ArrowData
from sfumato.errors import SourceError
from sfumato.schema import Schema

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


MESSY = """
[attributes.word]
role = "other"
categories = ["é", "naïve: ß", "'quoted'", "a,b", "never"]
[attributes.number]
role = "other"
categories = ["1", "2", "30"]
[attributes.flag]
role = "sensitive"
categories = ["true", "false"]
[attributes.age]
role = "quasi-identifier"
bins = [0, 10, 100]
[attributes.place]
role = "quasi-identifier"
categories = ["here", "there"]
recode = { here = ["Here "] }
[attributes.maybe]
role = "other"
categories = ["x"]
missing = "category"
[attributes.coded]
role = "other"
categories = ["x"]
missing = "category"
missing_values = ["-9"]
"""


def messy(rows):
    """A table with every kind of column, and one that no schema names."""
    random = np.random.default_rng(5)
    return pa.table(
        {
            "word": random.choice(["é", "naïve: ß", "'quoted'", "a,b"], rows),
            "number": random.choice([1, 2, 30], rows),
            "flag": random.choice([True, False], rows),
            "age": random.integers(0, 100, rows),
            "place": random.choice(["here", "there", "Here "], rows),
            "maybe": pa.array([*random.choice(["x", ""], rows).tolist()[:-1], None]),
            "coded": random.choice(["x", "-9", ""], rows),
            "elsewhere": random.integers(0, 9, rows),
        }
    )


def test_what_was_counted_gives_the_digests_that_reading_gives():
    """Numbers, truth values and words; where several cells are one category, the cells are read."""
    given = messy(500)
    table = read_table(given, Schema.from_toml(MESSY))
    tally = CellTally(table.told_by_counts)
    for _ in tally.watching(table.scan)(table.schema.publishable.names):
        pass
    assert tally.names == ("word", "number", "flag")
    assert fingerprint(ArrowData(given), DuckDBEngine(), KEY, ["age"], tally=tally) == taken(
        given, people=("age",)
    )


def test_where_everything_was_counted_nothing_is_read():
    """The source could not even be opened."""
    given = messy(500).select(["word", "number", "flag"])
    table = read_table(given, Schema.from_toml(MESSY.partition("[attributes.age]")[0]))
    tally = CellTally(table.told_by_counts)
    for _ in tally.watching(table.scan)(table.schema.publishable.names):
        pass

    class Unreadable(ArrowData):
        kind = "unreadable"

        def relation(self, _cursor):
            raise AssertionError("it is read again")

    assert fingerprint(Unreadable(given), DuckDBEngine(), KEY, tally=tally) == taken(given)
    with pytest.raises(AssertionError, match="read again"):
        fingerprint(Unreadable(given), DuckDBEngine(), KEY)


def test_rows_that_came_between_counting_and_reading_are_refused():
    """Another number of rows than passed by."""
    table = read_table(messy(500), Schema.from_toml(MESSY))
    tally = CellTally(table.told_by_counts)
    for _ in tally.watching(table.scan)(table.schema.publishable.names):
        pass
    with pytest.raises(SourceError, match="changed between two readings"):
        fingerprint(ArrowData(messy(501)), DuckDBEngine(), KEY, tally=tally)
