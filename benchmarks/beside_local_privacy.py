"""Randomized response beside pure-ldp and multi-freq-ldpy: the counts of one column of the same file at the same epsilon.

``python benchmarks/beside_local_privacy.py``. The peers are installed from PyPI into environments of their own, made once and kept in ``work``. All
read the CSV file, randomize every row's value, and estimate the count of every value. Ours reads the file with a schema, publishes all columns with a manifest and checks what was written, and a second
process opens the release and counts; the peers keep nothing. pure-ldp has local hashing too, which publishes no value that a row could have and counts many
values more accurately: what publishing rows costs beside it is stated, with no limit. multi-freq-ldpy cuts shares off at zero. Limits were set before the first run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from beside_differential_privacy import PREPARE
from measuring import (
    COMMAND,
    FOLDER,
    WORK,
    Measurement,
    Run,
    environment,
    finish,
    measured,
    median,
    publishing,
    run_for_output,
    run_python,
)

ROWS, EPSILON, ROUNDS, DRAWS = 100_000, "1", 3, 8
NAME = "occupation"

OURS = """
import json, sys
import numpy as np
from sfumato import RandomizedResponse, read_table
from sfumato.testing import release_in_memory
data, schema, epsilon, repeats, name = sys.argv[1:]
table = read_table(data, schema)
truth = table.count_by([name]).counts
design = RandomizedResponse(epsilon=float(epsilon), attributes=[name])
found = []
for seed in range(int(repeats)):
    found.append([each["estimate"] for each in release_in_memory(table, design, seed=seed).counts(name)])
print(json.dumps({"error": float(np.abs(np.array(found) - truth).mean())}))
"""
"""The error of counts as an analyst gets them; times are those of the command line."""

PEERS = {
    "pure-ldp, direct encoding": ("pure_ldp", ("direct",), 1.5, 1.2),
    "pure-ldp, local hashing": ("pure_ldp", ("hashing",), 1.5, math.inf),
    "multi-freq-ldpy, GRR": ("multi_freq_ldpy", (), 1.5, math.inf),
}
"""Environment, further arguments, and the largest ratios of processor time and of error."""


def main() -> Iterator[Measurement]:
    """Processor time, memory and error over those of each peer."""
    WORK.mkdir(exist_ok=True)
    data, categories = WORK / f"local-{ROWS}.csv", WORK / f"local-{ROWS}.json"
    if not categories.exists():
        run_for_output(PREPARE, data, categories, str(ROWS), NAME)
    schema = data.with_suffix(".schema.toml")
    release, ledger = WORK / "release-local", WORK / "ledger-local"
    method = ("--method", "randomized-response", "--set", f"epsilon={EPSILON}", "--set", f"attributes={NAME}")
    publish = publishing(data, release, ledger, method, schema)
    scripts = {
        shown: [environment(name), FOLDER / "peers" / f"{name}_counts.py", data, NAME, categories, EPSILON]
        for shown, (name, *_) in PEERS.items()
    }
    runs: dict[str, list[Run]] = {shown: [] for shown in ("ours", *PEERS)}
    for _ in range(ROUNDS):
        both = [run_python(COMMAND, *publish), run_python(COMMAND, "counts", release, "--by", NAME)]
        runs["ours"].append(
            Run(
                sum(each.wall for each in both),
                sum(each.cpu for each in both),
                max(each.megabytes for each in both),
            )
        )
        for shown, (_, more, *_) in PEERS.items():
            runs[shown].append(measured([*scripts[shown], "1", *more])[1])
    ours = median(runs["ours"])
    error = json.loads(run_for_output(OURS, data, schema, EPSILON, str(DRAWS), NAME))["error"]
    for shown, (_, more, most_time, most_error) in PEERS.items():
        theirs = median(runs[shown])
        yield Measurement(
            f"randomizing and counting {NAME} of {ROWS:,} rows of CSV, CPU over that of {shown}",
            ours.cpu / theirs.cpu,
            most_time,
            f"{ours} against {theirs}",
        )
        wrong = json.loads(measured([*scripts[shown], str(DRAWS), *more])[0])["error"]
        yield Measurement(
            f"mean error of a count at local epsilon {EPSILON} over that of {shown}",
            error / wrong,
            most_error,
            f"{error:.0f} rows against {wrong:.0f}, over {DRAWS} draws",
        )


if __name__ == "__main__":
    finish(main())
