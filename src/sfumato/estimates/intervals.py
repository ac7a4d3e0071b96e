"""Confidence intervals of estimates: score, MOVER for combinations, Fieller for ratios."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats

if TYPE_CHECKING:
    from sfumato.estimates.estimates import Estimates

# --------------------------------------------------------------------------------------------------
# Interval arithmetic: between what sums and quotients lie of numbers that lie between two ends each.


def combined_ends(weights: npt.NDArray[Any], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Least and largest that sums with these weights can be, ``(k,)`` each; a weight of zero leaves nothing."""
    if (low == -np.inf).all() and (high == np.inf).all():
        # As of most estimates: nothing is certain of a sum either, unless it is of no terms.
        has_terms = (weights != 0).any(axis=1)
        return np.where(has_terms, -np.inf, 0.0), np.where(has_terms, np.inf, 0.0)
    with np.errstate(invalid="ignore"):
        products = np.stack([weights * low, weights * high])
    products = np.where(weights == 0, 0.0, products)
    return products.min(axis=0).sum(axis=1), products.max(axis=0).sum(axis=1)


def quotients(top: tuple[Floats, Floats], bottom: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Least and largest quotients of numbers between two ends each; unknown where the divisor may be zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        corners = np.stack([each / other for each in top for other in bottom])
    # An infinite number over an infinite one can be anything that their signs allow.
    low = np.where(np.isnan(corners), np.where(top[0] < 0, -np.inf, 0.0), corners).min(axis=0)
    high = np.where(np.isnan(corners), np.inf, corners).max(axis=0)
    is_known = bottom[0] > 0
    return np.where(is_known, low, -np.inf), np.where(is_known, high, np.inf)


# --------------------------------------------------------------------------------------------------
# Intervals of counts whose error grows with the count itself.


def score_limits(
    values: Floats,
    variances: Floats,
    slopes: Floats,
    quantile: float | Floats,
    wholes: float | Floats = np.inf,
) -> tuple[Floats, Floats]:
    """True counts that an estimate does not reject, each judged by the variance that it would have itself.

    A normal interval takes the variance that was estimated for all of them. Where a low estimate comes with a low
    variance its interval ends too early: of counts in small groups at a low retention it missed 7 % above and 1 % below.

    Parameters
    ----------
    values, variances
        Estimates and their estimated variances, ``(n,)``.
    slopes
        How much the variance changes with the count, for each row, ``(n,)``; none is a normal interval.
    quantile
        Half-width in standard errors of a normal interval of the same level.
    wholes
        Known counts that each number is a part of, ``(n,)``; infinite where there is none.

    Notes
    -----
    The ends solve ``(value - x)^2 = z^2 (variance + slope (x - value))``. Where the normal interval holds zero or less,
    so does this one: whole numbers near zero jump over the end of the score interval (92 % at zero counts, retention .5). Of the rows
    that are no part of a whole the same is true, so where the normal interval holds the whole this one does too.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA 22, 209-212.

    Examples
    --------
    >>> [each.round(2).tolist() for each in score_limits(np.array([10.0]), np.array([10.0]), np.array([1.0]), 1.96)]
    [[5.43], [18.41]]
    """
    # Estimated variances may fall below zero.
    spread = quantile**2 * np.maximum(variances, 0.0)
    middle = quantile**2 * slopes / 2
    half = np.sqrt(middle**2 + spread)
    low, high = values + middle - half, values + middle + half
    normal_low, normal_high = values - np.sqrt(spread), values + np.sqrt(spread)
    low = np.where(normal_low <= 0, np.minimum(low, normal_low), low)
    return low, np.where(normal_high >= wholes, np.maximum(high, normal_high), high)


def heavier_quantiles(quantile: float, variances: Floats, fourth_cumulants: Floats | None) -> float | Floats:
    """Half-widths in standard errors of intervals about numbers whose errors have heavier tails than normal ones.

    Parameters
    ----------
    quantile
        Of the normal distribution.
    variances, fourth_cumulants
        Of the errors, ``(n,)``; none of the latter is no heavier tail.

    Notes
    -----
    Cornish and Fisher's ``z + k (z^3 - 3 z) / 24`` with the excess kurtosis k. Where tails are light, or the level so
    low that heavy ones make the middle narrow, the normal quantile stays.

    Examples
    --------
    Laplace noise has an excess kurtosis of 3; 2.12 standard errors would be exact.

    >>> float(heavier_quantiles(1.96, np.array([2.0]), np.array([12.0])).round(2)[0])
    2.17
    """
    if fourth_cumulants is None:
        return quantile
    excess = np.divide(fourth_cumulants, variances**2, out=np.zeros_like(variances), where=variances > 0)
    return np.asarray(quantile + np.maximum(excess * (quantile**3 - 3 * quantile) / 24, 0))


# --------------------------------------------------------------------------------------------------
# Intervals of combinations of estimates, from those of the terms on either side of the minus.


MOST_PARTS = 3
"""Numbers that take few values whose misses are added up in what they are combined to; of more that would be too much."""

UNKNOWN = 1e100
"""In place of a covariance that is not known, of which nothing cancels."""

ROUNDING = 1e-12
"""Share of a reach that the last digits of its floats can take away: an end that is a whole number is often the truth."""


@runtime_checkable
class Stepwise(Protocol):
    """Limits that know which numbers take so few values that normal errors do not describe them."""

    def few(self, confidence_level: float, *, is_part: bool) -> tuple[Floats, Floats]:
        """How far intervals of these reach below and above; as parts of a combination only where they hardly vary. Not a number of all others."""
        ...

    def smooth(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Ends as if no number took few values."""
        ...


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

    Numbers that hardly vary are off by a whole step or not at all. Errors of that kind do not average out: a combination of two or three such
    numbers reaches besides as far as their ends, of which each misses with its share of what the combination may miss.

    References
    ----------
    Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about effect measures: a general approach.
    Statistics in Medicine 27, 1693-1702, eqs. 4 and 5.
    """

    estimates: Estimates
    weights: npt.NDArray[Any]

    @classmethod
    def by_known(
        cls, estimates: Estimates, top: npt.NDArray[Any], bottom: npt.NDArray[Any], covariance: Floats
    ) -> Terms | None:
        """What ratios by known numbers are made of, and of all others nothing; None where no number takes few values.

        Cells of a group may be estimates of which the sum is known: only rounding is left of its error.
        """
        if not isinstance(estimates.limits, Stepwise):
            return None
        is_known = np.where(bottom != 0, estimates.is_exact, True).all(axis=1) | _cancels(bottom, covariance)
        return cls(
            estimates, np.where(is_known, 1.0, 0.0)[:, None] * top / (bottom @ estimates.values)[:, None]
        )

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
        below, above = self._smooth_reaches(combination, confidence_level)
        few = self.few(confidence_level, is_part=False)
        return np.fmax(below, few[0]), np.fmax(above, few[1])

    def few(self, confidence_level: float, *, is_part: bool) -> tuple[Floats, Floats]:
        """How far combinations of one number that takes few values reach, or of up to three that hardly vary; not a number of all others.

        As parts of further combinations only those of one number are told.
        """
        below, above = (np.full(len(self.weights), np.nan) for _ in range(2))
        # What is known has no error.
        unsure = np.where(self.estimates.is_exact, 0.0, self.weights)
        numbers = np.where(self._are_known(), 0, np.count_nonzero(unsure, axis=1))
        for number in range(1, (1 if is_part else MOST_PARTS) + 1):
            chosen = numbers == number
            level = 1 - (1 - confidence_level) / number
            few = _few_of(self.estimates, level, is_part=is_part or number > 1) if chosen.any() else None
            if few is not None:
                low, high = combined_ends(unsure[chosen], -few[0], few[1])
                below[chosen], above[chosen] = -low, high
        return below * (1 + ROUNDING), above * (1 + ROUNDING)

    def _are_known(self) -> Booleans:
        """Which combinations are known though their terms are not, but for rounding: all cells of a known group, a number less itself."""
        if self.estimates.covariance is None:
            return np.zeros(len(self.weights), bool)
        return _cancels(self.weights, self.estimates.covariance)

    def _smooth_reaches(self, combination: Estimates, confidence_level: float) -> tuple[Floats, Floats]:
        """The same as if no number took few values."""
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
            limits = estimates.limits.smooth if isinstance(estimates.limits, Stepwise) else estimates.limits
            known = limits(confidence_level)
            # Limits of what has leeway hold it, and combinations add it by themselves.
            is_loose = np.zeros(low.size, bool) if estimates.leeway is None else np.add(*estimates.leeway) > 0
            low, high = np.where(is_loose, low, known[0]), np.where(is_loose, high, known[1])
        quantiles = estimates.quantiles(confidence_level)
        values = estimates.values
        return np.maximum(values - low, 0) / quantiles, np.maximum(high - values, 0) / quantiles


def _cancels(weights: npt.NDArray[Any], covariance: Floats) -> Booleans:
    """Whether errors cancel in combinations until nothing but rounding is left, ``(k,)``; not where there was no error to begin with."""
    left = ((weights @ np.nan_to_num(covariance, nan=UNKNOWN)) * weights).sum(axis=1)
    apart = np.abs(weights) @ np.sqrt(np.clip(np.nan_to_num(np.diagonal(covariance)), 0, None))
    return np.asarray(np.abs(left) < ROUNDING * weights.shape[1] * apart**2)


def _few_of(estimates: Estimates, confidence_level: float, *, is_part: bool) -> tuple[Floats, Floats] | None:
    """How far intervals of numbers reach that take few values, where there may be such numbers."""
    known = estimates.limits if isinstance(estimates.limits, Stepwise) else estimates.terms
    return None if known is None else known.few(confidence_level, is_part=is_part)


def _joined(one: Floats, other: Floats, correlation: Floats) -> Floats:
    """How far a difference reaches to a side to which its parts reach so far."""
    with np.errstate(invalid="ignore"):
        square = one**2 + other**2 - 2 * correlation * one * other
    is_open = np.isinf(one) | np.isinf(other)
    return np.where(is_open, np.inf, np.sqrt(np.maximum(square, 0)))


# --------------------------------------------------------------------------------------------------
# Intervals of ratios whose divisor is not known well: it may be of hardly anybody.


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
