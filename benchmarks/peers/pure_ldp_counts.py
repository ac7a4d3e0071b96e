"""Counts of one column by pure-ldp, in its own environment: ``pure_ldp_counts.py DATA NAME CATEGORIES EPSILON REPEATS ORACLE``."""

from __future__ import annotations

import collections
import csv
import json
import sys
from pathlib import Path
from typing import Any

from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer

HASHES = 1_000
"""Hash functions of the fast form of local hashing."""


def parties(oracle: str, epsilon: float, size: int) -> tuple[Any, Any]:
    """Client and server: the value itself randomized, or a hash of it."""

    def as_it_is(code: int) -> int:
        return code

    if oracle == "direct":
        return DEClient(epsilon, size, as_it_is), DEServer(epsilon, size, as_it_is)
    return (
        FastLHClient(epsilon, size, HASHES, use_olh=True, index_mapper=as_it_is),
        FastLHServer(epsilon, size, HASHES, use_olh=True, index_mapper=as_it_is),
    )


def main() -> None:
    """Print the mean error of a value's count, over all values and repeats."""
    data, name, listed, epsilon, repeats, oracle = sys.argv[1:]
    labels = json.loads(Path(listed).read_text(encoding="utf-8"))[name]
    place = {label: number for number, label in enumerate(labels)}
    with Path(data).open(encoding="utf-8", newline="") as file:
        codes = [place[row[name]] for row in csv.DictReader(file)]
    truth = collections.Counter(codes)
    apart = []
    for _ in range(int(repeats)):
        client, server = parties(oracle, float(epsilon), len(labels))
        for code in codes:
            server.aggregate(client.privatise(code))
        apart += [
            abs(server.estimate(code, suppress_warnings=True) - truth[code]) for code in range(len(labels))
        ]
    print(json.dumps({"error": float(sum(apart) / len(apart))}))


if __name__ == "__main__":
    main()
