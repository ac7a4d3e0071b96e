"""Sampling, perturbing and scaling where counts rest on few rows: differences, and groups that were hardly cut."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from coverage_matrix.tables import population
from sfumato.estimates.intervals import score_limits
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
from sfumato.randomness.streams import NoiseSource
from sfumato.testing import redrawn, release_in_memory

pytestmark = pytest.mark.statistical


@pytest.mark.slow
def test_differences_of_counts_outside_the_groups_cover(alarm_budget):
    """Null: at least 93 % of the intervals of differences hold the truth. n = 600 releases of 3,000 rows, one of each.

    Exact binomial, one side. An attribute of the groups with one outside them; two differences of counts of 14 to 22
    rows, in turn. Twin: intervals that lean by what the counts' own leaning leaves of itself, of which some 82 % hold.
    """
    check = alarm_budget.draw("differences of counts outside the groups cover")
    people, noise = population("strong associations"), NoiseSource.seeded(check.seed % 2**32)
    pairs = (((4, 5), (4, 1)), ((5, 2), (5, 3)))
    held = held_by_twin = 0
    for number in range(600):
        table = redrawn(people, noise.named(f"table {number}"))
        release = release_in_memory(table, SamplePerturbScale(retention=0.5), seed=number)
        weights = np.zeros((6, 6))
        one, other = pairs[number % len(pairs)]
        weights[one], weights[other] = 1, -1
        estimates = release.counts(("region", "school")).estimates.linear(weights.reshape(1, -1))
        (low,), (high,) = estimates.intervals(0.95)
        truth = float((weights * table.count_by(("region", "school")).counts).sum())
        held += low <= truth <= high
        (low,), (high,) = score_limits(estimates.values, estimates.variances, estimates.slopes(), 1.96)
        held_by_twin += low <= truth <= high
    alarm_budget.assert_passes(float(binom.cdf(held, 600, 0.93)), check)
    alarm_budget.assert_rejects(float(binom.cdf(held_by_twin, 600, 0.93)), check)


@pytest.mark.slow
def test_groups_are_not_taken_to_be_cut_further_than_they_were(alarm_budget):
    """Null: by cap and group, errors are stated for no more than 1.1 times the rows that stand for others. n = 100 releases of 14,000 rows.

    No sensitive value has more than a fifth of all rows, and groups differ by chance alone. Statistic: one-sided z of
    the difference by release. Twin: caps at the largest of nine estimated frequencies, 1.3 times as many rows.
    """
    check = alarm_budget.draw("groups are not cut further than they were")
    people, noise = population("no association", 14_000), NoiseSource.seeded(check.seed % 2**32)
    names, found = ("sex", "age", "region", "job"), []
    for number in range(100):
        table = redrawn(people, noise.named(f"table {number}"))
        release = release_in_memory(table, SamplePerturbScale(retention=0.5, cap="group"), seed=number)
        published, true = (
            each.count_by(names).counts.reshape(-1, 9).astype(float) for each in (release, table)
        )
        law, sizes = release.law, published.sum(axis=1)
        of_most, of_true = (
            law.cut_sizes(sizes, each.max(axis=1) / sizes)
            for each in (published @ np.linalg.inv(law.distortion.dense()), true)
        )
        found.append(
            [
                float(sizes @ np.maximum(cut / law.rows_per_group - 1, 0))
                for cut in (law.estimated_cut_sizes(published), of_most, of_true)
            ]
        )
    stated, by_twin, real = np.array(found).T
    for judge, rows in ((alarm_budget.assert_passes, stated), (alarm_budget.assert_rejects, by_twin)):
        further = rows - 1.1 * real
        judge(float(norm.sf(further.mean() / further.std() * 10)), check)
