"""Ranges of measures of cells that are known within bounds only, such as those of generalized categories or of rows left out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from sfumato.analysis.differentiation import Formula
from sfumato.analysis.within_bounds import are_loose, beyond
from sfumato.laws import Target
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.estimates import Estimates

MOST_LOOSE = 12
"""Cells between bounds up to which corners are looked at; of more a measure has its whole range."""


def beyond_bounds(
    ends: tuple[float, float], value: float, formula: Formula, counts: Estimates, target: Target
) -> tuple[float, float]:
    """Ends that hold a measure whatever the cells are within their bounds.

    The estimate of such a cell rests on an assumption, and so does its error; its bounds do not. About a table of which every cell is certain
    they are all there is to say. Else what chance adds is added to them.

    Parameters
    ----------
    ends, value
        The ends so far, and the number.
    formula, counts
        Of counts, and which.
    target
        What the ends are about.
    """
    loose = are_loose(counts)
    if not loose.any():
        return ends
    return beyond(ends, value, extremes(formula, counts.values, *counts.ends(), loose), counts, target)


def extremes(
    formula: Formula, values: Floats, low: Floats, high: Floats, loose: Booleans
) -> tuple[float, float]:
    """The least and the most of a formula over a box of some of its numbers; infinite where it is undefined at a corner, or corners are too many.

    Most measures go up or down with every single cell, so that they are largest at a corner. From the corner that is largest the way
    up is followed besides, as for leverage, which has its largest value between corners.

    Examples
    --------
    >>> share = lambda x: x[0] / (x[0] + x[1])
    >>> low, high = np.array([10.0, 30.0]), np.array([20.0, 30.0])
    >>> [round(each, 9) for each in extremes(share, (low + high) / 2, low, high, low < high)]
    [0.25, 0.4]
    """
    places = np.flatnonzero(loose)
    box = list(zip(low[places].tolist(), high[places].tolist(), strict=True))
    if places.size > MOST_LOOSE or not np.isfinite(box).all():
        return -math.inf, math.inf

    def at(chosen: Floats) -> Floats:
        place = values.copy()
        place[places] = chosen
        return place

    def number(chosen: Floats) -> float:
        return float(np.real(formula(at(chosen) + 0j)))

    corners = [np.array(each) for each in itertools.product(*box)]
    with np.errstate(all="ignore"):
        found = np.array([number(each) for each in corners])
        if np.isnan(found).any():
            return -math.inf, math.inf
        best = {sign: corners[int(np.argmin(sign * found))] for sign in (1, -1)}
        # The search stops where a number of about one hardly moves any more.
        unit = float(np.ptp(found)) or 1.0
        if math.isinf(unit):
            return number(best[1]), number(best[-1])
        least, most = (sign * unit * _way_down(number, sign / unit, best[sign], box) for sign in (1, -1))
    return least, most


def _way_down(
    number: Callable[[Floats], float], factor: float, start: Floats, box: list[tuple[float, float]]
) -> float:
    """The least of a number times a factor that is reached from a corner by going down within a box."""
    from scipy.optimize import minimize

    def scaled(place: Floats) -> float:
        return factor * number(place)

    first = scaled(start)
    reached = float(minimize(scaled, start, bounds=box, method="L-BFGS-B", tol=1e-14).fun)
    return min(first, reached) if math.isfinite(reached) else first
