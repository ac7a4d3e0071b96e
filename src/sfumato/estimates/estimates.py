"""Estimates with covariance and certainty, and what can be computed from them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import ParameterError
from sfumato.estimates.identified_region import Ends, LeftOut
from sfumato.estimates.intervals import (
    Divided,
    Terms,
    combined_ends,
    heavier_quantiles,
    quotients,
    score_limits,
)
from sfumato.immutable import MOST_CONFIDENT

# --------------------------------------------------------------------------------------------------
# How sure a number is: a claim that somebody makes, never the absence of an error.


Certainties = npt.NDArray[np.int8]
"""One :class:`Certainty` for each number."""


class Certainty(enum.IntEnum):
    """What a number claims of itself; of several that are combined, the weakest claim holds.

    Examples
    --------
    >>> min(Certainty.EXACT, Certainty.BOUNDED).word
    'bounded'
    """

    OPEN = -1
    """Part of it was not published: it lies between two ends, each estimated. The interval holds whatever is between
    them; the standard error is that of the published part, and says nothing of where between them the number is."""
    ESTIMATED = 0
    """It has a chance error, of which the standard error and the interval speak."""
    BOUNDED = 1
    """The true number lies between certain bounds; where between them needs an assumption."""
    EXACT = 2
    """It is the true number."""

    @property
    def word(self) -> str:
        """The claim as it stands in results."""
        return self.name.lower()


def all_claim(certainty: Certainty, number: int) -> Certainties:
    """The same claim for so many numbers."""
    return np.full(number, certainty, np.int8)


# --------------------------------------------------------------------------------------------------
# Estimates: values with their covariance, and what can be computed from them.


ROUNDING = 1e-12
"""Share of the terms of a sum that the last digits of its floats can add up to."""

# As numbers of the arrays' own type: a comparison with a member of an enumeration takes six times as long, and a fit makes hundreds.
_OPEN, _BOUNDED, _EXACT = (np.int8(each) for each in (Certainty.OPEN, Certainty.BOUNDED, Certainty.EXACT))


def normal_quantile(confidence_level: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval.

    Examples
    --------
    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    if not 0 < confidence_level <= MOST_CONFIDENT:
        raise ParameterError(
            f"the confidence level must lie strictly between 0 and 1, and not nearer to 1 than 2e-16, got {confidence_level}. "
            "Use 0.95 for 95 % intervals.",
            parameter="confidence_level",
        )
    return NormalDist().inv_cdf((1 + confidence_level) / 2)


Limits = Callable[[float], tuple[Floats, Floats]]
"""Gives, for a confidence level, the lower and upper ends of intervals."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of some numbers, with what is known of their errors.

    Parameters
    ----------
    values
        ``(n,)``.
    variances
        ``(n,)``, never negative, and zero only where a number is exact; of open numbers they reach to the ends.
    covariance
        ``(n, n)``, or None where the table is too large for it; its diagonal is ``variances``, save where
        the unbiased variance came out below what is possible. Not a number where it is not known.
    bounds
        Two vectors ``(n,)`` between which the true numbers lie for certain, where the release says so;
        they may be infinite. Intervals are cut at them.
    certainty
        What each number claims, ``(n,)``; estimated when nothing is claimed.
    limits
        Ends of intervals where the law of the errors is known and is not normal; not given after any further
        computation.
    skews
        Gives, ``(n,)``, the covariance of each estimate with its estimated variance: an interval leans by it. Normal
        intervals when not given.
    terms
        What a combination was made of, where that says more of its intervals than its own variance does.
    fourth_cumulants
        Of the errors, ``(n,)``, where their tails are heavier than normal ones: intervals are then wider.
    leeway
        How far the numbers may be below and above their estimates besides chance, because of an assumption that
        an estimate needs; two vectors ``(n,)``, not negative.
    left_open
        Between what the numbers lie that are open, where some are.

    Examples
    --------
    >>> two = Estimates.with_covariance(np.array([10.0, 20.0]), np.array([[4.0, -1.0], [-1.0, 9.0]]))
    >>> total = two.linear(np.array([[1.0, 1.0]]))
    >>> float(total.values[0]), float(total.variances[0])
    (30.0, 11.0)
    """

    values: Floats
    variances: Floats
    covariance: Floats | None = None
    bounds: tuple[Floats, Floats] | None = None
    certainty: Certainties = field(default_factory=lambda: all_claim(Certainty.ESTIMATED, 0))
    limits: Limits | None = None
    skews: Callable[[], Floats] | None = None
    terms: Terms | None = None
    fourth_cumulants: Floats | None = None
    leeway: tuple[Floats, Floats] | None = None
    left_open: LeftOut | Ends | None = None

    def __post_init__(self) -> None:
        if self.values.shape != self.variances.shape or self.values.ndim != 1:
            raise ValueError("values and variances must be vectors of one length.")
        if self.covariance is not None and self.covariance.shape != 2 * self.values.shape:
            raise ValueError("the covariance must be square and fit the values.")
        if self.bounds is not None and any(each.shape != self.values.shape for each in self.bounds):
            raise ValueError("bounds must be vectors of the values' length.")
        if self.certainty.size == 0 < self.values.size:
            object.__setattr__(self, "certainty", all_claim(Certainty.ESTIMATED, self.values.size))
        if self.certainty.shape != self.values.shape:
            raise ValueError("there is one certainty for each value.")

    @classmethod
    def with_covariance(cls, values: Floats, covariance: Floats) -> Estimates:
        """Estimates whose whole covariance is known."""
        return cls(values, np.clip(np.diagonal(covariance), 0, None), covariance)

    @property
    def standard_errors(self) -> Floats:
        """Square roots of the variances, ``(n,)``."""
        return np.sqrt(self.variances)

    @property
    def is_exact(self) -> Booleans:
        """Which numbers are claimed to be the true ones, ``(n,)``."""
        return np.asarray(self.certainty == _EXACT)

    def ends(self) -> tuple[Floats, Floats]:
        """Between what the true numbers lie for certain, ``(n,)`` each: infinite where nothing is known."""
        nothing = np.full(self.values.size, np.inf)
        low, high = (-nothing, nothing) if self.bounds is None else self.bounds
        is_exact = self.is_exact
        return np.where(is_exact, self.values, low), np.where(is_exact, self.values, high)

    def intervals(self, confidence_level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of intervals, each ``(n,)``.

        Of a number that is exact, the number; of one that is bounded, its bounds, which hold at every level;
        of an estimate, a score interval unless the errors' law is known, with its leeway, cut at what is certain; of
        one that is open, whatever lies between its two ends, with the error of each.
        """
        if self.limits is not None:
            low, high = self.limits(confidence_level)
        else:
            low, high = self.by_chance(confidence_level)
            if self.leeway is not None:
                low, high = low - self.leeway[0], high + self.leeway[1]
        if self.left_open is not None:
            ends = self.left_open.of(self.values).intervals(confidence_level)
            is_open = self.certainty == _OPEN
            low, high = np.where(is_open, ends[0], low), np.where(is_open, ends[1], high)
        least, most = self.ends()
        is_certain = self.certainty >= _BOUNDED
        low = np.where(is_certain, least, np.clip(low, least, most))
        return low, np.where(is_certain, most, np.clip(high, least, most))

    def by_chance(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Ends of intervals of errors by chance alone, ``(n,)`` each: nothing of leeway or of what is certain is in them."""
        if self.terms is not None:
            below, above = self.terms.reaches(self, confidence_level)
            return self.values - below, self.values + above
        return score_limits(self.values, self.variances, self.slopes(), self.quantiles(confidence_level))

    def quantiles(self, confidence_level: float) -> float | Floats:
        """Half-widths of normal intervals in standard errors; of each number where tails are heavier."""
        return heavier_quantiles(normal_quantile(confidence_level), self.variances, self.fourth_cumulants)

    def slopes(self) -> Floats:
        """How much each variance changes with its number, ``(n,)``."""
        nothing = np.zeros(self.values.size)
        if self.skews is None:
            return nothing
        return np.asarray(np.divide(self.skews(), self.variances, out=nothing, where=self.variances > 0))

    def within(self, low: float, high: float) -> Estimates:
        """The same numbers, of which it is known besides that they lie between two others.

        Estimates keep their intervals: an unbiased one may itself lie outside.
        """
        is_bounded = (self.certainty == _BOUNDED) | (self.certainty == _OPEN)
        least, most = (np.where(is_bounded, np.clip(each, low, high), each) for each in self.ends())
        left_open = self.left_open and self.left_open.of(self.values).within(low, high)
        limits = self.limits.within(low, high) if isinstance(self.limits, Divided) else self.limits
        found = replace(self, bounds=known_bounds(least, most), left_open=left_open, limits=limits)
        if self.leeway is None:
            return found
        below, above = self.leeway
        leeway = (
            np.minimum(below, np.maximum(self.values - low, 0)),
            np.minimum(above, np.maximum(high - self.values, 0)),
        )
        return replace(found, leeway=leeway)

    def linear(self, weights: npt.NDArray[Any]) -> Estimates:
        """Estimates of ``weights @ values``; needs the whole covariance.

        An unbiased covariance need not be positive semidefinite. Where it gives a combination a negative
        variance, the largest that the standard errors allow is taken: zero would claim certainty. So it is
        for every covariance that is not known. A combination claims what the weakest of its terms does, and
        bounds combine by interval arithmetic.

        Parameters
        ----------
        weights
            ``(k, n)``.
        """
        whole = self._whole_covariance()
        sizes, errors = np.abs(weights), self.standard_errors
        combined, rounding, unknown, is_open = _combined_covariances(weights, whole, errors)
        # Where a variance had to be raised to what is possible, so is that of everything it is part of.
        known = np.diagonal(whole)
        raised = np.clip(
            self.variances - (known if np.isfinite(known).all() else np.nan_to_num(known)), 0, None
        )
        variances = np.diagonal(combined) + weights**2 @ raised + unknown
        largest = (sizes @ errors) ** 2
        variances = np.where(variances < -rounding, largest, np.clip(variances, 0, None))
        combined = np.where(is_open, np.nan, combined)
        bounds = combined_ends(weights, *self.ends())
        certainty = _exact_between(self._weakest(weights), *bounds)
        # Terms can cancel to nothing without anybody's claim that the sum is exact: only rounding is left then.
        variances = np.where(certainty == _EXACT, 0.0, np.maximum(variances, rounding))
        combination = Estimates(
            weights @ self.values,
            variances,
            combined,
            known_bounds(*bounds),
            certainty,
            skews=self._combined_skews(weights, variances),
            terms=Terms(self, weights)
            if self.skews is not None or isinstance(self.limits, Divided)
            else None,
            # They add up like fourth powers, as far as the terms are independent.
            fourth_cumulants=None if self.fourth_cumulants is None else weights**4 @ self.fourth_cumulants,
            leeway=self._combined_leeway(weights),
        )
        return combination.open_between(self.left_open and self.left_open.linear(weights, self.values, whole))

    def _combined_skews(self, weights: npt.NDArray[Any], variances: Floats) -> Callable[[], Floats] | None:
        """Third moments add up like cubes where terms are independent; where their errors cancel, so does what they lean.

        The slope of a sum is then the mean of its terms' slopes, times the share of their variances that is left in it.
        Undiminished, two cells of a known total, each with a slope of 1, would lean by as much as one of them is unsure.
        """
        if self.skews is None:
            return None
        apart = weights**2 @ self.variances
        left = np.divide(variances, apart, out=np.ones_like(apart), where=apart > 0)
        return partial(_cubed, weights, self.skews, np.minimum(left, 1.0) ** 2)

    def _combined_leeway(self, weights: npt.NDArray[Any]) -> tuple[Floats, Floats] | None:
        if self.leeway is None:
            return None
        low, high = combined_ends(weights, -self.leeway[0], self.leeway[1])
        return -low, high

    def open_between(self, left_open: LeftOut | Ends | None) -> Estimates:
        """The same, of which some numbers are open: their standard errors reach to their ends."""
        if left_open is None:
            return self
        stated = left_open.of(self.values).stated_variances(self.values)
        variances = np.where(self.certainty == _OPEN, stated, self.variances)
        return replace(self, variances=variances, left_open=left_open)

    def _weakest(self, weights: npt.NDArray[Any]) -> Certainties:
        """For each row of weights the weakest claim of its terms, ``(k,)``; a sum of nothing is exact."""
        claims = np.where(weights != 0, self.certainty, _EXACT)
        return np.asarray(np.min(claims, axis=1, initial=_EXACT), np.int8)

    def ratio(self, numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Estimates:
        """Ratio of two linear combinations, by the delta method.

        Parameters
        ----------
        numerator, denominator
            Weights, each ``(n,)``.
        """
        return self.ratios([numerator], [denominator])

    def ratios(self, numerators: Sequence[npt.ArrayLike], denominators: Sequence[npt.ArrayLike]) -> Estimates:
        """Ratios of linear combinations with the covariance between them, by the delta method.

        Notes
        -----
        The change of r = a/b is (da - r db) / b to first order: good when b is many standard errors from
        zero, misleading when it is not. Bounds combine by interval arithmetic, and there are none where the
        denominator may be zero. A share of nothing is exactly 0, and one whose numerator is its denominator exactly 1.

        Parameters
        ----------
        numerators, denominators
            Weights, each ``(k, n)``.

        Examples
        --------
        >>> counts = Estimates.with_covariance(np.array([30.0, 60.0]), np.diag([4.0, 9.0]))
        >>> counts.ratios([[1, 0]], [[0, 1]]).values.tolist()
        [0.5]
        """
        top = np.array(numerators, dtype=np.float64)
        bottom = np.array(denominators, dtype=np.float64)
        below = bottom @ self.values
        if not below.all():
            raise ParameterError("the denominator of a ratio is estimated as 0. Choose a larger group.")
        shares = (top @ self.values) / below
        change = self.linear((top - shares[:, None] * bottom) / below[:, None])
        # The weights of the change can cancel where the terms themselves do not.
        bounds = quotients(combined_ends(top, *self.ends()), combined_ends(bottom, *self.ends()))
        # Nothing of a group, and all of it, are shares of it whatever its size.
        is_nothing = (self._weakest(top) == _EXACT) & (top @ self.values == 0)
        rest = bottom - top
        is_all = (self._weakest(rest) == _EXACT) & (rest @ self.values == 0)
        is_known = is_nothing | is_all
        low, high = (np.where(is_known, shares, each) for each in bounds)
        bounds = low, high
        certainty = _exact_between(np.minimum(self._weakest(top), self._weakest(bottom)), *bounds)
        variances = np.where(certainty == _EXACT, 0.0, change.variances)
        leeway = None
        if self.leeway is not None:
            around = self.values - self.leeway[0], self.values + self.leeway[1]
            low, high = quotients(combined_ends(top, *around), combined_ends(bottom, *around))
            leeway = shares - low, high - shares
        found = Estimates(
            shares,
            variances,
            change.covariance,
            known_bounds(*bounds),
            certainty,
            skews=change.skews,
            fourth_cumulants=change.fourth_cumulants,
            leeway=leeway,
        )
        if leeway is None:
            found = replace(found, limits=self._divided(found, top, bottom))
        return found.open_between(
            self.left_open and self.left_open.ratios(top, bottom, self.values, self._whole_covariance())
        )

    def _divided(self, ratios: Estimates, top: Floats, bottom: Floats) -> Divided:
        """Intervals of ratios that know that their divisors are estimates too."""
        above, below = self.linear(top), self.linear(bottom)
        covariance = self._whole_covariance()
        together = np.einsum("ki,ij,kj->k", top, np.nan_to_num(covariance), bottom)
        parts = Terms.by_known(self, top, bottom, covariance)
        return Divided(ratios, below.values, above.variances, below.variances, together, parts)

    def _whole_covariance(self) -> Floats:
        if self.covariance is None:
            raise ParameterError(
                "these estimates carry variances only, because the table is large. Ask for a smaller table, or for the combination "
                "itself as a query."
            )
        return self.covariance


def _combined_covariances(
    weights: npt.NDArray[Any], whole: Floats, errors: Floats
) -> tuple[Floats, Floats, Floats, Booleans]:
    """What is known of the covariance of combinations, what rounding may have made of it, what the unknown may add, and where it does."""
    number, sizes = len(weights), np.abs(weights)
    nothing, nowhere = np.zeros(number), np.zeros((number, number), bool)
    if not whole.any():
        # Exact tables, which may be large: products of zeros take as long as others.
        return np.zeros((number, number)), nothing, nothing, nowhere
    is_unknown = np.isnan(whole)
    has_unknown = bool(is_unknown.any())
    covariance = np.where(is_unknown, 0.0, whole) if has_unknown else whole
    rounding = ROUNDING * _each_by_itself(sizes, np.abs(covariance))
    combined = weights @ covariance @ weights.T
    if not has_unknown:
        return combined, rounding, nothing, nowhere
    # |correlation| <= 1: no pair of terms adds more than the product of their standard errors.
    unknown = _each_by_itself(sizes * errors, is_unknown.astype(np.float64))
    return combined, rounding, unknown, np.asarray(sizes @ is_unknown @ sizes.T > 0)


def _each_by_itself(weights: Floats, matrix: Floats) -> Floats:
    """What each combination has of a quadratic form, ``(k,)``; a product of matrices is far faster than sums of triples."""
    return np.asarray(((weights @ matrix) * weights).sum(axis=1))


def _cubed(weights: npt.NDArray[Any], skews: Callable[[], Floats], left: Floats) -> Floats:
    return np.asarray(weights**3 @ skews() * left)


def _exact_between(certainty: Certainties, low: Floats, high: Floats) -> Certainties:
    """The claims; what lies between two ends that are one number is that number."""
    return np.where(low == high, _EXACT, certainty).astype(np.int8)


def known_bounds(low: Floats, high: Floats) -> tuple[Floats, Floats] | None:
    """Bounds, or none where they say nothing of any number."""
    return None if np.isinf(low).all() and np.isinf(high).all() else (low, high)


# --------------------------------------------------------------------------------------------------
# Estimates of the cells that occur, whose covariance is known by its factors and never written out.


@dataclass(frozen=True, eq=False)
class OccupiedEstimates(Estimates):
    """Counts of rows redrawn by a matrix, where the unperturbed values that occur are many.

    Cells are the unperturbed combinations that occur, times the product of the perturbed attributes' categories, the
    latter fastest. Rows of different combinations are independent, so sums of cells have their covariance from sums over
    what was published, in time and memory of the number of cells.

    Parameters
    ----------
    published
        ``(combinations, k)``, k the number of categories of the perturbed attributes together.
    inverse
        Of their matrix, ``(k, k)``.
    kept
        Which cells count, ``(cells,)``; others weigh nothing.

    Examples
    --------
    >>> counts = OccupiedEstimates.of(np.array([[60.0, 40.0], [35.0, 65.0]]), np.linalg.inv([[0.8, 0.2], [0.2, 0.8]]))
    >>> counts.values.round(6).tolist()
    [66.666667, 33.333333, 25.0, 75.0]
    >>> counts.linear(np.eye(4)).covariance.round(6)[0].tolist()
    [44.444444, -44.444444, 0.0, 0.0]
    """

    published: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    inverse: Floats = field(default_factory=lambda: np.eye(1))
    kept: Booleans = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @classmethod
    def of(cls, published: Floats, inverse: Floats, kept: Booleans | None = None) -> OccupiedEstimates:
        """From published counts and the inverse of what they were redrawn by."""
        weights = np.ones(published.size, dtype=bool) if kept is None else kept
        values = np.where(weights, (published @ inverse).ravel(), 0.0)
        variances = np.where(weights, (published @ np.square(inverse)).ravel() - values, 0.0)
        return cls(values, np.clip(variances, 0, None), published=published, inverse=inverse, kept=weights)

    def keep(self, chosen: Booleans) -> OccupiedEstimates:
        """The same, of which only some cells count."""
        return OccupiedEstimates.of(self.published, self.inverse, self.kept & chosen)

    def linear(self, weights: npt.NDArray[Any]) -> Estimates:
        """Estimates of ``weights @ values`` with their covariance, ``sum_y N(y) u u' - sum_x n_x w w'`` with ``u = M^-1 w``."""
        own = np.where(self.kept, weights, 0.0)
        moved = (own.reshape(-1, len(self.inverse)) @ self.inverse.T).reshape(len(own), -1)
        second = (moved * self.published.ravel()) @ moved.T
        covariance = second - (own * self.values) @ own.T
        variances = np.diagonal(covariance).copy()
        # As for any unbiased covariance: a negative variance becomes the largest that is possible, never zero.
        rounding = 1e-12 * np.diagonal(second)
        largest = (np.abs(own) @ self.standard_errors) ** 2
        variances = np.where(variances < -rounding, largest, np.clip(variances, 0, None))
        return Estimates(own @ self.values, variances, np.asarray(covariance))


@dataclass(frozen=True, eq=False)
class EstimatesBesideKnown(Estimates):
    """Estimates with a covariance, and behind them numbers that are known, however many.

    Parameters
    ----------
    estimated
        The first ones.

    Examples
    --------
    >>> first = Estimates.with_covariance(np.array([3.0]), np.array([[4.0]]))
    >>> both = EstimatesBesideKnown.of(first, np.array([10.0, 20.0]))
    >>> total = both.linear(np.ones((1, 3)))
    >>> float(total.values[0]), float(total.variances[0])
    (33.0, 4.0)
    """

    estimated: Estimates = field(default_factory=lambda: Estimates(np.zeros(0), np.zeros(0)))

    @classmethod
    def of(cls, estimated: Estimates, known: Floats) -> EstimatesBesideKnown:
        """From both."""
        values = np.concatenate([estimated.values, known])
        variances = np.concatenate([estimated.variances, np.zeros(known.size)])
        return cls(values, variances, estimated=estimated)

    def linear(self, weights: npt.NDArray[Any]) -> Estimates:
        """Estimates of ``weights @ values``: known numbers only move them."""
        first = self.estimated.values.size
        found = self.estimated.linear(weights[:, :first])
        return Estimates(weights @ self.values, found.variances, found.covariance)


@dataclass(frozen=True, eq=False)
class OccupiedCells:
    """Estimates with what their cells are.

    Parameters
    ----------
    codes
        By attribute, the code of every cell.
    estimates
        Of the cells.
    """

    codes: Mapping[str, Integers]
    estimates: OccupiedEstimates
