"""Measuring: whole processes through the public door, each figure beside its limit.

Absolute times mean little on a shared machine. A contender and its peer run in processes of their own, interleaved in
rounds, and the medians are compared. Processor time and the clock are stated apart: other work on the machine
stretches the clock. This module, and whatever starts measured processes, imports nothing large: the peak memory of
a child begins with what its parent holds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
WORK = FOLDER / "work"

RESULTS = "SFUMATO_BENCHMARK_RESULTS"
"""Environment variable that names the file to which every figure is added."""

COMMAND = """
import shutil, sys
if sys.argv[1:2] == ["publish"]:
    shutil.rmtree(sys.argv[sys.argv.index("--out") + 1], ignore_errors=True)
from sfumato.cli import main
main()
"""
"""A command of sfumato with its arguments; a release of an earlier round is taken away first."""


class NotHereError(Exception):
    """What a figure needs is neither on this machine nor within its reach."""


@dataclass(frozen=True)
class Run:
    """One process: seconds on the clock, seconds of processor, peak memory in megabytes."""

    wall: float
    cpu: float
    megabytes: float

    def __str__(self) -> str:
        return f"CPU {self.cpu:.2f} s, clock {self.wall:.2f} s, {self.megabytes:.0f} MB"


@dataclass(frozen=True)
class Measurement:
    """One figure beside its limit."""

    name: str
    value: float
    limit: float
    detail: str = ""

    def __str__(self) -> str:
        verdict = "within" if self.value <= self.limit else "OVER"
        return f"{self.name}: {self.value:.2f} (limit {self.limit:g}, {verdict}){'  ' + self.detail if self.detail else ''}"


# Installed packages are compiled once; sources in development, or where nothing may be written beside them, are not.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPYCACHEPREFIX": str(WORK / "bytecode"),
}


def sfumato(*arguments: str | Path) -> Run:
    """Run a command of sfumato as a user does, and measure the process."""
    return run_python(COMMAND, *arguments)


def run_python(code: str, *arguments: str | Path) -> Run:
    """Run a piece of Python in a process of its own and measure it; arguments are in ``sys.argv[1:]``."""
    return measured([sys.executable, "-c", code, *arguments])[1]


def measured(command: Sequence[str | Path]) -> tuple[str, Run]:
    """Run a process, another program's too: what it printed, and what it took."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said, tempfile.TemporaryFile("w+") as troubles:
        with subprocess.Popen(
            list(map(str, command)), stdout=said, stderr=troubles, env=ENVIRONMENT
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        said.seek(0)
        troubles.seek(0)
        if process.returncode != 0:
            told = troubles.read()[-2000:]
            raise SystemExit(f"a measured process failed with exit code {process.returncode}: {told}")
        return said.read(), Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run_for_output(code: str, *arguments: str | Path) -> str:
    """Run a piece of Python in a process of its own; what it printed."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT).stdout.strip()


def environment(peer: str) -> Path:
    """The interpreter of a peer's environment, made when it is not there, with what ``peers/PEER.txt`` names.

    Raises
    ------
    NotHereError
        When the packages cannot be had.
    """
    folder = WORK / "peers" / peer
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        import venv

        venv.create(folder, with_pip=True, clear=True)
        wanted = FOLDER / "peers" / f"{peer}.txt"
        command = [python, "-m", "pip", "install", "--quiet", "-r", wanted]
        if subprocess.run(command, check=False).returncode != 0:
            raise NotHereError(f"{peer} could not be installed")
        (folder / "installed").touch()
    return python


def finish(*parts: Iterable[Measurement]) -> None:
    """Print each figure as it comes, add it to the results that are collected, and exit with 1 when one was over.

    A part that needs what is not here is left out from there on, and that is said; the other parts are measured.
    """
    over = False
    for part in parts:
        try:
            for each in part:
                print(each, flush=True)
                over |= each.value > each.limit
                _collect(asdict(each))
        except Exception as error:
            if not _is_not_here(error):
                raise
            print(f"left out: {error}", flush=True)
            _collect({"left_out": str(error)})
    sys.exit(int(over))


def _is_not_here(error: Exception) -> bool:
    from sfumato.errors import DownloadError

    return isinstance(error, NotHereError | DownloadError)


def _collect(told: dict[str, object]) -> None:
    """Add a line to the results, where they are collected."""
    collected = os.environ.get(RESULTS)
    if collected:
        with Path(collected).open("a", encoding="utf-8") as file:
            about = {"benchmark": Path(sys.argv[0]).stem, "load": os.getloadavg()[0]}
            file.write(json.dumps({**about, **told}) + "\n")


def median(runs: list[Run]) -> Run:
    """Medians of each quantity."""
    return Run(
        statistics.median(each.wall for each in runs),
        statistics.median(each.cpu for each in runs),
        statistics.median(each.megabytes for each in runs),
    )


def interleaved(contenders: dict[str, tuple[str, tuple[str | Path, ...]]], *, rounds: int) -> dict[str, Run]:
    """Median of each contender over rounds in which every one of them runs once, in rotating order."""
    names = list(contenders)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            code, arguments = contenders[name]
            runs[name].append(run_python(code, *arguments))
    return {name: median(each) for name, each in runs.items()}


def census(rows: int, suffix: str = "parquet") -> Path:
    """The census table with that many rows, made once and kept."""
    WORK.mkdir(exist_ok=True)
    path = WORK / f"census-{rows}-{suffix}.{suffix}"
    if not path.exists():
        sfumato("datasets", "make", "census", "--rows", str(rows), "--seed", "1", "--out", path)
    return path


def publish(
    data: Path, out: str, *arguments: str, schema: Path | None = None, times: int = 1
) -> tuple[Path, Run]:
    """Publish a table by a command, some times over, and measure: the release, and the medians."""
    release, ledger = WORK / f"release-{out}", WORK / f"ledger-{out}"
    command = publishing(data, release, ledger, arguments, schema)
    return release, median([sfumato(*command) for _ in range(times)])


def publishing(
    data: Path, release: Path, ledger: Path, arguments: Iterable[str], schema: Path | None = None
) -> tuple[str | Path, ...]:
    """The arguments of a command that publishes; its ledger is its own."""
    stated = schema or data.with_suffix(".schema.toml")
    where: list[str | Path] = ["--schema", stated, "--out", release, "--ledger", ledger]
    # What is measured is made up: nobody can be found in it.
    return ("publish", data, *where, "--again", "--accept", "singled-out", *arguments)


def table(name: str, rows: int, *columns: str) -> Path:
    """A made-up table and its schema, made once and kept; ``tables.py`` says how columns are written."""
    WORK.mkdir(exist_ok=True)
    path = WORK / f"{name}-{rows}.parquet"
    if not path.exists():
        run_python((FOLDER / "tables.py").read_text(encoding="utf-8"), path, str(rows), *columns)
    return path
