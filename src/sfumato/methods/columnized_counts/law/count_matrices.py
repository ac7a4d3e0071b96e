"""A row of the practical matrix of count publishing (Li and Li, eq. 4).

It takes :class:`fractions.Fraction` as well as floats, so that worked examples are exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

Number = TypeVar("Number", float, Fraction)


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
