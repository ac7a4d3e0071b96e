"""Publishing and counting against DuckDB doing the least it can with the same file."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from measuring import COMMAND, WORK, Measurement, census, finish, interleaved, publishing

PUBLISH = """
import shutil, sys
from sfumato import RandomizedResponse, publish, read_table
data, schema, out = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
publish(read_table(data, schema), RandomizedResponse(retention=0.5, attributes=("occupation",)), out)
"""

COPY = """
import sys, duckdb
source, out = sys.argv[1:]
with duckdb.connect() as connection:
    connection.execute("set enable_progress_bar = false")
    connection.execute(f"copy (from '{source}') to '{out}' (format parquet, compression zstd)")
"""

COPY_LEVEL_1 = COPY.replace("compression zstd", "compression zstd, compression_level 1")

COUNT_RELEASE = """
import sys
from sfumato import load_release
release = load_release(sys.argv[1])
for _ in range(5):
    release.counts(["occupation", "sex", "education"])
"""

COUNT_DUCKDB = """
import sys, duckdb, pyarrow
with duckdb.connect() as connection:
    connection.execute("set enable_progress_bar = false")
    for _ in range(5):
        connection.sql(
            f"select occupation, sex, education, count(*) from '{sys.argv[1]}/rows.parquet' group by all"
        ).to_arrow_reader().read_all()
"""


def measure(rows: int, rounds: int) -> Iterator[Measurement]:
    """The figures of the foundation, at some number of rows."""
    data, schema, work = census(rows), census(rows).with_suffix(".schema.toml"), WORK
    release = work / "release-foundation"
    perturb = (
        "--method",
        "randomized-response",
        "--set",
        "retention=0.5",
        "--set",
        "attributes=['occupation']",
    )
    anatomy = ("--method", "anatomy", "--set", "l_value=10", "--set", "attribute=occupation")
    medians = interleaved(
        {
            "publish": (COMMAND, publishing(data, release, work / "ledger-foundation", perturb)),
            "anatomy": (
                COMMAND,
                publishing(data, work / "release-anatomy", work / "ledger-anatomy", anatomy),
            ),
            "copy": (COPY, (data, work / "copy.parquet")),
            "copy at level 1": (COPY_LEVEL_1, (data, work / "copy.parquet")),
        },
        rounds=rounds,
    )
    publish, copy, bucketed = medians["publish"], medians["copy"], medians["anatomy"]
    detail = f"{publish} against {copy}; DuckDB's copy at zstd level 1: {medians['copy at level 1']}"
    name = f"publish one perturbed attribute / DuckDB's copy, {rows:,} rows"
    yield Measurement(f"{name}, CPU", publish.cpu / copy.cpu, 0.6, detail)
    yield Measurement(f"{name}, clock", publish.wall / copy.wall, 0.7, detail)
    yield Measurement("peak memory of publishing, MB", publish.megabytes, 512)
    yield Measurement(
        f"Anatomy, l = 10 / plain perturbation, {rows:,} rows, CPU",
        bucketed.cpu / publish.cpu,
        3.0,
        f"{bucketed} against {publish}",
    )

    text = census(rows, "csv")
    from_text = publishing(text, work / "release-from-csv", work / "ledger-csv", perturb, schema)
    medians = interleaved(
        {"publish": (COMMAND, from_text), "copy": (COPY, (text, work / "copy.parquet"))},
        rounds=max(3, rounds // 2),
    )
    yield Measurement(
        "publish one perturbed attribute / DuckDB's copy, from CSV, CPU",
        medians["publish"].cpu / medians["copy"].cpu,
        1.0,
        f"{medians['publish']} against {medians['copy']}",
    )

    medians = interleaved(
        {"counts": (COUNT_RELEASE, (release,)), "group by": (COUNT_DUCKDB, (release,))}, rounds=rounds
    )
    yield Measurement(
        "five three-way counts / five GROUP BY of DuckDB, processes whole, CPU",
        medians["counts"].cpu / medians["group by"].cpu,
        1.5,
        f"{medians['counts']} against {medians['group by']}",
    )


if __name__ == "__main__":
    # How many rows, and how many rounds.
    given = [int(each) for each in sys.argv[1:]]
    finish(measure(*(given + [10_000_000, 5][len(given) :])))
