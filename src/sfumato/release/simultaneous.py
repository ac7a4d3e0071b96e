"""Intervals that hold all together: how wide each must be."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal, get_args

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.errors import ParameterError
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates, normal_quantile

Simultaneous = Literal["bonferroni", "max-t"]
"""``bonferroni``: however errors go together; ``max-t``: narrower, from the correlation of nearly normal errors.

Either is as good as the intervals of single numbers are at the higher level that it asks for."""

DRAWS = 20_000
"""Of the largest error. The probability of missing is then off by about 0.0015 at 95 %."""

DRAWS_AT_ONCE = 2**22


def level_of_each(estimates: Estimates, confidence_level: float, how: Simultaneous) -> float:
    """The level at which intervals of single numbers hold all together with a confidence level.

    Parameters
    ----------
    estimates
        The numbers; those that are not estimated need no part of what may be missed.
    confidence_level
        Of all together.
    how
        Which errors are allowed for.

    Raises
    ------
    ParameterError
        When the way is unknown, or needs a covariance that is not known.

    Examples
    --------
    >>> two = Estimates.with_covariance(np.array([5.0, 5.0]), np.array([[4.0, -4.0], [-4.0, 4.0]]))
    >>> level_of_each(two, 0.95, "bonferroni"), round(level_of_each(two, 0.95, "max-t"), 2)
    (0.975, 0.95)
    """
    if how not in get_args(Simultaneous):
        raise ParameterError(
            f"simultaneous must be one of {', '.join(get_args(Simultaneous))}, got {how!r}. Leave it out for intervals of "
            "single numbers.",
            parameter="simultaneous",
        )
    single = normal_quantile(confidence_level)
    is_open = (estimates.certainty < Certainty.BOUNDED) & (estimates.variances > 0)
    number = int(np.count_nonzero(is_open))
    if number <= 1:
        return confidence_level
    by_number = 1 - (1 - confidence_level) / number
    if how == "bonferroni":
        return by_number
    if estimates.covariance is None or not np.isfinite(estimates.covariance[np.ix_(is_open, is_open)]).all():
        raise ParameterError(
            "max-t intervals need the covariance of all cells, which this table is too large for. Ask for a smaller table, "
            "or for bonferroni.",
            parameter="simultaneous",
        )
    largest = _largest_errors(estimates.covariance[np.ix_(is_open, is_open)])
    quantile = float(np.quantile(largest, confidence_level, method="higher"))
    # What is drawn has an error of its own; the truth lies between these two.
    reach = min(max(quantile, single), normal_quantile(by_number))
    return 2 * NormalDist().cdf(reach) - 1


def _largest_errors(covariance: Floats) -> Floats:
    """Draws of the largest of normal errors with this covariance, each in its own standard errors, ``(draws,)``.

    The numbers are the same every time: nothing is protected by them, and an answer must not change when asked again.
    """
    from scipy.special import ndtri

    sizes, directions = np.linalg.eigh(covariance)
    # An unbiased covariance need not be positive; what is below zero is no spread.
    root = directions * np.sqrt(np.clip(sizes, 0, None))
    scale = np.sqrt((root**2).sum(axis=1))
    root = root[scale > 0] / scale[scale > 0, None]
    stream = NoiseSource.seeded(0).named("largest of several errors").stream(0)
    found = []
    at_once = max(DRAWS_AT_ONCE // max(len(root), 1), 1)
    for start in range(0, DRAWS, at_once):
        number = min(at_once, DRAWS - start)
        # Half a word more, so that 0 and 1 are never reached.
        uniform = (stream.words(number * root.shape[1]) / 2.0**64 + 2.0**-65).clip(2.0**-65, 1 - 2.0**-53)
        normal = ndtri(uniform).reshape(number, root.shape[1])
        found.append(np.abs(normal @ root.T).max(axis=1))
    return np.concatenate(found)
