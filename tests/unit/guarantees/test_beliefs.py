"""Amplification, local differential privacy, belief bounds and their growth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.guarantees.amplification import (
    Amplification,
    BeliefBound,
    BeliefGrowth,
    gamma_of_beliefs,
    gamma_of_retention,
    largest_growth,
    largest_posterior,
    retention_of_gamma,
)
from sfumato.guarantees.differential_privacy import (
    LocalDifferentialPrivacy,
    epsilon_of_retention,
    retention_of_epsilon,
)


def test_a_belief_bound_is_kept_exactly_up_to_its_gamma():
    """From .1 to .5 is gamma 9; a posterior at that gamma is .5."""
    promise = BeliefBound(prior=0.1, posterior=0.5)
    assert math.isclose(promise.largest_gamma, 9)
    assert math.isclose(largest_posterior(0.1, promise.largest_gamma), 0.5)
    assert promise.is_implied_by(gamma=9.0)
    assert not promise.is_implied_by(gamma=9.001)
    assert "0.1" in promise.sentence
    assert "10 %" in promise.plain_words


@pytest.mark.parametrize(("prior", "posterior"), [(0.5, 0.5), (0.6, 0.5), (0.0, 0.5), (0.1, 1.0)])
def test_beliefs_out_of_order_are_refused(prior, posterior):
    """0 < prior < posterior < 1."""
    with pytest.raises(ParameterError):
        BeliefBound(prior=prior, posterior=posterior)
    with pytest.raises(ParameterError):
        gamma_of_beliefs(prior, posterior)


@pytest.mark.parametrize("gamma", [1.5, 4.0, 9.0, 100.0])
def test_largest_growth_is_the_largest_on_a_grid_of_priors(gamma):
    """Brute force over a thousand priors."""
    priors = np.linspace(0.001, 0.999, 999)
    growth = gamma * priors / (1 - priors + gamma * priors) - priors
    assert math.isclose(largest_growth(gamma), growth.max(), abs_tol=1e-5)
    promise = BeliefGrowth.from_amplification(gamma)
    assert promise.growth == largest_growth(gamma)
    assert "Delta-growth" in promise.sentence
    assert "percentage points" in promise.plain_words


def test_no_bound_on_amplification_is_no_bound_on_growth():
    """An infinite gamma can take any belief to certainty."""
    assert largest_growth(math.inf) == 1.0
    assert largest_posterior(0.001, math.inf) == 1.0


def test_retention_and_gamma_are_inverse_to_each_other():
    """For several sizes."""
    for size in (2, 7, 50):
        assert math.isclose(gamma_of_retention(retention_of_gamma(9.0, size), size), 9.0)


def test_an_attribute_without_bound_takes_the_bound_of_the_row():
    """Others keep theirs, and the sentences say both."""
    promise = LocalDifferentialPrivacy(
        epsilon_by_attribute={"job": 1.0}, unbounded=("sex",), unprotected=("age",)
    )
    assert promise.epsilon == math.inf
    assert promise.sentence == (
        "no finite epsilon for each row, because some published categories of sex rule out some true ones "
        "(epsilon by attribute: job 1); published unperturbed and not covered: age."
    )
    assert "odds by a factor of at most 2.7" in promise.plain_words


def test_nothing_but_unbounded_attributes_is_said_plainly():
    """No number is made up."""
    promise = LocalDifferentialPrivacy(epsilon_by_attribute={}, unbounded=("sex",))
    assert "rule out" in promise.plain_words
    assert "epsilon by attribute" not in promise.sentence
    amplification = Amplification(gamma_by_attribute={}, unbounded=("sex",))
    assert amplification.gamma == math.inf
    assert amplification.sentence == "no bound on amplification, because of sex."
    assert "certain" in amplification.plain_words


def test_an_enormous_epsilon_is_still_written():
    """It is called what it is."""
    promise = LocalDifferentialPrivacy(epsilon_by_attribute={"job": 2000.0})
    assert promise.plain_words.endswith("No protection by itself: epsilon is 2000.")


def test_a_total_epsilon_is_never_rounded_down():
    """0.7, 0.1 and 0.1 as floats add up to more than the float that their sum is rounded to."""
    parts = {"a": 0.7, "b": 0.1, "c": 0.1}
    promise = LocalDifferentialPrivacy(epsilon_by_attribute=parts)
    assert promise.epsilon >= sum(map(Fraction, parts.values()))
    assert promise.epsilon == pytest.approx(0.9, abs=1e-15)


def test_the_largest_gamma_of_several_attributes_is_the_gamma():
    """One attribute is published as it is, the other bounded by 9."""
    assert Amplification(gamma_by_attribute={"age": 2.0, "job": 9.0, "sex": 1.0}).gamma == 9.0


@pytest.mark.parametrize(
    ("prior", "posterior"), [(0.1, 0.3), (0.2, 0.3), (0.3, 0.9), (0.05, 0.6), (0.15, 0.7)]
)
def test_a_gamma_computed_exactly_keeps_its_own_bound(prior, posterior):
    """Whichever way the floats of the bound are rounded."""
    before, after = Fraction(str(prior)), Fraction(str(posterior))
    gamma = float(after * (1 - before) / (before * (1 - after)))
    promise = BeliefBound(prior=prior, posterior=posterior)
    assert promise.is_implied_by(gamma=gamma)
    assert promise.is_implied_by(gamma=math.nextafter(gamma, 0))
    assert not promise.is_implied_by(gamma=gamma * (1 + 1e-9))


def test_the_epsilon_of_a_sum_without_rounding_is_that_sum():
    """One half twice is one; nothing is added on top."""
    assert LocalDifferentialPrivacy(epsilon_by_attribute={"a": 0.5, "b": 0.5}).epsilon == 1.0


def test_epsilon_and_retention_by_hand():
    """e^epsilon - 1 = p m / (1 - p): p = 1/2 of 2 gives ln 3; ln 9 of 50 gives 8/58."""
    assert epsilon_of_retention(0.5, 2) == pytest.approx(math.log(3), rel=1e-15)
    assert retention_of_epsilon(math.log(9), 50) == pytest.approx(8 / 58, rel=1e-14)
    # Near zero 1 + x loses digits that log1p and expm1 keep: p m / (1 - p) is 1e-12 here.
    assert epsilon_of_retention(0.5e-12, 2) == pytest.approx(1e-12, rel=1e-11)
    assert retention_of_epsilon(1e-12, 2) == pytest.approx(0.5e-12, rel=1e-11)


def test_no_retention_has_an_epsilon_of_zero():
    """It would publish pure noise."""
    with pytest.raises(ParameterError, match="epsilon must be above 0, got 0"):
        retention_of_epsilon(0, 2)
    assert retention_of_epsilon(0.5, 2) == pytest.approx((math.exp(0.5) - 1) / (math.exp(0.5) + 1))


def test_amplification_of_nothing_is_no_promise():
    """A manifest that states it is damaged; nothing could be said of it."""
    with pytest.raises(ParameterError, match="at least one attribute"):
        Amplification(gamma_by_attribute={})
