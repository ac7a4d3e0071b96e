"""Intervals of combinations of estimates, from those of the terms on either side of the minus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Floats
from sfumato.values.score_intervals import score_limits

if TYPE_CHECKING:
    from sfumato.values.estimates import Estimates


@dataclass(frozen=True, eq=False)
class Terms:
    """Estimates and the weights, ``(k, n)``, with which combinations add and subtract them.

    Of a difference of two counts that rest on few rows each, a variance says too little: samples that happen to hold few
    rows of both state too small a one, and what the intervals of the counts make up for, by leaning and by what may have gone
    unseen, cancels. Of differences of counts of some 18 rows, 75 % of such intervals held.

    Notes
    -----
    With a the sum of what is added and b of what is subtracted, each with an interval of its own, the lower end of a - b
    is ``a - b - sqrt(l^2 + u^2 - 2 r l u)``: l is how far a's interval reaches below it, u how far b's reaches above it, r the
    correlation of their errors. The upper end is made of the other two. Of normal intervals this is the normal one. The
    interval of one count alone is its own; sums of several are judged by their variance and by how it leans.

    References
    ----------
    Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about effect measures: a general approach.
    Statistics in Medicine 27, 1693-1702, eqs. 4 and 5.
    """

    estimates: Estimates
    weights: npt.NDArray[Any]

    @cached_property
    def added(self) -> Estimates:
        """Of what is added, ``(k,)``."""
        return self.estimates.linear(np.maximum(self.weights, 0))

    @cached_property
    def subtracted(self) -> Estimates:
        """Of what is subtracted, ``(k,)``, as positive numbers."""
        return self.estimates.linear(np.maximum(-self.weights, 0))

    def reaches(self, combination: Estimates, confidence_level: float) -> tuple[Floats, Floats]:
        """How far intervals reach below and above the combinations, ``(k,)`` each.

        Parameters
        ----------
        combination
            The estimates of these combinations, of whose variances and tails there is no second copy here.
        """
        quantiles = np.broadcast_to(combination.quantiles(confidence_level), combination.values.shape)
        if not (self.weights < 0).any():
            return self._reaches(combination, self.weights, confidence_level, quantiles)
        below, above = self._reaches(self.added, self.weights > 0, confidence_level, quantiles)
        under, over = self._reaches(self.subtracted, self.weights < 0, confidence_level, quantiles)
        added, subtracted = self.added.variances, self.subtracted.variances
        both = np.sqrt(added * subtracted)
        shared = (added + subtracted - combination.variances) / 2
        correlation = np.clip(np.divide(shared, both, out=np.zeros_like(both), where=both > 0), -1, 1)
        return _joined(below, over, correlation), _joined(above, under, correlation)

    def _reaches(
        self, half: Estimates, chosen: npt.NDArray[Any], confidence_level: float, quantiles: Floats
    ) -> tuple[Floats, Floats]:
        """The same of sums of the chosen terms."""
        low, high = score_limits(half.values, half.variances, half.slopes(), quantiles)
        is_alone = np.count_nonzero(chosen, axis=1) == 1
        below, above = half.values - low, high - half.values
        if is_alone.any():
            term = np.argmax(chosen[is_alone] != 0, axis=1)
            own = self._own_reaches(confidence_level)
            wider = quantiles[is_alone] * np.abs(self.weights[is_alone, term])
            below[is_alone], above[is_alone] = (each[term] * wider for each in own)
        return below, above

    def _own_reaches(self, confidence_level: float) -> tuple[Floats, Floats]:
        """How far the intervals of the estimates reach below and above them by chance, in half-widths of a normal one."""
        estimates = self.estimates
        low, high = estimates.by_chance(confidence_level)
        if estimates.limits is not None:
            known = estimates.limits(confidence_level)
            # Limits of what has leeway hold it, and combinations add it by themselves.
            is_loose = np.zeros(low.size, bool) if estimates.leeway is None else np.add(*estimates.leeway) > 0
            low, high = np.where(is_loose, low, known[0]), np.where(is_loose, high, known[1])
        quantiles = estimates.quantiles(confidence_level)
        values = estimates.values
        return np.maximum(values - low, 0) / quantiles, np.maximum(high - values, 0) / quantiles


def _joined(one: Floats, other: Floats, correlation: Floats) -> Floats:
    """How far a difference reaches to a side to which its parts reach so far."""
    with np.errstate(invalid="ignore"):
        square = one**2 + other**2 - 2 * correlation * one * other
    is_open = np.isinf(one) | np.isinf(other)
    return np.where(is_open, np.inf, np.sqrt(np.maximum(square, 0)))
