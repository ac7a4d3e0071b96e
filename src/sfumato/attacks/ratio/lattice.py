"""How far the lattice of whole counts can move closeness, so that few pairs need the exact sum.

The discrete Laplace law that is published and the continuous one differ by a bounded amount. Where the closed form is
farther than that from a threshold, it settles the comparison at the price of a few exponentials; the sum over
thousands of terms is left for the pairs in between.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.attacks.ratio.law import LARGEST_SUMMED_SCALE, LATTICE_SLACK, AnyNoise, closeness_probability
from sfumato.chance.noise import DiscreteLaplace, Laplace
from sfumato.values.arrays import Floats

RESOLUTION = 1e-12
"""What cutting off the sum and rounding can change; closer values are not told apart."""


def lattice_uncertainty(
    part: npt.ArrayLike, group: npt.ArrayLike, scale: float, *, tolerance: float
) -> Floats:
    """Bound on the difference of closeness between discrete and continuous Laplace noise of one scale.

    Parameters
    ----------
    part, group
        True whole counts theta and phi, broadcast against each other; ``0 < part <= group``.
    scale
        The b of both laws.
    tolerance
        The tau, between 0 and 1.

    Notes
    -----
    Two exponential variables differ by a Laplace variable, their whole parts by a discrete Laplace one, and whole part
    and remainder of an exponential variable are independent. Hence ``L = D + R`` in law, with R independent of D,
    symmetric, below 1 in size and of variance at most 1/6. For an end ``z = (1 +- tau) theta/phi`` write f for the
    density of L, F for its distribution function and g(z) for the density of ``Y - z X`` at zero under continuous
    noise. Two bounds hold, and the smaller is returned.

    Coarse, best at small scales: the laws disagree only if remainders carry the point over an end, so that
    ``|Y - z X| < 1 + z`` under continuous noise, or over X = 0, so that ``|X| < 1``. The logarithm of the density of
    ``Y - z X`` has a slope of at most 1/b, which gives ``2 (1+z) exp((1+z)/b) g(z)`` for each end, and
    ``exp((1-phi)/b) / b`` for X.

    Fine, best at large scales, in three steps:

    1. Given X, whole Y up to an end y have a probability between those that F gives to y - 1/2 and y + 1/2, but for
       ``(1 - sech(1/(2b))) / 2 <= 1/(16 b^2)``: a step of at most ``exp(1/(2b)) f(y - theta) / 2``.
    2. Over discrete X the mean of ``f(z X - theta)`` is at most ``exp(z/b) g(z)``, since a remainder moves its
       logarithm by at most z/b.
    3. Taking X continuous in the mean of the difference of the two F moves it by half the variance of R times the
       largest slope of its derivative, ``(z1^2 + z2^2) / (2 b^2)``; at X = 0, where it has a kink, by at most
       ``P(X = 0) E|R| (z2 - z1) / (2b)``. With both ends of step 1 this stays below ``1 / (2 b^2)``, as
       ``1/8 + 1/6 + 1/sqrt(24) < 1/2``.

    Examples
    --------
    >>> round(float(lattice_uncertainty(420, 501, 48.0, tolerance=0.2)), 4)
    0.0027
    """
    theta, phi = np.asarray(part, np.float64), np.asarray(group, np.float64)
    # Ends of the sum are widened by a share of their size; over its whole range they stay below this.
    slack = LATTICE_SLACK * np.maximum(1, 2 * (phi + 33 * scale))
    fine: Floats = np.full(np.broadcast(theta, phi).shape, 0.5 / scale**2)
    coarse: Floats = np.broadcast_to(np.exp((1 - phi) / scale) / scale, fine.shape)
    with np.errstate(over="ignore"):
        for sign in (-1, 1):
            end = (1 + sign * tolerance) * theta / phi
            density = _density_at_zero(end, tolerance * theta / scale) / scale
            step = 0.5 + slack
            fine = fine + step * np.exp((end + step) / scale) * density
            width = 1 + end + slack
            coarse = coarse + 2 * width * np.exp(width / scale) * density
    # Overflow at tiny scales can only make a bound infinite; no probability is off by more than 1.
    return np.fmin(np.fmin(fine, coarse), 1.0) + RESOLUTION


def settle_closeness(
    part: npt.ArrayLike,
    group: npt.ArrayLike,
    noise: AnyNoise,
    threshold: float,
    *,
    tolerance: float,
) -> tuple[Floats, Floats]:
    """Closeness on the right side of a threshold, and how far each value can be from the exact one.

    Zero uncertainty says that the value is what ``closeness_probability`` gives.

    Examples
    --------
    >>> values, uncertainty = settle_closeness([420, 81], [501, 501], DiscreteLaplace(scale=20.0), 0.7, tolerance=0.2)
    >>> (values >= 0.7).tolist(), bool((uncertainty < 0.02).all())
    ([True, False], True)
    """
    theta, phi = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(group, np.float64))
    if not isinstance(noise, DiscreteLaplace) or noise.scale > LARGEST_SUMMED_SCALE:
        return closeness_probability(theta, phi, noise, tolerance=tolerance), np.zeros(theta.shape)
    values = closeness_probability(theta, phi, Laplace(scale=noise.scale), tolerance=tolerance)
    uncertainty = lattice_uncertainty(theta, phi, noise.scale, tolerance=tolerance)
    # The bound is for whole counts.
    is_open = (np.abs(values - threshold) <= uncertainty) | (theta % 1 != 0) | (phi % 1 != 0)
    values[is_open] = closeness_probability(theta[is_open], phi[is_open], noise, tolerance=tolerance)
    uncertainty[is_open] = 0.0
    return values, uncertainty


def surest_places(
    part: Floats,
    group: Floats,
    noise: AnyNoise,
    settled: tuple[Floats, Floats],
    number: int,
    *,
    tolerance: float,
) -> tuple[npt.NDArray[np.intp], Floats]:
    """Places of the pairs of largest closeness, largest first, and their exact closeness.

    Parameters
    ----------
    part, group
        One-dimensional.
    settled
        Closeness and uncertainty as ``settle_closeness`` gives them.
    number
        How many to return; all when there are fewer.

    Examples
    --------
    >>> part, group, law = np.array([9.0, 90.0, 30.0]), np.array([99.0, 99.0, 99.0]), DiscreteLaplace(scale=5.0)
    >>> settled = settle_closeness(part, group, law, 0.7, tolerance=0.2)
    >>> surest_places(part, group, law, settled, 2, tolerance=0.2)[0].tolist()
    [1, 2]
    """
    values, uncertainty = settled
    if not values.size:
        return np.zeros(0, np.intp), np.zeros(0)
    first = np.argsort(-values, kind="stable")[:number]
    # So many pairs are at least this close for certain; whatever may be closer competes with them.
    bar = np.sort(values - uncertainty)[-number:][0]
    # Pairs that the sum itself cannot tell apart stay in their order: near certainty there can be a million of them.
    competes = values + uncertainty > bar + 4 * RESOLUTION
    competes[first] = True
    places = np.flatnonzero(competes)
    exact = values[places]
    is_open = uncertainty[places] > 0
    chosen = places[is_open]
    exact[is_open] = closeness_probability(part[chosen], group[chosen], noise, tolerance=tolerance)
    order = np.argsort(-exact, kind="stable")[:number]
    return places[order], exact[order]


def _density_at_zero(z: Floats, distance: Floats) -> Floats:
    """Density of ``Y - z X`` at zero for noise of scale 1, its center being this far from zero."""
    # With s = max(1, z), r = min(z, 1/z), D = distance/s: (exp(-D) - r exp(-D/r)) / (2 s (1 - r^2)). The smaller
    # exponential is taken as an expm1, since both terms cancel at r = 1.
    larger = np.maximum(z, 1)
    ratio = np.minimum(z, 1 / z)
    gap = 1 - ratio
    reduced = distance / larger
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = -np.expm1(np.log1p(-gap) - reduced * gap / ratio) / gap
    quotient = np.where(gap == 0, 1 + reduced, quotient)
    return np.asarray(np.exp(-reduced) * quotient / (2 * larger * (1 + ratio)))
