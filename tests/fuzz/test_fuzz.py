"""Whatever is given, the command line answers or refuses: in time, in memory, in words, and with whole folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.running import MARKER, trouble_with
from fuzz.targets import TARGETS
from sfumato.errors import SfumatoError

QUICK = {
    "query-text": 350,
    "schema": 350,
    "settings": 350,
    "design-file": 350,
    "manifest": 250,
    "hierarchy": 150,
    "csv-bytes": 120,
    "parquet-types": 80,
}
"""Inputs of each target in `make test`, 2,000 in all, fewer where each takes longer."""

SLOW = 20_000
"""Of each in `make test-slow`."""

QUICK_KILLS, SLOW_KILLS = 20, 200


def fuzz(target: str, number: int, seed: int) -> subprocess.CompletedProcess[str]:
    """Run inputs in a process of their own, so that limits are its own too."""
    return subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "fuzz", target),
            *("--number", str(number), "--seed", str(seed)),
        ],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", list(TARGETS))
def test_some_inputs_are_answered_or_refused(target):
    """No exit but the stated ones, no traceback, no cell, no command to the terminal, within 20 s and 2 GB."""
    done = fuzz(target, QUICK[target], seed=1)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("target", list(TARGETS))
def test_many_inputs_are_answered_or_refused(target):
    """The same, and others."""
    done = fuzz(target, SLOW, seed=20_000)
    assert done.returncode == 0, done.stdout + done.stderr


def kill(number: int, seed: int, folder: Path, by: int = signal.SIGKILL) -> str:
    """Kill publications, from a process that has opened nothing yet."""
    code = (
        "import sys; from pathlib import Path; from fuzz.kills import kill_some\n"
        f"print(kill_some(Path(sys.argv[1]), {number}, {seed}, by={int(by)}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def test_killed_publications_are_whole_or_absent(tmp_path):
    """And what they leave is gone after the next run; some are killed in the middle, or nothing was tried."""
    tally = kill(QUICK_KILLS, 1, tmp_path)
    assert "with_remains=0" not in tally, tally


@pytest.mark.slow
def test_many_killed_publications_are_whole_or_absent(tmp_path):
    """The same, more of them."""
    tally = kill(SLOW_KILLS, 2, tmp_path)
    assert "with_remains=0" not in tally, tally


def raising(error: BaseException, *, after: str = "") -> Callable[..., None]:
    """Something that goes wrong, perhaps after words."""

    def fail(*_: object, **__: object) -> None:
        print(after)  # noqa: T201 - what it is for
        raise error

    return fail


def long_winded(*_: object, **__: object) -> None:
    """A refusal that nobody reads to its end."""
    print("sfumato: " + "a " * 1_200, file=sys.stderr)  # noqa: T201 - what it is for
    raise SfumatoError("Refused.")


WRONG = {
    "exit 70": raising(ZeroDivisionError()),
    "took more than": lambda *_, **__: time.sleep(10),
    "shows a cell": raising(SfumatoError("Refused."), after=f"{MARKER}-7"),
    "commands the terminal": raising(SfumatoError("Refused."), after="\x1b[2J"),
    "raised": raising(GeneratorExit()),
    "says 2,4": long_winded,
    "more memory than there is": raising(MemoryError()),
}


@pytest.mark.parametrize("said", list(WRONG))
def test_trouble_is_seen(said, monkeypatch):
    """The harness's own eyes."""
    monkeypatch.setattr("fuzz.running.SECONDS", 0.5 if said == "took more than" else 20)
    monkeypatch.setattr("sfumato.release.load_release", WRONG[said])
    found = trouble_with(0, ("show", "release"))
    assert found is not None
    assert said in found.what


def test_a_plain_refusal_is_no_trouble(monkeypatch):
    """Nor is everything taken for trouble."""
    monkeypatch.setattr("sfumato.release.load_release", raising(SfumatoError("Refused.")))
    assert trouble_with(0, ("show", "release")) is None
