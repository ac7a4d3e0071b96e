"""Quantiles of small groups about a population.

Expected beforehand: 95 % and more, since a number is judged by the draw of a table in which it is the quantile. Found before: of groups of thirty
rows, 82 % of the intervals of a .95 quantile held it, because the top was always rejected when nobody was drawn there.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from known_counts import KnownCounts, numbered_attribute
from sfumato.analysis import moments as quantile_ends
from sfumato.analysis.moments import quantile
from sfumato.schema import Attribute, Role

pytestmark = pytest.mark.statistical

TABLES, ROWS = 1_500, 30
CHANCES = np.array([0.3, 0.3, 0.345, 0.055])
ASKED = {
    "numbers": (numbered_attribute("x", 4), 3.0),
    "bins": (Attribute(name="x", role=Role.OTHER, bins=(0, 10, 20, 30, 40)), 30 + 10 * 0.005 / 0.055),
}


def as_drawn(share: float, at: float, below: float, within: float, rows: float) -> float:
    """Squares of the rows as they were drawn, which know nothing of who was not."""
    return (1 - share) ** 2 * below + (at - share) ** 2 * within + share**2 * max(rows - below - within, 0.0)


@pytest.mark.parametrize("kind", ASKED)
def test_quantiles_of_small_groups_are_held(alarm_budget, kind, monkeypatch):
    """Null: at least 94 % of the intervals hold the .95 quantile. n = 1,500 tables of 30 rows.

    Exact binomial, one side. Twin: the variance of the rows as they were drawn; it holds 82 %, which is as often as anybody was drawn on top.
    """
    check = alarm_budget.draw("quantiles of small groups are held", pieces=2)
    attribute, truth = ASKED[kind]
    tables = np.random.default_rng(check.seed).multinomial(ROWS, CHANCES, TABLES)

    def held() -> int:
        found = (quantile(KnownCounts((attribute,), each), "x", 0.95, target="population") for each in tables)
        return sum(each.low <= truth <= each.high for each in found)

    alarm_budget.assert_passes(float(binom.cdf(held(), TABLES, 0.94)), check)
    monkeypatch.setattr(quantile_ends, "variance_of_draw", as_drawn)
    alarm_budget.assert_rejects(float(binom.cdf(held(), TABLES, 0.94)), check)
