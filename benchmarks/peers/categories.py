"""Rows of a data set with a schema of their values as they stand: ``categories.py DATA SCHEMA SOURCE ROWS SENSITIVE NAMES``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from sfumato import Schema
from sfumato.datasets import fetch_dataset, make_dataset
from sfumato.errors import DownloadError

NOT_THERE = 9


def main() -> None:
    """Write both files, and print the names that the data set has."""
    data, schema, (source, number, sensitive, *names) = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    rows = (complete_adult if source == "adult" else census)(data.parent, int(number))
    chosen = [name for name in names if name in rows[0]] + [sensitive]
    told = {
        name: {
            "role": "sensitive" if name == sensitive else "quasi-identifier",
            "categories": sorted({row[name] for row in rows}),
        }
        for name in chosen
    }
    schema.write_text(Schema.from_dict({"attributes": told}).to_toml(), encoding="utf-8")
    with data.open("w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, chosen, extrasaction="ignore")
        lines.writeheader()
        lines.writerows(rows)
    print(",".join(chosen[:-1]))


def complete_adult(work: Path, number: int) -> list[dict[str, str]]:
    """Rows of the training file without a missing value, as the literature counts them; ages in single years."""
    folder = work / "fetched-adult"
    if not (folder / "adult.csv").exists():
        try:
            fetch_dataset("adult", folder)
        except DownloadError:
            sys.exit(NOT_THERE)
    with (folder / "adult.csv").open(encoding="utf-8") as file:
        complete = [row for row in csv.DictReader(file) if row["part"] == "train" and all(row.values())]
    assert len(complete) == number
    return complete


def census(work: Path, number: int) -> list[dict[str, str]]:
    """As many made-up people."""
    made = work / f"census-{number}.csv"
    if not made.exists():
        make_dataset("census", number, 1, made)
    with made.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
