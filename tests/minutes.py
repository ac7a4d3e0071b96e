"""How long each part of the tests takes: ``make minutes`` runs them and writes the table of CONTRIBUTING.md.

``python tests/minutes.py`` runs ``make test`` and ``make browser-test`` with ``SFUMATO_MINUTES`` naming a file to which every phase of every test adds its seconds
(``tests/conftest.py``), and sums them by part. ``--from FILE`` makes the table of a file that is there. Tests run two at a time, so that the sum is about twice the clock.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- minutes: begin -->", "<!-- minutes: end -->"
PARTS = {
    "unit": ("tests/unit", "tests/exact", "tests/boundaries", "src"),
    "statistical": ("tests/statistical", "tests/properties"),
    "conformance": ("tests/conformance", "tests/golden", "tests/plugins"),
    "fuzz": ("tests/fuzz",),
    "Spark, its quick part": ("tests/spark",),
    "browser": ("tests/browser",),
    "recomputation": ("tests/reproductions", "tests/errata"),
    "documentation": ("tests/documentation",),
    "mutants' own tool": ("tests/mutants",),
}
"""Folders of each part; a test sees that none is forgotten."""
MOST = 15
"""Minutes that ``make test`` may take."""


def part_of(test: str) -> str:
    """The part that a test belongs to, by its path; examples in files beside the folders are units."""
    if Path(test.partition("::")[0]).parent == Path("tests"):
        return "unit"
    return next(
        part for part, folders in PARTS.items() if any(test.startswith(f"{each}/") for each in folders)
    )


def summed(lines: list[str]) -> tuple[dict[str, float], dict[str, int]]:
    r"""Seconds and number of tests of each part, of lines with a test's name and the seconds of a phase.

    >>> seconds, tests = summed(["tests/unit/test_a.py::test_b\t1.5", "tests/unit/test_a.py::test_b\t0.5"])
    >>> seconds["unit"], tests["unit"]
    (2.0, 1)
    """
    seconds: dict[str, float] = collections.defaultdict(float)
    names: dict[str, set[str]] = collections.defaultdict(set)
    for line in lines:
        test, _, duration = line.rpartition("\t")
        seconds[part_of(test)] += float(duration)
        names[part_of(test)].add(test)
    return dict(seconds), {part: len(each) for part, each in names.items()}


def table(seconds: dict[str, float], tests: dict[str, int], clock: dict[str, float]) -> str:
    """The lines between the marks."""
    lines = ["| part | tests | minutes, summed |", "|---|---|---|"]
    lines += [f"| {part} | {tests[part]:,} | {seconds[part] / 60:.1f} |" for part in PARTS if part in seconds]
    for command, passed in clock.items():
        lines.append(f"| `{command}` by the clock | | {passed / 60:.1f} |")
    return "\n".join(lines)


def run(file: Path) -> dict[str, float]:
    """Seconds by the clock of both targets; a target that fails ends it."""
    clock = {}
    for target in ("test", "browser-test"):
        start = time.monotonic()
        subprocess.run(
            ["make", target], cwd=ROOT, check=True, env={**os.environ, "SFUMATO_MINUTES": str(file)}
        )
        clock[f"make {target}"] = time.monotonic() - start
    return clock


def written(page: str, between: str) -> str:
    """A page with other lines between the marks."""
    before, after = page.split(BEGIN, maxsplit=1)[0], page.split(END)[1]
    return f"{before}{BEGIN}\n{between}\n{END}{after}"


def main(arguments: list[str]) -> int:
    """Exit code 1 when ``make test`` takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="file", type=Path)
    chosen = parser.parse_args(arguments)
    file, clock = chosen.file, {}
    if file is None:
        file = ROOT / ".venv" / "minutes.tsv"
        file.unlink(missing_ok=True)
        clock = run(file)
    found = table(*summed(file.read_text(encoding="utf-8").splitlines()), clock)
    sys.stdout.write(f"{found}\n")
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    return int(clock.get("make test", 0) > 60 * MOST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
