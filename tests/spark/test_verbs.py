"""Every verb that takes ``--engine spark``, from the command line: what it says with DuckDB, it says here."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from engine_cases import write_people
from samples import SCHEMA, people
from sfumato.cli.app import app

DESIGN = ("--method", "randomized-response", "--set", "retention=0.5")
PRIVATE = ("people.parquet", "--schema", "schema.toml")


@pytest.fixture
def run(session, tmp_path, monkeypatch):
    """Runs a verb in a folder with rows, a schema and a release; Spark's session is found, not made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "100")
    write_people(tmp_path, "parquet")
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")

    def invoke(*arguments, code=0):
        result = CliRunner().invoke(app, list(arguments), prog_name="sfumato")
        assert result.exit_code == code, result.stderr
        return result.stdout if code == 0 else result.stderr

    return invoke


def on_both(run, *arguments):
    """What a verb prints with one engine and with the other."""
    return [run(*arguments, "--engine", engine) for engine in ("spark", "duckdb")]


def without_clock(text):
    """A result without how long it took."""
    found = json.loads(text)
    for name in ("seconds", "elapsed"):
        found.pop(name, None)
    return found


def test_inspecting_says_the_same(run):
    """Groups, misfits and what is rare."""
    there, here = on_both(run, "inspect", *PRIVATE)
    assert there == here
    assert "of the persons are unique" in there


def test_planning_says_the_same(run):
    """Errors to expect at the true counts."""
    there, here = on_both(run, "plan", *PRIVATE, *DESIGN, "--json")
    assert without_clock(there) == without_clock(here)


def test_a_release_made_there_is_counted_and_audited_by_both(run):
    """Published, counted and attacked on Spark; the same numbers by DuckDB from the same folder."""
    run("publish", *PRIVATE, *DESIGN, "--out", "out", "--seed", "3", "--engine", "spark")
    there, here = on_both(run, "counts", "out", "--by", "job,sex", "--json")
    assert without_clock(there) == without_clock(here)
    audit = ("audit", "out", "--against", "people.parquet", "--schema", "schema.toml")
    there, here = on_both(run, *audit, "--seed", "1", "--json")
    assert without_clock(there) == without_clock(here)


@pytest.mark.parametrize("text", ["people.csv", "people.parquet::query"])
def test_names_of_files_are_meant_from_where_one_is(run, tmp_path, text):
    """Workers are started elsewhere, and are used again by others: their folder is not changed."""
    from pyarrow import csv

    csv.write_csv(people(400), tmp_path / "people.csv")
    name, _, query = text.partition("::")
    asked = ("--query", "select * from data where age > 20") if query else ()
    there, here = on_both(run, "inspect", name, "--schema", "schema.toml", *asked)
    assert there == here


def test_standard_input_is_read(run, tmp_path):
    """Its copy lies where workers of this machine can read it."""
    from pyarrow import csv

    csv.write_csv(people(40), tmp_path / "people.csv")
    command = ["inspect", "-", "--schema", "schema.toml", "--engine"]
    content = (tmp_path / "people.csv").read_bytes()
    there, here = (CliRunner().invoke(app, [*command, each], input=content) for each in ("spark", "duckdb"))
    assert (there.exit_code, there.stdout) == (here.exit_code, here.stdout)


def test_an_output_that_exists_is_refused_before_anything_is_read(run, tmp_path):
    """And is left as it is."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    said = run("publish", *PRIVATE, *DESIGN, "--out", "out", "--engine", "spark", code=1)
    assert "out" in said
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["mine"]


def test_a_table_without_rows_is_refused(run, tmp_path):
    """In words, not by a job that nobody answers."""
    pq.write_table(people(10).slice(0, 0), tmp_path / "people.parquet")
    said = run("publish", *PRIVATE, *DESIGN, "--out", "out", "--engine", "spark", code=1)
    assert "no rows" in said
    assert not (tmp_path / "out").exists()


def test_a_column_that_holds_tables_is_refused_by_its_name(run, tmp_path):
    """As DuckDB refuses it; no cell is told."""
    rows = people(200)
    nested = pa.array([{"MARKER": number} for number in range(200)])
    table = rows.set_column(rows.column_names.index("job"), "job", nested)
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=50)
    said = [
        run("publish", *PRIVATE, *DESIGN, "--out", "out", "--engine", engine, code=1)
        for engine in ("spark", "duckdb")
    ]
    assert said[0] == said[1]
    assert "'job'" in said[0]
    assert "MARKER" not in said[0]
