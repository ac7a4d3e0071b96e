"""A first schema guessed from data: what each kind of column becomes, and what is said about it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from samples import people
from sfumato import Generalization, publish
from sfumato.custody.inspect import inspect_table
from sfumato.custody.schemas.inference import infer_schema
from sfumato.custody.schemas.profiles import profile_table, round_edges
from sfumato.custody.schemas.roles import sensitive_word
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.private_table import read_table
from sfumato.data.sources.columnar import ArrowData
from sfumato.errors import DataError
from sfumato.schema import Schema


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
    assert (sensitive_word(name) is not None) is is_sensitive


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


def test_texts_that_hardly_repeat_are_kept_back():
    """More than half of at least twenty rows differ; in short tables that says nothing."""
    towns = [f"town {chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(40)]
    assert infer(town=towns, job=["a", "b"] * 20).schema["town"].role == "identifier"
    assert "town" not in infer(town=towns[:10] * 2, job=["a", "b"] * 10).schema
    assert infer(town=towns[:20] * 20, job=["a", "b"] * 200).schema["town"].role == "quasi-identifier"


def test_more_than_a_thousand_texts_are_left_out():
    """Nobody checks a list of a thousand categories; numbers get bins instead."""
    texts = [f"t {chr(97 + number % 1001 // 26)} {number % 1001}" for number in range(11_011)]
    places = [number % 1001 for number in range(11_011)]
    numbers = [number * 7 % 1003 for number in range(11_011)]
    guess = infer(texts=texts, numbers=numbers, job=(["a", "b"] * 5506)[:11_011])
    assert "texts" not in guess.schema
    assert "Too many different texts" in guess.to_toml()
    assert guess.schema["numbers"].bins is not None
    fewer = [text for text, place in zip(texts, places, strict=True) if place < 1000]
    assert len(infer(texts=fewer, job=["a", "b"] * 5500).schema["texts"].labels) == 1000


def test_a_name_that_points_at_a_person_is_an_identifier():
    """Even when values repeat; a column named so of two values is a kind of telephone."""
    phones = [str(5550 + number % 30) for number in range(60)]
    guess = infer(phone=phones, phone_type=["1", "2"] * 30)
    assert guess.schema["phone"].role == "identifier"
    assert guess.schema["phone_type"].role == "quasi-identifier"


def test_sensitive_is_guessed_by_name():
    """Where a name says it, no other column is guessed."""
    guess = infer(salary=["low", "high"] * 20, town=["A", "B"] * 20)
    assert guess.schema["salary"].role == "sensitive"
    assert guess.schema["town"].role == "quasi-identifier"


def test_without_a_hint_no_column_is_taken_for_the_secret():
    """A guess without a reason would be believed; that it is not known is among the decisions."""
    guess = infer(town=["A", "B"] * 20, colour=["red", "blue"] * 20, key=[str(n) for n in range(40)])
    assert not guess.schema.with_role("sensitive")
    assert any("No sensitive column was recognized" in each for each in guess.decisions)
    assert "No sensitive column was recognized" in guess.to_toml()


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
    assert "missing_values" in " ".join(each.sentence for each in guess.findings[0].checks)


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
    assert guess.schema["day"].labels == ("1970-01-01", "1970-01-02")
    assert inspect_table(read_table(table, guess.schema)).number_of_rows == 40


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"key": pa.array([], pa.string())}, "no rows"),
        ({"same": ["a"] * 40}, "no column that could be published"),
        ({"key": [str(number) for number in range(40)]}, "no column that could be published"),
        ({"town": ["a"] * 30 + ["b"] * 9}, "no column that could be published"),
        (
            {f"c{place}": ["a"] for place in range(2_001)},
            "has 2,001 columns, and at most 2,000 are read",
        ),
    ],
)
def test_tables_without_anything_to_publish_are_refused(columns, message):
    """A schema needs at least one attribute that may leave."""
    with pytest.raises(DataError, match=message):
        infer_schema(pa.table(columns))


def test_a_profile_shows_its_name_alone():
    """Profiles hold values, their repr does not."""
    profile = profile_table(ArrowData(pa.table({"town": ["A", "B"]})), DuckDBEngine())
    assert repr(profile.columns) == "(ColumnProfile(town),)"
    assert repr(profile.sampled) == "(EncodedColumn(town),)"


def test_secrets_by_name_are_one_decision_with_each_reason():
    """Several named columns are one question; each says which word it was."""
    guess = infer(salary=["low", "high"] * 20, Krankheit=["A", "B"] * 20)
    assert any(
        each.startswith(
            "'salary' (its name or description says 'salary'), 'Krankheit' (its name or description says 'krankheit'): Taken for "
        )
        for each in guess.decisions
    )


def test_heavy_values_get_bins_of_their_own():
    """Where most rows have the same number, that number stands alone and the others are still cut."""
    amounts = [0] * 300 + [50 + number for number in range(100)]
    column = infer(amount=amounts, job=["a", "b"] * 200).schema["amount"]
    assert column.bins[0] == 0
    assert 0 < column.bins[1] <= 50
    assert len(column.bins) > 4


def test_categories_that_few_persons_have_are_merged():
    """Nine persons are few, ten are not; what is merged has ten as well, and the manifest's list names none of it."""
    town = infer(town=["A"] * 50 + ["B"] * 10 + ["C"] * 9 + ["D"], job=["a", "b"] * 35).schema["town"]
    assert town.categories == ("A", "B", "other values")
    assert town.recode == {"other values": ("C", "D")}
    few = infer(town=["A"] * 50 + ["B"] * 11 + ["C"] * 9, job=["a", "b"] * 35).schema["town"]
    assert few.categories == ("A", "other values")
    assert few.recode == {"other values": ("B", "C")}
    taken = infer(
        town=["A"] * 50 + ["other values"] * 10 + ["C"] * 10 + ["D"] * 10 + ["E"] * 9,
        job=["a"] * 45 + ["b"] * 44,
    )
    assert "other values_" in taken.schema["town"].categories


def test_a_table_of_many_rare_values_is_published_as_it_was_inferred(tmp_path):
    """Hundreds of merged values are more than a statement lists: the engine knows them by a type of its own."""
    breeds = [f"breed {chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(300)]
    towns = [*breeds, *(["Bonn", "Bern"] * 500)]
    table = pa.table({"town": towns, "sex": ["F", "M"] * 650})
    schema = infer_schema(table).schema
    assert len(schema["town"].recode["other values"]) == 300
    with read_table(table, schema) as private:
        publish(private, Generalization(k=5), tmp_path / "release")


def test_persons_are_counted_where_a_unit_is_found():
    """Sixty rows of six persons are few, although sixty rows are many."""
    persons = [f"S{1000 + number // 10}" for number in range(1_000)]
    sex = ["F" if number // 10 % 2 else "M" for number in range(1_000)]
    arm = ["rare" if number < 60 else "ab"[number // 10 % 2] for number in range(1_000)]
    visit = [str(number % 10) for number in range(1_000)]
    guess = infer(subject_id=persons, sex=sex, arm=arm, visit=visit)
    assert guess.schema["subject_id"].role == "unit"
    assert "rare" not in guess.schema["arm"].categories
    assert "rare" in infer(sex=sex, arm=arm, visit=visit).schema["arm"].categories


def test_a_table_that_is_not_kept_whole_has_room_for_all_of_it(monkeypatch):
    """Values, ends of numbers and dates, and gaps that stand in rows that were not kept alone."""
    monkeypatch.setattr("sfumato.custody.schemas.profiles.MOST_CELLS", 4_000)
    rows = 20_000
    amounts: list[int | None] = [1_000 + number % 3_000 for number in range(rows)]
    towns, days = (
        ["ABC"[number % 3] for number in range(rows)],
        [f"2020-0{1 + number % 9}-01" for number in range(rows)],
    )
    amounts[11_111], amounts[11_112], towns[11_113], days[11_114] = 9_999, None, "Z", "2031-05-05"
    table = pa.table({"amount": amounts, "town": towns, "day": days})
    assert profile_table(ArrowData(table), DuckDBEngine()).sampled[0].rows < rows
    schema = infer_schema(table).schema
    assert inspect_table(read_table(table, schema)).number_of_rows == rows
    assert "Z" not in schema["town"].categories


def test_wide_tables_are_summed_up():
    """Of hundreds of columns the output says how many have each role, in a few lines."""
    guess = infer(**{f"c{place}": ["a", "b"] * 20 for place in range(300)})
    assert len(guess.summary().splitlines()) + len(guess.decisions) <= 40
    assert "300" in guess.summary()


def test_times_of_one_day_are_left_out():
    """Different cells of a single period give no category to tell apart."""
    times = [f"1970-01-01 10:00:{second:02}" for second in range(40)]
    guess = infer(when=times, job=["a", "b"] * 20)
    assert guess.schema.names == ("job",)
    assert "All of its dates are in one period." in guess.to_toml()
