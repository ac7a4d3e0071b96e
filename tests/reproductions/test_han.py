"""The stored results on the ratio attack say what their README says."""

from __future__ import annotations

import collections
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from scripts import load_script

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


def test_guesses_of_the_census_were_made_beforehand_and_are_counted(results, claims):
    """Seven of eight came true; the README says which one did not."""
    census = load_script(FOLDER / "census.py")
    wrong = [
        claim["id"]
        for claim in claims["census"]
        if census.holds(claim, results["census"])[1] != claim["expected"]
    ]
    assert wrong == ["SALARY has none at 0.5"]


def test_personal_groups_of_the_census_are_the_rows_that_are_alike():
    """Against a dictionary of rows; the prior is that of all rows."""
    census = load_script(FOLDER / "census.py")
    codes = census.draw_rows(3_000)
    names, sensitive = census.EXTRACTS["EDU"]
    groups = census.personal_groups(codes, names, sensitive)
    seen = collections.Counter(
        zip(*(codes[name].tolist() for name in names), codes[sensitive].tolist(), strict=True)
    )
    alike = collections.Counter(key[:-1] for key in seen.elements())
    assert sorted(groups.groups.tolist()) == sorted(alike.values())
    assert sorted(groups.parts[groups.parts > 0].tolist()) == sorted(seen.values())
    assert np.allclose(groups.priors, np.bincount(codes[sensitive], minlength=14) / 3_000)


def test_published_cells_of_the_census_are_counted_with_those_that_nobody_has():
    """As differential privacy needs it."""
    census = load_script(FOLDER / "census.py")
    codes = census.draw_rows(3_000)
    counts = census.counts_of(codes, ("sex", "race", "education"))
    assert counts.shape == (18, 14)
    assert counts.sum() == 3_000
    assert counts[9 + 4, 3] == np.sum((codes["sex"] == 1) & (codes["race"] == 4) & (codes["education"] == 3))
