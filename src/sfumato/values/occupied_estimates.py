"""Estimates of the cells that occur, whose covariance is known by its factors and never written out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.estimates import Estimates


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
