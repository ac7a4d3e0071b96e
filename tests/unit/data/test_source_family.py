"""Sources are a family: one file is one kind, also in another package; what is said must mean something."""

from __future__ import annotations

import importlib.metadata
import sqlite3
import sys
import types
from contextlib import contextmanager

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.data.private_table import read_table
from sfumato.data.sources import SOURCES, open_source
from sfumato.data.sources.base import Source
from sfumato.errors import SourceError
from sfumato.registry import Members
from sfumato.schema import Schema

SCHEMA = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
ROWS = pd.DataFrame({"job": ["a", "b", "b"], "consent": ["yes", "no", "yes"]})


@pytest.fixture(params=["csv", "parquet", "duckdb", "sqlite", "memory"])
def consents(request, tmp_path):
    """Three rows, one without consent, and the words that name them in each kind of source."""
    path = tmp_path / f"people.{request.param}"
    if request.param == "csv":
        ROWS.to_csv(path, index=False)
    elif request.param == "parquet":
        ROWS.to_parquet(path)
    elif request.param == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.register("rows", pa.Table.from_pandas(ROWS))
            connection.execute("create table people as from rows")
        return f"{path}::people", "people"
    elif request.param == "sqlite":
        with sqlite3.connect(path) as connection:
            ROWS.to_sql("people", connection, index=False)
        connection.close()
        return f"sqlite:///{path}", "people"
    else:
        return ROWS, "data"
    return path, "data"


def test_a_query_chooses_rows_of_every_source(consents):
    """Whoever leaves people out must not find them in the release."""
    data, name = consents
    table = read_table(data, SCHEMA, query=f"select job from {name} where consent = 'yes' -- opted in")
    assert table.count_by(["job"]).counts.tolist() == [1, 1]


@pytest.mark.parametrize("ending", ["sqlite", "sqlite3", "db", "gpkg"])
def test_a_file_of_sqlite_is_recognised_by_what_is_in_it(tmp_path, ending):
    """Its path alone is enough; others use its endings too."""
    path = tmp_path / f"people.{ending}"
    with sqlite3.connect(path) as connection:
        ROWS.to_sql("people", connection, index=False)
    connection.close()
    assert read_table(path, SCHEMA, table="people").count_by(["job"]).counts.tolist() == [1, 2]
    with pytest.raises(SourceError, match="--table or --query"):
        open_source(path)


def test_a_query_calls_the_named_table_data(tmp_path):
    """In a database file both names are understood."""
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.register("rows", pa.Table.from_pandas(ROWS))
        connection.execute("create table people as from rows")
    table = read_table(
        tmp_path / "people.duckdb", SCHEMA, table="people", query="from data where consent = 'yes'"
    )
    assert table.count_by(["job"]).counts.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("selekt job from data", "not SQL"),
        (
            "select SECRET_MARKER from data",
            "is not there, .* The rows are called data, their 2 columns as in the header line",
        ),
        ("select job from nowhere", "is not there"),
        ("select job from data; drop table data", "not SQL"),
    ],
)
def test_a_query_that_cannot_run_is_refused_before_a_row_is_read(tmp_path, query, reason):
    """With the reason, and without the engine's text."""
    ROWS.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(SourceError, match=reason) as caught:
        read_table(tmp_path / "people.csv", SCHEMA, query=query)
    assert "MARKER" not in str(caught.value)
    # Without a header line the names would be somebody's cells.
    assert "consent" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("people.csv", {"table": "people"}),
        ("people.parquet", {"table": "people"}),
        ("people.parquet", {"encoding": "cp1252"}),
        ("people.parquet", {"delimiter": ";"}),
        ("people.duckdb::people", {"encoding": "cp1252"}),
        ("sqlite:///people.db", {"table": "people", "encoding": "cp1252"}),
        (ROWS, {"table": "people"}),
    ],
)
def test_what_means_nothing_to_a_source_is_refused(data, options):
    """An option that is silently ignored would be believed."""
    with pytest.raises(SourceError, match=f"to which {list(options)[-1]} says nothing"):
        open_source(data, **options)


def test_several_files_of_a_pattern_are_read_as_one(tmp_path):
    """Their columns are matched by name, whatever their order and format of cells."""
    (tmp_path / "2023.csv").write_text("job,consent\na,yes\n")
    (tmp_path / "2024.csv").write_text("consent;job\nyes;b\nno;b\n")
    table = read_table(tmp_path / "20*.csv", SCHEMA)
    assert table.count_by(["job"]).counts.tolist() == [1, 2]
    assert [code for batch in table.scan() for code in batch.codes["job"].tolist()] == [0, 1, 1]
    chosen = read_table(str(tmp_path / "20*.csv"), SCHEMA, query="from data where consent = 'yes'")
    assert chosen.count_by(["job"]).counts.tolist() == [1, 1]
    pq.write_table(pa.Table.from_pandas(ROWS), tmp_path / "2025.parquet")
    assert read_table(tmp_path / "20*", SCHEMA).number_of_rows == 6


def test_files_that_do_not_fit_together_are_refused_by_name(tmp_path):
    """The column and both files are named."""
    (tmp_path / "2023.csv").write_text("job,consent\na,yes\n")
    (tmp_path / "2024.csv").write_text("job\nb\n")
    with pytest.raises(SourceError, match=r"column 2 of 2023.csv has a name that no column of 2024.csv has"):
        read_table(tmp_path / "20*.csv", SCHEMA)
    with pytest.raises(SourceError, match="no file fits the pattern"):
        read_table(tmp_path / "19*.csv", SCHEMA)


class Lines(Source):
    """One cell a line: what another package might add."""

    kind = "lines"
    reads = ".lines"

    def __init__(self, path):
        self.path = path

    @classmethod
    def recognise(cls, asked):
        """By the ending of the name."""
        return cls(asked.path) if asked.suffix == ".lines" else None

    @property
    def description(self):
        """The file's name."""
        return self.path.name

    def columns(self):
        """Always one."""
        return ("job",)

    @contextmanager
    def relation(self, cursor):
        """The lines as values."""
        del cursor
        cells = ", ".join(f"('{line}')" for line in self.path.read_text().split())
        yield f"(values {cells}) as lines(job)"


def test_another_package_adds_a_source(monkeypatch, tmp_path):
    """Its module is named by an entry point; its files are then read, queries included."""
    module = types.ModuleType("lines_package")
    module.Lines = Lines
    monkeypatch.setattr(Lines, "__module__", "lines_package")
    monkeypatch.setitem(sys.modules, "lines_package", module)
    point = importlib.metadata.EntryPoint("lines", "lines_package", SOURCES.package)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [point])
    again = Members(SOURCES.package, SOURCES.base, SOURCES.tag)
    monkeypatch.setattr("sfumato.data.sources.SOURCES", again)
    (tmp_path / "jobs.lines").write_text("a\nb\nb\n")
    assert "lines" in again.members
    assert read_table(tmp_path / "jobs.lines", SCHEMA).count_by(["job"]).counts.tolist() == [1, 2]
    chosen = read_table(tmp_path / "jobs.lines", SCHEMA, query="from data where job = 'b'")
    assert chosen.count_by(["job"]).counts.tolist() == [0, 2]


@pytest.mark.parametrize("name", list(SOURCES.members))
def test_a_source_says_what_it_reads(name):
    """For help and for the sentence that refuses what nobody recognises."""
    member = SOURCES.members[name]
    assert member.kind == name
    assert member.reads
    assert member.takes <= {"table", "query", "encoding", "delimiter", "names"}
    assert (member.__doc__ or "").strip().split("\n")[0].endswith(".")


def test_an_address_that_nobody_knows_is_not_repeated():
    """It may hold a password."""
    with pytest.raises(SourceError, match="no source knows such an address") as caught:
        open_source("mysql://me:secret@host/db", table="x")
    assert "secret" not in str(caught.value)
