"""Files of statistical packages, workbooks and stdin: labels and missing codes arrive, nothing else does."""

from __future__ import annotations

import datetime as dt
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.private_table import read_table
from sfumato.data.sources import open_source
from sfumato.data.sources import packages as statistics
from sfumato.errors import MissingExtraError, SourceError
from sfumato.schema import Schema

SCHEMA = Schema.from_toml("""
[attributes.sex]
role = "quasi-identifier"
categories = ["Male", "Female", "3"]
missing = "category"
[attributes.age]
role = "quasi-identifier"
bins = [0, 30, 41.5, 100]
[attributes.city]
role = "other"
categories = ["Köln", "Łódź"]
missing = "category"
""")
FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0, np.nan, 3.0],
        "age": [29.0, 41.5, 30.0, 60.0, 41.0],
        "city": ["Köln", "", "Łódź", "Köln", "Łódź"],
    }
)
LABELS = {"sex": {1: "Male", 2: "Female", 9: "Refused"}}
CODES = {"sex": [0, 1, 3, 3, 2], "age": [0, 2, 1, 2, 1], "city": [0, 2, 1, 0, 1]}


def codes_read(data, schema=SCHEMA, **options) -> dict[str, list[int]]:
    """All codes by attribute."""
    batches = list(read_table(data, schema, **options).scan())
    return {name: [code for each in batches for code in each.codes[name].tolist()] for name in schema.names}


def write_spss(path: Path) -> None:
    """With 9 declared missing."""
    pyreadstat.write_sav(FRAME, str(path), variable_value_labels=LABELS, missing_ranges={"sex": [9]})


def write_stata(path: Path) -> None:
    """With 9 as the missing value .a, as Stata has no declared ones."""
    frame = FRAME.assign(sex=FRAME["sex"].astype(object).where(FRAME["sex"] != 9, "a"))
    pyreadstat.write_dta(frame, str(path), variable_value_labels=LABELS, missing_user_values={"sex": ["a"]})


@pytest.mark.parametrize(
    ("name", "write"), [("a.sav", write_spss), ("a.zsav", write_spss), ("a.dta", write_stata)]
)
@pytest.mark.parametrize("rows_per_part", [2, 5, 50_000])
def test_labels_and_missing_codes_arrive(tmp_path, monkeypatch, name, write, rows_per_part):
    """A label is read for its code, a number without one as it is written, a declared missing code as missing."""
    monkeypatch.setattr(statistics, "ROWS_PER_PART", rows_per_part)
    write(tmp_path / name)
    assert codes_read(tmp_path / name) == CODES
    assert open_source(tmp_path / name).columns() == ("sex", "age", "city")


@pytest.mark.parametrize(
    ("name", "write"), [("a.xpt", pyreadstat.write_xport), ("a.por", pyreadstat.write_por)]
)
def test_formats_without_labels_are_read(tmp_path, name, write):
    """SAS transport files and old SPSS ones."""
    frame = FRAME.assign(city=["a", "b", "a", "b", "a"])
    write(frame, str(tmp_path / name))
    names = open_source(tmp_path / name).columns()
    schema = Schema.from_dict(
        {
            "attributes": {
                names[0]: {"role": "other", "categories": ["1", "2", "3", "9"], "missing": "category"},
                names[2]: {"role": "other", "categories": ["a", "b"]},
            }
        }
    )
    assert codes_read(tmp_path / name, schema) == {names[0]: [0, 1, 3, 4, 2], names[2]: [0, 1, 0, 1, 0]}


@pytest.mark.parametrize("query", ["from data where sex = 1", "from data where cast(sex as int) = 1"])
def test_a_query_by_codes_on_labels_is_not_called_a_damaged_file(tmp_path, query):
    """Whoever knows the codes asks by them: what is wrong is the query, and the label is not told."""
    write_spss(tmp_path / "people.sav")
    with pytest.raises(SourceError, match=r"a cell is no number.*labels.*try_cast") as caught:
        codes_read(tmp_path / "people.sav", query=query)
    assert "damaged" not in str(caught.value)
    assert "Male" not in str(caught.value)


def test_labels_that_codes_share_are_told_apart(tmp_path):
    """Two codes must not become one category because somebody named them alike."""
    labels = {"sex": {1: "Other", 2: "Other", 3: "Third"}}
    pyreadstat.write_sav(FRAME[["sex"]], str(tmp_path / "a.sav"), variable_value_labels=labels)
    schema = Schema.from_toml(
        '[attributes.sex]\nrole = "other"\nmissing = "category"\ncategories = ["Other (1)", "Other (2)", "Third", "9"]'
    )
    assert codes_read(tmp_path / "a.sav", schema) == {"sex": [0, 1, 3, 4, 2]}


def test_dates_of_spss_are_written_as_days(tmp_path):
    """As a CSV file would hold them."""
    frame = pd.DataFrame({"born": [dt.date(1990, 1, 2), dt.date(2000, 12, 31)]})
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"))
    schema = Schema.from_toml('[attributes.born]\nrole = "other"\ncategories = ["1990-01-02", "2000-12-31"]')
    assert codes_read(tmp_path / "a.sav", schema) == {"born": [0, 1]}


@pytest.mark.parametrize("name", ["a.sav", "a.dta", "a.sas7bdat", "a.xpt", "a.por", "a.xlsx", "a.ods"])
def test_files_that_are_something_else_are_refused_without_their_text(tmp_path, name):
    """In one sentence."""
    (tmp_path / name).write_bytes(b"SECRET-MARKER" * 100)
    with pytest.raises(SourceError, match="cannot be read") as caught:
        open_source(tmp_path / name).columns()
    assert "MARKER" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("a.sav", "pyreadstat", "statistics"), ("a.xlsx", "python_calamine", "excel")],
)
def test_without_the_library_the_install_command_is_said(tmp_path, monkeypatch, name, module, extra):
    """The extra's name is in the sentence."""
    (tmp_path / name).touch()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'sfumato\[{extra}\]'"):
        open_source(tmp_path / name).columns()


@pytest.fixture
def book(tmp_path) -> Path:
    """A workbook of two sheets, one of them people, with a column that has no name."""
    made = openpyxl.Workbook()
    made.active.title = "Notes"
    made.active["A1"] = "people are on the other sheet"
    sheet = made.create_sheet("People")
    sheet.append([None, "sex", "age", "city"])
    for sex, age, city in zip(["Male", "Female", None, None, 3], FRAME["age"], FRAME["city"], strict=True):
        sheet.append(["SECRET-MARKER", sex, age, city])
    made.save(tmp_path / "people.xlsx")
    return tmp_path / "people.xlsx"


def test_a_sheet_of_a_workbook_is_read(book):
    """Numbers as they are written, empty cells as missing, columns without a name not at all."""
    assert codes_read(book, table="People") == CODES
    chosen = codes_read(book, table="People", query="from data where cast(age as double) > 30")
    assert chosen["sex"] == [1, 3, 2]


def test_a_first_column_without_a_name_is_said_and_others_are_refused(book, tmp_path):
    """Row numbers may be left out; a title above the header would lose every column but one."""
    assert "column 1 without a name" in open_source(book, table="People").remarks[0]
    made = openpyxl.Workbook()
    made.active.append(["Survey of 2021", None])
    made.active.append(["sex", "age"])
    made.active.append(["Male", 31])
    made.save(tmp_path / "title.xlsx")
    with pytest.raises(SourceError, match="names for 1 of them") as caught:
        open_source(tmp_path / "title.xlsx").columns()
    assert "Male" not in str(caught.value)


def test_rows_without_anything_in_them_are_nobody(tmp_path):
    """A line between two parts of a sheet is no person, and that it was left out is said."""
    made = openpyxl.Workbook()
    for row in (["job", "age"], ["a", 31], [None, None], [None, 40], [None, None], ["b", 50]):
        made.active.append(row)
    made.save(tmp_path / "gaps.xlsx")
    source = open_source(tmp_path / "gaps.xlsx")
    assert source.remarks == ("gaps.xlsx: 2 rows without anything in a cell, not read.",)
    schema = '[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]\nmissing = "category"'
    table = read_table(tmp_path / "gaps.xlsx", Schema.from_toml(schema))
    assert table.count_by(["job"]).counts.tolist() == [1, 1, 1]


def test_a_sheet_must_be_named_where_there_are_several(book):
    """The names of sheets are listed, the nearest is suggested."""
    with pytest.raises(SourceError, match=r"has the sheets 'Notes', 'People'\. Say which by --table"):
        open_source(book).columns()
    with pytest.raises(SourceError, match="no sheet 'Peple'; did you mean 'People'"):
        open_source(book, table="Peple").columns()


def test_an_empty_sheet_is_refused(tmp_path):
    """There is no header."""
    openpyxl.Workbook().save(tmp_path / "a.xlsx")
    with pytest.raises(SourceError, match="is empty"):
        open_source(tmp_path / "a.xlsx").columns()


class Piped:
    """What stands for stdin in a test."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("kind", ["csv", "cp1252", "parquet"])
def test_rows_come_by_stdin(monkeypatch, kind):
    """They are read more than once, and leave nothing behind."""
    frame = FRAME.assign(sex=["Male", "Female", None, None, "3"], city=["Köln", None, None, "Köln", None])
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pandas(frame), sink)
        content = sink.getvalue()
    else:
        content = frame.to_csv(index=False).encode("cp1252" if kind == "cp1252" else "utf-8")
    monkeypatch.setattr(sys, "stdin", Piped(content))
    table = read_table("-", SCHEMA, encoding="cp1252" if kind == "cp1252" else None)
    folder = table.source.path.parent
    assert [table.count_by(["sex"]).counts.tolist() for _ in range(2)] == [[1, 1, 1, 2]] * 2
    assert table.source.description == "stdin"
    assert folder.is_dir()
    del table
    assert not folder.exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not show open files as files")
def test_rows_by_stdin_have_no_name_and_stay_in_the_temporary_folder(monkeypatch, tmp_path):
    """Whatever ends the process, kill -9 included, the system removes them with it."""
    content = FRAME.assign(sex=["Male", "Female", None, None, "3"]).to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", Piped(content))
    table = read_table("-", SCHEMA, engine=DuckDBEngine(temporary_folder=tmp_path))
    assert table.number_of_rows == 5
    assert table.source.path.is_relative_to(tmp_path)
    found = [each for each in tmp_path.rglob("*") if each.is_file() and not each.is_symlink()]
    assert not any(b"Female" in each.read_bytes() for each in found)
    table.close()
    del table
    assert list(tmp_path.iterdir()) == []


def test_stdin_that_breaks_off_leaves_nothing(monkeypatch, tmp_path):
    """A signal while another program still writes."""

    class Stopping(io.BytesIO):
        def read(self, *_):
            raise SystemExit(143)

    piped = Piped(b"")
    piped.buffer = Stopping()
    monkeypatch.setattr(sys, "stdin", piped)
    with pytest.raises(SystemExit):
        read_table("-", SCHEMA, engine=DuckDBEngine(temporary_folder=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_reads_stdin(tmp_path):
    """As other tools do."""
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    frame = FRAME.assign(sex=["Male", "Female", None, None, "3"])
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from sfumato.cli import main; main()"),
            *("inspect", "-", "--schema", str(tmp_path / "schema.toml"), "--json"),
        ],
        input=frame.to_csv(index=False).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["number_of_rows"] == 5
