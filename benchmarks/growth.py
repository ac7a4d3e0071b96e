"""How cost grows with rows, for every method: ``python benchmarks/growth.py [METHOD ...]``.

The exponent is of processor time less that of the same command at a thousand rows, between two sizes, by default one and
thirty million (``--rows 1000000,10000000`` for others). Memory is flat where one pass is enough, and elsewhere
bounded by what a command is allowed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Measurement, Run, census, finish, publish

METHODS: dict[str, tuple[str, ...]] = {
    "randomized-response": ("retention=0.5", "attributes=['occupation']"),
    "sample-perturb-scale": ("retention=0.5",),
    "splu-gen": ("gamma=5",),
    "distribution-resampling": (),
    "anatomy": ("l_value=5", "attribute=occupation"),
    "generalization": ("k=10",),
    "noisy-marginals": ("epsilon=1",),
    "columnized-counts": ("k=10", "epsilon=2", "delta=1e-6"),
}
SMALLEST = 1_000
MOST_EXPONENT = 1.1
ONE_PASS = ("randomized-response",)
FLAT = 1.3
"""Times the memory at a third of the rows that a method of one pass over them may take. Fewer rows do not yet fill what is
bounded, such as the 64 MB in which they wait for their order."""
MOST_MEGABYTES = 2_048
"""Of the others, which hold the coded rows up to the memory that they are allowed (``--memory``, 1 GB), the rest on disk,
and the combinations that occur."""


def schema_of(data: Path) -> Path:
    """The schema of the census with occupation alone sensitive, which every method takes."""
    before, mark, after = (
        data.with_suffix(".schema.toml").read_text(encoding="utf-8").partition("[attributes.salary]")
    )
    path = data.with_name(f"{data.stem}-one-sensitive.toml")
    changed = after.replace('role = "sensitive"', 'role = "other"', 1)
    path.write_text(f"{before}{mark}{changed}", encoding="utf-8")
    return path


def published(name: str, rows: int) -> Run:
    """What publishing so many rows by a method took."""
    settings = [text for each in METHODS[name] for text in ("--set", each)]
    data = census(rows)
    return publish(data, f"growth-{name}", "--method", name, *settings, schema=schema_of(data))[1]


def measure(names: list[str], few: int, many: int) -> Iterator[Measurement]:
    """Exponent and memory of each method."""
    for name in names or METHODS:
        # The first run of all translates the modules, which would be taken for a cost of few rows.
        _, smallest, smaller, larger = (published(name, rows) for rows in (SMALLEST, SMALLEST, few, many))
        work = [each.cpu - smallest.cpu for each in (smaller, larger)]
        exponent = math.log(work[1] / work[0]) / math.log(many / few)
        at = f"{few / 1e6:g} M to {many / 1e6:g} M rows"
        yield Measurement(
            f"{name}: growth exponent, {at}",
            exponent,
            MOST_EXPONENT,
            f"CPU {work[0]:.1f} s to {work[1]:.1f} s, clock {smaller.wall:.1f} s to {larger.wall:.1f} s",
        )
        growing = f"{smaller.megabytes:.0f} MB to {larger.megabytes:.0f} MB"
        if name in ONE_PASS:
            third = published(name, many // 3)
            yield Measurement(
                f"{name}: memory, times, {many / 3e6:g} M to {many / 1e6:g} M rows",
                larger.megabytes / third.megabytes,
                FLAT,
                f"{smaller.megabytes:.0f} MB, {third.megabytes:.0f} MB, {larger.megabytes:.0f} MB",
            )
        else:
            yield Measurement(
                f"{name}: memory at {many / 1e6:g} M rows, MB", larger.megabytes, MOST_MEGABYTES, growing
            )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sizes = [1_000_000, 30_000_000]
    if "--rows" in arguments:
        place = arguments.index("--rows")
        sizes = [int(each) for each in arguments[place + 1].split(",")]
        del arguments[place : place + 2]
    finish(measure(arguments, sizes[0], sizes[1]))
