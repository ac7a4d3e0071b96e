"""The law of decoys: estimates are unbiased to first order, and their covariance is the right one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from published_rows import PublishedRows, category_attribute, related_table
from sfumato.estimates.estimates import normal_quantile
from sfumato.methods.splu_gen.decoy_model import DecoyModel, covariance
from sfumato.methods.splu_gen.kernels import draw_decoys
from sfumato.methods.splu_gen.law import DecoyRows, pairwise_count
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Role

pytestmark = pytest.mark.statistical

VALUES, GAMMA, LARGEST_INCLUSION = 14, 4, 0.75


class Setting:
    """A table whose predicate goes with frequency, and what theory says of its estimates."""

    def __init__(self, rows, seed):
        self.codes, self.inside, self.true = related_table(rows, VALUES, GAMMA, LARGEST_INCLUSION)
        self.rows, self.noise = rows, NoiseSource.seeded(seed)
        counts = np.bincount(self.codes).astype(float)
        self.model = DecoyModel(counts, GAMMA)
        predicate = self.model.predicate(self.true / counts)
        everything = np.eye(VALUES)
        self.covariance = covariance(predicate, predicate, predicate.shares, everything, everything)

    def publish(self, number, partition="mixed"):
        """Published margin, and published counts inside the predicate."""
        drawn = draw_decoys(
            self.codes, VALUES, GAMMA, self.noise.named(f"{partition} {number}"), partition=partition
        )
        margin = np.bincount(drawn, minlength=VALUES).astype(float)
        return margin, np.bincount(drawn[self.inside == 1], minlength=VALUES).astype(float), drawn

    def independent_rows(self):
        """The covariance that forgets that T comes from the same draws, and that groups are shared."""
        expected = self.true @ self.model.distortion
        inverse = self.model.inverse
        return inverse.T @ np.diag(expected) @ inverse - np.diag(self.true.astype(float))


def test_estimates_are_unbiased_where_the_predicate_goes_with_frequency(alarm_budget):
    """Null: the estimated sum over the five rarest values has the true mean; standard deviation by theory.

    Statistic: mean over 20 releases of 240,000 rows, asymptotic (sums of some ten thousand draws). Twins:
    the pairwise matrix, 3.5 standard deviations off in every release, and the matrix on largest-first
    groups, 25 off.
    """
    check = alarm_budget.draw("decoy estimates are unbiased")
    setting = Setting(240_000, check.seed)
    rare = np.zeros(VALUES)
    rare[9:] = 1
    deviation = float(np.sqrt(rare @ setting.covariance @ rare))
    truth = float(rare @ setting.true)
    releases = [setting.publish(number)[:2] for number in range(20)]

    def p_value(estimates):
        return alarm_budget.mean_p_value(estimates, truth, standard_deviation=deviation)

    ours = [shown @ DecoyModel(margin, GAMMA).inverse @ rare for margin, shown in releases]
    alarm_budget.assert_passes(p_value(ours), check)

    pairwise = [
        pairwise_count(shown, np.full(VALUES, shown.sum()), margin, setting.rows, GAMMA) @ rare
        for margin, shown in releases
    ]
    alarm_budget.assert_rejects(p_value(pairwise), check)

    margin, shown, _ = setting.publish(0, "largest-first")
    alarm_budget.assert_rejects(p_value([shown @ DecoyModel(margin, GAMMA).inverse @ rare]), check)


def test_the_covariance_of_all_values_is_the_second_order_one(alarm_budget):
    """Null: errors have the theoretical covariance. Statistic: mean squared Mahalanobis length of the errors.

    200 releases of 4,000 rows; each length is chi-square with 13 degrees under normality, so their mean is
    normal with variance 26/200 (the estimates are sums over hundreds of rows). Twin: the
    covariance for independent rows, under which the lengths come out a third too small: 12 standard
    deviations of the mean.
    """
    check = alarm_budget.draw("decoy covariance is second order")
    setting = Setting(4_000, check.seed)
    releases = [setting.publish(number)[:2] for number in range(200)]
    errors = np.array(
        [shown @ DecoyModel(margin, GAMMA).inverse - setting.true for margin, shown in releases]
    )

    def p_value(whole):
        # Estimates add up exactly, so one direction has no variance.
        lengths = np.einsum("ri,ij,rj->r", errors, np.linalg.pinv(whole, rcond=1e-9, hermitian=True), errors)
        z_score = (lengths.mean() - (VALUES - 1)) / np.sqrt(2 * (VALUES - 1) / len(errors))
        return float(2 * norm.sf(abs(z_score)))

    alarm_budget.assert_passes(p_value(setting.covariance), check)
    alarm_budget.assert_rejects(p_value(setting.independent_rows()), check)


@pytest.mark.slow
def test_intervals_cover(alarm_budget):
    """Null: 95 % intervals of one value's count cover 95 %. Statistic: exact binomial over 5,000 releases.

    The replicate is the release of 4,000 rows; intervals by plug-in of published counts. The acceptance
    region is 0.934 to 0.965. Twin: standard errors for independent rows, which cover 98 %.
    """
    check = alarm_budget.draw("decoy intervals cover")
    setting = Setting(4_000, check.seed)
    schema = (category_attribute("inside", 2, Role.OTHER), category_attribute("value", VALUES))
    law = DecoyRows(gamma_by_attribute={"value": GAMMA})
    quantile = normal_quantile(0.95)
    wide = float(np.sqrt(setting.independent_rows()[2, 2]))
    asked = Tabulation(where=Selection((("inside", (1,)), ("value", (2,)))))
    covered = covered_by_twin = 0
    number = 5_000
    for release in range(number):
        *_, drawn = setting.publish(release)
        estimates = law.estimate(PublishedRows(schema, {"inside": setting.inside, "value": drawn}), asked)
        distance = abs(estimates.values[0] - setting.true[2])
        covered += bool(distance <= quantile * estimates.standard_errors[0])
        covered_by_twin += bool(distance <= quantile * wide)
    alarm_budget.assert_passes(alarm_budget.coverage_p_value(covered, number, 0.95), check)
    alarm_budget.assert_rejects(alarm_budget.coverage_p_value(covered_by_twin, number, 0.95), check)


@pytest.mark.slow
def test_contrasts_are_determined_when_a_value_is_in_nearly_every_group(alarm_budget):
    """Null: the difference of two values' shares has the true mean and the stated standard error.

    Statistic: mean of the standardised error over 100 releases of 8,000 rows in which the largest value is
    in 99 % of all groups, so that single counts are refused. Twin: the difference of the shares that the
    published counts show, which are drawn together.
    """
    check = alarm_budget.draw("contrasts near saturation")
    codes, inside, true = related_table(8_000, VALUES, GAMMA, 0.99)
    counts = np.bincount(codes)
    truth = true[3] / counts[3] - true[9] / counts[9]
    schema = (category_attribute("inside", 2, Role.OTHER), category_attribute("value", VALUES))
    law = DecoyRows(gamma_by_attribute={"value": GAMMA})
    where = Selection((("inside", (1,)),))
    ours, twins = [], []
    for number in range(100):
        drawn = draw_decoys(codes, VALUES, GAMMA, NoiseSource.seeded(check.seed).named(str(number)))
        found = law.contrast(PublishedRows(schema, {"inside": inside, "value": drawn}), "value", 3, 9, where)
        ours.append((found.values[0] - truth) / found.standard_errors[0])
        shown = [np.mean(inside[drawn == value]) for value in (3, 9)]
        twins.append(shown[0] - shown[1] - truth)
    alarm_budget.assert_passes(alarm_budget.mean_p_value(ours, 0.0, standard_deviation=1.0), check)
    alarm_budget.assert_rejects(alarm_budget.mean_p_value(twins, 0.0), check)
