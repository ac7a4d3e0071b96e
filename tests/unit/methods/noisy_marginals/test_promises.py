"""What noise of stated scales promises, worked out by hand."""

from __future__ import annotations

import math

import pytest

from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.guarantees.k_anonymity import LDiversity
from sfumato.methods.noisy_marginals.law import NoisyCounts, promises_of_noise
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace


def by_relation(marginals, answers, delta=0.0):
    """The promises by relation."""
    return {each.relation: each for each in promises_of_noise(marginals, answers, delta)}


def test_laplace_noise_adds_up():
    """A replaced row changes two cells of a table by one, an added one one; an answer changes by one either way."""
    found = by_relation(
        [DiscreteLaplace(scale=4.0), DiscreteLaplace(scale=8.0)], [DiscreteLaplace(scale=2.0)]
    )
    assert found["replace-one"].epsilon == pytest.approx(2 / 4 + 2 / 8 + 1 / 2)
    assert found["add-remove"].epsilon == pytest.approx(1 / 4 + 1 / 8 + 1 / 2)
    assert found["replace-one"].rho is None


def test_a_gaussian_among_them_makes_all_of_them_cost_rho():
    """Squares of changes over twice the variance, and half the square of a Laplace epsilon."""
    found = by_relation(
        [DiscreteGaussian(scale=2.0), DiscreteLaplace(scale=4.0)],
        [DiscreteGaussian(scale=3.0), DiscreteLaplace(scale=5.0)],
        delta=1e-5,
    )
    expected = {
        "replace-one": 2 / (2 * 4) + (2 / 4) ** 2 / 2 + 1 / (2 * 9) + (1 / 5) ** 2 / 2,
        "add-remove": 1 / (2 * 4) + (1 / 4) ** 2 / 2 + 1 / (2 * 9) + (1 / 5) ** 2 / 2,
    }
    for relation, rho in expected.items():
        assert found[relation].rho == pytest.approx(rho)
        assert found[relation].delta == 1e-5
        assert found[relation].epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)))


def test_without_a_delta_a_gaussian_s_epsilon_is_stated_at_one_in_a_million():
    """Rho = 1/2 of one answer with a scale of 1."""
    found = by_relation([], [DiscreteGaussian(scale=1.0)])["add-remove"]
    assert (found.rho, found.delta) == (0.5, 1e-6)
    assert found.epsilon == pytest.approx(0.5 + 2 * math.sqrt(0.5 * math.log(1e6)))


@pytest.mark.parametrize(("rows", "relations"), [(None, {"replace-one", "add-remove"}), (7, {"replace-one"})])
def test_a_stated_number_of_rows_tells_whether_one_is_there(rows, relations):
    """So nothing is promised of tables that have a row more or less."""
    law = NoisyCounts(
        marginals=(
            {"table": "a", "attributes": ("sex",), "sizes": (2,), "noise": DiscreteLaplace(scale=4.0)},
        ),
        number_of_rows=rows,
    )
    stated = DifferentialPrivacy(epsilon=1.0)
    assert {each.relation for each in law.promises(None, stated)} == relations


@pytest.mark.parametrize(
    ("stated", "delta"),
    [(DifferentialPrivacy(epsilon=1.0, delta=1e-5), 1e-5), (LDiversity(attribute="job", l_value=2), 1e-6)],
)
def test_a_law_promises_by_the_noise_of_its_tables_and_answers(stated, delta):
    """A replaced row is in two cells of a table and changes an answer by one: rho = 2 / (2 * 4) + 1 / (2 * 9).

    Epsilon is stated at the delta of the promise in question, or at one in a million.
    """
    law = NoisyCounts(
        marginals=(
            {"table": "a", "attributes": ("sex",), "sizes": (2,), "noise": DiscreteGaussian(scale=2.0)},
        ),
        answers=({"question": "sex = 'F'", "count": 7, "noise": DiscreteGaussian(scale=3.0)},),
        number_of_rows=20,
    )
    (found,) = law.promises(None, stated)
    assert found.rho == pytest.approx(2 / (2 * 4) + 1 / (2 * 9))
    assert found.delta == delta
