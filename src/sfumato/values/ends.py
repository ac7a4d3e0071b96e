"""Interval arithmetic: between what sums and quotients lie of numbers that lie between two ends each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Floats


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
