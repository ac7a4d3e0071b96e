"""Beliefs from noisy or missing counts, against every count that a tiny cell may have."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.laws.posterior import SURPRISE, beliefs_of_counts, expected_counts
from sfumato.methods.columnized_counts.law import expected_copies
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix
from sfumato.randomness.noise import DiscreteLaplace


def believed(count, mean):
    """The distribution of a count beforehand, written out."""
    geometric = (mean / (1 + mean)) ** count / (1 + mean)
    return (1 - SURPRISE) * geometric + SURPRISE / ((count + 1) * (count + 2))


def test_a_member_of_a_group_of_noisy_cells_is_believed_what_all_counts_say():
    """The chance that a row drawn from all has a value, over all counts of two cells, each weighed by prior and noise."""
    noise, shown, means, largest = DiscreteLaplace(scale=1.0), (2, 0), (1.0, 0.5), 60
    total = np.zeros(2)
    for counts in itertools.product(range(largest), repeat=2):
        weight = np.prod(
            [
                believed(n, mean) * noise.probability([c - n])[0]
                for n, c, mean in zip(counts, shown, means, strict=True)
            ]
        )
        total += weight * np.array(counts)
    noisy = np.array(shown)
    expected = expected_counts(
        np.zeros(2, np.int64),
        np.full(2, largest - 1),
        lambda rows: noise.probability(noisy[:, None] - rows),
        np.array(means),
    )
    beliefs = beliefs_of_counts(expected[None], np.array([[0.5, 0.5]]), are_members=True)
    np.testing.assert_allclose(beliefs[0], total / total.sum(), rtol=1e-9)


@pytest.mark.parametrize("shown", [0, 3, 4, 9])
def test_copies_of_a_row_follow_from_the_matrix_itself(shown):
    """The probabilities of the published matrix, row by row, in place of the formulas for a whole array."""
    matrix = NoisyCountMatrix(k=3, epsilon=1.0, delta=0.01)
    weights = np.array([matrix.row(n, 200)[shown] * believed(n, 2.0) for n in range(200)])
    by_hand = weights @ np.arange(200) / weights.sum()
    found = expected_copies(matrix, np.array([shown]), np.array([2.0]))
    np.testing.assert_allclose(found, by_hand, rtol=1e-6)


def test_a_large_count_is_not_outweighed_by_what_was_believed():
    """A group that no model foresaw is seen all the same: a hundred rows with noise of about one."""
    noise = DiscreteLaplace(scale=1.0)
    found = expected_counts(
        np.array([60]), np.array([140]), lambda rows: noise.probability(100 - rows), np.array([1e-5])
    )
    assert abs(found[0] - 100) < 1


def test_where_nothing_is_possible_the_belief_beforehand_remains():
    """A release that its law does not explain says nothing."""
    found = expected_counts(np.array([0]), np.array([3]), lambda rows: np.zeros(rows.shape), np.array([0.25]))
    assert found.tolist() == [0.25]


def by_hand(numbers, likelihood, mean):
    """Mean of the numbers tried, each weighed by prior and likelihood."""
    weights = [believed(n, mean) * likelihood(n) for n in numbers]
    return sum(n * each for n, each in zip(numbers, weights, strict=True)) / sum(weights)


def test_cells_of_different_widths_are_each_counted_once():
    """Two numbers possible in one cell, forty in another, one in a third; a mean of none is a millionth of a row."""
    low, high = np.array([3, 0, 7]), np.array([4, 39, 7])
    means = np.array([2.0, 5.0, 0.0])
    found = expected_counts(low, high, lambda rows: 1.0 / (1 + (rows - 6.0) ** 2), means)
    expected = [
        by_hand(range(a, b + 1), lambda n: 1 / (1 + (n - 6) ** 2), max(mean, 1e-6))
        for a, b, mean in zip(low, high, means, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_cell_that_was_believed_empty_holds_few():
    """From none to nine rows alike by what was published: a millionth of a row, and one surprise in a hundred."""
    found = expected_counts(np.array([0]), np.array([9]), lambda rows: np.ones(rows.shape), np.array([0.0]))
    np.testing.assert_allclose(found, [by_hand(range(10), lambda _: 1, 1e-6)], rtol=1e-12)


def test_very_many_numbers_are_tried_at_even_distances():
    """Of 1,201 every third, 401 in all, the ends included."""
    flat = expected_counts(
        np.array([0]), np.array([1_200]), lambda rows: np.ones(rows.shape), np.array([700.0])
    )
    np.testing.assert_allclose(flat, [by_hand(range(0, 1_201, 3), lambda _: 1, 700)], rtol=1e-9)


def test_members_of_cells_without_rows_are_believed_what_was_believed():
    """Nothing expected: the prior; of somebody else too, since five rows of it are all there is."""
    nothing, prior = np.zeros((2, 2)), np.array([[0.2, 0.8], [0.5, 0.5]])
    for are_members in (True, False):
        np.testing.assert_allclose(beliefs_of_counts(nothing, prior, are_members=are_members), prior)
    half = beliefs_of_counts(np.array([[0.25, 0.25]]), prior[:1], are_members=False)
    np.testing.assert_allclose(half, [[(0.25 + 1) / 5.5, (0.25 + 4) / 5.5]])


def test_less_than_a_row_in_all_is_shared_as_it_is_expected():
    """0.3 and 0.1 rows; of nobody what was believed beforehand is all there is."""
    prior = np.array([[0.2, 0.8], [0.2, 0.8]])
    found = beliefs_of_counts(np.array([[0.3, 0.1], [0.0, 0.0]]), prior, are_members=True)
    assert found == pytest.approx(np.array([[0.75, 0.25], [0.2, 0.8]]))
