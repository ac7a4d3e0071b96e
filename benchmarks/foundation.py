"""Publishing and counting against DuckDB doing the least it can with the same file."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from measuring import Measurement, census, interleaved, run_python

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

IMPORT = "import sfumato"
NOTHING = "pass"
HELP = "import sys; sys.argv = ['sfumato', '--help']; from sfumato.cli import main; main()"


def measure(rows: int, rounds: int) -> Iterator[Measurement]:
    """The figures of the foundation, at some number of rows."""
    data = census(rows)
    schema = data.with_suffix(".schema.toml")
    work = data.parent
    medians = interleaved(
        {
            "publish": (PUBLISH, (data, schema, work / "release")),
            "copy": (COPY, (data, work / "copy.parquet")),
        },
        rounds=rounds,
    )
    publish, copy = medians["publish"], medians["copy"]
    seconds = f"{publish.wall:.1f} s against {copy.wall:.1f} s, CPU {publish.cpu:.1f} against {copy.cpu:.1f}"
    settings = "zstd level 1 without statistics against DuckDB's zstd defaults"
    yield Measurement(
        "publish one attribute / DuckDB copy, Parquet",
        publish.wall / copy.wall,
        1.0,
        f"{seconds}; {settings}",
    )
    level_one = interleaved({"copy": (COPY_LEVEL_1, (data, work / "copy.parquet"))}, rounds=3)["copy"]
    print(f"  for comparison: DuckDB's copy at zstd level 1 took {level_one.wall:.1f} s")
    yield Measurement("peak memory of publishing, GB", publish.megabytes / 1024, 1.0)

    text = census(rows, "csv")
    medians = interleaved(
        {
            "publish": (PUBLISH, (text, schema, work / "release-from-csv")),
            "copy": (COPY, (text, work / "copy.parquet")),
        },
        rounds=max(3, rounds // 2),
    )
    yield Measurement(
        "publish one attribute / DuckDB copy, from CSV",
        medians["publish"].wall / medians["copy"].wall,
        1.3,
        f"{medians['publish'].wall:.1f} s against {medians['copy'].wall:.1f} s",
    )

    medians = interleaved(
        {
            "counts": (COUNT_RELEASE, (work / "release",)),
            "group by": (COUNT_DUCKDB, (work / "release",)),
        },
        rounds=rounds,
    )
    yield Measurement(
        "five three-way counts / five DuckDB GROUP BY, processes whole",
        medians["counts"].wall / medians["group by"].wall,
        1.5,
        f"{medians['counts'].wall:.2f} s against {medians['group by'].wall:.2f} s",
    )

    tripled = census(3 * rows)
    larger = run_python(PUBLISH, tripled, schema, work / "release-tripled")
    yield Measurement(
        "peak memory at three times the rows / at these rows",
        larger.megabytes / publish.megabytes,
        1.05,
        f"{larger.megabytes:.0f} MB against {publish.megabytes:.0f} MB",
    )

    medians = interleaved(
        {"import": (IMPORT, ()), "nothing": (NOTHING, ()), "help": (HELP, ())}, rounds=rounds
    )
    yield Measurement("import sfumato, seconds", medians["import"].wall - medians["nothing"].wall, 0.5)
    yield Measurement("sfumato --help, seconds", medians["help"].wall, 0.7)


if __name__ == "__main__":
    for each in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, rounds=5):
        print(each, flush=True)
