"""Each verb does what it says: the right function, its result on stdout."""

from __future__ import annotations

import json
import sqlite3

import duckdb
import pyarrow.parquet as pq
import pytest

import sfumato.report.demonstration
from samples import people
from sfumato import Schema, load_release

ROWS = 400
WOMEN = people(ROWS)["sex"].to_pylist().count("Female")
METHOD = ("--schema", "schema.toml", "--method", "randomized-response")


def test_publish_writes_a_release_and_says_the_promise(run, folder):
    """Without a seed there is no warning, and the manifest says that no seed exists."""
    outcome = run("publish", "people.csv", *METHOD, "--set", "epsilon=1", "--out", "release")
    assert outcome.exit_code == 0
    assert "1-local differential privacy" in outcome.stdout
    assert "WARNING" not in outcome.stderr
    assert load_release(folder / "release").manifest.reproducible is False


@pytest.mark.parametrize("verb", [("plan",), ("publish", "--out", "release")], ids=lambda verb: verb[0])
def test_where_nothing_is_promised_it_is_said(run, verb):
    """Nothing below the word Promise would be read as some promise."""
    method = ("--schema", "schema.toml", "--method", "distribution-resampling")
    outcome = run(verb[0], "people.csv", *method, *verb[1:])
    assert outcome.exit_code == 0
    assert "Promise\n  Nothing is promised.\n" in outcome.stdout


def test_publish_by_attribute_and_as_csv(run, folder):
    """Dotted names reach one attribute; the format is the one asked for."""
    settings = ("--set", "retention.job=0.25", "--format", "csv", "--out", "release")
    assert run("publish", "people.csv", *METHOD, *settings).exit_code == 0
    assert (folder / "release" / "rows.csv").is_file()
    assert load_release(folder / "release").manifest.method["retention"] == {"job": 0.25}


def test_publish_by_a_design_file(run, folder):
    """A design file is TOML with the method's name and a line for each parameter."""
    (folder / "design.toml").write_text(
        'method = "randomized-response"\nattributes = ["job"]\n[retention]\njob = 0.5\n'
    )
    arguments = ("--schema", "schema.toml", "--design", "design.toml", "--out", "release")
    assert run("publish", "people.csv", *arguments).exit_code == 0
    assert load_release(folder / "release").manifest.method["attributes"] == ["job"]


def test_a_seed_is_warned_of_loudly(run):
    """Terminal and manifest say that a seeded release is not private."""
    outcome = run(
        "publish", "people.csv", *METHOD, "--set", "retention=0.5", "--seed", "3", "--out", "release"
    )
    assert "WARNING: this release is NOT PRIVATE" in outcome.stderr
    assert "Not private" in outcome.stdout


def test_learned_categories_are_warned_of_by_name(run, folder):
    """Only the attributes whose categories were learned are named."""
    text = (folder / "schema.toml").read_text().replace('role = "other"', 'role = "other"\nlearned = true')
    (folder / "schema.toml").write_text(text)
    outcome = run("publish", "people.csv", *METHOD, "--set", "retention=0.5", "--out", "release")
    assert "the categories of region were learned from the data" in outcome.stderr


def test_plan_needs_no_data(run):
    """With --rows nothing is private."""
    outcome = run("plan", *METHOD, "--set", "retention=0.5", "--rows", "1000", "--json")
    expected = json.loads(outcome.stdout)
    assert expected["private"] is False
    assert expected["number_of_rows"] == 1000
    assert outcome.stderr == ""


def test_plan_marks_what_it_computes_from_data(run):
    """Text, JSON and stderr say which tables are private."""
    arguments = ("plan", "people.csv", *METHOD, "--set", "retention=0.5")
    shown = run(*arguments)
    assert "[private: computed from the data]" in shown.stdout
    assert "not for publication" in shown.stderr
    assert json.loads(run(*arguments, "--json").stdout)["private"] is True


def test_inspect_counts_what_the_rows_hold(run):
    """The number of women is the largest share of sex."""
    found = json.loads(run("inspect", "people.csv", "--schema", "schema.toml", "--json").stdout)
    assert found["private"] is True
    assert found["number_of_rows"] == ROWS
    columns = {row["column"]: row for row in found["tables"][0]["rows"]}
    assert columns["sex"]["largest share"] == pytest.approx(WOMEN / ROWS)
    assert "person" not in columns


@pytest.fixture(params=["people.csv", "people.tsv", "people.parquet", "people.duckdb::people", "sqlite"])
def data(request, folder):
    """The same rows in every kind of source, as arguments of a verb."""
    table = people(ROWS)
    match request.param:
        case "people.tsv":
            text = (folder / "people.csv").read_text().replace(",", "\t")
            (folder / "people.tsv").write_text(text)
        case "people.parquet":
            pq.write_table(table, folder / "people.parquet")
        case "people.duckdb::people":
            with duckdb.connect(str(folder / "people.duckdb")) as connection:
                connection.register("given", table)
                connection.execute("create table people as from given")
        case "sqlite":
            with sqlite3.connect(folder / "people.db") as connection:
                connection.execute("create table people (person, sex, age, region, job)")
                rows = [tuple(row.values()) for row in table.to_pylist()]
                connection.executemany("insert into people values (?, ?, ?, ?, ?)", rows)
            connection.close()
            return ("sqlite:///people.db", "--table", "people")
    return (request.param,)


def test_every_kind_of_source_works_on_every_verb(run, data):
    """Files and databases give the same answers."""
    assert run("schema", "infer", *data, "--out", "guess.toml").exit_code == 0
    found = json.loads(run("inspect", *data, "--schema", "schema.toml", "--json").stdout)
    assert found["tables"][0]["rows"][0]["largest share"] == pytest.approx(WOMEN / ROWS)
    assert run("plan", *data, *METHOD, "--set", "retention=0.5").exit_code == 0
    assert run("publish", *data, *METHOD, "--set", "retention=0.5", "--out", "release").exit_code == 0
    answer = json.loads(run("query", "release", "sex = 'Female'", "--json").stdout)
    assert answer["estimate"] == WOMEN


def test_a_query_selects_rows_of_a_database(run, folder):
    """SQL instead of a whole table."""
    with sqlite3.connect(folder / "people.db") as connection:
        connection.execute("create table jobs (sex, job)")
        connection.executemany("insert into jobs values (?, ?)", [("Female", "Tech"), ("Male", "Care")] * 5)
    connection.close()
    (folder / "small.toml").write_text(
        '[attributes.sex]\nrole = "quasi-identifier"\ncategories = ["Female", "Male"]\n'
    )
    arguments = ("--query", "select sex from jobs where job = 'Tech'", "--schema", "small.toml", "--json")
    assert json.loads(run("inspect", "sqlite:///people.db", *arguments).stdout)["number_of_rows"] == 5


def test_schema_infer_writes_a_schema_that_publishes(run, folder):
    """The guess can be used as it is; stderr says that the file holds values."""
    outcome = run("schema", "infer", "people.csv", "--out", "guess.toml")
    assert outcome.exit_code == 0
    assert "holds values from the data" in outcome.stderr
    guess = Schema.read(folder / "guess.toml")
    assert guess["person"].role == "identifier"
    assert guess["job"].role == "sensitive"
    arguments = ("--schema", "guess.toml", "--method", "randomized-response", "--set", "retention=0.5")
    assert run("publish", "people.csv", *arguments, "--out", "release").exit_code == 0


def test_schema_infer_says_no_value_of_the_data(run):
    """The file holds the categories; the terminal does not."""
    outcome = run("schema", "infer", "people.csv", "--out", "guess.toml")
    assert not [
        word for word in ("Female", "Sales", "person-1", "North") if word in outcome.stdout + outcome.stderr
    ]


def test_schema_infer_does_not_overwrite(run, folder):
    """An existing schema is kept."""
    before = (folder / "schema.toml").read_text()
    assert run("schema", "infer", "people.csv", "--out", "schema.toml").exit_code == 1
    assert (folder / "schema.toml").read_text() == before


def test_methods_lists_names_and_promises(run):
    """The listing is by public name."""
    listed = json.loads(run("methods", "--json").stdout)
    promises = {each["name"]: each["promise"] for each in listed}
    assert promises["randomized-response"].startswith("Local differential privacy")
    assert "randomized-response" in run("methods").stdout


def test_a_method_is_described_with_its_parameters(run):
    """Type, bounds, default and help come from the fields."""
    described = json.loads(run("methods", "randomized-response", "--json").stdout)
    retention = next(each for each in described["parameters"] if each["name"] == "retention")
    assert retention["type"].startswith("number above 0 and below 1")
    assert retention["default"] == "optional"
    assert "probability of keeping" in retention["help"]
    assert described["weaknesses"]
    assert described["citations"]


def test_a_description_fits_a_screen_and_has_every_part(run):
    """Summary, promise, weaknesses, citations and parameters, in lines of at most a hundred letters."""
    shown = run("methods", "randomized-response").stdout
    for heading in ("Summary", "Promise", "Against whom", "Weaknesses", "Citations", "Parameters"):
        assert f"\n\n{heading}" in shown
    assert "  retention (number above 0 and below 1" in shown
    assert max(len(line) for line in shown.splitlines()) <= 100


def test_an_unknown_method_suggests_the_nearest(run):
    """A misspelt name is refused with a hint."""
    outcome = run("methods", "randomised-response")
    assert outcome.exit_code == 1
    assert "did you mean 'randomized-response'?" in outcome.stderr


def test_report_writes_one_page(run, release, folder):
    """The path is the result."""
    outcome = run("report", release, "--out", "report.html")
    assert (outcome.exit_code, outcome.stdout) == (0, "report.html\n")
    assert "sfumato report release --out report.html" in (folder / "report.html").read_text()


def test_a_report_against_the_data_is_called_private(run, release):
    """The private page is announced as such."""
    outcome = run("report", release, "--against", "people.csv", "--out", "report.html", "--json")
    assert json.loads(outcome.stdout) == {"report": "report.html", "private": True}
    assert "not for publication" in outcome.stderr


def test_datasets_make_writes_data_and_schema(run, folder):
    """Both files are named on stdout."""
    outcome = run(
        "datasets", "make", "census", "--rows", "50", "--seed", "2", "--out", "census.csv", "--json"
    )
    made = json.loads(outcome.stdout)
    assert made == {"data": "census.csv", "schema": "census.schema.toml", "rows": 50}
    assert (folder / "census.csv").read_text().count("\n") == 51


def test_datasets_make_says_what_it_made(run):
    """Without --json, too."""
    outcome = run("datasets", "make", "census", "--rows", "1000", "--out", "census.csv")
    assert outcome.stdout == "census.csv: 1,000 rows\ncensus.schema.toml: their schema\n"


def test_datasets_list_shows_licences(run):
    """A listing tells under which terms a set may be used."""
    assert "CC BY 4.0" in run("datasets", "list").stdout


def test_fetching_what_is_generated_says_how_to_make_it(run):
    """A wrong verb is answered with the right one."""
    outcome = run("datasets", "fetch", "census", "--to", "data")
    assert outcome.exit_code == 1
    assert "sfumato datasets make census" in outcome.stderr


@pytest.mark.parametrize("as_json", [True, False])
def test_demo_runs_the_demonstration(run, monkeypatch, as_json):
    """The demonstration's words are the result, or talk when the result is JSON."""

    def pretend(out, *, say):
        say("what was found")
        return out / "report.html"

    monkeypatch.setattr(sfumato.report.demonstration, "run_demonstration", pretend)
    outcome = run("demo", "--out", "shown", *(["--json"] if as_json else []))
    if as_json:
        assert json.loads(outcome.stdout) == {"report": "shown/report.html"}
        assert outcome.stderr == "what was found\n"
    else:
        assert (outcome.stdout, outcome.stderr) == ("what was found\n", "")
