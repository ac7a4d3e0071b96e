"""What the reproduction stores hangs together."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "reproductions" / "han_reconstruction"
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))["results"]


def test_violations_rise_with_retention_error_and_probability():
    """The directions of section 4.4.2."""
    by_setting = {
        tuple(map(float, name.split("-"))): row["violating_groups"]
        for name, row in RESULTS["settings"].items()
    }
    for place in range(3):
        others = [
            each for each in by_setting if all(each[i] == (0.5, 0.3, 0.3)[i] for i in range(3) if i != place)
        ]
        shares = [by_setting[each] for each in sorted(others)]
        assert len(shares) == 5
        assert shares == sorted(shares)
