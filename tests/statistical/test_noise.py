"""Discrete noise follows its law, and OpenDP's samplers follow the same."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace, draw_with_opendp
from sfumato.randomness.streams import NoiseSource

pytestmark = pytest.mark.statistical

CASES = [
    DiscreteLaplace(scale=0.5),
    DiscreteLaplace(scale=7.3),
    DiscreteLaplace(scale=4000.0),
    DiscreteGaussian(scale=0.7),
    DiscreteGaussian(scale=6.0),
    DiscreteGaussian(scale=900.0),
]


def cells_of(law, number=40):
    """Intervals of integers of roughly equal probability, as their last members."""
    reach = int(45 * law.scale) + 3
    support = np.arange(-reach, reach + 1)
    cumulative = law.cumulative(support)
    ends = support[np.searchsorted(cumulative, np.arange(1, number) / number)]
    return np.unique(ends)


def count_cells(drawn, ends):
    """How many draws fall in each interval."""
    return np.bincount(np.searchsorted(ends, drawn), minlength=ends.size + 1)


def expected_cells(law, ends, count):
    """How many are expected to."""
    cumulative = np.concatenate([[0.0], law.cumulative(ends), [1.0]])
    return count * np.diff(cumulative)


@pytest.mark.parametrize("law", CASES, ids=lambda law: f"{law.form}-{law.scale}")
def test_draws_follow_their_law(alarm_budget, law):
    """Null: the discrete law. Statistic: chi-square over intervals of equal probability. n = 1,000,000.

    Twin: the scale 5 % larger, noncentrality above 600 in every case.
    """
    check = alarm_budget.draw("discrete noise follows its law", pieces=6)
    source = NoiseSource.seeded(check.seed)
    count, ends = 1_000_000, cells_of(law)
    expected = expected_cells(law, ends, count)
    observed = count_cells(law.draw(source.stream(0), count), ends)
    alarm_budget.assert_passes(alarm_budget.chi_square_p_value(observed, expected), check)

    twin = type(law)(scale=1.05 * law.scale)
    observed = count_cells(twin.draw(source.stream(1), count), ends)
    alarm_budget.assert_rejects(alarm_budget.chi_square_p_value(observed, expected), check)


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(scale=2.0), DiscreteGaussian(scale=3.0)], ids=lambda law: law.form
)
def test_opendp_and_we_draw_the_same_law(alarm_budget, law):
    """Null: both samples are from one law. Statistic: two-sample chi-square on single integers. n = 60,000 each.

    OpenDP takes no seed, so that this check is fresh in every run. Given the pooled count of a cell,
    ours is binomial with one half: expected counts of both samples are half of the pooled ones, in a
    table of two rows. Twin: our scale 30 % off, noncentrality above 700.
    """
    check = alarm_budget.draw("ours against OpenDP", pieces=2)
    source = NoiseSource.seeded(check.seed)
    count = 60_000
    theirs = draw_with_opendp(law, count)
    ends = np.arange(-8, 9)

    def p_value(ours):
        pair = np.stack([count_cells(each, ends) for each in (ours, theirs)])
        pooled = pair.sum(axis=0)
        # Cells that expect less than a thousand in a sample are pooled into their neighbours' sum.
        keep = pooled >= 2 * alarm_budget.MINIMUM_EXPECTED
        pair = np.column_stack([pair[:, keep], pair[:, ~keep].sum(axis=1)])
        pair = pair[:, pair.sum(axis=0) > 0]
        from scipy.stats import chi2_contingency

        return float(chi2_contingency(pair, correction=False).pvalue)

    alarm_budget.assert_passes(p_value(law.draw(source.stream(0), count)), check)
    twin = type(law)(scale=1.3 * law.scale)
    alarm_budget.assert_rejects(p_value(twin.draw(source.stream(1), count)), check)


def test_neighbouring_draws_are_independent(alarm_budget):
    """Null: products of successive draws have mean zero. Statistic: mean of 500,000 products, its z-score.

    Twin: every draw added to the one before, correlation one half, 350 standard errors off.
    """
    check = alarm_budget.draw("discrete noise is independent")
    law = DiscreteLaplace(scale=20.0)
    drawn = law.draw(NoiseSource.seeded(check.seed).stream(0), 1_000_000).astype(float)
    products = drawn[::2] * drawn[1::2]
    alarm_budget.assert_passes(
        alarm_budget.mean_p_value(products, 0.0, standard_deviation=law.variance), check
    )
    twin = drawn[::2] * (drawn[1::2] + drawn[::2])
    alarm_budget.assert_rejects(alarm_budget.mean_p_value(twin, 0.0, standard_deviation=law.variance), check)
