"""From the file an office has to a release: nothing dropped, misread or binned wrongly without a word."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import numpy as np
import pytest

from messy import ROWS, write_messy
from sfumato import RandomizedResponse, Schema, publish, read_table
from sfumato.custody.schemas.inference import infer_schema
from sfumato.errors import SourceError
from sfumato.schema import Role


@pytest.fixture(scope="module", params=[("German", True), ("German", False), ("French", True)], ids=str)
def messy(request, tmp_path_factory):
    """A file, and the schema guessed from it."""
    language, named = request.param
    file = write_messy(tmp_path_factory.mktemp("messy"), language, named=named)
    return file, infer_schema(file.path, encoding="latin-1")


def attribute(messy, key):
    """What a column was taken for."""
    file, guess = messy
    return guess.schema[file.names[key]]


def test_every_column_is_accounted_for(messy):
    """What is left out is said to be; nothing disappears."""
    file, guess = messy
    assert [each.name for each in guess.findings] == list(file.names.values())
    left_out = [each.name for each in guess.findings if each.role is None]
    assert left_out == [file.names[key] for key in ("wave", "remark") if key == "wave" or file.secrets]
    assert f"Left out: {file.names['wave']!r}" in guess.to_toml().replace("\n# ", " ")


def test_roles_follow_from_how_values_are_written(messy):
    """Household and weight are found in German and in French; what might name a person is kept back without names too."""
    file, _ = messy
    assert attribute(messy, "person").role is Role.IDENTIFIER
    assert attribute(messy, "phone").role is Role.IDENTIFIER
    if file.secrets:
        assert attribute(messy, "household").role is Role.HOUSEHOLD
        assert attribute(messy, "weight").role is Role.WEIGHT
        assert attribute(messy, "weight").decimal == ","
    else:
        assert attribute(messy, "household").role is Role.IDENTIFIER


def test_the_secret_is_the_right_one_or_not_known(messy):
    """Names tell; without them nothing is guessed, and that is a decision."""
    file, guess = messy
    found = {each.name for each in guess.schema.with_role(Role.SENSITIVE)}
    assert found == {file.names[key] for key in file.secrets}
    assert any("No sensitive column" in each for each in guess.decisions) is not bool(file.secrets)


def test_codes_with_leading_zeros_stay_text(messy):
    """A postal code is cut to its beginning, zeros included."""
    postcode = attribute(messy, "postcode")
    assert postcode.prefix == 2
    assert {"01", "09", "39"} <= set(postcode.labels)


@pytest.mark.parametrize("key", ["income", "rent", "size", "age"])
def test_numbers_are_read_right_and_spread_over_bins(messy, key):
    """Each row is in the bin that its number is in; no bin is empty, none has most of the rows."""
    file, _ = messy
    column = attribute(messy, key)
    schema = Schema(attributes=(column,))
    (batch,) = read_table(file.path, schema, encoding="latin-1").scan()
    numbers = file.values[key]
    expected = [
        column.missing_code
        if number is None
        else int(np.searchsorted(column.edges, number, side="right") - 1)
        for number in numbers
    ]
    assert batch.codes[column.name].tolist() == expected
    counts = Counter(code for code in expected if code != column.missing_code)
    assert len(counts) == len(column.stated_labels)
    assert max(counts.values()) < 0.7 * ROWS


@pytest.mark.parametrize("key", ["birth", "interview"])
def test_dates_are_read_right(messy, key):
    """Each row is in the period of its day."""
    file, _ = messy
    column = attribute(messy, key)
    (batch,) = read_table(file.path, Schema(attributes=(column,)), encoding="latin-1").scan()
    days = [datetime.combine(day, datetime.min.time()) for day in file.values[key]]
    expected = [sum(start <= day for start in column.dates.starts[1:]) for day in days]
    assert batch.codes[column.name].tolist() == expected


def test_numbers_for_no_answer_are_missing_values(messy):
    """The -9 of a survey is no income."""
    assert attribute(messy, "income").missing_values == ("-9",)
    assert attribute(messy, "item0").missing_values == ("-9",)
    assert attribute(messy, "item0").labels == ("1", "2", "3", "4", "5", "(missing)")
    assert attribute(messy, "item0").ordered


def test_six_edited_lines_are_enough_for_a_release(messy, tmp_path):
    """The guess is published with at most one line changed: the role of the secret."""
    file, guess = messy
    path = tmp_path / "schema.toml"
    lines = guess.to_toml().splitlines()
    edited = list(lines)
    if not file.secrets:
        place = edited.index(f"[attributes.{file.names['illness']}]") + 1
        edited[place] = 'role = "sensitive"'
    assert sum(old != new for old, new in zip(lines, edited, strict=True)) <= 6
    # Lists of a questionnaire are public.
    path.write_text("\n".join(each for each in edited if each != "learned = true"), encoding="utf-8")
    table = read_table(file.path, path, encoding="latin-1")
    accept = ("singled-out", "key-column")
    release = publish(table, RandomizedResponse(retention=0.5), tmp_path / "release", seed=1, accept=accept)
    assert "100.0 % of the persons are unique" in release.manifest.weakness
    assert release.number_of_rows == ROWS
    illness = file.names["illness"]
    answer = release.query(f"\"{illness}\" = '{Counter(file.values['illness']).most_common(1)[0][0]}'")
    assert answer.low < 0.7 * ROWS < answer.high
    assert ("households: " in " ".join(release.manifest.not_protected)) is bool(file.secrets)


def test_a_first_line_that_may_be_a_header_or_a_row_is_refused(tmp_path):
    """A number above numbers and a text above dates: the answer changes what is published, and is asked for."""
    path = tmp_path / "bare.csv"
    path.write_text("0,5;a;b\n" + "3;2021-01-02;y\n0,5;2021-01-02;x\n" * 15, encoding="utf-8")
    with pytest.raises(SourceError, match="may be a header or a row"):
        infer_schema(path)


def test_a_file_without_a_header_is_read_with_names_of_its_own(tmp_path):
    """Taking values for names would publish the rest under a person's values: the first decision says how to go on."""
    path = tmp_path / "bare.csv"
    path.write_text("1;2021-01-01;x\n" + "3;2021-01-02;y\n0,5;2021-01-02;x\n" * 15, encoding="utf-8")
    guess = infer_schema(path)
    names = ["column_1", "column_2", "column_3"]
    assert [each.name for each in guess.findings] == names
    assert "--names" in guess.decisions[0]
    assert "--header" in guess.decisions[0]
    assert "2021" not in str(guess.decisions)
    assert read_table(path, guess.schema, names=names).number_of_rows == 31


def test_names_that_look_like_values_can_be_meant(tmp_path):
    """Years are names of columns in some files."""
    path = tmp_path / "years.csv"
    path.write_text("2019;2020\n" + "a;b\nb;a\n" * 15, encoding="utf-8")
    assert infer_schema(path, has_header=True).schema.names == ("2019", "2020")


def test_ambiguous_dates_are_said_to_be(tmp_path):
    """Where no day is above twelve, day and month could be either."""
    path = tmp_path / "dates.csv"
    days = [f"{day:02}/{month:02}/2021" for day in range(1, 13) for month in range(1, 13)] * 3
    path.write_text("\n".join(["when", *days]) + "\n", encoding="utf-8")
    assert any("day first or with the month first" in each for each in infer_schema(path).decisions)


@pytest.mark.parametrize(("other", "thousands"), [("2,5", "."), ("2.5", None)])
def test_the_marks_of_other_columns_settle_ambiguous_ones(tmp_path, other, thousands):
    """1.234 is a thousand where the file writes 2,5 and little more than one where it writes 2.5."""
    path = tmp_path / "marks.csv"
    rows = [f"{1 + number % 30}.{100 + number % 150};{other[:2]}{number % 90 + 10}" for number in range(300)]
    path.write_text("\n".join(["amount;share", *rows]) + "\n", encoding="utf-8")
    assert infer_schema(path).schema["amount"].thousands == thousands


def test_a_scale_is_no_survey_weight(tmp_path):
    """What a person weighs has one decimal, whatever the column is called."""
    path = tmp_path / "body.csv"
    draw = np.random.default_rng(1)
    rows = [f"{kilos:.1f};a" for kilos in draw.normal(75, 12, 500)]
    path.write_text("\n".join(["weight;job", *rows]) + "\n", encoding="utf-8")
    assert infer_schema(path).schema["weight"].role is Role.QUASI_IDENTIFIER
