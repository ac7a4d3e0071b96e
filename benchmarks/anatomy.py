"""Anatomy against plain perturbation of the same rows, and the attack's expectation-maximization."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from measuring import Measurement, census, interleaved, run_python

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

ATTACK = """
import sys
import numpy as np
from sfumato.attacks.anatomy_naive_bayes.naive_bayes import NaiveBayes, fit
from sfumato.attacks.anatomy_naive_bayes.people import BucketedPeople
from sfumato.methods.anatomy.law.composition import BucketComposition
from sfumato.chance.partition import partition_rows
from sfumato.chance.randomness import NoiseSource
rows, cycles = map(int, sys.argv[1:])
draw = np.random.default_rng(1)
values, sizes = 14, (7, 6, 2, 2)
job = draw.integers(0, values, rows)
columns = [(job * (place + 1) + draw.integers(0, size, rows)) % size for place, size in enumerate(sizes)]
buckets = partition_rows(job, values, 4, NoiseSource.seeded(1).stream(0)).astype(np.int64) + 1
places = BucketComposition.from_pairs(buckets, job, values).places
people = BucketedPeople.arrange(columns, sizes, buckets, places, values, seed=1)
if cycles:
    fit(people, NaiveBayes.uniform(people), cycles=cycles, tolerance=0)
"""


def measure(rows: int, rounds: int) -> Iterator[Measurement]:
    """Publishing as a ratio to perturbation; the attack in seconds of processor, its data not counted."""
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
    for people, cycles, limit in ((30_162, 100, 3.0), (1_000_000, 50, 60.0)):
        whole, data_only = (run_python(ATTACK, str(people), str(each)).cpu for each in (cycles, 0))
        yield Measurement(
            f"{cycles} cycles at bucket size 4, {people:,} rows, CPU s", whole - data_only, limit
        )


if __name__ == "__main__":
    for each in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, rounds=3):
        print(each, flush=True)
