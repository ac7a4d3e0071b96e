"""Bins for numbers that are not spread evenly: round edges, no empty bin, no bin with most of the rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from sfumato.custody.infer.round_edges import round_edges
from sfumato.values.arrays import Floats

MOST_OF_THE_ROWS = 0.4
"""A bin with a larger share is cut, unless one value alone has that share."""

WANTED_BINS = 8
"""Bins that quantiles are taken for."""

MOST_DIGITS = 4
"""Digits that edges may have before a crowded bin is accepted."""


def spread_edges(values: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """Round edges that give every bin its share of the rows.

    Equally wide bins where they do; else edges near the quantiles, with as few digits as keep bins from
    being crowded. A value that many rows have gets a bin of its own.

    Parameters
    ----------
    values
        Increasing and finite: at least two.
    weights
        How many rows have each.

    Examples
    --------
    >>> spread_edges(range(17, 91), [1] * 74)
    (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
    >>> incomes = [round(900 * 1.02**step) for step in range(300)]
    >>> spread_edges(incomes, [1] * 300)
    (900.0, 2000.0, 4000.0, 8000.0, 20000.0, 40000.0, 80000.0, 200000.0, 400000.0)
    """
    numbers, rows = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    even = round_edges(float(numbers[0]), float(numbers[-1]))
    if not _is_crowded(even, numbers, rows) and (_shares(even, numbers, rows) > 0).all():
        return even
    for digits in range(1, MOST_DIGITS + 1):
        edges = _merged(_near_quantiles(numbers, rows, digits), numbers, rows)
        if len(edges) > 2 and not _is_crowded(edges, numbers, rows):
            break
    return edges if len(edges) > 2 else even


def without_empty_bins(edges: Sequence[float], counts: Sequence[int]) -> tuple[float, ...]:
    """Edges without those between an empty bin and the smaller of its neighbours.

    Examples
    --------
    >>> without_empty_bins((0, 1, 2, 3), (5, 0, 2))
    (0, 1, 3)
    """
    kept, rows = list(edges), list(counts)
    while len(rows) > 2 and 0 in rows:
        place = rows.index(0)
        neighbours = [each for each in (place - 1, place + 1) if 0 <= each < len(rows)]
        other = min(neighbours, key=lambda each: rows[each])
        low = min(place, other)
        rows[low : low + 2] = [rows[place] + rows[other]]
        del kept[low + 1]
    return tuple(kept)


def _shares(edges: Sequence[float], numbers: Floats, rows: Floats) -> Floats:
    counts = np.histogram(numbers, bins=[*edges[:-1], math.inf], weights=rows)[0]
    return np.asarray(counts / rows.sum())


def _is_crowded(edges: Sequence[float], numbers: Floats, rows: Floats) -> bool:
    """Whether a bin holds most of the rows although they are of several values."""
    for share, (low, high) in zip(_shares(edges, numbers, rows), itertools.pairwise(edges), strict=True):
        inside = (numbers >= low) & (numbers < high)
        if share > MOST_OF_THE_ROWS and inside.sum() > 1:
            return True
    return False


def _merged(edges: Sequence[float], numbers: Floats, rows: Floats) -> tuple[float, ...]:
    counts = np.histogram(numbers, bins=[*edges[:-1], math.inf], weights=rows)[0]
    return without_empty_bins(edges, [math.ceil(count) for count in counts])


def _near_quantiles(numbers: Floats, rows: Floats, digits: int) -> list[float]:
    """Increasing edges: rounded quantiles, rounded ends, and both sides of every value that many rows have."""
    is_heavy = rows / rows.sum() > MOST_OF_THE_ROWS / 2
    # Quantiles of the others: a value that stands alone would else take most of them.
    others = np.where(is_heavy & ~is_heavy.all(), 0.0, rows)
    reached = np.cumsum(others) / others.sum()
    places = np.searchsorted(reached, np.arange(1, WANTED_BINS) / WANTED_BINS)
    low, high = float(numbers[0]), float(numbers[-1])
    wanted = {_rounded(float(numbers[place]), digits) for place in places}
    for place in np.flatnonzero(is_heavy):
        alone = float(numbers[place])
        wanted.add(alone)
        if place + 1 < numbers.size:
            wanted.add(_between(alone, float(numbers[place + 1])))
    # Bins are half-open: the last edge must be above the largest value.
    above = math.nextafter(high, math.inf)
    last = max(_rounded(above, digits, up=True), above)
    first = min(_rounded(low, digits, down=True), low)
    return sorted({first, *(edge for edge in wanted if first < edge < last), last})


def _rounded(number: float, digits: int, *, up: bool = False, down: bool = False) -> float:
    """A number of so many significant digits near another one."""
    if number == 0:
        return 0.0
    step = digits - 1 - math.floor(math.log10(abs(number)))
    scaled = number * 10.0**step if step <= 300 else number
    chosen = math.ceil(scaled) if up else math.floor(scaled) if down else round(scaled)
    # Through text, so that 3 / 10 comes out as 0.3.
    return float(f"{chosen}e{-step}") if step <= 300 else number


def _between(low: float, high: float) -> float:
    """The number of fewest digits above one number and not above another."""
    for digits in range(1, 17):
        rounded = _rounded(high, digits, down=True)
        if low < rounded <= high:
            return rounded
    return high
