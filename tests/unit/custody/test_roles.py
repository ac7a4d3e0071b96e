"""What a column is: each rule by hand on small tables in the shape of real ones, and tables without any evidence."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.custody.schemas.inference import infer_schema
from sfumato.custody.schemas.profiles import profile_table
from sfumato.custody.schemas.roles import Label, Roles, infer_roles, key_columns
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.sources.columnar import ArrowData

DRAW = np.random.default_rng(46)
ROWS = 600


def encoded(**columns):
    """Columns as the rules see them."""
    table = pa.table({name.replace("__", "."): values for name, values in columns.items()})
    return profile_table(ArrowData(table), DuckDBEngine()).sampled


def roles(**columns) -> Roles:
    """What the rules find."""
    return infer_roles(encoded(**columns))


def label(**columns) -> Label:
    """What the rules find of the first of some columns."""
    return next(iter(roles(**columns, other=plain()).labels.values()))[0]


def plain(number=ROWS):
    """A column that is nothing special."""
    return DRAW.choice(["a", "b", "c"], number)


def visits(persons=100, each=6, **other):
    """A long table: persons with a few visits each, whose sex and birth year agree and whose values vary."""
    person = np.repeat(DRAW.permutation(np.arange(1_000, 1_000 + persons)), each)
    sex = DRAW.choice(["F", "M"], persons)[np.argsort(np.argsort(person[::each])).repeat(each)]
    value = DRAW.normal(10, 2, persons * each).round(1)
    return {"person": person, "sex": sex, "value": value, **other}


def test_row_numbers_count_the_rows_and_serial_identifiers_are_said_to():
    """1 to n in file order by a name that is no person's; sparse names of rows in the first column."""
    count = list(range(1, ROWS + 1))
    assert label(rownames=sorted(DRAW.choice(9_999, ROWS, replace=False).tolist())) is Label.ROW_NUMBER
    assert label(v1=count) is Label.ROW_NUMBER
    found = roles(subject_id=count, other=plain())
    assert found.labels["subject_id"][0] is Label.IDENTIFIER
    assert found.serial == {"subject_id"}
    assert label(v1=DRAW.permutation(count) * 3) is not Label.ROW_NUMBER


@pytest.mark.parametrize(
    ("name", "numbers", "others", "expected"),
    [
        ("weight", DRAW.gamma(4, 2_000, ROWS), {}, Label.WEIGHT),
        ("WTINT2YR", DRAW.gamma(4, 9_000, ROWS), {}, Label.WEIGHT),
        ("pondération", DRAW.gamma(9, 1 / 9, ROWS), {}, Label.WEIGHT),
        ("weight", DRAW.normal(75, 12, ROWS).round(1), {}, Label.QUASI_IDENTIFIER),
        ("wt82", DRAW.gamma(4, 18, ROWS) + 1, {"height": DRAW.normal(170, 9, ROWS).round()}, Label.QUASI_IDENTIFIER),
        ("birth_weight", DRAW.normal(3_300, 500, ROWS).round(), {}, Label.QUASI_IDENTIFIER),
        ("amount", DRAW.gamma(4, 2_000, ROWS), {}, Label.QUASI_IDENTIFIER),
    ],
)  # fmt: skip
def test_survey_weights_by_name_and_by_what_they_add_up_to(name, numbers, others, expected):
    """Never by decimals; what a scale shows is none."""
    assert label(**{name: numbers}, **others) is expected


def test_replicate_weights_are_a_family_with_the_mean_of_the_weight():
    """Numbered items of a questionnaire are not."""
    weight = DRAW.gamma(4, 2_000, ROWS)
    family = {f"brr{place}": weight * DRAW.choice([0.5, 1.5], ROWS) for place in range(1, 11)}
    items = {f"item{place}": DRAW.integers(1, 6, ROWS) for place in range(1, 11)}
    found = roles(finalwgt=weight, **family, **items)
    assert found.named(Label.REPLICATE_WEIGHT) == list(family)
    assert found.named(Label.WEIGHT) == ["finalwgt"]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("sdmvstra", DRAW.integers(1, 30, ROWS), Label.STRATUM),
        ("psu", DRAW.integers(1, 60, ROWS), Label.CLUSTER),
        ("v", [f"{1 + n % 28:02}.{1 + n % 12:02}.20{n % 20:02}" for n in range(ROWS)], Label.DATE),
        ("v", [f"{('Jan', 'Feb', 'Mar')[n % 3]}-20{10 + n % 9}" for n in range(ROWS)], Label.DATE),
        ("v", (1_960 + DRAW.random(ROWS) * 50).round(4), Label.DATE),
        ("v", [20_190_000 + 100 * (1 + n % 12) + 1 + n % 28 for n in range(ROWS)], Label.DATE),
        ("v", [f"person-{n}" for n in range(ROWS)], Label.IDENTIFIER),
        ("v", [f"{chr(97 + n % 26)}{n}@mail.org" for n in range(ROWS)], Label.IDENTIFIER),
        ("v", [f"{n % 900 + 100}-{n % 90 + 10}-{n + 1_000}" for n in range(ROWS)], Label.IDENTIFIER),
        ("drivers_license", [f"S{99_900_000 + n}" for n in range(ROWS)], Label.IDENTIFIER),
        ("last", [f"{chr(65 + n % 26)}{chr(97 + n // 26)}eyer" for n in range(ROWS)], Label.IDENTIFIER),
        ("clinic_name", [f"Clinic {chr(65 + n % 26)}" for n in range(ROWS)], Label.QUASI_IDENTIFIER),
        ("v", [f"They said that number {n} came late, and that this was not their own fault" for n in range(ROWS)], Label.FREE_TEXT),
        ("town", ["x"] * ROWS, Label.CONSTANT),
        ("town", ["x", None] * (ROWS // 2), Label.QUASI_IDENTIFIER),
        ("years_at_company", DRAW.permutation(ROWS), Label.QUASI_IDENTIFIER),
        ("case_number", [f"13-{n:05}" if n % 3 else None for n in range(ROWS)], Label.IDENTIFIER),
        ("net_income", DRAW.integers(1, 9, ROWS), Label.SENSITIVE),
    ],
)  # fmt: skip
def test_what_names_and_values_say(name, values, expected):
    """Designs, dates, texts, names of persons and their numbers."""
    assert label(**{name: values}) is expected


def test_a_copy_is_derived_and_a_binary_one_is_not_called_so():
    """One to one with an earlier column; two columns of two values may be by chance."""
    codes = DRAW.integers(0, 6, ROWS)
    found = roles(grade=codes, grade_text=[f"g{code}" for code in codes], other=plain())
    assert found.labels["grade_text"] == (Label.DERIVED, "one to one with 'grade'")
    assert not roles(a=codes % 2, b=1 - codes % 2).named(Label.DERIVED)


def test_a_person_with_several_rows_is_the_unit():
    """Its name, and sex that agrees within; other names of the same persons are identifiers."""
    table = visits()
    table["usubjid"] = [f"STUDY-{each}" for each in table["person"]]
    found = roles(**table)
    assert len(found.named(Label.UNIT)) == 1
    assert found.candidates[0].trait == 1
    assert "sex" in found.candidates[0].fixed
    assert {*found.named(Label.UNIT, Label.IDENTIFIER)} == {"person", "usubjid"}


@pytest.mark.parametrize(
    ("name", "is_unit"),
    [("patient", True), ("Teilnehmer", True), ("individu", True), ("cédula", True), ("batch", False), ("person_count", False)],
)  # fmt: skip
def test_a_word_for_a_person_counts_without_any_trait(name, is_unit):
    """In several languages; beside a word of measure it is none."""
    table = visits(persons=150)
    found = roles(**{name: DRAW.permutation(table["person"])}, value=table["value"], other=plain(900))
    assert found.named(Label.UNIT) == ([name] if is_unit else [])


def test_a_key_without_a_word_for_a_person_is_asked_about_or_kept_back():
    """Between the two scores a column is kept back; the question names it with its figures."""
    table = visits()
    columns = {"rec_id": DRAW.permutation(table["person"]), "value": table["value"]}
    assert 1.5 <= roles(**columns).candidates[0].score < 4.5
    guess = infer_schema(pa.table(columns))
    assert guess.schema["rec_id"].role == "identifier"
    assert guess.decisions[0].startswith("600 rows, 100 values of 'rec_id'. Does it say whose rows they are?")


def test_rows_of_a_household_are_several_persons():
    """Few rows each, whose sex differs; with a person number both together name a person."""
    sizes = DRAW.integers(2, 6, 200)
    home = np.repeat(np.arange(500, 700), sizes)
    member = np.concatenate([np.arange(1, size + 1) for size in sizes])
    sex, age = DRAW.choice(["F", "M"], home.size), DRAW.integers(0, 90, home.size)
    found = roles(hhid=home, pernum=member, sex=sex, age=age)
    assert found.named(Label.HOUSEHOLD) == ["hhid"]
    assert found.composite == ("hhid", "pernum")
    assert found.labels["pernum"][0] is Label.IDENTIFIER
    guess = infer_schema(pa.table({"hhid": home, "pernum": member, "sex": sex, "age": age}))
    assert "'hhid' and 'pernum' together" in guess.decisions[0]
    assert "Taken for a household" in guess.decisions[1]


def test_a_place_is_no_person():
    """Schools have many pupils each, who differ."""
    school = DRAW.integers(0, 40, ROWS)
    found = roles(school_id=school, sex=DRAW.choice(["F", "M"], ROWS), score=DRAW.normal(0, 1, ROWS).round(1))
    assert not found.named(Label.UNIT, Label.HOUSEHOLD)
    assert found.labels["school_id"][0] is Label.CLUSTER


def test_a_table_without_evidence_claims_nothing():
    """Negative control: columns of independent draws, whatever their types."""
    found = roles(
        v0=DRAW.integers(0, 50, ROWS), v1=plain(), v2=DRAW.normal(0, 1, ROWS).round(2), v3=DRAW.integers(1, 6, ROWS)
    )  # fmt: skip
    assert {each for each, _ in found.labels.values()} == {Label.QUASI_IDENTIFIER}
    assert not found.candidates
    assert found.household is None


def test_key_columns_are_those_that_look_like_a_key():
    """What publishing refuses: row numbers, identifiers and units, by their values alone where names say nothing."""
    columns = encoded(
        **visits(), rowid=np.arange(ROWS), license=[f"S{n:07}" for n in range(ROWS)], other=plain()
    )
    assert key_columns(columns) == ("person", "rowid", "license")
    assert key_columns(encoded(a=plain(), b=plain())) == ()


def test_the_questions_have_figures_and_no_values():
    """What a row is comes first, then what is kept back, then the weight; nothing private is among them."""
    table = visits(weight=DRAW.gamma(4, 2_000, ROWS), email=[f"x{n}@mail.org" for n in range(ROWS)])
    guess = infer_schema(pa.table(table))
    assert guess.decisions[0].startswith(
        "600 rows, 100 values of 'person'; sex agree within each. Taken for the unit"
    )
    assert "'email' (its values have the form of a direct identifier): Kept back" in guess.decisions[1]
    assert guess.decisions[2].startswith("'weight' adds up to ")
    assert not [value for value in ("mail.org", "1000", "1099") if value in str(guess.decisions)]
    without = infer_schema(pa.table({"v0": plain(), "v1": plain()}))
    assert without.decisions[0].startswith("No column names the person")


def test_what_cannot_be_read_as_a_weight_or_household_is_kept_back(tmp_path):
    """A weight of 0 and a household with gaps would be refused by publish; a unit with gaps is said to be."""
    weight = DRAW.gamma(4, 2_000, ROWS)
    weight[3] = 0
    table = visits(weight=weight)
    table["person"] = [None if place < 2 else int(each) for place, each in enumerate(table["person"])]
    guess = infer_schema(pa.table(table))
    assert guess.schema["weight"].role == "identifier"
    assert guess.schema["person"].role == "unit"
    assert any("lacks a value in some rows" in each and "2 rows" in each for each in guess.decisions)


def test_left_out_columns_are_not_listed_and_the_file_says_why():
    """Row numbers, constants, copies and free text."""
    codes = DRAW.integers(0, 6, ROWS)
    text = infer_schema(
        pa.table({"rownames": np.arange(1, ROWS + 1), "grade": codes, "again": codes, "same": ["x"] * ROWS})
    ).to_toml()
    assert "[attributes.grade]" in text
    for name, reason in (("rownames", "counts the rows"), ("again", "One to one"), ("same", "same value")):
        assert f"[attributes.{name}]" not in text
        assert any(f"Left out: '{name}'" in line and reason in line for line in text.splitlines())


def test_five_hundred_columns_take_time_in_proportion(tmp_path):
    """At the memory that is the default; roles, formats and edges of each."""
    path = tmp_path / "wide.csv"
    numbers = DRAW.integers(0, 5, (400, 500))
    rows = "\n".join(",".join(map(str, row)) for row in numbers)
    path.write_text(",".join(f"v{place}" for place in range(500)) + f"\n{rows}\n", encoding="utf-8")
    assert len(infer_schema(path).findings) == 500
