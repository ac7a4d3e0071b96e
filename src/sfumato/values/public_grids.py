"""The public grids from which parameters are taken that were chosen by looking at private rows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Floats

RETENTION_STEP = 0.05
"""Chosen retentions are whole multiples of it: nearly always the same whatever one person's value is."""

_STEPS = round(1 / RETENTION_STEP)


def retentions_on_grid(retentions: npt.ArrayLike) -> Floats:
    """Retentions rounded down to the grid; the lowest step where nothing is below.

    Examples
    --------
    >>> retentions_on_grid([0.667406, 0.95, 1.0, 0.01]).tolist()
    [0.65, 0.95, 1.0, 0.05]
    """
    # A part in a million million of slack: 0.15 / 0.05 is below 3 in floats.
    steps = np.floor(np.asarray(retentions, np.float64) * _STEPS + 1e-9)
    # Divided, not multiplied: 3 / 20 is the double that 0.15 is read as.
    return np.asarray(np.maximum(steps, 1) / _STEPS)


def is_retention_on_grid(retention: float) -> bool:
    """Whether a retention has no more digits than the grid.

    Examples
    --------
    >>> is_retention_on_grid(0.35), is_retention_on_grid(0.36)
    (True, False)
    """
    return retention in (0.0, float(retentions_on_grid(retention)))


def is_epsilon_on_grid(epsilon: float) -> bool:
    """Whether an epsilon is 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> is_epsilon_on_grid(0.5), is_epsilon_on_grid(20.0), is_epsilon_on_grid(0.3)
    (True, True, False)
    """
    return f"{epsilon:e}".rstrip("0123456789").rstrip("+-e").rstrip("0").rstrip(".") in ("1", "2", "5")


def epsilon_on_grid(epsilon: float) -> float:
    """The largest of 1, 2 and 5 times powers of ten that is not above an epsilon.

    Examples
    --------
    >>> [epsilon_on_grid(each) for each in (0.0731, 0.2, 4.99, 1_000.0)]
    [0.05, 0.2, 2.0, 1000.0]
    """
    power = math.floor(math.log10(epsilon))
    # Written as text, so that 2 times a tenth is the double that 0.2 is read as; the logarithm may be one too large.
    steps = [
        float(f"{digit}e{exponent}") for exponent in (power - 1, power, power + 1) for digit in (1, 2, 5)
    ]
    return max(each for each in steps if each <= epsilon)
