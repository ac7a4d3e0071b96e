"""Sums over cells of a release of decoys: the stated error is the real one, by whichever door they are asked."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute, selection
from sfumato.estimates.counts import rake
from sfumato.estimates.estimates import Estimates
from sfumato.methods.splu_gen import decoy_model as joint_cells
from sfumato.methods.splu_gen.decoy_model import DecoyModel
from sfumato.methods.splu_gen.kernels import draw_decoys
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Role

pytestmark = pytest.mark.statistical

ROWS, RELEASES = 4_000, 120
WARDS, VALUES = 4, 20
ATTRIBUTES = (category_attribute("ward", WARDS, Role.OTHER), category_attribute("value", VALUES))
BY_WARD = Tabulation(by=("ward", "value"))


def skewed(rows, size, largest, seed):
    """Values with Zipf-like shares, the largest of them as given, in random order."""
    low, high = 0.0, 6.0
    for _ in range(60):
        power = (low + high) / 2
        weights = np.arange(1, size + 1) ** -power
        low, high = (power, high) if weights[0] / weights.sum() < largest else (low, power)
    counts = np.floor(rows * weights / weights.sum()).astype(np.int64)
    counts[1] += rows - counts.sum()
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(size), counts))


def related(values, size, seed):
    """A second column that goes with the first: every value has shares of its own."""
    draw = np.random.default_rng(seed)
    shares = draw.dirichlet(np.full(size, 1.5), int(values.max()) + 1)
    return np.array([draw.choice(size, p=shares[value]) for value in values])


def correlation_of(covariance):
    """The same in units of standard errors."""
    deviations = np.sqrt(np.diagonal(covariance))
    return covariance / np.outer(deviations, deviations)


class Errors:
    """Errors of some sums over many releases, and the variances that were stated for them."""

    def __init__(self, weights, truth):
        self.weights, self.truth = weights, weights @ truth
        self.errors, self.stated, self.correlation = [], [], None

    def add(self, estimates):
        """Of one release."""
        sums = estimates.linear(self.weights)
        self.keep(sums.values, sums.variances)
        if self.correlation is None:
            self.correlation = correlation_of(sums.covariance)

    def keep(self, values, variances):
        """Numbers of one release and what is stated of them."""
        self.errors.append(values - self.truth)
        self.stated.append(variances)

    def p_value(self, alarm_budget):
        """Of the mean square of the errors, each over the mean of its stated variances, being one.

        For normal errors of correlation r its variance over n sums is 2 sum r^2 / n^2 in a release.
        """
        squares = (np.array(self.errors) ** 2 / np.mean(self.stated, axis=0)).mean(axis=1)
        deviation = np.sqrt(2 * np.sum(self.correlation**2)) / len(self.truth)
        return alarm_budget.mean_p_value(squares, 1.0, standard_deviation=float(deviation))


@pytest.mark.parametrize("gamma", [2, 5, 8])
def test_sums_over_public_cells_have_the_error_that_is_stated(gamma, alarm_budget):
    """Null: the variance of a value's count summed over all wards, and over two of them, is the stated one.

    Statistic: mean square of standardised errors of 40 sums, asymptotic; 120 releases of 4,000 rows. Such a
    mean has a standard error of some 3.5 %, so that a stated error 10 % off lies six of them away. Twin:
    cells without covariance. By the law's other door the same sum has the same error.
    """
    check = alarm_budget.draw("sums over public cells of decoys", pieces=3)
    codes = skewed(ROWS, VALUES, 0.65 / gamma, 1)
    ward = related(codes, WARDS, 2)
    true = np.zeros((WARDS, VALUES))
    np.add.at(true, (ward, codes), 1)
    weights = np.zeros((2 * VALUES, WARDS, VALUES))
    for value in range(VALUES):
        weights[value, :, value] = weights[VALUES + value, :2, value] = 1
    law = DecoyRows(gamma_by_attribute={"value": gamma})
    ours, twins = (Errors(weights.reshape(2 * VALUES, -1), true.ravel()) for _ in range(2))
    for number in range(RELEASES):
        noise = NoiseSource.seeded(check.seed).named(str(number))
        rows = PublishedRows(ATTRIBUTES, {"ward": ward, "value": draw_decoys(codes, VALUES, gamma, noise)})
        found = law.estimate(rows, BY_WARD)
        assert (np.diagonal(found.linear(ours.weights).covariance) > 0).all()
        ours.add(found)
        if number < 20:
            for places in ((0, 1, 2, 3), (0, 1)):
                direct = law.estimate(rows, Tabulation(where=selection(ward=places, value=(3,))))
                summed = found.linear(weights[3 if len(places) == 4 else VALUES + 3].reshape(1, -1))
                assert summed.variances == pytest.approx(direct.variances)
            twins.add(Estimates(found.values, found.variances, np.diag(found.variances)))
    alarm_budget.assert_passes(ours.p_value(alarm_budget), check)
    alarm_budget.assert_rejects(twins.p_value(alarm_budget), check)


def test_the_few_large_cells_of_a_fine_table_have_the_error_that_is_stated(alarm_budget, monkeypatch):
    """Null: where most rows of a public combination have one value, the variance of its count is the stated one.

    Statistic: as above, of eight cells of some 200 rows among 320 that are mostly empty or small; 150 releases of 3,000 rows in groups of
    four. Twin: shares that are cut at 0 and scaled by the rows of values alone, which states four fifths of the error.
    """
    check = alarm_budget.draw("large cells of a fine table of decoys")
    draw = np.random.default_rng(4)
    trait = draw.integers(0, 8, 3_000)
    place = np.where(draw.random(3_000) < 0.6, trait * 5, draw.integers(0, 40, 3_000))
    codes = np.where(draw.random(3_000) < 0.85, trait, draw.integers(0, 8, 3_000))
    attributes = (category_attribute("place", 40, Role.OTHER), category_attribute("value", 8))
    cells = [selection(place=(5 * each,), value=(each,)) for each in range(8)]
    truth = [np.count_nonzero((place == 5 * each) & (codes == each)) for each in range(8)]
    law = DecoyRows(gamma_by_attribute={"value": 4})

    def scaled_by_values(model, estimates):
        cut = np.clip(estimates, 0, None)
        return cut / np.maximum(cut.sum(axis=0), 1e-300)

    ours, twins = (Errors(np.eye(8), np.array(truth)) for _ in range(2))
    for number in range(150):
        noise = NoiseSource.seeded(check.seed).named(str(number))
        rows = PublishedRows(attributes, {"place": place, "value": draw_decoys(codes, 8, 4, noise)})
        ours.add(law.estimate_selections(rows, cells))
        with monkeypatch.context() as slip:
            slip.setattr(DecoyModel, "spread", scaled_by_values)
            twins.add(law.estimate_selections(rows, cells))
    alarm_budget.assert_passes(ours.p_value(alarm_budget), check)
    alarm_budget.assert_rejects(twins.p_value(alarm_budget), check)


def test_the_small_cells_where_a_rare_value_is_frequent_have_the_error_that_is_stated(
    alarm_budget, monkeypatch
):
    """Null: where a rare value makes up a third of a small public combination, the variance of its count is the stated one.

    Statistic: as above, of fifteen such cells of some 20 rows among 640; 150 releases of 3,000 rows in groups of four. Twin: shares scaled by the rows of
    cells and of values in turn, so that what noise adds to a rare value elsewhere is taken from where its rows are.
    """
    check = alarm_budget.draw("small cells where a rare value of decoys is frequent")
    draw = np.random.default_rng(6)
    codes = np.concatenate([np.repeat(np.arange(5), 456), np.repeat(np.arange(5, 20), 48)])
    is_own = (codes >= 5) & (draw.random(3_000) < 0.45)
    place = np.where(is_own, codes, draw.integers(0, 32, 3_000))
    attributes = (category_attribute("place", 32, Role.OTHER), category_attribute("value", 20))
    at = np.array([each * 20 + each for each in range(5, 20)])
    truth = np.bincount(place * 20 + codes, minlength=640)[at]
    asked, law = Tabulation(by=("place", "value")), DecoyRows(gamma_by_attribute={"value": 4})

    def scaled_by_turns(model, estimates):
        near = model.within_rows(estimates)
        return rake(near, near.sum(axis=1), model.counts, rounds=5) / model.counts

    ours, twins = (Errors(np.eye(15), truth) for _ in range(2))
    for number in range(150):
        noise = NoiseSource.seeded(check.seed).named(str(number))
        rows = PublishedRows(attributes, {"place": place, "value": draw_decoys(codes, 20, 4, noise)})
        if number == 0:
            cells = [selection(place=(each,), value=(each,)) for each in range(5, 20)]
            ours.correlation = twins.correlation = correlation_of(
                law.estimate_selections(rows, cells).covariance
            )
        found = law.formula(rows, (asked,))
        ours.keep(found.values(asked)[at], found.variances(asked)[at])
        with monkeypatch.context() as slip:
            slip.setattr(DecoyModel, "spread", scaled_by_turns)
            found = law.formula(rows, (asked,))
            twins.keep(found.values(asked)[at], found.variances(asked)[at])
    alarm_budget.assert_passes(ours.p_value(alarm_budget), check)
    alarm_budget.assert_rejects(twins.p_value(alarm_budget), check)


@pytest.mark.parametrize("gamma", [5, 8])
def test_shares_cut_cell_by_cell_give_negative_variances(gamma, monkeypatch):
    """What made sums of cells wrong: such shares add up to more than one."""
    codes = skewed(ROWS, VALUES, 0.65 / gamma, 1)
    drawn = draw_decoys(codes, VALUES, gamma, NoiseSource.seeded(1))
    rows = PublishedRows(ATTRIBUTES, {"ward": related(codes, WARDS, 2), "value": drawn})
    law = DecoyRows(gamma_by_attribute={"value": gamma})
    over_wards = np.tile(np.eye(VALUES), (1, WARDS))
    sums = law.estimate(rows, BY_WARD).linear(over_wards)
    assert sums.variances == pytest.approx(law.estimate(rows, Tabulation(by=("value",))).variances)
    monkeypatch.setattr(DecoyModel, "spread", lambda model, each: np.array(list(map(model.shares, each))))
    assert (np.diagonal(law.estimate(rows, BY_WARD).linear(over_wards).covariance) < 0).all()


def test_sums_over_two_drawn_attributes_have_the_error_that_is_stated(alarm_budget):
    """Null: the variance of joint cells, of their sums over one attribute and over blocks is the stated one.

    Statistic: as above, 26 sums, 200 releases of 6,000 rows, groups of three and of two. Twin: the
    variance of independent rows, seven times too wide where one attribute is summed.
    """
    check = alarm_budget.draw("sums over two drawn attributes")
    first = skewed(6_000, 8, 0.2, 1)
    second = related(first, 6, 3)
    true = np.zeros((8, 6))
    np.add.at(true, (first, second), 1)
    weights = np.zeros((26, 8, 6))
    for value in range(8):
        weights[value, value] = weights[8 + value, value, :3] = 1
    for value in range(6):
        weights[16 + value, :, value] = 1
    weights[22, 0, 0] = weights[23, 3, 2] = weights[24, :4, ::2] = 1
    weights[25].ravel()[::2] = 1
    law = DecoyRows(gamma_by_attribute={"one": 3, "two": 2})
    attributes = (category_attribute("one", 8), category_attribute("two", 6))
    ours = Errors(weights.reshape(26, -1), true.ravel())
    twin = Errors(ours.weights, true.ravel())
    asked = Tabulation(by=("one", "two"))
    for number in range(200):
        noise = NoiseSource.seeded(check.seed).named(str(number))
        columns = {
            "one": draw_decoys(first, 8, 3, noise.named("one")),
            "two": draw_decoys(second, 6, 2, noise.named("two")),
        }
        rows = PublishedRows(attributes, columns)
        found = law.estimate(rows, asked)
        ours.add(found)
        if number < 20:
            alone = law.estimate(rows, Tabulation(by=("one",)))
            assert found.linear(ours.weights[:8]).variances == pytest.approx(alone.variances)
            independent = law._product(rows, ("one", "two")).estimate(rows, asked)
            twin.add(independent)
    alarm_budget.assert_passes(ours.p_value(alarm_budget), check)
    alarm_budget.assert_rejects(twin.p_value(alarm_budget), check)


def test_rare_values_of_two_drawn_attributes_have_the_error_that_is_stated(alarm_budget, monkeypatch):
    """Null: the variance of the joint cells of values that a dozen rows have is the stated one.

    Statistic: as above, 30 cells of five rare values among eleven, 100 releases of 3,000 rows, groups of three and of two. Twin: what the
    errors of both draws add together is left out, as where the noise of frequent values takes all rows of rare ones.
    """
    check = alarm_budget.draw("rare values of two drawn attributes")
    rare = np.repeat(np.arange(6, 11), 12)
    first = np.concatenate([skewed(3_000 - rare.size, 6, 0.2, 1), rare])
    second = related(first, 6, 3)
    true = np.zeros((11, 6))
    np.add.at(true, (first, second), 1)
    law = DecoyRows(gamma_by_attribute={"one": 3, "two": 2})
    attributes = (category_attribute("one", 11), category_attribute("two", 6))
    ours, twins = (Errors(np.eye(66)[36:], true.ravel()) for _ in range(2))
    asked = Tabulation(by=("one", "two"))
    for number in range(100):
        noise = NoiseSource.seeded(check.seed).named(str(number))
        columns = {
            "one": draw_decoys(first, 11, 3, noise.named("one")),
            "two": draw_decoys(second, 6, 2, noise.named("two")),
        }
        rows = PublishedRows(attributes, columns)
        if number == 0:
            ours.correlation = twins.correlation = correlation_of(
                law.estimate(rows, asked).covariance[36:, 36:]
            )
        # The variances alone: covariances between all cells cost ten times as much.
        found = law.formula(rows, (asked,))
        ours.keep(found.values(asked)[36:], found.variances(asked)[36:])
        with monkeypatch.context() as slip:
            slip.setattr(joint_cells.JointCells, "_of_products", lambda *_: 0.0)
            twins.keep(found.values(asked)[36:], found.variances(asked)[36:])
    alarm_budget.assert_passes(ours.p_value(alarm_budget), check)
    alarm_budget.assert_rejects(twins.p_value(alarm_budget), check)
