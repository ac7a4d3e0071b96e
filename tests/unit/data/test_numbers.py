"""Numbers in cells: what is none is missing, what is written otherwise is none, and none changes its bin."""

from __future__ import annotations

import bisect
import sqlite3

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.data.private_table import read_table
from sfumato.errors import DataError
from sfumato.schema import Attribute, Role, Schema

INCOME = Attribute(name="income", role=Role.OTHER, bins=(0, 10, 20, 100), missing="category")
NUMBERS = [1.0, 15.0, float("nan"), 99.0, float("nan")]
CODES = [0, 1, 3, 2, 3]


def codes_of(data, attribute, **options) -> list[int]:
    """All codes of one attribute, by scanning and, as a check, by counting under each condition."""
    table = read_table(data, Schema(attributes=(attribute,)), **options)
    codes = [code for batch in table.scan() for code in batch.codes[attribute.name].tolist()]
    counted = table.count_by([attribute.name]).counts
    assert counted.tolist() == np.bincount(codes, minlength=attribute.size).tolist()
    return codes


def sources(tmp_path):
    """The same numbers, two of them not-a-number, in every kind of source."""
    table = pa.table({"income": NUMBERS})
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("income\n1\n15\nNaN\n99\nnan\n")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.register("rows", table)
        connection.execute("create table t as from rows")
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("create table t (income real)")
        connection.executemany("insert into t values (?)", [(each,) for each in NUMBERS])
    connection.close()
    return {
        "parquet": tmp_path / "a.parquet",
        "csv": tmp_path / "a.csv",
        "duckdb": f"{tmp_path / 'a.duckdb'}::t",
        "arrow": table,
        "polars": pl.DataFrame({"income": NUMBERS}),
        "float": pa.table({"income": pa.array(NUMBERS, pa.float32())}),
    }


@pytest.mark.parametrize("kind", ["parquet", "csv", "duckdb", "arrow", "polars", "float"])
def test_not_a_number_is_missing_from_every_source(tmp_path, kind):
    """A file's statistics leave it out, so an engine that believes them takes it for the highest bin."""
    data = sources(tmp_path)[kind]
    assert codes_of(data, INCOME) == CODES
    strict = INCOME.model_copy(update={"missing": "error"})
    with pytest.raises(DataError, match="has no value in 2 rows"):
        codes_of(data, strict)


def test_not_a_number_is_missing_among_categories_of_numbers(tmp_path):
    """Where the column holds numbers; in a text it is a text like another."""
    listed = Attribute(name="n", role=Role.OTHER, categories=("1.0", "2.0"), missing="category")
    assert codes_of(pa.table({"n": [1.0, float("nan"), 2.0]}), listed) == [0, 2, 1]
    names = Attribute(name="n", role=Role.OTHER, categories=("nan", "Ann"), missing="category")
    assert codes_of(pa.table({"n": ["nan", "Ann", None]}), names) == [0, 1, 2]


@pytest.mark.parametrize("text", ["1_5", "1 5", "0x15", "15a", "--15", "1,5", "1e", "_15"])
def test_what_is_not_written_as_a_number_is_none(text):
    """The engine would take an underscore for nothing."""
    with pytest.raises(DataError, match="holds no number in 1 row"):
        codes_of(pa.table({"income": ["1", text]}), INCOME)


@pytest.mark.parametrize("text", ["15", " 15 ", "+15", "15.0", "1.5e1", "15."])
def test_ways_to_write_a_number(text):
    """All of them are fifteen."""
    assert codes_of(pa.table({"income": [text]}), INCOME) == [1]


def test_decimals_of_a_database_are_numbers():
    """Whatever their digits, and whatever mark the schema says for texts."""
    attribute = INCOME.model_copy(update={"decimal": ","})
    cells = pa.array(["1.50", "15.00", None]).cast(pa.decimal128(10, 2))
    assert codes_of(pa.table({"income": cells}), attribute) == [0, 1, 3]
    assert codes_of(pa.table({"income": ["1,50", "15,0", ""]}), attribute) == [0, 1, 3]


LARGE = 2**53


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.string()])
def test_large_whole_numbers_stay_in_their_bin(kind):
    """Rounded to a floating-point number, the last would be in the next bin."""
    edges = (0.0, LARGE + 4.0, LARGE + 8.0, 2.0**63)
    attribute = Attribute(name="n", role=Role.OTHER, bins=edges)
    numbers = [3, LARGE + 3, LARGE + 4, LARGE + 5, LARGE + 7, LARGE + 8, 2**62 + 1]
    expected = [bisect.bisect_right([int(each) for each in edges], number) - 1 for number in numbers]
    assert (
        codes_of(pa.table({"n": pa.array(map(str, numbers), pa.string()).cast(kind)}), attribute) == expected
    )


@pytest.mark.parametrize("number", [2, 63, 64, 65, 200, 1_000])
def test_many_bins_are_searched_as_few_are(number):
    """At, just below and between every edge, in numbers and in text."""
    rng = np.random.default_rng(number)
    edges = np.unique(np.concatenate([rng.normal(scale=100, size=number - 1), [0.0, 0.1, -0.1]]))[
        : number + 1
    ]
    values = np.concatenate([edges[:-1], np.nextafter(edges[1:], -np.inf), (edges[1:] + edges[:-1]) / 2])
    attribute = Attribute(name="n", role=Role.OTHER, bins=tuple(edges.tolist()))
    expected = (np.searchsorted(edges, values, side="right") - 1).tolist()
    assert codes_of(pa.table({"n": values}), attribute) == expected
    assert codes_of(pa.table({"n": [repr(each) for each in values.tolist()]}), attribute) == expected


@pytest.mark.parametrize("number", [3, 300])
@pytest.mark.parametrize("outside", [-0.001, 1.0, float("inf"), -float("inf")])
def test_outside_all_bins_is_nowhere(number, outside):
    """However many there are."""
    attribute = Attribute(name="n", role=Role.OTHER, bins=tuple(np.linspace(0, 1, number + 1).tolist()))
    with pytest.raises(DataError, match="outside the schema's bins in 1 row"):
        codes_of(pa.table({"n": [0.5, outside]}), attribute)


def test_labels_of_many_bins_are_read_back():
    """As a release in CSV holds them."""
    edges = tuple(float(each) for each in range(301))
    attribute = Attribute(name="n", role=Role.OTHER, bins=edges, missing="category")
    assert codes_of(pa.table({"n": [attribute.labels[7], "(missing)", "299"]}), attribute) == [7, 300, 299]
