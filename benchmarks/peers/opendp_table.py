"""A table of noisy counts by OpenDP, in its own environment: ``opendp_table.py DATA FIRST SECOND CATEGORIES EPSILON REPEATS``."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import opendp.prelude as dp


def main() -> None:
    """Print the mean error of a count, over all cells and repeats."""
    data, first, second, listed, epsilon, repeats = sys.argv[1:]
    with Path(listed).open(encoding="utf-8") as file:
        categories = json.load(file)
    cells = [f"{one}|{other}" for one in categories[first] for other in categories[second]]
    with Path(data).open(encoding="utf-8") as file:
        rows = [f"{row[first]}|{row[second]}" for row in csv.DictReader(file)]
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counted = space >> dp.t.then_count_by_categories(cells, null_category=False)
    noisy = counted >> dp.m.then_laplace(scale=1 / float(epsilon))
    assert noisy.map(1) <= float(epsilon) * 1.000001
    truth = counted(rows)
    found = [noisy(rows) for _ in range(int(repeats))]
    apart = [abs(mine - true) for each in found for mine, true in zip(each, truth, strict=True)]
    print(json.dumps({"error": sum(apart) / len(apart)}))


if __name__ == "__main__":
    main()
