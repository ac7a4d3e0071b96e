"""What every verb that reads rows can be told: it is there, it arrives, and what is wrong is refused."""

from __future__ import annotations

import re

import pytest

from sfumato.cli.options import Reading, Running, with_options

READ_DATA = [
    ("schema", "infer"),
    ("schema", "check"),
    ("inspect",),
    ("plan",),
    ("calibrate",),
    ("publish",),
    ("report",),
    ("attack",),
]
READ_RELEASES = [("query",), ("counts",), ("mean",), ("measures",), ("regression",), ("verify",), ("show",)]
READ_NO_ROWS = {"demo", "datasets", "methods", "schema", "ledger", "attacks", "studio"}
"""Verbs that take neither data nor a release, or whose parts do."""
RUNNING = ("--engine", "--threads", "--memory", "--temp-dir")
SOURCE = ("--table", "--query", "--encoding", "--delimiter", "--names")
INSPECT = ("inspect", "people.csv", "--schema", "schema.toml")


@pytest.mark.parametrize("verb", [*READ_DATA, *READ_RELEASES])
def test_every_verb_that_reads_rows_can_be_told_how(run, verb):
    """Threads, memory and the temporary folder; about data also what to read of them."""
    shown = run(*verb, "--help").stdout
    for option in (*RUNNING, *(SOURCE if verb in READ_DATA else ())):
        assert option in shown, option


def test_no_verb_that_takes_data_or_a_release_goes_without(run):
    """Verbs are found on the front page, so that a new one cannot be forgotten."""
    verbs = set(re.findall(r"^│ ([a-z][a-z-]+)", run("--help").stdout, re.MULTILINE)) - READ_NO_ROWS
    assert {"verify", "publish", "query"} <= verbs
    lacking = [verb for verb in sorted(verbs) if "--threads" not in run(verb, "--help").stdout]
    assert lacking == []


def test_options_arrive_as_one_value():
    """A verb sees what was said, not how it was spread out."""
    seen = []

    @with_options
    def verb(data: str, *, reading: Reading) -> None:
        seen.append((data, reading))

    verb(
        "a.csv",
        **dict.fromkeys(("table", "query", "delimiter", "names", "temp_dir")),
        engine="duckdb",
        threads=2,
        memory="2GB",
        encoding="cp1252",
    )
    assert seen == [("a.csv", Reading(threads=2, memory="2GB", encoding="cp1252"))]


def test_an_engine_is_made_as_said(tmp_path):
    """All three limits."""
    engine = Running(threads=1, memory="300MB", temp_dir=tmp_path).make_engine()
    assert (engine.threads, engine.memory_limit, engine.temporary_folder) == (1, "300MB", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--threads", "0"), "threads must be from 1"),
        (("--memory", "lots"), "memory must be a number with a unit"),
        (("--memory", "999999999TB"), "below a million TB"),
        (("--memory", "101%"), "below a million TB"),
        (("--temp-dir", "/proc"), "no folder for temporary files can be made in '/proc'"),
        (("--temp-dir", "nowhere"), "no folder 'nowhere'"),
        (("--table", "people"), "to which table says nothing"),
        (("--encoding", "klingon"), "no encoding 'klingon'"),
        (("--query", "select nothing from nowhere"), "The rows are called data"),
    ],
)
def test_what_cannot_be_is_refused(run, arguments, said):
    """In one sentence, exit 1."""
    outcome = run(*INSPECT, *arguments)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert said in outcome.stderr


def test_who_did_not_consent_is_not_published(run, folder):
    """The query chooses rows of a text file too."""
    (folder / "people.csv").write_text(
        "person,sex,age,region,job,consent\n"
        + "p,Male,20,North,Sales,yes\n" * 30
        + "p,Female,20,North,Sales,no\n" * 20
    )
    outcome = run(
        *("publish", "people.csv", "--schema", "schema.toml", "--method", "randomized-response"),
        *("--set", "retention=0.5", "--query", "from data where consent = 'yes'", "--out", "release"),
    )
    assert outcome.exit_code == 0, outcome.stderr
    assert "30 rows" in outcome.stdout


def test_a_file_without_a_header_line_is_named_on_the_command_line(run, folder):
    """What infer asks says the option; a name may hold a comma in quotes."""
    (folder / "bare.csv").write_text("30;yes\n41;no\n" * 30)
    guessed = run("schema", "infer", "bare.csv", "--out", "guessed.toml")
    assert guessed.exit_code == 0
    assert (
        "1. The file seems to have no header line: its columns are called column_1 to column_2"
        in guessed.stderr
    )
    assert "--names" in guessed.stderr
    outcome = run("schema", "infer", "bare.csv", "--out", "bare.toml", "--names", '"age, years",hiv')
    assert outcome.exit_code == 0, outcome.stderr
    assert '[attributes."age, years"]' in (folder / "bare.toml").read_text()
    checked = run("schema", "check", "bare.csv", "bare.toml", "--names", '"age, years", hiv')
    assert checked.exit_code == 0, checked.stderr


def test_remarks_on_a_file_are_said(run, folder):
    """On stderr, where talk belongs."""
    lines = (folder / "people.csv").read_text().splitlines()
    (folder / "people.csv").write_text(
        "\n".join([f",{lines[0]}", *(f"{n},{each}" for n, each in enumerate(lines[1:]))])
    )
    outcome = run(*INSPECT, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert "column 1 without a name" in outcome.stderr
