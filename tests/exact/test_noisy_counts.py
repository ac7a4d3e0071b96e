"""Noisy counts on all tiny tables: no promise states less than is true, and noise of another scale is caught."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from exact.enumeration import exponential
from exact.holding import (
    TooStrongError,
    factor,
    hold,
    hold_ratio,
    mechanism,
)
from exact.tiny_tables import COUNTS, pairs_by, promise_of, schema_of
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace


@pytest.mark.parametrize("name", list(COUNTS))
def test_noisy_counts(name):
    """Two categories, up to two people; ratios are those of the noise, whose scale is the number that is drawn with."""
    schema = schema_of(jobs=2, people=2)
    design = COUNTS[name]
    private = promise_of(design, schema, DifferentialPrivacy)
    # Of two tables all noise is enumerated together: one person is enough.
    pairs = pairs_by(private.relation, schema, 1 if name == "two tables" else 2)
    true = hold_ratio(private, factor(private.epsilon), mechanism(design, schema), pairs)
    assert float(true) >= float(factor(private.epsilon)) * 0.5


def test_noise_of_another_scale_is_caught(monkeypatch):
    """Sabotage: one part in a million less noise."""
    schema = schema_of(jobs=2, people=2)
    design = COUNTS["replacing"]
    private = promise_of(design, schema, DifferentialPrivacy)
    noises = NoisyMarginals.noises

    def less(self, known):
        return tuple(DiscreteLaplace(scale=each.scale * (1 - 1e-6)) for each in noises(self, known))

    monkeypatch.setattr(NoisyMarginals, "noises", less)
    with pytest.raises(TooStrongError):
        hold_ratio(
            private, factor(private.epsilon), mechanism(design, schema), pairs_by("replace-one", schema, 1)
        )


def gaussian(scale, reach=60):
    """Probabilities of discrete Gaussian noise to sixty digits; what lies beyond the reach is below 1e-100."""
    weights = {
        k: exponential(-Fraction(k * k) / (2 * Fraction(scale) ** 2)) for k in range(-reach, reach + 1)
    }
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def gaussian_delta(design, schema):
    """Smallest delta at the stated epsilon for one row replaced: two cells of one table change by one each."""
    (noise,) = design.noises(schema)
    assert isinstance(noise, DiscreteGaussian)
    law = gaussian(noise.scale, reach=math.ceil(14 * noise.scale))
    growth = exponential(Fraction(design.epsilon))
    excess = Fraction(0)
    for first, p in law.items():
        for second, q in law.items():
            there = law.get(first + 1, Fraction(0)) * law.get(second - 1, Fraction(0))
            excess += max(p * q - growth * there, Fraction(0))
    return excess


def test_gaussian_noise_keeps_its_delta():
    """By all outputs of two cells; the noise is more than it needs to be, since rho gives delta by a bound."""
    schema = schema_of(jobs=2, people=2)
    design = NoisyMarginals(epsilon=2.0, delta=1e-2, mechanism="discrete-gaussian", marginals=(("job",),))
    private = promise_of(design, schema, DifferentialPrivacy)
    true = gaussian_delta(design, schema)
    hold(Fraction(private.delta), true, "delta")
    assert true > Fraction(private.delta) / 100
    with pytest.raises(TooStrongError):
        hold(true * Fraction(99, 100), true, "delta")
