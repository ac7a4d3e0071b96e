"""Differential privacy as a promise: sensitivities, composition, conversions."""

from __future__ import annotations

import math

import pytest

from sfumato.errors import ParameterError
from sfumato.guarantees.differential_privacy import (
    RELATIONS,
    DifferentialPrivacy,
    compose,
    delta_of_rho,
    epsilon_of_rho,
    marginal_sensitivity,
    rho_of_epsilon,
)


@pytest.mark.parametrize(("attributes", "expected"), [(4, 24), (6, 60)])
def test_the_sensitivity_of_all_two_way_marginals_with_the_sensitive_attribute(attributes, expected):
    """4 C(n, 2) when a row is replaced, half when it is added or removed (Han, eq. 3.12)."""
    number = 2 * math.comb(attributes, 2)
    assert marginal_sensitivity(number, "replace-one") == expected
    assert marginal_sensitivity(number, "add-remove") == expected // 2


def test_table_3_6_has_sensitivity_twelve():
    """Three attributes, six marginals."""
    assert marginal_sensitivity(6, "replace-one") == 12


@pytest.mark.parametrize("relation", list(RELATIONS))
def test_the_relation_is_stated_in_the_manifest_and_in_the_sentence(relation):
    """Never implied."""
    promise = DifferentialPrivacy(epsilon=1.0, relation=relation)
    assert promise.describe()["neighbours"] == RELATIONS[relation]
    assert RELATIONS[relation] in promise.sentence


def test_delta_and_rho_are_stated_where_they_are():
    """In the sentence and in plain words."""
    promise = DifferentialPrivacy(epsilon=1.0, delta=1e-6, rho=0.02)
    assert promise.sentence.startswith("(1, 1e-06)-differential privacy, from 0.02-zero-concentrated")
    assert "except with a probability of at most about 1e-06" in promise.plain_words
    assert "except" not in DifferentialPrivacy(epsilon=1.0).plain_words


def test_a_huge_epsilon_can_be_put_in_words():
    """No overflow."""
    assert "e+" in DifferentialPrivacy(epsilon=1000.0).plain_words


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_epsilon_must_be_above_zero(epsilon):
    """Zero would mean that nothing is learned at all."""
    with pytest.raises(ParameterError, match="epsilon"):
        DifferentialPrivacy(epsilon=epsilon)


def test_epsilons_and_deltas_add_up():
    """Basic composition."""
    total = compose([DifferentialPrivacy(epsilon=0.5), DifferentialPrivacy(epsilon=0.25, delta=1e-7)])
    assert (total.epsilon, total.delta, total.rho) == (0.75, 1e-7, None)


def test_rhos_add_up_to_less_than_the_epsilons():
    """Four Gaussian releases together cost far less than four epsilons."""
    rho = rho_of_epsilon(1.0, 1e-6)
    one = DifferentialPrivacy(epsilon=1.0, delta=1e-6, rho=rho)
    total = compose([one] * 4)
    assert total.rho == pytest.approx(4 * rho)
    assert total.epsilon < 2.5


def test_different_relations_do_not_compose():
    """Their epsilons mean different things."""
    with pytest.raises(ParameterError, match="one neighbouring relation"):
        compose([DifferentialPrivacy(epsilon=1.0, relation=relation) for relation in RELATIONS])


@pytest.mark.parametrize(("rho", "epsilon"), [(0.001, 0.1), (0.1, 1.0), (0.5, 3.0), (2.0, 10.0)])
def test_delta_is_the_smallest_over_all_orders(rho, epsilon):
    """Against a fine grid of orders, corollary 13 of Canonne, Kamath and Steinke."""
    grid = (1 + 10 ** (step / 2000) for step in range(-6000, 8000))
    smallest = min(
        math.exp(min((a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a), 0))
        for a in grid
    )
    assert delta_of_rho(rho, epsilon) == pytest.approx(smallest, rel=1e-4)
    assert delta_of_rho(rho, epsilon) <= smallest * (1 + 1e-9)


@pytest.mark.parametrize("rho", [1e-6, 0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5])
def test_the_conversion_is_never_above_the_classic_bound(rho, delta):
    """Rho + 2 sqrt(rho ln(1/delta)), Bun and Steinke."""
    assert epsilon_of_rho(rho, delta) <= rho + 2 * math.sqrt(rho * math.log(1 / delta))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_the_rho_of_a_budget_keeps_it_and_uses_it_up(epsilon, delta):
    """There and back, from below."""
    back = epsilon_of_rho(rho_of_epsilon(epsilon, delta), delta)
    assert epsilon * (1 - 1e-6) < back <= epsilon
