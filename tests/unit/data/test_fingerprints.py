"""Tables are recognized whatever was made of them, and not without the key."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest

from samples import people
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.fingerprints import (
    NOBODY,
    SKETCH_SIZE,
    CellTally,
    Sketch,
    _finished,
    _read_part,
    fingerprint,
)
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
    names = [sha256(str(number).encode()).hexdigest() for number in range(first + second - shared)]
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


def _apart(low: int, high: int, rows: int, seed: int):
    return low + np.random.default_rng(seed).choice(high - low, rows, replace=False)


SERIAL = {
    "row names": (range(1, 301), range(1, 2_001)),
    "index": (range(300), range(2_000)),
    "floats": (np.arange(300.0), np.arange(2_000.0)),
    "dense subject numbers": (_apart(1_000, 1_600, 300, 1), _apart(1_000, 1_600, 300, 2)),
    "a third of a range": (_apart(1, 900, 300, 1), _apart(1, 900, 300, 2)),
    "padded": ([f"{each:05}" for each in range(300)], [f"{each:05}" for each in range(500)]),
    "prefixed": ([f"P{each:04}" for each in range(1, 301)], [f"P{each:04}" for each in range(1, 501)]),
    "in words": ([f"person-{each}" for each in range(300)], [f"person-{each}" for each in range(500)]),
    "by site": (
        [f"{site:02}-{each:03}" for site in range(10) for each in range(30)],
        [f"{site:02}-{each:03}" for site in range(20) for each in range(20)],
    ),
    "with a suffix": ([f"{each}-TRIAL" for each in range(300)], [f"{each}-TRIAL" for each in range(500)]),
    "steps of ten": (range(0, 3_000, 3), range(0, 6_000, 3)),
}


@pytest.mark.parametrize("name", list(SERIAL))
def test_serial_numbers_are_no_evidence_of_shared_people(name):
    """Of two unrelated tables: whether people are shared cannot be told."""
    first, second = (taken(pa.table({"id": list(each)}), people=("id",)) for each in SERIAL[name])
    assert first.people_shared_with(second) is None
    assert second.serial == ("id",)


def _random(form, seed: int, shared: int = 150):
    """Identifiers of 300 persons, of which so many are the first ones of any other seed."""
    numbers = [*_apart(0, 10**9, 150, 0)[:shared], *_apart(0, 10**9, 300 - shared, seed)]
    return [form(int(each)) for each in numbers]


REAL = {
    "numbers": lambda each: each,
    "nine digits": lambda each: f"{each:09}",
    "with dashes": lambda each: f"{each:09}"[:3] + "-" + f"{each:09}"[3:5] + "-" + f"{each:09}"[5:],
    "prefixed": lambda each: f"MRN{each:09}",
    "hexadecimal": lambda each: sha256(str(each).encode()).hexdigest()[:12],
    "letters and digits": lambda each: np.base_repr(each, 36).zfill(6),
    "mail addresses": lambda each: f"{np.base_repr(each, 36).lower()}{each % 3}@example.org",
    "names": lambda each: "".join("bcdfghklmn"[int(digit)] + "aeiou"[int(digit) % 5] for digit in str(each)),
}


@pytest.mark.parametrize("name", list(REAL))
def test_people_of_identifiers_that_are_not_serial_are_counted(name):
    """Half of the people are shared, and none."""
    form = REAL[name]
    first, second, third = (
        taken(pa.table({"id": _random(form, seed, shared)}), people=("id",))
        for seed, shared in ((1, 150), (2, 150), (3, 0))
    )
    assert first.people_shared_with(second) == pytest.approx(150)
    assert first.people_shared_with(third) == 0


def test_missing_identifiers_are_not_one_person():
    """Neither empty cells nor marks."""
    marks = [None, *NOBODY, "n/a", " unknown "]
    first, second = (
        taken(pa.table({"id": [*_random(str, seed, 0), *marks]}), people=("id",)) for seed in (1, 2)
    )
    assert first.people_shared_with(second) == 0


@pytest.mark.parametrize("first_number", [0, 1])
def test_tables_that_share_row_numbers_alone_are_not_the_same(first_number):
    """Of as many rows, as R or pandas writes them; the column need not be declared."""
    numbers = pa.array(range(first_number, 300 + first_number))
    one, other = people(300, seed=1).select(["sex", "age"]), people(300, seed=2).select(["job", "region"])
    first, second = (each.add_column(0, "rownames", numbers) for each in (one, other))
    assert taken(first).serial == ("rownames",)
    assert not taken(first).is_same_table(taken(second))
    assert taken(first).is_same_table(taken(first.select(["rownames", "sex"])))


def test_whole_numbers_that_repeat_or_spread_are_evidence():
    """An age is no row number, nor are prices of different houses."""
    table = pa.table(
        {"age": [1, 1, *range(2, 300)], "price": _apart(0, 10**6, 300, 1), "share": np.arange(300) / 300}
    )
    assert taken(table).serial == ()


def test_parts_add_up_to_the_fingerprint_of_all_rows():
    """Also what is serial: in each part of rows in random order the numbers are far apart."""
    rows = 3_000
    order = np.random.default_rng(4).permutation(rows)
    table = pa.table(
        {
            "rownames": order,
            "subject": [f"S{each:05}" for each in order],
            "mail": _random(str, 5, 0) * 10,
            "sex": ["F", "M", "F"] * 1_000,
        }
    )
    names = ("rownames", "subject", "mail")
    parts = [
        _read_part(ArrowData(table.slice(place, 100)), DuckDBEngine(), KEY, names)
        for place in range(0, rows, 100)
    ]
    whole = taken(table, people=names)
    assert _finished(parts) == whole
    assert whole.serial == ("rownames", "subject")
