"""Start-up, which is what users feel on small tables: processor seconds of whole commands."""

from __future__ import annotations

from collections.abc import Iterator

from measuring import COMMAND, WORK, Measurement, census, finish, interleaved, publishing

LIBRARIES = """
import duckdb, numpy, pydantic, typer
with duckdb.connect() as connection:
    connection.execute("select 1").fetchall()
"""

ROWS = 1_000


def measure(rounds: int) -> Iterator[Measurement]:
    """Processor seconds of the commands that people type most."""
    data = census(ROWS)
    release = WORK / "start-up"
    design = ("--method", "randomized-response", "--set", "retention=0.5")
    publish = publishing(data, release, WORK / "start-up-ledger", design)
    medians = interleaved(
        {
            "publish of 1,000 rows": (COMMAND, publish),
            "query": (COMMAND, ("query", release, "sex = 'Female'")),
            "--help": (COMMAND, ("--help",)),
            "the libraries alone": (LIBRARIES, ()),
        },
        rounds=rounds,
    )
    libraries = medians.pop("the libraries alone")
    for (name, run), limit in zip(medians.items(), (1.2, 0.6, 0.3), strict=True):
        detail = f"wall {run.wall:.2f} s; DuckDB, numpy, pydantic and typer alone {libraries.cpu:.2f} s"
        yield Measurement(f"CPU seconds of {name}", run.cpu, limit, detail)


if __name__ == "__main__":
    finish(measure(rounds=9))
