"""Measuring: every figure is a ratio to something measured in the same run.

Absolute times mean little on a shared machine. A contender and its peer run in processes of their
own, interleaved in rounds, and the medians are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
WORK = FOLDER / "work"


@dataclass(frozen=True)
class Run:
    """One process: seconds on the clock, seconds of processor, peak memory in megabytes."""

    wall: float
    cpu: float
    megabytes: float


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


def run_python(code: str, *arguments: str | Path) -> Run:
    """Run a piece of Python in a process of its own and measure it; arguments are in ``sys.argv[1:]``."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode != 0:
        raise SystemExit(f"a measured process failed with exit code {process.returncode}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run_for_output(code: str, *arguments: str | Path) -> str:
    """Run a piece of Python in a process of its own; what it printed."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def finish(measurements: Iterable[Measurement]) -> None:
    """Print each figure as it comes; exit with 1 when one was over its limit."""
    over = False
    for each in measurements:
        print(each, flush=True)
        over |= each.value > each.limit
    sys.exit(int(over))


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
    from sfumato.datasets import make_dataset

    WORK.mkdir(exist_ok=True)
    path = WORK / f"census-{rows}-{suffix}.{suffix}"
    if not path.exists():
        make_dataset("census", rows=rows, seed=1, out=path)
    return path
