"""Intervals of ratios whose divisor is not known well: it may be of hardly anybody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.values.arrays import Floats

if TYPE_CHECKING:
    from sfumato.values.estimates import Estimates
    from sfumato.values.terms import Terms

LOOSE = 0.1
"""Square of a divisor's half-width by the divisor from which on the delta method's interval is not the only one that is looked at."""


@dataclass(frozen=True, eq=False)
class Divided:
    """Ends of intervals of ratios a / b: those of the delta method, and where b is loose as far as Fieller's.

    To first order a ratio has an error of ``(a - r b) / b``, as if b itself were known. Where a group is a few of its standard errors from
    nobody, an estimate of it that is too large makes its shares seem sure; where it may be nobody, its shares may be anything.

    Parameters
    ----------
    ratios
        By the delta method.
    divisors
        b, ``(k,)``.
    tops, bottoms, together
        Variances of a and of b, and their covariance, ``(k,)`` each; not a number where it is not known.
    known
        What they are made of where their divisors are known: then they have the ends of what is divided, where that takes few values.
    range
        Between what the ratios lie.

    Notes
    -----
    The numbers x with ``(a - x b)^2 <= z^2 Var(a - x b)`` are those between the roots of a quadratic while b is z standard errors from 0, and
    otherwise without an end.

    References
    ----------
    Fieller, E. C. (1954). Some problems in interval estimation. JRSS B 16, 175-185.
    """

    ratios: Estimates
    divisors: Floats
    tops: Floats
    bottoms: Floats
    together: Floats
    known: Terms | None = None
    range: tuple[float, float] = (-np.inf, np.inf)

    def within(self, low: float, high: float) -> Divided:
        """The same, of ratios that lie between two numbers: an interval without an end has them."""
        return replace(self, range=(max(self.range[0], low), min(self.range[1], high)))

    def few(self, confidence_level: float, *, is_part: bool) -> tuple[Floats, Floats]:
        """How far ratios by known divisors of what takes few values reach; not a number of all others."""
        if self.known is not None:
            return self.known.few(confidence_level, is_part=is_part)
        nothing = np.full(self.divisors.size, np.nan)
        return nothing, nothing

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        low, high = self.smooth(confidence_level)
        below, above = self.few(confidence_level, is_part=False)
        values = self.ratios.values
        return np.where(np.isnan(below), low, values - below), np.where(np.isnan(above), high, values + above)

    def smooth(self, confidence_level: float) -> tuple[Floats, Floats]:
        """The same as if no number took few values."""
        low, high = self.ratios.by_chance(confidence_level)
        square = np.square(self.ratios.quantiles(confidence_level))
        looseness = square * self.bottoms / self.divisors**2
        is_loose = (looseness > LOOSE) & (looseness < 1)
        left = np.where(is_loose, 1 - looseness, 1.0)
        bottoms = np.where(self.bottoms > 0, self.bottoms, 1.0)
        # |correlation| <= 1 where a covariance is not known: nothing is taken off for it.
        together = np.nan_to_num(self.together)
        values = self.ratios.values
        middle = (values - looseness * together / bottoms) / left
        spread = (self.divisors**2 * self.ratios.variances) - looseness * (self.tops - together**2 / bottoms)
        half = np.sqrt(square * np.clip(spread, 0, None)) / (np.abs(self.divisors) * left)
        low = np.where(is_loose, np.minimum(low, middle - half), low)
        high = np.where(is_loose, np.maximum(high, middle + half), high)
        is_anything = looseness >= 1
        low = np.where(is_anything, np.minimum(low, self.range[0]), low)
        return low, np.where(is_anything, np.maximum(high, self.range[1]), high)
