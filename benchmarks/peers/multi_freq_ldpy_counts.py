"""Counts of one column by multi-freq-ldpy, in its own environment: ``multi_freq_ldpy_counts.py DATA NAME CATEGORIES EPSILON REPEATS``."""

from __future__ import annotations

import collections
import csv
import json
import sys
from pathlib import Path

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client


def main() -> None:
    """Print the mean error of a value's count; the peer cuts shares off at zero and makes them sum to one."""
    data, name, listed, epsilon, repeats = sys.argv[1:]
    labels = json.loads(Path(listed).read_text(encoding="utf-8"))[name]
    place = {label: number for number, label in enumerate(labels)}
    with Path(data).open(encoding="utf-8", newline="") as file:
        codes = [place[row[name]] for row in csv.DictReader(file)]
    truth, size, budget = collections.Counter(codes), len(labels), float(epsilon)
    apart = []
    for _ in range(int(repeats)):
        reports = [GRR_Client(code, size, budget) for code in codes]
        shares = GRR_Aggregator_MI(reports, size, budget)
        apart += [abs(share * len(codes) - truth[code]) for code, share in enumerate(shares)]
    print(json.dumps({"error": float(sum(apart) / len(apart))}))


if __name__ == "__main__":
    main()
