"""Randomized response: more attributes, large joints, the optimum, and a peer for local privacy."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import (
    WORK,
    Measurement,
    NotHereError,
    census,
    environment,
    finish,
    interleaved,
    run_python,
    table,
)

PUBLISH = """
import shutil, sys
from sfumato import RandomizedResponse, publish, read_table
data, schema, out, attributes = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
publish(read_table(data, schema), RandomizedResponse(retention=0.5, attributes=attributes.split(",")), out)
"""

RECONSTRUCT = """
import sys
import numpy as np
from sfumato.estimates.counts import CountTable
from sfumato.randomness.distortion import UniformDistortion
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.schema import Attribute, Role, Schema
from sfumato.query.selection import Selection, Tabulation

class Counted:
    def __init__(self, table):
        self.table, self.number_of_rows = table, int(table.total)
        self.schema = Schema(attributes=table.attributes)
    def count_by(self, names, where):
        return self.table

repeats, *sizes = map(int, sys.argv[1:])
attributes = tuple(
    Attribute(name=f"a{place}", role=Role.OTHER, categories=tuple(map(str, range(size))))
    for place, size in enumerate(sizes)
)
counts = np.random.default_rng(1).poisson(4, sizes)
law = PerturbedRows(
    distortions={each.name: UniformDistortion(retention=0.6, size=each.size) for each in attributes}
)
release, by = Counted(CountTable(attributes, counts)), Tabulation(by=tuple(each.name for each in attributes))
for _ in range(repeats):
    estimates = law.estimate(release, by)
    assert (estimates.variances >= 0).all()
"""

OPTIMUM = """
import sys
import duckdb
from sfumato import Schema, read_table
from sfumato.methods.randomized_response.plan import calibrate
from sfumato.methods.randomized_response.plan import goal_from
data, schema, calibrated = sys.argv[1:]
names = ("education", "marital_status", "sex", "race", "workclass")
with duckdb.connect() as connection:
    rows = connection.sql(
        f"select {', '.join(names)} from read_csv('{data}', all_varchar=true) where part = 'train' and "
        "workclass is not null and occupation is not null and native_country is not null"
    ).to_arrow_table()
whole = Schema.read(schema)
kept = {
    name: {
        "role": "sensitive" if name == "workclass" else "quasi-identifier",
        "categories": sorted(rows[name].unique().to_pylist()),
    }
    for name in names
}
table = read_table(rows, Schema.from_dict({"attributes": kept}))
goal = goal_from({"max-risk": 0.2}, table.schema)
if calibrated == "yes":
    calibrate(goal, table.schema, table=table)
"""

WHOLE = """
import shutil, sys
from sfumato import RandomizedResponse, publish, read_table
data, schema, out = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
publish(read_table(data, schema), RandomizedResponse(epsilon=1.0), out).counts(["value"])
"""

OURS = """
import sys
import numpy as np
from sfumato.randomness.distortion import UniformDistortion, contract
from sfumato.guarantees.differential_privacy import retention_of_epsilon
from sfumato.randomness.streams import NoiseSource
values, repeats = map(int, sys.argv[1:])
true = np.random.default_rng(1).integers(0, 50, values).astype(np.uint8)
noise = NoiseSource.from_operating_system()
for number in range(repeats):
    distortion = UniformDistortion(retention=retention_of_epsilon(1.0, 50), size=50)
    published = noise.stream(number).perturb_uniformly(true, distortion.drawn)
    estimated = contract(np.bincount(published, minlength=50), [distortion.inverse_on_axis])
"""

PEER = """
import os, sys
code = '''
import sys
import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client, GRR_Aggregator_MI
true = np.random.default_rng(1).integers(0, 50, int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    published = [GRR_Client(value, 50, 1.0) for value in true]
    estimated = GRR_Aggregator_MI(published, 50, 1.0)
'''
values, repeats, python = sys.argv[1:]
os.execv(python, [python, "-W", "ignore", "-c", code, values, repeats])
"""


def measure_publishing(rows: int, rounds: int) -> Iterator[Measurement]:
    """Five perturbed attributes against one, in otherwise the same release."""
    data = census(rows)
    schema = data.with_suffix(".schema.toml")
    work = data.parent
    medians = interleaved(
        {
            name: (PUBLISH, (data, schema, work / f"release-{name}", attributes))
            for name, attributes in {
                "five": "education,marital,workclass,occupation,salary",
                "one": "occupation",
            }.items()
        },
        rounds=rounds,
    )
    five, one = medians["five"], medians["one"]
    yield Measurement(
        f"publish five perturbed attributes / one, {rows:,} rows",
        five.wall / one.wall,
        2.5,
        f"{five.wall:.1f} s against {one.wall:.1f} s",
    )
    # The clock suffers from whatever else the machine does; processor time says what the work costs.
    yield Measurement(
        "the same in processor time",
        five.cpu / one.cpu,
        2.5,
        f"{five.cpu:.1f} s against {one.cpu:.1f} s",
    )


def measure_reconstruction() -> Iterator[Measurement]:
    """A joint of 7,840 cells in milliseconds, one of a million in seconds and megabytes."""
    small = (16, 7, 2, 5, 7)
    many, none = (
        run_python(RECONSTRUCT, "2001", *map(str, small)),
        run_python(RECONSTRUCT, "1", *map(str, small)),
    )
    yield Measurement(
        "kernel: milliseconds to reconstruct 7,840 cells", 1000 * (many.wall - none.wall) / 2000, 50
    )
    large = (10, 10, 10, 10, 10, 10)
    many, none = (
        run_python(RECONSTRUCT, "41", *map(str, large)),
        run_python(RECONSTRUCT, "1", *map(str, large)),
    )
    yield Measurement("kernel: seconds to reconstruct 1,000,000 cells", (many.wall - none.wall) / 40, 2)
    yield Measurement("kernel: peak megabytes of that process", many.megabytes, 1024)


def measure_optimum() -> Iterator[Measurement]:
    """Processor time of the best retentions for a largest risk of 1/5 on Adult."""
    from sfumato.datasets import fetch_dataset

    with tempfile.TemporaryDirectory() as folder:
        files = fetch_dataset("adult", folder)
        whole = run_python(OPTIMUM, files.data, files.schema, "yes")
        reading = run_python(OPTIMUM, files.data, files.schema, "no")
    yield Measurement("processor seconds to the optimum for l = 5", whole.cpu - reading.cpu, 30)


def measure_peer(values: int) -> Iterator[Measurement]:
    """Client and server together against multi-freq-ldpy, start and compilation of either not counted."""
    peer = environment("multi_freq_ldpy")
    # Either is repeated within a process until it stands out from its start, compilation included.
    ours = _cpu_of_one(OURS, values, 100)
    theirs = _cpu_of_one(PEER, values, 10, peer)
    if ours <= 0 or theirs <= 0:
        raise NotHereError("a machine quiet enough for a difference to multi-freq-ldpy to show")
    yield Measurement(
        f"kernel: processor time / multi-freq-ldpy's, {values:,} values of 50 categories",
        ours / theirs,
        1 / 25,
        f"{1000 * ours:.1f} ms against {1000 * theirs:.0f} ms, {theirs / ours:.1f} times",
    )


def measure_whole(values: int, rounds: int) -> Iterator[Measurement]:
    """The same as users get it: a file published and its counts estimated, beside the peer's whole process."""
    peer = environment("multi_freq_ldpy")
    data = table("local", values, "value:50:sensitive")
    medians = interleaved(
        {
            "ours": (WHOLE, (data, data.with_suffix(".schema.toml"), WORK / "release-local")),
            "theirs": (PEER, (str(values), "1", peer)),
        },
        rounds=rounds,
    )
    ours, theirs = medians["ours"], medians["theirs"]
    yield Measurement(
        f"publish and count {values:,} values, processes whole / multi-freq-ldpy, CPU",
        ours.cpu / theirs.cpu,
        0.5,
        f"{ours} against {theirs}",
    )


def _cpu_of_one(code: str, values: int, repeats: int, *more: Path) -> float:
    many = run_python(code, str(values), str(repeats + 1), *more)
    return (many.cpu - run_python(code, str(values), "1", *more).cpu) / repeats


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    finish(
        measure_reconstruction(),
        measure_optimum(),
        measure_whole(1_000_000, rounds=3),
        measure_peer(1_000_000),
        measure_publishing(number, rounds=3),
    )
