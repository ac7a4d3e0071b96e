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

LARGEST_WHOLE = 30
"""Numbers up to which second derivatives are taken along all pairs of directions."""
PROBES = 400
"""Directions that stand for all pairs beyond; the spread of what noise adds is then known to a few per cent."""


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
    sizes, directions = _directions(covariance)
    return float(
        sum(size * _bend(formula, place, each) for size, each in zip(sizes, directions, strict=True)) / 2
    )


def noise_spread(formula: Formula, place: Floats, covariance: Floats) -> float:
    """Variance of what noise of this covariance adds to a formula by its curvature: half the trace of (Hessian times covariance) squared.

    Examples
    --------
    >>> round(noise_spread(lambda x: x[0] ** 2, np.array([5.0]), np.array([[4.0]])), 6)
    32.0
    >>> noise_spread(lambda x: x[0] ** 2, np.ones(99), np.zeros((99, 99)))
    0.0
    """
    sizes, directions = _directions(covariance)
    sizes, directions = sizes[sizes > 0], directions[sizes > 0]
    if not sizes.size:
        return 0.0
    reached = directions * np.sqrt(sizes)[:, None]
    if place.size <= LARGEST_WHOLE:
        bends = [_bends(formula, place, each, reached) for each in reached]
        return float(np.square(bends).sum() / 2)
    # Along normal directions of this covariance the second-order term varies as it does in truth. Nothing is protected by
    # these draws, and an answer must not change when asked again.
    drawn = np.random.default_rng(0).standard_normal((PROBES, len(reached))) @ reached
    return float(np.var([_bend(formula, place, each) / 2 for each in drawn], ddof=1))


def own_curvatures(formula: Formula, place: Floats) -> Floats:
    """Second derivatives along each number by itself, ``(n,)``.

    Examples
    --------
    >>> own_curvatures(lambda x: x[0] ** 2 + 3 * x[0] * x[1], np.array([5.0, 1.0])).round(6).tolist()
    [2.0, 0.0]
    """
    return np.array([_bend(formula, place, each) for each in np.eye(place.size)])


def _directions(covariance: Floats) -> tuple[Floats, Floats]:
    """Along which noise goes, with its variance there; what is rounding is left out."""
    if not covariance.any():
        return np.zeros(0), np.zeros((0, len(covariance)))
    sizes, vectors = np.linalg.eigh(covariance)
    kept = np.abs(sizes) > 1e-12 * float(np.abs(sizes).max(initial=0.0))
    return sizes[kept], vectors.T[kept]


def _bend(formula: Formula, place: Floats, direction: Floats) -> float:
    """Second derivative along a direction."""
    return float(_bends(formula, place, direction, direction[None, :])[0])


def _bends(formula: Formula, place: Floats, direction: Floats, others: Floats) -> Floats:
    """Second derivatives along a direction and each of some others, by the difference of slopes, ``(k,)``."""
    length = float(np.linalg.norm(direction))
    moving = np.abs(direction) > 1e-9 * length
    # No number may change its sign on the way.
    reach = float((np.abs(place[moving]) / np.abs(direction[moving])).min())
    step = _RELATIVE_STEP * max(reach, 1e-3 * float(np.abs(place).sum()) / length)
    ahead, behind = (
        np.array([_slope_along(formula, place + side * step * direction, each) for each in others])
        for side in (1, -1)
    )
    return np.asarray((ahead - behind) / (2 * step))


def _slope_along(formula: Formula, place: Floats, direction: Floats) -> float:
    return float(np.imag(formula(place + 1j * _STEP * direction)) / _STEP)
