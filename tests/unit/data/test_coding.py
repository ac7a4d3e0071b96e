"""How cells become codes: marks of decimals, dates, mappings, prefixes and open ends, against Python's own reading."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import pyarrow as pa
import pytest

from sfumato.data.private_table import read_table
from sfumato.errors import DataError
from sfumato.schema import Attribute, Role, Schema


def codes(cells, **keys):
    """Codes of a column's cells, None where a cell fits no category."""
    attribute = Attribute(name="x", role=Role.OTHER, **keys)
    found = []
    for cell in cells:
        table = read_table(pa.table({"x": pa.array([cell])}), Schema(attributes=(attribute,)))
        try:
            (batch,) = table.scan()
            found.append(int(batch.codes["x"][0]))
        except DataError:
            found.append(None)
    return found


def test_a_decimal_comma_is_read_exactly_as_written():
    """A point between digits is no comma: 1.5 must not become fifteen."""
    assert codes(["1,5", "2", "-0,5", "1.5", "1,5,5", "x", " 2,5 "], bins=(-1, 0, 1, 2, 3), decimal=",") == [
        2,
        3,
        0,
        None,
        None,
        None,
        3,
    ]


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f"])
def test_thousands_are_groups_of_three(space):
    """With a mark between thousands, digits stand in groups of three or without any mark."""
    cells = [f"1{space}234,5", "1234,5", f"12{space}34", f"{space}234x"]
    assert codes(cells, bins=(0, 1000, 2000), decimal=",", thousands=" ") == [1, 1, None, None]


def test_a_thousands_point_is_not_a_decimal_point():
    """1.234 is a thousand and more, 1.23 is nothing."""
    assert codes(["1.234", "1.23", "999"], bins=(0, 1000, 2000), decimal=",", thousands=".") == [1, None, 0]


def test_numbers_that_are_numbers_need_no_marks():
    """A Parquet column of floats is read as it is, whatever is said of texts."""
    assert codes([1.5, 2.5], bins=(0, 2, 4), decimal=",") == [0, 1]


def test_open_ends_take_everything_beyond():
    """Top and bottom codes replace the edges beyond them; not-a-number is in no bin."""
    keys = {"bins": (0, 20, 40, 200), "top_code": 90, "bottom_code": 18}
    assert Attribute(name="x", role=Role.OTHER, **keys).labels == (
        "less than 18",
        "[18,20)",
        "[20,40)",
        "[40,90)",
        "90 or more",
    )
    assert codes([-5.0, 18.0, 39.9, 89.0, 90.0, 1e9, float("nan"), float("inf")], **keys) == [
        0,
        1,
        2,
        3,
        4,
        4,
        None,
        None,
    ]


def test_published_labels_of_open_ends_read_back():
    """A release's file holds the labels; they have the codes they were written for."""
    attribute = Attribute(name="x", role=Role.OTHER, bins=(0, 20, 40), top_code=30, bottom_code=5)
    assert codes(attribute.labels, bins=(0, 20, 40), top_code=30, bottom_code=5) == list(
        range(attribute.size)
    )


def test_a_mapping_sends_many_values_to_one():
    """Values that it names become their category; a category's own text stays; others have none."""
    keys = {"recode": {"Work": ("1", "2"), "None": ("3",)}, "missing": "category", "missing_values": ("9",)}
    assert codes(["1", "2", "3", "Work", "9", None, "4"], **keys) == [0, 0, 1, 0, 2, 2, None]


def test_more_categories_beside_a_mapping():
    """Categories may be listed that no value is mapped to."""
    assert codes(["a", "b", "c"], recode={"A": ("a",)}, categories=("c", "b", "A")) == [2, 1, 0]


def test_a_prefix_is_the_first_characters():
    """Codes are cut; one that is too short or begins otherwise has no category."""
    assert codes(["01067", "0199", "99084", "0"], prefix=2, categories=("01", "99")) == [0, 0, 1, None]


@pytest.mark.parametrize("period", ["year", "quarter", "month", "week", "day"])
def test_every_day_falls_into_its_period(period):
    """Over four years, leap day and years with 53 weeks included, the code is the last start not after the day."""
    attribute = Attribute(
        name="x",
        role=Role.OTHER,
        dates={"by": period, "first": "2019-12-30", "last": "2021-01-05", "format": "%d.%m.%Y"},
    )
    days = [datetime.fromisoformat("2019-12-30") + timedelta(days=number) for number in range(373)]
    table = pa.table({"x": [day.strftime("%d.%m.%Y") for day in days]})
    (batch,) = read_table(table, Schema(attributes=(attribute,))).scan()
    starts = attribute.dates.starts
    assert batch.codes["x"].tolist() == [sum(start <= day for start in starts[1:]) for day in days]


def test_weeks_are_iso_weeks():
    """The week of the turn of the year belongs to the year that has more of it."""
    dates = {"by": "week", "first": "2020-12-28", "last": "2021-01-04"}
    assert Attribute(name="x", role=Role.OTHER, dates=dates).labels == ("2020-W53", "2021-W01")


def test_own_edges_cut_times():
    """Edges may be times of day; a cell beyond the last one has no category."""
    dates = {"edges": ["2021-01-01T00:00:00", "2021-01-01T12:00:00", "2021-01-02T00:00:00"]}
    cells = ["2021-01-01", "2021-01-01 11:59:59", "2021-01-01 12:00:00", "2021-01-02", "2020-12-31", "soon"]
    assert codes(cells, dates=dates) == [0, 0, 1, None, None, None]


def test_dates_of_a_typed_column_need_no_format():
    """A column of dates is read as dates, whatever format texts would have."""
    dates = {"by": "year", "first": "2019-01-01", "last": "2021-12-31", "format": "%d.%m.%Y"}
    assert codes([datetime.fromisoformat("2020-02-29")], dates=dates) == [1]


def refusal(cells, **keys):
    """What a column is refused with."""
    schema = Schema(attributes=(Attribute(name="x", role=Role.OTHER, **keys),))
    with pytest.raises(DataError) as caught:
        list(read_table(pa.table({"x": cells}), schema).scan())
    return str(caught.value)


@pytest.mark.parametrize(
    ("cells", "keys", "words"),
    [
        (["1,5", "2", "secret"], {"bins": (0, 1, 2, 3)}, "holds no number in 2 rows. Bins are for numbers."),
        (["5", "1"], {"bins": (0, 2, 4)}, "outside the schema's bins in 1 row."),
        (
            ["2020-02-30", "secret", "2020-02-01"],
            {"dates": {"by": "month", "first": "2020-01-01", "last": "2020-12-31"}},
            "holds no date in 2 rows. Dates are read as 2019-12-31",
        ),
        (
            ["2019-02-01", "2020-02-01"],
            {"dates": {"by": "month", "first": "2020-01-01", "last": "2020-12-31"}},
            "has a date before the first or after the last in 1 row.",
        ),
        (
            ["a", "secret"],
            {"recode": {"A": ("a",), "B": ("b",)}},
            "has a value that neither recode nor the categories name in 1 row.",
        ),
        (
            ["secret", "other"],
            {"categories": ("a", "b"), "published_by": "the office"},
            "in 2 rows, all that have a value. Is the list, the edges or the format that of another column?",
        ),
    ],
)
def test_what_does_not_fit_is_said_with_its_reason_and_without_values(cells, keys, words):
    """Not a number, not a date, not named: each has its sentence and its number of rows."""
    sentence = refusal(cells, **keys)
    assert words in sentence
    assert "secret" not in sentence


def long_list(number=300):
    """More labels than a statement lists."""
    return tuple(f"it's {place}" for place in range(number))


@pytest.mark.parametrize(
    ("keys", "cells", "expected"),
    [
        ({"categories": long_list()}, ["it's 0", "it's 299", "it's 300", None], [0, 299, None, None]),
        ({"categories": long_list(), "missing": "category"}, ["it's 7", None], [7, 300]),
        (
            {"categories": long_list(), "recode": {"it's 4": ("four", "4")}},
            ["it's 4", "four", "4", "5"],
            [4, 4, 4, None],
        ),
        ({"categories": tuple("abcdefghij"), "prefix": 1}, ["bx", "z"], [1, None]),
        (
            {"categories": tuple(f"{place:03}" for place in range(300)), "prefix": 3},
            ["0991", "300"],
            [99, None],
        ),
        ({"bins": tuple(range(302))}, ["7", "[7,8)", "301"], [7, 7, None]),
    ],
    ids=["categories", "missing", "recode", "short prefix", "prefix", "bins"],
)
def test_long_lists_are_read_as_short_ones(keys, cells, expected):
    """A list too long for a statement is a type of its own, with the same codes and the same refusals."""
    assert codes(cells, **keys) == expected


def test_long_lists_are_known_inside_another_database(tmp_path):
    """A query on a database makes that one current; the labels' type is found all the same."""
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t as select 'it''s 7' as x union all select 'it''s 9'")
    schema = Schema(attributes=(Attribute(name="x", role=Role.OTHER, categories=long_list()),))
    (batch,) = read_table(path, schema, query="select * from t order by x").scan()
    assert batch.codes["x"].tolist() == [7, 9]
