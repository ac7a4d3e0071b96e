"""Derivatives of formulas, to the last digit: a formula is written once and differentiated here.

A step along the imaginary axis gives a first derivative without any difference of near numbers:
``f(x + ih) = f(x) + ih f'(x) + O(h^2)``, so the imaginary part over h is the derivative for any tiny h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Floats

Formula = Callable[[npt.NDArray[Any]], Any]
"""A number from an array, by operations that complex numbers have: no absolute values, no comparisons."""

_STEP = 1e-30
_RELATIVE_STEP = 1e-5


def differentiate(formula: Formula, place: Floats) -> Floats:
    """Gradient of a formula at some numbers, ``(n,)``.

    Examples
    --------
    >>> differentiate(lambda x: x[0] ** 2 / x[1], np.array([3.0, 2.0])).tolist()
    [3.0, -2.25]
    """
    return np.array([_slope_along(formula, place, each) for each in np.eye(place.size)])


def noise_bias(formula: Formula, place: Floats, covariance: Floats) -> float:
    """By how much noise of this covariance raises a formula on average: half the trace of Hessian times covariance.

    Examples
    --------
    >>> round(noise_bias(lambda x: x[0] ** 2, np.array([5.0]), np.array([[4.0]])), 6)
    4.0
    """
    sizes, directions = np.linalg.eigh(covariance)
    bias = 0.0
    for size, direction in zip(sizes, directions.T, strict=True):
        if abs(size) <= 1e-12 * float(np.abs(sizes).max()):
            continue
        moving = np.abs(direction) > 1e-9
        # No number may change its sign on the way.
        reach = np.abs(place[moving]) / np.abs(direction[moving])
        step = _RELATIVE_STEP * max(float(reach.min()), 1e-3 * float(np.abs(place).sum()))
        ahead = _slope_along(formula, place + step * direction, direction)
        behind = _slope_along(formula, place - step * direction, direction)
        bias += size * (ahead - behind) / (4 * step)
    return float(bias)


def _slope_along(formula: Formula, place: Floats, direction: Floats) -> float:
    return float(np.imag(formula(place + 1j * _STEP * direction)) / _STEP)
