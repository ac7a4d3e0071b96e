"""The verbs that check and explain schemas."""

from __future__ import annotations

import json

import pytest

SCHEMA = """
[attributes.sex]
role = "quasi-identifier"
categories = ["Female"]
missing = "category"
[attributes.age]
role = "quasi-identifier"
bins = [30, 55, 80]
[attributes.jb]
role = "sensitive"
categories = ["a", "b"]
"""


def test_check_names_everything_at_once_without_values(run, folder):
    """Values outside, columns absent and how many are left out are all said, with numbers of rows."""
    (folder / "other.toml").write_text(SCHEMA, encoding="utf-8")
    outcome = run("schema", "check", "people.csv", "other.toml", "--json")
    assert outcome.exit_code == 1
    found = json.loads(outcome.stdout)
    assert {(each["column"], each["reason"]) for each in found["misfits"]} == {
        ("sex", "outside"),
        ("age", "outside"),
    }
    assert all(each["number_of_rows"] > 0 for each in found["misfits"])
    assert found["absent"] == ["jb"]
    # One name is not there, so that those that are may be cells: only the nearest is said.
    assert (found["undeclared"], found["untold"]) == ([], 3)
    assert "did you mean 'job'?" in outcome.stderr
    assert "the data have no column 'jb'; did you mean 'job'?" in outcome.stderr
    assert "Male" not in outcome.stdout + outcome.stderr


def test_check_of_what_fits_exits_with_zero(run):
    """Nothing to say is said in one line."""
    outcome = run("schema", "check", "people.csv", "schema.toml")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("Every row fits the schema.")


@pytest.mark.parametrize("key", ["role", "recode", "dates", "code_list", "long", "dates.by"])
def test_explain_says_what_a_key_means(run, key):
    """Each key has a sentence; inner keys come along."""
    outcome = run("schema", "explain", key)
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith(key)


def test_explain_without_a_key_shows_all_of_them(run):
    """What a refusal lists as the keys is what is explained."""
    keys = {each["key"] for each in json.loads(run("schema", "explain", "--json").stdout)["keys"]}
    assert {"role", "bins", "top_code", "weight"} - keys == {"weight"}
    assert all(each["meaning"] for each in json.loads(run("schema", "explain", "--json").stdout)["keys"])


def test_explain_suggests_the_key_that_was_meant(run):
    """A misspelt key is refused with the nearest."""
    outcome = run("schema", "explain", "recod")
    assert outcome.exit_code == 1
    assert "did you mean 'recode'?" in outcome.stderr


def test_what_may_be_cells_of_a_file_without_a_header_is_not_said_in_complaints(run, folder):
    """A name that is missing is told with the nearest there is, never with all of them."""
    (folder / "bare.csv").write_text("Meier Hans,47,HIV\nKunz Eva,33,none\n", encoding="utf-8")
    for more in ((), ("--query", "select job from data")):
        outcome = run("schema", "check", "bare.csv", "schema.toml", *more)
        assert outcome.exit_code == 1
        assert "Meier" not in outcome.stderr


def test_check_names_what_is_left_out_where_the_schema_s_names_are_all_there(run, folder):
    """Then the first line is a header."""
    (folder / "other.toml").write_text(SCHEMA.replace("attributes.jb", "attributes.job"), encoding="utf-8")
    outcome = run("schema", "check", "people.csv", "other.toml", "--json")
    found = json.loads(outcome.stdout)
    assert (found["undeclared"], found["untold"]) == (["person", "region"], 0)


@pytest.mark.parametrize(
    "header", ["sexQuetzalcoatl,age,job", 'sex,age,"job\nQuetzalcoatl"', "sex;age,job Quetzalcoatl"]
)
def test_a_broken_header_shows_no_cell(run, folder, header):
    """A line break that is gone: the first row stands behind the names."""
    (folder / "broken.csv").write_text(f"{header}\nMale,30,Tech\n", encoding="utf-8")
    (folder / "other.toml").write_text(SCHEMA.replace("attributes.jb", "attributes.job"), encoding="utf-8")
    outcome = run("schema", "check", "broken.csv", "other.toml")
    assert outcome.exit_code == 1
    assert "Quetzalcoatl" not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize("how", [("--json",), ()])
def test_names_beside_few_of_the_schema_s_are_not_said_by_check(run, folder, how):
    """A file without its header line: what it is checked for still says what does not fit, and shows no cell."""
    (folder / "headless.csv").write_text("Quetzalcoatl,Male,78\nTlaloc,Male,30\n", encoding="utf-8")
    (folder / "other.toml").write_text(SCHEMA, encoding="utf-8")
    outcome = run("schema", "check", "headless.csv", "other.toml", *how)
    assert outcome.exit_code == 1
    assert "Quetzalcoatl" not in outcome.stdout + outcome.stderr
    if how:
        assert (json.loads(outcome.stdout)["undeclared"], json.loads(outcome.stdout)["untold"]) == ([], 3)
    else:
        assert "3 columns not in the schema, so not published." in outcome.stdout
        assert "--names" in outcome.stdout
