"""Between what means, variances and quantiles lie when counts are known within bounds only.

Each follows from counts of sets of categories. A law knows the bounds of such a set by itself, and they are narrower than those of its
categories added up: where two categories were published as one, the rows of both together are known.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from sfumato.analysis.within_bounds import shares_between
from sfumato.laws.asking import answer, binding
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates
from sfumato.values.predicate import Predicate
from sfumato.values.selection import Selection, Tabulation

if TYPE_CHECKING:
    from sfumato.release.release import Release

Sets = Callable[[frozenset[int]], tuple[float, float]]
"""The least and the most rows that have one of some categories."""

STEPS = 40
"""Parts of the range of a mean at whose ends a variance is looked for."""


def sets_of(release: Release, name: str, where: str) -> Sets:
    """Bounds of sets of an attribute's categories, as the law has them."""
    among = Predicate.parse(where, release.schema)

    @functools.cache
    def between(codes: frozenset[int]) -> tuple[float, float]:
        if not codes:
            return 0.0, 0.0
        chosen = among & Predicate((Selection(((name, tuple(sorted(codes))),)),))
        asked = tuple(binding(Tabulation(where=each), release.schema) for each in chosen.parts)
        # Bounds need no covariance, which takes most of the time.
        found = answer(release.law.formula(release, asked), asked, "table", largest_covariance=0)
        low, high = found.ends()
        return float(low.sum()), float(high.sum())

    return between


def sets_of_cells(counts: Estimates) -> Sets:
    """Bounds of sets of categories from those of each of them."""
    low, high = counts.ends()

    def between(codes: frozenset[int]) -> tuple[float, float]:
        places = list(codes)
        return float(low[places].sum()), float(high[places].sum())

    return between


def mean_between(sets: Sets, codes: Iterable[int], scores: Floats) -> tuple[float, float]:
    """The least and the most that a mean of scores can be.

    Parameters
    ----------
    sets
        Bounds of sets of codes.
    codes, scores
        Of the categories that count, and what for.

    Notes
    -----
    A mean can be t when the sum of what scores are above t, less what they are below it, can be 0. That sum is one over thresholds, of rows at
    or beyond each: it is largest with as many rows as may be beyond thresholds above t, and as few as must be beyond those below.
    It is linear in t between two scores.

    Examples
    --------
    Ten rows of 0 or 1, of which two to seven are 1:

    >>> def sets(codes):
    ...     return {0: (0, 0), 1: (3, 8), 2: (2, 7), 3: (10, 10)}[sum(1 << code for code in codes)]
    >>> [round(each, 9) for each in mean_between(sets, (0, 1), np.array([0.0, 1.0]))]
    [0.2, 0.7]
    """
    chosen = list(codes)
    return -_largest_mean(sets, chosen, -scores), _largest_mean(sets, chosen, scores)


def _largest_mean(sets: Sets, codes: list[int], scores: Floats) -> float:
    levels = np.unique(scores)
    at = {
        level: frozenset(code for code, own in zip(codes, scores, strict=True) if own == level)
        for level in levels
    }
    above = np.array(
        [sets(frozenset().union(*(at[each] for each in levels[place:])))[1] for place in range(levels.size)]
    )
    below = np.array(
        [
            sets(frozenset().union(*(at[each] for each in levels[: place + 1])))[0]
            for place in range(levels.size)
        ]
    )
    steps = np.diff(levels)
    sums = np.array(
        [
            float((steps[place:] * above[place + 1 :]).sum()) - float((steps[:place] * below[:place]).sum())
            for place in range(levels.size)
        ]
    )
    reached = int(np.flatnonzero(sums >= 0)[-1])
    if reached == levels.size - 1:
        return float(levels[-1])
    if math.isinf(sums[reached]):
        return float(levels[reached + 1])
    return float(levels[reached] + steps[reached] * sums[reached] / (sums[reached] - sums[reached + 1]))


def variance_between(sets: Sets, codes: Iterable[int], scores: Floats) -> tuple[float, float]:
    """The least and the most that a variance of scores can be.

    Notes
    -----
    A variance is the least mean square around any number, and the mean square around one that is at most h from the mean is at most
    h squared more. So every number gives an upper end, and numbers along the range of the mean a lower one.
    """
    from scipy.optimize import minimize_scalar

    chosen = list(codes)

    def squares(center: float) -> tuple[float, float]:
        return mean_between(sets, chosen, np.square(scores - center))

    low, high = mean_between(sets, chosen, scores)
    if low == high:
        return squares(low)
    centers, half = np.linspace(low, high, STEPS + 1), (high - low) / STEPS / 2
    least = max(min(squares(each)[0] for each in centers) - half**2, 0.0)
    most = minimize_scalar(
        lambda each: squares(each)[1], bounds=(scores.min(), scores.max()), method="bounded"
    )
    return least, float(most.fun)


def quantile_between(
    sets: Sets, codes: Iterable[int], edges: Floats, share: float, slack: float
) -> tuple[float, float]:
    """The least and the most that a quantile of bins can be, rows within a bin being spread evenly.

    Parameters
    ----------
    sets, codes
        Bounds of sets of codes, and the bins in their order.
    edges
        One more than bins.
    share
        Of rows below.
    slack
        By how much the share below may differ from it by chance.
    """
    least, most = _shares_up_to(sets, list(codes))
    # The share below a number is at most the line through the most that it can be at the edges, and at least that through the least.
    first = _crossing(most, edges, share - slack, is_first=True)
    return first, _crossing(least, edges, share + slack, is_first=False)


def category_between(sets: Sets, codes: Iterable[int], share: float, slack: float) -> tuple[int, int]:
    """First and last place that the first category with at least a share of the rows up to it can have."""
    least, most = _shares_up_to(sets, list(codes))
    last = least.size - 2
    return (
        min(int(np.argmax(most[1:] >= share - slack)) if (most[1:] >= share - slack).any() else last, last),
        min(int(np.argmax(least[1:] >= share + slack)) if (least[1:] >= share + slack).any() else last, last),
    )


def _shares_up_to(sets: Sets, codes: list[int]) -> tuple[Floats, Floats]:
    """The least and the most that shares of the rows up to each category can be, nobody first, ``(categories + 1,)`` each."""
    upto = [sets(frozenset(codes[:place])) for place in range(len(codes) + 1)]
    beyond = [sets(frozenset(codes[place:])) for place in range(len(codes) + 1)]
    part, rest = (tuple(np.array(each).T) for each in (upto, beyond))
    low, high = shares_between((part[0], part[1]), (rest[0], rest[1]))
    low[0], high[0], low[-1], high[-1] = 0.0, 0.0, 1.0, 1.0
    return low, high


def _crossing(shares: Floats, edges: Floats, share: float, *, is_first: bool) -> float:
    """Where a line through shares at edges first reaches one, or last has not passed it."""
    rising = np.maximum.accumulate(shares)
    if share <= 0 or share >= 1:
        return float(edges[0] if share <= 0 else edges[-1])
    place = int(np.searchsorted(rising, share, side="left" if is_first else "right"))
    place = min(max(place, 1), edges.size - 1)
    span = rising[place] - rising[place - 1]
    part = (share - rising[place - 1]) / span if span > 0 else (0.0 if is_first else 1.0)
    return float(edges[place - 1] + min(max(part, 0.0), 1.0) * (edges[place] - edges[place - 1]))
