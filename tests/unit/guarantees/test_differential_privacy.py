"""Differential privacy as a promise: sensitivities, composition, conversions."""

from __future__ import annotations

import math

import pytest

from sfumato.errors import ParameterError
from sfumato.guarantees.differential_privacy import (
    RELATIONS,
    DifferentialPrivacy,
    ItemDifferentialPrivacy,
    LocalDifferentialPrivacy,
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
    assert DifferentialPrivacy(epsilon=1000.0).plain_words == "No protection by itself: epsilon is 1000."


@pytest.mark.parametrize(
    ("epsilon", "is_weak"), [(10.0, False), (math.nextafter(10, 11), True), (38.8, True)]
)
def test_an_epsilon_above_ten_is_no_protection_by_itself(epsilon, is_weak):
    """In every sentence that states it, for all three promises; not up to ten."""
    for promise in (
        DifferentialPrivacy(epsilon=epsilon),
        DifferentialPrivacy(epsilon=epsilon, delta=1e-6),
        LocalDifferentialPrivacy(epsilon_by_attribute={"a": epsilon / 2, "b": epsilon / 2}),
        ItemDifferentialPrivacy(epsilon=epsilon),
    ):
        for said in (promise.sentence, promise.statement, promise.describe()["sentence"]):
            assert ("no protection by itself" in said) == is_weak
        assert ("No protection by itself" in promise.plain_words) == is_weak
        assert (promise.weakness == f"epsilon is {epsilon:.4g}, no protection by itself") == is_weak
        assert bool(promise.weakness) == is_weak


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


def test_promises_without_conditions_compose_to_one_without():
    """Conditions are collected once each, in order; none is none."""
    plain, given = DifferentialPrivacy(epsilon=0.5), DifferentialPrivacy(epsilon=0.5, given=("the columns",))
    other = DifferentialPrivacy(epsilon=0.5, given=("the bins",))
    assert compose([plain, plain]).given == ()
    assert compose([given, plain, other, given]).given == ("the columns", "the bins")


def test_without_a_delta_rhos_give_no_epsilon():
    """Pure promises add their epsilons although each knows its rho."""
    pure = DifferentialPrivacy(epsilon=0.5, rho=0.125)
    total = compose([pure, pure])
    assert (total.epsilon, total.delta, total.rho) == (1.0, 0.0, None)


def test_one_promise_without_a_rho_leaves_the_sum_of_epsilons():
    """Its share in the sum of rhos is not known."""
    gaussian = DifferentialPrivacy(epsilon=0.5, delta=1e-6, rho=0.01)
    total = compose([gaussian, DifferentialPrivacy(epsilon=0.25, delta=1e-6)])
    assert (total.epsilon, total.rho) == (0.75, None)
    assert total.delta == pytest.approx(2e-6, rel=1e-12)


def test_the_smaller_epsilon_of_the_two_ways_is_promised():
    """Rhos that are worth more than the epsilons stated do not raise the sum."""
    careful = DifferentialPrivacy(epsilon=0.5, delta=1e-6, rho=5.0, relation="add-remove")
    total = compose([careful, careful])
    assert (total.epsilon, total.rho, total.relation) == (1.0, 10.0, "add-remove")


@pytest.mark.parametrize(("number", "total"), [(1, 0.001), (3, 0.001)])
def test_a_sum_of_small_rhos_is_no_epsilon_of_zero(number, total):
    """At so large a delta rho 1e-6 needs no epsilon at all; the largest stated one is kept."""
    small = DifferentialPrivacy(epsilon=0.001, delta=0.01, rho=1e-6)
    assert epsilon_of_rho(number * 1e-6, 0.01) == 0
    assert compose([small] * number).epsilon == total


@pytest.mark.parametrize(("rho", "delta"), [(1e-4, 1e-9), (0.1, 1e-6), (2.0, 1e-5), (20.0, 1e-3)])
def test_epsilon_is_the_smallest_whose_delta_is_small_enough(rho, delta):
    """At it the delta is met, just below it is not."""
    epsilon = epsilon_of_rho(rho, delta)
    assert delta_of_rho(rho, epsilon) <= delta
    assert delta_of_rho(rho, epsilon * (1 - 1e-9)) > delta


@pytest.mark.parametrize(
    ("rho", "epsilon"),
    [(0.5, 0.0), (5.0, 0.1), (1000.0, 1.0), (1e-6, 0.5), (1e-6, 1e-7), (1e-17, 1e-7), (0.2, 1000.0)],
)
def test_delta_is_a_probability(rho, epsilon):
    """Where rho is large against epsilon nothing is promised, and at most 1 is said."""
    delta = delta_of_rho(rho, epsilon)
    assert 0 <= delta <= 1
    grid = (1 + 10 ** (step / 500) for step in range(-2500, 6000))
    smallest = min(
        min((a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a), 0) for a in grid
    )
    assert delta == pytest.approx(math.exp(smallest), rel=1e-3, abs=1e-300)


def test_a_single_promise_composes_to_itself():
    """Whatever its relation."""
    alone = DifferentialPrivacy(epsilon=0.5, relation="add-remove", given=("the bins",))
    assert compose([alone]) == alone


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.1), (5.0, 1e-3), (80.0, 1e-9)])
def test_the_rho_of_a_budget_is_the_largest(epsilon, delta):
    """A thousandth more breaks it, also where rho is above epsilon."""
    rho = rho_of_epsilon(epsilon, delta)
    assert delta_of_rho(rho, epsilon) <= delta < delta_of_rho(rho * 1.001, epsilon)


def test_a_generous_delta_allows_a_rho_above_epsilon():
    """The search does not end at its first guess: epsilon 0.3 at a delta of 0.9."""
    rho = rho_of_epsilon(0.3, 0.9)
    assert rho > 0.6
    assert delta_of_rho(rho, 0.3) <= 0.9 < delta_of_rho(rho * 1.001, 0.3)


def test_a_generous_delta_needs_no_epsilon():
    """At rho 0.01 a delta of 0.9 is kept whatever happens, and one of 0.001 is not."""
    assert delta_of_rho(0.01, 0.0) < 0.9
    assert epsilon_of_rho(0.01, 0.9) == 0.0
    assert epsilon_of_rho(0.01, 0.001) > 0.0


def test_replacing_costs_epsilon_twice_and_delta_once():
    """One row goes and another comes; outputs are unsafe under the larger table alone."""
    replaced = DifferentialPrivacy(epsilon=0.7, delta=1e-6, relation="add-remove").for_replacing()
    assert (replaced.epsilon, replaced.delta, replaced.relation) == (1.4, 1e-6, "replace-one")


def test_a_unit_of_three_rows_by_hand():
    """3 epsilon, 3 exp(2 epsilon) delta and 9 rho (Bun and Steinke, proposition 27), each rounded up."""
    unit = DifferentialPrivacy(epsilon=0.5, delta=1e-6, rho=0.01, relation="add-remove").for_units(3)
    for found, expected in [(unit.epsilon, 1.5), (unit.delta, 3e-6 * math.e), (unit.rho, 0.09)]:
        assert expected <= found <= expected * (1 + 1e-15)
    assert unit.rows_per_unit == 3
    assert unit.form == "additive"
