"""The DuckDB engine: codes, counts and refusals, held against a plain Python reading."""

from __future__ import annotations

import collections

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.sources.columnar import ArrowData
from sfumato.errors import DataError, TooLargeError
from sfumato.schema import Attribute, Role, Schema

PUBLISHABLE = SCHEMA.publishable.attributes


def code_by_hand(attribute: Attribute, value: object) -> int:
    """The code of one value, by the definition."""
    if value is None or value == "?":
        return attribute.missing_code
    if attribute.bins is not None:
        return sum(value >= edge for edge in attribute.bins) - 1
    return attribute.categories.index(value)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """A thousand people."""
    return people()


def scanned(data: pa.Table, attributes=PUBLISHABLE) -> dict[str, np.ndarray]:
    """All codes of a table, batches laid end to end."""
    batches = list(DuckDBEngine().scan(ArrowData(data), attributes))
    return {each.name: np.concatenate([batch.codes[each.name] for batch in batches]) for each in attributes}


def test_scan_gives_the_codes_of_the_definition(table):
    """Categories, bins and missing values get the codes that the schema says, in row order."""
    codes = scanned(table)
    for attribute in PUBLISHABLE:
        expected = [code_by_hand(attribute, value) for value in table[attribute.name].to_pylist()]
        assert codes[attribute.name].tolist() == expected


def test_scan_gives_the_smallest_type(table):
    """Codes of up to 256 categories take a byte."""
    assert {column.dtype for column in scanned(table).values()} == {np.dtype(np.uint8)}


def test_counts_equal_counting_by_hand(table):
    """A two-way table equals Python's counter over decoded rows."""
    chosen = SCHEMA.select(["region", "job"])
    counted = DuckDBEngine().count_by(ArrowData(table), chosen, ())
    pairs = zip(table["region"].to_pylist(), table["job"].to_pylist(), strict=True)
    expected = collections.Counter(
        tuple(code_by_hand(attribute, value) for attribute, value in zip(chosen, pair, strict=True))
        for pair in pairs
    )
    assert {cell: count for cell, count in np.ndenumerate(counted.counts) if count} == expected


def test_conditions_restrict_counts(table):
    """Counting under a condition equals slicing the whole table."""
    sex, age, job = SCHEMA.select(["sex", "age", "job"])
    engine = DuckDBEngine()
    whole = engine.count_by(ArrowData(table), (sex, age, job), ())
    restricted = engine.count_by(ArrowData(table), (job,), ((sex, (1,)), (age, (0, 2))))
    assert np.array_equal(restricted.counts, whole.counts[1, [0, 2]].sum(axis=0))


def test_an_empty_condition_selects_nothing(table):
    """No code at all is satisfied by no row."""
    sex, job = SCHEMA.select(["sex", "job"])
    assert DuckDBEngine().count_by(ArrowData(table), (job,), ((sex, ()),)).total == 0


def test_counting_over_nothing_gives_the_number_of_rows(table):
    """Without attributes there is one cell."""
    assert DuckDBEngine().number_of_rows(ArrowData(table)) == 1_000


@pytest.mark.parametrize("operation", ["scan", "count_by"])
def test_values_outside_the_schema_are_counted_and_never_shown(table, operation):
    """The message says the column and how many rows, and holds no cell."""
    broken = table.set_column(4, "job", pa.array(["SECRET-MARKER"] * 3 + table["job"].to_pylist()[3:]))
    engine = DuckDBEngine()
    with pytest.raises(DataError) as caught:
        if operation == "scan":
            list(engine.scan(ArrowData(broken), PUBLISHABLE))
        else:
            engine.count_by(ArrowData(broken), SCHEMA.select(["job"]), ())
    assert "column 'job' has a value outside the schema's category list in 3 rows" in str(caught.value)
    assert (caught.value.attribute, caught.value.number_of_rows) == ("job", 3)
    assert "MARKER" not in str(caught.value)


def test_every_column_that_does_not_fit_is_named(table):
    """Problems of several columns come in one message."""
    broken = table.set_column(1, "sex", pa.array([None, None, *table["sex"].to_pylist()[2:]]))
    broken = broken.set_column(2, "age", pa.array([16, 91, *table["age"].to_pylist()[2:]]))
    with pytest.raises(DataError) as caught:
        list(DuckDBEngine().scan(ArrowData(broken), PUBLISHABLE))
    assert "column 'sex' has no value in 2 rows" in str(caught.value)
    assert "column 'age' has a value outside the schema's bins in 2 rows" in str(caught.value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_fit_no_bin(number):
    """Not-a-number and the infinities are outside every interval."""
    age = Attribute(name="age", role=Role.OTHER, bins=(0, 1, 2))
    with pytest.raises(DataError):
        list(DuckDBEngine().scan(ArrowData(pa.table({"age": [number]})), (age,)))


def test_bins_are_half_open():
    """An edge belongs to the interval that it begins."""
    age = Attribute(name="age", role=Role.OTHER, bins=(0, 0.1, 0.3, 1))
    codes = scanned(pa.table({"age": [0.0, 0.1, 0.2, 0.3, 0.9999999999999999]}), (age,))
    assert codes["age"].tolist() == [0, 1, 1, 2, 2]


def test_awkward_names_and_texts_are_data_not_sql():
    """Quotes and semicolons in names and categories are taken literally."""
    schema = Schema(
        attributes=(Attribute(name='a"b; drop', role=Role.OTHER, categories=("x'y", 'say "z"', "; --")),)
    )
    codes = scanned(pa.table({'a"b; drop': ["; --", "x'y", 'say "z"']}), schema.attributes)
    assert codes['a"b; drop'].tolist() == [2, 0, 1]


def test_more_than_256_categories_take_two_bytes():
    """The code type grows with the number of categories."""
    attribute = Attribute(name="n", role=Role.OTHER, categories=tuple(map(str, range(300))))
    codes = scanned(pa.table({"n": list(range(300))}), (attribute,))
    assert codes["n"].dtype == np.uint16
    assert codes["n"].tolist() == list(range(300))


def test_a_table_too_large_for_memory_is_refused_before_reading(table):
    """The message gives the number of cells and what to do instead."""
    huge = [
        Attribute(name=f"n{k}", role=Role.OTHER, categories=tuple(map(str, range(100)))) for k in range(5)
    ]
    data = pa.table({each.name: ["1"] for each in huge})
    with pytest.raises(TooLargeError, match=r"10,000,000,000 cells.*Ask for fewer attributes"):
        DuckDBEngine().count_by(ArrowData(data), huge, ())


def test_a_column_that_is_not_there_is_named(table):
    """The error suggests the nearest column."""
    with pytest.raises(DataError, match="no column 'jobb'; did you mean 'job'"):
        list(
            DuckDBEngine().scan(
                ArrowData(table), (Attribute(name="jobb", role=Role.OTHER, categories=("a", "b")),)
            )
        )


def test_rows_are_gathered_by_unit():
    """Names in order, the codes of each unit's rows together."""
    user = Attribute(name="user", role=Role.IDENTIFIER)
    movie = Attribute(name="movie", role=Role.OTHER, categories=("a", "b", "c"))
    stars = Attribute(name="stars", role=Role.OTHER, categories=("1", "2"))
    source = ArrowData(
        pa.table({"user": ["y", "x", "y"], "movie": ["c", "a", "b"], "stars": ["2", "1", "1"]})
    )
    found = DuckDBEngine().rows_of_units(source, user, (movie, stars))
    assert list(found.names) == ["x", "y"]
    assert found.ends.tolist() == [1, 3]
    pairs = list(zip(found.codes["movie"].tolist(), found.codes["stars"].tolist(), strict=True))
    assert pairs[0] == (0, 0)
    assert sorted(pairs[1:]) == [(1, 0), (2, 1)]
    assert "x" not in repr(found)
