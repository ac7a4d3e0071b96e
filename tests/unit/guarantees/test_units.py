"""Promises for units of several rows: what they state, what follows from them, and what does not compose."""

from __future__ import annotations

import math

import pytest

from sfumato.errors import ParameterError
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, LocalDifferentialPrivacy, compose


def local(epsilon, **fields):
    """Local privacy of one attribute."""
    return LocalDifferentialPrivacy(epsilon_by_attribute={"job": epsilon}, **fields)


def test_units_of_units_multiply():
    """Three units of two rows each are units of six."""
    assert local(0.5).for_units(2).for_units(3).rows_per_unit == 6
    assert local(0.5).for_units(2).for_units(3).epsilon == pytest.approx(3.0)
    found = DifferentialPrivacy(epsilon=0.5, rho=0.01, delta=1e-6).for_units(2).for_units(3)
    assert (found.rows_per_unit, found.epsilon, found.rho) == (6, pytest.approx(3), pytest.approx(0.36))


def test_a_promise_for_four_rows_follows_from_one_for_two():
    """Twice its epsilon, not four times."""
    assert local(2.001, rows_per_unit=4).is_within(local(1.0, rows_per_unit=2))
    assert not local(1.999, rows_per_unit=4).is_within(local(1.0, rows_per_unit=2))
    four, two = (DifferentialPrivacy(epsilon=each / 2 + 0.001, rows_per_unit=each) for each in (4, 2))
    assert four.is_within(DifferentialPrivacy(epsilon=1.0, rows_per_unit=2))
    assert not four.is_within(two.model_copy(update={"epsilon": 1.1}))


@pytest.mark.parametrize("promise", [local(0.5), DifferentialPrivacy(epsilon=0.5)], ids=["local", "central"])
def test_a_manifest_names_the_unit(promise):
    """Two rows are a unit already; one row is a row."""
    assert "at most 2 rows" in promise.for_units(2).describe()["protected_unit"]
    assert "unit" not in promise.describe()["protected_unit"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"rows_per_unit": 2}, {"rows_per_unit": 3}),
        ({"whole_units": True}, {"whole_units": False}),
    ],
)
def test_promises_about_different_units_do_not_compose(first, second):
    """Either difference is enough."""
    with pytest.raises(ParameterError, match="about the same units"):
        compose([DifferentialPrivacy(epsilon=0.5, **each) for each in (first, second)])


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.3), (500.0, 1e-5), (500.0, 1e-300)])
def test_a_delta_that_says_nothing_of_a_unit_is_refused(epsilon, delta):
    """Three e^2 of 0.3 is above one; so is whatever a float can hold of e^1000."""
    with pytest.raises(ParameterError, match="says nothing about a unit of 3 rows"):
        DifferentialPrivacy(epsilon=epsilon, delta=delta).for_units(3)


def test_a_delta_of_just_below_one_still_says_something():
    """Two rows at delta 0.49 and hardly any epsilon."""
    assert DifferentialPrivacy(epsilon=1e-9, delta=0.49).for_units(2).delta == pytest.approx(0.98)
    with pytest.raises(ParameterError):
        DifferentialPrivacy(epsilon=1e-9, delta=0.5).for_units(2)
    # Rounded up, twice the number below a half is one.
    with pytest.raises(ParameterError):
        DifferentialPrivacy(epsilon=1e-300, delta=math.nextafter(0.5, 0)).for_units(2)
