"""Counts of categories that stand for numbers, and what is certain of them where they are known within bounds only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sfumato.analysis.asking import CellCounts
from sfumato.analysis.number_ranges import (
    Sets,
    category_between,
    mean_between,
    quantile_between,
    variance_between,
)
from sfumato.analysis.scores import Scores
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates, normal_quantile

_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class ScoredCounts:
    """Estimated counts of the categories that have a score.

    Parameters
    ----------
    cells
        What was asked for.
    counts, numbers, codes
        Those with a score, their scores and their codes.
    sets
        Bounds of sets of codes, where counts are known within bounds only.
    """

    cells: CellCounts
    counts: Estimates
    numbers: Scores = field(default_factory=lambda: Scores(_NONE, _NONE, _NONE))
    codes: tuple[int, ...] = ()
    sets: Sets | None = None

    def _known(self) -> Sets:
        assert self.sets is not None
        return self.sets

    @property
    def _least_rows(self) -> float:
        """Rows that there are for certain."""
        return max(self._known()(frozenset(self.codes))[0], 1.0)

    def mean_within(self, scores: Floats, target: Target, confidence_level: float) -> tuple[float, float]:
        """Ends of a mean of counts within bounds; about a population with the largest error that a draw of such rows can have."""
        low, high = mean_between(self._known(), self.codes, scores)
        if target == "table":
            return low, high
        most = variance_between(self._known(), self.codes, scores)[1]
        reach = normal_quantile(confidence_level) * math.sqrt(most / self._least_rows)
        return max(low - reach, float(scores.min())), min(high + reach, float(scores.max()))

    def variance_within(self, target: Target, confidence_level: float) -> tuple[float, float]:
        """The same of a variance."""
        low, high = variance_between(self._known(), self.codes, self.numbers.values)
        if target == "table":
            return low, high
        middle = float(self.numbers.values @ self.counts.values / self.counts.values.sum())
        squares = np.square(self.numbers.values - middle)
        most = variance_between(self._known(), self.codes, squares)[1]
        # A draw lowers a variance by its share of one row on average.
        reach = (
            normal_quantile(confidence_level) * math.sqrt(most / self._least_rows) + high / self._least_rows
        )
        # No variance is larger than that of halves at both ends.
        return max(low - reach, 0.0), min(high + reach, float(np.ptp(self.numbers.values)) ** 2 / 4)

    def quantile_within(
        self, share: float, target: Target, half_width: float
    ) -> tuple[float, float, tuple[float, float] | None]:
        """The same of a quantile, and of the bins around: how much the share below may differ by chance is known without any count."""
        drawn = math.sqrt(share * (1 - share) / self._least_rows) if target == "population" else 0.0
        slack = half_width * drawn
        values = self.numbers.values
        if not self.numbers.is_binned:
            order = np.argsort(values)
            first, last = category_between(self._known(), [self.codes[each] for each in order], share, slack)
            return float(values[order[first]]), float(values[order[last]]), None
        edges = np.append(self.numbers.lows, self.numbers.highs[-1])
        low, high = quantile_between(self._known(), self.codes, edges, share, slack)
        return low, high, bins_around(edges, low, high)


def bins_around(edges: Floats, low: float, high: float) -> tuple[float, float]:
    """Where the bins begin and end that hold two numbers."""
    last_bin = edges.size - 2
    first = int(np.clip(np.searchsorted(edges, low, side="right") - 1, 0, last_bin))
    last = int(np.clip(np.searchsorted(edges, high, side="left") - 1, 0, last_bin))
    return float(edges[first]), float(edges[last + 1])
