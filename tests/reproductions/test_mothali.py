"""What the reproduction stores hangs together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "reproductions" / "mothali"
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))["results"]


@pytest.mark.parametrize(("size", "replicated"), [("2", 75.6), ("3", 57.9), ("4", 45.7)])
def test_exact_em_is_within_a_point_of_the_replication(size, replicated):
    """A separate implementation of the thesis found these accuracies on Adult."""
    assert abs(RESULTS[size]["exact"]["mean"] - replicated) <= 1


@pytest.mark.parametrize("size", ["2", "3", "4"])
def test_averaging_lowers_brier_and_calibration_of_approximate_em(size):
    """The direction of Table 5.1."""
    rough = RESULTS[size]["approximate"]
    for part in ("brier", "calibration"):
        assert rough["row_average"][part] < rough["product"][part]


@pytest.mark.parametrize("size", ["2", "3", "4", "5", "6"])
def test_marginals_are_better_calibrated_than_their_product(size):
    """The product counts the permutations' evidence twice."""
    exact = RESULTS[size]["exact"]
    assert exact["calibration"] < exact["product_calibration"]
    assert exact["brier"] < exact["product_brier"]
