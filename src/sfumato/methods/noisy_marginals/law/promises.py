"""What noise of stated scales promises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

from sfumato.chance.noise import DiscreteGaussian, DiscreteNoise, scale_at_least
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, Neighbours, marginal_sensitivity


def promises_of_noise(
    marginals: Sequence[DiscreteNoise], answers: Sequence[DiscreteNoise], delta: float
) -> tuple[DifferentialPrivacy, ...]:
    """Differential privacy of noisy tables and answers together, for each relation between neighbours.

    Parameters
    ----------
    marginals
        Noise of every cell of each table, in one cell of which every row is.
    answers
        Noise of each answer. One row changes an answer by one at most, be it added or replaced.
    delta
        At which epsilon is stated where the noise gives no pure one.

    Notes
    -----
    Discrete Laplace noise of scale b on what a row changes by D costs ``D / b``; the costs add up. With a
    discrete Gaussian among them the costs in rho add up: ``D / (2 s^2)`` of a Gaussian of scale s, half the square of
    epsilon of the others (Bun and Steinke 2016, propositions 4, 6 and 7).

    Examples
    --------
    >>> from sfumato.chance.noise import DiscreteLaplace
    >>> [each.epsilon for each in promises_of_noise([DiscreteLaplace(scale=4.0)], [], 0.0)]
    [0.5, 0.25]
    """
    return tuple(_promise(marginals, answers, delta, relation) for relation in get_args(Neighbours))


def _promise(
    marginals: Sequence[DiscreteNoise],
    answers: Sequence[DiscreteNoise],
    delta: float,
    relation: Neighbours,
) -> DifferentialPrivacy:
    changed = marginal_sensitivity(1, relation)
    changes = [*((noise, changed) for noise in marginals), *((noise, 1) for noise in answers)]
    gaussian = [(noise, change) for noise, change in changes if isinstance(noise, DiscreteGaussian)]
    epsilons = [
        change / Fraction(noise.scale) for noise, change in changes if not isinstance(noise, DiscreteGaussian)
    ]
    if not gaussian:
        return DifferentialPrivacy(epsilon=scale_at_least(sum(epsilons, Fraction(0))), relation=relation)
    spent = sum((change / (2 * Fraction(noise.scale) ** 2) for noise, change in gaussian), Fraction(0))
    rho = scale_at_least(spent + sum((each**2 / 2 for each in epsilons), Fraction(0)))
    at = delta or 1e-6
    # Bun and Steinke 2016, proposition 3; the promise's own comparison finds a smaller epsilon where there is one.
    return DifferentialPrivacy(
        epsilon=rho + 2 * math.sqrt(rho * math.log(1 / at)), delta=at, rho=rho, relation=relation
    )
