"""A k-anonymous table by anjana, in its own environment: ``anjana_table.py DATA HIERARCHIES K SUPPRESSION OUT``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
from anjana.anonymity import k_anonymity


def main() -> None:
    """Read the rows, recode them, write them."""
    data, hierarchies, k, suppression, out = sys.argv[1:]
    rows = pd.read_csv(data, dtype=str, keep_default_na=False)
    stated = json.loads(Path(hierarchies).read_text(encoding="utf-8"))
    levels = {
        name: {level: list(labels) for level, labels in enumerate(each)} for name, each in stated.items()
    }
    found = k_anonymity(rows, [], list(levels), int(k), float(suppression), levels)
    found.to_csv(out, index=False)


if __name__ == "__main__":
    main()
