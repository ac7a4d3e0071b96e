"""Write the plan for ten thousand million rows into ``docs/scale.md``, from what the benchmark on Spark measured.

``python docs/scale.py`` rewrites what stands between the marks; ``--check`` only says whether it is up to date. What was
measured stands in ``docs/scale_measured.json``; ``--measured benchmarks/work`` takes it over from there.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from sfumato.data.distributed.engine import FEW_SPLITS
from sfumato.data.distributed.exchange import MOST_PILES
from sfumato.data.distributed.splits import ROWS_PER_SPLIT
from sfumato.release.distributed import ROWS_PER_FILE

FOLDER = Path(__file__).parent
PAGE, MEASURED = FOLDER / "scale.md", FOLDER / "scale_measured.json"
START, END = "<!-- plan -->", "<!-- end -->"

ROWS = 10**10
COLUMNS = 9
BYTES_OF_A_CODE = 1
BYTES_OF_A_SPLIT = 5_000
"""Of a split's parcel: where its rows are, its attributes, and what is to be done; 4,765 for a count of the census."""
BYTES_OF_A_PART = 300
"""Of a part's line in the manifest."""
BYTES_OF_A_LOOK = 1_800_000
"""Of what looked at the rows of a file for unique ones; 1,778,486 for 2.5 million rows of the census."""
VALUES = 50
"""Of the sensitive attribute, whose counts by split methods with quotas bring to the driver."""
BYTES_OF_A_COUNT = 8
CORES = 1_000


def marginal(measured: dict[str, list[float]]) -> tuple[float, float, float, int, int]:
    """Seconds of processor that a million rows add, what starting costs, and what the driver gained by as many rows."""
    few, many = (int(each) for each in measured["rows"])
    (cpu_few, driver_few), (cpu_many, driver_many) = measured["few"], measured["many"]
    a_million = (cpu_many - cpu_few) / (many - few) * 1e6
    return a_million, cpu_few - a_million * few / 1e6, driver_many - driver_few, few, many


def plan() -> str:
    """The numbers as a table."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    a_million, start, gained, few, many = marginal(measured)
    splits, files = -(-ROWS // ROWS_PER_SPLIT), -(-ROWS // ROWS_PER_FILE)
    hours = a_million * ROWS / 1e6 / 3600
    shuffled = ROWS * COLUMNS * BYTES_OF_A_CODE
    blobs = splits * files
    rows = [
        ("processor time that a million rows add", f"{a_million:.2f} s", f"from {few:,} to {many:,} rows"),
        ("processor time of starting", f"{start:.0f} s", "Java, workers and their modules; once"),
        (
            "processor time in all",
            f"{hours:.1f} h",
            f"{hours * 3600 / CORES:.1f} s on {CORES:,} cores",
        ),
        ("tasks that read", f"{splits:,}", f"of about {ROWS_PER_SPLIT:,} rows"),
        ("files that are written", f"{files:,}", f"of about {ROWS_PER_FILE:,} rows, one task each"),
        (
            "shuffled once, randomized response",
            f"{shuffled / 1e9:.0f} GB",
            f"{COLUMNS} codes of one byte a row, before Spark compresses them",
        ),
        (
            "shuffled, Anatomy",
            f"{2 * shuffled / 1e9:.0f} GB",
            "rows meet in blocks of buckets, then in files",
        ),
        (
            "blobs of the shuffle",
            f"{blobs:,}",
            f"of {shuffled / blobs:,.0f} bytes: every reading task has rows for every file",
        ),
        (
            "the driver: parcels of splits, on disk",
            f"{splits * BYTES_OF_A_SPLIT / 1e6:.0f} MB",
            f"of about {BYTES_OF_A_SPLIT:,} bytes",
        ),
        (
            "the driver: counts of a sensitive attribute by split",
            f"{splits * VALUES * BYTES_OF_A_COUNT / 1e6:.0f} MB",
            f"{VALUES} values",
        ),
        (
            "the driver: what looked at the rows of every file, on disk",
            f"{files * BYTES_OF_A_LOOK / 1e9:.0f} GB",
            f"of about {BYTES_OF_A_LOOK / 1e6:.1f} MB, read one after the other",
        ),
        ("the driver: lines of the manifest", f"{files * BYTES_OF_A_PART / 1e6:.1f} MB", "one for each file"),
        (
            "the driver: what it gained",
            f"{gained:.0f} MB",
            f"measured, from {few:,} to {many:,} rows",
        ),
    ]
    lines = ["| what | number | |", "|---|---|---|", *(f"| {' | '.join(each)} |" for each in rows)]
    notes = (
        f"Combinations that occur are added up by at most {MOST_PILES} tasks where there are more than {FEW_SPLITS} splits, so "
        "that each comes to the driver once and not once for each split."
    )
    return "\n".join([*lines, "", notes])


def take_over(work: Path) -> None:
    """Write down what the benchmark measured last."""
    found = {
        int(path.name.split("-")[1]): json.loads(path.read_text(encoding="utf-8"))
        for path in work.glob("spark-*-files.json")
    }
    few, *_, many = sorted(each for each in found if each >= 10**6)
    kept = {
        "rows": [few, many],
        **{
            name: [round(each, 1) for each in found[rows][1:]]
            for name, rows in (("few", few), ("many", many))
        },
    }
    MEASURED.write_text(json.dumps(kept) + "\n", encoding="utf-8")


def main() -> int:
    """Rewrite the page, or say whether it is up to date."""
    if "--measured" in sys.argv:
        take_over(Path(sys.argv[sys.argv.index("--measured") + 1]))
    page = PAGE.read_text(encoding="utf-8")
    written = re.sub(f"{START}.*{END}", lambda _: f"{START}\n{plan()}\n{END}", page, count=1, flags=re.DOTALL)
    if "--check" in sys.argv:
        return int(written != page)
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
