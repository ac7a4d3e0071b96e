"""Files that are stranger than most: what they hold is read right, or said."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import check_schema
from sfumato.custody.infer import infer_schema

DRAW = np.random.default_rng(7)


def write(folder, text, *, encoding="utf-8"):
    """A file with a text in it, its line ends as they are."""
    path = folder / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


def jobs(number):
    """A column that is nothing special."""
    return DRAW.choice(["a", "b"], number).tolist()


def test_very_many_columns_are_asked_together(tmp_path):
    """A hundred columns of amounts: a question for each would take minutes to plan and more memory than there is."""
    numbers = DRAW.lognormal(5, 1, (1_700, 100)).round(3)
    names = ";".join(f"v{place}" for place in range(100))
    rows = [";".join(f"{number:.3f}".replace(".", ",") for number in row) for row in numbers]
    guess = infer_schema(write(tmp_path, "\n".join([names, *rows]) + "\n"))
    assert {each.kind for each in guess.findings} == {"bins"}
    assert {each.decimal for each in guess.schema.attributes} == {","}


def test_columns_named_as_ours_are_columns_of_theirs(tmp_path):
    """Names that our own queries use, and words of SQL, are names like others."""
    names = ["before0", "number0", "select", 'a "b"', "it's", "total", "key0", "portion", "size", "rows"]
    table = pa.table({name: (DRAW.permutation(600) % 300).astype(float) + 0.5 for name in names})
    guess = infer_schema(table)
    assert guess.schema.names == tuple(names)
    assert check_schema(table, guess.schema).fits


@pytest.mark.parametrize("odd", [("don't know", "refused"), ("inf", "-inf")])
def test_texts_among_numbers_are_missing_values_that_a_person_must_check(tmp_path, odd):
    """The numbers are binned; the texts are not categories next to them."""
    amounts = [odd[place % 5] if place % 5 < 2 else f"{place * 1.37:.2f}" for place in range(2_000)]
    path = write(tmp_path, "amount,job\n" + "".join(map("{},{}\n".format, amounts, jobs(2_000))))
    guess = infer_schema(path)
    assert guess.schema["amount"].bins is not None
    assert set(guess.schema["amount"].missing_values) == set(odd)
    assert any("texts among them" in each for each in guess.decisions)
    assert check_schema(path, guess.schema).fits


def test_codes_with_letters_are_no_numbers_with_mistakes(tmp_path):
    """Corsica is not a missing value."""
    departments = [*map(str, range(1, 96)), "2A", "2B"] * 3
    path = write(
        tmp_path, "place,job\n" + "".join(map("{},{}\n".format, departments, jobs(len(departments))))
    )
    assert {"2A", "2B"} <= set(infer_schema(path).schema["place"].labels)


def test_no_answer_may_have_decimals(tmp_path):
    """-9,00 is the -9 of surveys, written as the other amounts are."""
    amounts = [
        "-9,00" if place % 10 == 0 else f"{place * 1.37 + 20:.2f}".replace(".", ",") for place in range(900)
    ]
    path = write(tmp_path, "amount;job\n" + "".join(map("{};{}\n".format, amounts, jobs(900))))
    amount = infer_schema(path).schema["amount"]
    assert amount.missing_values == ("-9,00",)
    assert amount.edges[0] >= 0


def test_cells_of_spaces_are_missing(tmp_path):
    """Padded files hold blanks where there is nothing; the guess fits its own data."""
    ages = ["   " if place % 9 == 0 else str(20 + place % 60) for place in range(300)]
    path = write(tmp_path, "age,job\n" + "".join(map("{},{}\n".format, ages, jobs(300))))
    guess = infer_schema(path)
    assert guess.schema["age"].missing == "category"
    assert check_schema(path, guess.schema).fits


def test_numbers_of_a_typed_column_have_no_marks_for_thousands():
    """1.234 in a column of numbers is little more than one, whatever text files may mean by it."""
    numbers = [(1_001 + 10 * place) / 1_000 for place in range(500)]
    table = pa.table({"share": numbers, "amount": [f"{place},5" for place in range(500)], "job": jobs(500)})
    guess = infer_schema(table)
    assert guess.schema["share"].thousands is None
    assert guess.schema["share"].edges[-1] < 10
    assert check_schema(table, guess.schema).fits
