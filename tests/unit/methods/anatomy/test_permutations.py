"""Assignments of a bucket's values to its people, against worked examples and all permutations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from attacked_tables import marginals_by_counting
from sfumato.methods.anatomy import permutations
from sfumato.methods.anatomy.permutations import (
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


def balanced(likelihoods, rounds=2_000):
    """Rows, then columns and rows in turn, with loops."""
    table = [list(row) for row in likelihoods]
    size = len(table)

    def rows():
        for each in table:
            total = sum(each)
            each[:] = [cell / total for cell in each]

    rows()
    for _ in range(rounds):
        for column in range(size):
            total = sum(each[column] for each in table)
            for each in table:
                each[column] /= total
        rows()
    return np.array(table)


def test_balancing_two_by_two_by_hand():
    """Scaling keeps a d / (b c), so s / (1 - s) is its square root: 0.6 * 0.4 / (0.2 * 0.3) = 4, and s = 2/3."""
    found, weight = balanced_marginals(np.array([[0.6, 0.2], [0.3, 0.4]])[:, :, np.newaxis])
    expected = np.array([[2, 1], [1, 2]]) / 3
    np.testing.assert_allclose(found[:, :, 0], expected, atol=1e-6)
    by_hand = sum(
        share * math.log(likelihood / share)
        for share, likelihood in zip(expected.ravel(), (0.6, 0.2, 0.3, 0.4), strict=True)
    )
    assert weight[0] == pytest.approx(by_hand, abs=1e-6)


def test_balancing_is_of_each_bucket_by_itself(monkeypatch):
    """Three people, buckets of small and of large likelihoods, one with zeros; however many at a time."""
    generator = np.random.default_rng(5)
    tables = generator.random((3, 3, 7)) * np.geomspace(1e-3, 1e3, 7)
    tables[0, 1, 3] = tables[2, 0, 3] = 0
    for at_once in (9, 18, 2**17):
        monkeypatch.setattr(permutations, "NUMBERS_AT_ONCE", at_once)
        found, weights = balanced_marginals(tables)
        for bucket in range(7):
            expected = balanced(tables[:, :, bucket])
            np.testing.assert_allclose(found[:, :, bucket], expected, atol=1e-5)
            used = expected > 0
            objective = (expected[used] * np.log(tables[:, :, bucket][used] / expected[used])).sum()
            assert weights[bucket] == pytest.approx(objective, abs=1e-4)


def test_balancing_stops_after_some_rounds_or_when_columns_are_close():
    """By hand: rows first; one round; a column sum of 1.1 is close enough where a tenth is allowed."""
    table = np.array([[0.9, 0.1], [0.8, 0.2]])[:, :, np.newaxis] * [[[2.0]], [[3.0]]]
    for rounds in (0, 1, 2):
        found, _ = balanced_marginals(table, rounds=rounds)
        np.testing.assert_allclose(found[:, :, 0], balanced(table[:, :, 0], rounds))
    found, _ = balanced_marginals(table, imbalance=0.71)
    np.testing.assert_allclose(found[:, :, 0], [[0.9, 0.1], [0.8, 0.2]])
    found, _ = balanced_marginals(table, imbalance=0.69)
    assert abs(found[:, 0, 0].sum() - 1) < 0.69
    # A column may be too small by as much as another is too large.
    found, _ = balanced_marginals(table[:, ::-1], imbalance=0.69)
    assert abs(found[:, 0, 0].sum() - 1) < 0.69


@pytest.mark.parametrize(
    ("table", "is_possible"),
    [
        ([[0.0, 0.0], [1.0, 1.0]], False),
        ([[0.0, 1.0], [0.0, 1.0]], False),
        ([[0.2, 0.0], [0.0, 0.1]], True),
        ([[0.1, 0.2], [0.3, 0.1]], True),
    ],
)
def test_a_person_or_a_value_without_likelihood_makes_a_bucket_impossible(table, is_possible):
    """And nothing is divided by zero."""
    beside = np.stack([np.array(table), np.ones((2, 2))], axis=2)
    _, weights = balanced_marginals(beside)
    assert np.isfinite(weights).tolist() == [is_possible, True]


def test_likelihoods_too_small_to_multiply_are_drawn_from_all_the_same():
    """People whose likelihoods are all tiny: only their ratios count. Two permutations, three to one, 4,000 draws.

    The share of the first is 3/4 with a standard error of 0.0068; an alarm at five of them comes once in a million.
    """
    table = np.array([[3.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) * [[1e-200], [1e-180], [1e-190]]
    many = np.repeat(table[:, :, np.newaxis], 4_000, axis=2)
    drawn = draw_permutations(many, np.random.default_rng(8))
    assert (drawn[2] == 2).all()
    assert np.mean(drawn[0] == 0) == pytest.approx(0.75, abs=0.034)


class _Ones:
    """A generator whose every draw is rounded up to one."""

    def random(self, number):
        """All one."""
        return np.ones(number)


def test_a_draw_that_is_rounded_to_one_takes_the_last_value_that_is_possible():
    """The first person can have the first two values, so the last of them is the second; then what is left."""
    table = np.array([[0.5, 0.5, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])[:, :, np.newaxis]
    assert draw_permutations(table, _Ones())[:, 0].tolist() == [1, 2, 0]


def test_two_people_who_are_unlikely_whatever_they_have_are_told_apart():
    """Odds of 3 and of 1 by hand, in rows of 1e-200 whose product no double holds; drawn as often."""
    likelihoods = one([[3e-200, 1e-200, 1e-200], [1e-200, 1e-200, 1e-200], [0.0, 0.0, 1.0]])
    marginals, weights = permutation_marginals(likelihoods)
    np.testing.assert_allclose(marginals[:, :, 0], [[0.75, 0.25, 0], [0.25, 0.75, 0], [0, 0, 1]])
    assert weights[0] == pytest.approx(math.log(4) - 400 * math.log(10))
    many = np.repeat(likelihoods, 4_000, axis=2)
    drawn = draw_permutations(many, np.random.default_rng(2))
    assert (drawn[2] == 2).all()
    # Five standard errors of 4,000 draws.
    assert abs((drawn[0] == 0).mean() - 0.75) < 5 * math.sqrt(0.75 * 0.25 / 4_000)


@pytest.mark.parametrize(("number", "expected"), [(0.0, [1, 0]), (np.nextafter(1.0, 0.0), [1, 0])])
def test_the_ends_of_a_draw_give_nobody_what_is_impossible(number, expected):
    """The smallest and the largest number that a generator gives."""

    class Constant:
        def random(self, size):
            return np.full(size, number)

    certain = one([[0.0, 1.0], [1.0, 0.0]])
    assert draw_permutations(certain, Constant()).ravel().tolist() == expected
