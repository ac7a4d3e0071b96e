"""Estimates from noisy marginals: unbiased, with the stated variance, better when combined."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.chunks import CodedBatch
from sfumato.methods.noisy_marginals.law import NoisyCounts, NoisyMarginal
from sfumato.query.selection import Tabulation
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role, Schema

pytestmark = pytest.mark.statistical

SIZES = {"a": 2, "b": 3, "c": 4}
SCHEMA = Schema(
    attributes=tuple(
        Attribute(name=name, role=Role.OTHER, categories=tuple(str(code) for code in range(size)))
        for name, size in SIZES.items()
    )
)
TRUTH = np.random.default_rng(5).integers(0, 60, tuple(SIZES.values()))
MARGINALS = {("a", "b"): 3.0, ("b", "c"): 8.0, ("a", "c"): 5.0}


def law_of(factor=1.0):
    """The law, or one that states another scale than was drawn."""
    return NoisyCounts(
        marginals=tuple(
            NoisyMarginal(
                table="".join(names),
                attributes=names,
                sizes=tuple(SIZES[name] for name in names),
                noise=DiscreteLaplace(scale=factor * scale),
            )
            for names, scale in MARGINALS.items()
        )
    )


class Given:
    """A release whose tables hold given numbers, all of them in one vector."""

    schema = SCHEMA

    def __init__(self, cells):
        ends = np.cumsum([np.prod(shape) for shape in SHAPES.values()])[:-1]
        parts = np.split(np.asarray(cells), ends)
        self.tables = {
            "".join(names): part.reshape(shape)
            for (names, shape), part in zip(SHAPES.items(), parts, strict=True)
        }

    def scan(self, table, names):
        """All cells in one batch."""
        counts = self.tables[table]
        places = np.indices(counts.shape).reshape(counts.ndim, -1)
        columns = dict(zip(table, places, strict=True), count=counts.ravel())
        yield CodedBatch({name: columns[name] for name in names}, counts.size)


SHAPES = {names: tuple(SIZES[name] for name in names) for names in MARGINALS}
CELLS = sum(int(np.prod(shape)) for shape in SHAPES.values())


def draw_releases(noise, number):
    """Cells of many releases with fresh noise, ``(number, cells)``."""
    blocks = []
    for names, scale in MARGINALS.items():
        counts = true_margin(names)
        drawn = DiscreteLaplace(scale=scale).draw(noise.named("".join(names)).stream(0), number * counts.size)
        blocks.append(counts + drawn.reshape(number, counts.size))
    return np.concatenate(blocks, axis=1)


def apply_to_all(estimate, releases):
    """Estimates from every release. They are linear in the cells, so one pass over the basis gives the map."""
    matrix = np.array([estimate(Given(row)).values for row in np.eye(CELLS)])
    # That it is linear is checked on one of the releases themselves.
    assert estimate(Given(releases[0])).values == pytest.approx(releases[0] @ matrix)
    return releases @ matrix


def true_margin(names):
    """True counts over some attributes, flattened."""
    return TRUTH.sum(axis=tuple(axis for axis, name in enumerate(SIZES) if name not in names)).ravel()


@pytest.mark.parametrize("estimator", ["one marginal", "least squares"])
def test_estimates_are_unbiased_with_the_stated_variance(alarm_budget, estimator):
    """Null: errors of all cells together have mean 0 and the stated mean square. n = 200,000 releases.

    Statistic: z-scores of the sum of errors and of the sum of squared errors, one a release; two
    p-values share the alpha, in each of two parameters. Twins: a truth one off in every cell (above 90
    standard errors), and a law that states a scale 30 % too small.
    """
    checks = [alarm_budget.draw("noisy counts are unbiased", pieces=4) for _ in range(2)]
    releases = draw_releases(NoiseSource.seeded(checks[0].seed).named(estimator), 200_000)
    law, loud = law_of(), law_of(0.7)
    tabulation = Tabulation(by=("b", "c"))

    def ask(published, law=law):
        if estimator == "one marginal":
            return law.estimate(published, tabulation)
        return law.estimate_by("least-squares", published, tabulation)

    errors = apply_to_all(ask, releases) - true_margin(("b", "c"))
    stated, twin_stated = ask(Given(releases[0])), ask(Given(releases[0]), loud)
    deviation = float(np.sqrt(stated.covariance.sum()))
    sums = errors.sum(axis=1)
    alarm_budget.assert_passes(alarm_budget.mean_p_value(sums, 0, standard_deviation=deviation), checks[0])
    alarm_budget.assert_rejects(
        alarm_budget.mean_p_value(sums + 12, 0, standard_deviation=deviation), checks[0]
    )
    squares = np.sum(errors**2, axis=1)
    alarm_budget.assert_passes(alarm_budget.mean_p_value(squares, float(stated.variances.sum())), checks[1])
    alarm_budget.assert_rejects(
        alarm_budget.mean_p_value(squares, float(twin_stated.variances.sum())), checks[1]
    )


def test_least_squares_is_better_on_average_than_one_marginal(alarm_budget):
    """Null: the mean difference of squared errors is that of the stated variances. n = 200,000 releases.

    Statistic: mean difference, its z-score. Twin: no difference at all.
    """
    check = alarm_budget.draw("least squares is better")
    releases = draw_releases(NoiseSource.seeded(check.seed), 200_000)
    law, tabulation = law_of(), Tabulation(by=("b", "c"))
    one, together = (
        lambda published: law.estimate(published, tabulation),
        lambda published: law.estimate_by("least-squares", published, tabulation),
    )
    errors = [apply_to_all(each, releases) - true_margin(("b", "c")) for each in (one, together)]
    gains = np.sum(errors[0] ** 2 - errors[1] ** 2, axis=1)
    stated = [float(each(Given(releases[0])).variances.sum()) for each in (one, together)]
    assert stated[1] < stated[0]
    alarm_budget.assert_passes(alarm_budget.mean_p_value(gains, stated[0] - stated[1]), check)
    alarm_budget.assert_rejects(alarm_budget.mean_p_value(gains, 0.0), check)


def test_intervals_cover_as_often_as_they_say(alarm_budget):
    """Null: 95 % intervals of a sum of six cells cover in 95 %, or as little more as whole numbers allow.

    Exact binomial. n = 20,000. The smallest whole half-width that suffices, and what it covers, come from
    a convolution computed here. Twin: intervals from a scale 30 % too small.
    """
    check = alarm_budget.draw("noisy count intervals cover")
    releases = draw_releases(NoiseSource.seeded(check.seed), 20_000)
    law = DiscreteLaplace(scale=MARGINALS["a", "b"])
    one_cell = law.probability(np.arange(-150, 151))
    six_cells = one_cell
    for _ in range(5):
        six_cells = np.convolve(six_cells, one_cell)
    sizes = np.abs(np.arange(six_cells.size) - six_cells.size // 2)
    exact = next(each for h in range(150) if (each := float(six_cells[sizes <= h].sum())) >= 0.95)
    assert exact < 0.96

    totals = apply_to_all(lambda published: law_of().estimate(published, Tabulation()), releases)[:, 0]
    for factor, judge in ((1.0, alarm_budget.assert_passes), (0.7, alarm_budget.assert_rejects)):
        low, high = law_of(factor).estimate(Given(releases[0]), Tabulation()).intervals(0.95)
        half = float(high[0] - low[0]) / 2
        covered = int(np.count_nonzero(np.abs(totals - TRUTH.sum()) <= half))
        judge(alarm_budget.coverage_p_value(covered, 20_000, exact), check)


@pytest.mark.parametrize("estimator", ["difference of two cells", "least squares"])
def test_intervals_know_that_noise_has_heavy_tails(alarm_budget, estimator):
    """Null: 95 % intervals hold the truth in 95 % of 200,000 releases or more.

    Statistic: too few covered, exact binomial. Twin: 1.96 standard errors, which hold it in 94.1 and 93.9 %.
    """
    from scipy.stats import binom

    check = alarm_budget.draw("noise has heavy tails", pieces=2)
    releases = draw_releases(NoiseSource.seeded(check.seed).named(estimator), 200_000)
    law, tabulation = law_of(), Tabulation(by=("b", "c"))
    weights = np.zeros((1, 12))
    weights[0, 0] = 1
    if estimator == "difference of two cells":
        weights[0, 5] = -1

    def ask(published):
        if estimator == "least squares":
            return law.estimate_by("least-squares", published, tabulation).linear(weights)
        return law.estimate(published, tabulation).linear(weights)

    errors = (apply_to_all(ask, releases) - weights @ true_margin(("b", "c")))[:, 0]
    stated = ask(Given(releases[0]))
    half = float(stated.intervals(0.95)[1][0] - stated.values[0])
    held = int((np.abs(errors) <= half).sum())
    alarm_budget.assert_passes(float(binom.cdf(held, errors.size, 0.95)), check)
    held_by_twin = int((np.abs(errors) <= 1.96 * stated.standard_errors[0]).sum())
    alarm_budget.assert_rejects(float(binom.cdf(held_by_twin, errors.size, 0.95)), check)
