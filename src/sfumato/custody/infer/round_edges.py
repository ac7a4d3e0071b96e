"""Round numbers around a range, so that bins hide where exactly the data begin and end."""

from __future__ import annotations

import math
from fractions import Fraction

WANTED_BINS = 9
"""How many bins are aimed at; steps of 1, 2 or 5 times a power of ten come near it."""

MANTISSAS = (1, 2, 5)

FINEST = Fraction(1, 10**12)
"""Shortest range that is divided, in relation to its numbers: labels of bins show fifteen digits."""


def round_edges(low: float, high: float) -> tuple[float, ...]:
    """Edges of equally wide bins that cover a range, at multiples of 1, 2 or 5 times a power of ten.

    The first edge is at most ``low`` and the last one above ``high``, since bins are half-open.

    Parameters
    ----------
    low, high
        The range; high must be above low.

    Examples
    --------
    >>> round_edges(17, 90)
    (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
    >>> round_edges(0.031, 0.42)
    (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
    """
    if not low < high:
        raise ValueError("the range must have a length.")
    # Fractions: a step such as 0.05 is no float, and its multiples must still come out as written.
    lowest, highest = Fraction(low), Fraction(high)
    step = _round_step(max(highest - lowest, FINEST * max(abs(lowest), abs(highest))))
    first, last = math.floor(lowest / step), math.floor(highest / step) + 1
    edges = [float(place * step) for place in range(first, last + 1)]
    # The last edge may have been rounded down onto the largest value; and one bin alone says nothing.
    while edges[-1] <= high or len(edges) < 3:
        last += 1
        edges.append(float(last * step))
    return tuple(edges)


def _round_step(span: Fraction) -> Fraction:
    """The step whose number of bins is nearest to the wanted one, as a ratio."""
    exponent = math.floor(math.log10(span / WANTED_BINS))
    candidates = [
        mantissa * Fraction(10) ** power for power in (exponent, exponent + 1) for mantissa in MANTISSAS
    ]
    return min(candidates, key=lambda step: abs(math.log(span / step / WANTED_BINS)))
