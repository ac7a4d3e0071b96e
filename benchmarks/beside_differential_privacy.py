"""Noisy counts beside OpenDP and diffprivlib: the same table of the same file at the same epsilon, in whole processes.

``python benchmarks/beside_differential_privacy.py``. The peers are installed from PyPI into environments of their own, made once
and kept in ``work``. All three add two-sided geometric noise for one row more or less. Ours reads the file with a schema,
writes a release with its manifest and its promise, and checks what was written; the peers give an array. diffprivlib
cuts counts off at zero, which makes empty cells less wrong and their sums too large; OpenDP and sfumato do not.
Limits were set before the first run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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

ROWS, EPSILON, ROUNDS, DRAWS = 200_000, "0.5", 3, 60
FIRST, SECOND = "occupation", "education"

PREPARE = """
import json, sys
from pathlib import Path
from sfumato import Schema
from sfumato.datasets import make_dataset
data, categories, rows, *names = sys.argv[1:]
make_dataset("census", int(rows), 1, Path(data))
schema = Schema.read(Path(data).with_suffix(".schema.toml"))
Path(categories).write_text(json.dumps({name: schema[name].labels for name in names}), encoding="utf-8")
"""

OURS = """
import json, sys
import numpy as np
from sfumato import NoisyMarginals, read_table
from sfumato.testing import release_in_memory
data, schema, epsilon, repeats, *names = sys.argv[1:]
table = read_table(data, schema)
truth = table.count_by(names).counts
design = NoisyMarginals(epsilon=float(epsilon), marginals=[names], neighbours="add-remove")
found = []
for seed in range(int(repeats)):
    release = release_in_memory(table, design, seed=seed)
    found.append([each["estimate"] for each in release.counts(names)])
print(json.dumps({"error": float(np.abs(np.array(found) - truth.ravel()).mean())}))
"""
"""The error of counts as an analyst gets them; times are those of the command line."""


def main() -> Iterator[Measurement]:
    """Processor time and error over those of each peer."""
    data, schema, categories = prepared()
    names = (FIRST, SECOND)
    release, ledger = WORK / "release-beside", WORK / "ledger-beside"
    settings = (f"epsilon={EPSILON}", f"marginals=[{list(names)}]", "neighbours=add-remove")
    method = ("--method", "noisy-marginals", *(part for each in settings for part in ("--set", each)))
    publish = publishing(data, release, ledger, method, schema)
    peers = {"OpenDP": ("opendp", 1.5, 1.05), "diffprivlib": ("diffprivlib", 1.0, float("inf"))}
    scripts = {
        shown: [environment(name), FOLDER / "peers" / f"{name}_table.py", data, *names, categories, EPSILON]
        for shown, (name, _, _) in peers.items()
    }
    runs: dict[str, list[Run]] = {shown: [] for shown in ("ours", *peers)}
    for _ in range(ROUNDS):
        runs["ours"].append(run_python(COMMAND, *publish))
        for shown, command in scripts.items():
            runs[shown].append(measured([*command, "1"])[1])
    ours = median(runs["ours"])
    error = json.loads(run_for_output(OURS, data, schema, EPSILON, str(DRAWS), *names))["error"]
    for shown, (_, most_time, most_error) in peers.items():
        theirs = median(runs[shown])
        yield Measurement(
            f"noisy {FIRST} by {SECOND} from {ROWS:,} rows of CSV, CPU over {shown}'s",
            ours.cpu / theirs.cpu,
            most_time,
            f"{ours} against {theirs}",
        )
        wrong = json.loads(measured([*scripts[shown], str(DRAWS)])[0])["error"]
        yield Measurement(
            f"mean error of a count at epsilon {EPSILON} over {shown}'s",
            error / wrong,
            most_error,
            f"{error:.3f} rows against {wrong:.3f}, over {DRAWS} tables",
        )


def prepared() -> tuple[Path, Path, Path]:
    """Rows, schema, and the categories as the peers read them; made once."""
    WORK.mkdir(exist_ok=True)
    data, categories = WORK / f"beside-{ROWS}.csv", WORK / f"beside-{ROWS}.json"
    if not categories.exists():
        run_for_output(PREPARE, data, categories, str(ROWS), FIRST, SECOND)
    return data, data.with_suffix(".schema.toml"), categories


if __name__ == "__main__":
    finish(main())
