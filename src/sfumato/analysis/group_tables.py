"""Tables of groups and classes, and whether what they are classified by could be independent within groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.analysis.asking import keep_cells
from sfumato.analysis.residuals import ResidualTest, judge_residuals
from sfumato.errors import NoSolutionError
from sfumato.values.arrays import Floats, Integers
from sfumato.values.estimates import Estimates


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Counts of groups and classes, flattened with the groups first.

    Parameters
    ----------
    counts
        With the whole ``table`` covariance.
    codes
        Of every cell, its group and its class on each side, ``(1 + sides, cells)``.
    """

    counts: Estimates
    codes: Integers

    def without_empty_classes(self) -> GroupTable:
        """Classes that surely have no row, within a group or at all, say nothing, and no margin of theirs is divided by.

        Raises
        ------
        NoSolutionError
            When no row is there.
        """
        is_empty = (self.counts.values == 0) & (self.counts.variances == 0)
        groups, kept = self.codes[0], np.ones(is_empty.size, dtype=bool)
        for own in self.codes[1:]:
            filled = np.zeros((int(groups.max()) + 1, int(own.max()) + 1), dtype=bool)
            filled[groups[~is_empty], own[~is_empty]] = True
            kept &= filled[groups, own]
        if kept.all():
            return self
        if not kept.any():
            raise NoSolutionError(
                "there is no test of independence: no row is there. Ask about conditions that rows satisfy.",
                reason="undefined",
            )
        return GroupTable(keep_cells(self.counts, kept), self.codes[:, kept])

    def fitted(self) -> Floats:
        """What independence within groups makes of the counts: the product of shares, times the group."""
        values, groups = self.counts.values, self.codes[0]
        totals = np.bincount(groups, values)
        fitted = totals[groups]
        for own in self.codes[1:]:
            margins = np.zeros((totals.size, int(own.max()) + 1))
            np.add.at(margins, (groups, own), values)
            fitted = fitted * margins[groups, own] / totals[groups]
        return np.asarray(fitted)

    def judge(self) -> ResidualTest:
        """Test whether the sides could be independent within groups; every margin must be positive."""
        return judge_residuals(self.counts, self.fitted(), self._columns())

    def _columns(self) -> Floats:
        """Indicators of every group with every class of each side, ``(cells, p)``."""
        groups = self.codes[0]
        columns = [
            (groups == group) & (own == place)
            for own in self.codes[1:]
            for group in np.unique(groups)
            for place in np.unique(own)
        ]
        return np.array(columns, dtype=float).T
