"""A further release never lowers a total that the ledger states."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sfumato.custody.ledger import _sums
from sfumato.guarantees.differential_privacy import (
    DifferentialPrivacy,
    ItemDifferentialPrivacy,
    LocalDifferentialPrivacy,
    epsilon_of_rho,
)

NAMES = ("a", "b", "c")
epsilons = st.floats(1e-3, 40)
deltas = st.sampled_from([1e-9, 1e-6, 1e-5, 1e-2])


@st.composite
def local(draw):
    """Each attribute is perturbed, unbounded, unperturbed or not in the release."""
    states = {
        name: draw(st.sampled_from(["covered", "unbounded", "unprotected", "absent"])) for name in NAMES
    }
    return LocalDifferentialPrivacy(
        epsilon_by_attribute={name: draw(epsilons) for name in NAMES if states[name] == "covered"},
        unprotected=tuple(name for name in NAMES if states[name] == "unprotected"),
        unbounded=tuple(name for name in NAMES if states[name] == "unbounded"),
        rows_per_unit=draw(st.integers(1, 3)),
    )


def gaussian(rho, delta, relation="replace-one"):
    """What a release by Gaussian noise states."""
    epsilon = max(epsilon_of_rho(rho, delta), 1e-3)
    return DifferentialPrivacy(epsilon=epsilon, delta=delta, rho=rho, relation=relation)


@st.composite
def central(draw):
    """With and without delta and rho."""
    relation, kind = draw(st.sampled_from(["replace-one", "add-remove"])), draw(st.integers(0, 2))
    if kind == 0:
        return DifferentialPrivacy(epsilon=draw(epsilons), relation=relation)
    if kind == 1:
        return DifferentialPrivacy(epsilon=draw(epsilons), delta=draw(deltas), relation=relation)
    rho, delta = draw(st.sampled_from([1e-6, 1e-3, 0.1, 2.0])), draw(deltas)
    return gaussian(rho, delta, relation)


items = st.one_of(st.none(), epsilons).map(lambda each: ItemDifferentialPrivacy(epsilon=each))
releases = st.lists(st.one_of(local(), central(), items).map(lambda each: (each,)), min_size=1, max_size=4)


def totals(stated, sums=_sums):
    """Every number that is stated, by what it is about; infinite where there is no bound."""
    found = {}
    for each, _ in sums(stated):
        if isinstance(each, LocalDifferentialPrivacy):
            found["row"] = each.epsilon
            found |= {("attribute", name): value for name, value in each.epsilon_by_attribute.items()}
            found |= {("attribute", name): math.inf for name in each.unbounded}
        elif isinstance(each, DifferentialPrivacy):
            found["epsilon", each.relation], found["delta", each.relation] = each.epsilon, each.delta
        else:
            found["items"] = math.inf if each.epsilon is None else each.epsilon
    return found


def lowered(before, after):
    """What is lower, or no longer stated."""
    return {name for name, value in before.items() if after.get(name, -1) < value * (1 - 1e-9)}


PERTURBED = (LocalDifferentialPrivacy(epsilon_by_attribute={"a": 1.1, "b": 37.7}),)
ONE_UNPERTURBED = (LocalDifferentialPrivacy(epsilon_by_attribute={"b": 0.001}, unprotected=("a",)),)
LARGE, SMALL = (gaussian(1.0, 1e-9),), (gaussian(1e-6, 1e-2),)


@example(stated=[PERTURBED], further=ONE_UNPERTURBED)
@example(stated=[ONE_UNPERTURBED], further=PERTURBED)
@example(stated=[LARGE], further=SMALL)
@given(stated=releases, further=releases.map(lambda each: each[0]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_further_release_lowers_no_total(stated, further):
    """For all attributes together, for each of them, and for each relation."""
    assert not lowered(totals(stated), totals([*stated, further]))


def test_the_order_of_releases_does_not_matter():
    """An attribute that is unperturbed once has no bound."""
    for stated in ([PERTURBED, ONE_UNPERTURBED], [ONE_UNPERTURBED, PERTURBED]):
        ((total, _),) = _sums(stated)
        assert total.epsilon == math.inf
        assert total.epsilon_by_attribute == {"b": 37.701}
        assert "a is published unperturbed: no bound for it" in total.sentence
        assert "also published unperturbed" in total.plain_words
        assert "rule out" not in total.sentence


def test_the_rule_that_leaves_unperturbed_attributes_out_is_seen_to_fail():
    """A negative control: the total falls from 38.8 to 37.7."""

    def leaving_out(stated):
        covered = {name for (each,) in stated for name in each.epsilon_by_attribute}
        kept = covered - {name for (each,) in stated for name in each.unprotected}
        epsilons = {name: sum(each.epsilon_by_attribute.get(name, 0) for (each,) in stated) for name in kept}
        yield LocalDifferentialPrivacy(epsilon_by_attribute=epsilons), ()

    before, after = (totals(each, leaving_out) for each in ([PERTURBED], [PERTURBED, ONE_UNPERTURBED]))
    assert (round(before["row"], 1), round(after["row"], 1)) == (38.8, 37.7)
    assert lowered(before, after) == {"row", ("attribute", "a")}
