"""Makes the table of ``docs/audit.md``: designs on Adult, without to with, as attackers find it.

``python docs/audit_figures.py --work FOLDER`` fetches Adult, publishes and attacks each design on three splits, and puts the table
between the marks of the page. It goes on where it was stopped. About two minutes of processor time.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sfumato import compare_designs, read_table
from sfumato.compare.frontier import Comparison, Point
from sfumato.compare.grid import candidate
from sfumato.compare.trial import RARE_WITH, RARE_WITHOUT

PAGE = Path(__file__).parent / "audit.md"
BEGIN, END = "<!-- docs/audit_figures.py writes from here -->", "<!-- to here -->"
SPLITS, SEED = 3, 18

ROWS = {
    "randomized response .8": ("randomized-response", {"retention": 0.8}),
    "randomized response .5": ("randomized-response", {"retention": 0.5}),
    "randomized response .2": ("randomized-response", {"retention": 0.2}),
    "decoys 2": ("splu-gen", {"gamma": 2}),
    "decoys 4": ("splu-gen", {"gamma": 4}),
    "Anatomy 2": ("anatomy", {"l_value": 2}),
    "Anatomy 4": ("anatomy", {"l_value": 4}),
    "generalization 2": ("generalization", {"k": 2}),
    "generalization 10": ("generalization", {"k": 10}),
    "noisy marginals 10": ("noisy-marginals", {"epsilon": 10.0}),
    "noisy marginals 1": ("noisy-marginals", {"epsilon": 1.0}),
    "resampling": ("distribution-resampling", {}),
}
"""Designs of the table by what they are called there."""


def main() -> None:
    """Measure, and write the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder for the data and the results")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from adult_frontier import prepare

    data, schema = prepare(options.work)
    found = compare_designs(
        read_table(data, schema),
        options.work / "audited",
        candidates=[candidate(*each) for each in ROWS.values()],
        sensitive="occupation",
        queries=12,
        repeats=SPLITS,
        seed=SEED,
        workers=1,
    )
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


def with_table(page: str, found: Comparison) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{PAGE.name} lacks the marks that the table goes between.")
    return f"{before}{BEGIN}\n{table(found)}\n{END}{after}"


def table(found: Comparison) -> str:
    """The table, without to with."""
    head = "| design | right of everybody | right of the most linkable | rare values found at precision 1/2 |\n|---|---|---|---|"
    lines = [row(name, point) for name, point in zip(ROWS, found.points, strict=True)]
    return "\n".join([head, *lines])


def row(name: str, point: Point) -> str:
    """The row of a design."""
    return f"| {name} | {_cells(point)} |"


def _cells(point: Point) -> str:
    if point.risk is None or point.everybody is None:
        return " | ".join([f"refused: {point.refusal}", "", ""])
    shares = [f"{_short(each.absent)} to {_short(each.present)}" for each in (point.everybody, point.risk)]
    rare = f"{point.numbers[RARE_WITHOUT]:.0%} to {point.numbers[RARE_WITH]:.0%}"
    return " | ".join([*shares, rare])


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


if __name__ == "__main__":
    main()
