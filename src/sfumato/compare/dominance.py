"""Which designs are beaten on risk and error beyond their uncertainty, and what each method's error is at equal risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.custody.audit.caps import CONTROL_SHARE
from sfumato.values.arrays import Floats

FOR_EACH = 0.975
"""Confidence, on one side, with which a design must be better on risk, and again on error."""

RESAMPLES = 400
"""Resamples of the splits behind shares and intervals."""

Series = tuple[Floats, Floats]
"""Risk and error of a design on every split."""


def is_better(other: Series, mine: Series) -> bool:
    """Less risk and less error on the same splits, each beyond its uncertainty."""
    return all(_is_less(theirs - ours) for theirs, ours in zip(other, mine, strict=True))


def _is_less(apart: Floats) -> bool:
    """A mean of paired differences below zero with the stated confidence; splits overlap, which widens it."""
    from scipy.special import stdtrit

    number = len(apart)
    spread = float(np.sqrt((1 / number + CONTROL_SHARE) * apart.var(ddof=1)))
    return float(apart.mean()) + float(stdtrit(number - 1, FOR_EACH)) * spread < 0


def beaten(series: Mapping[str, Series]) -> dict[str, bool]:
    """By design, whether some other one is better on both."""
    return {
        name: any(is_better(other, mine) for label, other in series.items() if label != name)
        for name, mine in series.items()
    }


def undominated_shares(series: Mapping[str, Series], *, seed: int) -> dict[str, float]:
    """By design, in which share of resamples of the splits no other design has less mean risk and less mean error.

    Examples
    --------
    >>> worse, better = (np.array([0.3, 0.4]), np.array([0.5, 0.5])), (np.array([0.1, 0.2]), np.array([0.1, 0.1]))
    >>> undominated_shares({"worse": worse, "better": better}, seed=1)
    {'worse': 0.0, 'better': 1.0}
    """
    if not series:
        return {}
    stacked = np.array([np.stack(each) for each in series.values()])
    generator = np.random.default_rng(seed)
    kept = np.zeros(len(stacked))
    for _ in range(RESAMPLES):
        drawn = generator.integers(stacked.shape[2], size=stacked.shape[2])
        risk, error = stacked[:, :, drawn].mean(axis=2).T
        is_less = (risk[:, None] < risk) & (error[:, None] < error)
        kept += ~is_less.any(axis=0)
    return dict(zip(series, (kept / RESAMPLES).tolist(), strict=True))


def error_at_risk(grid: Sequence[Series], level: float, *, seed: int) -> tuple[float, float, float] | None:
    """Error of a method where its risk is at a level, with a 95 % interval; None where its grid does not reach it.

    Error falls as risk rises along a method's parameter: both are made monotone over the grid, and the error is read between
    its points, never beyond them. The interval is that of resampled splits.

    Parameters
    ----------
    grid
        The designs of one method, each ``(splits,)`` of risk and of error.
    level
        The risk.
    seed
        Of the resamples.

    Examples
    --------
    >>> grid = [(np.full(3, 0.02), np.full(3, 0.3)), (np.full(3, 0.10), np.full(3, 0.1))]
    >>> [round(each, 3) for each in error_at_risk(grid, 0.06, seed=1)]
    [0.2, 0.2, 0.2]
    >>> error_at_risk(grid, 0.2, seed=1) is None
    True
    """
    if not grid:
        return None
    stacked = np.array([np.stack(each) for each in grid])
    middle = _read(stacked.mean(axis=2), level)
    if middle is None:
        return None
    generator = np.random.default_rng(seed)
    number = stacked.shape[2]
    found = [
        each
        for _ in range(RESAMPLES)
        if (each := _read(stacked[:, :, generator.integers(number, size=number)].mean(axis=2), level))
        is not None
    ]
    low, high = np.quantile(found, [0.025, 0.975]) if found else (middle, middle)
    return middle, float(min(low, middle)), float(max(high, middle))


def _read(points: Floats, level: float) -> float | None:
    """Error at a level of risk, from ``(designs, 2)`` mean risks and errors."""
    order = np.argsort(points[:, 0], kind="stable")
    risk, error = points[order, 0], -rising_means(-points[order, 1])
    if not risk[0] <= level <= risk[-1]:
        return None
    return float(np.interp(level, risk, error))


def rising_means(numbers: Floats) -> Floats:
    """The nearest numbers that never fall, by pooling neighbours that do.

    Examples
    --------
    >>> rising_means(np.array([1.0, 3.0, 2.0, 4.0])).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    pools: list[list[float]] = []
    for number in numbers.tolist():
        pools.append([number])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    return np.array([float(np.mean(each)) for each in pools for _ in each])
