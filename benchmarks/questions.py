"""Many questions to one release, through the public door, against one table counted by DuckDB."""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Measurement, census, finish, interleaved, publish, run_for_output

ATTRIBUTES = ("age", "sex", "education", "marital", "race", "workclass", "country", "occupation", "salary")

ASK = """
import itertools, sys
from sfumato import load_release
folder, number, *sets = sys.argv[1:]
release = load_release(folder)
labels = {each.name: itertools.cycle(each.labels) for each in release.schema.attributes}
value = lambda name: next(labels[name]).replace("'", "''")
questions = [
    " AND ".join(f"{name} = '{value(name)}'" for name in names.split(","))
    for names in itertools.islice(itertools.cycle(sets), int(number))
]
assert len(release.queries(questions)) == int(number)
"""

GROUP_BY = """
import sys, duckdb, pyarrow
with duckdb.connect() as connection:
    connection.execute("set enable_progress_bar = false")
    connection.sql(
        f"select occupation, sex, education, count(*) from '{sys.argv[1]}/rows.parquet' group by all"
    ).to_arrow_reader().read_all()
"""

AGAIN = """
import statistics, sys, time
from sfumato import load_release
release = load_release(sys.argv[1])
labels = release.schema["occupation"].labels
others = " AND ".join(f"{name} = '{release.schema[name].labels[0]}'" for name in ("sex", "education"))
ask = lambda label: release.query(f"occupation = '{label}' AND {others}")
ask(labels[0])
seconds = []
for label in labels[1:]:
    start = time.perf_counter()
    ask(label)
    seconds.append(time.perf_counter() - start)
print(1000 * statistics.median(seconds))
"""


def release_of(rows: int) -> Path:
    """A release of that many rows, occupation perturbed, as a command publishes it."""
    release, _ = publish(
        census(rows),
        f"questions-{rows}",
        *("--method", "randomized-response", "--set", "retention=0.5", "--set", "attributes=['occupation']"),
    )
    return release


def measure(rows: int, rounds: int) -> Iterator[Measurement]:
    """The figures of many questions, at some number of rows."""
    release = release_of(rows)
    triples = [",".join(each) for each in itertools.combinations(ATTRIBUTES, 3)]
    ten = triples[:: len(triples) // 10][:10]
    medians = interleaved(
        {
            "ten": (ASK, (release, "1000", *ten)),
            "all": (ASK, (release, "1000", *triples)),
            "group by": (GROUP_BY, (release,)),
        },
        rounds=rounds,
    )
    table = medians["group by"]
    for name, limit, what in (("ten", 5.0, "10 attribute sets"), ("all", 15.0, "all 84 triples")):
        asked = medians[name]
        yield Measurement(
            f"CPU of 1,000 questions over {what} / one three-way GROUP BY, processes whole",
            asked.cpu / table.cpu,
            limit,
            f"CPU {asked.cpu:.2f} s against {table.cpu:.2f} s, wall {asked.wall:.2f} s against {table.wall:.2f} s",
        )
    milliseconds = [float(run_for_output(AGAIN, release)) for _ in range(rounds)]
    yield Measurement(
        "a further question on the same attributes, milliseconds", statistics.median(milliseconds), 5.0
    )


if __name__ == "__main__":
    finish(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, rounds=5))
