"""Rows of a data set by category, with a schema of these categories: ``categories.py DATA SCHEMA SOURCE ROWS SENSITIVE NAMES``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from sfumato import Schema, read_table
from sfumato.datasets import fetch_dataset, make_dataset
from sfumato.errors import DownloadError

NOT_THERE = 9


def main() -> None:
    """Write both files, and print the names that the data set has."""
    data, schema, (source, rows, sensitive, *names) = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    whole, declared = (complete_adult if source == "adult" else census)(data.parent, int(rows))
    chosen = [name for name in names if name in declared.names] + [sensitive]
    told = {
        name: {
            "role": "sensitive" if name == sensitive else "quasi-identifier",
            "categories": [
                each for code, each in enumerate(declared[name].labels) if code != declared[name].missing_code
            ],
        }
        for name in chosen
    }
    schema.write_text(Schema.from_dict({"attributes": told}).to_toml(), encoding="utf-8")
    with data.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(chosen)
        for batch in read_table(whole, declared).scan(chosen):
            labels = [[declared[name].labels[code] for code in batch.codes[name]] for name in chosen]
            lines.writerows(zip(*labels, strict=True))
    print(",".join(chosen[:-1]))


def complete_adult(work: Path, rows: int) -> tuple[Path, Schema]:
    """Rows of the training file without a missing value, as the literature counts them."""
    folder = work / "fetched-adult"
    if not (folder / "adult.csv").exists():
        try:
            fetch_dataset("adult", folder)
        except DownloadError:
            sys.exit(NOT_THERE)
    with (folder / "adult.csv").open(encoding="utf-8") as file:
        complete = [row for row in csv.DictReader(file) if row["part"] == "train" and all(row.values())]
    assert len(complete) == rows
    with (folder / "complete.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, list(complete[0]))
        lines.writeheader()
        lines.writerows(complete)
    return folder / "complete.csv", Schema.read(folder / "adult.schema.toml")


def census(work: Path, rows: int) -> tuple[Path, Schema]:
    """As many made-up people."""
    made = work / f"census-{rows}.csv"
    if not made.exists():
        make_dataset("census", rows, 1, made)
    return made, Schema.read(work / f"census-{rows}.schema.toml")


if __name__ == "__main__":
    main()
