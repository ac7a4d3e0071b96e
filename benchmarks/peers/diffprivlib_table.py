"""A table of noisy counts by diffprivlib, in its own environment: ``diffprivlib_table.py DATA FIRST SECOND CATEGORIES EPSILON REPEATS``."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
from diffprivlib import tools


def main() -> None:
    """Print the mean error of a count, over all cells and repeats; counts below zero are cut off by the peer."""
    data, first, second, listed, epsilon, repeats = sys.argv[1:]
    with Path(listed).open(encoding="utf-8") as file:
        categories = json.load(file)
    places = {
        name: {label: place for place, label in enumerate(categories[name])} for name in (first, second)
    }
    with Path(data).open(encoding="utf-8") as file:
        rows = [(places[first][row[first]], places[second][row[second]]) for row in csv.DictReader(file)]
    codes = np.array(rows).T
    edges = [np.arange(len(categories[name]) + 1) - 0.5 for name in (first, second)]
    ends = [(each[0], each[-1]) for each in edges]
    truth, *_ = np.histogram2d(*codes, bins=edges)
    found = [
        tools.histogram2d(*codes, epsilon=float(epsilon), bins=edges, range=ends)[0]
        for _ in range(int(repeats))
    ]
    print(json.dumps({"error": float(np.abs(np.array(found) - truth).mean())}))


if __name__ == "__main__":
    main()
