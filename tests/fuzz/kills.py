"""Processes killed in the middle of a publication: the folder is whole or absent, and the next run cleans up."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

from samples import SCHEMA, people
from sfumato import load_release
from sfumato.atomic_files import PARTIAL, SPILL
from sfumato.cli.app import app

ROWS = 20_000
METHODS = (("randomized-response", "retention=0.5"), ("anatomy", "l_value=2"), ("generalization", "k=5"))


@dataclass
class Tally:
    """What became of the processes."""

    whole: int = 0
    absent: int = 0
    with_remains: int = 0


def prepare(folder: Path) -> None:
    """A table that takes a while, and a place for what exceeds memory."""
    parquet.write_table(people(ROWS), folder / "people.parquet")
    (folder / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    (folder / "spill").mkdir()


def publication(folder: Path, number: int, out: Path) -> list[str]:
    """The command."""
    method, parameter = METHODS[number % len(METHODS)]
    return [
        *("publish", str(folder / "people.parquet"), "--schema", str(folder / "schema.toml")),
        *("--method", method, "--set", parameter, "--out", str(out), "--temp-dir", str(folder / "spill")),
        *("--ledger", str(folder / f"ledger-{number}.db"), "--accept", "singled-out", "--again"),
    ]


def start(arguments: list[str]) -> int:
    """Run a command in a copy of this process, which has loaded everything and opened nothing."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        code = 70
        try:
            app(arguments, prog_name="sfumato", standalone_mode=True)
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            os._exit(code)
    return child


def remains(folder: Path) -> list[Path]:
    """Half-written folders, and what was spilled."""
    return [
        *(each for each in folder.iterdir() if PARTIAL in each.name),
        *(each for each in (folder / "spill").iterdir() if each.name.startswith(SPILL)),
    ]


def kill_some(folder: Path, number: int, seed: int, *, by: int = signal.SIGKILL) -> Tally:
    """Kill so many publications, each after another while, and look at what is there afterwards.

    Raises
    ------
    AssertionError
        When a folder is neither whole nor absent, or the run after a kill leaves something of it.
    """
    prepare(folder)
    chance, tally = random.Random(seed), Tally()
    began = time.monotonic()
    _, status = os.waitpid(start(publication(folder, 0, folder / "first")), 0)
    assert os.waitstatus_to_exitcode(status) == 0
    usual = time.monotonic() - began
    for place in range(1, number + 1):
        out = folder / f"release-{place}"
        child = start(publication(folder, place, out))
        time.sleep(chance.random() * usual * 1.1)
        os.kill(child, by)
        os.waitpid(child, 0)
        tally.with_remains += bool(remains(folder))
        if out.exists():
            tally.whole += 1
            with load_release(out) as release:
                assert release.query().estimate > 0
        else:
            tally.absent += 1
            # The next run, whatever it publishes, removes what the killed one left.
            if remains(folder):
                _, status = os.waitpid(start(publication(folder, 0, folder / "next")), 0)
                shutil.rmtree(folder / "next", ignore_errors=True)
                for end in ("db", "key"):
                    (folder / f"ledger-0.{end}").unlink(missing_ok=True)
        assert not [each for each in remains(folder) if PARTIAL in each.name], "remains of a killed process"
        shutil.rmtree(out, ignore_errors=True)
    _, status = os.waitpid(start(publication(folder, 0, folder / "last")), 0)
    assert not remains(folder)
    return tally
