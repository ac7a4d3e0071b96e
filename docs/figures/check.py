"""Compute the numbers of pages anew: ``python docs/figures/check.py [MODULE ...]`` prints every text that does not stand on its page.

Each other module of this folder has ``figures()``, pairs of a page and the text that must stand on it. ``simulated`` takes a quarter of a
minute of processor time, ``calibrated`` some two minutes, ``linked`` ten, the others seconds. It exits with 1 when a page is out of date.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODULES = tuple(sorted(path.stem for path in HERE.glob("*.py") if path.stem != "check"))


def missing(figures: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of the figures whose text is not on their page, lines run together."""
    return [
        (page, text)
        for page, text in figures
        if _run_together(text) not in _run_together((ROOT / page).read_text(encoding="utf-8"))
    ]


def _run_together(text: str) -> str:
    return " ".join(text.split())


def main(names: list[str]) -> int:
    """Exit code."""
    sys.path.insert(0, str(HERE))
    found = [each for name in names or MODULES for each in missing(importlib.import_module(name).figures())]
    for page, text in found:
        print(f"{page}: {text}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
