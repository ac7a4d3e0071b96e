"""Matrices of count publishing to compare with, in fractions: how likely a row that occurs i times is published j times.

The epsilon-private one (Li and Li, eq. 3) would have to publish rows that nobody has; plain sampling stands beside it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

Number = TypeVar("Number", float, Fraction)


def exact_release_probabilities(
    growth: Fraction, ratio: Fraction, delta: Fraction, k: int, largest: int
) -> list[Fraction]:
    """Eq. 5 in rational numbers, for counts 0..largest; ``growth`` is exp(epsilon).

    Examples
    --------
    >>> some = exact_release_probabilities(Fraction(4), Fraction(1, 2), Fraction(1, 10), 2, 6)
    >>> [str(each) for each in some]
    ['0', '0', '1/10', '1/5', '2/5', '4/5', '19/20']
    """
    appears = [Fraction(0)] * k + [min(delta, 1 - 1 / growth)]
    while len(appears) <= largest:
        appears.append(min(1 - (1 - appears[-1]) / growth, ratio * growth * appears[-1]))
    return appears[: largest + 1]


def geometric_matrix(ratio: Number, count: int, largest: int) -> list[Number]:
    """Row of the epsilon-private matrix (eq. 3): the two-sided geometric mechanism cut at 0.

    Its row 0 is not degenerate: every row that could exist would have to be drawn for. Theorem 3 says
    that no matrix with a degenerate row 0 is epsilon-private, unless it publishes nothing.

    Examples
    --------
    >>> [str(each) for each in geometric_matrix(Fraction(1, 2), 1, 3)]
    ['1/3', '1/3', '1/6', '1/12']
    """
    first = ratio**count / (1 + ratio)
    share = (1 - ratio) / (1 + ratio)
    return [first] + [share * ratio ** abs(count - copies) for copies in range(1, largest + 1)]


def geometric_mean(ratio: Number, count: int) -> Number:
    """Expected published count of matrix (3): ``i + r^(i+1) / (1 - r^2)``.

    Examples
    --------
    >>> str(geometric_mean(Fraction(1, 2), 3))
    '37/12'
    """
    return count + ratio ** (count + 1) / (1 - ratio**2)


def sampling_matrix(rate: Number, count: int, largest: int) -> list[Number]:
    """Row of plain sampling: each copy published with the same probability, independently.

    Examples
    --------
    >>> [str(each) for each in sampling_matrix(Fraction(1, 5), 2, 2)]
    ['16/25', '8/25', '1/25']
    """
    return [
        math.comb(count, copies) * rate**copies * (1 - rate) ** (count - copies)
        if copies <= count
        else 0 * rate
        for copies in range(largest + 1)
    ]


def sampling_delta(rate: float, count: int, epsilon: float) -> float:
    """Smallest delta that sampling gives a row that occurs ``count`` times, pointwise.

    One row more or less changes the probability of j copies by ``i (1-q) / (i-j)``, so outputs above
    ``i (1 - (1-q) exp(-epsilon))`` copies are unsafe; 1 when even no copy at all is.

    Examples
    --------
    >>> [f"{sampling_delta(0.1, count, 1.0):.3g}" for count in (1, 2, 5, 10)]
    ['0.1', '0.01', '0.00046', '9.12e-06']
    """
    from scipy.special import bdtrc

    if 1 - rate < math.exp(-epsilon):
        return 1.0
    return float(bdtrc(math.floor(count * (1 - (1 - rate) * math.exp(-epsilon)) + 1e-12), count, rate))
