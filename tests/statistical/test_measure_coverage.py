"""Measures, means, rules and simultaneous intervals of releases cover as they say; what ignores the noise does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from counted import Counted
from known_counts import KnownCounts
from perturbed_counts import (
    REPLICATES,
    TABLE,
    A,
    B,
    Y,
    estimated,
    holds,
    law_of,
    matrix_of,
    mean_p_value,
    publish,
)
from published_rows import category_attribute
from sfumato.analysis import measures as measuring
from sfumato.analysis.itemsets import BitColumns, BitSupports, Distorted, Item
from sfumato.analysis.measures import measure
from sfumato.analysis.moments import mean
from sfumato.analysis.rules import Settings, mine
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import UniformDistortion, warner
from sfumato.release.tabulation import level_of_each

pytestmark = pytest.mark.statistical

MEASURED = ("odds-ratio", "added-value", "phi")

TWINS = 100
"""Releases of which twins are asked that hold next to nothing: of 100 at a nominal 95 % it accepts 80 or more, and what held a half of
them would be missed less than once in 10**9 runs."""


def test_intervals_of_measures_and_means_cover(alarm_budget):
    """Null: 95 % of intervals hold the table's own number. Statistic: number covered, exact binomial. 1,000 releases.

    Twin: the same number read off the released rows with the population's errors; every measure is shrunk by a
    tenth or more, the mean of b is drawn to the middle by three of its standard errors. Of 100 releases none is held.
    """
    checks = [alarm_budget.draw("coverage of measures and means", pieces=4) for _ in range(4)]
    law = law_of(y=0.8, b=0.8, a=0.9)

    def ask(tables, target):
        measured = measure(tables[0], "a", "y", only=MEASURED, target=target)
        return *(measured[name] for name in MEASURED), mean(tables[1], "b", target=target)

    draw = np.random.default_rng(checks[0].seed)
    pairs = ((A, Y), TABLE.sum(axis=1)), ((B,), TABLE.sum(axis=(0, 2)))
    truth = [each.estimate for each in ask([KnownCounts(*pair) for pair in pairs], "table")]
    right, naive = np.zeros(4, dtype=int), np.zeros(4, dtype=int)
    for number in range(REPLICATES):
        seen = [publish(draw, table, matrix_of(names, law)) for names, table in pairs]
        through = [estimated(law, names, counts) for (names, _), counts in zip(pairs, seen, strict=True)]
        right += [holds(*each) for each in zip(ask(through, "table"), truth, strict=True)]
        if number >= TWINS:
            continue
        as_it_is = [KnownCounts(names, counts) for (names, _), counts in zip(pairs, seen, strict=True)]
        naive += [holds(*each) for each in zip(ask(as_it_is, "population"), truth, strict=True)]
    for check, covered, by_twin in zip(checks, right, naive, strict=True):
        alarm_budget.assert_passes(alarm_budget.coverage_p_value(int(covered), REPLICATES, 0.95), check)
        alarm_budget.assert_rejects(alarm_budget.coverage_p_value(int(by_twin), TWINS, 0.95), check)


def test_noise_is_taken_out_of_phi_squared(alarm_budget):
    """Null: its mean is the table's own. Statistic: z of the mean, asymptotic. 500 releases of 3 by 4 cells.

    Twin: the raw one, which noise makes about twenty times too large.
    """
    check = alarm_budget.draw("phi-squared without its noise")
    pair = (category_attribute("a", 3), category_attribute("y", 4))
    law = PerturbedRows(
        distortions={each.name: UniformDistortion(retention=0.5, size=each.size) for each in pair}
    )
    table = np.round(4_000 * np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])).astype(int)
    table[0, 0], table[0, 1] = table[0, 0] + 60, table[0, 1] - 60
    truth = measure(KnownCounts(pair, table), "a", "y")["phi-squared"].estimate
    matrix = matrix_of(pair, law)
    draw = np.random.default_rng(check.seed)
    found = [
        measure(estimated(law, pair, publish(draw, table, matrix)), "a", "y", only=["phi-squared"])[
            "phi-squared"
        ]
        for _ in range(500)
    ]
    corrected = np.array([each.estimate for each in found])
    alarm_budget.assert_passes(mean_p_value(corrected, truth), check)
    raw = corrected + np.array([each.noise_bias for each in found])
    alarm_budget.assert_rejects(mean_p_value(raw, truth), check)


@pytest.mark.parametrize("how", ["max-t", "bonferroni"])
def test_simultaneous_intervals_hold_all_together(alarm_budget, how):
    """Null: all four intervals of a table hold in 95 % of releases or more. Statistic: releases where all hold, binomial. n = 1,000.

    Twin: intervals of single cells hold together in about 86 %, some 13 standard errors off.
    """
    check = alarm_budget.draw("simultaneous intervals hold all together", pieces=2)
    draw = np.random.default_rng(check.seed)
    law = law_of(y=0.6, a=0.7)
    attributes, truth = (A, Y), TABLE.sum(axis=1)
    matrix = matrix_of(attributes, law)
    together = alone = 0
    for _ in range(REPLICATES):
        found = Counted(attributes, publish(draw, truth, matrix).reshape(2, 2))
        estimates = law.estimate(found, Tabulation(by=("a", "y")))
        for level in (level_of_each(estimates, 0.95, how), 0.95):
            low, high = estimates.intervals(level)
            is_inside = bool(((low <= truth.ravel()) & (truth.ravel() <= high)).all())
            if level == 0.95:
                alone += is_inside
            else:
                together += is_inside
    # One-sided: Bonferroni's may cover more often.
    alarm_budget.assert_passes(float(binom.cdf(together, REPLICATES, 0.95)), check)
    alarm_budget.assert_rejects(float(binom.cdf(alone, REPLICATES, 0.95)), check)


def test_rules_cover_as_they_say(alarm_budget):
    """Null: 95 % intervals of the confidence of a rule of two perturbed items hold the table's. Statistic: binomial. n = 1,000.

    Twin: the confidence read off the release, with the error of counting rows: its interval never holds the truth.
    """
    check = alarm_budget.draw("confidence of a rule is covered")
    draw = np.random.default_rng(check.seed)
    kept, rows = 0.8, 4_000
    first = np.repeat([True, False], [1_600, 2_400])
    second = np.concatenate([np.arange(1_600) % 4 < 3, np.arange(2_400) % 4 == 0])
    truth, covered, naive = 0.75, 0, 0
    weights = Distorted.by(warner(kept).dense(), warner(kept).inverse(), 1)
    settings = Settings(minimum_support=0.05, minimum_confidence=0.0)
    for _ in range(REPLICATES):
        seen = [np.where(draw.random(rows) < kept, each, ~each) for each in (first, second)]
        supports = BitSupports(
            (Item("a", 1, "a"), Item("b", 1, "b")),
            rows,
            np.array([each.sum() for each in seen]),
            Distorted(*(np.full(2, each) for each in weights[:2]), np.tile(weights[2:], (2, 1))),
            lambda places, seen=seen: BitColumns.of(seen[place] for place in places),
        )
        found = next(each for each in mine(supports, settings).rules if each.antecedent == ("a",)).confidence
        covered += found.low <= truth <= found.high
        share = (seen[0] & seen[1]).sum() / seen[0].sum()
        naive += abs(share - truth) <= 1.96 * math.sqrt(share * (1 - share) / seen[0].sum())
    alarm_budget.assert_passes(alarm_budget.binomial_p_value(covered, REPLICATES, 0.95), check)
    alarm_budget.assert_rejects(alarm_budget.binomial_p_value(naive, REPLICATES, 0.95), check)


WEAK = np.array([[1_350, 1_170], [700, 780]])
"""A and y hardly go together: phi is 0.062, about one and a half of its standard errors at these retentions."""

QUADRATIC = ("phi-squared", "cramers-v", "mutual-information", "gini-decrease")


@pytest.mark.parametrize("target", ["table", "population"])
def test_measures_that_noise_makes_larger_cover_near_independence(alarm_budget, target):
    """Null: 95 % of intervals hold the true number. Statistic: number covered, exact binomial. 1,000 releases.

    Twin: the estimate with as many of the delta method's standard errors to each side, which vanish where the estimate does.
    """
    checks = [alarm_budget.draw("coverage of quadratic measures", pieces=8) for _ in range(4)]
    law = law_of(y=0.7, a=0.8)
    matrix = matrix_of((A, Y), law)
    draw = np.random.default_rng([checks[0].seed, target == "table"])
    exact = measure(KnownCounts((A, Y), WEAK), "a", "y", only=QUADRATIC)
    covered, twins = np.zeros(4, dtype=int), 0
    for _ in range(REPLICATES):
        rows = WEAK if target == "table" else draw.multinomial(WEAK.sum(), WEAK.ravel() / WEAK.sum())
        release = estimated(law, (A, Y), publish(draw, rows, matrix))
        found = measure(release, "a", "y", only=QUADRATIC, target=target)
        covered += [holds(found[name], exact[name].estimate) for name in QUADRATIC]
        phi = measure(release, "a", "y", only=["phi"], target=target)["phi"]
        first_order = 2 * abs(phi.estimate) * phi.std_error
        twins += abs(found["phi-squared"].estimate - exact["phi-squared"].estimate) <= 1.96 * first_order
    for check, number in zip(checks, covered, strict=True):
        alarm_budget.assert_passes(alarm_budget.coverage_p_value(int(number), REPLICATES, 0.95), check)
    alarm_budget.assert_rejects(alarm_budget.coverage_p_value(twins, REPLICATES, 0.95), checks[0])


NOBODY = np.array([[1_500, 900], [1_600, 0]])
"""Nobody has both; noise makes a few of them in half of the releases."""

RATIOS = ("lift", "risk-ratio", "odds-ratio")


def test_ratios_of_a_count_that_is_none_are_not_held_above_zero(alarm_budget, monkeypatch):
    """Null: at least 94 % of the intervals that are stated hold 0. Statistic: number that do, exact binomial, one side. 1,000 releases.

    Some half of them state one. Twin: the interval of the logarithm alone, which ends above 0 whatever was published, of 100 releases.
    """
    checks = [alarm_budget.draw("ratios of a count that is none", pieces=3) for _ in RATIOS]
    law = law_of(y=0.7, a=0.8)
    matrix = matrix_of((A, Y), law)
    draw = np.random.default_rng(checks[0].seed)
    releases = [estimated(law, (A, Y), publish(draw, NOBODY, matrix)) for _ in range(REPLICATES)]

    def missed(asked) -> list[tuple[int, int]]:
        found = [measure(each, "a", "y", only=RATIOS) for each in asked]
        stated = [[each[name] for each in found if not each[name].undefined] for name in RATIOS]
        return [(sum(value.low > 0 for value in each), len(each)) for each in stated]

    for check, (number, stated) in zip(checks, missed(releases), strict=True):
        assert stated > REPLICATES / 4
        alarm_budget.assert_passes(float(binom.sf(number - 1, stated, 0.06)), check)
    monkeypatch.setattr(measuring, "beyond_logarithms", lambda ends, *_: ends)
    for check, (number, stated) in zip(checks, missed(releases[:TWINS]), strict=True):
        alarm_budget.assert_rejects(float(binom.sf(number - 1, stated, 0.06)), check)
