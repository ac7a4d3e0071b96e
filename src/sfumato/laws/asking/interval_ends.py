"""Ends of the intervals of a law's answers: worked out when they are asked for, and able to travel without the release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.laws.asking.binomial import binomial_limits
from sfumato.laws.asking.few_steps import FewSteps
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.estimates import Limits, normal_quantile
from sfumato.values.score_intervals import heavier_quantiles, score_limits
from sfumato.values.terms import Terms


@dataclass(eq=False)
class Spread:
    """Variances that intervals start from, and how much each changes with its count for each row, ``(n,)`` each.

    Most answers are never asked for it. What it is worked out from, a release, stays behind when it is pickled.
    """

    work_out: Callable[[], tuple[Floats, Floats]] = field(repr=False)

    @cached_property
    def both(self) -> tuple[Floats, Floats]:
        """Variances and slopes."""
        return self.work_out()

    def __getstate__(self) -> dict[str, Any]:
        return {"both": self.both}


@dataclass(frozen=True, eq=False)
class Skews:
    """Covariance of each estimate with its estimated variance, ``(n,)``."""

    spread: Spread
    variances: Floats

    def __call__(self) -> Floats:
        """Variances times their slopes."""
        return self.spread.both[1] * self.variances


@dataclass(frozen=True, eq=False)
class IntervalEnds:
    """Ends of intervals by confidence level: score intervals, save where a law knows better or only a draw is unsure.

    Parameters
    ----------
    values, spread, fourth_cumulants, wholes
        Estimates, how they vary, and the known counts that they are a part of.
    known
        What a law knows of the cells of each tabulation, and how many these are.
    drawn, least, most, rows
        Which numbers have no error but that of drawing so many rows from a population, and between what the table's
        own numbers of them lie. About a table no number is drawn, and its rows are infinitely many.
    parts
        What was added up to these numbers, where some of it takes few values.
    """

    values: Floats
    spread: Spread
    fourth_cumulants: Floats | None
    known: Sequence[tuple[int, Limits | None]]
    drawn: Booleans
    least: Floats
    most: Floats
    rows: float
    wholes: Floats
    parts: Terms | None = None

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        low, high = self.smooth(confidence_level)
        few = self._few_ends(confidence_level)
        return np.where(np.isnan(few[0]), low, few[0]), np.where(np.isnan(few[1]), high, few[1])

    def few(self, confidence_level: float, *, is_part: bool) -> tuple[Floats, Floats]:
        """How far intervals reach of numbers that take few values; as parts of a combination only where they hardly vary. Not a number of all others."""
        low, high = self._few_ends(confidence_level)
        if is_part:
            is_told = np.zeros(self.values.size, bool)
            for place, each in self._stepwise():
                is_told[place] = each.hardly_varies()
            low, high = np.where(is_told, low, np.nan), np.where(is_told, high, np.nan)
        return self.values - low, high - self.values

    def _few_ends(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Ends of numbers that take few values; not a number of all others."""
        if self.parts is not None:
            few, (low, high) = self.parts.few(confidence_level, is_part=False), self.smooth(confidence_level)
            return np.minimum(self.values - few[0], low), np.maximum(self.values + few[1], high)
        low, high = np.full(self.values.size, np.nan), np.full(self.values.size, np.nan)
        for place, each in self._stepwise():
            low[place], high[place] = each(confidence_level)
        return low, high

    def _stepwise(self) -> Iterator[tuple[slice, FewSteps]]:
        """What is known of numbers that may take few values, and where these are."""
        first = 0
        for number, each in self.known:
            if isinstance(each, FewSteps):
                yield slice(first, first + number), each
            first += number

    def smooth(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Ends as if no number took few values."""
        variances, slopes = self.spread.both
        quantiles = heavier_quantiles(normal_quantile(confidence_level), variances, self.fourth_cumulants)
        low, high = score_limits(self.values, variances, slopes, quantiles, self.wholes)
        first = 0
        for number, each in self.known:
            if each is not None and not isinstance(each, FewSteps):
                place = slice(first, first + number)
                found_low, found_high = each(confidence_level)
                low[place] = np.where(np.isnan(found_low), low[place], found_low)
                high[place] = np.where(np.isnan(found_high), high[place], found_high)
            first += number
        if self.drawn.any():
            # What the table has for certain is still a draw of the population's.
            least, most = self.least[self.drawn], self.most[self.drawn]
            low[self.drawn], high[self.drawn] = binomial_limits(least, most, self.rows, confidence_level)
        return low, high
