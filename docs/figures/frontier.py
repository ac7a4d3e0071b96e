"""Numbers on the page of comparisons that ``benchmarks/adult_frontier.py --figures docs/adult_frontier.json`` kept.

A figure is a page and the text that must stand on it, numbers filled in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parents[1] / "adult_frontier.json"
PAGE = "docs/compare.md"
Figure = tuple[str, str]


def figures() -> Iterator[Figure]:
    """All of them."""
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    designs = kept["designs"]
    methods = {each["method"] for each in designs.values() if each["method"]}
    assert kept["splits"] == 10
    yield (
        PAGE,
        (
            f"{len(designs) - 1} designs of {_word(len(methods))} methods and the table itself, 1,000 questions, ten splits, on three of which a "
            f"classifier attacks; {kept['minutes of processor']} minutes of processor for all {len(designs) * kept['splits']} results."
        ),
    )
    equal = {name: re.sub(r"\b0\.", ".", text) for name, text in kept["equal risk"].items()}
    decoys = equal["splu-gen"].replace("(", "(95 %: ")
    yield (
        PAGE,
        (
            f"At a risk of 5 % decoys have an error of {decoys}, randomized response of {equal['randomized-response']}, "
            f"sampling before it of {equal['sample-perturb-scale']}, generalization of {equal['generalization']}."
        ),
    )
    assert [name for name, can in kept["reach ten percent"].items() if not can] == ["anatomy"]
    yield PAGE, "Buckets have the smallest errors of all and cannot reach a risk of 10 %"
    quiet = [each for each in designs.values() if each["method"] in ("noisy-marginals", "columnized-counts")]
    risks, errors = [100 * each["risk"] for each in quiet], [each["error"] for each in quiet]
    yield (
        PAGE,
        f"(risks from {_short(min(risks), 1)} to {_short(max(risks), 1)} %), at errors from {_short(min(errors), 2)} up.",
    )
    rare = [
        100 * designs[name]["rare"]
        for name in ("anatomy l_value=6", "splu-gen gamma=2", "randomized-response retention=0.5")
    ]
    yield (
        PAGE,
        f"buckets of 6 give away {rare[0]:.0f} % of their holders, decoys of 2 {rare[1]:.0f} %, retention .5 {rare[2]:.0f} %.",
    )


def _word(number: int) -> str:
    return {8: "eight"}.get(number, str(number))


def _short(number: float, digits: int) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", f"{number:.{digits}f}")
