"""Files that are stranger than most: what they hold is read right, or said."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import check_schema, read_table
from sfumato.custody.schemas.inference import infer_schema
from sfumato.errors import SourceError

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
    departments = [*map(str, range(1, 96)), "2A", "2B"] * 10
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


ROWS = "".join(f"{20 + place % 60};{'ab'[place % 2]}\n" for place in range(300))


def test_a_first_line_of_values_is_no_header(tmp_path):
    """Where columns are called as one of their own values, a person's row would become public as names."""
    towns = ["Bonn;yes", "Bern;no", "Bonn;no", "Bern;yes"] * 20
    guess = infer_schema(write(tmp_path, "\n".join(towns) + "\n"))
    assert guess.schema.names == ("column_1", "column_2")
    assert "--header" in guess.decisions[0]
    assert "Bonn" not in str(guess.decisions)


def test_a_first_row_of_values_in_memory_is_refused():
    """Names can be given for text files alone."""
    with pytest.raises(SourceError) as caught:
        infer_schema(pa.table({"1": ["a", "b"] * 20, "2021-01-01": ["c", "d"] * 20}))
    assert "--header" in str(caught.value)


def test_a_box_that_holds_its_own_name_is_a_column(tmp_path):
    """Forms write the name of a ticked box into it."""
    path = write(tmp_path, "age,job,asthma\n" + "30,a,asthma\n41,b,\n52,c,\n" * 20)
    assert "asthma" in infer_schema(path).schema.names


@pytest.mark.parametrize("title", ["Survey 2021\n", "Survey 2021;\n;\n"])
def test_a_title_above_the_header_is_refused(tmp_path, title):
    """All columns but the first would be without a name, and lost."""
    with pytest.raises(SourceError, match="above the header"):
        infer_schema(write(tmp_path, f"{title}age;job\n{ROWS}"))


@pytest.mark.parametrize(("first", "line"), [(";age;job\n", "1;{}"), ("age;job;\n", "{};")])
def test_a_column_that_is_not_read_is_said(tmp_path, first, line):
    """By infer, in the schema file, and by check."""
    path = write(tmp_path, first + "".join(f"{line.format(each)}\n" for each in ROWS.splitlines()))
    guess = infer_schema(path)
    assert any("not read" in each for each in guess.decisions)
    assert "without a name" in guess.to_toml()
    found = check_schema(path, guess.schema)
    assert found.fits
    assert "without a name" in found.summary()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_by_which_spreadsheets_state_the_mark_is_understood(tmp_path, end):
    """sep=; is no header."""
    path = write(tmp_path, (f"sep=;\nage;job\n{ROWS}").replace("\n", end))
    guess = infer_schema(path)
    assert guess.schema.names == ("age", "job")
    assert read_table(path, guess.schema).number_of_rows == 300


def test_characters_of_two_units_are_read_from_utf_16(tmp_path):
    """Emoji and rare ideographs, which the engine's own reader refuses."""
    path = write(tmp_path, "age;job\n" + "30;😀\n41;𠮷\n" * 30, encoding="utf-16")
    assert infer_schema(path).schema["job"].labels == ("😀", "𠮷")


@pytest.mark.parametrize(
    ("text", "encoding", "likely"),
    [
        ("年齢,病気\n30,糖尿病\n", "cp932", "cp932 (Japanese)"),
        ("年齢,病気\n30,糖尿病\n", "euc_jp", "euc_jp (Japanese)"),
        ("цена,дуб\nбуква,ж\n", "cp1251", "cp1251 (Cyrillic)"),  # noqa: RUF001 - they are Cyrillic
        ("名,病\nアイウエ,カキクケ\n", "cp932", "cp932 (Japanese)"),
    ],
)
def test_the_question_for_the_encoding_names_the_likely_one(tmp_path, text, encoding, likely):
    """Japanese read as cp1252 would become categories that nobody wrote."""
    with pytest.raises(SourceError) as caught:
        infer_schema(write(tmp_path, text, encoding=encoding))
    assert likely in str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "said"), [("utf-8", "cp1252"), ("utf-8-sig", "latin-1"), ("cp1252", "latin-1")]
)
def test_an_encoding_that_gives_other_letters_is_refused(tmp_path, encoding, said):
    """Every byte is something in latin-1, and hardly ever what was written."""
    path = write(tmp_path, "town;price\nKöln;3 €\n", encoding=encoding)
    with pytest.raises(SourceError, match="--encoding"):
        infer_schema(path, encoding=said)


def test_a_line_that_is_too_long_is_said_to_be(tmp_path):
    """Not that it had a wrong number of columns."""
    path = write(tmp_path, f"age,remark\n30,{'x' * 3_000_000}\n")
    with pytest.raises(SourceError, match="two million bytes"):
        infer_schema(path)
