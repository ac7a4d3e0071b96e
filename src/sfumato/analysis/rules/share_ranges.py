"""Shares of rows that have all items of sets, with ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.analysis.routine import Leaning
from sfumato.analysis.within_bounds import are_loose, shares_between
from sfumato.laws import Target
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.certainty import Certainties, Certainty
from sfumato.values.estimates import Estimates


@dataclass(frozen=True, eq=False)
class ShareRanges:
    """Supports of sets, and what their ranges need.

    Parameters
    ----------
    shares
        By chance alone.
    ends
        The least and the most that supports may be where counts lie within bounds only, with what chance adds to each.
    loose
        Which these are, ``(sets,)``.
    certainty
        What each support claims, ``(sets,)``.
    """

    shares: Leaning
    ends: tuple[Leaning, Leaning]
    loose: Booleans
    certainty: Certainties

    @classmethod
    def of(cls, counts: Estimates, whole: Estimates, target: Target) -> ShareRanges:
        """From numbers of rows about the table, and the number of all rows.

        Where a count, or the number of rows, is known within bounds only, the estimate rests on an assumption and its error does too:
        the range then is from the least share that the bounds allow to the most, about a population with the draw of the rows.
        """
        rows = float(whole.values[0])
        shares = _drawn(counts.values / rows, counts.variances / rows**2, rows, target)
        loose = are_loose(counts) | (are_loose(whole) & (counts.certainty >= Certainty.BOUNDED))
        least, most = (float(each[0]) for each in whole.ends())
        low, high = counts.ends()
        # Rows without the set: all but those that have it.
        rest = np.maximum(least - high, 0.0), np.maximum(most - low, 0.0)
        nothing = np.zeros(loose.size)
        ends = [
            _drawn(np.where(loose, each, shares.values), nothing, max(least, 1.0), target)
            for each in shares_between((low, high), rest)
        ]
        claims = np.minimum(counts.certainty, whole.certainty[0])
        if target == "population":
            claims = np.minimum(claims, np.int8(Certainty.ESTIMATED))
        return cls(shares, (ends[0], ends[1]), loose, claims)

    def reaching(self, half_width: float) -> tuple[Floats, Floats]:
        """Ends of ranges of so many standard errors; what is certain holds at every level."""
        low, high = self.shares.reaching(half_width)
        least, most = self.ends[0].reaching(half_width)[0], self.ends[1].reaching(half_width)[1]
        return np.where(self.loose, least, low), np.where(self.loose, most, high)

    def keep(self, places: Integers) -> ShareRanges:
        """Of some sets."""
        shares, least, most = (
            Leaning(each.values[places], each.variances[places], each.slopes[places])
            for each in (self.shares, *self.ends)
        )
        return ShareRanges(shares, (least, most), self.loose[places], self.certainty[places])


def _drawn(shares: Floats, variances: Floats, rows: float, target: Target) -> Leaning:
    """Shares of so many rows, with the variance of their draw about a population."""
    variances, skews = variances * rows**2, np.zeros(shares.size)
    if target == "population":
        # Drawing rows from a population: the variance of a share among so many, and no less than the draw of one row.
        drawn = np.clip(shares * (1 - shares), 1 / rows, None) * rows
        variances, skews = variances + drawn, drawn * (1 - 2 * np.clip(shares, 0, 1))
    slopes = np.divide(skews, variances, out=np.zeros_like(skews), where=variances > 0)
    return Leaning(shares, variances / rows**2, slopes / rows)
