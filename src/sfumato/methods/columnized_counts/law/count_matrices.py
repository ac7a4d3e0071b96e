"""Matrices of count publishing, row by row: how likely a row that occurs i times is published j times.

The practical one (Li and Li, eq. 4) never shows rows that occur fewer than k times; the epsilon-private
one (eq. 3) would have to publish rows that nobody has; plain sampling stands beside them for comparison.
The functions take :class:`fractions.Fraction` as well as floats, so that worked examples are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

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


def matrix_row(
    count: int, largest: int, k: int, ratio: Number, appears: Number, left_out: Number
) -> list[Number]:
    """Row of eq. 4: probabilities of publishing 0..largest copies.

    Examples
    --------
    >>> row = matrix_row(3, 4, 2, Fraction(1, 2), Fraction(1, 5), Fraction(4, 5))
    >>> [str(each) for each in row]
    ['4/5', '0', '1/15', '1/15', '1/30']
    """
    row = [left_out] + [0 * ratio] * largest
    if count >= k:
        for copies in range(k, largest + 1):
            # What would fall to k or below is published as k: the sum of a geometric tail.
            share = 1 / (1 + ratio) if copies == k else (1 - ratio) / (1 + ratio)
            row[copies] = share * ratio ** abs(count - copies) * appears
    return row


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


def total_noise(published: Sequence[int] | npt.NDArray[Any], count: int) -> float:
    """Mean of ``|published - true| / true`` over rows that occur ``count`` times.

    Examples
    --------
    >>> total_noise([0, 0, 18, 22], 20)
    0.55
    """
    return float(np.mean(np.abs(np.asarray(published, np.float64) - count)) / count)
