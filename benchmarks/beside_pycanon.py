"""Criteria of groups beside pycanon: the same figures, and how much sooner.

``python benchmarks/beside_pycanon.py``. The peer is installed from PyPI into an environment of its own, made once and kept in ``work``.
Adult is fetched; where it cannot be, the census generator's table of the same shape is taken, and every figure says so.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path

from measuring import FOLDER, WORK, Measurement, Run, environment, finish, measured, run_for_output, sfumato

ROWS = 30_162
PUBLIC = ("age", "workclass", "education", "marital_status", "relationship", "race", "sex", "native_country")
FEW = ("race", "sex")
OF_CENSUS = ("age", "sex", "education", "marital", "race", "workclass", "country", "salary")

PREPARE = FOLDER / "peers" / "categories.py"
"""Writes the rows and a schema of their values, so that both see the same groups."""

NOT_THERE = 9
"""Its exit code when a table cannot be fetched."""


def main() -> Iterator[Measurement]:
    """Equal figures, the ratio of processor times, and a million rows."""
    python = environment("pycanon")
    data, schema, names, what = adult()
    few, few_schema, few_names, _ = adult(FEW)
    for rows, declared, public, how in (
        (few, few_schema, few_names, "groups of many"),
        (data, schema, names, what),
    ):
        ours = figures(rows, declared)
        theirs, peer = of_pycanon(python, rows, public)
        apart = max(difference(ours[name], value, name) for name, value in theirs.items())
        detail = ", ".join(f"{name} {value:.6g}" for name, value in theirs.items())
        yield Measurement(f"largest relative difference from pycanon, {how}", apart, 1e-9, detail)
    own = sorted((sfumato("inspect", data, "--schema", schema) for _ in range(3)), key=lambda each: each.cpu)[
        1
    ]
    yield Measurement(
        f"CPU of inspect over pycanon's, {what}, {len(names)} quasi-identifiers",
        own.cpu / peer.cpu,
        1 / 50,
        f"{own}; pycanon {peer}: {peer.cpu / own.cpu:.0f} times",
    )
    large, large_schema, large_names, _ = census(1_000_000)
    run = sfumato("inspect", large, "--schema", large_schema)
    yield Measurement(
        f"CPU of inspect at 1,000,000 rows, {len(large_names)} quasi-identifiers", run.cpu, 10.0, str(run)
    )


def difference(ours: float, theirs: float, name: str) -> float:
    """Relative; pycanon cuts the entropy's exponential down to a whole number."""
    if name == "l_entropy":
        ours = math.floor(ours + 1e-9)
    return abs(ours - theirs) / max(abs(theirs), 1e-12)


def figures(data: Path, schema: Path) -> dict[str, float]:
    """What ``sfumato inspect`` says."""
    code = "import sys; from sfumato.cli import main; main()"
    told = json.loads(run_for_output(code, "inspect", data, "--schema", schema, "--json"))
    (found,) = told["criteria"]
    return {name: float(value) for name, value in found.items() if name != "attribute"}


def of_pycanon(python: Path, data: Path, names: list[str]) -> tuple[dict[str, float], Run]:
    """What the peer says, and what its process took."""
    with data.open(encoding="utf-8") as file:
        sensitive = next(csv.reader(file))[-1]
    said, run = measured([python, FOLDER / "peers" / "pycanon_figures.py", data, sensitive, *names])
    return json.loads(said), run


def adult(public: tuple[str, ...] = PUBLIC) -> tuple[Path, Path, list[str], str]:
    """Data, schema, quasi-identifiers, and what the table is called."""
    try:
        return *prepared("adult", public, ROWS, "occupation"), f"Adult, {ROWS:,} rows"
    except subprocess.CalledProcessError as error:
        if error.returncode != NOT_THERE:
            raise
        chosen = OF_CENSUS if public is PUBLIC else FEW
        return *prepared(
            "census", chosen, ROWS, "occupation"
        ), f"made-up census in place of Adult, {ROWS:,} rows"


def census(rows: int) -> tuple[Path, Path, list[str], str]:
    """The same of the generator."""
    return *prepared("census", OF_CENSUS, rows, "occupation"), f"census, {rows:,} rows"


def prepared(source: str, public: tuple[str, ...], rows: int, sensitive: str) -> tuple[Path, Path, list[str]]:
    """Rows by category and their schema, made once."""
    WORK.mkdir(exist_ok=True)
    stem = f"groups-{source}-{rows}-{len(public)}"
    data, schema, told = (WORK / f"{stem}{suffix}" for suffix in (".csv", ".toml", ".names"))
    if not told.exists():
        told.write_text(
            run_for_output(
                PREPARE.read_text(encoding="utf-8"), data, schema, source, str(rows), sensitive, *public
            ),
            encoding="utf-8",
        )
    return data, schema, told.read_text(encoding="utf-8").strip().split(",")


if __name__ == "__main__":
    finish(main())
