"""Whole numbers of words are dealt out exactly."""

from __future__ import annotations

import pickle
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from sfumato.errors import ParameterError
from sfumato.randomness.streams import CategorySampler, UniformReplacement

distributions = strategies.lists(
    strategies.one_of(strategies.just(0.0), strategies.floats(1e-300, 1.0)), min_size=2, max_size=9
).filter(lambda weights: sum(weights) > 1e-3)


def weights_from_alias_table(sampler):
    """Add up, in Python integers, the words that each outcome gets."""
    capacity = sampler.total // sampler.n_outcomes
    shape = (sampler.n_given, sampler.n_outcomes)
    thresholds = sampler.thresholds.reshape(shape).tolist()
    aliases = sampler.aliases.reshape(shape).tolist()
    weights = [[0] * sampler.n_outcomes for _ in range(sampler.n_given)]
    for given, row in enumerate(weights):
        for column in range(sampler.n_outcomes):
            threshold = thresholds[given][column]
            assert 0 <= threshold <= capacity
            row[column] += threshold
            row[aliases[given][column]] += capacity - threshold
    return tuple(tuple(row) for row in weights)


class TestCategorySampler:
    @hypothesis.given(distributions)
    def test_rounding_keeps_sums_zeros_and_possibilities(self, weights):
        """Integer weights sum to the total, are within one word of exact, and 0 only where 0."""
        row = np.array(weights) / sum(weights)
        sampler = CategorySampler.from_probabilities(row[np.newaxis])
        (rounded,) = sampler.integer_weights
        exact_sum = sum(map(Fraction, row.tolist()))
        assert sum(rounded) == sampler.total == len(row) * (2**64 // len(row))
        assert [weight > 0 for weight in rounded] == [share > 0 for share in row]
        exact = [Fraction(share) / exact_sum * sampler.total for share in row.tolist()]
        lifted = sum(0 < share < 1 for share in exact)
        for weight, share in zip(rounded, exact, strict=True):
            assert abs(weight - share) < 1 + lifted

    @hypothesis.given(distributions)
    def test_alias_tables_deal_out_exactly_the_weights(self, weights):
        """Adding up the table gives the declared integer weights, to the last word."""
        row = np.array(weights) / sum(weights)
        sampler = CategorySampler.from_probabilities([row, row[::-1]])
        assert weights_from_alias_table(sampler) == sampler.integer_weights

    def test_tiny_probabilities_stay_possible(self):
        """Outcomes below one word in the total get one word, taken from the largest."""
        (weights,) = CategorySampler.from_probabilities([[1.0, 1e-300, 0.0, 1e-30]]).integer_weights
        assert weights == (2**64 - 2, 1, 0, 1)

    def test_largest_remainders_get_the_words_left_over(self):
        """Thirds of 2**64 - 1 are whole; 1/4, 1/4, 1/2 of it leave .75, .75 and .5 behind."""
        (weights,) = CategorySampler.from_probabilities([[0.25, 0.25, 0.5]]).integer_weights
        assert weights == (2**62, 2**62, 2**63 - 1)

    def test_samplers_with_equal_weights_are_equal(self):
        """Weights decide equality, hash and what is told of the probabilities."""
        rounded = CategorySampler.from_probabilities([[0.5, 0.5]])
        given = CategorySampler(((2**63, 2**63),))
        assert rounded == given
        assert hash(rounded) == hash(given)
        assert given.probabilities().tolist() == [[0.5, 0.5]]
        assert pickle.loads(pickle.dumps(given)) == given

    @pytest.mark.parametrize(
        "weights",
        [
            [],
            [[]],
            [[2**63, 2**63 - 1]],
            [[2**63, 2**63], [2**64]],
            [[-1, 2**64 + 1]],
            [[0.5, 0.5]],
        ],
    )
    def test_weights_that_are_no_distributions_are_refused(self, weights):
        """Rows must be whole, not negative, equally long, and sum to the total."""
        with pytest.raises(ParameterError):
            CategorySampler(tuple(map(tuple, weights)))

    @pytest.mark.parametrize(
        "matrix",
        [
            [0.5, 0.5],
            [[]],
            [[0.5, 0.4]],
            [[1.5, -0.5]],
            [[np.nan, 1.0]],
            [[np.inf, -np.inf]],
            [[0.0, 0.0]],
        ],
    )
    def test_matrices_that_are_no_distributions_are_refused(self, matrix):
        """Rows must be two-dimensional, not negative, finite, and sum to 1."""
        with pytest.raises(ParameterError, match="matrix"):
            CategorySampler.from_probabilities(matrix)


class TestUniformReplacement:
    @hypothesis.given(strategies.floats(1e-9, 1, exclude_max=True), strategies.integers(2, 2**32))
    def test_the_threshold_is_the_largest_that_keeps_the_promise(self, retention, size):
        """The exact retention is not above the asked one, and one step of size more would be."""
        kernel = UniformReplacement.from_retention(retention, size)
        assert (2**64 - kernel.keep_threshold) % size == 0
        assert kernel.retention == Fraction(kernel.keep_threshold, 2**64)
        assert kernel.retention <= Fraction(retention)
        assert Fraction(kernel.keep_threshold + size, 2**64) > Fraction(retention)

    @pytest.mark.parametrize("retention", [0.0, 1.0, -0.1, 1.1, float("nan"), 1e-30])
    def test_retentions_that_are_no_retention_are_refused(self, retention):
        """Retention is above 0 (by enough words for every category) and below 1."""
        with pytest.raises(ParameterError, match="retention must be at least"):
            UniformReplacement.from_retention(retention, 3)

    @pytest.mark.parametrize(("size", "keep_threshold"), [(1, 0), (3, 0), (2, 2**64), (2, -2), (2**33, 0)])
    def test_thresholds_that_cannot_be_shared_out_are_refused(self, size, keep_threshold):
        """The words that replace must be a positive multiple of the size."""
        with pytest.raises(ParameterError):
            UniformReplacement(size, keep_threshold)
