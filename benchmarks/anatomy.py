"""Anatomy against plain perturbation of the same rows, and the attack as a user runs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import WORK, Measurement, census, interleaved, run_python

PERTURB = """
import shutil, sys
from sfumato import RandomizedResponse, publish, read_table
data, schema, out = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
publish(read_table(data, schema), RandomizedResponse(retention=0.5, attributes=("occupation",)), out)
"""

ANATOMY = """
import shutil, sys
from sfumato import publish, read_table
from sfumato.methods.anatomy.design import Anatomy
data, schema, out = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
publish(read_table(data, schema), Anatomy(l_value=10, attribute="occupation"), out)
"""

TABLE = """
import shutil, sys
import numpy as np
import pyarrow as pa
from sfumato import Attribute, Role, Schema, publish, read_table
from sfumato.methods.anatomy.design import Anatomy
rows, l_value, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
draw = np.random.default_rng(1)
values, sizes = 14, (7, 6, 2, 2)
job = draw.integers(0, values, rows)
columns = {
    f"public {place}": np.where(draw.random(rows) < 0.6, draw.permutation(values)[job] % size, draw.integers(0, size, rows))
    for place, size in enumerate(sizes)
}
columns["job"] = job
schema = Schema(attributes=tuple(
    Attribute(
        name=name,
        role=Role.SENSITIVE if name == "job" else Role.QUASI_IDENTIFIER,
        categories=tuple(str(code) for code in range(max(column) + 1)),
    )
    for name, column in columns.items()
))
shutil.rmtree(out, ignore_errors=True)
table = pa.table({name: column.astype(str) for name, column in columns.items()})
publish(read_table(table, schema), Anatomy(l_value=l_value), out, seed=1)
"""

ATTACK = """
import sys
from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes
from sfumato.release import load_release
print(AnatomyNaiveBayes().run(load_release(sys.argv[1])).findings)
"""


def measure(rows: int, rounds: int) -> Iterator[Measurement]:
    """Publishing as a ratio to perturbation; the attack in seconds of processor."""
    data = census(rows)
    schema = data.with_suffix(".schema.toml")
    work = data.parent
    medians = interleaved(
        {
            "anatomy": (ANATOMY, (data, schema, work / "release-anatomy")),
            "perturb": (PERTURB, (data, schema, work / "release-perturbed")),
        },
        rounds=rounds,
    )
    anatomy, perturb = medians["anatomy"], medians["perturb"]
    yield Measurement(
        "Anatomy, l = 10 / plain perturbation",
        anatomy.wall / perturb.wall,
        3.0,
        f"{anatomy.wall:.1f} s against {perturb.wall:.1f} s, "
        f"{anatomy.megabytes:.0f} MB against {perturb.megabytes:.0f} MB",
    )
    yield from measure_attack(work)


def measure_attack(work: Path) -> Iterator[Measurement]:
    """The attack through the release, as a user runs it, everything included."""
    for rows, l_value, limit in ((30_162, 4, 20.0), (30_162, 10, 20.0), (1_000_000, 10, 120.0)):
        folder = work / f"release-attacked-{rows}-{l_value}"
        run_python(TABLE, str(rows), str(l_value), folder)
        attacked = run_python(ATTACK, folder)
        yield Measurement(
            f"attack at l = {l_value}, {rows:,} rows, CPU s",
            attacked.cpu,
            limit,
            f"{attacked.wall:.1f} s on the clock, {attacked.megabytes:.0f} MB",
        )


if __name__ == "__main__":
    only_attack = sys.argv[1:] == ["attack"]
    WORK.mkdir(exist_ok=True)
    rows = int(sys.argv[1]) if sys.argv[1:] and not only_attack else 10_000_000
    for each in measure_attack(WORK) if only_attack else measure(rows, rounds=3):
        print(each, flush=True)
