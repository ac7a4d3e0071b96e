"""Shares of nearly everybody in a population, or in a group of the table: their intervals hold the truth however few are left.

Expected beforehand: 95 % and more, since the count of a few has an error no smaller than the draw of one row. Found before on
another table: 44 % for a share that is one, 53 % for a difference of two shares, 87 % for a share of 98 %.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from coded_tables import table_of
from nearly_everybody import people
from sfumato import RandomizedResponse
from sfumato.randomness.streams import NoiseSource
from sfumato.release import tabulation as large_shares
from sfumato.testing import redrawn, release_in_memory

pytestmark = pytest.mark.statistical


def answer(release, kind):
    """A share among a sensitive value, which nobody with something rare has; one among a public value; a difference."""
    if kind == "all":
        return release.proportion("rare = 'no'", given="job = 'd'", target="population"), 1.0
    if kind == "most":
        return release.proportion("rare = 'no'", given="region = 'south'", target="population"), 599 / 600
    compared = release.difference(
        "rare = 'no'", given="region = 'south'", versus="region = 'west'", target="population"
    )
    return compared, 599 / 600 - 1.0


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("all", 120),
        ("most", 120),
        ("difference", 120),
        pytest.param("all", 600, marks=pytest.mark.slow),
        pytest.param("most", 600, marks=pytest.mark.slow),
        pytest.param("difference", 600, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_large_shares_of_a_population_hold_them(alarm_budget, kind, number, monkeypatch):
    """Null: at least 94 % of the intervals hold the truth. n = 120 releases of 1,200 rows, or 600.

    Exact binomial, one side. Tables are drawn from the population and jobs kept with one half. Twin: error and interval by the rows
    that satisfy the question. Of the share that is one half of the intervals then lie above it; where none of the few was drawn, which
    is so in more than a third of the tables, the others have hardly any width.
    """
    check = alarm_budget.draw("intervals of large shares of a population hold them", pieces=6)
    whole, noise = people(), NoiseSource.seeded(check.seed % 2**32)
    design = RandomizedResponse(retention=0.5)
    releases = [
        release_in_memory(redrawn(whole, noise.named(f"{kind} {each}")), design, seed=each)
        for each in range(number)
    ]

    def held() -> int:
        return sum(
            found.low <= truth <= found.high for found, truth in (answer(each, kind) for each in releases)
        )

    alarm_budget.assert_passes(float(binom.cdf(held(), number, 0.94)), check)
    monkeypatch.setattr(large_shares, "_by_what_is_left", lambda found, *_: found)
    alarm_budget.assert_rejects(float(binom.cdf(held(), number, 0.94)), check)


def test_intervals_of_large_shares_of_a_table_hold_them(alarm_budget, monkeypatch):
    """Null: at least 94 % of the intervals hold the table's own share. n = 400 releases of 600 rows, exact binomial, one side.

    Of six jobs of some hundred each, kept with one half, two people of the first have something rare and one of the second. Twin: error and
    interval by the rows that satisfy the question, whose interval does not lean; some 85 % hold, since the true share lies below the others.
    """
    check = alarm_budget.draw("intervals of large shares of a table hold them")
    rare = np.arange(600) < 3
    job = np.where(rare, np.arange(600) % 2, np.arange(600) % 6)
    table = table_of([2, 6], [rare.astype(int), job])
    design = RandomizedResponse(retention=0.5)
    truth = 1 - rare[job == 0].mean()
    releases = [release_in_memory(table, design, seed=check.seed % 2**31 + each) for each in range(400)]

    def held() -> int:
        found = (each.proportion("x0 = 'x0-0'", given="s = 's-0'") for each in releases)
        return sum(each.low <= truth <= each.high for each in found)

    alarm_budget.assert_passes(float(binom.cdf(held(), len(releases), 0.94)), check)
    monkeypatch.setattr(large_shares, "_by_what_is_left", lambda found, *_: found)
    alarm_budget.assert_rejects(float(binom.cdf(held(), len(releases), 0.94)), check)
