"""The command line as a user meets it: a folder with some files, and a way to run verbs in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyarrow import csv
from typer.testing import CliRunner

from samples import SCHEMA, people
from sfumato.cli.app import app

PUBLISH = ("publish", "people.csv", "--schema", "schema.toml", "--method", "randomized-response")
ROWS = 400


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    exit_code: int
    stdout: str
    stderr: str


Run = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with people.csv and schema.toml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_DEBUG", raising=False)
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path_factory.mktemp("ledger") / "ledger.db"))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "100")
    csv.write_csv(people(ROWS), tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Runs a verb within this process."""
    assert folder == Path.cwd()

    def invoke(*arguments: str) -> Outcome:
        result = CliRunner().invoke(app, list(arguments), prog_name="sfumato")
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def run_process(folder: Path) -> Run:
    """Runs a verb in a process of its own, as a shell would."""

    def invoke(*arguments: str, **environment: str) -> Outcome:
        result = subprocess.run(
            [sys.executable, "-c", "from sfumato.cli import main; main()", *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Outcome(result.returncode, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def release(run: Run) -> str:
    """Name of a folder with a release of the people, job perturbed, made with a seed."""
    outcome = run(*PUBLISH, "--set", "retention=0.5", "--seed", "1", "--out", "release")
    assert outcome.exit_code == 0, outcome.stderr
    return "release"
