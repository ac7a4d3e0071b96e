"""Counterexamples to what Mothali (2011) prints, in the order of docs/errata.md."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import sfumato.datasets
from sfumato import Schema
from sfumato.analysis.naive_bayes import CountNaiveBayes
from sfumato.analysis.shrinkage import fit_prior_rate, james_stein, posterior_mean, shrink
from sfumato.custody.audit.calibration import row_average_marginals
from sfumato.guarantees.k_anonymity import LDiversity
from sfumato.methods.anatomy.permutations import permutation_marginals
from sfumato.randomness.noise import Laplace

BUCKET = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.4]])
"""Likelihoods of three people, by three values."""
PERMUTATIONS = list(itertools.permutations(range(3)))


def weights(matrix):
    """Product of the chosen entries for each permutation."""
    return np.array(
        [math.prod(matrix[person, value] for person, value in enumerate(each)) for each in PERMUTATIONS]
    )


def test_the_wording_of_l_diversity_lets_a_single_value_through():
    """No more than l times the least frequent: three of one value alone satisfy it, and so does 4 to 1 at l = 4."""
    for group in ([3, 0], [4, 1]):
        present = [count for count in group if count]
        assert max(present) <= 4 * min(present)
        formal = LDiversity(l_value=4, attribute="disease", variant="fraction")
        assert not formal.classes_that_hold(np.array([group]), np.array(group))[0]


def test_with_the_index_as_printed_every_permutation_weighs_the_same():
    """The row of person n in every factor: the product does not depend on who holds what."""
    for person in range(3):
        literal = [math.prod(BUCKET[person, value] for value in each) for each in PERMUTATIONS]
        assert literal == pytest.approx([literal[0]] * 6)
    assert weights(BUCKET) == pytest.approx([0.12, 0.03, 0.024, 0.006, 0.012, 0.012])


def test_the_approximate_step_needs_the_likelihood_above_the_line_too():
    """With the prior alone in the numerator the probabilities of the values sum to more than 1."""
    prior, likelihood = np.array([0.3, 0.7]), np.array([0.2, 0.5])
    assert (prior / (prior * likelihood).sum()).sum() == pytest.approx(1 / 0.41)
    assert (prior * likelihood / (prior * likelihood).sum()).sum() == pytest.approx(1)


def test_the_update_equations_maximize():
    """At effective shares of .7 and .3 the objective is larger than beside them; nothing is minimized."""
    effective = np.array([7.0, 3.0])

    def objective(share):
        return effective @ np.log([share, 1 - share])

    assert objective(0.7) > max(objective(0.69), objective(0.71))


def test_products_of_marginals_use_the_evidence_twice():
    """The best permutation of the bucket has probability .59, and .85 when marginals are multiplied."""
    marginals = permutation_marginals(BUCKET[:, :, np.newaxis])[0][:, :, 0]
    true, twice = weights(BUCKET), weights(marginals)
    assert true[0] / true.sum() == pytest.approx(0.588235, abs=5e-7)
    assert twice[0] / twice.sum() == pytest.approx(0.852053, abs=5e-7)


def test_the_likeliest_permutation_need_not_be_that_of_the_marginals():
    """Hungarian assignment on likelihoods gives (2, 0, 1), on marginals (2, 1, 0)."""
    matrix = np.array([[0.6, 0.4, 0.9], [0.6, 0.9, 0.1], [0.5, 0.8, 0.7]])
    marginals = permutation_marginals(matrix[:, :, np.newaxis])[0][:, :, 0]
    assert PERMUTATIONS[weights(matrix).argmax()] == (2, 0, 1)
    assert PERMUTATIONS[weights(marginals).argmax()] == (2, 1, 0)


def test_the_recalibration_as_printed_makes_all_permutations_alike():
    """Each numerator is summed over the people of its own permutation, so every average is 1/6."""
    printed = [
        sum(BUCKET[m, each[m]] for m in range(3)) / sum(BUCKET[q, each[q]] for q in range(3)) / 6
        for each in PERMUTATIONS
    ]
    assert printed == pytest.approx([1 / 6] * 6)
    rows = BUCKET / BUCKET.sum(axis=1, keepdims=True)
    intended = [sum(rows[m, each[m]] for m in range(3)) / 6 for each in PERMUTATIONS]
    assert intended[0] == pytest.approx(0.266667, abs=5e-7)
    assert sum(intended) == pytest.approx(1)


@pytest.mark.parametrize("size", [3, 4, 6])
def test_recalibrated_probabilities_never_reach_the_threshold_of_95_percent(size):
    """They are at most 2 by the size of the bucket, also when somebody's value is certain."""
    certain = np.full((size, size), 1e-12)
    np.fill_diagonal(certain, 1.0)
    assert row_average_marginals(certain[:, :, np.newaxis]).max() <= 2 / size + 1e-9 < 0.95


def test_labels_of_the_approximate_algorithm_are_arbitrary():
    """Its likelihood is the same after exchanging two values' parameters, so nothing tells the one from the other."""
    prior, likelihood = np.array([0.3, 0.7]), np.array([[0.2, 0.8], [0.6, 0.4]])
    rows = np.array([0, 1, 1, 0, 1])
    there = np.log(prior @ likelihood[:, rows]).sum()
    exchanged = np.log(prior[::-1] @ likelihood[::-1][:, rows]).sum()
    assert there == pytest.approx(exchanged)


@pytest.mark.parametrize(("brier", "calibration", "refinement", "adds_up"), [
    (0.2878, 0.0536, 0.2177, False), (0.2269, 0.0150, 0.2119, True), (0.2973, 0.0572, 0.2375, False),
    (0.2460, 0.0032, 0.2428, True), (0.2683, 0.0401, 0.2282, True), (0.2382, 0.0076, 0.2306, True),
])  # fmt: skip
def test_two_rows_of_table_5_1_do_not_add_up(brier, calibration, refinement, adds_up):
    """The score is the sum of its parts only when it is computed on the binned probabilities."""
    assert (abs(brier - calibration - refinement) < 2e-4) == adds_up


def test_the_floor_of_refinement_is_no_floor():
    """.1675 is the mean of m (1 - m) over ten midpoints; certain and right predictions have 0."""
    midpoints = np.arange(0.05, 1, 0.1)
    assert np.mean(midpoints * (1 - midpoints)) == pytest.approx(0.1675)
    assert np.mean(np.ones(5) * (1 - np.ones(5))) == 0


def test_a_high_epsilon_costs_privacy_and_not_utility():
    """The noise of a count falls with it."""
    assert Laplace(scale=1 / 2.0).variance < Laplace(scale=1 / 0.1).variance


def test_the_scale_is_not_the_standard_deviation_of_laplace_noise():
    """With the scale in the variance's place James and Stein's factor takes off half of what it should."""
    counts, scale = np.array([120.0, 30, 5, 0, 45]), 8.0
    assert Laplace(scale=scale).variance == pytest.approx(2 * scale**2)
    factors = [james_stein(counts, variance)[0] / 120 for variance in (scale**2, 2 * scale**2)]
    assert factors == pytest.approx([0.988934, 0.977867], abs=5e-7)
    assert (1 - factors[1]) / (1 - factors[0]) == pytest.approx(2)


def printed_mean(x, noise_rate, prior_rate):
    """Equation 7.8 as it stands."""
    power = math.exp((prior_rate - noise_rate) * x)
    shift = 2 * prior_rate / (prior_rate**2 - noise_rate**2) * (power - 1)
    return noise_rate / (noise_rate - prior_rate * power) * (x - shift)


def test_the_posterior_mean_is_wrong_for_negative_counts():
    """At -2 the printed line says -37.6; with the absolute value and the sign it is -1.74."""
    assert printed_mean(3, 1, 0.2) == pytest.approx(posterior_mean([3.0], 1.0, 0.2)[0])
    assert printed_mean(-2, 1, 0.2) == pytest.approx(-37.57, abs=0.01)
    assert posterior_mean([-2.0], 1.0, 0.2)[0] == pytest.approx(-1.7376208, abs=5e-8)


def test_the_marginal_density_needs_absolute_values():
    """Without them it grows without end to the left and integrates to nothing finite."""

    def density(x):
        return 0.2 / (2 * (1 - 0.04)) * (np.exp(-0.2 * x) - 0.2 * np.exp(-x))

    places = np.linspace(-200, 200, 400_001)
    assert density(np.abs(places)).sum() * 0.001 == pytest.approx(1, abs=1e-3)
    assert density(np.array(-10.0)) < 0


def test_the_likelihood_equation_has_a_plus_sign():
    """At the fitted rate the left side meets the sum with plus, and misses that with the printed minus."""
    counts = np.array([0.5, 3.0, 10.0, 25.0, 0.2, 0.1])
    alpha = float(fit_prior_rate(counts, 1.0))
    left = len(counts) * (1 + alpha**2) / (alpha * (1 - alpha**2))
    below = np.exp(-alpha * counts) - alpha * np.exp(-counts)
    plus, minus = (
        ((counts * np.exp(-alpha * counts) + sign * np.exp(-counts)) / below).sum() for sign in (1, -1)
    )
    assert plus == pytest.approx(left, rel=1e-4)
    assert abs(minus - left) > 0.02 * left


@pytest.mark.parametrize("dimension", [3, 10])
def test_the_estimator_as_printed_loses_to_the_noisy_counts(dimension):
    """In the thesis's own setting, 2,000 vectors: it shifts negative counts away from 0; by sign it gains at 10."""
    draw = np.random.default_rng(dimension)
    small = draw.random((2_000, dimension)) < 0.5
    truth = np.where(small, draw.uniform(0, 1, small.shape), draw.uniform(0, 100, small.shape))
    noisy = truth + draw.laplace(0, 1, truth.shape)
    loss = {mode: [] for mode in ("printed", "signed")}
    for x, true in zip(noisy, truth, strict=True):
        for mode, losses in loss.items():
            losses.append(((shrink(x, 1.0, mode=mode).values - true) ** 2).sum() - ((x - true) ** 2).sum())
    # Nothing is claimed to the last digit: four standard errors of 2,000 vectors.
    printed, signed = (np.array(loss[mode]) for mode in ("printed", "signed"))
    assert printed.mean() > -4 * printed.std() / 44
    if dimension == 10:
        assert signed.mean() + 4 * signed.std() / 44 < printed.mean()


def test_shares_within_a_class_divide_by_the_class():
    """Equation 8.3 sums over classes; on this table no class would have shares that sum to 1."""
    counts = np.array([[2.0, 1.0], [1.0, 2.0]])
    within = counts / counts.sum(axis=1, keepdims=True)
    assert within.sum(axis=1) == pytest.approx([1, 1])
    assert (counts / counts.sum()).sum(axis=1) == pytest.approx([0.5, 0.5])


TABLES = ([[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0], [0.0, 3.0]])


def test_one_factor_changes_no_prediction():
    """James and Stein's estimate is the noisy one times a number, so the tables of accuracies cannot differ."""
    flat = np.concatenate([np.ravel(each) for each in TABLES])
    shrunken = james_stein(flat, 1.0).reshape(2, 2, 2)
    plain, scaled = (
        CountNaiveBayes.from_counts(tables, [0, 1], pseudo_count=0) for tables in (TABLES, shrunken)
    )
    rows = np.array(list(itertools.product((0, 1), (0, 1))))
    assert plain.predict(rows).tolist() == scaled.predict(rows).tolist()


def test_the_complete_rows_of_adult_have_98_values():
    """102 counts "?" in three attributes, and a class of work that no row with an occupation has."""
    schema = Schema.read(Path(sfumato.datasets.__file__).parent / "schemas" / "adult.toml")
    names = (
        "workclass",
        "education",
        "marital_status",
        "occupation",
        "relationship",
        "race",
        "sex",
        "native_country",
    )
    values = sum(len(schema[name].labels) - (schema[name].missing == "category") for name in names)
    assert values + 3 == 102
    assert values - len({"Never-worked"} & set(schema["workclass"].labels)) == 98


def test_a_smaller_squared_error_is_no_better_classifier():
    """Counts nearer to the truth, and yet the row with the largest joint count changes sides."""
    truth = np.array([10.0, 8.0])
    noisy, nearer = np.array([13.0, 8.0]), np.array([8.6, 9.0])
    assert ((nearer - truth) ** 2).sum() < ((noisy - truth) ** 2).sum()
    assert noisy.argmax() == truth.argmax() != nearer.argmax()


def test_a_group_with_a_smoker_is_listed_with_a_disease_that_it_does_not_have():
    """Table 3.3: the text names groups 1, 3, 4 and 6 as those with cancer; the fourth prints flu and none."""
    smokers = ["yy", "nn", "yn", "yy", "nn", "yn"]
    diseases = ["CF", "FN", "CN", "FN", "FN", "CN"]
    assert [place + 1 for place, group in enumerate(smokers) if "y" in group] == [1, 3, 4, 6]
    assert [place + 1 for place, group in enumerate(diseases) if "C" in group] == [1, 3, 6]


def test_the_prior_is_not_diffuse_where_the_noise_is_large():
    """Rates are to each other as p sigma to |x|, and |x| is on average no more than the counts and the noise together.

    Adult has 196 counts of 30,162 rows by eight attributes; that bound needs no draw. Twice as many attributes double p, sigma and the counts.
    """
    rows, attributes, values, classes = 30_162, 8, 98, 2

    def least_ratio(epsilon, times=1):
        size, scale = times * classes * values, times * attributes / epsilon
        return size * scale / (times * attributes * rows + size * scale)

    assert least_ratio(0.01) == pytest.approx(0.394, abs=5e-4)
    assert least_ratio(1.0) == pytest.approx(0.0065, abs=5e-5)
    assert least_ratio(0.05, times=2) > 1.7 * least_ratio(0.05)
    counts = np.full(196, 8 * rows / 196)
    drawn = shrink(counts + np.random.default_rng(24).laplace(0, 800, 196), 800.0)
    assert drawn.rate_ratio > least_ratio(0.01)
    assert "not diffuse" in " ".join(drawn.caveats)


def test_a_high_variance_of_the_counts_does_not_make_shrinking_gain():
    """Two vectors of ten counts with one variance, 80 times that of the noise: by signs it loses on the one and gains on the other.

    Loss to be expected where all counts are large: ``4 p² (p + 2) σ⁴ / (Σ θ)²`` = .053; four standard errors of 40,000 vectors.
    """
    dense = np.linspace(10, 50, 10)
    sparse = np.repeat([0.0, 2 * dense.std()], 5)
    assert dense.var() == pytest.approx(sparse.var())
    draw = np.random.default_rng(25)
    found = []
    for truth in (dense, sparse):
        noisy = truth + draw.laplace(0, 1, (40_000, 10))
        shift = 20 / np.abs(noisy).sum(axis=1, keepdims=True)
        gained = ((noisy - np.sign(noisy) * shift - truth) ** 2 - (noisy - truth) ** 2).sum(axis=1)
        found.append((gained.mean(), gained.std() / 200))
    (lost, error), (gained, other_error) = found
    assert lost - 4 * error > 0
    assert abs(lost - 4 * 100 * 12 / dense.sum() ** 2) < 4 * error
    assert gained + 4 * other_error < -1
