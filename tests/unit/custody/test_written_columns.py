"""Columns that look like something else: codes like numbers, times like texts, numbers with a sign behind them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato import check_schema, read_table
from sfumato.custody.schemas.inference import infer_schema
from sfumato.schema import Role, Schema

DRAW = np.random.default_rng(23)
ROWS = 3_000


def guessed(**columns):
    """The schema guessed from some columns of text and one that is nothing special."""
    jobs = DRAW.choice(["a", "b"], ROWS)
    return infer_schema(pa.table({**columns, "job": jobs}))


def says(guess, column, words):
    """Whether something that is to be checked about a column says so."""
    (finding,) = (each for each in guess.findings if each.name == column)
    return any(words in str(each) for each in finding.checks)


@pytest.mark.parametrize("has_detail", [True, False])
def test_codes_with_points_are_cut_to_their_beginnings(has_detail):
    """Diagnoses are A00.1, some of them A00 alone: neither texts to drop nor names of people."""
    letters, numbers = DRAW.choice(list("ABEFIJ"), ROWS), DRAW.integers(0, 99, ROWS)
    codes = [
        f"{letter}{number:02}" + (f".{place % 9}" if has_detail or place % 3 else "")
        for place, (letter, number) in enumerate(zip(letters, numbers, strict=True))
    ]
    attribute = guessed(Diagnose_ICD=codes).schema["Diagnose_ICD"]
    assert attribute.role is Role.SENSITIVE
    assert attribute.prefix == 2
    assert {label[0] for label in attribute.labels} == set("ABEFIJ")


def test_the_shortest_beginning_that_tells_as_much_is_proposed():
    """The third digit is 0 in every code: it says nothing, and the list with it would look like another one."""
    codes = [f"{region:02}0{DRAW.integers(0, 99):02}" for region in DRAW.integers(1, 17, ROWS)]
    attribute = guessed(Gemeindeschluessel=codes).schema["Gemeindeschluessel"]
    assert attribute.prefix == 2
    assert attribute.labels == tuple(f"{region:02}" for region in range(1, 17))


@pytest.mark.parametrize(
    "name", ["Beruf_KldB", "kldb2010", "Beruf KldB", "profession_PCS", "diagnostic_CIM", "AGS"]
)
def test_codes_by_name_are_no_quantities(name):
    """Occupations 11111 to 94999 have no mean; KldB has a hump in its middle."""
    codes = [str(each) for each in DRAW.integers(11_111, 95_000, ROWS)]
    assert guessed(**{name: codes}).schema[name].prefix is not None


def test_numbers_that_all_have_as_many_digits_are_asked_about():
    """Without a name that tells, five digits in every row may be codes; years are not asked about."""
    guess = guessed(
        v1=[str(each) for each in DRAW.integers(10_000, 99_999, ROWS)],
        v2=[str(each) for each in DRAW.integers(1_900, 2_020, ROWS)],
        v3=[str(each) for each in DRAW.integers(9_000, 99_999, ROWS)],
    )
    assert [says(guess, name, "5 digits") for name in ("v1", "v2", "v3")] == [True, False, False]


def test_times_of_day_are_hours():
    """All 24 of them, whatever hours occur: nothing is learned."""
    minutes = DRAW.integers(8 * 60, 20 * 60, ROWS)
    table = {"Beginn": [f"{each // 60:02}:{each % 60:02}" for each in minutes]}
    guess = guessed(**table)
    attribute = guess.schema["Beginn"]
    assert attribute.labels == tuple(f"{hour:02}" for hour in range(24))
    assert attribute.ordered
    assert not attribute.learned
    (batch,) = read_table(pa.table(table), Schema(attributes=(attribute,))).scan()
    assert batch.codes["Beginn"].tolist() == (minutes // 60).tolist()


@pytest.mark.parametrize("sign", [" %", "%", " €", " EUR", " CHF"])
def test_numbers_with_a_sign_behind_them_are_said_with_the_query_that_reads_them(sign):
    """As texts they would be hundreds of categories, or dropped; with the query they get bins."""
    numbers = DRAW.uniform(0, 100, ROWS).round(1)
    table = pa.table(
        {
            "share": [f"{each}".replace(".", ",") + sign for each in numbers],
            "job": DRAW.choice(["a", "b"], ROWS),
        }
    )
    guess = infer_schema(table)
    (because,) = (
        check.because
        for each in guess.findings
        if each.name == "share"
        for check in each.checks
        if "sign" in check.sentence
    )
    assert any("sign" in each for each in guess.decisions)
    query = f"select * replace ({because}) from data"
    again = infer_schema(table, query=query)
    attribute = again.schema["share"]
    assert attribute.bins is not None
    assert attribute.decimal == ","
    (batch,) = read_table(table, Schema(attributes=(attribute,)), query=query).scan()
    assert (
        batch.codes["share"].tolist()
        == (np.searchsorted(attribute.edges, numbers, side="right") - 1).tolist()
    )


def test_numbers_for_no_answer_come_in_rows():
    """97, 98 and 99 beside 1 to 5 are refusals, not amounts."""
    answers = DRAW.choice(["1", "2", "3", "97", "98", "99"], ROWS)
    attribute = guessed(question=answers).schema["question"]
    assert attribute.labels == ("1", "2", "3", "(missing)")
    assert attribute.missing_values == ("97", "98", "99")


def test_ages_are_no_refusals():
    """97 is an age where 90 is one."""
    ages = [str(each) for each in DRAW.integers(18, 100, ROWS)]
    assert guessed(age=ages).schema["age"].missing_values == ()


@pytest.fixture
def survey(tmp_path):
    """A file of SPSS with labels of variables and values, some of which nobody has."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame(
        {
            "v1": DRAW.choice([1.0, 2.0, 3.0, -1.0, -2.0], ROWS),
            "v2": DRAW.choice([1.0, 2.0], ROWS),
            "v3": DRAW.lognormal(0, 0.3, ROWS).round(5),
            "v4": DRAW.choice([1.0, 2.0, 9.0], ROWS),
        }
    )
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels=[
            "Gesundheitszustand",
            "Wie alt sind Sie?",
            "Gewichtung, Hochrechnung auf Personen",
            "",
        ],
        variable_value_labels={
            "v1": {1: "sehr gut", 2: "gut", 3: "mittel", 4: "schlecht", -1: "keine Angabe", -2: "verweigert"},
            "v4": {1: "ja", 2: "nein"},
        },
        missing_ranges={"v1": [{"lo": -2, "hi": -1}]},
    )
    return path


def test_labels_of_values_are_listed_in_the_order_of_their_codes(survey):
    """Also those that nobody has, and none that stands for no answer."""
    attribute = infer_schema(survey).schema["v1"]
    assert attribute.labels == ("sehr gut", "gut", "mittel", "schlecht", "(missing)")
    assert check_schema(survey, infer_schema(survey).schema).fits


def test_values_without_a_label_are_listed_as_they_occur(survey):
    """9 has no label: a list of labels would leave it out."""
    assert infer_schema(survey).schema["v4"].labels == ("9", "ja", "nein")


def test_labels_of_variables_become_descriptions_and_tell_what_a_column_is(survey):
    """v1 is the secret because its label says so, v3 the weight."""
    guess = infer_schema(survey)
    assert guess.schema["v1"].description == "Gesundheitszustand"
    assert guess.schema["v1"].role is Role.SENSITIVE
    assert guess.schema["v2"].description == "Wie alt sind Sie?"
    assert guess.schema["v3"].role is Role.WEIGHT
    assert guess.schema["v4"].description is None


@pytest.mark.parametrize("query", ["select * from data", "select v1, v2 from data where v2 = '1'"])
def test_labels_are_known_of_a_query_too(survey, query):
    """Whoever filters out who did not consent keeps the labels."""
    guess = infer_schema(survey, query=query)
    assert guess.schema["v1"].description == "Gesundheitszustand"
    assert guess.schema["v1"].labels[3] == "schlecht"


def test_a_label_for_no_answer_is_no_category(tmp_path):
    """Stata has no missing codes that are numbers: the label tells."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"v1": DRAW.choice([1, 2, -1], ROWS), "v2": DRAW.choice(["x", "y"], ROWS)})
    path = tmp_path / "survey.dta"
    labels = {"v1": {1: "ja", 2: "nein", -1: "keine Angabe"}}
    pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)
    guess = infer_schema(path)
    assert guess.schema["v1"].labels == ("ja", "nein", "(missing)")
    assert guess.schema["v1"].missing_values == ("keine Angabe",)
    assert check_schema(path, guess.schema).fits


@pytest.mark.parametrize("is_listed", [True, False])
def test_letters_among_the_codes_of_stata_are_missing_values(tmp_path, is_listed):
    """.a and .b have labels too; they are not answers."""
    pyreadstat = pytest.importorskip("pyreadstat")
    answers = DRAW.choice(["1", "2", "a"], ROWS)
    frame = pd.DataFrame({"v1": [each if each == "a" else int(each) for each in answers]}, dtype=object)
    path = tmp_path / "survey.dta"
    pyreadstat.write_dta(
        frame,
        str(path),
        variable_value_labels={"v1": {1: "ja", 2: "nein", **({"a": "weiß nicht"} if is_listed else {})}},
        missing_user_values={"v1": ["a"]},
    )
    assert infer_schema(path).schema["v1"].labels == ("ja", "nein", "(missing)")
