"""Estimates: values with their covariance, and what can be computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

Floats = npt.NDArray[np.float64]


def normal_quantile(confidence_level: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval.

    Examples
    --------
    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    if not 0 < confidence_level < 1:
        raise ParameterError(
            f"the confidence level must lie strictly between 0 and 1, got {confidence_level}. "
            "Use 0.95 for 95 % intervals.",
            parameter="confidence_level",
        )
    return NormalDist().inv_cdf((1 + confidence_level) / 2)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Unbiased estimates of some numbers, with what is known of their errors.

    Parameters
    ----------
    values
        ``(n,)``.
    variances
        ``(n,)``, never negative.
    covariance
        ``(n, n)``, or None where the table is too large for it; its diagonal is ``variances``.

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

    def __post_init__(self) -> None:
        if self.values.shape != self.variances.shape or self.values.ndim != 1:
            raise ValueError("values and variances must be vectors of one length.")
        if self.covariance is not None and self.covariance.shape != 2 * self.values.shape:
            raise ValueError("the covariance must be square and fit the values.")

    @classmethod
    def with_covariance(cls, values: Floats, covariance: Floats) -> Estimates:
        """Estimates whose whole covariance is known."""
        return cls(values, np.clip(np.diagonal(covariance), 0, None), covariance)

    @property
    def standard_errors(self) -> Floats:
        """Square roots of the variances, ``(n,)``."""
        return np.sqrt(self.variances)

    def intervals(self, confidence_level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of normal intervals, each ``(n,)``."""
        half = normal_quantile(confidence_level) * self.standard_errors
        return self.values - half, self.values + half

    def linear(self, weights: npt.NDArray[Any]) -> Estimates:
        """Estimates of ``weights @ values``; needs the whole covariance.

        Parameters
        ----------
        weights
            ``(k, n)``.
        """
        covariance = self._whole_covariance()
        return Estimates.with_covariance(weights @ self.values, weights @ covariance @ weights.T)

    def ratio(self, numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Estimates:
        """Ratio of two linear combinations, by the delta method.

        Notes
        -----
        With r = a/b, var r is approximately (var a - 2 r cov(a, b) + r^2 var b) / b^2: good when b is
        many standard errors from zero, misleading when it is not.

        Parameters
        ----------
        numerator, denominator
            Weights, each ``(n,)``.
        """
        pair = self.linear(np.array([numerator, denominator]))
        top, bottom = pair.values
        if bottom == 0:
            raise ParameterError("the denominator of the ratio is estimated as 0. Choose a larger group.")
        gradient = np.array([[1 / bottom, -top / bottom**2]])
        assert pair.covariance is not None
        return Estimates.with_covariance(np.array([top / bottom]), gradient @ pair.covariance @ gradient.T)

    def _whole_covariance(self) -> Floats:
        if self.covariance is None:
            raise ParameterError(
                "these estimates carry variances only, because the table is large. "
                "Ask for a smaller table, or for the combination itself as a query."
            )
        return self.covariance


def project_to_simplex(values: Floats, totals: Floats) -> Floats:
    """Nearest non-negative vectors with given sums, in Euclidean distance.

    Parameters
    ----------
    values
        ``(groups, n)``; each row is projected on its own.
    totals
        ``(groups,)``, not negative.

    Returns
    -------
    numpy.ndarray
        ``(groups, n)``.

    Notes
    -----
    The projection subtracts one number from every entry of a row and cuts at zero; that number comes
    from the sorted entries.

    Examples
    --------
    >>> project_to_simplex(np.array([[11.0, -1.0]]), np.array([10.0])).tolist()
    [[10.0, 0.0]]
    """
    descending = -np.sort(-values, axis=1)
    excess = np.cumsum(descending, axis=1) - totals[:, None]
    ranks = np.arange(1, values.shape[1] + 1)
    # The largest rank at which the entry still exceeds the number subtracted; rank 1 always does
    # unless the total is zero, where every entry is cut.
    last = np.maximum(np.sum(descending * ranks > excess, axis=1), 1)
    threshold = excess[np.arange(len(values)), last - 1] / last
    return np.asarray(np.clip(values - threshold[:, None], 0, None))
