"""A statement of a law tested, and bounds of the probability that chance alone deviates as far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.values.arrays import Integers

SPREADS = (0.25, 0.5, 0.75, 0.95)
"""Shares of the noise within the distances at which its size is tested."""


class Noise(Protocol):
    """What is asked of a law of noise here."""

    def half_width(self, confidence_level: float) -> float:
        """Distance within which so much of it lies."""

    def tail(self, distance: float) -> float:
        """Probability that it lies at least so far from zero."""


@dataclass(frozen=True)
class TruthCheck:
    """One statement of a law, tested.

    Parameters
    ----------
    about
        What was tested.
    p_value
        Probability of a deviation as large, at most, were the law true; 0 where it is impossible.
    sentence
        The numbers.
    """

    about: str
    p_value: float
    sentence: str


def bernstein(observed: float, expected: float, variance: float, largest: float = 1.0) -> float:
    """Upper bound of the probability that a sum of independent terms lies so far from its mean, on either side.

    Parameters
    ----------
    observed, expected, variance
        Of the sum.
    largest
        How far any term can lie from its mean.

    Examples
    --------
    >>> bernstein(600, 500, 250) < 1e-7, bernstein(510, 500, 250) > 0.5
    (True, True)
    """
    distance = abs(observed - expected)
    # A hair for rounding in sums of many terms.
    distance = max(0.0, distance - 1e-9 * max(1.0, abs(expected)))
    if distance == 0:
        return 1.0
    return min(1.0, 2 * float(np.exp(-(distance**2) / (2 * (variance + largest * distance / 3)))))


def binomial(successes: int, trials: int, probability: float) -> float:
    """Two-sided exact p-value: twice the smaller tail.

    Examples
    --------
    >>> round(binomial(5, 10, 0.5), 6), binomial(0, 100, 0.5) < 1e-20
    (1.0, True)
    """
    from scipy.stats import binom

    low = float(binom.cdf(successes, trials, probability))
    high = float(binom.sf(successes - 1, trials, probability))
    return min(1.0, 2 * min(low, high))


def positive_noise(excess: float, number: int, ratio: float) -> float:
    """Upper bound of the probability that the positive parts of so many two-sided geometric draws add up to as much.

    Parameters
    ----------
    excess
        The sum, or less.
    number
        Of draws.
    ratio
        ``P(g) = (1 - r) / (1 + r) r^|g|``.

    Examples
    --------
    A hundred draws of ratio 1/2 have a mean sum of 66.7, and add up to 200 hardly ever.

    >>> positive_noise(60, 100, 0.5), positive_noise(200, 100, 0.5) < 1e-6
    (1.0, True)
    """
    if excess <= 0 or number == 0:
        return 1.0 if excess <= 0 else 0.0
    # E exp(s G+) = 1/(1+r) + (1-r)/(1+r) r e^s / (1 - r e^s), for 0 <= s < -log r.
    steps = -np.log(ratio) * np.linspace(0, 1, 200, endpoint=False)
    grown = ratio * np.exp(steps)
    moments = (1 + (1 - ratio) * grown / (1 - grown)) / (1 + ratio)
    return float(min(1.0, np.exp(np.min(number * np.log(moments) - steps * excess))))


def noise_within(about: str, errors: Integers, noise: Noise) -> Iterator[TruthCheck]:
    """How many noises lie within distances of stated probability: exact binomials."""
    if not errors.size:
        return
    seen = set()
    for share in SPREADS:
        distance = int(noise.half_width(share))
        if distance in seen:
            continue
        seen.add(distance)
        inside = 1 - noise.tail(distance + 1)
        number = int((np.abs(errors) <= distance).sum())
        yield TruthCheck(
            f"noise of {about} within {distance}",
            binomial(number, errors.size, inside),
            f"{number:,} of {errors.size:,} counts lie within {distance} of the true ones, expected are "
            f"{inside * errors.size:,.1f}.",
        )
