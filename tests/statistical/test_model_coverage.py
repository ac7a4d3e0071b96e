"""Coefficients of models fitted to releases cover as they say; what ignores the noise does not."""

from __future__ import annotations

import numpy as np
import pytest

from counted import Counted
from known_counts import KnownCounts
from perturbed_counts import (
    ATTRIBUTES,
    REPLICATES,
    ROWS,
    TABLE,
    TWIN_REPLICATES,
    estimated,
    holds,
    law_of,
    matrix_of,
    mean_p_value,
    publish,
    shares,
)
from published_rows import category_attribute
from sfumato.analysis.loglinear import fit_loglinear
from sfumato.analysis.regression import regress
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import UniformDistortion

pytestmark = pytest.mark.statistical

CASES = {"response": {"y": 0.9}, "both sides": {"y": 0.9, "a": 0.85}}


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("target", ["table", "population"])
def test_intervals_of_a_logistic_slope_cover(alarm_budget, case, target):
    """Null: 95 % of intervals hold the slope of a. Statistic: number covered, exact binomial. 1,000 releases.

    Twins: the fit to the first 200 releases' rows as they stand, whose slope is a tenth too small, about three of its standard
    errors. About the table, the population's errors, twice too large or more; and where the response alone is
    perturbed, the covariance without its off-diagonal, which makes the errors a quarter too small.
    """
    check = alarm_budget.draw("coverage of logistic slopes", pieces=4)
    law = law_of(**CASES[case])
    matrix = matrix_of(ATTRIBUTES, law)
    draw = np.random.default_rng([check.seed, list(CASES).index(case), target == "table"])
    exact = TABLE if target == "table" else ROWS * shares()
    truth = regress(KnownCounts(ATTRIBUTES, exact), "y ~ a + b")["a = '1'"].estimate
    covered = dict.fromkeys(["right", "as they stand", "diagonal", "other target"], 0)
    for number in range(REPLICATES):
        rows = TABLE if target == "table" else draw.multinomial(ROWS, shares().ravel())
        published = publish(draw, rows, matrix)
        release = estimated(law, ATTRIBUTES, published)
        fitted = regress(release, "y ~ a + b", target=target)
        covered["right"] += holds(fitted["a = '1'"], truth)
        if number < TWIN_REPLICATES:
            naive = regress(KnownCounts(ATTRIBUTES, published), "y ~ a + b", target="population")
            covered["as they stand"] += holds(naive["a = '1'"], truth)
        if target == "table":
            other = regress(release, "y ~ a + b", target="population")
            covered["other target"] += holds(other["a = '1'"], truth)
            release.covariance = np.diag(np.diagonal(release.covariance))
            covered["diagonal"] += holds(regress(release, "y ~ a + b")["a = '1'"], truth)
    alarm_budget.assert_passes(alarm_budget.coverage_p_value(covered["right"], REPLICATES, 0.95), check)
    p_value = alarm_budget.coverage_p_value(covered["as they stand"], TWIN_REPLICATES, 0.95)
    alarm_budget.assert_rejects(p_value, check)
    twins = ["other target"] if target == "table" else []
    if (case, target) == ("response", "table"):
        twins.append("diagonal")
    for twin in twins:
        alarm_budget.assert_rejects(alarm_budget.coverage_p_value(covered[twin], REPLICATES, 0.95), check)


def test_counts_are_not_cut_before_a_fit(alarm_budget):
    """Null: the mean slope is the table's own. Statistic: z of the mean, asymptotic. 500 releases of 120 cells.

    Twin: negative counts cut at zero, which draws the slope towards zero by a fifth.
    """
    check = alarm_budget.draw("fits to uncut counts")
    wide = (category_attribute("a", 2), category_attribute("c", 30), category_attribute("y", 2))
    draw = np.random.default_rng(check.seed)
    covariates = np.random.default_rng(1).dirichlet(np.ones(60)).reshape(2, 30)
    share = 1 / (1 + np.exp(-(-0.4 + 0.8 * np.array([[0], [1]]) + np.zeros(30))))
    table = np.round(6_000 * np.stack([covariates * (1 - share), covariates * share], axis=-1)).astype(int)
    law = PerturbedRows(
        distortions={
            "y": UniformDistortion(retention=0.6, size=2),
            "c": UniformDistortion(retention=0.5, size=30),
        }
    )
    matrix = matrix_of(wide, law)
    truth = regress(KnownCounts(wide, table), "y ~ a")["a = '1'"].estimate
    uncut, cut = [], []
    for _ in range(500):
        counts = publish(draw, table, matrix).reshape(table.shape)
        cells = law.estimate(Counted(wide, counts), Tabulation(by=("a", "c", "y"))).values
        for values, found in ((cells, uncut), (np.clip(cells, 0, None), cut)):
            found.append(regress(KnownCounts(wide, values), "y ~ a")["a = '1'"].estimate)
    alarm_budget.assert_passes(mean_p_value(uncut, truth), check)
    alarm_budget.assert_rejects(mean_p_value(cut, truth), check)


def test_parameters_of_loglinear_models_cover(alarm_budget):
    """Null: 95 % of intervals hold the table's own parameter. Statistic: number covered, exact binomial. 1,000 releases.

    Twins: the fit to the first 200 releases' rows as they stand, whose product of a and y is a third too small; and the covariance
    without its off-diagonal, which makes the errors too small by a quarter or more.
    """
    check = alarm_budget.draw("coverage of loglinear parameters")
    law = law_of(y=0.8, a=0.85)
    matrix = matrix_of(ATTRIBUTES, law)
    draw = np.random.default_rng(check.seed)
    model, term = "a*y + b*y + a*b", "a = '1' : y = '1'"
    truth = fit_loglinear(KnownCounts(ATTRIBUTES, TABLE), model)[term].estimate
    covered = dict.fromkeys(["right", "as they stand", "diagonal"], 0)
    for number in range(REPLICATES):
        published = publish(draw, TABLE, matrix)
        release = estimated(law, ATTRIBUTES, published)
        covered["right"] += holds(fit_loglinear(release, model)[term], truth)
        if number < TWIN_REPLICATES:
            naive = fit_loglinear(KnownCounts(ATTRIBUTES, published), model, target="population")
            covered["as they stand"] += holds(naive[term], truth)
        release.covariance = np.diag(np.diagonal(release.covariance))
        covered["diagonal"] += holds(fit_loglinear(release, model)[term], truth)
    alarm_budget.assert_passes(alarm_budget.coverage_p_value(covered["right"], REPLICATES, 0.95), check)
    for twin, number in (("as they stand", TWIN_REPLICATES), ("diagonal", REPLICATES)):
        alarm_budget.assert_rejects(alarm_budget.coverage_p_value(covered[twin], number, 0.95), check)
