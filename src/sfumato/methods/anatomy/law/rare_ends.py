"""Intervals of counts of few rows in buckets, at levels beyond 95 %: errors of such counts lean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.laws.asking.interval_ends import Spread
from sfumato.methods.anatomy.law.composition import BucketComposition
from sfumato.values.arrays import Floats
from sfumato.values.estimates import normal_quantile

BEGINS, WHOLE = 0.95, 0.99
"""Levels from which on intervals lean, and at which they do so in full. Up to the first normal ones hold what they say."""


@dataclass(frozen=True, eq=False)
class RareEnds:
    """Intervals that know, at levels beyond 95 %, how errors are dealt where the truth would be, and lean as they do.

    Parameters
    ----------
    values
        The estimates, ``(n,)``.
    spread
        Gives their variances, and third moments by variances, ``(n,)`` each.
    usual
        Gives what the numbers would be if no value were more frequent in a cell than elsewhere, and their variances there.

    Notes
    -----
    Of Cornish and Fisher's quantile ``z + g (z^2 - 1) / 6`` with the skewness g, the second term is ``(z^2 - 1) / 6`` times the third moment
    by the variance, in rows. It matters little at 95 %; at 99.8 %, which each of 28 intervals has that hold together, it is more than a row of a
    count of nobody, whose estimate is a row too many for every bucket in which the value meets a row of the cell by chance.

    An estimate that is far too large says besides that its variance is small, because the cell would have few rows of other values. So
    the end toward the usual number is judged by the variance there: it changes evenly on the way to the usual one, and no further.

    Examples
    --------
    >>> usual = Spread(lambda: (np.array([0.5]), np.array([0.5])))
    >>> ends = RareEnds(np.array([2.7]), Spread(lambda: (np.array([0.4]), np.array([0.7]))), usual)
    >>> [round(float(ends(level)[0][0]), 2) for level in (0.99, 0.998)]
    [0.26, -0.48]
    """

    values: Floats
    spread: Spread
    usual: Spread

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends; not a number up to 95 % and without a variance: normal intervals are as good there."""
        nothing = np.full(self.values.size, np.nan)
        if confidence_level <= BEGINS:
            return nothing, nothing.copy()
        half, first, last = (normal_quantile(each) for each in (confidence_level, BEGINS, WHOLE))
        part = min((half - first) / (last - first), 1.0)
        variances, slopes = self.spread.both
        lean = part * (half**2 - 1) / 6 * slopes
        reach = half * np.sqrt(variances)
        usual, there = self.usual.both
        away = self.values - usual
        rise = np.divide(there - variances, np.abs(away), out=np.zeros_like(reach), where=away != 0)
        middle = half**2 * np.maximum(rise, 0) / 2
        toward = np.minimum(middle + np.sqrt(middle**2 + reach**2), half * np.sqrt(there))
        more = part * np.maximum(toward - reach, 0)
        low = self.values - reach - np.maximum(lean, 0) - np.where(away > 0, more, 0)
        high = self.values + reach - np.minimum(lean, 0) + np.where(away < 0, more, 0)
        return np.where(variances > 0, low, nothing), np.where(variances > 0, high, nothing)


def moments_of_cells(buckets: BucketComposition, inside: Floats, outputs: Floats) -> tuple[Floats, Floats]:
    """Variances of estimates, and their third moments by their variances, ``(cells, outputs)`` each.

    Parameters
    ----------
    buckets
        The composition.
    inside
        Rows of each value in each cell, ``(cells, values)``.
    outputs
        What ``A'Km`` is multiplied with, ``(outputs, values)``.

    Notes
    -----
    Rows of a value are a simple random sample of its places, each of which counts a known number ``c``. Of x places of f the sum has the variance
    ``x (f - x) / (f - 1)`` times that of c over the places, and the third moment ``x (f - x) (f - 2 x) / ((f - 1) (f - 2))`` times its.
    """
    second, third = buckets.moments_of_places(outputs)
    totals = buckets.totals.astype(np.float64)
    drawn = inside * (totals - inside) / np.maximum(totals - 1, 1)
    # A value of one row has no spread, and two places of which one is drawn lean to neither side.
    variances = np.clip((drawn * (totals > 1)) @ second, 0, None)
    moments = (drawn * (totals > 2) * (totals - 2 * inside) / np.maximum(totals - 2, 1)) @ third
    # Less than this is rounding: a row counts about as much as the outputs are large.
    is_known = variances > 1e-9 * np.maximum(np.abs(outputs).max(), 1.0) ** 2
    return variances, np.asarray(np.divide(moments, variances, out=np.zeros_like(moments), where=is_known))
