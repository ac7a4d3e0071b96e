"""What pages say one could type instead: a shell and Python do with it what the page did."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pyarrow import csv
from typer.testing import CliRunner

import samples
from sfumato import METHODS
from sfumato.cli.app import app
from sfumato.studio import commands
from sfumato.studio.commands import Command

PAGES = {
    "/data": 0,
    "/roles": 0,
    "/risk": 0,
    "/method/randomized-response": 0,
    "/method/anatomy": 0,
    "/compare": None,
    "/publish": None,
    "/attack": None,
    "/report": 0,
    "/release": 0,
    "/tables": 0,
    "/tables/table?by=sex&by=job&where=age<35&consistent=1": 0,
    "/ask/answer?text=sex = 'Female'&given=age<35": 0,
    "/measures?first=sex = 'Female'&second=region": 0,
    "/regression?formula=sex ~ region": 0,
}
"""By address, the exit code of its command; None for those that take long, which are split into words only."""


def shown_lines(page: str) -> list[str]:
    """Commands on a page, as they would be copied."""
    return [html.unescape(each) for each in re.findall(r"<code>(sfumato .*?)</code>", page, re.DOTALL)]


def shown_code(page: str) -> list[str]:
    """Python on a page, as it would be copied."""
    return [html.unescape(each) for each in re.findall(r"<code>(from sfumato .*?)</code>", page, re.DOTALL)]


def words(line: str, folder: Path) -> list[str]:
    """The arguments that a shell makes of a line."""
    script = f"sfumato() {{ printf '%s\\0' \"$@\"; }}\n{line}"
    told = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, check=True)
    assert not told.stderr
    return told.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("path", PAGES)
def test_the_commands_of_a_page_run_as_they_stand(analyst, path):
    """A shell splits them into words that the command line takes."""
    lines = [each for each in shown_lines(analyst.client.get(path).text) if "RELEASE" not in each]
    lines = [each for each in lines if "CONDITIONS" not in each]
    assert lines
    for line in lines:
        arguments = words(line, analyst.project.root)
        if PAGES[path] is not None and "--out" not in arguments:
            outcome = analyst.client.portal.call(analyst.studio.run, *arguments)
            assert outcome.exit == PAGES[path], (line, outcome.said)
            assert outcome.result


@pytest.mark.parametrize(
    "path", [path for path, code in PAGES.items() if code is not None] + ["/publish", "/attack"]
)
def test_the_python_of_a_page_runs(analyst, monkeypatch, capsys, path):
    """In a folder like the project's, as it is copied."""
    for number, code in enumerate(shown_code(analyst.client.get(path).text)):
        copied = analyst.project.root.with_name(f"by-hand-{len(path)}-{number}")
        shutil.copytree(analyst.project.root, copied, dirs_exist_ok=True)
        monkeypatch.chdir(copied)
        exec(compile(code, path, "exec"), {})
        assert capsys.readouterr().out or path in ("/report", "/data", "/publish")


ODD = (
    "it's",
    'say "so"',
    "$HOME",
    "`x`",
    "a\\b",
    "wow!",
    "two words",
    "ünï",
    "=1+1",
    "*",
    "~",
    "#x",
    "a\nb",
    "-1",
)


@pytest.mark.parametrize("text", ODD)
def test_any_text_is_one_word(text, tmp_path):
    """Whatever a column, a file or a category is called."""
    arguments = ("counts", "releases/first", "--by", text, "--where", f"{text} = '{text}'")
    assert words(Command(arguments, "").shell, tmp_path) == list(arguments)


@pytest.mark.parametrize("name", METHODS.members)
def test_the_command_of_a_plan_is_its_design(name, tmp_path):
    """Every parameter of every method's example goes through a shell and comes out the same."""
    design = METHODS.get(name).example(samples.SCHEMA.publishable).to_dict()
    (tmp_path / "schema.toml").write_text(samples.SCHEMA.to_toml(), encoding="utf-8")
    arguments = words(commands.plan(design, 1000).shell, tmp_path)
    schema = str(tmp_path / "schema.toml")
    told = CliRunner().invoke(
        app, [schema if each == "schema.toml" else each for each in [*arguments, "--json"]]
    )
    assert told.exit_code == 0, told.output
    assert METHODS.read(json.loads(told.stdout)["design"]) == METHODS.read(design)


@pytest.mark.parametrize(
    ("path", "sent", "words"),
    [
        (
            "/publish/command",
            {"name": "it", "format": "csv", "again": "1", "seed": "7"},
            "--again --format csv --seed 7 --out releases/it",
        ),
        ("/attack/command", {"release": "releases/first", "control": "others.csv"}, "--control others.csv"),
        (
            "/report/command",
            {"release": "releases/first", "private": "1"},
            "--out reports/first-private.html",
        ),
        (
            "/compare/command",
            {"sensitive": "job", "repeats": "5", "queries": "20"},
            "--sensitive job --repeats 5 --queries 20",
        ),
        (
            "/compare/command",
            {"sensitive": "job", "repeats": "²", "queries": "-"},
            "--repeats 3 --queries 100",
        ),
    ],
)
def test_the_command_follows_the_form(analyst, path, sent, words):
    """As it stands, before anything is pressed."""
    assert words in shown_lines(analyst.get(path, **sent))[0]


def test_a_seed_that_is_none_is_refused(custodian):
    """Nothing is published with a seed that nobody chose, or without the one that somebody did."""
    custodian.post("/method/randomized-response", retention="0.5")
    for seed in ("two", "-1", "²", "1.5"):
        assert custodian.post("/publish", name="it", seed=seed).status_code == 422
    assert not custodian.project.releases()


def test_the_python_of_designs_of_ones_own_names_them(tmp_path, monkeypatch, capsys):
    """Else it would compare a grid of every method."""
    csv.write_csv(samples.people(200), tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(samples.SCHEMA.to_toml(), encoding="utf-8")
    (tmp_path / "designs.toml").write_text('[[design]]\nmethod = "distribution-resampling"\n')
    code = commands.compare("people.csv", {}, sensitive="job", repeats=3, queries=10, own_designs=True).python
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "compare", "exec"), {})
    told = capsys.readouterr().out
    assert "distribution-resampling" in told
    assert "anatomy" not in told


def test_an_attack_names_the_attribute_that_it_infers():
    """Where several are sensitive it has to."""
    told = commands.attack("r", "linking", knowledge="known.csv", sensitive="marital status")
    assert told.arguments[3:8] == (
        "linking",
        "--set",
        'sensitive="marital status"',
        "--knowledge",
        "known.csv",
    )
    assert "{'sensitive': 'marital status'}" in told.python
