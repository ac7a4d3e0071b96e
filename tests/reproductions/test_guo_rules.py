"""The stored results on rules from randomized baskets say what their README says."""

from __future__ import annotations

import itertools
import json
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "reproductions" / "guo_rules"
CLAIMS = tomllib.loads((FOLDER / "claims.toml").read_text(encoding="utf-8"))
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))["results"]
DATA = ("retail", "groceries")


@pytest.mark.parametrize("items", ["GH", "EHG", "EGI", "EGHF", "FGIE"])
def test_half_widths_of_the_insurance_items(items):
    """To the digits that the printed shares support."""
    claimed = CLAIMS["half_widths"]
    for kept, printed in claimed[items].items():
        assert RESULTS["half_widths"][items][kept] == pytest.approx(printed, abs=claimed["tolerance"]), kept


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("column", CLAIMS["shape"]["falling"])
def test_errors_fall_as_more_is_kept(data, column):
    """From the smallest retention to the largest, with room for one draw on the way."""
    lines = RESULTS[data]["by_kept"]
    values = [lines[kept][column] for kept in sorted(lines)]
    assert values[-1] < values[0]
    assert sum(later > earlier for earlier, later in itertools.pairwise(values)) <= 1


@pytest.mark.parametrize("data", DATA)
def test_ends_of_intervals_do_what_they_are_for(data):
    """The lower end lets hardly a false rule pass, the upper end misses hardly a true one."""
    for numbers in RESULTS[data]["by_kept"].values():
        assert numbers["false_lower"] <= CLAIMS["shape"]["largest_false_lower"]
        assert numbers["missed_upper"] <= CLAIMS["shape"]["largest_missed_upper"]
        assert numbers["missed_lower"] >= numbers["missed_estimate"]
        assert numbers["false_upper"] >= numbers["false_estimate"]


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("of", ["support_conflicts", "confidence_conflicts"])
def test_conflicts_vanish(data, of):
    """As on the thesis's insurance data."""
    lines = RESULTS[data]["by_kept"]
    assert all(lines[kept][of] == 0 for kept in lines if float(kept) >= CLAIMS["shape"]["no_conflicts_from"])
