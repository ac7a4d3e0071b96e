"""Looking at private rows: risk as it stands, and guessed schemas."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from samples import SCHEMA, people
from sfumato import Schema, read_table
from sfumato.custody.infer import infer_schema
from sfumato.custody.infer.name_hints import suggests_identifier, suggests_sensitive
from sfumato.custody.infer.profiles import profile_columns
from sfumato.custody.infer.round_edges import round_edges
from sfumato.custody.inspect import GroupSizes, inspect_table
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.sources.arrow import ArrowData
from sfumato.errors import DataError

TINY = Schema.from_toml("""
[attributes.size]
role = "quasi-identifier"
categories = ["x", "y", "z"]
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]
missing = "category"
[attributes.job]
role = "sensitive"
categories = ["a", "b"]
""")
"""An attribute is called size, as the engine calls a column of its own."""

ROWS = [
    ("x", "F", "a"),
    ("x", "F", "a"),
    ("x", "F", "b"),
    ("y", None, "b"),
    ("y", None, "b"),
    ("z", "M", "a"),
]
"""Groups of 3, 2 and 1; the group of 2 and the group of 1 have one job each."""


def tiny(rows=ROWS):
    """A table of the tiny schema."""
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    names = ("size", "sex", "job")
    return read_table(
        pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)}),
        TINY,
    )


def test_group_sizes_are_a_histogram():
    """One group of each of the sizes 1, 2 and 3."""
    assert tiny().group_sizes(["size", "sex"]) == {1: 1, 2: 1, 3: 1}


def test_no_attribute_makes_one_group():
    """Rows are all alike on nothing."""
    assert tiny().group_sizes([]) == {6: 1}
    assert tiny([]).group_sizes([]) == {}


def test_diversity_counts_different_values_in_each_group():
    """The group of three has two jobs."""
    assert tiny().group_diversity(["size", "sex"], "job") == {(1, 1): 1, (2, 1): 1, (3, 2): 1}
    assert tiny().group_diversity([], "job") == {(6, 2): 1}


@pytest.mark.parametrize("unfit", [("w", "F", "a"), ("x", "F", "c")])
def test_groups_refuse_values_outside_the_schema(unfit):
    """The column and the number of rows are said, the value is not."""
    with pytest.raises(DataError, match="in 1 row") as caught:
        tiny([*ROWS, unfit]).group_diversity(["size", "sex"], "job")
    assert caught.value.number_of_rows == 1


def test_groups_agree_with_counting_by_hand():
    """On 300 rows of five kinds of column, against a dictionary."""
    table = people(300)
    rows = list(zip(table["sex"].to_pylist(), np.digitize(table["age"], [35, 55]).tolist(), strict=True))
    by_hand = Counter(rows)
    jobs = defaultdict(set)
    for key, job in zip(rows, table["job"].to_pylist(), strict=True):
        jobs[key].add(job)
    private = read_table(table, SCHEMA)
    assert private.group_sizes(["sex", "age"]) == Counter(by_hand.values())
    diversity = Counter((number, len(jobs[key])) for key, number in by_hand.items())
    assert private.group_diversity(["sex", "age"], "job") == diversity


def test_groups_over_a_domain_too_large_for_a_table_are_counted():
    """Ten attributes of a thousand categories each have 10^30 cells, and forty rows."""
    categories = tuple(str(number) for number in range(1000))
    schema = Schema.from_dict(
        {
            "attributes": {
                f"a{number}": {"role": "quasi-identifier", "categories": categories} for number in range(10)
            }
        }
    )
    values = [str(number // 2) for number in range(40)]
    table = read_table(pa.table(dict.fromkeys(schema.names, values)), schema)
    assert table.group_sizes(schema.names) == {2: 20}


def test_an_inspection_of_a_tiny_table_by_hand():
    """Three groups in six rows: one row is unique, half of the rows are linked rightly."""
    found = inspect_table(tiny()).to_dict()
    assert found["groups"] == {
        "number": 3,
        "unique_rows": 1,
        "unique_share": pytest.approx(1 / 6),
        "smallest": 1,
        "largest": 3,
        "linked_share": pytest.approx(0.5),
    }
    columns, _, _, small, alike = (table["rows"] for table in found["tables"])
    assert columns[1] == {
        "column": "sex",
        "role": "quasi-identifier",
        "categories": 3,
        "present": 3,
        "missing share": pytest.approx(1 / 3),
        "largest share": 0.5,
    }
    assert [row["rows"] for row in small] == [1, 3, 6, 6, 6]
    assert alike == [
        {
            "attribute": "job",
            "groups": 2,
            "share of groups": pytest.approx(2 / 3),
            "rows": 3,
            "share of rows": 0.5,
        }
    ]


def test_everything_of_an_inspection_is_marked_private():
    """Its repr shows names only."""
    found = inspect_table(tiny())
    assert all(each.is_private for each in found.tables)
    assert str(found).count("[private: computed from the data]") == len(found.tables)
    assert repr(found) == "Inspection(size, sex; private)"
    assert repr(found.group_sizes) == "GroupSizes(private)"


def test_without_quasi_identifiers_there_are_no_groups():
    """The columns are still shown, and it is said why there is no more."""
    schema = Schema(attributes=(TINY["job"],))
    found = inspect_table(read_table(pa.table({"job": ["a", "b"]}), schema))
    assert found.to_dict()["groups"] is None
    assert "no quasi-identifier" in found.summary()


def test_an_empty_table_is_refused():
    """There is nothing to inspect."""
    with pytest.raises(DataError, match="no rows"):
        inspect_table(tiny([]))


def test_quantiles_are_the_smallest_size_that_reaches_the_share():
    """Sizes 1, 1, 1, 2, 5, 5: three of six groups, but only three of fifteen rows, are alone."""
    sizes = GroupSizes({1: 3, 2: 1, 5: 2})
    assert [sizes.quantile_of_groups(share) for share in (0.5, 0.51, 0.67, 1.0)] == [1, 2, 5, 5]
    assert [sizes.quantile_of_rows(share) for share in (0.2, 0.21, 0.34, 1.0)] == [1, 2, 5, 5]


@pytest.mark.parametrize(
    ("name", "is_sensitive"),
    [
        ("occupation", True),
        ("net_income", True),
        ("HIV status", True),
        ("patientDiagnosis", True),
        ("RELIGION", True),
        ("incomer", False),
        ("archive", False),
        ("payment_type", False),
        ("sex", False),
    ],
)
def test_names_hint_by_whole_words(name, is_sensitive):
    """Part of a word is no hint."""
    assert suggests_sensitive(name) is is_sensitive


def test_some_names_point_at_a_person():
    """However often their values repeat."""
    assert suggests_identifier("e-mail or email")
    assert not suggests_identifier("emailed")


@pytest.mark.parametrize(
    ("low", "high", "edges"),
    [
        (17, 90, range(10, 101, 10)),
        (0, 20, range(0, 23, 2)),
        (0, 99_999, range(0, 100_001, 10_000)),
        (-3, 41, range(-5, 46, 5)),
        (1.5, 2.25, [1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2, 2.3]),
    ],
)
def test_edges_are_round(low, high, edges):
    """Multiples of 1, 2 or 5 times a power of ten, the last one above the largest value."""
    assert round_edges(low, high) == tuple(float(edge) for edge in edges)


@given(st.floats(-1e15, 1e15), st.floats(1e-9, 1e12))
def test_edges_cover_any_range_with_about_nine_bins(low, span):
    """Neighbouring steps differ by at most 2.5, so 9 / sqrt(2.5) to 9 * sqrt(2.5) bins, and two at the ends."""
    high = low + span
    assume(low < high)
    edges = round_edges(low, high)
    assert edges[0] <= low
    assert high < edges[-1]
    assert len({f"{edge:.15g}" for edge in edges}) == len(edges)
    assert list(edges) == sorted(edges)
    if high - low > 1e-12 * max(abs(low), abs(high)):
        assert 5 <= len(edges) - 1 <= 17


def test_an_empty_range_has_no_edges():
    """Bins need a length."""
    with pytest.raises(ValueError, match="length"):
        round_edges(1, 1)


def infer(**columns):
    """A guess from columns."""
    return infer_schema(pa.table(columns))


def test_nearly_unique_columns_are_identifiers():
    """More than half of at least twenty rows differ; in short tables that says nothing."""
    many = [str(number) for number in range(40)]
    assert infer(code=many, job=["a", "b"] * 20).schema["code"].role == "identifier"
    assert infer(code=many[:10], job=["a", "b"] * 5).schema["code"].role == "quasi-identifier"


def test_exactly_half_different_is_no_identifier():
    """The rule is more than half."""
    values = [str(number) for number in range(20)]
    assert infer(code=values * 2, job=["a", "b"] * 20).schema["code"].role == "quasi-identifier"


def test_more_than_a_thousand_texts_are_an_identifier():
    """Nobody checks a list of a thousand categories; numbers get bins instead."""
    texts = [f"t{number % 1001}" for number in range(4004)]
    numbers = [number % 1001 for number in range(4004)]
    guess = infer(texts=texts, numbers=numbers, job=["a", "b"] * 2002)
    assert guess.schema["texts"].role == "identifier"
    assert guess.schema["numbers"].bins is not None
    assert (
        len(infer(texts=[f"t{n % 1000}" for n in range(4000)], job=["a", "b"] * 2000).schema["texts"].labels)
        == 1000
    )


def test_a_name_that_points_at_a_person_is_an_identifier():
    """Even when values repeat."""
    assert infer(phone=["1", "2"] * 20, job=["a", "b"] * 20).schema["phone"].role == "identifier"


def test_sensitive_is_guessed_by_name():
    """Where a name says it, no other column is guessed."""
    guess = infer(salary=["low", "high"] * 20, town=["A", "B"] * 20)
    assert guess.schema["salary"].role == "sensitive"
    assert guess.schema["town"].role == "quasi-identifier"


def test_without_a_hint_the_last_column_is_guessed_and_that_is_said():
    """The last one that could be published, that is."""
    guess = infer(town=["A", "B"] * 20, colour=["red", "blue"] * 20, key=[str(n) for n in range(40)])
    assert guess.schema["colour"].role == "sensitive"
    assert "only a guess" in " ".join(guess.findings[1].checks)


def test_numbers_with_many_values_get_bins_that_hide_the_extremes():
    """Neither the smallest nor the largest value is an edge here."""
    ages = [17 + number % 74 for number in range(400)]
    age = infer(age=ages, job=["a", "b"] * 200).schema["age"]
    assert age.bins == tuple(float(edge) for edge in range(10, 101, 10))
    assert age.learned


def test_numbers_with_few_values_are_listed_by_size():
    """Twenty values are few, twenty-one are many."""
    few = infer(children=[str(number % 20) for number in range(400)], job=["a", "b"] * 200).schema["children"]
    assert few.categories == tuple(str(number) for number in range(20))
    many = infer(children=[str(number % 21) for number in range(420)], job=["a", "b"] * 210).schema[
        "children"
    ]
    assert many.bins is not None


def test_incomes_that_hardly_repeat_get_bins():
    """A number that is sensitive by its name is no identifier."""
    income = infer(income=[1000.5 * number for number in range(40)], sex=["F", "M"] * 20).schema["income"]
    assert income.role == "sensitive"
    assert income.bins is not None


def test_texts_that_stand_for_no_value_are_missing_values():
    """As they are written, spaces included; empty cells need no mention."""
    guess = infer(town=["A", "B", "?", " NA", "", None] * 10, job=["a", "b"] * 30)
    town = guess.schema["town"]
    assert town.categories == ("A", "B")
    assert town.missing == "category"
    assert town.missing_values == (" NA", "?")
    assert "missing_values" in " ".join(guess.findings[0].checks)


def test_a_column_of_numbers_may_have_missing_values():
    """A question mark does not make ages texts."""
    ages = [str(17 + number % 74) if number % 5 else "?" for number in range(400)]
    age = infer(age=ages, job=["a", "b"] * 200).schema["age"]
    assert age.bins is not None
    assert age.missing_values == ("?",)


def test_constant_columns_are_left_out_and_said():
    """One value, or none at all; one value and gaps are two categories."""
    guess = infer(
        same=["A"] * 40, empty=pa.nulls(40, pa.string()), gaps=["A", None] * 20, job=["a", "b"] * 20
    )
    assert guess.schema.names == ("gaps", "job")
    assert guess.schema["gaps"].size == 2
    assert "# Left out: 'same'" in guess.to_toml()
    assert [finding.role for finding in guess.findings[:2]] == [None, None]


def test_everything_learned_is_marked():
    """Identifiers have nothing to learn."""
    guess = infer_schema(people(400))
    assert guess.schema.learned == ("sex", "age", "region", "job")


def test_the_guess_reads_back_and_fits_its_own_data():
    """The file is a schema of the table it came from."""
    table = people(400)
    text = infer_schema(table).to_toml()
    assert "THIS FILE HOLDS VALUES FROM THE DATA" in text
    schema = Schema.from_toml(text)
    assert inspect_table(read_table(table, schema)).number_of_rows == 400


def test_awkward_names_and_values_survive_the_file():
    """Line breaks and quotes, in names too, do not break the comments or the values."""
    table = pa.table({'a\n"b"': ["x\ny", "'", '"'] * 10, "job": ["a", "b"] * 15, "one\nonly": ["c"] * 30})
    schema = Schema.from_toml(infer_schema(table).to_toml())
    assert schema['a\n"b"'].categories == ('"', "'", "x\ny")


def test_the_words_about_a_guess_hold_no_value():
    """Only the file does."""
    guess = infer_schema(people(400))
    words = f"{guess!r} {guess} {guess.to_dict()} {guess.checks}"
    assert not [value for value in ("Female", "Sales", "North", "person-1") if value in words]


def test_typed_columns_are_guessed_as_their_texts():
    """Dates, booleans and decimals of a typed table compare as the engine compares them."""
    table = pa.table(
        {
            "day": pa.array([0, 1] * 20, pa.date32()),
            "flag": [True, False] * 20,
            "rate": [0.5, 1.0] * 20,
            "job": ["a", "b"] * 20,
        }
    )
    guess = infer_schema(table)
    assert guess.schema["flag"].categories == ("false", "true")
    assert guess.schema["day"].categories == ("1970-01-01", "1970-01-02")
    assert inspect_table(read_table(table, guess.schema)).number_of_rows == 40


def test_columns_with_many_values_are_never_listed():
    """Ten thousand different texts are counted approximately, and no list of them is made."""
    table = pa.table({"text": [f"t{number}" for number in range(10_000)]})
    (profile,) = profile_columns(ArrowData(table), DuckDBEngine())
    assert profile.values is None
    assert profile.number_of_values == pytest.approx(10_000, rel=0.2)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"key": pa.array([], pa.string())}, "no rows"),
        ({"same": ["a"] * 40}, "no column that could be published"),
        ({"key": [str(number) for number in range(40)]}, "no column that could be published"),
    ],
)
def test_tables_without_anything_to_publish_are_refused(columns, message):
    """A schema needs at least one attribute that may leave."""
    with pytest.raises(DataError, match=message):
        infer_schema(pa.table(columns))


def test_a_profile_shows_its_name_alone():
    """Profiles hold values, their repr does not."""
    profiles = profile_columns(ArrowData(pa.table({"town": ["A", "B"]})), DuckDBEngine())
    assert repr(profiles) == "(ColumnProfile(town),)"
