"""Ranges of measures that noise makes larger, and ranges that say nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from known_counts import KnownCounts
from published_rows import category_attribute
from sfumato import NoisyMarginals
from sfumato.analysis.equations import LARGEST_WHOLE, noise_bias, noise_spread, quadratic_interval
from sfumato.analysis.measures import measure
from sfumato.testing import release_in_memory, sample_table

A, Y = category_attribute("a", 2), category_attribute("y", 2)
QUADRATIC = ("phi-squared", "cramers-v", "chi-square", "mutual-information", "gini-decrease", "j-measure")


def test_the_second_order_term_of_squares_is_that_of_a_weighted_chi_square():
    """By hand: of ``sum w x^2`` with independent noise, bias ``sum w v`` and variance ``2 sum w^2 v^2``; correlated noise by brute force."""
    weights, variances = np.array([1.0, 3.0, 0.5]), np.array([4.0, 1.0, 9.0])

    def formula(x):
        return (weights * x**2).sum()

    place = np.array([5.0, -2.0, 1.0])
    np.testing.assert_allclose(noise_bias(formula, place, np.diag(variances)), weights @ variances, rtol=1e-6)
    np.testing.assert_allclose(
        noise_spread(formula, place, np.diag(variances)),
        2 * (weights * variances) @ (weights * variances),
        rtol=1e-6,
    )
    covariance = np.array([[4.0, 1.0, -2.0], [1.0, 2.0, 0.5], [-2.0, 0.5, 3.0]])
    product = 2 * np.diag(weights) @ covariance
    np.testing.assert_allclose(
        noise_spread(formula, place, covariance), np.trace(product @ product) / 2, rtol=1e-6
    )


def test_many_numbers_are_probed_along_directions_of_the_noise():
    """The variance of a chi-square of 200 degrees, 400, to a tenth: 400 probes know a variance to 7 % standard error."""
    size = LARGEST_WHOLE + 170
    found = noise_spread(lambda x: (x**2).sum(), np.arange(1.0, size + 1), np.eye(size))
    assert abs(found / (2 * size) - 1) < 0.3


def test_the_interval_of_a_sum_of_squares_is_that_of_numbers_that_are_not_rejected():
    """Both ends solve the equation; near zero it begins at zero and has a width, and without noise it is the number."""
    estimate, raw, variance, spread, half = 9.0, 10.0, 40.0, 2.0, 1.96
    for end in quadratic_interval(estimate, raw, variance, spread, half):
        np.testing.assert_allclose((estimate - end) ** 2, half**2 * (end * variance / raw + spread))
    low, high = quadratic_interval(-0.9, 0.1, 0.4, 2.0, half)
    assert low == 0
    np.testing.assert_allclose((-0.9 - high) ** 2, half**2 * (high * 4 + 2.0))
    # Below what chance explains: the width of zero's own interval, never none.
    assert quadratic_interval(-50.0, 0.0, 0.0, 2.0, half) == (0.0, half * math.sqrt(2))
    assert quadratic_interval(3.0, 3.0, 0.0, 0.0, half) == (3.0, 3.0)


@pytest.mark.parametrize("name", QUADRATIC)
def test_estimates_near_zero_do_not_claim_to_be_certain(name):
    """Counts that came out independent to the last digit: the delta method would give a range of no width."""
    found = measure(KnownCounts((A, Y), [250, 250, 250, 250], 400), "a", "y", only=[name])[name]
    assert found.low == 0
    # Phi has a standard error of 2 * 20 / 1000 there, so that twice that is not surprising.
    phi = {"phi-squared": 1, "cramers-v": 1, "chi-square": 1_000, "mutual-information": 0.5}
    if name in phi:
        square = found.high**2 if name == "cramers-v" else found.high / phi[name]
        assert 0.04**2 < square < 0.12**2
    assert found.high > 0
    if name == "phi-squared":
        # By hand: phi is normal with variance 0.04^2 / 2 + 0.04^2 / 2, and a squared one varies by 2 of its fourth power.
        np.testing.assert_allclose(found.std_error, math.sqrt(2) * found.noise_bias, rtol=1e-4)


def test_a_range_that_holds_every_value_is_called_so():
    """Noise as large as the table."""
    asked = ["cramers-v", "kappa", "lift", "support"]
    found = measure(KnownCounts((A, Y), [30, 20, 25, 25], 900), "a", "y", only=asked)
    assert (found["cramers-v"].low, found["cramers-v"].high) == (0, 1)
    assert any("cramers-v" in each and "whole range" in each for each in found.notes)
    assert "whole range" in str(found)
    assert found["cramers-v"].is_untold
    # It divides by rows that may be nobody; the support divides by nothing.
    assert found["lift"].is_untold
    assert not found["support"].is_untold
    told = measure(KnownCounts((A, Y), [30, 20, 25, 25], 1), "a", "y")
    assert not any("whole range" in each for each in told.notes)


def test_a_root_of_what_came_out_below_zero_shows_no_error():
    """No nan in what people read; plain data has none either."""
    found = measure(KnownCounts((A, Y), [250, 250, 250, 250], 400), "a", "y", only=["cramers-v"])
    assert "nan" not in str(found)
    assert math.isnan(found["cramers-v"].std_error)


def test_ranges_are_wider_where_the_noise_has_heavier_tails():
    """A share of one noisy count: Laplace's 2.17 standard errors by Cornish and Fisher, and normal ones of normal noise; Chebyshev's stay."""
    found = {}
    for mechanism in ("discrete-laplace", "discrete-gaussian"):
        more = {"delta": 1e-6} if mechanism == "discrete-gaussian" else {}
        design = NoisyMarginals(epsilon=1.0, marginals=(("sex", "job"),), mechanism=mechanism, **more)
        release = release_in_memory(sample_table(), design, seed=1)
        asked = release.measures("sex", "job = 'Care'", only=["support"])["support"]
        found[mechanism] = (asked.high - asked.estimate) / asked.std_error
        slope = release.regression("job = 'Care' ~ sex").coefficients[1]
        assert ((slope.high - slope.estimate) / slope.std_error > 1.97) == (mechanism == "discrete-laplace")
        wide = release.measures("sex", "job = 'Care'", only=["support"], interval="chebyshev")["support"]
        assert (wide.high - wide.estimate) / wide.std_error == pytest.approx(4.472, abs=1e-3)
    assert found["discrete-gaussian"] == pytest.approx(1.96, abs=1e-3)
    assert 2.0 < found["discrete-laplace"] < 2.2
