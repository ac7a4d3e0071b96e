"""How much of the machine a verb may use is not only taken but kept to: every database that any verb opens is as was said."""

from __future__ import annotations

import re
import tempfile

import duckdb
import pytest

from sfumato.data.duckdb_connection import SMALL

pytestmark = pytest.mark.usefixtures("databases_of_their_own")

DATA = ("people.csv", "--schema", "schema.toml")
DESIGN = ("--method", "randomized-response", "--set", "retention=0.5")
VERBS = {
    "schema infer": ("people.csv", "--out", "guess.toml"),
    "schema check": ("people.csv", "schema.toml"),
    "inspect": DATA,
    "plan": (*DATA, *DESIGN),
    "calibrate": (*DATA, "--goal", "epsilon=1"),
    "hiding-noise": (*DATA, "--of", "job", "--by", "sex"),
    "compare": (*DATA, "--designs", "designs.toml", "--out", "comparison"),
    "publish": (*DATA, *DESIGN, "--out", "second", "--again"),
    "show": ("release",),
    "query": ("release", "job = 'Sales'"),
    "counts": ("release", "--by", "job"),
    "mean": ("release", "age"),
    "measures": ("release", "--of", "sex,job"),
    "independence": ("release", "--of", "sex,job"),
    "regression": ("release", "job IN ('Sales') ~ sex"),
    "rules": ("release", "--minimum-support", "0.01", "--minimum-confidence", "0.5"),
    "loglinear": ("release", "sex*job"),
    "impute": ("release", "--by", "sex,job", "--draws", "2", "--out", "draws"),
    "classify": ("release", "--of", "job", "--by", "sex,age"),
    "shrink": ("release", "--by", "sex,job"),
    "recommend": ("release",),
    "advise": ("release",),
    "report": ("release", "--out", "report.html"),
    "verify": ("release",),
    "check-matrix": ("release", "job", "--retention", "0.5"),
    "attack": ("release", "--attack", "linking", "--set", "sensitive=job"),
    "audit": ("release", "--against", "people.csv", "--schema", "schema.toml"),
    "falsify": (*DATA, *DESIGN),
}
"""Arguments of every verb that reads rows."""

READ_NO_ROWS = {"demo", "datasets", "methods", "schema", "ledger", "attacks", "studio"}
REFUSES = {"recommend", "shrink"}
"""Verbs to which this release has nothing to say; what they open is looked at all the same."""


def test_every_verb_that_reads_rows_is_looked_at(run):
    """Verbs are found on the front pages, so that a new one cannot be forgotten."""
    pattern = re.compile(r"^│ ([a-z][a-z-]+)", re.MULTILINE)
    found = {*pattern.findall(run("--help").stdout)} - READ_NO_ROWS
    of_schemas = {f"schema {verb}" for verb in pattern.findall(run("schema", "--help").stdout)}
    assert {*VERBS} == found | of_schemas - {"schema explain"}


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_database_is_opened_as_was_said(verb, run, release, folder, monkeypatch):
    """One thread, so much memory, and nothing put anywhere but where it was said."""
    assert release == "release"
    (folder / "designs.toml").write_text(
        '[[design]]\nmethod = "randomized-response"\nretention = 0.5\n', encoding="utf-8"
    )
    allowed = {0, 1} if verb in REFUSES else {0, 3}
    hold_to_limits(run, folder, monkeypatch, (*verb.split(), *VERBS[verb]), allowed)


def test_other_releases_are_opened_as_the_first(run, folder, monkeypatch):
    """An attack on several: which are named by its parameters, not by the verb."""
    for name in ("first", "second"):
        settings = ("--method", "splu-gen", "--set", "gamma=2", "--seed", "1", "--out", name)
        assert run("publish", *DATA, *settings).exit_code == 0
    others = f"other_releases=['{folder / 'second'}']"
    hold_to_limits(run, folder, monkeypatch, ("attack", "first", "--attack", "averaging", "--set", others))


def hold_to_limits(run, folder, monkeypatch, arguments, allowed=frozenset({0})):
    """Run a verb, and look at what it opened and where it made folders."""
    (folder / "spill").mkdir()
    (folder / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "elsewhere"))
    opened, original = [], duckdb.connect

    def connect(*arguments, **options):
        opened.append(options.get("config", {}))
        return original(*arguments, **options)

    monkeypatch.setattr(duckdb, "connect", connect)
    made = []
    monkeypatch.setattr(tempfile, "mkdtemp", _noting(made, tempfile.mkdtemp))
    limits = ("--threads", "1", "--memory", "300MB", "--temp-dir", str(folder / "spill"))
    outcome = run(*arguments, *limits)
    assert outcome.exit_code in allowed, outcome.stderr
    for each in opened:
        if each != SMALL:
            assert (str(each["threads"]), each["memory_limit"]) == ("1", "300MB")
            assert each["temp_directory"].startswith(str(folder / "spill"))
    assert [each for each in made if each.startswith(str(folder / "elsewhere"))] == []


def _noting(made, original):
    def mkdtemp(*arguments, **options):
        made.append(original(*arguments, **options))
        return made[-1]

    return mkdtemp
