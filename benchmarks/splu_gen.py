"""SPLU-Gen: publishing with the mixed partition, its growth, and many queries at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from measuring import Measurement, census, finish, interleaved, run_python

PUBLISH = """
import shutil, sys
from sfumato import Schema, publish, read_table
from sfumato import SPLUGen
data, schema, out, gamma = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
whole = Schema.read(schema)
known = Schema(attributes=tuple(each for each in whole.attributes if each.name != "salary"))
publish(read_table(data, known), SPLUGen(gamma=int(gamma)), out)
"""

QUERIES = """
import sys
import numpy as np
from sfumato import load_release
release, number = load_release(sys.argv[1]), int(sys.argv[2])
draw = np.random.default_rng(1)
public = [each for each in release.schema.attributes if each.name != "occupation"]
one_of = lambda attribute: f"{attribute.name} = '{attribute.labels[draw.integers(attribute.size)]}'"
jobs = release.schema["occupation"]
asked = [f"{one_of(public[draw.integers(len(public))])} AND {one_of(jobs)}" for _ in range(number)]
assert len(release.queries(asked)) == number
"""


def measure(rows: int, many_rows: int, rounds: int) -> Iterator[Measurement]:
    """Seconds of processor to publish, growth with rows, memory, and queries without the start of Python."""
    data, many = census(rows), census(many_rows)
    release = data.parent / "release-splu-gen"
    few = (PUBLISH, (data, data.with_suffix(".schema.toml"), release, "5"))
    medians = interleaved(
        {"publish": few, "start": ("import sfumato.custody.publish, pyarrow, duckdb", ())}, rounds=rounds
    )
    cpu = medians["publish"].cpu - medians["start"].cpu
    yield Measurement(f"publish {rows:,} rows, gamma 5: seconds of processor", cpu, 2.0)

    big = run_python(
        PUBLISH, many, many.with_suffix(".schema.toml"), data.parent / "release-splu-gen-many", "5"
    )
    limit = 1.25 * many_rows / rows
    yield Measurement(
        f"publish {many_rows:,} rows: times as long", (big.cpu - medians["start"].cpu) / cpu, limit
    )
    yield Measurement(f"publish {many_rows:,} rows: gigabytes", big.megabytes / 1024, 3.0)

    queries = interleaved(
        {"asked": (QUERIES, (release, "5000")), "start": (QUERIES, (release, "1"))}, rounds=rounds
    )
    seconds = queries["asked"].cpu - queries["start"].cpu
    yield Measurement(
        "5,000 questions with standard errors, asked together: seconds of processor", seconds, 20.0
    )


if __name__ == "__main__":
    is_quick = "--quick" in sys.argv[1:]
    finish(measure(500_000, 1_000_000 if is_quick else 10_000_000, 1 if is_quick else 3))
