"""Rows drawn from a release carry all its uncertainty: pooled fits cover, draws follow the posterior."""

from __future__ import annotations

import numpy as np
import pytest

from known_counts import KnownCounts
from published_rows import category_attribute
from sfumato import RandomizedResponse
from sfumato.analysis.imputing import impute
from sfumato.analysis.regression import regress
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.testing import release_in_memory
from sfumato.values.schema import Role, Schema

pytestmark = pytest.mark.statistical

A, B, Y = (
    category_attribute("a", 2, Role.QUASI_IDENTIFIER),
    category_attribute("b", 2, Role.SENSITIVE),
    category_attribute("y", 2, Role.SENSITIVE),
)
SCHEMA = Schema(attributes=(A, B, Y))
ROWS = 6_000
RETENTION = 0.6
REPLICATES = 200
"""At a nominal 95 % it accepts 85.5 to 100 %; the twins cover next to never."""
DRAWS = 20
TWO_WAY = "a*b + a*y + b*y"


def published(seed, interaction):
    """A release of new rows of a logistic model of y on a and b: -1.2, 0.8, 0.6 and an interaction; b and y perturbed."""
    draw = np.random.default_rng(seed)
    a, b = draw.integers(0, 2, ROWS), (draw.random(ROWS) < 0.4).astype(np.int64)
    chance = 1 / (1 + np.exp(-(-1.2 + 0.8 * a + 0.6 * b + interaction * a * b)))
    codes = {"a": a, "b": b, "y": (draw.random(ROWS) < chance).astype(np.int64)}
    table = PrivateTable(CodedRows(SCHEMA, codes), SCHEMA, engine=ArrayEngine())
    return release_in_memory(table, RandomizedResponse(retention=RETENTION), seed=seed)


def fitted(formula, term):
    """An analysis that knows nothing of releases: a logistic regression of rows, with robust errors."""

    def analyse(draw):
        counts = np.zeros((2, 2, 2))
        for batch in draw.batches():
            np.add.at(counts, tuple(batch.codes[name] for name in ("a", "b", "y")), 1)
        found = regress(KnownCounts(SCHEMA.attributes, counts), formula, target="population")[term]
        return found.estimate, found.std_error**2

    return analyse


def covering(first, interaction, formula, term, truth, *, number=REPLICATES, **how):
    """Releases of which the pooled interval holds the truth."""
    covered = 0
    for seed in range(first, first + number):
        draws = impute(published(seed, interaction), draws=DRAWS, seed=seed, **how)
        pooled = draws.pool(fitted(formula, term))
        covered += pooled.low[0] <= truth <= pooled.high[0]
    return covered


def test_pooled_fits_of_a_declared_model_cover(alarm_budget):
    """Null: 95 % of pooled intervals hold the slope of a logistic model without interaction, drawn by the loglinear model of all pairs.

    Statistic: number covered, exact binomial. 200 releases of new rows, 20 draws each. Twin: the slope of the published rows as they
    stand, which noise halves.
    """
    check = alarm_budget.draw("pooled fits of a declared model cover")
    first = int(check.seed % 2**31)
    covered = covering(first, 0.0, "y ~ a + b", "b = '1'", 0.6, model=TWO_WAY)
    alarm_budget.assert_passes(alarm_budget.coverage_p_value(covered, REPLICATES, 0.95), check)
    naive = 0
    for seed in range(first, first + REPLICATES):
        counts = published(seed, 0.0).count_by(["a", "b", "y"]).counts
        found = regress(KnownCounts(SCHEMA.attributes, counts), "y ~ a + b", target="population")["b = '1'"]
        naive += found.low <= 0.6 <= found.high
    alarm_budget.assert_rejects(alarm_budget.coverage_p_value(naive, REPLICATES, 0.95), check)


def test_without_a_model_interactions_are_kept_and_an_omitted_one_is_lost(alarm_budget):
    """Null: 95 % of pooled intervals hold an interaction of 1.5 where no model is assumed. Statistic: number covered, exact binomial.

    200 releases of new rows, 20 draws each. Twin: 40 releases, draws by the loglinear model that omits it.
    """
    check = alarm_budget.draw("pooled interactions cover without a model")
    first = int(check.seed % 2**31)
    asked = 1.5, "y ~ a*b", "a = '1' : b = '1'", 1.5
    covered = covering(first, *asked, by=("a", "b", "y"))
    alarm_budget.assert_passes(alarm_budget.coverage_p_value(covered, REPLICATES, 0.95), check)
    # Hardly any holds it, which some releases show.
    omitted = covering(first, *asked, number=40, model=TWO_WAY)
    alarm_budget.assert_rejects(alarm_budget.coverage_p_value(omitted, 40, 0.95), check)
