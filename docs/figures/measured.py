"""Numbers on pages that benchmarks state or measured: their constants, and the last figures on the page of costs.

A figure is a page and the text that must stand on it, numbers filled in.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

Figure = tuple[str, str]


def figures() -> Iterator[Figure]:
    """All of them."""
    yield from generalization()
    yield from rules()


def measured(name: str) -> str:
    """The line of a figure on the page of costs: what was measured, its limit, and the rest.

    Raises
    ------
    LookupError
        When the page has no such line.
    """
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for line in page.splitlines():
        if line.startswith(f"| {name}"):
            return line
    raise LookupError(f"docs/performance.md has no line {name!r}")


def generalization() -> Iterator[Figure]:
    """Optima beside ARX's, penalties beside Basic_Mondrian's."""
    from generalization import OF_ARX, OPTIMA

    page = "docs/methods/generalization.md"
    for (rows, is_diverse), (levels, dropped) in OPTIMA.items():
        line = measured(f"{rows:,} rows, k = 10{', l = 5' if is_diverse else ''}: CPU seconds")
        found = re.search(r"the optimum of ARX, granularity 0(\.\d{4})", line)
        assert found, line
        seconds, megabytes = OF_ARX[rows, is_diverse]
        goal = "k = 10, distinct l = 5" if is_diverse else "k = 10"
        yield (
            page,
            f"| {rows:,} | {goal} | {' '.join(map(str, levels))} | {dropped:,} | {found[1]} | {seconds:g}, {megabytes:,} |",
        )
    cut, tight = (
        measured(f"Adult, Mondrian, {each} boxes: penalty in percent").split(" | ")[1]
        for each in ("cut", "tight")
    )
    yield page, f"normalized certainty penalty {cut} % with `boxes=cut` and {tight} % with `boxes=tight`"


def rules() -> Iterator[Figure]:
    """Limits of mining."""
    text = (ROOT / "benchmarks" / "rules.py").read_text(encoding="utf-8")
    seconds = re.search(r"opening included\", found.cpu, (\d+)\)", text)
    gigabytes = re.search(r"gigabytes\", found.megabytes / 1024, (\d+)\)", text)
    assert seconds
    assert gigabytes
    yield "docs/analysis/rules.md", f"in at most {seconds[1]} seconds of processor time and {gigabytes[1]} GB"
