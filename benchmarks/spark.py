"""Publishing on Spark beside Spark copying the same file: ``python benchmarks/spark.py [--rows 10000000,30000000] [--once 100000000]``.

One perturbed attribute of the census, nine text columns, two threads. Processor time is of the whole tree of processes:
driver, Java, and the workers of both. What is copied keeps its order; what is published is in random order. DuckDB on
the same rows stands beside it.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measuring import COMMAND, ENVIRONMENT, WORK, Measurement, NotHereError, Run, census, finish, publishing

THREADS = 2
MEMORY = "2GB"
METHOD = ("--method", "randomized-response", "--set", "retention=0.5", "--set", "attributes=['occupation']")

MOST_FROM_FILES = 0.6
MOST_FROM_FRAME = 1.5
MOST_EXPONENT = 1.1
MOST_TO_COUNT = 512
"""Megabytes: rows stream through."""

FLAT = 1.15
"""Times the driver's memory at the smaller size that it may have at the larger."""

SESSION = f"""
import os, resource, shutil, sys
from pathlib import Path
from sfumato.data.distributed.spark import find_session
def session():
    return find_session(threads={THREADS}, memory="{MEMORY}")
"""

AT_THE_END = """
import atexit, json, resource
def peaks():
    found = {"driver": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    print(json.dumps(found), file=sys.stderr, flush=True)
atexit.register(peaks)
"""
"""What the driver itself held at most: of its children the parent's figure would say more."""

COPY = (
    SESSION
    + AT_THE_END
    + """
data, out = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
session().read.parquet(data).write.option("compression", "zstd").parquet(out)
"""
)

FRAME = (
    SESSION
    + AT_THE_END
    + """
from sfumato import METHODS, publish, read_table
from sfumato.custody.ledger import Ledger
data, schema, out, ledger = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
with read_table(session().read.parquet(data), schema) as table:
    design = METHODS.make("randomized-response", {"retention": 0.5, "attributes": ["occupation"]})
    publish(table, design, out, ledger=Ledger(Path(ledger)), again=True, say=lambda _: None, accept=("singled-out",))
"""
)

FILES = "import sys\n" + AT_THE_END + COMMAND


@dataclass(frozen=True)
class Tree:
    """A process with all that it started: the run, and the driver's own peak in megabytes."""

    run: Run
    driver: float


def run_tree(code: str, *arguments: str | Path) -> Tree:
    """Run a piece of Python and measure it with everything that it starts, also what outlives it."""
    # Whoever is left behind becomes a child of this process, which waits for it: only then its time is counted.
    take_orphans = 36
    ctypes.CDLL(None).prctl(take_orphans, 1, 0, 0, 0)
    before, start = _processor_time(), time.perf_counter()
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        said = process.stderr.read() if process.stderr else ""
    wall = time.perf_counter() - start
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    if process.returncode != 0:
        raise SystemExit(f"a measured process failed with exit code {process.returncode}: {said[-2000:]}")
    driver = next(json.loads(line)["driver"] for line in said.splitlines() if line.startswith('{"driver"'))
    return Tree(Run(wall, _processor_time() - before, driver), driver)


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(rows: int, names: list[str]) -> dict[str, Tree]:
    """One run of each contender on so many rows; earlier ones of the same table are remembered."""
    data = census(rows)
    schema = data.with_suffix(".schema.toml")
    commands: dict[str, tuple[str | Path, ...]] = {
        "copy": (COPY, data, WORK / f"spark-copy-{rows}"),
        "files": (
            FILES,
            *publishing(data, WORK / f"spark-files-{rows}", WORK / "ledger-spark-files", METHOD),
            *("--engine", "spark", "--threads", str(THREADS), "--memory", MEMORY),
        ),
        "frame": (FRAME, data, schema, WORK / f"spark-frame-{rows}", WORK / "ledger-spark-frame"),
        "duckdb": (
            FILES,
            *publishing(data, WORK / f"spark-duckdb-{rows}", WORK / "ledger-spark-duckdb", METHOD),
            *("--threads", str(THREADS), "--memory", MEMORY),
        ),
    }
    found = {}
    for name in names:
        kept = WORK / f"spark-{rows}-{name}.json"
        if kept.exists():
            wall, cpu, driver = json.loads(kept.read_text(encoding="utf-8"))
        else:
            code, *arguments = commands[name]
            tree = run_tree(str(code), *arguments)
            wall, cpu, driver = tree.run.wall, tree.run.cpu, tree.driver
            kept.write_text(json.dumps([wall, cpu, driver]), encoding="utf-8")
        found[name] = Tree(Run(wall, cpu, driver), driver)
        print(f"{rows:,} rows, {name}: {found[name].run}", flush=True)
    return found


def measure(sizes: list[int], once: int | None) -> Iterator[Measurement]:
    """Ratios at the larger size, growth between the two, and beyond where asked."""
    if importlib.util.find_spec("pyspark") is None:
        raise NotHereError(
            "Spark is not installed; it needs Java 17 or 21, and `make spark-tools` installs the rest"
        )
    few, many = sizes
    larger, smaller = (measured(rows, ["copy", "files", "frame", "duckdb"]) for rows in (many, few))
    at = f"{many / 1e6:g} M rows"
    copy = larger["copy"].run
    for name, limit, words in (
        ("files", MOST_FROM_FILES, "Parquet files"),
        ("frame", MOST_FROM_FRAME, "a data frame"),
    ):
        run = larger[name].run
        yield Measurement(
            f"publish on Spark from {words} / Spark's copy, {at}, CPU",
            run.cpu / copy.cpu,
            limit,
            f"{run} against {copy}; DuckDB publishing: {larger['duckdb'].run}",
        )
    for name, words in (("files", "Parquet files"), ("frame", "a data frame")):
        yield Measurement(
            f"memory of the driver from {words}, times, {few / 1e6:g} M to {at}",
            larger[name].driver / smaller[name].driver,
            FLAT,
            f"{smaller[name].driver:.0f} MB to {larger[name].driver:.0f} MB",
        )
    largest = larger if once is None else measured(once, ["files"])
    if once is not None:
        yield Measurement(
            f"memory of the driver from Parquet files, times, {few / 1e6:g} M to {once / 1e6:g} M rows",
            largest["files"].driver / smaller["files"].driver,
            FLAT,
            f"{smaller['files'].driver:.0f} MB to {largest['files'].driver:.0f} MB",
        )
        counted = run_tree(FILES, "counts", WORK / f"spark-files-{once}", "--by", "occupation,sex,education")
        yield Measurement(
            f"three-way counts of the release of {once / 1e6:g} M rows in parts, MB",
            counted.driver,
            MOST_TO_COUNT,
            str(counted.run),
        )
    # To the largest size: at the smaller ones most of the time is that of starting, and what is left is unsure.
    yield _growth(few, smaller["files"].run, once or many, largest["files"].run)


def _growth(few: int, smaller: Run, many: int, larger: Run) -> Measurement:
    """The exponent of processor time; starting Java is in both, and is taken off by a run on a thousand rows."""
    start = measured(1_000, ["files"])["files"].run.cpu
    exponent = math.log((larger.cpu - start) / (smaller.cpu - start)) / math.log(many / few)
    return Measurement(
        f"publish on Spark: growth exponent, {few / 1e6:g} M to {many / 1e6:g} M rows",
        exponent,
        MOST_EXPONENT,
        f"CPU {smaller.cpu:.1f} s to {larger.cpu:.1f} s, of which starting is {start:.1f} s",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="10000000,30000000", help="two sizes")
    parser.add_argument("--once", type=int, help="a larger size, from files alone")
    parser.add_argument("--kept", action="store_true", help="go on with what an earlier call measured")
    given = parser.parse_args()
    if not given.kept:
        for each in WORK.glob("spark-*.json"):
            each.unlink()
    finish(measure([int(each) for each in given.rows.split(",")], given.once))
