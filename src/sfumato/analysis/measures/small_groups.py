"""Ranges of measures that divide by a group which noise hardly tells from nobody."""

from __future__ import annotations

import math

import numpy as np

from sfumato.analysis.asking import Crossed, show_count
from sfumato.analysis.differentiation import Formula, differentiate
from sfumato.analysis.measures.declarations import Measure
from sfumato.analysis.measures.noise import of_counts
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.divided import LOOSE
from sfumato.values.score_intervals import heavier_quantiles

MOST_NAMED = 3
"""Groups that a note names."""

STEEPER = 200.0
"""Times that slopes must grow where a group is a thousandth: those of ratios grow a thousand times, those of roots of ratios 32."""


def beyond_small_groups(
    ends: tuple[float, float], raw: float, declared: Measure, table: Crossed, half_width: float
) -> tuple[float, float]:
    """Ends of a number that may divide by a group of few: as far as Fieller's interval, and without an end where it may be nobody.

    Parameters
    ----------
    ends, raw
        The ends so far, and the number.
    declared, table
        A measure that does not grow with noise, and what it is of.
    half_width
        In standard errors.

    Notes
    -----
    To first order a ratio has an error as if the divisor b were known. The numbers d with ``(h - d b)^2 <= z^2 Var(h - d b)``, h the error of
    the ratio times b, are those between the roots of a quadratic: with g the looseness and ``c = z^2 Cov(ratio, b) / b`` they lie
    ``(c + sqrt(c^2 + (1 - g) r^2)) / (1 - g)`` below and as much with -c above, r being the reach so far. On the logarithm's scale the group
    is a term, which reaches as much further as the logarithm of the lower end of its interval does.

    References
    ----------
    Fieller, E. C. (1954). Some problems in interval estimation. JRSS B 16, 175-185.
    """
    formula, groups, loose = of_counts(declared, table.shape), _groups(table), looseness(table, half_width)
    places = [each for each in np.flatnonzero(loose > LOOSE) if _is_divisor(formula, table, groups[each] > 0)]
    if not places:
        return ends
    loosest = max(places, key=lambda place: float(loose[place]))
    left = 1 - float(loose[loosest])
    if left <= 0:
        return -math.inf, math.inf
    if declared.scale == "logarithm":
        half = math.sqrt(1 - left)
        further = -math.log1p(-half) / half
        return raw - further * (raw - ends[0]), raw + further * (ends[1] - raw)
    gradient = differentiate(formula, table.counts.values)
    assert table.counts.covariance is not None
    together = float(gradient @ np.nan_to_num(table.counts.covariance) @ groups[loosest])
    lean = half_width**2 * together / float(groups[loosest] @ table.counts.values)

    def reach(so_far: float, lean: float) -> float:
        return max(so_far, (lean + math.sqrt(lean**2 + left * so_far**2)) / left)

    return raw - reach(raw - ends[0], lean), raw + reach(ends[1] - raw, -lean)


def looseness(table: Crossed, half_width: float) -> Floats:
    """Square of the half-width by the number of rows, of the groups of the rows and then of the columns, ``(rows + columns,)``.

    From 1 on a group may be of nobody. Only noise is looked at: a group of whom some were drawn is not nobody in the population either.
    """
    groups = table.counts.linear(_groups(table))
    reaches, values = half_width * groups.standard_errors, np.maximum(groups.values, 0)
    by_nobody = np.where(reaches > 0, np.inf, 0.0)
    return np.asarray(np.square(np.divide(reaches, values, out=by_nobody, where=values > 0)))


def perhaps_nobody(table: Crossed, half_width: float) -> list[str]:
    """The groups that may be of nobody, in words, with their estimates: the loosest first, and how many more there are.

    Of noise with heavier tails than normal ones reach further, as ranges do.
    """
    places = [(side, each) for side in table.sides for each in range(len(side.labels))]
    whole = table.counts.linear(_groups(table))
    reach = float(np.max(heavier_quantiles(half_width, whole.variances, whole.fourth_cumulants)))
    loose, groups = looseness(table, reach), _groups(table)
    found = [each for each in np.argsort(-loose, kind="stable") if loose[each] >= 1]
    named = [
        f"rows with {places[each][0].describe(places[each][1])} are estimated as {show_count(table.counts, groups[each])}"
        for each in found[:MOST_NAMED]
    ]
    left = len(found) - len(named)
    return [*named, f"{left} others likewise"] if left else named


def _is_divisor(formula: Formula, table: Crossed, group: Booleans) -> bool:
    """Whether a formula divides by a group: its slopes then grow as the group gets smaller.

    Others move by the root, or less the fewer there are: the association of three rows with anything is no strong one.
    """
    counts = table.counts.values

    def steepness(left: float) -> float:
        place = np.where(group, left * counts, counts)
        return float(np.abs(differentiate(formula, place)[group]).max())

    return steepness(1e-6) > STEEPER * steepness(1e-3)


def _groups(table: Crossed) -> Floats:
    """Which cells are of each row, and of each column, ``(rows + columns, cells)``."""
    sides = zip(np.indices(table.shape).reshape(2, -1), table.shape, strict=True)
    return np.array([codes == place for codes, size in sides for place in range(size)], dtype=float)
