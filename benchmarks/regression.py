"""A logistic regression with ten covariates on a release, against the GROUP BY that it needs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import WORK, Measurement, finish, interleaved, run_python

COVARIATES = 10

MAKE = """
import sys, tempfile
from pathlib import Path
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from sfumato import RandomizedResponse, Schema, publish, read_table
rows, kept, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
sizes = (5, 4, 4, 3, 3, 3, 2, 2, 2, 2)
schema = "".join(
    f"[attributes.x{place}]\\nrole = 'other'\\ncategories = {[str(code) for code in range(size)]}\\n"
    for place, size in enumerate(sizes)
) + "[attributes.y]\\nrole = 'sensitive'\\ncategories = ['no', 'yes']\\n"
draw = np.random.default_rng(1)
with tempfile.TemporaryDirectory(dir=Path(folder).parent) as waiting:
    path = Path(waiting) / "rows.parquet"
    columns = {f"x{place}": draw.choice(size, rows, p=np.arange(size, 0, -1) / sum(range(size + 1))) for place, size in enumerate(sizes)}
    chance = 1 / (1 + np.exp(1 - 0.5 * (columns["x0"] == 1) - 0.3 * columns["x9"]))
    columns["y"] = (draw.random(rows) < chance).astype(int)
    labels = {name: np.array(["no", "yes"] if name == "y" else [str(code) for code in range(5)]) for name in columns}
    pq.write_table(
        pa.table({name: pa.DictionaryArray.from_arrays(pa.array(each.astype("int8")), pa.array(labels[name])) for name, each in columns.items()}),
        path,
    )
    attributes = ("y",) if kept == "response" else ("y", "x9")
    publish(read_table(path, Schema.from_toml(schema)), RandomizedResponse(retention=0.6, attributes=attributes), folder, seed=1, accept=("singled-out",))
"""

FIT = """
import sys
from sfumato import load_release
release = load_release(sys.argv[1])
formula = "y ~ " + " + ".join(f"x{place}" for place in range(10))
found = release.regression(formula, target="population")
assert abs(found["x0 = '1'"].estimate - 0.5) < 5 * found["x0 = '1'"].std_error
"""

# What the fit must wait for: the same engine's count of the occupied cells, checked and opened as any release is.
GROUP_BY = """
import sys
from sfumato import load_release
release = load_release(sys.argv[1])
release.count_occupied([f"x{place}" for place in range(10)] + ["y"])
"""

PLAIN = """
import sys, duckdb, pyarrow
with duckdb.connect() as connection:
    connection.execute("set enable_progress_bar = false")
    connection.sql(f"select *, count(*) from '{sys.argv[1]}/rows.parquet' group by all").to_arrow_reader().read_all()
"""


def release_of(rows: int, kept: str) -> Path:
    """A release of that many rows, made once and kept."""
    WORK.mkdir(exist_ok=True)
    folder = WORK / f"regression-{kept}-{rows}"
    if not folder.exists():
        run_python(MAKE, str(rows), kept, folder)
    return folder


def measure(rows: int, rounds: int) -> Iterator[Measurement]:
    """CPU of the fit over that of DuckDB's GROUP BY, both in processes of their own."""
    for kept, limit in (("response", 3.0), ("response-and-covariate", float("inf"))):
        folder = release_of(rows, kept)
        medians = interleaved(
            {"fit": (FIT, (folder,)), "count": (GROUP_BY, (folder,)), "plain": (PLAIN, (folder,))},
            rounds=rounds,
        )
        fit, count, plain = medians["fit"], medians["count"], medians["plain"]
        yield Measurement(
            f"logistic regression with {COVARIATES} covariates, {kept} perturbed, {rows:,} rows",
            fit.cpu / plain.cpu,
            limit,
            f"CPU over DuckDB's GROUP BY ({fit.cpu:.1f} s over {plain.cpu:.1f} s; {fit.cpu / count.cpu:.2f} of our own count); "
            f"{fit.megabytes:.0f} MB",
        )


if __name__ == "__main__":
    asked = [int(each) for each in sys.argv[1:]] or [10_000_000, 3]
    finish(measure(asked[0], asked[1] if len(asked) > 1 else 3))
