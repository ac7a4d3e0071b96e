"""Assignments of a bucket's values to its people, against worked examples and all permutations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from attacked_tables import marginals_by_counting
from sfumato.methods.anatomy.law.permutations import (
    LARGEST_EXACT,
    balanced_marginals,
    draw_permutations,
    permutation_marginals,
)

MATRIX_3 = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.4]])


def one(matrix):
    """A single bucket."""
    return np.asarray(matrix, float)[:, :, np.newaxis]


def test_e_step_of_three_matches_the_worked_example():
    """U4: permanent .204 and the printed marginals."""
    marginals, weight = permutation_marginals(one(MATRIX_3))
    expected = [
        [0.735294, 0.147059, 0.117647],
        [0.176471, 0.647059, 0.176471],
        [0.088235, 0.205882, 0.705882],
    ]
    assert np.exp(weight[0]) == pytest.approx(0.204)
    assert np.allclose(marginals[:, :, 0], expected, atol=5e-7)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_marginals_equal_brute_force(size):
    """To 1e-10, over many random buckets at once."""
    matrices = np.random.default_rng(size).random((size, size, 30)) ** 3
    marginals, weights = permutation_marginals(matrices)
    for bucket in range(30):
        expected, total = marginals_by_counting(matrices[:, :, bucket])
        assert np.abs(marginals[:, :, bucket] - expected).max() < 1e-10
        assert np.exp(weights[bucket]) == pytest.approx(total, rel=1e-10)


def test_the_largest_exact_bucket_adds_up():
    """Rows and columns of the marginals sum to one, with likelihoods of very different size."""
    rng = np.random.default_rng(0)
    matrices = 10.0 ** rng.uniform(-40, 0, (LARGEST_EXACT, LARGEST_EXACT, 3))
    marginals, weights = permutation_marginals(matrices)
    assert np.allclose(marginals.sum(axis=0), 1)
    assert np.allclose(marginals.sum(axis=1), 1)
    assert np.isfinite(weights).all()


def test_an_impossible_bucket_has_no_weight():
    """Two people who can only hold the same value."""
    assert np.isneginf(permutation_marginals(one([[1, 0], [1, 0]]))[1][0])
    assert np.isneginf(balanced_marginals(one([[1, 0], [1, 0]]))[1][0])


def test_drawn_permutations_are_permutations_and_respect_zeros():
    """Whatever the likelihoods."""
    rng = np.random.default_rng(1)
    matrices = rng.random((4, 4, 200))
    matrices[0, 1] = 0
    drawn = draw_permutations(matrices, rng)
    assert np.array_equal(np.sort(drawn, axis=0), np.tile(np.arange(4)[:, None], 200))
    assert (drawn[0] != 1).all()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_only_assignment_there_can_be_is_drawn(order):
    """Also beside buckets that have others."""
    certain = np.zeros((3, 3))
    certain[np.arange(3), order] = [0.3, 0.01, 0.5]
    matrices = np.stack([MATRIX_3, certain, MATRIX_3.T], axis=2)
    drawn = draw_permutations(matrices, np.random.default_rng(4))
    assert drawn[:, 1].tolist() == list(order)
    assert permutation_marginals(matrices)[0][:, :, 1].tolist() == (certain > 0).astype(float).tolist()
    assert balanced_marginals(matrices)[0][:, :, 1] == pytest.approx((certain > 0).astype(float), abs=1e-6)


def test_assignments_are_drawn_as_often_as_they_weigh():
    """Of 6,000 draws each of six assignments within five standard deviations: less than one run in 200,000 is wrong."""
    matrices = np.repeat(one(MATRIX_3), 6_000, axis=2)
    drawn = draw_permutations(matrices, np.random.default_rng(5))
    total = 0.204
    for order in itertools.permutations(range(3)):
        share = np.prod([MATRIX_3[person, value] for person, value in enumerate(order)]) / total
        found = (drawn == np.array(order)[:, np.newaxis]).all(axis=0).mean()
        assert abs(found - share) < 5 * (share * (1 - share) / 6_000) ** 0.5
