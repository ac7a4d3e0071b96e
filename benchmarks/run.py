"""Run every benchmark, or those named: ``python benchmarks/run.py [--full] [--page] [name ...]``, ``make bench BENCH="..."``.

Without names all but the longest are run, some at smaller sizes or in fewer rounds (``SHORTER``): about half an hour on two cores. A named
benchmark, and all of them with ``--full``, have the sizes of the page of costs. Every figure is printed beside its limit and added to
``work/results.jsonl``, where the last of each name counts; the end says what was over its limit, and what was left out because this machine or
its network lacks it. ``--page`` writes the figures into ``docs/performance.md``; alone it runs nothing. The exit code is 1 when a figure is over,
2 when a benchmark could not be run to its end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import FOLDER, RESULTS, WORK
from performance_page import write_page

NOT_BENCHMARKS = {"run", "measuring", "tables", "performance_page"}

SHORTER: dict[str, tuple[str, ...]] = {
    "foundation": ("10000000", "3"),
    "growth": ("--rows", "1000000,10000000"),
    "splu_gen": ("--quick",),
}
"""Arguments by which a run of everything takes less: ten million rows in place of a hundred, which take a quarter of an hour."""

BY_NAME = ("adult_frontier",)
"""Run by name or with ``--full`` only: another quarter of an hour, and no peer beside it."""


def main(arguments: Sequence[str]) -> int:
    """One process for each benchmark; the exit code says whether all ran and stayed within their limits."""
    known = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(known)}")
    parser.add_argument("--full", action="store_true", help="the sizes of the page of costs, for all")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}")
    WORK.mkdir(exist_ok=True)
    results = Path(os.environ.setdefault(RESULTS, str(WORK / "results.jsonl")))
    is_short = not (chosen.names or chosen.full)
    every = [name for name in known if not (is_short and name in BY_NAME)]
    names = chosen.names or ([] if chosen.page and is_short else every)
    before = results.stat().st_size if results.exists() else 0
    failed = [name for name in names if _run(name, SHORTER.get(name, ()) if is_short else ())]
    code = told(_since(results, before), failed) if names else 0
    if is_short and names:
        print(
            f"by name only: {', '.join(BY_NAME)}; at the sizes of the page of costs by name: {', '.join(SHORTER)}"
        )
    if chosen.page:
        write_page(results, FOLDER.parent / "docs" / "performance.md")
    return code


def _run(name: str, arguments: Sequence[str]) -> int:
    """The exit code of a benchmark."""
    print(f"== {' '.join([name, *arguments])}", flush=True)
    start = time.perf_counter()
    code = subprocess.run([sys.executable, FOLDER / f"{name}.py", *arguments], check=False).returncode
    print(f"   {(time.perf_counter() - start) / 60:.1f} minutes", flush=True)
    return code


def _since(results: Path, place: int) -> list[dict[str, Any]]:
    """What was added to the results."""
    if not results.exists():
        return []
    with results.open(encoding="utf-8") as file:
        file.seek(place)
        return [json.loads(line) for line in file]


def told(found: Sequence[dict[str, Any]], failed: Sequence[str]) -> int:
    """Say what was over and left out, and which of the benchmarks that failed had nothing over; the exit code.

    >>> told([{"benchmark": "a", "name": "seconds", "value": 2.0, "limit": 1.0}], ["a"])
    1 of 1 figures over their limits:
      a: seconds: 2.00 (limit 1)
    1
    >>> told([{"benchmark": "a", "left_out": "no Java"}], ["b"])
    0 of 0 figures over their limits.
    left out: a (no Java)
    not run to the end: b
    2
    """
    figures = [each for each in found if "value" in each]
    over = [each for each in figures if each["value"] > each["limit"]]
    print(f"{len(over)} of {len(figures)} figures over their limits{':' if over else '.'}")
    for each in over:
        print(f"  {each['benchmark']}: {each['name']}: {each['value']:.2f} (limit {each['limit']:g})")
    for each in found:
        if "left_out" in each:
            print(f"left out: {each['benchmark']} ({each['left_out']})")
    broken = [name for name in failed if name not in {each["benchmark"] for each in over}]
    if broken:
        print(f"not run to the end: {', '.join(broken)}")
    return 1 if over else 2 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
