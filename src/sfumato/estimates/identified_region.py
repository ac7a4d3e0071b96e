"""Identified regions: the values a partially identified number can have, with estimated ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats

LEAST_LEVEL = 0.8
"""Confidence level from which normal intervals by the stated standard errors hold open numbers."""


def end_quantile(confidence_level: float) -> float:
    """Standard errors beyond an end that hold its chance error with a probability, both ends together.

    Noise on counts is Laplace where little of it is added up, and normal where much is: the larger of the two.

    Examples
    --------
    >>> round(end_quantile(0.95), 3), round(end_quantile(0.5), 3)
    (2.118, 0.674)
    """
    return max(
        NormalDist().inv_cdf((1 + confidence_level) / 2), -math.log(1 - confidence_level) / math.sqrt(2)
    )


@dataclass(frozen=True, eq=False)
class Ends:
    """Two ends for every number, each known up to chance; ``(n,)`` all."""

    low: Floats
    high: Floats
    low_variances: Floats
    high_variances: Floats

    def intervals(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Ends of intervals that hold whatever lies between the two ends."""
        quantile = end_quantile(confidence_level)
        return (
            self.low - quantile * np.sqrt(self.low_variances),
            self.high + quantile * np.sqrt(self.high_variances),
        )

    def of(self, values: Floats) -> Ends:
        """These; as :meth:`LeftOut.of`."""
        del values
        return self

    def more_uncertain(self, variances: Floats) -> Ends:
        """The same with chance errors besides, ``(n,)``."""
        return Ends(self.low, self.high, self.low_variances + variances, self.high_variances + variances)

    def stated_variances(self, values: Floats) -> Floats:
        """Squares of standard errors, ``(n,)``: from the value to the farther end, and the chance error of that end.

        Normal intervals of such standard errors hold the true number wherever it is, from a level of ``LEAST_LEVEL`` on.
        """
        way = np.maximum(values - self.low, self.high - values)
        errors = np.sqrt(np.maximum(self.low_variances, self.high_variances))
        return np.asarray((errors + way / NormalDist().inv_cdf((1 + LEAST_LEVEL) / 2)) ** 2)

    def within(self, low: float, high: float) -> Ends:
        """The same, of numbers that lie between two others."""
        return Ends(
            np.clip(self.low, low, high),
            np.clip(self.high, low, high),
            self.low_variances,
            self.high_variances,
        )

    def linear(self, weights: npt.NDArray[Any], values: Floats, covariance: Floats) -> Ends:
        """Ends of weighted sums: interval arithmetic, and errors that may all go the same way."""
        del values, covariance
        errors = np.sqrt(self.low_variances), np.sqrt(self.high_variances)
        positive, negative = np.clip(weights, 0, None), np.clip(weights, None, 0)
        return Ends(
            _products(positive, self.low) + _products(negative, self.high),
            _products(positive, self.high) + _products(negative, self.low),
            (positive @ errors[0] - negative @ errors[1]) ** 2,
            (positive @ errors[1] - negative @ errors[0]) ** 2,
        )

    def ratios(
        self, top: npt.NDArray[Any], bottom: npt.NDArray[Any], values: Floats, covariance: Floats
    ) -> Ends:
        """Ends of ratios of weighted sums, each taken by itself."""
        above, below = (self.linear(each, values, covariance) for each in (top, bottom))
        low, low_variances = _quotient(above.low, below.high, above.low_variances, below.high_variances)
        high, high_variances = _quotient(above.high, below.low, above.high_variances, below.low_variances)
        return Ends(
            np.where(np.isnan(low), -np.inf, low),
            np.where(np.isnan(high), np.inf, high),
            low_variances,
            high_variances,
        )


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows that were left out, of which it is not known what they are: how many each number may have of them.

    Parameters
    ----------
    rows
        How many were left out; an estimate, infinite where nobody can tell.
    variance
        Of that estimate.
    variances
        ``(n,)``, of the chance errors of the numbers.
    shares
        ``(n,)``, the share of them that each number counts.
    covariance
        ``(n,)``, of the numbers with ``rows``.
    most
        ``(n,)``, rows that each number has of them at most; infinite where all of them could be its.
    are_apart
        No row is in two of the numbers: together they have ``rows`` at most.
    is_part_of
        ``(n, n)``, whether all rows of one number are rows of another; only of itself when not given.

    Examples
    --------
    Seven rows of one kind and two of another were published, and three more rows were left out.

    >>> none = np.zeros(2)
    >>> three = LeftOut(3.0, 0.0, none, none, none, np.full(2, np.inf), are_apart=True)
    >>> ends = three.linear(np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([7.0, 2.0]), np.zeros((2, 2)))
    >>> ends.low.tolist(), ends.high.tolist()
    ([9.0, 2.0], [12.0, 8.0])
    """

    rows: float
    variance: float
    variances: Floats
    shares: Floats
    covariance: Floats
    most: Floats
    are_apart: bool
    is_part_of: Booleans | None = None

    def of(self, values: Floats) -> Ends:
        """Ends of the numbers themselves: none of what was left out, or as much as there can be."""
        # Rows that are not known are not counted either.
        counted = self.shares * self.rows if math.isfinite(self.rows) else np.zeros(values.size)
        low = values - counted
        takes_all = self.most >= self._upper_rows
        return Ends(
            low,
            low + np.where(takes_all, self.rows, self.most),
            self._variances(-self.shares, self.variances, self.covariance),
            self._variances(takes_all - self.shares, self.variances, self.covariance),
        )

    def more_uncertain(self, variances: Floats) -> LeftOut:
        """The same with chance errors besides, ``(n,)``."""
        return replace(self, variances=self.variances + variances)

    @property
    def _upper_rows(self) -> float:
        """What is below it is a better end than all rows, whose number is known up to chance."""
        return self.rows + 2 * math.sqrt(self.variance)

    def linear(self, weights: npt.NDArray[Any], values: Floats, covariance: Floats) -> Ends:
        """Ends of weighted sums: all that was left out goes where it weighs most, as far as it can be there."""
        high, low = self._uppermost(weights), self._uppermost(-weights)
        return Ends(
            -self._at(low, values),
            self._at(high, values),
            self._spread(low, covariance),
            self._spread(high, covariance),
        )

    def ratios(
        self, top: npt.NDArray[Any], bottom: npt.NDArray[Any], values: Floats, covariance: Floats
    ) -> Ends:
        """Ends of ratios of weighted sums; of a part to its whole, what is in the part is in the whole."""
        parts, wholes = (np.argmax(each, axis=1) for each in (top, bottom))
        unit = np.eye(values.size)
        is_share = (top == unit[parts]).all(axis=1) & (bottom == unit[wholes]).all(axis=1)
        is_share &= parts == wholes if self.is_part_of is None else self.is_part_of[parts, wholes]
        most, least = self._uppermost(top), self._uppermost(-top).negative
        largest, smallest = self._uppermost(bottom), self._uppermost(-bottom).negative
        # The part as large as it can be, and its whole grown by the same rows.
        grown = _Lines(
            smallest.weights,
            smallest.on_rows + np.where(is_share, most.on_rows, 0.0),
            smallest.constants + np.where(is_share, most.constants, 0.0),
        )
        low, low_variances = self._quotients(least, largest, values, covariance)
        high, high_variances = self._quotients(most, grown, values, covariance)
        return Ends(
            np.where(np.isnan(low), -np.inf, low),
            np.where(np.isnan(high), np.inf, high),
            low_variances,
            high_variances,
        )

    def _uppermost(self, weights: npt.NDArray[Any]) -> _Lines:
        """The largest that weighted sums can be: what is left out goes to the largest weights first."""
        on_rows, constants = np.zeros(len(weights)), np.zeros(len(weights))
        for place, row in enumerate(weights):
            used = 0.0
            for number in np.argsort(-row, kind="stable"):
                weight = float(row[number])
                if weight <= 0:
                    break
                room = float(self.most[number])
                if room < self._upper_rows - used:
                    constants[place] += weight * room
                    used += room if self.are_apart else 0.0
                    continue
                # The rest is as many as there are, less what has gone elsewhere.
                on_rows[place] += weight
                constants[place] -= weight * used
                if self.are_apart:
                    break
        return _Lines(np.asarray(weights, np.float64), on_rows, constants)

    def _at(self, lines: _Lines, values: Floats) -> Floats:
        counted = lines.on_rows - lines.weights @ self.shares
        with np.errstate(invalid="ignore"):
            rows = np.where(counted == 0, 0.0, counted * self.rows)
        return np.asarray(lines.weights @ values + rows + lines.constants)

    def _spread(self, lines: _Lines, covariance: Floats) -> Floats:
        weights = lines.weights
        known = np.where(np.isnan(covariance), 0.0, covariance)
        sizes = np.abs(weights) * np.sqrt(self.variances)
        # |correlation| <= 1 where a covariance is not known.
        unknown = np.einsum("ki,ij,kj->k", sizes, np.isnan(covariance), sizes)
        raised = weights**2 @ np.clip(self.variances - np.diagonal(known), 0, None)
        own = np.einsum("ki,ij,kj->k", weights, known, weights) + unknown + raised
        return self._variances(lines.on_rows - weights @ self.shares, own, weights @ self.covariance)

    def _variances(self, on_rows: Floats, own: Floats, with_rows: Floats) -> Floats:
        """Of numbers plus so many times the rows left out."""
        return np.clip(own + 2 * on_rows * with_rows + on_rows**2 * self.variance, 0, None)

    def _quotients(
        self, top: _Lines, bottom: _Lines, values: Floats, covariance: Floats
    ) -> tuple[Floats, Floats]:
        """Quotients and their variances, by the delta method; no number where the divisor is not positive."""
        below = self._at(bottom, values)
        is_positive = below > 0
        divisor = np.where(is_positive, below, 1.0)
        quotient = np.where(is_positive, self._at(top, values) / divisor, np.nan)
        slope = np.nan_to_num(quotient)
        change = _Lines(
            top.weights - slope[:, None] * bottom.weights,
            top.on_rows - slope * bottom.on_rows,
            np.zeros(slope.size),
        )
        return quotient, np.where(is_positive, self._spread(change, covariance) / divisor**2, 0.0)


@dataclass(frozen=True, eq=False)
class _Lines:
    """Sums of the numbers as published, without what was left out, of those rows, and of constants."""

    weights: npt.NDArray[Any]
    on_rows: Floats
    constants: Floats

    @property
    def negative(self) -> _Lines:
        return _Lines(-self.weights, -self.on_rows, -self.constants)


def _products(weights: npt.NDArray[Any], ends: Floats) -> Floats:
    """Weighted sums of ends that may be infinite; a weight of zero leaves nothing."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(weights == 0, 0.0, weights * ends).sum(axis=1))


def _quotient(
    top: Floats, bottom: Floats, top_variances: Floats, bottom_variances: Floats
) -> tuple[Floats, Floats]:
    is_positive = bottom > 0
    divisor = np.where(is_positive, bottom, 1.0)
    quotient = np.where(is_positive, top / divisor, np.nan)
    errors = np.sqrt(top_variances) + np.abs(np.nan_to_num(quotient)) * np.sqrt(bottom_variances)
    return quotient, np.where(is_positive, (errors / divisor) ** 2, 0.0)
