"""How often reconstruction is off by more than it may be: tails by enumeration, by hand and by a second implementation."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.guarantees import reconstruction_privacy as tails_module
from sfumato.guarantees.reconstruction_privacy import (
    ReconstructionPrivacy,
    Tails,
    exact_tails,
    exact_uniform_cap,
    lower_tails_by_size,
)
from sfumato.randomness.distortion import UniformDistortion


def enumerate_tails(rows, count, retention, size, relative_error):
    """Both tails, by going through every way the rows can come out."""
    elsewhere = (1 - retention) / size
    chances = [retention + elsewhere] * count + [elsewhere] * (rows - count)
    lower = upper = 0.0
    frequency = count / rows
    for outcome in itertools.product((0, 1), repeat=rows):
        chance = math.prod(p if hit else 1 - p for p, hit in zip(chances, outcome, strict=True))
        estimate = (sum(outcome) / rows - elsewhere) / retention
        lower += chance * ((estimate - frequency) / frequency < -relative_error - 1e-9)
        upper += chance * ((estimate - frequency) / frequency > relative_error + 1e-9)
    return lower, upper


def test_reconstruction_may_leave_the_unit_interval():
    """Example 4: ten categories at retention .2; a published share of .3 reconstructs to 1.1."""
    distortion = UniformDistortion(retention=0.2, size=10)
    matrix = distortion.dense()
    assert matrix[0, 0] == pytest.approx(0.28)
    assert matrix[0, 1] == pytest.approx(0.08)
    true = np.array([0.5, *[0.5 / 9] * 9])
    assert (true @ matrix)[0] == pytest.approx(0.18)
    published = np.array([0.3, *[0.7 / 9] * 9])
    assert (published @ distortion.inverse())[0] == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("count", "variance", "below_zero"), [(100, 0.0172, 0.0), (20, 0.0108, 0.138), (0, 0.0092, 0.463)]
)
def test_moments_of_a_reconstructed_frequency(count, variance, below_zero):
    """Lemma 3 at 200 rows, ten categories, retention .2, from the exact distribution of published rows.

    Simulations gave .136 and .46 for the last two chances of a negative estimate.
    """
    ways = np.ones(1)
    for chance in [0.28] * count + [0.08] * (200 - count):
        ways = np.convolve(ways, [1 - chance, chance])
    published = np.arange(201)
    estimate = (published / 200 - 0.08) / 0.2
    assert ways @ published == pytest.approx(200 * (count / 200 * 0.2 + 0.08))
    assert ways @ estimate == pytest.approx(count / 200)
    assert round(float(ways @ (estimate - count / 200) ** 2), 4) == variance
    # An estimate is negative below 16 published rows.
    assert round(float(ways[:16].sum()), 3) == below_zero
    if count:
        tails = exact_tails(200, count, retention=0.2, size=10, relative_error=1.0)
        assert tails.lower == pytest.approx(ways[:16].sum(), abs=1e-12)


@pytest.mark.parametrize(("rows", "count"), [(1, 1), (4, 1), (6, 3), (9, 9)])
def test_exact_tails_agree_with_enumeration(rows, count):
    """Every outcome of a tiny group, one by one."""
    lower, upper = enumerate_tails(rows, count, 0.4, 3, 0.25)
    tails = exact_tails(rows, count, retention=0.4, size=3, relative_error=0.25)
    assert tails.lower == pytest.approx(lower, abs=1e-12)
    assert tails.upper == pytest.approx(upper, abs=1e-12)


def test_the_tables_of_lower_tails_agree_with_single_groups():
    """Growing groups row by row gives what each group gives by itself."""
    sizes = lower_tails_by_size(retention=0.3, size=4, relative_error=0.3)
    for rows, tails in zip(range(1, 40), sizes, strict=False):
        expected = [
            exact_tails(rows, count, retention=0.3, size=4, relative_error=0.3).lower
            for count in range(1, rows + 1)
        ]
        np.testing.assert_allclose(tails[1:], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "count", "retention", "size", "lower", "within"),
    [(214, 107, 0.5, 2, 0.0045, 0.991), (642, 64, 0.5, 50, 0.015, 0.969)],
)
def test_the_true_tail_at_the_cap_is_far_below_the_bound(rows, count, retention, size, lower, within):
    """At the paper's cap for .3 an attacker is nearly always within 30 %."""
    tails = exact_tails(rows, count, retention=retention, size=size, relative_error=0.3)
    assert tails.lower == pytest.approx(lower, rel=0.02)
    assert round(tails.within, 3) == within


def test_chernoff_bounds_the_exact_tail_everywhere():
    """No violation over 540 combinations: 4 sizes, 5 frequencies, 3 retentions, 3 domains, 3 errors."""
    combinations = itertools.product(
        (20, 50, 100, 400), (0.05, 0.1, 0.3, 0.5, 0.9), (0.2, 0.5, 0.8), (2, 10, 50), (0.1, 0.3, 0.5)
    )
    number = 0
    for rows, frequency, retention, size, error in combinations:
        count = max(1, round(rows * frequency))
        share = count / rows * retention + (1 - retention) / size
        omega = error * retention * count / rows / share
        tails = exact_tails(rows, count, retention=retention, size=size, relative_error=error)
        assert tails.lower < math.exp(-(omega**2) * rows * share / 2)
        assert tails.upper < math.exp(-(omega**2) * rows * share / (2 + omega))
        number += 1
    assert number == 540


def test_exact_tails_are_not_monotone():
    """Why the cap is the last size of an unbroken run, not the last size that passes."""
    tails = [
        exact_tails(rows, rows, retention=0.5, size=10, relative_error=0.3).lower for rows in range(1, 12)
    ]
    assert any(later > earlier for earlier, later in itertools.pairwise(tails))


def test_the_tail_relative_to_the_whole_group_may_fall_a_little_below_the_promise():
    """97.5 % of a group have the value; of 16 rows used 15 or 16 do, and the edge is 0.8 * 0.975 for both."""
    from scipy.stats import binom

    options = {"retention": 0.3, "size": 5, "relative_error": 0.2}
    assert exact_uniform_cap(**options, error_probability=0.25) == 16
    own, elsewhere = 0.44, 0.14
    # Too low means fewer than 16 * 0.14 + 0.3 * 16 * 0.8 * 0.975 = 5.98 published rows with the value.
    with_fifteen = elsewhere * binom.cdf(4, 15, own) + (1 - elsewhere) * binom.cdf(5, 15, own)
    all_sixteen = binom.cdf(5, 16, own)
    # 16 * 0.975 = 15.6: sixteen rows with probability 0.6.
    assert 0.4 * with_fifteen + 0.6 * all_sixteen == pytest.approx(0.239, abs=5e-4)


@pytest.mark.parametrize(
    ("rows", "frequency", "count"), [(10, 0.25, 2), (10, 0.01, 1), (10, 1.0, 10), (3, 1.2, 3)]
)
def test_true_tails_are_those_of_a_whole_number_of_rows(rows, frequency, count):
    """Rounded, at least one and at most all."""
    lower, upper = enumerate_tails(rows, count, 0.4, 3, 0.25)
    tails = ReconstructionPrivacy(
        sensitive="job",
        groups=("sex", "age"),
        retention=0.4,
        size=3,
        relative_error=0.25,
        error_probability=0.1,
    ).true_tails(rows, frequency)
    assert tails == pytest.approx((lower, upper), abs=1e-12)


def test_what_is_beyond_both_tails_is_within():
    """And never below zero, nor rounding: 1 - .7 - .3 is 6e-17 in floats, and stood in a promise as such."""
    assert Tails(0.25, 0.5).within == 0.25
    assert Tails(0.7, 0.3).within == 0.0
    assert Tails(0.75, 0.25 + 1e-12).within == 0.0


@pytest.mark.parametrize(
    ("rows", "count", "retention"), [(3000, 3000, 0.5), (3000, 1, 0.9), (5000, 2500, 0.05)]
)
def test_large_groups_lose_nothing_of_note(rows, count, retention):
    """Against the whole distribution, by fast convolution of all outcomes."""
    from scipy.stats import binom

    elsewhere = (1 - retention) / 4
    own = binom.pmf(np.arange(count + 1), count, retention + elsewhere)
    other = binom.pmf(np.arange(rows - count + 1), rows - count, elsewhere)
    published = np.arange(rows + 1)
    ways = np.convolve(own, other)
    estimate = (published / rows - elsewhere) / retention / (count / rows)
    tails = exact_tails(rows, count, retention=retention, size=4, relative_error=0.02)
    assert tails.lower == pytest.approx(ways[estimate < 1 - 0.02 - 1e-9].sum(), rel=1e-9, abs=1e-25)
    assert tails.upper == pytest.approx(ways[estimate > 1 + 0.02 + 1e-9].sum(), rel=1e-9, abs=1e-25)


def test_an_edge_is_not_beyond_itself():
    """Four rows of one value, retention .5 of 2, error 1/3: 2 published are exactly 1/3 too low, 4 exactly 1/3 too high."""
    tails = exact_tails(4, 4, retention=0.5, size=2, relative_error=0.5)
    # Mean 3: too low is below 1 + 2 * 0.5 = 2, which 2 is not; too high is above 1 + 2 * 1.5 = 4.
    assert tails.lower == pytest.approx(0.25**4 + 4 * 0.75 * 0.25**3)
    assert tails.upper == 0
    by_size = next(itertools.islice(lower_tails_by_size(retention=0.5, size=2, relative_error=0.5), 3, None))
    assert by_size[4] == pytest.approx(tails.lower)


def test_rare_outcomes_of_a_tiny_mean_are_not_left_out():
    """49 other rows publish the value with 0.0002 each: four of them in 3 of 10^10 cases, many deviations away."""
    from scipy.stats import binom

    own, elsewhere = 0.99 + 0.01 / 50, 0.01 / 50
    tails = exact_tails(50, 1, retention=0.99, size=50, relative_error=3.5)
    # Too high is above 50 * .0002 + .99 * 4.5 = 4.465 published rows.
    expected = own * binom.sf(3, 49, elsewhere) + (1 - own) * binom.sf(4, 49, elsewhere)
    assert tails.upper == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("trials", "probability"), [(0, 0.3), (1, 0.999), (10, 0.3), (1_000, 0.01), (100_000, 0.25)]
)
def test_binomial_probabilities_are_those_of_a_second_implementation(trials, probability):
    """Relative to 1e-10: rounding adds up over the steps from one outcome to the next."""
    from scipy.stats import binom

    first, found = tails_module._binomial(trials, probability)
    expected = binom.pmf(np.arange(first, first + found.size), trials, probability)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-200)
    assert found.sum() == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize(
    ("retention", "size", "error", "rows", "count", "edge"),
    [(0.1, 7, 0.5, 7, 2, 1), (0.2, 2, 0.4, 6, 5, 3), (0.6, 4, 0.2, 6, 5, 3), (0.7, 2, 0.5, 11, 1, 2)],
)
def test_a_whole_edge_that_a_float_puts_a_little_higher_is_not_beyond_itself(
    retention, size, error, rows, count, edge
):
    """In fractions the edge is a whole number of published rows: that many are not too few."""
    own, other = Fraction(str(retention)), Fraction(count)
    elsewhere = (1 - own) / size
    assert rows * elsewhere + own * other * (1 - Fraction(str(error))) == edge
    assert rows * ((1 - retention) / size) + retention * count * (1 - error) > edge
    found = exact_tails(rows, count, retention=retention, size=size, relative_error=error).lower
    by_size = lower_tails_by_size(retention=retention, size=size, relative_error=error)
    assert found == pytest.approx(enumerate_below(edge, rows, count, retention, size))
    assert next(itertools.islice(by_size, rows - 1, None))[count] == pytest.approx(found)


def enumerate_below(edge, rows, count, retention, size):
    """Probability that fewer rows than the edge are published with the value."""
    elsewhere = (1 - retention) / size
    chances = [retention + elsewhere] * count + [elsewhere] * (rows - count)
    return sum(
        math.prod(chance if shown else 1 - chance for chance, shown in zip(chances, outcome, strict=True))
        for outcome in itertools.product((0, 1), repeat=rows)
        if sum(outcome) < edge
    )
