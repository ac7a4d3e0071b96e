"""Rows that a reader could lose or change: NaN beside equal numbers, long last lines, headers, wide files."""

from __future__ import annotations

import gzip
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.fingerprints import fingerprint
from sfumato.data.private_table import read_table
from sfumato.data.sources import open_source
from sfumato.data.sources.base import MOST_COLUMNS
from sfumato.errors import DataError, SourceError
from sfumato.schema import Attribute, Role, Schema

NAN = float("nan")
COLUMNS = {
    "equal": [1.0] * 3 + [NAN] * 7,
    "all": [NAN] * 5,
    "one": [1.0],
    "mixed": [0.0, 1.0, 2.0, NAN],
}
ROWS = [["ann", "31", "x"], ["bob", "42", "y"], ["cem", "31", "x"], ["dee", "57", "x"]]


def attribute(kind: str, missing: str) -> Attribute:
    """A column of numbers, in intervals or as texts."""
    chosen = {"bins": (0.0, 1.0, 2.0, 3.0)} if kind == "bins" else {"categories": ("0.0", "1.0", "2.0")}
    return Attribute(name="x", role=Role.OTHER, missing=missing, **chosen)


@pytest.mark.parametrize("kind", ["bins", "categories"])
@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("type_", [pa.float16(), pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("place", ["file", "file without statistics", "memory", "database", "splits"])
def test_nan_is_missing_whatever_the_statistics_say(tmp_path, place, type_, values, kind):
    """A file's smallest and largest value leave it out, and expressions are computed from them."""
    if type_ == pa.float16() and place in ("memory", "database"):
        pytest.skip("DuckDB reads it from Parquet alone")
    table = pa.table({"x": pa.array(np.array(values, type_.to_pandas_dtype()), type_)})
    source, engine = table, SplitEngine(LocalRunner()) if place == "splits" else DuckDBEngine()
    if place != "memory":
        source = tmp_path / "data.parquet"
        pq.write_table(table, source, write_statistics=place != "file without statistics")
    if place == "database":
        with duckdb.connect(str(tmp_path / "data.duckdb")) as made:
            made.execute(f"create table data as from '{source}'")
        source = f"{tmp_path / 'data.duckdb'}::data"
    expected = [*(values.count(float(number)) for number in range(3)), sum(np.isnan(values))]
    with read_table(source, Schema(attributes=(attribute(kind, "category"),)), engine=engine) as read:
        assert read.count_by(["x"]).counts.tolist() == expected
        codes = np.concatenate([batch.codes["x"] for batch in read.scan()])
        assert np.bincount(codes, minlength=4).tolist() == expected
        with read.at_rest() as resting:
            assert resting.count_by(["x"]).counts.tolist() == expected
        if place != "splits":
            (column,) = read._declared.attributes
            where = [(column, (3,))]
            assert read.engine.count_by(read.source, (), where).total == expected[3]
    strict = read_table(source, Schema(attributes=(attribute(kind, "error"),)), engine=engine)
    assert [each.number_of_rows for each in strict.misfits()] == ([expected[3]] if expected[3] else [])
    if expected[3]:
        with pytest.raises(DataError, match="has no value"):
            list(strict.scan())


LONG = 33_000_000
"""Bytes of a line that DuckDB loses at the end of a file: more than one of its buffers."""

JOBS = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "z"]')


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_long_last_line_is_refused_and_not_lost(tmp_path, ending, end):
    """Also where only a column is long that nobody asks for."""
    path = tmp_path / f"people.{ending}"
    content = ("job,note\n" + "a,b\n" * 100 + "a," + "z" * LONG + end).encode()
    path.write_bytes(gzip.compress(content, 1) if ending.endswith("gz") else content)
    for engine in (DuckDBEngine(), SplitEngine(LocalRunner())):
        with pytest.raises(SourceError, match="longer than two million bytes"):
            read_table(path, JOBS, engine=engine).count_by(["job"])
    (tmp_path / "people2.csv").write_text("job,note\na,b\n")
    with pytest.raises(SourceError, match="longer than two million bytes"):
        read_table(str(tmp_path / "people*"), JOBS).count_by(["job"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", [0, 1_999_000])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_line_of_more_than_two_million_bytes_is_refused(tmp_path, ending, before, end):
    """Wherever it begins."""
    for length, is_read in ((1_900_000, True), (2_000_001, False)):
        path = tmp_path / f"{length}.{ending}"
        lines = ["job,note", *["a,b"] * (before // 4), "a," + "z" * (length - 2), "a,b", ""]
        content = end.join(lines).encode()
        path.write_bytes(gzip.compress(content, 1) if ending.endswith("gz") else content)
        counted = read_table(path, JOBS)
        if is_read:
            assert counted.count_by(["job"]).counts.tolist() == [before // 4 + 2, 0]
        else:
            with pytest.raises(SourceError, match="two million bytes"):
                counted.count_by(["job"])


def write(path, header, rows=ROWS):
    """A file of lines."""
    path.write_text("\n".join(",".join(each) for each in [header, *rows]) + "\n")
    return path


def test_names_replace_a_header_that_is_there(tmp_path):
    """Its line is no person; that is said."""
    path = write(tmp_path / "people.csv", ["name", "age", "sex"])
    source = open_source(path, names=("who", "years", "sex"))
    schema = Schema.from_toml('[attributes.sex]\nrole = "other"\ncategories = ["x", "y", "sex"]')
    assert read_table(path, schema, names=("who", "years", "sex")).count_by(["sex"]).counts.tolist() == [
        3,
        1,
        0,
    ]
    assert source.remarks == ("people.csv: the names given replace the header, its first line.",)


def test_names_for_a_first_line_that_may_be_either_are_refused(tmp_path):
    """All cells are texts that occur once; with the names it would have, it is a header."""
    path = tmp_path / "people.csv"
    path.write_text("name,town\nann,Bonn\nbob,Ulm\n")
    with pytest.raises(SourceError, match="may be a header or a row") as caught:
        open_source(path, names=("a", "b")).columns()
    assert "Bonn" not in str(caught.value)
    assert open_source(path, names=("Name", "Town")).columns() == ("Name", "Town")


def test_repeated_names_get_a_number(tmp_path):
    """One that no other column has; the note says places, since names may be cells."""
    path = write(
        tmp_path / "people.csv", ["count", "Count", "count_2"], [["a", "1", "x"], ["b", "2", "x"]] * 2
    )
    source = open_source(path)
    assert source.columns() == ("count", "Count_3", "count_2")
    assert source.remarks == (
        "people.csv: column 2 with the name of an earlier column, read with a number after it, such as _2.",
    )
    schema = Schema.from_toml('[attributes.Count_3]\nrole = "other"\ncategories = ["1", "2"]')
    assert read_table(path, schema).count_by(["Count_3"]).counts.tolist() == [2, 2]


def test_columns_without_a_name_are_called_by_their_place(tmp_path):
    """Where they hold something; the first is row numbers, and an empty one is nothing."""
    path = write(
        tmp_path / "people.csv", ["", "name", "age", "sex", "", ""], [["1", *row, "u", ""] for row in ROWS]
    )
    source = open_source(path)
    assert source.columns() == ("name", "age", "sex", "unnamed_5")
    schema = Schema.from_toml('[attributes.unnamed_5]\nrole = "other"\ncategories = ["u", "v"]')
    assert read_table(path, schema).count_by(["unnamed_5"]).counts.tolist() == [4, 0]
    assert [each.partition(": ")[2] for each in source.remarks] == [
        "column 5 without a name, read as unnamed_ and the place.",
        "columns 1, 6 without a name in the header, as pandas writes row numbers, are not read.",
    ]


def test_a_second_header_line_is_no_row(tmp_path):
    """Survey tools write the answers that can be ticked below a question; a row with a number is a person."""
    header, second = ["id", "Which have you seen?", "", ""], ["", "Alien", "Brazil", "Cube"]
    rows = [["1", "Alien", "", "Cube"], ["2", "", "Brazil", ""], ["3", "Alien", "Brazil", "Cube"]]
    path = write(tmp_path / "films.csv", header, [second, *rows])
    schema = Schema.from_toml(
        '[attributes.unnamed_3]\nrole = "other"\ncategories = ["Brazil", "x"]\nmissing = "category"'
    )
    assert read_table(path, schema).count_by(["unnamed_3"]).counts.tolist() == [2, 0, 1]
    assert "the second line names columns too" in open_source(path).remarks[0]
    write(path, ["id", "a", "seen", ""], [["", "9", "Brazil", "Cube"], *rows])
    assert open_source(path).remarks == (
        "films.csv: column 4 without a name, read as unnamed_ and the place.",
    )


@pytest.mark.parametrize(
    ("encoding", "name"), [("cp1252", "Windows-1252"), ("cp1250", r"Windows-1250 (central Europe)")]
)
def test_the_likely_encoding_is_used_and_said(tmp_path, encoding, name):
    """Of every verb in the same way, by the file's first bytes."""
    town = "Köln" if encoding == "cp1252" else "Łódź, mężczyzna żadna"
    (tmp_path / "people.csv").write_bytes(f"town;job\n{town};a\n".encode(encoding))
    schema = Schema(attributes=(Attribute(name="town", role=Role.OTHER, categories=(town, "x")),))
    table = read_table(tmp_path / "people.csv", schema)
    assert table.count_by(["town"]).counts.tolist() == [1, 0]
    said = f"people.csv: read as {name}, because it is not UTF-8; pass --encoding to choose another."
    assert table.source.remarks == (said,)
    assert open_source(tmp_path / "people.csv", encoding=encoding).remarks == ()


def wide(path, columns):
    """A file of many columns, and their names."""
    names = [f"c{place}" for place in range(columns)]
    rows = [["abcde"[row * place % 5] for place in range(columns)] for row in range(50)]
    return write(path, names, rows), names


def test_a_thousand_columns_are_looked_up_and_checked_in_little_memory(tmp_path):
    """Memory for each column and thread, or a pass for each, would end at some hundreds."""
    path, names = wide(tmp_path / "wide.csv", 1_000)
    with DuckDBEngine(memory_limit="400MB", threads=2) as engine:
        found = fingerprint(open_source(path), engine, b"key", names[1:301])
        listed = [
            Attribute(name=each, role=Role.OTHER, categories=("a", "b", "c", "d")) for each in names[:200]
        ]
        misfits = read_table(path, Schema(attributes=tuple(listed)), engine=engine).misfits()
    assert (found.number_of_rows, len(found.columns)) == (50, 1_000)
    assert [found.people[each].different for each in names[1:6]] == [5, 5, 5, 5, 1]
    hashes = found.people["c1"].hashes
    assert all(low < high for low, high in pairwise(hashes))
    assert [(each.attribute, each.number_of_rows) for each in misfits[:2]] == [("c1", 10), ("c2", 10)]
    assert len(misfits) == 160


def test_more_columns_than_are_read_are_refused(tmp_path):
    """In one sentence, before the engine is asked."""
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{place}" for place in range(MOST_COLUMNS + 1)) + "\n")
    with pytest.raises(SourceError, match=r"has 2,001 columns, and at most 2,000 are read"):
        open_source(path).columns()
