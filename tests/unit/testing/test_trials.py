"""P-values that are what they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, ttest_1samp

from sfumato.testing.trials import FEWEST_VALUES, coverage_p_value, mean_p_value


def test_symmetric_values_give_students_p_value():
    """Hall's correction vanishes without skewness."""
    values = np.concatenate([np.linspace(-1, 1, 50)] * 2) + 0.1
    assert mean_p_value(values) == pytest.approx(ttest_1samp(values, 0, alternative="greater").pvalue)
    assert mean_p_value(-values) == 1


def test_a_skewed_sample_is_judged_with_care():
    """Of exponential values less their mean the mean is seldom far below: Student's alone would cry wolf.

    At n = 100 Student's statistic is below its 1e-3 quantile some seven times as often as it says; the
    corrected one about as often. 20,000 samples: twice 1e-3 lies 6 standard errors above 1e-3.
    """
    draw = np.random.default_rng(1)
    samples = draw.exponential(size=(20_000, 100)) - 1
    alarms = np.mean([mean_p_value(-each) < 1e-3 for each in samples])
    assert alarms < 2e-3
    students = np.mean(ttest_1samp(samples, 0, axis=1, alternative="less").pvalue < 1e-3)
    assert students > 4e-3


def test_constant_and_scarce_values():
    """Always off is certain; too few values say nothing."""
    assert mean_p_value(np.full(FEWEST_VALUES, 0.5)) == 0
    assert mean_p_value(np.full(FEWEST_VALUES - 1, 0.5)) == 1
    assert mean_p_value(np.full(100, np.nan)) == 1


def test_coverage_is_exact_binomial():
    """Refusals do not count."""
    covered = np.array([1.0] * 80 + [0.0] * 20 + [np.nan] * 7)
    assert coverage_p_value(covered, 0.94) == pytest.approx(binom.cdf(80, 100, 0.94))
    assert coverage_p_value(np.full(3, np.nan), 0.94) == 1
