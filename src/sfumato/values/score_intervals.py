"""Intervals of counts whose error grows with the count itself."""

from __future__ import annotations

import numpy as np

from sfumato.values.arrays import Floats


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
