"""The ratio of two noisy counts: its exact distribution, what it discloses, and the noise that prevents it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats
from sfumato.errors import ParameterError
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace, Laplace

# --------------------------------------------------------------------------------------------------
# The ratio of two noisy counts: its exact law, and how often it comes close to the true ratio.
#
# Two counts are published with noise: ``X = group + noise`` and ``Y = part + noise``, the part lying in
# the group. Each is private, and yet Y / X gives the share of the part away when the noise is small
# beside the group. The ratio has no mean and no variance (X can be near zero), so everything here is
# about probabilities and quantiles.


LARGEST_BLOCK = 2**16
"""Terms that a summation holds at once, unless one pair has more: half a megabyte, which stays in a cache."""

LATTICE_SLACK = 1e-9
"""Share of its size by which an end of the tolerance is widened, for whole numbers that rounding put outside."""

QUADRATURE_NODES = 200
"""Gauss-Legendre nodes on each side of zero; the integrand is smooth on the scale of the noise."""

LARGEST_SUMMED_SCALE = 2_000
"""Scale up to which discrete laws are summed. Beyond it the continuous law is used: what the lattice changes is, at each
end of the tolerance, half the probability of hitting it exactly, which is below that of any one integer. Together this
is less than 1 / (2 scale)."""

RULE_OF_THUMB = 1 / 20
"""Scale over group size up to which the ratio is called accurate (Han 2016, after corollary 2)."""

AnyNoise = Laplace | DiscreteLaplace | DiscreteGaussian


def ratio_cdf(ratio: npt.ArrayLike, part: npt.ArrayLike, group: npt.ArrayLike, scale: float) -> Floats:
    """Probability that Y / X is at most a ratio, under Laplace noise; exact, and stable everywhere.

    Parameters
    ----------
    ratio, part, group
        z, theta and phi, broadcast against each other; ``0 < part <= group``.
    scale
        The b of the noise on both counts.

    Notes
    -----
    Han (2016), lemma 2, holds off 0, 1 and -1. Here its terms are grouped so that what vanishes there
    vanishes explicitly. With ``E = exp(-group/b)``, ``S = exp(-(part+group)/b)`` and
    ``B(z, d) = (z^2 exp(-d/z) - exp(-d)) / (2 (1 - z^2))`` for ``d = |z group - part| / b``:

    - above part/group: ``1 + B - S / (2 (1+z)) + E/2``;
    - from 0 to part/group: ``-B - S / (2 (1+z)) + E/2``;
    - below 0, with ``y = -z`` and ``k = 1 - y``:
      ``E/2 + S (y^2 expm1(-k part/(b y)) / k + expm1(k group/b) / k - y) / (2 (1+y))``.

    Examples
    --------
    >>> ratio_cdf([-1.0, 0.0, 1.0], 50, 100, 250.0).round(8).tolist()
    [0.2253977, 0.47011958, 0.7476552]
    """
    z, theta, phi = np.broadcast_arrays(
        np.asarray(ratio, np.float64), *(np.asarray(each, np.float64) for each in (part, group))
    )
    _require_counts(theta, phi)
    theta, phi = theta / scale, phi / scale
    rest = 0.5 * np.exp(-phi) - np.exp(-theta - phi) / (2 * (1 + np.abs(z)))
    distance = z * phi - theta
    positive = _bracket(np.abs(z), np.abs(distance))
    at_or_above = np.where(distance > 0, 1 + positive, -positive) + rest
    return np.asarray(
        np.where(z < 0, 0.5 * np.exp(-phi) + _below_zero(np.maximum(-z, 0), theta, phi), at_or_above)
    )


def ratio_quantiles(levels: npt.ArrayLike, part: float, group: float, scale: float) -> Floats:
    """Values that the noisy ratio stays below with the given probabilities.

    Examples
    --------
    >>> ratio_quantiles([0.05, 0.5, 0.95], 420, 501, 20.0).round(3).tolist()
    [0.724, 0.838, 0.967]
    """
    from scipy.optimize.elementwise import find_root

    # Tails of a ratio fall like 1/z, so that the search runs over a compressed line.
    def excess(place: Floats, level: Floats) -> Floats:
        return ratio_cdf(place / (1 - np.abs(place)), part, group, scale) - level

    wanted = np.asarray(levels, np.float64)
    place = find_root(excess, (-1 + 1e-12, 1 - 1e-12), args=(wanted,)).x
    return np.asarray(place / (1 - np.abs(place)))


def approximate_moments(part: float, group: float, variance: float) -> tuple[float, float]:
    """Mean and variance of Y / X by a Taylor series to second order (Han 2016, lemma 1).

    The true moments do not exist, since X can come near zero. The series is a fair description of the
    bulk of the ratio where the noise is below a twentieth of the group, and of nothing elsewhere.

    Parameters
    ----------
    part, group
        theta and phi.
    variance
        Of the noise on both counts.

    Examples
    --------
    >>> mean, spread = approximate_moments(420, 501, 2 * 20**2)
    >>> round(mean, 5), round(spread, 5)
    (0.841, 0.00543)
    """
    share, relative = part / group, variance / group**2
    # c (1 + V / phi^2) and (V / phi^2) (1 + c^2).
    return share * (1 + relative), relative * (1 + share**2)


def closeness_probability(
    part: npt.ArrayLike, group: npt.ArrayLike, noise: AnyNoise, *, tolerance: float
) -> Floats:
    """Probability that Y / X lies within a relative tolerance of part / group (CP, with tau).

    Closed form for the Laplace law, exact summation for the discrete Laplace and discrete Gaussian
    laws that are really published, up to ``LARGEST_SUMMED_SCALE``. A ratio with X = 0 is no ratio and
    not close.

    Parameters
    ----------
    part, group
        True counts theta and phi, broadcast against each other; ``0 < part <= group``.
    noise
        The law of the noise on both counts.
    tolerance
        The tau, between 0 and 1.

    References
    ----------
    Han (2016), corollary 3.

    Examples
    --------
    >>> round(float(closeness_probability(700, 1000, Laplace(scale=50.0), tolerance=0.2)), 6)
    0.896715
    """
    if not 0 < tolerance < 1:
        raise ParameterError(
            f"the tolerance must lie strictly between 0 and 1, got {tolerance}. Try 0.2.",
            parameter="tolerance",
        )
    theta, phi = _counts(part, group)
    if not isinstance(noise, Laplace) and noise.scale <= LARGEST_SUMMED_SCALE:
        return _for_different_pairs(theta, phi, lambda t, p: _summed_closeness(t, p, noise, tolerance))
    if isinstance(noise, DiscreteGaussian):
        return gaussian_closeness(theta, phi, noise.scale, noise.scale, tolerance=tolerance)
    return _laplace_closeness(theta / noise.scale, phi / noise.scale, tolerance)


def gaussian_closeness(
    part: npt.ArrayLike,
    group: npt.ArrayLike,
    part_deviation: float,
    group_deviation: float,
    *,
    tolerance: float,
    covariance: float = 0.0,
) -> Floats:
    """The same probability under continuous Gaussian noise, by Gauss-Legendre quadrature.

    The two counts may have different standard deviations and share noise: a group that is not published
    by itself is a sum of cells, noisier than its parts, and one of the cells is the part.

    Examples
    --------
    >>> close = gaussian_closeness(420, 501, 28.0, 28.0, tolerance=0.2)
    >>> summed = closeness_probability(420, 501, DiscreteGaussian(scale=28.0), tolerance=0.2)
    >>> abs(float(close - summed)) < 1e-3
    True
    """
    from scipy.special import ndtr

    theta, phi = _counts(part, group)
    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
    # Everything in units of the noise of the group.
    theta, phi = theta[..., None] / group_deviation, phi[..., None] / group_deviation
    # Given X the part is normal about theta + shared (X - phi), with what the covariance leaves.
    shared = covariance / group_deviation**2
    relative = group_deviation / max(part_deviation**2 - covariance * shared, 1e-24) ** 0.5
    total = np.zeros(theta.shape[:-1])
    # Nine standard deviations leave less than 1e-18 outside; the integrand has a kink at X = 0.
    reach = 9.0
    for low, high in (
        (phi - reach, np.minimum(phi + reach, 0.0)),
        (np.maximum(phi - reach, 0.0), phi + reach),
    ):
        length = np.clip(high - low, 0, None) / 2
        x = (low + high) / 2 + length * nodes
        center = theta + shared * (x - phi)
        ends = [relative * ((1 + sign * tolerance) * theta / phi * x - center) for sign in (-1, 1)]
        inside = np.abs(ndtr(ends[1]) - ndtr(ends[0]))
        density = np.exp(-0.5 * (x - phi) ** 2) / np.sqrt(2 * np.pi)
        total += np.sum(length * weights * inside * density, axis=-1)
    return total


def _counts(part: npt.ArrayLike, group: npt.ArrayLike) -> tuple[Floats, Floats]:
    theta, phi = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(group, np.float64))
    _require_counts(theta, phi)
    return theta, phi


def _require_counts(theta: Floats, phi: Floats) -> None:
    wrong = int(np.count_nonzero(~((theta > 0) & (phi > 0) & (theta <= phi))))
    if wrong:
        raise ParameterError(
            f"{wrong} of {theta.size} pairs of counts have no ratio to learn: a part must hold more than 0 rows "
            "and no more than its group. Leave out empty groups and parts that nobody is in.",
            parameter="part",
        )


def _bracket(z: Floats, d: Floats) -> Floats:
    """B(z, d) for z >= 0, where the two exponentials cancel at z = 1."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = z - 1
        # z^2 exp(-d/z) = exp(-d) exp(2 ln z + d (z-1)/z): their difference is an expm1.
        exponent = 2 * np.log(z) + d * near / z
        cancelling = -np.exp(-d) * np.expm1(exponent) / near
        at_one = -np.exp(-d) * (2 + d)
        apart = (z**2 * np.exp(-d / z) - np.exp(-d)) / (1 - z)
    # At z = 0 the first exponential is zero, whatever its quotient says.
    apart = np.where(z == 0, -np.exp(-d), apart)
    difference = np.where(near == 0, at_one, np.where(np.abs(exponent) < 1, cancelling, apart))
    return np.asarray(difference / (2 * (1 + z)))


def _below_zero(y: Floats, theta: Floats, phi: Floats) -> Floats:
    """The part of the distribution function below zero that has a removable point at y = 1."""
    weight = theta + phi
    k = 1 - y

    def quotient(exponent: Floats, limit: Floats) -> Floats:
        """``S expm1(exponent) / k`` without overflow; the limit of the quotient where k = 0."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            small = np.exp(-weight) * np.expm1(exponent) / k
            large = (np.exp(exponent - weight) - np.exp(-weight)) / k
        chosen = np.where(np.abs(exponent) < 1, small, large)
        return np.asarray(np.where(k == 0, np.exp(-weight) * limit, chosen))

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first = y**2 * quotient(-theta * k / y, -theta)
    # At y = 0 the square is zero and the quotient finite.
    first = np.where(y == 0, 0.0, first)
    whole = first + quotient(phi * k, phi) - y * np.exp(-weight)
    return np.asarray(whole / (2 * (1 + y)))


def _laplace_closeness(theta: Floats, phi: Floats, tolerance: float) -> Floats:
    """F((1+tau) c) - F((1-tau) c), with what both ends share left out of the difference."""
    share = theta / phi
    # At both ends |z phi - theta| = tau theta, exactly.
    distance = tolerance * theta
    upper, lower = (1 + tolerance) * share, (1 - tolerance) * share
    weight = np.exp(-theta - phi)
    shift = weight * (upper - lower) / (2 * (1 + upper) * (1 + lower))
    return np.asarray(1 + _bracket(upper, distance) + _bracket(lower, distance) + shift)


def _for_different_pairs(theta: Floats, phi: Floats, compute: Callable[[Floats, Floats], Floats]) -> Floats:
    """Values of a function of two counts, computed once for each different pair."""
    pairs = np.stack([theta.ravel(), phi.ravel()], axis=1)
    different, place = np.unique(pairs, axis=0, return_inverse=True)
    return compute(different[:, 0], different[:, 1])[place.ravel()].reshape(theta.shape)


def _summed_closeness(
    theta: Floats, phi: Floats, noise: DiscreteLaplace | DiscreteGaussian, tolerance: float
) -> Floats:
    """Sum over every possible X of its probability times that of the Ys which are close; pairs in blocks."""
    # 32 scales of a Laplace law, or 8 of a Gaussian one, leave less than 1e-13 on each side.
    reach = int(np.ceil((32 if isinstance(noise, DiscreteLaplace) else 8) * noise.scale)) + 1
    steps = np.arange(-reach, reach + 1)
    weights = noise.probability(steps)
    total = np.empty(theta.size)
    at_once = max(LARGEST_BLOCK // steps.size, 1)
    for start in range(0, theta.size, at_once):
        block = slice(start, start + at_once)
        part, group = theta[block, None], phi[block, None]
        x = steps + group
        ends = [(1 + sign * tolerance) * part * x / group for sign in (-1, 1)]
        # Ends that are whole numbers count as inside, also where rounding put them just outside.
        slack = LATTICE_SLACK * np.maximum(1, np.abs(ends[1]))
        first = np.ceil(np.minimum(*ends) - slack)
        last = np.floor(np.maximum(*ends) + slack)
        inside = noise.cumulative(last - part) - noise.cumulative(first - 1 - part)
        total[block] = np.sum(np.where(x == 0, 0.0, inside * weights), axis=1)
    return total


# --------------------------------------------------------------------------------------------------
# How far the lattice of whole counts can move closeness, so that few pairs need the exact sum.
#
# The discrete Laplace law that is published and the continuous one differ by a bounded amount. Where the
# closed form is
# farther than that from a threshold, it settles the comparison at the price of a few exponentials; the sum
# over
# thousands of terms is left for the pairs in between.


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


# --------------------------------------------------------------------------------------------------
# Which values the ratio of two noisy counts gives away, and the noise that hides them.


TOLERANCE, SMALLEST_CLOSENESS, SMALLEST_JUMP = 0.2, 0.7, 3.0
"""tau, K_CP and K_J of the thesis: a share this close, this probably, and this far above the whole table's."""


@dataclass(frozen=True, eq=False)
class Disclosures:
    """Which parts of which groups an attacker would learn from the ratio of two noisy counts.

    Parameters
    ----------
    closeness, jump
        For every pair of part and group, shape as the parts: CP, and the true share over the share
        in the whole table. NaN closeness where the pair was not worth computing.
    uncertainty
        How far each closeness can be from the exact one: zero where it is exact, and never enough to
        change on which side of the threshold it lies. NaN as closeness.
    is_disclosed
        Both are at or above their thresholds.
    """

    closeness: Floats
    jump: Floats
    uncertainty: Floats
    is_disclosed: Booleans

    @property
    def number(self) -> int:
        """How many pairs are disclosed."""
        return int(np.count_nonzero(self.is_disclosed))


def find_disclosures(
    parts: npt.ArrayLike,
    groups: npt.ArrayLike,
    priors: npt.ArrayLike,
    noise: AnyNoise,
    *,
    tolerance: float = TOLERANCE,
    smallest_closeness: float = SMALLEST_CLOSENESS,
    smallest_jump: float = SMALLEST_JUMP,
) -> Disclosures:
    """Disclosed sensitive values over many groups (Han 2016, definition before corollary 3).

    Parameters
    ----------
    parts
        theta, ``(number_of_groups, number_of_values)``: rows of each group with each sensitive value.
    groups
        phi, ``(number_of_groups,)``.
    priors
        Share of each value in the whole table, ``(number_of_values,)``.
    noise
        On every count.
    tolerance, smallest_closeness, smallest_jump
        tau, K_CP and K_J.

    Notes
    -----
    Parts and groups of zero rows are skipped: there is nobody in them to learn about, and no ratio.
    Under the discrete Laplace law only pairs that the continuous law leaves open are summed; what is
    disclosed is the same as if all were.

    Examples
    --------
    >>> found = find_disclosures([[420, 81]], [501], [0.2478, 0.7522], Laplace(scale=20.0))
    >>> found.is_disclosed.tolist(), found.jump.round(3).tolist()
    ([[True, False]], [[3.383, 0.215]])
    """
    theta = np.asarray(parts, np.float64)
    phi = np.broadcast_to(np.asarray(groups, np.float64)[:, None], theta.shape)
    is_there = (theta > 0) & (phi > 0)
    shares = np.divide(theta, phi, out=np.zeros(theta.shape), where=is_there)
    jump = np.divide(shares, np.asarray(priors, np.float64), out=np.zeros(theta.shape), where=is_there)
    worth = is_there & (jump >= smallest_jump)
    closeness, uncertainty = np.full(theta.shape, np.nan), np.full(theta.shape, np.nan)
    closeness[worth], uncertainty[worth] = settle_closeness(
        theta[worth], phi[worth], noise, smallest_closeness, tolerance=tolerance
    )
    return Disclosures(closeness, jump, uncertainty, worth & (closeness >= smallest_closeness))


def smallest_hiding_scale(
    parts: npt.ArrayLike,
    groups: npt.ArrayLike,
    priors: npt.ArrayLike,
    *,
    tolerance: float = 0.2,
    smallest_closeness: float = 0.7,
    smallest_jump: float = 3.0,
) -> float:
    """Scale of Laplace noise from which no pair is disclosed any more; 0 when none ever is.

    Infinite when none hides: even the ratio of two counts of pure noise is close now and then.

    Closeness falls as the scale grows, so that a search over the most exposed pair finds it.

    Examples
    --------
    >>> scale = smallest_hiding_scale([[420, 81]], [501], [0.2478, 0.7522])
    >>> exposed = closeness_probability(420, 501, Laplace(scale=scale), tolerance=0.2)
    >>> round(float(exposed), 6)
    0.7
    """
    theta = np.asarray(parts, np.float64)
    phi = np.broadcast_to(np.asarray(groups, np.float64)[:, None], theta.shape)
    is_there = (theta > 0) & (phi > 0)
    priors = np.broadcast_to(np.asarray(priors, np.float64), theta.shape)
    worth = is_there & (theta >= smallest_jump * priors * phi)
    theta, phi = theta[worth], phi[worth]
    if not theta.size:
        return 0.0

    def excess(log_scale: float) -> float:
        noise = Laplace(scale=float(np.exp(log_scale)))
        return float(closeness_probability(theta, phi, noise, tolerance=tolerance).max()) - smallest_closeness

    from scipy.optimize import brentq

    low, high = np.log(1e-6), np.log(float(phi.max()) * 1e3)
    if excess(high) >= 0:
        return np.inf
    # A last part in a billion above, where the search has ended on either side.
    return float(np.exp(brentq(excess, low, high, xtol=1e-12))) * (1 + 1e-9)
