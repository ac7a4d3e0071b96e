"""When one promise is kept because another is: worked out by hand, each at its edge."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.estimates.counts import CountTable
from sfumato.guarantees.amplification import Amplification, BeliefBound, BeliefGrowth
from sfumato.guarantees.base import WHOLE_UNIT
from sfumato.guarantees.differential_privacy import (
    DifferentialPrivacy,
    ItemDifferentialPrivacy,
    LocalDifferentialPrivacy,
    delta_of_rho,
)
from sfumato.guarantees.k_anonymity import KAnonymity, LDiversity, SemanticKAnonymity, TCloseness
from sfumato.guarantees.reconstruction_risk import ReconstructionRisk, reconstruction_risks
from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy
from sfumato.randomness.distortion import TwoValued
from sfumato.schema import Attribute, Role, Schema


def test_a_unit_of_three_rows_has_three_epsilons_and_a_delta_that_grows():
    """K epsilon, and k exp((k - 1) epsilon) delta: 3 e 1e-6 at epsilon 1/2."""
    found = DifferentialPrivacy(epsilon=0.5, delta=1e-6).for_units(3)
    assert found.epsilon == pytest.approx(1.5)
    assert found.delta == pytest.approx(3 * math.e * 1e-6)
    assert found.rows_per_unit == 3


def test_concentration_of_three_rows_grows_by_nine():
    """K squared rho; and a row replaced is one removed and one added."""
    assert DifferentialPrivacy(epsilon=0.5, delta=1e-6, rho=0.01).for_units(3).rho == pytest.approx(0.09)
    replaced = DifferentialPrivacy(epsilon=0.5, relation="add-remove").for_replacing()
    assert (replaced.epsilon, replaced.relation) == (1.0, "replace-one")


def private(**changes):
    """Differential privacy with some numbers changed."""
    return DifferentialPrivacy(**{"epsilon": 1.0, "delta": 1e-6, **changes})


@pytest.mark.parametrize(
    ("stated", "kept", "is_within"),
    [
        (private(), private(), True),
        (private(), private(epsilon=1.001), False),
        (private(), private(delta=1.1e-6), False),
        (private(), private(relation="add-remove"), False),
        (private(form="pointwise"), private(form="additive"), False),
        (private(form="additive"), private(form="pointwise"), True),
        (private(form="pointwise"), private(form="pointwise"), True),
        (private(whole_units=True), private(whole_units=True), True),
        (private(whole_units=True), private(), False),
        (private(given=("a",)), private(given=("a", "b")), False),
        (private(given=("a", "b")), private(given=("a",)), True),
        # Units of four rows, from a promise about units of two, or of three.
        (private(epsilon=2.001, delta=1e-5, rows_per_unit=4), private(rows_per_unit=2), True),
        (private(epsilon=1.999, delta=1e-5, rows_per_unit=4), private(rows_per_unit=2), False),
        (private(epsilon=9.0, rows_per_unit=4), private(delta=0.0, rows_per_unit=3), False),
        # A rho of 0.1 gives delta <= exp(-(epsilon - rho)^2 / (4 rho)): 1e-10 at 3.13, and more than 1e-3 at 1/2.
        (private(epsilon=3.13), private(epsilon=4.0, delta=1e-12, rho=0.1), True),
        (private(epsilon=0.5), private(epsilon=4.0, delta=1e-12, rho=0.1), False),
        (private(rho=0.1), private(rho=0.1), True),
        (private(rho=0.1), private(rho=0.11), False),
        (private(rho=0.1), private(), False),
    ],
)
def test_differential_privacy_within_another(stated, kept, is_within):
    """No more of epsilon, delta and rho, for the same neighbours and no fewer rows, given no more."""
    assert stated.is_within(kept) is is_within


@pytest.mark.parametrize(("part", "is_within"), [(5e-10, True), (2e-9, False)])
def test_a_delta_that_concentration_gives_may_be_short_by_its_rounding(part, is_within):
    """By half a billionth of it, and not by two."""
    kept = private(epsilon=4.0, delta=1e-12, rho=0.1)
    stated = private(epsilon=2.0, delta=delta_of_rho(0.1, 2.0) * (1 - part))
    assert stated.is_within(kept) is is_within


def local(epsilons, **changes):
    """Local differential privacy by attribute."""
    return LocalDifferentialPrivacy(epsilon_by_attribute=epsilons, **changes)


@pytest.mark.parametrize(
    ("stated", "kept", "is_within"),
    [
        (local({"job": 1.0}), local({"job": 1.0}), True),
        (local({"job": 1.0}), local({"job": 1.1}), False),
        (local({"job": 1.0}), local({"job": 1.0, "pay": 9.0}), True),
        (local({"job": 1.0, "pay": 9.0}), local({"job": 1.0}), False),
        (local({"job": 1.0}, unprotected=("sex",)), local({"job": 1.0}), True),
        (local({"job": 1.0}), local({"job": 1.0}, unprotected=("sex",)), False),
        (local({"job": 1.0}, unbounded=("pay",)), local({"job": 1.0}), True),
        (local({"job": 1.0}), local({"job": 1.0}, unbounded=("pay",)), False),
        (local({"job": 2.001}, rows_per_unit=2), local({"job": 1.0}), True),
        (local({"job": 1.999}, rows_per_unit=2), local({"job": 1.0}), False),
        (local({"job": 9.0}, rows_per_unit=3), local({"job": 1.0}, rows_per_unit=2), False),
        (local({"job": 1.0}), local({"job": 1.0}, given=("a",)), False),
    ],
)
def test_local_differential_privacy_within_another(stated, kept, is_within):
    """No larger epsilon of any attribute that is stated, and nothing more that is left uncovered."""
    assert stated.is_within(kept) is is_within


def amplified(gammas, **changes):
    """Amplification by attribute."""
    return Amplification(gamma_by_attribute=gammas, **changes)


@pytest.mark.parametrize(
    ("stated", "kept", "is_within"),
    [
        (amplified({"job": 5.0}), amplified({"job": 5.0}), True),
        (amplified({"job": 5.0}), amplified({"job": 5.1}), False),
        (amplified({"job": 5.0, "pay": 9.0}), amplified({"job": 5.0}), False),
        (amplified({"job": 5.0}), amplified({"job": 5.0, "pay": 9.0}), True),
        (amplified({"job": 5.0}, unbounded=("pay",)), amplified({"job": 5.0}), True),
        (amplified({"job": 5.0}), amplified({"job": 5.0}, unbounded=("pay",)), False),
        (amplified({"job": 5.0}), amplified({"job": 5.0}, given=("a",)), False),
    ],
)
def test_amplification_within_another(stated, kept, is_within):
    """No larger gamma of any attribute that is stated, and nothing more that is unbounded."""
    assert stated.is_within(kept) is is_within


def item(epsilon, **changes):
    """Local differential privacy of single items."""
    return ItemDifferentialPrivacy(epsilon=epsilon, **changes)


@pytest.mark.parametrize(
    ("stated", "kept", "is_within"),
    [
        (item(1.0), item(1.0), True),
        (item(1.0), item(1.1), False),
        (item(1.0), item(0.9), True),
        (item(None), item(0.9), True),
        (item(None), item(None), True),
        (item(1.0), item(None), False),
        (item(1.0), item(1.0, given=("a",)), False),
        (item(1.0, given=("a",)), item(1.0), True),
        (item(None), item(0.9, given=("a",)), False),
    ],
)
def test_privacy_of_items_within_another(stated, kept, is_within):
    """No larger epsilon; a promise of nothing is kept by every other, given no more."""
    assert stated.is_within(kept) is is_within


def crowd(k, **changes):
    """Semantic anonymity among so many."""
    return SemanticKAnonymity(k=k, **changes)


@pytest.mark.parametrize(
    ("stated", "kept", "is_within"),
    [
        (crowd(5), crowd(5), True),
        (crowd(5), crowd(6), True),
        (crowd(5), crowd(4), False),
        (crowd(5, epsilon=0.1), crowd(5, epsilon=0.1), True),
        (crowd(5, epsilon=0.1), crowd(5), True),
        (crowd(5), crowd(5, epsilon=0.1), False),
        (crowd(5, scope="each-column"), crowd(5), True),
        (crowd(5, scope="each-column"), crowd(5, scope="each-column"), True),
        (crowd(5), crowd(5, scope="each-column"), False),
        (crowd(5), crowd(5, whole_units=True), True),
        (crowd(5, whole_units=True), crowd(5, whole_units=True), True),
        (crowd(5, whole_units=True), crowd(5), False),
        (crowd(5), crowd(5, given=("a",)), False),
    ],
)
def test_semantic_anonymity_within_another(stated, kept, is_within):
    """Crowds as large, a factor no larger, of as much of a row, of as many rows, given no more."""
    assert stated.is_within(kept) is is_within


@pytest.mark.parametrize(
    ("stated", "kept", "is_within"),
    [
        ({"l_value": 2}, {"l_value": 2}, True),
        ({"l_value": 2}, {"l_value": 2.1}, True),
        ({"l_value": 2}, {"l_value": 1.9}, False),
        ({"l_value": 2, "variant": "distinct"}, {"l_value": 3}, False),
        (
            {"l_value": 2, "variant": "recursive", "c": 2},
            {"l_value": 3, "variant": "recursive", "c": 3},
            False,
        ),
        (
            {"l_value": 2, "variant": "recursive", "c": 2},
            {"l_value": 3, "variant": "recursive", "c": 2},
            True,
        ),
    ],
)
def test_diversity_within_another(stated, kept, is_within):
    """Of the same kind, of as many values."""
    promises = [LDiversity(attribute="job", **each) for each in (stated, kept)]
    assert promises[0].is_within(promises[1]) is is_within


# Two attributes of gamma 3: a row has 9, a root of 3, so beliefs grow by (3 - 1) / (3 + 1), and 0.1 becomes 0.5.
OF_ROWS = amplified({"job": 3.0, "pay": 3.0})


@pytest.mark.parametrize(
    ("stated", "premises", "follows"),
    [
        (BeliefGrowth(growth=0.5), [OF_ROWS], True),
        (BeliefGrowth(growth=0.4999), [OF_ROWS], False),
        (BeliefGrowth(growth=0.5), [], False),
        (BeliefGrowth(growth=0.5), [amplified({"job": 99.0}), OF_ROWS], True),
        (BeliefGrowth(growth=0.5), [local({"job": 0.01})], False),
        (BeliefGrowth(growth=0.5), [OF_ROWS.under(["a"])], False),
        (BeliefGrowth(growth=0.5, given=("a",)), [OF_ROWS.under(["a"])], True),
        (BeliefGrowth(growth=0.999), [amplified({"job": 3.0}, unbounded=("pay",))], False),
        (BeliefBound(prior=0.1, posterior=0.5), [OF_ROWS], True),
        (BeliefBound(prior=0.1, posterior=0.499), [OF_ROWS], False),
        (BeliefBound(prior=0.1, posterior=0.5), [], False),
        (BeliefBound(prior=0.1, posterior=0.5), [amplified({"job": 99.0}), OF_ROWS], True),
        (BeliefBound(prior=0.1, posterior=0.5), [local({"job": 0.01})], False),
        (BeliefBound(prior=0.1, posterior=0.5), [OF_ROWS.under(["a"])], False),
        (BeliefBound(prior=0.1, posterior=0.5, given=("a",)), [OF_ROWS.under(["a"])], True),
        (BeliefBound(prior=0.1, posterior=0.999), [amplified({"job": 3.0}, unbounded=("pay",))], False),
    ],
)
def test_what_is_promised_of_beliefs_follows_from_the_amplification_of_whole_rows(stated, premises, follows):
    """From any one premise that is an amplification, given no more."""
    assert stated.follows_from(premises, None) is follows


def test_a_promise_follows_from_one_of_its_own_kind():
    """Whichever of several it is; another kind, however strong, says nothing."""
    stated = crowd(5, given=("a",))
    assert stated.follows_from([item(0.1), crowd(4), crowd(6)], None)
    assert not stated.follows_from([item(0.1), crowd(4)], None)
    assert not stated.follows_from([crowd(6, given=("a", "b"))], None)


def test_conditions_are_each_named_once():
    """In the order in which they came; a promise is under what it was given, and no more."""
    promise = item(1.0, given=("a", "b")).under(["b", "c"])
    assert promise.given == ("a", "b", "c")
    assert promise.is_under(["c", "a"])
    assert promise.is_under([])
    assert not promise.is_under(["a", "d"])


ATTRIBUTES = tuple(
    Attribute(name=name, role=Role.SENSITIVE, categories=tuple("abc")[:size])
    for name, size in (("sex", 2), ("age", 3), ("job", 3), ("pay", 2))
)


def test_a_class_promise_follows_from_those_about_the_same_attribute():
    """What is promised of pay says nothing of jobs; no table of seven rows has three values that are equally frequent."""
    published = SimpleNamespace(
        schema=Schema(attributes=ATTRIBUTES), tables=[SimpleNamespace(number_of_rows=7)]
    )
    jobs = LDiversity(attribute="job", l_value=2)
    weak_pay = LDiversity(attribute="pay", l_value=1.5)
    weak_jobs = LDiversity(attribute="job", l_value=1.5)
    assert jobs.follows_from([jobs, weak_pay], published)
    assert not jobs.follows_from([weak_jobs], published)
    assert not jobs.model_copy(update={"l_value": 3.0}).follows_from([], published)
    assert not LDiversity(attribute="town", l_value=1).follows_from([], published)
    names = tuple(each.name for each in ATTRIBUTES)
    assert KAnonymity(k=7, quasi_identifiers=names).follows_from([], published)
    assert not KAnonymity(k=8, quasi_identifiers=names).follows_from([], published)
    assert not KAnonymity(k=7, quasi_identifiers=(*names, "town")).follows_from([], published)
    # Spread evenly they are 3, 2 and 2: a share of 3/7, so at most 7/3.
    assert jobs.model_copy(update={"l_value": 2.33}).follows_from([], published)
    assert not jobs.model_copy(update={"l_value": 2.34}).follows_from([], published)


def test_classes_are_compared_with_all_of_them_together():
    """Three classes of two values, each as the whole table is."""
    counts = np.array([[1, 3], [1, 3], [2, 6]])
    assert TCloseness(attribute="pay", t=0.01).holds_for(counts)
    assert not TCloseness(attribute="pay", t=0.01).holds_for(np.array([[1, 3], [3, 1], [2, 6]]))


def test_whose_data_differential_privacy_is_about():
    """Rows, units of several, whole units: the manifest says which."""
    assert "3 rows" in private(rows_per_unit=3).describe()["protected_unit"]
    assert private().describe()["protected_unit"] == DifferentialPrivacy.protected_unit
    assert private(whole_units=True).describe()["protected_unit"] == WHOLE_UNIT


def test_the_risk_is_held_against_the_bounds_of_the_sensitive_attribute():
    """It is the last of three axes, whatever the others are called like."""
    sex, age, job, _ = ATTRIBUTES
    counts = np.arange(1.0, 19.0).reshape(2, 3, 3)
    promise = ReconstructionRisk(
        sensitive="job", quasi_identifiers=("sex", "age"), bound=0.8, bound_by_value={"a": 0.2}
    )
    matrices = [None, None, TwoValued(0.6, 0.2)]
    risks = reconstruction_risks(counts, matrices)
    largest = (risks / np.array([0.2, 0.8, 0.8])).max()
    assert promise.relative_risk(CountTable((sex, age, job), counts), matrices) == pytest.approx(largest)


@pytest.mark.parametrize(
    ("one", "other", "is_within"),
    [
        ({}, {}, True),
        ({"given": ("a",)}, {}, True),
        ({}, {"given": ("a",)}, False),
        ({"given": ("a", "b")}, {"given": ("b", "a")}, True),
        ({"largest_small_count": 4}, {"largest_small_count": 5}, False),
        ({"given": ("a",), "largest_small_count": 4}, {"largest_small_count": 5}, False),
    ],
)
def test_a_promise_without_an_order_follows_from_the_same_one_alone(one, other, is_within):
    """Number for number, and given no more than it takes as known itself."""
    fields = {"gamma_by_attribute": {"job": 3}, "relative_error": 0.5, "largest_small_count": 4}
    first, second = (SmallSumPrivacy(**{**fields, **each}) for each in (one, other))
    assert first.is_within(second) == is_within
