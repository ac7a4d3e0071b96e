"""The reproduction of Guo 2010 is what its claims and README say."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "reproductions" / "guo"
CLAIMS = tomllib.loads((FOLDER / "claims.toml").read_text(encoding="utf-8"))
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))

KNOWN_TO_DIFFER = {("table_5_2_a", "3"), ("table_5_2_c", "4")} | {
    ("table_5_2_b", l_value) for l_value in "2345"
}
"""Kept as they are; the README explains each."""


def differs(printed, ours, tolerance):
    """Whether some number is further off than the claim allows."""
    return max(abs(a - b) for a, b in zip(printed, ours, strict=True)) > tolerance


@pytest.mark.parametrize(("claim", "key"), [("section_3_2", "estimated"), ("figure_5_2", "risks")])
def test_a_printed_row_is_matched(claim, key):
    """Within the rounding of the print."""
    assert not differs(CLAIMS[claim][key], RESULTS[claim]["ours"], CLAIMS[claim]["tolerance"])


@pytest.mark.parametrize("table", ["table_5_2_a", "table_5_2_b", "table_5_2_c"])
@pytest.mark.parametrize("l_value", ["2", "3", "4", "5"])
def test_an_optimum_matches_or_is_known_to_differ(table, l_value):
    """A claim that fails stays failed; one that begins to match is noticed."""
    claim, result = CLAIMS[table], RESULTS[table][l_value]
    is_off = "ours" not in result or differs(claim[l_value], result["ours"], claim["tolerance"])
    assert is_off == ((table, l_value) in KNOWN_TO_DIFFER)


@pytest.mark.parametrize("table", ["table_5_2_a", "table_5_2_c"])
@pytest.mark.parametrize("l_value", [2, 3, 4, 5])
def test_our_optimum_keeps_its_bound_and_loses_no_more_than_a_valid_print(table, l_value):
    """Where the printed parameters lose less they break the bound themselves."""
    result = RESULTS[table][str(l_value)]
    assert result["largest_risk"] <= 1 / l_value
    assert result["loss_at_or_below_printed"] or not result["printed_keeps_its_bound"]
