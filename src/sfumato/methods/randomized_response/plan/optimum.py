"""The retentions that lose least while a bound holds: Problem 1 of Guo (2010), section 5.2.4."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from sfumato.guarantees.reconstruction_risk import risk_at_share
from sfumato.values.arrays import Floats

LOWEST_RETENTION = 1e-3
"""Below it nothing could be estimated from any table of a practical size."""

DECIMALS = 6
"""Retentions are rounded down to so many decimals: nothing is lost. Those chosen from private rows get a coarser grid."""

ENTRIES_HELD = 60
"""The entries nearest to the bound that a step of the search holds down; the rest follow."""

LARGEST_NUMBER_OF_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Constraint:
    """A bound that lower retentions always help to keep.

    Parameters
    ----------
    excess
        Retentions ``(n,)`` to the logarithms of level over bound, ``(k,)``; kept where not positive.
    weights
        Rows behind each entry, ``(k,)``.
    share
        Share of the rows for which the bound must be kept.
    """

    excess: Callable[[Floats], Floats]
    weights: Floats
    share: float = 1.0

    def worst(self, retentions: Floats) -> float:
        """The excess at the share of rows that is covered: kept up to 0."""
        return risk_at_share(self.excess(retentions), self.weights, self.share)


def log_loss(retentions: Floats, sizes: Floats) -> float:
    """Logarithm of the product of ``||P^-1||_F^2 = 1 + (m - 1)/p^2`` (Guo 2010, lemma 5, in our retention).

    The expected squared L2 error of the estimated distribution rises and falls with it.

    Examples
    --------
    >>> np.exp(log_loss(np.array([0.4]), np.array([2.0]))).round(12).tolist()
    7.25
    """
    return float(np.log1p((sizes - 1) / retentions**2).sum())


def least_loss(sizes: Floats, constraint: Constraint, *, lowest: float = LOWEST_RETENTION) -> Floats:
    """Retentions of the least loss that keep the bound.

    Parameters
    ----------
    sizes
        Number of categories of each attribute, ``(n,)``.
    constraint
        The bound. It must be kept at the lowest retentions, where the search can always retreat to.
    lowest
        What no retention goes below.

    Returns
    -------
    numpy.ndarray
        ``(n,)``, above 0 and at most 1 (not perturbed at all).

    Notes
    -----
    One parameter: bisection, since loss and bound both move one way. Several: sequential quadratic
    programming from one start for each parameter and an even one, holding down the entries nearest to the
    bound, then back to the boundary along a straight line; the best of all. The bound is the largest of many
    smooth functions, so their gradients are used and not that of the maximum, which has none.
    """
    if constraint.worst(np.ones_like(sizes)) <= 0:
        return np.ones_like(sizes)
    starts = [np.full(sizes.size, 0.5)]
    if sizes.size > 1:
        # Each attribute in turn takes most of the perturbation.
        starts += [np.where(np.arange(sizes.size) == place, 0.2, 0.9) for place in range(sizes.size)]
    found = [_descend(_to_boundary(start, constraint, lowest), sizes, constraint, lowest) for start in starts]
    return _rounded_down(min(found, key=lambda each: log_loss(each, sizes)), constraint, lowest)


def _descend(retentions: Floats, sizes: Floats, constraint: Constraint, lowest: float) -> Floats:
    """Steps along the boundary for as long as the loss falls."""
    if sizes.size == 1:
        return retentions
    best = log_loss(retentions, sizes)
    for _ in range(LARGEST_NUMBER_OF_ROUNDS):
        candidate = _to_boundary(_step(retentions, sizes, constraint, lowest), constraint, lowest)
        loss = log_loss(candidate, sizes)
        if loss >= best - 1e-9:
            break
        retentions, best = candidate, loss
    return retentions


def _step(retentions: Floats, sizes: Floats, constraint: Constraint, lowest: float) -> Floats:
    """Least loss near the given retentions with the entries nearest to the bound held under it."""
    from scipy.optimize import minimize

    excess = constraint.excess(retentions)
    # Rows that the share leaves uncovered may stay above the bound.
    covered = np.flatnonzero(excess <= constraint.worst(retentions) + 1e-9)
    held = covered[np.argsort(excess[covered])[-ENTRIES_HELD:]]

    def room(each: Floats) -> Floats:
        return -constraint.excess(each)[held]

    def slopes(each: Floats) -> Floats:
        step = 1e-6 * each
        here = room(each)
        return np.stack(
            [
                (here - room(np.where(np.arange(each.size) == place, each - step, each))) / step[place]
                for place in range(each.size)
            ],
            axis=1,
        )

    def loss_slope(each: Floats) -> Floats:
        ratio = (sizes - 1) / each**2
        return np.asarray(-2 * ratio / each / (1 + ratio))

    with warnings.catch_warnings():
        # The search may try points a rounding error outside its limits, and says so.
        warnings.simplefilter("ignore", RuntimeWarning)
        # The stubs do not know of constraints with a slope.
        result = cast("Any", minimize)(
            lambda each: log_loss(each, sizes),
            retentions,
            jac=loss_slope,
            method="SLSQP",
            # Within a factor, so that the entries held down stay the ones that matter.
            bounds=[(max(lowest, 0.7 * each), min(1.0, 1.4 * each)) for each in retentions],
            constraints=[{"type": "ineq", "fun": room, "jac": slopes}],
            options={"maxiter": 30, "ftol": 1e-10},
        )
    return np.asarray(np.clip(result.x, lowest, 1))


def _to_boundary(retentions: Floats, constraint: Constraint, lowest: float) -> Floats:
    """The last point that keeps the bound, on the way to no perturbation or back to the strongest."""
    from scipy.optimize import brentq

    is_kept = constraint.worst(retentions) <= 0
    low, high = (
        (retentions, np.ones_like(retentions)) if is_kept else (np.full_like(retentions, lowest), retentions)
    )

    def excess_at(place: float) -> float:
        return constraint.worst(low + place * (high - low))

    if excess_at(1.0) <= 0:
        return high
    place = brentq(excess_at, 0.0, 1.0, xtol=1e-12) if excess_at(0.0) < 0 else 0.0
    margin = 1e-12
    while place > 0 and excess_at(place) > 0:
        place = max(place - margin, 0.0)
        margin *= 2
    return np.asarray(low + place * (high - low))


def _rounded_down(retentions: Floats, constraint: Constraint, lowest: float) -> Floats:
    """Fewer decimals; what is as good as unperturbed is left unperturbed where the bound allows it."""
    unit = 10.0**-DECIMALS
    floored = np.maximum(np.floor(retentions / unit) * unit, lowest).round(DECIMALS)
    whole = np.where(retentions > 1 - 10 * unit, 1.0, floored)
    return whole if constraint.worst(whole) <= 0 else np.minimum(floored, 1 - unit)


def epsilons(retentions: Floats, sizes: Floats) -> Floats:
    """Local epsilon of each attribute: ln(1 + p m / (1 - p)); infinite without perturbation.

    Examples
    --------
    >>> epsilons(np.array([0.5, 1.0]), np.array([2.0, 2.0])).round(6).tolist()
    [1.098612, inf]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(retentions * sizes / (1 - retentions)))
