"""What pycanon says of the groups of a table; runs in the peer's own environment: ``python pycanon_figures.py DATA SENSITIVE NAMES``."""

from __future__ import annotations

import json
import sys

import pandas as pd
from pycanon import anonymity


def main() -> None:
    """Print the figures as JSON."""
    data, sensitive, *names = sys.argv[1:]
    rows = pd.read_csv(data, dtype=str, keep_default_na=False)
    attribute = [sensitive]
    told = {
        "k": anonymity.k_anonymity(rows, names),
        "l_distinct": anonymity.l_diversity(rows, names, attribute),
        "l_entropy": anonymity.entropy_l_diversity(rows, names, attribute),
        "t_equal": anonymity.t_closeness(rows, names, attribute),
        "beta": anonymity.basic_beta_likeness(rows, names, attribute),
        "delta": anonymity.delta_disclosure(rows, names, attribute),
    }
    print(json.dumps({name: float(value) for name, value in told.items()}))


if __name__ == "__main__":
    main()
