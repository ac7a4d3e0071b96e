"""Inference within buckets, against worked examples and brute force over permutations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from attacked_tables import marginals_by_counting
from sfumato.attacks.bucket_models import (
    NaiveBayes,
    best_permutations,
    expected_counts,
    fit,
    guess,
    require_possible,
    row_shares,
    sample,
    sorted_beliefs,
)
from sfumato.errors import DataError
from sfumato.methods.anatomy.permutations import BucketedPeople, balanced_marginals, permutation_marginals

CANCER, FLU, NONE = range(3)
SMOKERS = np.array([1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0])
"""Table 3.3: smokes or not, two people in each of six groups."""
PRINTED = [[CANCER, FLU], [FLU, NONE], [CANCER, NONE], [FLU, NONE], [FLU, NONE], [CANCER, NONE]]
CORRECTED = [[CANCER, FLU], [FLU, NONE], [CANCER, NONE], [CANCER, NONE], [FLU, NONE], [CANCER, NONE]]
"""The text says that every group with a smoker holds cancer; as printed, group 4 does not."""

MATRIX_2 = np.array([[0.6, 0.2], [0.3, 0.4]])
MATRIX_3 = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.4]])


def one(matrix):
    """A single bucket."""
    return np.asarray(matrix, float)[:, :, np.newaxis]


def smoker_groups(places):
    """The people of Table 3.3."""
    buckets = np.repeat(np.arange(1, 7), 2)
    return BucketedPeople.arrange([SMOKERS], [2], buckets, np.array(places), 3, seed=0)


def belief(people, model, row, value):
    """Probability that a person holds a value, under exact expectation."""
    logs = model.log_likelihoods(people)
    values = np.full(people.number_of_rows, value)
    return guess(people, np.exp(logs)).probabilities_of(values)[row]


def random_people(rng, size=3, buckets=40, values=5):
    """Buckets with dependent public values."""
    places = np.array([rng.choice(values, size, replace=False) for _ in range(buckets)])
    truth = places.ravel()
    columns = [
        (truth + rng.integers(0, 2, truth.size)) % 3,
        (truth * 2 + rng.integers(0, 3, truth.size)) % 4,
    ]
    numbers = np.repeat(np.arange(1, buckets + 1), size)
    return BucketedPeople.arrange(columns, [3, 4], numbers, places, values, seed=1), truth


def test_e_step_of_two_matches_the_worked_example():
    """U3: weights .24 and .06, marginals .8 and .2."""
    marginals, weight = permutation_marginals(one(MATRIX_2))
    assert np.allclose(marginals[:, :, 0], [[0.8, 0.2], [0.2, 0.8]], atol=1e-14)
    assert np.exp(weight[0]) == pytest.approx(0.30)
    assert np.allclose(row_shares(one(MATRIX_2))[:, :, 0], [[0.75, 0.25], [3 / 7, 4 / 7]])


def test_the_product_formula_on_row_shares_gives_the_same_marginals():
    """U3: scaling rows changes no permutation's probability."""
    again = permutation_marginals(row_shares(one(MATRIX_2)))[0]
    assert np.allclose(again[:, :, 0], [[0.8, 0.2], [0.2, 0.8]], atol=1e-14)


def test_multiplying_marginals_counts_the_evidence_twice():
    """U4: the identity has probability .588235, and .852053 when marginals are multiplied."""
    marginals = permutation_marginals(one(MATRIX_3))[0][:, :, 0]
    assert MATRIX_3.diagonal().prod() / 0.204 == pytest.approx(0.588235, abs=5e-7)
    products = [
        np.prod([marginals[person, value] for person, value in enumerate(order)])
        for order in itertools.permutations(range(3))
    ]
    assert products[0] / sum(products) == pytest.approx(0.852053, abs=5e-7)


def test_the_most_probable_assignment_is_that_of_the_likelihoods():
    """U5: on likelihoods (2, 0, 1) with weight .432 against .405; on marginals (2, 1, 0)."""
    matrix = np.array([[0.6, 0.4, 0.9], [0.6, 0.9, 0.1], [0.5, 0.8, 0.7]])
    assert best_permutations(one(matrix)).ravel().tolist() == [2, 0, 1]
    marginals = permutation_marginals(one(matrix))[0]
    assert best_permutations(marginals).ravel().tolist() == [2, 1, 0]


def test_balancing_is_far_closer_to_the_exact_marginals_than_each_person_alone():
    """The error of the approximation where both run: a thousand random buckets of six, mean below .02."""
    matrices = np.random.default_rng(3).random((6, 6, 1000))
    exact = permutation_marginals(matrices)[0]
    balanced = np.abs(balanced_marginals(matrices)[0] - exact).mean()
    assert balanced < 0.02
    assert balanced < np.abs(row_shares(matrices) - exact).mean() / 2


@pytest.mark.parametrize(
    ("places", "pseudo_count", "expected"),
    [
        (PRINTED, 1.0, (0.666667, 0.764706, 0.855673)),
        (CORRECTED, 1.0, (0.727273, 0.834550, 0.895904)),
        (PRINTED, 0.0, (0.750000, 0.921053, 1.0)),
        (CORRECTED, 0.0, (0.818182, 0.963855, 1.0)),
    ],
)
def test_the_smoker_example_is_learned_step_by_step(places, pseudo_count, expected):
    """U2: belief that the smoker of group 3 has cancer after one step, two steps, and at the end."""
    people = smoker_groups(places)
    start = NaiveBayes.uniform(people)
    for cycles, wanted in zip((1, 2, 3000), expected, strict=True):
        fitted = fit(people, start, alpha=pseudo_count, beta=pseudo_count, cycles=cycles, tolerance=0)
        for row, value in ((4, CANCER), (5, NONE)):
            assert belief(people, fitted.model, row, value) == pytest.approx(wanted, abs=5e-6)


@pytest.mark.parametrize(
    ("places", "shares", "smoking"),
    [
        (PRINTED, (0.266667, 0.333333, 0.4), (0.742269, 0.5, 0.326951)),
        (CORRECTED, (0.333333, 0.266667, 0.4), (0.798635, 0.4, 0.315456)),
    ],
)
def test_the_smoker_example_converges_to_the_worked_model(places, shares, smoking):
    """U2: shares of diseases stay, shares of smokers by disease are learned."""
    people = smoker_groups(places)
    model = fit(people, NaiveBayes.uniform(people), cycles=3000, tolerance=0).model
    assert model.shares == pytest.approx(shares, abs=5e-7)
    assert model.conditionals[0][1] == pytest.approx(smoking, abs=5e-6)


def test_equal_value_sets_leave_nothing_to_learn():
    """U6: three groups with all four diseases; from a uniform start everything stays at a quarter."""
    columns = [np.array([0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0])]
    places = np.tile(np.arange(4), (3, 1))
    people = BucketedPeople.arrange(columns, [2], np.repeat([1, 2, 3], 4), places, 4, seed=0)
    assert people.number_of_value_sets == 1
    model = fit(people, NaiveBayes.uniform(people), cycles=50, tolerance=0).model
    marginals = guess(people, np.exp(model.log_likelihoods(people))).marginals[0]
    assert np.allclose(marginals, 0.25, atol=1e-12)


@pytest.mark.parametrize("expectation", ["exact", "balanced", "restricted", "approximate"])
def test_the_objective_never_falls(expectation):
    """From random starts, and it rises by more than rounding."""
    rng = np.random.default_rng(2)
    people, _ = random_people(rng)
    for _ in range(3):
        start = NaiveBayes.random(people, rng, 1.0, 1.0)
        objectives = fit(people, start, expectation=expectation, cycles=60, tolerance=0).objectives
        assert np.diff(objectives).min() >= -1e-6 * abs(objectives[-1])
        assert objectives[-1] > objectives[0] + 1


def test_expected_counts_of_values_are_those_of_the_buckets():
    """The exact expectation hands out every value as often as it occurs."""
    people, truth = random_people(np.random.default_rng(4))
    model = NaiveBayes.random(people, np.random.default_rng(5), 1.0, 1.0)
    counts, _ = expected_counts(people, model, "exact")
    assert np.allclose(counts.sum(axis=0), np.bincount(truth, minlength=5))
    assert np.allclose(counts.sum(axis=1), people.rows_of_combination)


def test_a_whole_bucket_posterior_equals_brute_force_over_people():
    """Model, arrangement and sum together: beliefs about everyone by enumeration, to 1e-10."""
    people, truth = random_people(np.random.default_rng(6), buckets=6)
    model = NaiveBayes.random(people, np.random.default_rng(7), 1.0, 1.0)
    likelihoods = np.exp(model.log_likelihoods(people))
    found = guess(people, likelihoods)
    for block, marginals in zip(people.blocks, found.marginals, strict=True):
        for bucket in range(block.rows.shape[1]):
            rows, values = block.rows[:, bucket], block.values[:, bucket]
            matrix = likelihoods[people.combination_of_row[rows]][:, values]
            assert np.abs(marginals[:, :, bucket] - marginals_by_counting(matrix)[0]).max() < 1e-10
            assert sorted(values) == sorted(truth[rows])


def test_a_start_that_lowers_the_objective_is_a_fault(monkeypatch):
    """The check is not idle: a maximization step that minimizes is caught."""
    people, _ = random_people(np.random.default_rng(8))
    rng = np.random.default_rng(9)
    monkeypatch.setattr(
        NaiveBayes, "from_expected_counts", lambda *_: NaiveBayes.random(people, rng, 1.0, 1.0)
    )
    fitted = NaiveBayes.uniform(people)
    with pytest.raises(ArithmeticError, match="lowered its objective"):
        fit(people, fitted, cycles=20, tolerance=0)


def test_what_is_ruled_out_is_impossible_and_contradictions_are_refused():
    """A pair that is not allowed gets no belief; ruling out everything is refused."""
    people = smoker_groups(PRINTED)
    smoker = int(people.combination_of_row[0])
    allowed = np.ones((2, 3), bool)
    allowed[1 - smoker, CANCER] = False
    require_possible(people, allowed)
    counts, _ = expected_counts(people, NaiveBayes.uniform(people), "exact", allowed)
    assert counts[1 - smoker, CANCER] == 0
    allowed[:, CANCER] = False
    with pytest.raises(DataError, match="3 buckets without a possible assignment"):
        require_possible(people, allowed)


def test_gibbs_agrees_with_exact_beliefs_on_the_whole():
    """Averages over models lie near those of the best model."""
    people, truth = random_people(np.random.default_rng(10), buckets=400)
    model = fit(people, NaiveBayes.uniform(people)).model
    exact = guess(people, np.exp(model.log_likelihoods(people)))
    drawn = sample(people, np.random.default_rng(1), burn_in=20, sweeps=40)
    assert np.allclose(sum(m.sum() for m in drawn.marginals), people.number_of_rows)
    assert np.corrcoef(exact.probabilities_of(truth), drawn.probabilities_of(truth))[0, 1] > 0.95


def test_random_guesses_succeed_with_the_share_of_values_in_buckets():
    """1/g for equal buckets; .249983 for Adult's mix of 7,538 buckets of four and two of five."""
    buckets = np.concatenate([np.repeat(np.arange(1, 7539), 4), np.repeat([7539, 7540], 5)])
    places = np.tile([0, 1, 2, 3, -1], (7540, 1))
    places[-2:, 4] = 4
    people = BucketedPeople.arrange([np.zeros(30_162, int)], [2], buckets, places, 5, seed=0)
    assert people.chance_of_random_guess == pytest.approx(0.249983, abs=5e-7)


def test_repeated_values_count_at_every_place():
    """Guo (2010), Table 2.1: three flu and one pneumonia; a random guess of flu has probability 3/4."""
    places = np.array([[0, 0, 0, 1]])
    people = BucketedPeople.arrange([np.zeros(4, int)], [2], np.ones(4, int), places, 2, seed=0)
    beliefs = guess(people, np.ones((1, 2)))
    assert np.allclose(beliefs.probabilities_of(np.zeros(4, int)), 0.75)
    assert people.chance_of_random_guess == pytest.approx((9 + 1) / 16)
    ordered = sorted_beliefs(people.blocks[0], beliefs.marginals[0])
    assert np.allclose(ordered[:, :2, 0], [[0.75, 0.25]] * 4)
    assert not ordered[:, 2:].any()
