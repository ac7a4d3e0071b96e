"""What the reproduction stores hangs together."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix

FOLDER = Path(__file__).resolve().parents[2] / "reproductions" / "li"
STORED = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))


def test_the_noise_curves_are_the_closed_form():
    """Figure 1 as stored is what the matrix says today, and 2,000 draws a count came within 0.05 of it."""
    curve = STORED["results"]["figure 1"]["eps=ln5"]
    matrix = NoisyCountMatrix(k=10, epsilon=math.log(5), delta=1e-5)
    assert curve["exact noise"] == pytest.approx(matrix.expected_noise(range(1, 61)), abs=5e-5)
    for each in STORED["results"]["figure 1"].values():
        assert each["largest difference of 2,000 draws"] < 0.05


def test_a_cell_always_comes_with_its_baselines():
    """Movie average, original, and the ablation of the user bias beside every error."""
    for name, results in STORED["results"].items():
        if "movies" not in name:
            continue
        assert results["baseline (movie average)"] == results["original"]["item means"]
        for cell, found in results.items():
            if "eps=" in cell:
                assert {"item means", "means and user bias", "factors", "share of the gap closed"} <= set(
                    found
                )


def test_at_least_five_seeds_were_run():
    """A single draw proves nothing."""
    assert {f"500 movies, seed {seed}" for seed in range(5)} <= set(STORED["results"])
