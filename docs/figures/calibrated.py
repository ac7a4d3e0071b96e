"""Every line of the page of calibration, which ``docs/attacks/calibration.py`` writes: two minutes of processor time.

A figure is a page and the text that must stand on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "attacks"))

Figure = tuple[str, str]
PAGE = "docs/attacks/calibration.md"


def figures() -> Iterator[Figure]:
    """The page as a whole."""
    from calibration import page

    yield PAGE, page()[0]


def without_association() -> Iterator[Figure]:
    """The table without any association, buckets of two: a few seconds."""
    from calibration import bucketed

    for line, _ in bucketed(["no association"], [2]):
        yield PAGE, line
