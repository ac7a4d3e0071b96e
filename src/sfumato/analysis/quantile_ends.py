"""Quantiles of estimated counts, and the numbers that could be the quantile: those whose share below is not rejected."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.analysis.scored_counts import bins_around
from sfumato.analysis.scores import Scores
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates

Found = tuple[float, float, float, tuple[float, float] | None]
"""A quantile, the ends of its interval, and the ends wherever rows lie within their bins."""

PARTS_OF_A_BIN = 32
"""In which it is looked for what is kept of a bin, besides the place where the share is met; ends are then found to the last digit."""


def variance_of_draw(share: float, at: float, below: float, within: float, rows: float) -> float:
    """Variance of the rows below a point, less the share of all, in drawn tables where the point is the quantile.

    Parameters
    ----------
    share
        Of the quantile.
    at
        Where the point lies in its bin, from 0 to 1; 1 where all of a category counts.
    below, within, rows
        Rows in bins below, in the bin, and all; estimates may be negative, all rows are not.

    Notes
    -----
    A row counts 1 below the bin, ``at`` in it and 0 above. In a population whose mean of these is the share s, a bin of share p leaves
    a variance of ``s (1 - s) - at (1 - at) p`` for each row: that of the sign test at ends of bins, whatever was drawn. The
    counts themselves would give a table with nobody above the point hardly any variance, and reject the top always. For p, rows are added
    above the point (or below it) until the share is met: those of the bin and below it (above it) keep their proportion.

    Examples
    --------
    Thirty rows of which none lies above: ``30 * 0.95 * 0.05``, and not ``30 * 0.05 ** 2``.

    >>> round(variance_of_draw(0.95, 1.0, 20.0, 10.0, 30.0), 4)
    1.425
    """
    counted = below + at * within
    kept = share / counted if counted >= share * rows else (1 - share) / (rows - counted)
    # More than these, and the bin by itself would hold more than the share below the point, or above it.
    most = min(share / max(at, share), (1 - share) / max(1 - at, 1 - share))
    return rows * (share * (1 - share) - at * (1 - at) * min(max(kept * within, 0.0), most))


def quantile_of_bins(
    counts: Estimates, numbers: Scores, share: float, half_width: float, target: Target
) -> Found:
    """Where the share is met, rows being spread evenly within bins; kept are all points that could be there.

    Parameters
    ----------
    counts, numbers
        Of the bins, from the lowest on.
    share
        Of the rows below.
    half_width
        Of the interval, in standard errors.
    target
        What the interval is about.
    """
    from scipy.optimize import isotonic_regression

    edges = np.append(numbers.lows, numbers.highs[-1])
    below = np.concatenate([[0.0], np.cumsum(counts.values)])
    rising = np.clip(isotonic_regression(below).x, 0, below[-1])
    value = float(np.interp(share * below[-1], rising, edges))
    kept = [
        (place, at)
        for place in range(counts.values.size)
        for at in _kept_within(counts, place, share, half_width, target)
    ]
    ends = [float(edges[place] + at * (edges[place + 1] - edges[place])) for place, at in kept]
    low, high = min([*ends, value]), max([*ends, value])
    return value, low, high, bins_around(edges, low, high)


def _kept_within(
    counts: Estimates, place: int, share: float, half_width: float, target: Target
) -> list[float]:
    """The lowest and the highest point of a bin (0 to 1) that are not rejected, or none."""
    weights = np.tile(np.where(np.arange(counts.values.size) < place, 1.0, 0.0), (3, 1))
    weights[:, place] = 0.0, 0.5, 1.0
    start, middle, end = counts.linear(weights - share).variances
    below, within = float(counts.values[:place].sum()), float(counts.values[place])
    rows = float(counts.values.sum())

    def margin(at: float) -> float:
        # Rows below a point of the bin are linear in the point, and the law's variance is quadratic.
        variance = start + (end - start) * at - 2 * (start + end - 2 * middle) * at * (1 - at)
        if target == "population":
            variance += variance_of_draw(share, at, below, within, rows)
        return float(half_width**2 * variance - (below + at * within - share * rows) ** 2)

    points = np.linspace(0, 1, PARTS_OF_A_BIN + 1).tolist()
    if within:
        met = (share * rows - below) / within
        points = sorted([*points, min(max(met, 0.0), 1.0)])
    kept = [place for place, at in enumerate(points) if margin(at) >= 0]
    if not kept:
        return []
    first, last = kept[0], kept[-1]
    low = _last_kept(margin, points[first], points[max(first - 1, 0)])
    return [low, _last_kept(margin, points[last], points[min(last + 1, len(points) - 1)])]


def _last_kept(margin: Callable[[float], float], kept: float, beyond: float) -> float:
    """The point next to one that is rejected, between it and one that is kept."""
    while kept != beyond:
        middle = (kept + beyond) / 2
        if middle in (kept, beyond):
            break
        kept, beyond = (middle, beyond) if margin(middle) >= 0 else (kept, middle)
    return kept


def quantile_of_numbers(
    counts: Estimates, numbers: Scores, share: float, half_width: float, target: Target
) -> Found:
    """The first number with at least that share of rows up to it; kept are those that could be it.

    Parameters as for :func:`quantile_of_bins`; numbers may come in any order.
    """
    order = np.argsort(numbers.values)
    kept = []
    value = float(numbers.values[order[-1]])
    is_found = False
    upto = np.zeros(counts.values.size)
    before = -math.inf, 0.0
    for place in order:
        upto[place] = 1.0
        excess, error = _excess(counts, upto, share, target)
        if not is_found and excess >= 0:
            value, is_found = float(numbers.values[place]), True
        if excess >= -half_width * error and before[0] <= half_width * before[1]:
            kept.append(float(numbers.values[place]))
        before = excess, error
    return value, min([*kept, value]), max([*kept, value]), None


def _excess(counts: Estimates, upto: Floats, share: float, target: Target) -> tuple[float, float]:
    """Rows up to a number less the share of all, and the standard error where that number is the quantile."""
    combined = counts.linear(upto[None, :] - share)
    variance = float(combined.variances[0])
    if target == "population":
        variance += variance_of_draw(share, 1.0, float(upto @ counts.values), 0.0, float(counts.values.sum()))
    return float(combined.values[0]), math.sqrt(variance)
