"""The page of figures in the docs, made from what the benchmarks measured."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path

HEADINGS = {
    "foundation": "Publishing and counting beside DuckDB",
    "limits": "Main jobs beside the least that a machine must do",
    "beside_local_privacy": "Randomized response beside pure-ldp and multi-freq-ldpy",
    "beside_differential_privacy": "Noisy counts beside OpenDP and diffprivlib",
    "beside_anjana": "k-anonymous tables beside anjana",
    "beside_pycanon": "Criteria of groups beside pycanon",
    "beside_anonymeter": "Attacks beside anonymeter",
    "questions": "Many questions",
    "cliffs": "Ordinary tables at which a tool could stop",
    "growth": "Growth with rows",
    "spark": "Publishing on Spark beside its copy",
    "start_up": "Start-up",
}
"""Benchmarks in the order in which they come, with their titles; others follow under their names."""

SAME = 1.02
"""Up to which a ratio is called none."""

INTRODUCTION = """# What it costs

Made by `python benchmarks/run.py --page`; do not edit. Every figure is of whole processes that a user would start, by the
command line or the public names, run one after the other and interleaved with what they are compared with. Processor
time (CPU) and the clock are stated apart; a figure is the median of its rounds where there are several. Limits are
checked by the benchmark itself, which fails when one is exceeded. What is named *kernel* calls a single function inside a
process. Figures of ARX were recorded elsewhere and are not run here; sdcMicro is not run: peers come from PyPI or Debian, and neither has it (CRAN does).
Peers do less than ours in most places (no manifest, no checks, no other columns): the beginning of each script in `benchmarks/` says what.

"""


def write_page(results: Path, page: Path) -> None:
    """Write the last figure of each name as tables."""
    found: dict[tuple[str, str], dict[str, object]] = {}
    for line in results.read_text(encoding="utf-8").splitlines():
        figure = json.loads(line)
        if "left_out" in figure:
            continue
        found[figure["benchmark"], figure["name"]] = figure
    page.write_text(INTRODUCTION + "\n".join(_lines(list(found.values()))), encoding="utf-8")


def _lines(figures: list[dict[str, object]]) -> Iterator[str]:
    yield f"Measured on {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}."
    loads = [float(str(each["load"])) for each in figures if "load" in each]
    if loads:
        yield (
            f"While it was measured {min(loads):.0f} to {max(loads):.0f} processes wanted a core at a time: above the number of "
            "cores the clock counts the work of others, and processor time is somewhat longer too."
        )
    yield ""
    names = list(dict.fromkeys([*HEADINGS, *(str(each["benchmark"]) for each in figures)]))
    for name in names:
        chosen = [each for each in figures if each["benchmark"] == name]
        if not chosen:
            continue
        yield f"## {HEADINGS.get(name, name.replace('_', ' ').capitalize())}"
        yield ""
        yield "| what | measured | limit | |"
        yield "|---|---|---|---|"
        for each in chosen:
            value, limit = float(str(each["value"])), float(str(each["limit"]))
            remark = "**over** " if value > limit else ""
            if is_worse_than_peer(each):
                remark += "**the peer is better** "
            most = f"{limit:g}" if math.isfinite(limit) else "none"
            yield f"| {each['name']} | {value:.3g} | {most} | {remark}{each['detail']} |"
        yield ""


def is_worse_than_peer(figure: dict[str, object]) -> bool:
    """Whether a ratio to a peer's time or error is above one, by more than two runs of the same differ.

    >>> is_worse_than_peer({"benchmark": "beside_opendp", "name": "error over OpenDP's", "value": 1.2})
    True
    """
    is_ratio = str(figure["benchmark"]).startswith("beside_") and " over " in str(figure["name"])
    return is_ratio and float(str(figure["value"])) > SAME
