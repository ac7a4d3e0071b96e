"""Sources: what is read is what the file says, and what cannot be read is refused without its text."""

from __future__ import annotations

import os
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from samples import SCHEMA, people
from sfumato.data.private_table import read_table
from sfumato.data.sources import open_source
from sfumato.errors import DataError, MissingExtraError, SourceError
from sfumato.schema import Schema

NAMES = Schema.from_toml("""
[attributes.name]
role = "other"
categories = ["Ann", "Bo, Jr", "Line\\nbreak", "Zoë", "quo\\"te"]
[attributes.job]
role = "sensitive"
categories = ["a", "b"]
""")


def names_read(path) -> list[str]:
    """Decoded first column of a file."""
    attribute = NAMES["name"]
    (batch,) = list(read_table(path, NAMES).scan())
    return [attribute.labels[code] for code in batch.codes["name"]]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('name,job\nAnn,a\n"Bo, Jr",b\n', id="quoted delimiter"),
        pytest.param('\ufeffname,job\nAnn,a\n"Bo, Jr",b\n', id="byte-order mark"),
        pytest.param("name;job\nAnn;a\nBo, Jr;b\n", id="semicolons"),
        pytest.param("name\tjob\nAnn\ta\nBo, Jr\tb\n", id="tabs"),
        pytest.param("name|job\nAnn|a\nBo, Jr|b\n", id="bars"),
        pytest.param('name,job\r\nAnn,a\r\n"Bo, Jr",b\r\n', id="windows line ends"),
        pytest.param('job,name\na,Ann\nb,"Bo, Jr"\n', id="columns swapped"),
        pytest.param('more,name,job\n1,Ann,a\n2,"Bo, Jr",b\n', id="a column the schema leaves out"),
    ],
)
def test_csv_dialects_read_the_same(tmp_path, content):
    """Delimiters, marks, line ends and the order of columns do not change what is read."""
    path = tmp_path / "data.csv"
    path.write_bytes(content.encode())
    assert names_read(path) == ["Ann", "Bo, Jr"]


@pytest.mark.parametrize("name", ["data[1]", "dat?1", "data*"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_name_that_looks_like_a_pattern_is_one_file(tmp_path, name, suffix):
    """The engine would read every file that fits the pattern instead of the one named."""
    for stem, rows in ((name, 3), ("data1", 2)):
        frame = pd.DataFrame({"name": ["Ann"] * rows, "job": ["a"] * rows})
        path = tmp_path / f"{stem}{suffix}"
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    assert len(names_read(tmp_path / f"{name}{suffix}")) == 3


@pytest.mark.parametrize("kind", ["parquet", "memory"])
def test_columns_that_differ_in_capitals_alone_are_refused(tmp_path, kind):
    """The engine takes them for one name, and would publish the one column for the other."""
    data = frame = pd.DataFrame({"Name": ["Zoë"], "name": ["Ann"], "job": ["a"]})
    if kind == "parquet":
        frame.to_parquet(data := tmp_path / "data.parquet")
    with pytest.raises(SourceError, match=r"columns \d and \d"):
        read_table(data, NAMES)


def test_a_database_column_of_mixed_types_is_refused_with_its_cure(tmp_path):
    """The driver takes a column for numbers by its first rows; cast to text, the same rows are read."""
    with sqlite3.connect(tmp_path / "data.sqlite") as connection:
        connection.execute("create table folk (name, job)")
        connection.executemany("insert into folk values (?, 'a')", [(1,)] * 3_000 + [("SECRET-MARKER",)])
    connection.close()
    address = f"sqlite:///{tmp_path / 'data.sqlite'}"
    schema = Schema.from_toml("""
[attributes.name]
role = "other"
categories = ["1", "SECRET-MARKER"]
""")
    with pytest.raises(SourceError, match="numbers in some rows and text in others") as caught:
        read_table(address, schema, table="folk").count_by(["name"])
    assert "MARKER" not in str(caught.value)
    cast = read_table(address, schema, query="select cast(name as text) as name from folk")
    assert cast.count_by(["name"]).counts.tolist() == [3_000, 1]


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    """Rows are read more than once, which a pipe cannot give."""
    os.mkfifo(tmp_path / "data.csv")
    with pytest.raises(SourceError, match="pipe"):
        read_table(tmp_path / "data.csv", NAMES)


def test_csv_with_newlines_and_quotes_inside_cells(tmp_path):
    """A quoted cell may hold a line break and doubled quotes."""
    path = tmp_path / "data.csv"
    path.write_bytes('name,job\n"Line\nbreak",a\n"quo""te",b\nZoë,a\n'.encode())
    assert names_read(path) == ["Line\nbreak", 'quo"te', "Zoë"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"name,job\nAnn,a\nSECRET-MARKER,b,extra\n", "number of columns", id="ragged line"),
        pytest.param(b"name,job\nAnn,a\nSECRET-MARKER\n", "number of columns", id="short line"),
        pytest.param(b'name,job\nAnn,a\n"SECRET-MARKER,b\n', "quote is not closed", id="open quote"),
        pytest.param(b"name,job\nAnn,a\nSECRET-MARKER\xe9\x81,b\n", "--encoding", id="undefined bytes"),
        pytest.param("name,job\nAnn,a\n".encode("utf-16-le"), "--encoding utf-16-le", id="utf-16 unmarked"),
        pytest.param(b"", "it is empty", id="empty file"),
    ],
)
def test_csv_that_cannot_be_read_is_refused_without_its_text(tmp_path, content, reason):
    """The reason is said, the line is not."""
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=reason) as caught:
        list(read_table(path, NAMES).scan())
    assert "MARKER" not in str(caught.value)


def test_bytes_that_are_not_utf_8_far_into_the_file_are_refused(tmp_path):
    """Not only the start of a file is looked at."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"name,job\n" + b"Ann,a\n" * 300_000 + b"SECRET-MARKER\xe9\xff,b\n")
    with pytest.raises((SourceError, DataError)) as caught:
        list(read_table(path, NAMES).scan())
    assert "MARKER" not in str(caught.value)


def test_every_kind_of_source_gives_the_same_counts(tmp_path):
    """CSV, Parquet, DuckDB, SQLite, pandas, polars and pyarrow agree to the last row."""
    table = people(500)
    frame = table.to_pandas()
    frame.to_csv(tmp_path / "people.csv", index=False)
    pq.write_table(table, tmp_path / "people.parquet")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("create table folk as from frame")
    with sqlite3.connect(tmp_path / "people.sqlite") as connection:
        frame.to_sql("folk", connection, index=False)
    connection.close()
    sources = [
        read_table(tmp_path / "people.csv", SCHEMA),
        read_table(tmp_path / "people.parquet", SCHEMA),
        read_table(f"{tmp_path / 'people.duckdb'}::folk", SCHEMA),
        read_table(f"sqlite:///{tmp_path / 'people.sqlite'}", SCHEMA, table="folk"),
        read_table(f"sqlite:///{tmp_path / 'people.sqlite'}", SCHEMA, query="select * from folk"),
        read_table(frame, SCHEMA),
        read_table(pl.from_arrow(table), SCHEMA),
        read_table(table, SCHEMA),
        read_table(table.to_reader(), SCHEMA),
    ]
    counted = [source.count_by(["sex", "age", "region", "job"]).counts for source in sources]
    for each in counted[1:]:
        assert np.array_equal(each, counted[0])
    assert counted[0].sum() == 500


def test_a_source_can_be_read_more_than_once():
    """A stream that can be read once is kept, because publishing may need several passes."""
    table = read_table(people(50).to_reader(), SCHEMA)
    assert table.number_of_rows == 50
    assert sum(batch.number_of_rows for batch in table.scan()) == 50


@pytest.mark.parametrize("kept_bytes", [10, 1_000])
def test_a_truncated_parquet_file_is_refused(tmp_path, kept_bytes):
    """A file cut off in the middle has no footer."""
    path = tmp_path / "people.parquet"
    pq.write_table(people(), path)
    path.write_bytes(path.read_bytes()[:kept_bytes])
    with pytest.raises(SourceError, match="not a whole Parquet file"):
        read_table(path, SCHEMA)


def test_a_parquet_file_damaged_inside_is_refused(tmp_path):
    """Broken pages are found when they are read, and none of the reader's text passes."""
    path = tmp_path / "people.parquet"
    pq.write_table(people().select(["sex", "age", "region", "job", "person"]), path)
    content = bytearray(path.read_bytes())
    content[20:400] = bytes(range(190)) * 2
    path.write_bytes(content)
    with pytest.raises((SourceError, DataError)):
        list(read_table(path, SCHEMA).scan())


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    """Half of one file and half of another would be published otherwise."""
    path = tmp_path / "people.parquet"
    pq.write_table(people(), path)
    batches = read_table(path, SCHEMA).scan()
    next(batches)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="changed while it was read"):
        list(batches)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("nowhere.csv", "there is no file"),
        ("data.docx", "cannot tell the format"),
        ("data.duckdb", "name the table"),
        ("sqlite:///x.db", "needs a table or a query"),
        (42, "cannot read rows from a int"),
    ],
)
def test_what_cannot_be_a_source_is_refused(data, reason, tmp_path, monkeypatch):
    """Each kind of mistake has its own sentence."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=reason):
        open_source(data).columns()


def test_a_missing_table_of_a_database_is_named(tmp_path):
    """The error suggests the nearest table."""
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("create table folk as select 1 as x")
    with pytest.raises(SourceError, match="no table 'fork'; did you mean 'folk'"):
        read_table(f"{tmp_path / 'a.duckdb'}::fork", SCHEMA)


def test_a_database_that_refuses_is_said_without_its_text(tmp_path):
    """Drivers quote statements and values; none of it passes."""
    sqlite3.connect(tmp_path / "a.sqlite").close()
    with pytest.raises(SourceError, match="refused the query") as caught:
        read_table(f"sqlite:///{tmp_path / 'a.sqlite'}", SCHEMA, query="select 'SECRET-MARKER' from nowhere")
    assert "MARKER" not in str(caught.value)


def test_reading_databases_without_the_driver_gives_the_install_command(monkeypatch, tmp_path):
    """The extra's name is in the sentence."""
    import sys

    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[db\]'"):
        read_table(f"sqlite:///{tmp_path / 'a.sqlite'}", SCHEMA, table="folk")


def test_a_schema_column_missing_from_the_data_is_named(tmp_path):
    """Before a single row is read."""
    with pytest.raises(DataError, match="has no column 'job', which the schema declares"):
        read_table(people().drop_columns(["job"]), SCHEMA)


def test_postgres_reads_like_the_others():
    """Runs where SFUMATO_POSTGRES holds the address of a server that tests may write to."""
    address = os.environ.get("SFUMATO_POSTGRES")
    if not address:
        pytest.skip("SFUMATO_POSTGRES is not set: no Postgres server to test against")
    import adbc_driver_postgresql.dbapi as driver

    table = people(200)
    with driver.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("sfumato_test_people", table, mode="replace")
        connection.commit()
    from_server = read_table(address, SCHEMA, table="sfumato_test_people").count_by(["sex", "job"])
    assert np.array_equal(from_server.counts, read_table(table, SCHEMA).count_by(["sex", "job"]).counts)


def test_repr_of_a_source_hides_data_and_passwords():
    """Neither cells nor addresses are shown."""
    assert "person-1" not in repr(open_source(people(5)))
    assert "pw" not in repr(open_source("postgresql://me:pw@host/db", table="x"))


def test_pandas_integers_and_floats_are_read_by_their_text():
    """A whole number in a float column is not its integer's text, and is refused rather than guessed."""
    schema = Schema.from_toml('[attributes.n]\nrole = "other"\ncategories = ["1", "2"]')
    assert read_table(pd.DataFrame({"n": [1, 2, 2]}), schema).count_by(["n"]).counts.tolist() == [1, 2]
    with pytest.raises(DataError):
        read_table(pd.DataFrame({"n": [1.0, 2.0]}), schema).count_by(["n"])


def test_columns_of_a_parquet_file_are_those_of_the_table_not_of_their_parts(tmp_path):
    """A column may hold lists and records."""
    nested = pa.table(
        {"a": [{"x": 1, "y": [{"z": 2}]}], "b": [[[1]]], "c": [1], "d": [{"x": {"y": 1}}], "e": ["x"]}
    )
    pq.write_table(nested, tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet")
    assert source.columns() == ("a", "b", "c", "d", "e")
    assert source.stated_number_of_rows() == 1


def test_a_frame_of_mixed_cells_is_refused_without_them(tmp_path):
    """What pandas' own conversion says of a number that does not fit quotes it."""
    pandas = pytest.importorskip("pandas")
    cells = pandas.Series([1.5, 9007199254740993], dtype=object)
    with pytest.raises(SourceError, match="values of several types") as refusal:
        read_table(pandas.DataFrame({"age": cells}), SCHEMA)
    assert "9007199254740993" not in str(refusal.value)
    assert refusal.value.__cause__ is None
