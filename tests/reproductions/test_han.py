"""The stored results on the ratio attack say what their README says."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "reproductions" / "han"


@pytest.fixture(scope="module")
def claims():
    """As printed."""
    return tomllib.loads((FOLDER / "claims.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def results():
    """As computed."""
    return json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))["results"]


def test_table_3_1_is_not_ten_trials_of_laplace_noise(results, claims):
    """At scale 4 both mean errors lie outside what a thousand tables give; at 200 a standard error exceeds its mean."""
    claim, found = claims["table_3_1"], results["table_3_1"]["4"]
    assert claim["mean_error_of_group"][2] > found["99.9 % range of ten-trial mean error, group"][1]
    assert claim["mean_error_of_part"][2] > found["99.9 % range of ten-trial mean error, part"][1]
    assert claim["standard_error_of_part"][0] > claim["mean_error_of_part"][0]


def test_disclosures_vanish_only_where_errors_are_huge(results):
    """In all three settings: some at 0.5, none at 0.01, and none only with errors above 400 %."""
    for found in results["adult"]["settings"].values():
        disclosed = found["disclosed two-way cells by epsilon"]
        assert disclosed["0.5"] > 0 == disclosed["0.01"]
        assert found["error there, cells with rows"] > 4
