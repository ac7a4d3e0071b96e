"""When one promise is kept because another is: worked out by hand, each at its edge."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.chance.distortion import TwoValued
from sfumato.guarantees.amplification import Amplification
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.guarantees.l_diversity import LDiversity
from sfumato.guarantees.local_differential_privacy import LocalDifferentialPrivacy
from sfumato.guarantees.reconstruction_risk import ReconstructionRisk, reconstruction_risks
from sfumato.values.counts import CountTable
from sfumato.values.schema import Attribute, Role, Schema


def test_a_unit_of_three_rows_has_three_epsilons_and_a_delta_that_grows():
    """K epsilon, and k exp((k - 1) epsilon) delta: 3 e 1e-6 at epsilon 1/2."""
    found = DifferentialPrivacy(epsilon=0.5, delta=1e-6).for_units(3)
    assert found.epsilon == pytest.approx(1.5)
    assert found.delta == pytest.approx(3 * math.e * 1e-6)
    assert found.rows_per_unit == 3


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
