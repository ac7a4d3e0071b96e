"""The draws of the noise source follow the probabilities they declare."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.randomness.streams import CategorySampler, NoiseSource, NoiseStream, UniformReplacement

pytestmark = pytest.mark.statistical


class CoarseStream(NoiseStream):
    """Stream whose words have two random bits only, so that ties are the rule."""

    def _fill(self, destination):
        super()._fill(destination)
        destination &= np.uint64(0b11 << 62)


def count_pairs(true, published, shape):
    """Number of items for each pair, (n_true, n_published)."""
    pairs = true.astype(np.int64) * shape[1] + published
    return np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)


def count_orders(orders):
    """How often each of the 24 orders of four elements came."""
    order_numbers = orders @ np.array([64, 16, 4, 1])
    # The possible orders are those that hold every element once.
    grid = np.stack(np.unravel_index(np.arange(256), (4, 4, 4, 4)), axis=1)
    possible = (np.sort(grid, axis=1) == np.arange(4)).all(axis=1)
    return np.bincount(order_numbers, minlength=256)[possible]


def modulo_of_a_byte(stream, bounds):
    """Integers below the bounds with the modulo bias of an 8-bit generator."""
    return (stream.words(bounds.size) >> np.uint64(56)) % bounds.astype(np.uint64)


def test_bernoulli_is_true_as_often_as_its_threshold_says(alarm_budget):
    """Null: true with probability 0.3. Statistic: number true, exact binomial. n = 1,000,000.

    Twin: probability 0.306, 13 standard errors off.
    """
    check = alarm_budget.draw("bernoulli frequency")
    noise = NoiseSource.seeded(check.seed)
    trials = 1_000_000
    successes = np.count_nonzero(noise.stream(0).bernoulli(trials, int(0.3 * 2**64)))
    alarm_budget.assert_passes(alarm_budget.binomial_p_value(successes, trials, 0.3), check)

    twin = np.count_nonzero(noise.stream(1).bernoulli(trials, int(0.306 * 2**64)))
    alarm_budget.assert_rejects(alarm_budget.binomial_p_value(twin, trials, 0.3), check)


def test_uniform_codes_are_uniform_on_a_size_that_does_not_divide_the_words(alarm_budget):
    """Null: 50 codes equally likely. Statistic: chi-square, 49 degrees. n = 1,000,000.

    Twin: an 8-bit word modulo 50, noncentrality 4,000.
    """
    check = alarm_budget.draw("uniform codes")
    noise = NoiseSource.seeded(check.seed)
    count, size = 1_000_000, 50
    expected = np.full(size, count / size)
    observed = np.bincount(noise.stream(0).uniform_codes(count, size), minlength=size)
    alarm_budget.assert_passes(alarm_budget.chi_square_p_value(observed, expected), check)

    twin_codes = modulo_of_a_byte(noise.stream(1), np.full(count, size))
    twin = np.bincount(twin_codes.astype(np.int64), minlength=size)
    alarm_budget.assert_rejects(alarm_budget.chi_square_p_value(twin, expected), check)


def test_integers_below_are_uniform_under_each_bound(alarm_budget):
    """Null: uniform below 3, 7 and 50. Statistic: chi-square, 57 degrees. n = 900,000.

    Twin: an 8-bit word modulo the bound, noncentrality above 1,000.
    """
    check = alarm_budget.draw("integers below bounds")
    noise = NoiseSource.seeded(check.seed)
    bounds = np.tile(np.array([3, 7, 50]), 300_000)
    expected = np.array([[300_000 / bound] * bound + [0.0] * (50 - bound) for bound in (3, 7, 50)])
    group = np.tile(np.arange(3), 300_000)

    def p_value(drawn):
        observed = count_pairs(group, drawn.astype(np.int64), (3, 50))
        return alarm_budget.chi_square_p_value(observed, expected)

    alarm_budget.assert_passes(p_value(noise.stream(0).integers_below(bounds)), check)
    alarm_budget.assert_rejects(p_value(modulo_of_a_byte(noise.stream(1), bounds)), check)


def test_categories_follow_the_row_of_the_matrix_that_is_given(alarm_budget):
    """Null: the matrix below, one multinomial a row. Statistic: chi-square. n = 1,000,000.

    Rows have zeros and a certain outcome; the given column is skewed. Twin: in the first row 0.01
    moves from one outcome to another, noncentrality 800.
    """
    check = alarm_budget.draw("categories follow the matrix")
    noise = NoiseSource.seeded(check.seed)
    matrix = np.array([[0.4, 0.1, 0.3, 0.2, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.05, 0.05, 0.05, 0.05, 0.8]])
    given = np.repeat(np.arange(3, dtype=np.uint8), [700_000, 50_000, 250_000])
    expected = np.bincount(given)[:, np.newaxis] * matrix

    def p_value(drawn_from, stream_number):
        sampler = CategorySampler.from_probabilities(drawn_from)
        drawn = noise.stream(stream_number).categories(sampler, given)
        return alarm_budget.chi_square_p_value(count_pairs(given, drawn, (3, 5)), expected)

    alarm_budget.assert_passes(p_value(matrix, 0), check)
    twin = matrix.copy()
    twin[0, :2] = [0.39, 0.11]
    alarm_budget.assert_rejects(p_value(twin, 1), check)


def test_uniform_perturbation_follows_its_matrix_on_a_skewed_column(alarm_budget):
    """Null: published given true is retention + (1 - retention)/10 on the diagonal.

    Statistic: chi-square over the 10 x 10 transitions, one multinomial a true category.
    n = 2,000,000 in a column whose shares halve from category to category. Twin: retention 2 %
    off (0.588 for 0.6), noncentrality 1,000.
    """
    check = alarm_budget.draw("uniform perturbation transitions")
    noise = NoiseSource.seeded(check.seed)
    size, retention, count = 10, 0.6, 2_000_000
    sizes = np.floor(count * 0.5 ** np.arange(1, size + 1)).astype(np.int64)
    sizes[0] += count - sizes.sum()
    true = np.repeat(np.arange(size, dtype=np.uint8), sizes)
    matrix = retention * np.eye(size) + (1 - retention) / size
    expected = sizes[:, np.newaxis] * matrix

    def p_value(kernel, stream_number):
        published = noise.stream(stream_number).perturb_uniformly(true, kernel)
        observed = count_pairs(true, published, (size, size))
        return alarm_budget.chi_square_p_value(observed, expected)

    right = UniformReplacement.from_retention(retention, size)
    alarm_budget.assert_passes(p_value(right, 0), check)
    twin = UniformReplacement.from_retention(0.98 * retention, size)
    alarm_budget.assert_rejects(p_value(twin, 1), check)


@pytest.mark.parametrize("kind", ["fine", "coarse"])
def test_permutations_of_four_are_equally_likely(alarm_budget, kind):
    """Null: 24 orders equally likely. Statistic: chi-square, 23 degrees. n = 36,000.

    With coarse words most random parts tie, so that the breaking of ties is seen. Twins: a
    shuffle without its last swap, and ties left in the order of their index; both leave out or
    favour orders by a factor.
    """
    check = alarm_budget.draw("permutations of four", pieces=2)
    noise = NoiseSource.seeded(check.seed).named(kind)
    count = 36_000
    expected = np.full(24, count / 24)
    stream = (NoiseStream if kind == "fine" else CoarseStream)(noise._key, 0)
    orders = np.array([stream.permutation(4) for _ in range(count)])
    p_value = alarm_budget.chi_square_p_value(count_orders(orders), expected)
    alarm_budget.assert_passes(p_value, check)

    if kind == "fine":
        twin = np.tile(np.arange(4), (count, 1))
        for last in (3, 2):  # a whole shuffle goes on to 1
            other = noise.stream(last).uniform_codes(count, last + 1)
            rows = np.arange(count)
            twin[rows, last], twin[rows, other] = twin[rows, other], twin[rows, last]
    else:
        coarse_words = CoarseStream(noise._key, 1).words(4 * count).reshape(count, 4)
        twin = np.argsort(coarse_words, axis=1, kind="stable")
    p_value = alarm_budget.chi_square_p_value(count_orders(twin), expected)
    alarm_budget.assert_rejects(p_value, check)
