"""Noisy row counts follow the public matrix, and what is estimated from them covers."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix
from sfumato.randomness.streams import NoiseSource

pytestmark = pytest.mark.statistical

MATRIX = NoisyCountMatrix(k=10, epsilon=1.0, delta=0.05)
COUNTS = (10, 14, 18, 24, 40)
DRAWS = 200_000
LARGEST = 120


def draw_counts(matrix, count, noise):
    """Published counts of many rows that occur ``count`` times."""
    return matrix.draw(np.full(DRAWS, count), noise.named(f"count {count}"))


def observed_and_expected(matrix, drawn, count):
    """Histogram of published counts beside a matrix row, everything large in the last cell."""
    observed = np.bincount(np.minimum(drawn, LARGEST), minlength=LARGEST + 1)
    row = matrix.row(count, LARGEST)
    row[-1] += 1 - row.sum()
    return observed, DRAWS * np.clip(row, 0, None)


def test_drawn_counts_follow_the_matrix(alarm_budget):
    """Null: a row that occurs i times is published j times with probability M(i, j). n = 5 x 200,000.

    Statistic: Pearson's goodness of fit over five rows of the matrix together, asymptotic with pooled cells.
    Twins: the matrix of k = 11 (no row may then be published ten times), and of an epsilon 10 % larger.
    """
    check = alarm_budget.draw("noisy counts follow the matrix")
    noise = NoiseSource.seeded(check.seed)
    drawn = [draw_counts(MATRIX, count, noise) for count in COUNTS]
    for matrix, judge in (
        (MATRIX, alarm_budget.assert_passes),
        (NoisyCountMatrix(k=11, epsilon=1.0, delta=0.05), alarm_budget.assert_rejects),
        (NoisyCountMatrix(k=10, epsilon=1.1, delta=0.05), alarm_budget.assert_rejects),
    ):
        pairs = [
            observed_and_expected(matrix, each, count) for each, count in zip(drawn, COUNTS, strict=True)
        ]
        observed, expected = (np.array(each) for each in zip(*pairs, strict=True))
        judge(alarm_budget.chi_square_p_value(observed, expected), check)


def test_the_mean_has_the_corrected_exponent(alarm_budget):
    """Null: mean ``w_i (i + r^(i-k+1) / (1 - r^2))`` at i = 12. z-score of 200,000 draws.

    Twin: the exponent i+1 as printed, whose mean is 0.15 lower: above 14 standard errors.
    """
    check = alarm_budget.draw("mean of noisy counts")
    matrix, count = NoisyCountMatrix(k=10, epsilon=1.0, delta=0.5), 12
    drawn = draw_counts(matrix, count, NoiseSource.seeded(check.seed))
    appears = float(matrix.release_probabilities_of([count])[0][0])
    printed = appears * (count + matrix.ratio ** (count + 1) / (1 - matrix.ratio**2))
    alarm_budget.assert_passes(alarm_budget.mean_p_value(drawn, matrix.mean(count)), check)
    alarm_budget.assert_rejects(alarm_budget.mean_p_value(drawn, printed), check)


def test_the_noise_level_is_the_closed_form(alarm_budget):
    """Null: mean of |published - true| / true is the closed form at i = 18. z-score of 200,000 draws.

    Twin: the level without the cut at k, ``2r / (1 - r^2) / i`` where published.
    """
    check = alarm_budget.draw("noise level of noisy counts")
    matrix, count = NoisyCountMatrix(k=17, epsilon=0.5, delta=0.3), 18
    drawn = draw_counts(matrix, count, NoiseSource.seeded(check.seed))
    levels = np.abs(drawn - count) / count
    appears, left_out = (float(each[0]) for each in matrix.release_probabilities_of([count]))
    uncut = left_out + appears * 2 * matrix.ratio / (1 - matrix.ratio**2) / count
    alarm_budget.assert_passes(
        alarm_budget.mean_p_value(levels, float(matrix.expected_noise([count])[0])), check
    )
    alarm_budget.assert_rejects(alarm_budget.mean_p_value(levels, uncut), check)


def test_intervals_of_single_rows_cover(alarm_budget):
    """Null: a 95 % normal interval around a published count of 200 covers as often as the noise law says.

    Exact binomial against the probability that discrete Laplace noise is within 1.96 deviations. n = 20,000.
    Twin: a deviation 30 % too small.
    """
    check = alarm_budget.draw("noisy row intervals cover")
    law = MATRIX.noise
    drawn = MATRIX.draw(np.full(20_000, 200), NoiseSource.seeded(check.seed))
    half = 1.959964 * np.sqrt(law.variance)
    support = np.arange(-300, 301)
    exact = float(law.probability(support)[np.abs(support) <= half].sum())
    assert exact == pytest.approx(0.95, abs=0.015)
    for factor, judge in ((1.0, alarm_budget.assert_passes), (0.7, alarm_budget.assert_rejects)):
        covered = int(np.count_nonzero(np.abs(drawn - 200) <= factor * half))
        judge(alarm_budget.coverage_p_value(covered, 20_000, exact), check)
