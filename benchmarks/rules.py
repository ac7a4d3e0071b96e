"""Frequent item sets of Belgian retail, plain against mlxtend's FP-growth, and through the law of a randomized release.

Limits: all sets up to four articles at 1 % of 88,162 baskets of 16,470 articles, randomized, in 20 s of processor time
and 2 GB; on plain data 5 times mlxtend's fpgrowth. The peer is in an environment of its own, made when first needed. The
release is the thesis's: every answer is published as it is with probability 0.9, so that it has 146 million rows.
"""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import FOLDER, WORK, Measurement, NotHereError, environment, finish, run_python

sys.path.insert(0, str(FOLDER.parent / "reproductions" / "guo_rules"))

from baskets import belgian_retail, long_rows

PUBLISH = """
import sys
from sfumato import RandomizedResponse, publish, read_table
data, schema, out = sys.argv[1:]
publish(read_table(data, schema), RandomizedResponse(retention=0.8), out, seed=1)
"""

MINE_RELEASE = """
import sys
from sfumato import load_release
found = load_release(sys.argv[1]).rules(minimum_support=0.01, minimum_confidence=0.5, longest=4)
assert 150 < len(found.sets) < 170, len(found.sets)
"""

MINE_PLAIN = """
import sys, time
from sfumato import mine_table, read_table
from sfumato.analysis.rules import Settings
table = read_table(*sys.argv[1:])
start = time.process_time()
found = mine_table(table, Settings(minimum_support=0.01, minimum_confidence=0.5, longest=4))
print(time.process_time() - start)
assert len(found.sets) == 159, len(found.sets)
"""

PEER = """
import sys, time
import pandas
from mlxtend.frequent_patterns import fpgrowth
from mlxtend.preprocessing import TransactionEncoder
baskets = [line.strip().split(",") for line in open(sys.argv[1], encoding="utf-8")]
encoder = TransactionEncoder()
rows = encoder.fit(baskets).transform(baskets, sparse=True)
frame = pandas.DataFrame.sparse.from_spmatrix(rows, columns=encoder.columns_)
start = time.process_time()
found = fpgrowth(frame, min_support=0.01, max_len=4, use_colnames=True)
print(time.process_time() - start)
assert len(found) == 159, len(found)
"""


def data() -> tuple[Path, Path, Path]:
    """The baskets as rows with their schema, and one basket a line, made once and kept."""
    import pyarrow.parquet as pq

    WORK.mkdir(exist_ok=True)
    rows, schema, lines = (WORK / f"retail.{suffix}" for suffix in ("parquet", "schema.toml", "csv"))
    if not lines.exists():
        try:
            baskets = belgian_retail()
        except subprocess.CalledProcessError:
            raise NotHereError("Belgian retail could not be fetched") from None
        table, known = long_rows(baskets)
        pq.write_table(table, rows)
        schema.write_text(known.to_toml(), encoding="utf-8")
        with lines.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(baskets)
    return rows, schema, lines


def stated_seconds(python: Path | str, code: str, *arguments: Path) -> float:
    """What a process says that its mining took, of processor time."""
    command = [str(python), "-c", code, *map(str, arguments)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def plain() -> Iterator[Measurement]:
    """Baskets as they are, beside the peer."""
    rows, schema, lines = data()
    python = environment("mlxtend")
    ours, theirs = [], []
    for _ in range(3):
        ours.append(stated_seconds(sys.executable, MINE_PLAIN, rows, schema))
        theirs.append(stated_seconds(python, PEER, lines))
    ratio = statistics.median(ours) / statistics.median(theirs)
    detail = f"{statistics.median(ours):.2f} s, reading the rows included, against {statistics.median(theirs):.2f} s without"
    yield Measurement("plain item sets, processor time against mlxtend's fpgrowth", ratio, 5, detail)


def randomized() -> Iterator[Measurement]:
    """Baskets of a release."""
    rows, schema, _ = data()
    release = WORK / "retail-release"
    if not release.exists():
        run_python(PUBLISH, rows, schema, release)
    found = run_python(MINE_RELEASE, release)
    yield Measurement("randomized item sets, seconds of processor, opening included", found.cpu, 20)
    yield Measurement("randomized item sets, gigabytes", found.megabytes / 1024, 2)


if __name__ == "__main__":
    finish(plain(), randomized())
