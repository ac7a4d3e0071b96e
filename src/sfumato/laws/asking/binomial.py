"""Limits of counts that are binomial draws."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Floats
from sfumato.values.estimates import normal_quantile

UNSEEN_LEVEL = 0.95
"""Of the interval whose end an unseen count is held against."""


def binomial_limits(low: Floats, high: Floats, rows: float, confidence_level: float) -> tuple[Floats, Floats]:
    """Exact limits of the expected count of a draw of so many rows, by Clopper and Pearson.

    A normal interval about a count of a few rows is too short and does not know that counts are skewed; about
    a count of none it has no width at all, though up to three rows are to be expected of what none was drawn of.

    Parameters
    ----------
    low, high
        The count drawn, or the ends between which it lies, ``(n,)`` each; the upper ones may be infinite.
    rows
        How many rows were drawn.
    confidence_level
        Of the two limits together.

    Examples
    --------
    >>> none = np.array([0.0])
    >>> [round(float(each[0]), 2) for each in binomial_limits(none, none, 1_000, 0.95)]
    [0.0, 3.68]
    """
    from scipy.special import betaincinv

    tail = (1 - confidence_level) / 2
    least, most = np.clip(low, 0, rows), np.clip(high, 0, rows)
    # The quantiles of none and of all are not numbers; none and all are what stands there.
    lower = rows * betaincinv(least, rows - least + 1, tail)
    upper = rows * betaincinv(most + 1, rows - most, 1 - tail)
    ends = np.where(least > 0, lower, 0.0), np.where(most < rows, upper, rows)
    return ends[0], np.where(np.isinf(high), np.inf, ends[1])


def unseen_variance(chance: npt.ArrayLike) -> Floats:
    """Variance of a count of none, when each row would have been seen with some chance, independently.

    Zero seen is not zero there. The standard error is such that a normal 95 % interval about zero ends where so
    many rows would all have gone unseen with a probability of 5 %: the rule of three, with the chance in it.

    Examples
    --------
    >>> round(float(unseen_variance(0.5)) ** 0.5, 2)
    2.21
    """
    # log(0.05) / log(1 - chance) rows; none can go unseen where the chance is 1.
    with np.errstate(divide="ignore"):
        rows = np.log(1 - UNSEEN_LEVEL) / np.log1p(-np.asarray(chance, dtype=np.float64))
    return np.asarray((rows / normal_quantile(UNSEEN_LEVEL)) ** 2)
