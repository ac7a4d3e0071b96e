"""Estimating equations: derivatives, delta method, score intervals and residual tests on estimated counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Floats
from sfumato.errors import NoSolutionError, NotIdentifiableError
from sfumato.estimates.estimates import Certainty, Estimates, normal_quantile
from sfumato.estimates.intervals import heavier_quantiles, score_limits
from sfumato.laws import Target, refuse_unknown_target

# --------------------------------------------------------------------------------------------------
# Derivatives of formulas, to the last digit: a formula is written once and differentiated here.
#
# A step along the imaginary axis gives a first derivative without any difference of near numbers:
# ``f(x + ih) = f(x) + ih f'(x) + O(h^2)``, so the imaginary part over h is the derivative for any tiny h.


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


# --------------------------------------------------------------------------------------------------
# From estimated counts to anything computed from them: the one place where errors are carried on.
#
# A statistic is a smooth function of true counts, or the root of an equation on them. Its estimate is the
# same
# function, or the same root, at the estimated counts, negative ones included: an estimating equation needs
# only
# a few sums over all cells to be near their expectations, and cutting cells at zero would bias those sums.


LARGEST_NUMBER_OF_STEPS = 60
"""Newton steps after which there is no root; 4 to 8 are usual."""
RELATIVE_MOVE = 1e-10
SCALED_SCORE = 1e-6
"""Both must be undercut for a root: the relative size of the last step, and the score in standard deviations."""
EXACT = 1e-7
"""Standard error, as a share of its value, below which a sum of counts is known exactly."""
LEAST_STRENGTH = 2.0
"""Standard errors by which the information must differ from zero in every direction."""


class Equation(Protocol):
    """What determines theta, ``(p,)``: the sum over cells of count times score is zero."""

    @property
    def largest_move(self) -> float:
        """What an entry of theta may move in one step."""

    def scores(self, theta: Floats) -> Floats:
        """What one row of each cell adds, ``(p, cells)``."""

    def information(self, theta: Floats, counts: Floats) -> Floats:
        """Minus the derivative of the sum over cells with these counts, ``(p, p)``."""

    def curvatures(self, theta: Floats, directions: Floats) -> Floats:
        """What one row of each cell adds to ``v' information v``, for each column v of directions, ``(k, cells)``."""

    def dispersion(self, theta: Floats, counts: Floats) -> float:
        """Under the model, the variance of the summed scores over the information."""

    def refusal(self, theta: Floats, counts: Estimates) -> str | None:
        """Why no finite root can follow from here; None while one may."""

    def describe_direction(self, direction: Floats, counts: Estimates) -> str:
        """What the counts say too little about when a combination of theta cannot be told, as a sentence."""


@dataclass(frozen=True, eq=False)
class Root:
    """Where an estimating equation holds.

    Parameters
    ----------
    estimates
        Theta, ``(p,)``, with its covariance.
    information
        Minus the derivative of the summed scores, ``(p, p)``.
    strength
        The least number of standard errors by which the information differs from zero, over directions;
        infinite where it is known exactly.
    steps
        Newton steps taken.
    """

    estimates: Estimates
    information: Floats
    strength: float
    steps: int


def carry(
    values: Floats, gradient: Floats, counts: Estimates, target: Target, *, draw: Floats | None = None
) -> Estimates:
    """Estimates of functions of true counts, by the delta method.

    Parameters
    ----------
    values
        The functions at the estimated counts, ``(k,)``.
    gradient
        ``(k, cells)``.
    counts
        Estimated counts of all rows in question, with their ``table`` covariance: laws differ in how they add
        the drawing of the rows to it, so it is added here.
    target
        With ``"population"`` the variance of drawing the rows comes on top, ``G diag(n) G' - G n n' G' / N``, and no less than
        that of the draw of one row: that none was drawn of those who would move a number says not that there are none.
    draw
        Covariance of drawing, ``(k, k)``, where the counts are several tables and not one joint.

    Examples
    --------
    >>> counts = Estimates.with_covariance(np.array([30.0, 70.0]), np.diag([4.0, 4.0]))
    >>> share = carry(np.array([0.3]), np.array([[0.007, -0.003]]), counts, "table")
    >>> round(float(share.standard_errors[0]), 6)
    0.015232
    """
    refuse_unknown_target(target)
    noise = counts.linear(gradient)
    covariance = noise.covariance
    assert covariance is not None
    if noise.left_open is not None:
        # To first order a function moves with what was left open as the weighted sum of the counts does.
        covariance = covariance + np.diag(np.clip(noise.variances - np.diagonal(covariance), 0, None))
    heavy = noise.fourth_cumulants
    if target == "table":
        return Estimates(values, noise.variances, covariance, fourth_cumulants=heavy)
    least = np.zeros(values.size)
    if draw is None:
        draw, least = drawing(gradient, counts.values), _furthest_moves(gradient, counts.values) ** 2
    variances = noise.variances + np.maximum(np.diagonal(draw), least)
    return Estimates(values, variances, covariance + draw, fourth_cumulants=heavy)


def drawing(gradient: Floats, counts: Floats) -> Floats:
    """Covariance of ``gradient @ counts`` when the rows are a multinomial draw, ``(k, k)``."""
    sums = gradient @ counts
    total = counts.sum()
    spread = (gradient * counts) @ gradient.T
    # At a root the sums are zero, and a total of zero then does no harm.
    return np.asarray(spread if not sums.any() else spread - np.outer(sums, sums) / total)


def _furthest_moves(gradient: Floats, counts: Floats) -> Floats:
    """What the one row changes that moves each of ``gradient @ counts`` furthest when it is drawn, ``(k,)``."""
    moves = _moves(gradient, counts)
    return np.asarray(np.take_along_axis(moves, np.abs(moves).argmax(axis=1)[:, None], axis=1)[:, 0])


def _moves(gradient: Floats, counts: Floats) -> Floats:
    """What a row of each cell changes when it is drawn in the place of any other, ``(k, cells)``."""
    sums = gradient @ counts
    return gradient - sums[:, None] / counts.sum() if sums.any() else gradient


@dataclass(frozen=True, eq=False)
class Leaning:
    """Ends of intervals that reach as far as normal ones, and further to the side to which a number leans that rests on few rows.

    Of a share of nearly everybody those few are known who are left: when fewer of them were drawn than are to be expected, the
    estimated variance is too small as well. A score interval makes up for it on that side. On the other it is shorter than a normal
    one, which is right of a count and of a share by itself, and wrong where rows that nobody drew would move a number there.

    Parameters
    ----------
    values, variances, fourth_cumulants
        Of the numbers, ``(n,)`` each.
    slopes
        How much the variances change with the numbers, ``(n,)``.

    Examples
    --------
    >>> none_of_hundred = Leaning(np.zeros(1), np.array([1e-4]), np.array([0.01]))
    >>> low, high = none_of_hundred(0.95)
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (-0.0196, 0.0466)
    """

    values: Floats
    variances: Floats
    slopes: Floats
    fourth_cumulants: Floats | None = None

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """At a confidence level."""
        normal = normal_quantile(confidence_level)
        return self.reaching(heavier_quantiles(normal, self.variances, self.fourth_cumulants))

    def reaching(self, half_widths: float | Floats) -> tuple[Floats, Floats]:
        """That of a normal interval being so many standard errors."""
        low, high = score_limits(self.values, self.variances, self.slopes, half_widths)
        reach = half_widths * np.sqrt(self.variances)
        return np.minimum(low, self.values - reach), np.maximum(high, self.values + reach)


def leaning(found: Estimates, gradient: Floats, counts: Estimates, target: Target) -> Leaning:
    """How intervals of numbers lean that were carried on from counts; the arguments are those of :func:`carry`, and what it gave.

    The third moment of the draw is that of its rows, ``sum n (g - mean)^3``; that of the noise the law's own.
    """
    noise = counts.linear(gradient)
    skews = np.zeros(found.values.size) if noise.skews is None else noise.skews()
    if target == "population":
        furthest, moves = _furthest_moves(gradient, counts.values), _moves(gradient, counts.values)
        is_drawn = np.square(moves) @ counts.values >= furthest**2
        skews = skews + np.where(is_drawn, moves**3 @ counts.values, furthest**3)
    slopes = np.divide(skews, found.variances, out=np.zeros_like(skews), where=found.variances > 0)
    return Leaning(found.values, found.variances, slopes, found.fourth_cumulants)


def quadratic_interval(
    estimate: float, raw: float, variance: float, spread: float, half_width: float
) -> tuple[float, float]:
    """Ends of an interval of what is never negative and, near zero, a sum of squares that noise makes larger.

    The delta method's variance vanishes with the estimate, so that the interval around an estimate that came out near zero would
    say with certainty that the truth is there. Here a number is kept when the estimate is not too far from it by the
    variance that it would have itself.

    Parameters
    ----------
    estimate, raw
        With what noise adds on average taken out, and as it is.
    variance
        By the delta method, at the raw one.
    spread
        Of what noise adds by the curvature.
    half_width
        In standard errors.

    Notes
    -----
    Of ``|m + e|^2`` with noise e of covariance C the variance is ``4 m'Cm + 2 tr(C^2)``: the first part grows with the number itself, as
    ``variance / raw`` times it. The ends are the roots t of ``(estimate - t)^2 = half_width^2 (t variance / raw + spread)``. Where no t from 0 on
    is kept, the one that is nearest to being so is 0, and the interval reaches as far as it would from there. An estimate far below 0 is
    no evidence against 0, though both roots are above it where the variance grows fast: nothing that can be is nearer to it.

    Examples
    --------
    >>> [round(each, 4) for each in quadratic_interval(3.0, 4.0, 16.0, 2.0, 1.96)]
    [0.0618, 21.3046]
    """
    slope = variance / raw if raw > 0 else 0.0
    middle = estimate + half_width**2 * slope / 2
    reach = estimate * slope + spread + (half_width * slope / 2) ** 2
    farthest = half_width * math.sqrt(max(reach, 0.0))
    of_none = half_width * math.sqrt(spread)
    low = middle - farthest if estimate > of_none else 0.0
    return max(low, 0.0), max(middle + farthest, of_none)


def solve(
    equation: Equation, counts: Estimates, start: Floats, target: Target, *, is_joint: bool = True
) -> Root:
    """The root of an estimating equation on true counts, from estimated ones.

    Parameters
    ----------
    equation
        Scores and their slopes by cell.
    counts
        With ``table`` covariance; cells may be negative and are never cut.
    start
        First theta, ``(p,)``.
    target
        What the standard errors are about.
    is_joint
        Whether the cells are one table of all rows. Cells of several tables carry no draw of their own; the
        information then stands for it, times the dispersion, which is right when the model is.

    Raises
    ------
    NoSolutionError
        With the reason: separation, indefinite information, information within the noise, or no convergence.

    Notes
    -----
    With Psi the scores at the root and A the information, ``Cov(theta) = A^-1 Psi Cov(n) Psi' A^-T``; the
    population's draw adds ``sum n psi psi'`` in the middle (its ``n n'/N`` vanishes because ``Psi n = 0``).
    """
    theta, steps = find_root(equation, counts, start)
    information = equation.information(theta, counts.values)
    _refuse_indefinite(equation, information, counts)
    strength, weakest = _strength(equation, theta, information, counts)
    if strength < LEAST_STRENGTH:
        raise NoSolutionError(
            f"the information is only {strength:.2g} standard errors from zero, so the noise could make the fit "
            f"anything; {LEAST_STRENGTH:g} are needed. {equation.describe_direction(weakest, counts)} "
            f"About {math.ceil(10 * (LEAST_STRENGTH / strength) ** 2) / 10:g} times as many rows with the same noise would do. Merge "
            "categories, leave a term out, or ask a release of more rows or less noise.",
            reason="weak",
        )
    gradient = np.asarray(np.linalg.solve(information, equation.scores(theta)), dtype=np.float64)
    draw = None
    if not is_joint:
        draw = np.asarray(np.linalg.inv(information) * equation.dispersion(theta, counts.values))
    return Root(carry(theta, gradient, counts, target, draw=draw), information, strength, steps)


def find_root(equation: Equation, counts: Estimates, start: Floats) -> tuple[Floats, int]:
    """Theta at which the summed scores vanish, and the Newton steps taken; no error is attached.

    Raises
    ------
    NoSolutionError
        When theta runs away or does not settle; the last step is never returned.
    """
    theta = start
    scores = equation.scores(theta)
    # Fixed, so that scores at different theta can be compared.
    scale = np.sqrt(np.square(scores) @ np.abs(counts.values)) + np.finfo(float).tiny
    score = scores @ counts.values
    for step in range(1, LARGEST_NUMBER_OF_STEPS + 1):
        refusal = equation.refusal(theta, counts)
        if refusal is not None:
            raise NoSolutionError(refusal, reason="separation")
        move = np.linalg.lstsq(equation.information(theta, counts.values), score)[0]
        longest = float(np.abs(move).max())
        if longest > equation.largest_move:
            move *= equation.largest_move / longest
        for _ in range(30):
            following = equation.scores(theta + move) @ counts.values
            if np.abs(following / scale).max() <= np.abs(score / scale).max():
                break
            move = move / 2
        theta, score = theta + move, following
        is_still = np.abs(move).max() <= RELATIVE_MOVE * max(1.0, float(np.abs(theta).max()))
        if is_still and np.abs(score / scale).max() <= SCALED_SCORE:
            return theta, step
    raise NoSolutionError(
        f"no root was found in {LARGEST_NUMBER_OF_STEPS} steps: the estimated counts fit no coefficients. "
        "Merge categories, or leave a term out.",
        reason="no root",
    )


def _refuse_indefinite(equation: Equation, information: Floats, counts: Estimates) -> None:
    values, vectors = np.linalg.eigh(_scaled(information))
    # A column that is a combination of others leaves an eigenvalue of rounding size, not zero.
    if values[0] > 1e-12 * max(values[-1], 0):
        return
    raise NoSolutionError(
        "the estimated counts give some combination of the coefficients no information. "
        f"{equation.describe_direction(vectors[:, 0], counts)} Merge categories, or leave a term out.",
        reason="indefinite",
    )


def _scaled(information: Floats) -> Floats:
    """Rows and columns brought to one size, so that coefficients in different units compare."""
    sizes = np.sqrt(np.abs(np.diagonal(information)))
    sizes[sizes == 0] = 1
    return np.asarray(information / np.outer(sizes, sizes))


def _strength(
    equation: Equation, theta: Floats, information: Floats, counts: Estimates
) -> tuple[float, Floats]:
    """Least ratio of ``v'Av`` to its standard error over eigenvectors v of the scaled A, and that v.

    ``v'Av`` is linear in the counts, so its standard error comes from the law.
    """
    sizes = np.sqrt(np.abs(np.diagonal(information)))
    vectors = np.linalg.eigh(_scaled(information))[1] / sizes[:, None]
    combined = counts.linear(equation.curvatures(theta, vectors))
    ratios = np.full(len(combined.values), np.inf)
    # What is left of an exact table's error is the last digits of its floats.
    is_open = combined.standard_errors > EXACT * np.abs(combined.values)
    np.divide(combined.values, combined.standard_errors, out=ratios, where=is_open)
    weakest = int(np.argmin(ratios))
    return float(ratios[weakest]), np.asarray(vectors[:, weakest])


# --------------------------------------------------------------------------------------------------
# Intervals from the score, which keep their level however little the counts tell.


FARTHEST = 1e6
"""Standard errors from the estimate beyond which an end is taken for infinite."""


@dataclass(frozen=True, eq=False)
class _WithOneFixed:
    """An equation with one entry of theta held at a value."""

    whole: Equation
    place: int
    value: float

    @property
    def largest_move(self) -> float:
        return self.whole.largest_move

    def insert(self, others: Floats) -> Floats:
        return np.insert(others, self.place, self.value)

    def scores(self, theta: Floats) -> Floats:
        return np.delete(self.whole.scores(self.insert(theta)), self.place, axis=0)

    def information(self, theta: Floats, counts: Floats) -> Floats:
        whole = self.whole.information(self.insert(theta), counts)
        return np.delete(np.delete(whole, self.place, axis=0), self.place, axis=1)

    def curvatures(self, theta: Floats, directions: Floats) -> Floats:
        return self.whole.curvatures(self.insert(theta), np.insert(directions, self.place, 0.0, axis=0))

    def dispersion(self, theta: Floats, counts: Floats) -> float:
        return self.whole.dispersion(self.insert(theta), counts)

    def refusal(self, theta: Floats, counts: Estimates) -> str | None:
        return self.whole.refusal(self.insert(theta), counts)

    def describe_direction(self, direction: Floats, counts: Estimates) -> str:
        return self.whole.describe_direction(np.insert(direction, self.place, 0.0), counts)


def score_interval(
    equation: Equation,
    counts: Estimates,
    root: Root,
    place: int,
    target: Target,
    confidence_level: float,
    *,
    is_joint: bool = True,
) -> tuple[float, float]:
    """The values of one entry of theta that its score does not reject; ends may be infinite.

    The score is linear in the counts and unbiased at the true theta however weak the information is, so this
    set keeps its level where a normal interval does not.

    Parameters
    ----------
    equation, counts, root, target, is_joint
        As solved.
    place
        Which entry.
    confidence_level
        Of the interval.

    Raises
    ------
    NoSolutionError
        When the other entries cannot be solved for on the way.

    Notes
    -----
    With the others solved for at ``theta_j = t`` and ``e = psi_j - A_jl A_ll^-1 psi_l``, a value t is kept when
    ``|e'n| <= z sqrt(e' Cov e [+ sum n e^2])``. Where the counts are several tables the draw ``sum n e^2`` is not in them; what it is
    under the model stands for it, ``A_jj - A_jl A_ll^-1 A_lj`` times the dispersion.
    """
    limit = normal_quantile(confidence_level)
    center = float(root.estimates.values[place])
    step = max(float(root.estimates.standard_errors[place]), np.finfo(float).eps)
    others = np.delete(root.estimates.values, place)

    def excess(value: float) -> float:
        return (
            abs(_standardized_score(equation, counts, others, place, value, target, is_joint=is_joint))
            - limit
        )

    if root.estimates.standard_errors[place] == 0:
        return center, center
    return _end(excess, center, -step), _end(excess, center, step)


def _standardized_score(
    equation: Equation,
    counts: Estimates,
    others: Floats,
    place: int,
    value: float,
    target: Target,
    *,
    is_joint: bool,
) -> float:
    restricted = _WithOneFixed(equation, place, value)
    if others.size:
        others = find_root(restricted, counts, others)[0]
    theta = restricted.insert(others)
    scores, information = equation.scores(theta), equation.information(theta, counts.values)
    own, under_model = scores[place], float(information[place, place])
    if others.size:
        rest = np.delete(np.arange(len(theta)), place)
        shared = np.linalg.solve(information[np.ix_(rest, rest)].T, information[place, rest])
        own = own - shared @ scores[rest]
        under_model -= float(shared @ information[rest, place])
    combined = counts.linear(own[None, :])
    variance = float(combined.variances[0])
    if target == "population":
        under_model *= equation.dispersion(theta, counts.values)
        variance += max(float(np.square(own) @ counts.values) if is_joint else under_model, 0.0)
    return float(combined.values[0]) / math.sqrt(variance) if variance > 0 else math.inf


def _end(excess: Callable[[float], float], center: float, step: float) -> float:
    """Where the score is first rejected, going out from the estimate; infinite where it never is."""
    from scipy.optimize import brentq

    inside, distance = center, step
    while abs(distance) < FARTHEST * abs(step):
        outside = center + distance
        try:
            is_beyond = excess(outside) > 0
        except NoSolutionError as error:
            if error.reason == "separation":
                return math.copysign(math.inf, step)
            raise
        if is_beyond:
            return float(brentq(excess, inside, outside, xtol=1e-12, rtol=1e-12))
        inside, distance = outside, 1.5 * distance
    return math.copysign(math.inf, step)


# --------------------------------------------------------------------------------------------------
# Whether what a model leaves over could be chance: one test for every model on estimated counts.


LEVEL = 0.05
POWER = 0.8
"""Of the test whose reach is reported: at this level, found this often."""


@dataclass(frozen=True)
class ResidualTest:
    """How far counts are from a model, against what noise and the draw of the rows explain.

    Parameters
    ----------
    statistic, degrees, p_value
        Pearson's statistic with the second-order correction of Rao and Scott, its degrees of freedom (a fraction where
        the noise is uneven), and its p-value.
    pearson
        The plain statistic of the estimated counts. It must not be referred to a chi-square distribution.
    free
        Degrees of freedom of the model.
    design_effect
        By how much noise multiplies the plain statistic on average.
    wald, wald_degrees, wald_p_value
        Another test of the same, which weighs what is left over by how well it is known: better where noise is much stronger in
        some cells than in others. Degrees are those of the model, or fewer where noise has heavy tails.
    """

    statistic: float
    degrees: float
    p_value: float
    pearson: float
    free: int
    design_effect: float
    wald: float
    wald_degrees: float
    wald_p_value: float

    @property
    def detectable(self) -> float:
        """Chi-square over the number of rows' worth that is found with power :data:`POWER` at :data:`LEVEL`, times the rows."""
        return _noncentrality(self.degrees) * self.design_effect

    @property
    def detectable_without_noise(self) -> float:
        """The same of the private table itself."""
        return _noncentrality(self.free)


def refuse_open_counts(counts: Estimates, what: str) -> None:
    """Refuse counts that lie between two ends, of which no test keeps its level.

    Raises
    ------
    NotIdentifiableError
        Saying that rows were left out.
    """
    if (counts.certainty == Certainty.OPEN).any():
        raise NotIdentifiableError(
            f"rows were left out of the release, and which they are is not known: {what} would not keep its "
            "level. Ask for counts and shares, whose intervals hold them."
        )


def judge_residuals(counts: Estimates, fitted: Floats, design: Floats) -> ResidualTest:
    """Test whether counts differ from a loglinear model by more than chance.

    Parameters
    ----------
    counts
        Estimates of all cells, with the whole ``table`` covariance.
    fitted
        What the model makes of them, ``(cells,)``, positive.
    design
        The model's columns, ``(cells, p)``; they may depend on each other.

    Raises
    ------
    NoSolutionError
        When the model fits any table, or the covariance leaves the residuals without spread.

    Notes
    -----
    To first order the fitted counts move with the estimated ones by ``Q = diag(mu) X (X' diag(mu) X)^-1 X'``, so the residuals have
    covariance ``C = (I - Q) Cov (I - Q)'``, where Cov is that of the counts about the population. With ``G = D^-1/2 C D^-1/2``, D the
    fitted counts, ``X2 tr(G) / tr(G^2)`` is referred to chi-square on ``tr(G)^2 / tr(G^2)`` degrees. Where the law states heavier tails than
    normal ones, half of what they add to the variance of X2 is added to ``tr(G^2)``.

    Wald's test divides by C, and what it divides by must not be small by accident: a cell without a row has no draw at its estimated
    count, and would count as known. There the draw is that of the model, by which ``G = I + D^-1/2 (I - Q) Cov_law (I - Q)' D^-1/2``, the
    law's part cut where it is below zero: no eigenvalue is below 1, so without noise this is Pearson's statistic, and never more than it.
    Heavy tails lower its degrees in the same way.

    References
    ----------
    Rao and Scott (1981, 1984).
    """
    from scipy.special import chdtrc

    assert counts.covariance is not None
    roots = np.sqrt(fitted)
    # Orthonormal columns that span sqrt(mu) X: projecting on them is D^-1/2 Q D^1/2.
    vectors, sizes, _ = np.linalg.svd(design * roots[:, None], full_matrices=True)
    rank = int((sizes > 1e-10 * sizes[0]).sum())
    # What the model leaves free, in units of sqrt(mu).
    rest = vectors[:, rank:]
    free = rest.shape[1]
    if free == 0:
        raise NoSolutionError(
            "the model fits any table, so that there is nothing to test. Leave a product of attributes out.",
            reason="undefined",
        )
    spread = counts.covariance + drawing(np.eye(counts.values.size), counts.values)
    scaled = rest.T @ (spread / np.outer(roots, roots)) @ rest
    residuals = rest.T @ ((counts.values - fitted) / roots)
    pearson = float(residuals @ residuals)
    trace, squares = float(np.trace(scaled)), float((scaled * scaled.T).sum())
    if counts.fourth_cumulants is not None:
        # A square of noise with heavier tails than normal ones varies by its fourth cumulant besides.
        squares += float(np.square((rest**2).sum(axis=1) / fitted) @ counts.fourth_cumulants) / 2
    if trace <= 0:
        raise NoSolutionError(
            "the estimated covariance leaves the residuals without any spread: noise is too strong for a test here. Merge "
            "categories, or ask a release of more rows or less noise.",
            reason="weak",
        )
    statistic, degrees = pearson * trace / squares, trace**2 / squares
    if not counts.covariance.any():
        # Counted, not estimated: rows are one multinomial draw, which Pearson's statistic is made for.
        statistic, degrees, trace = pearson, float(free), float(free)
    wald, wald_degrees = _wald(counts, residuals, rest / roots[:, None])
    return ResidualTest(
        statistic,
        degrees,
        float(chdtrc(degrees, statistic)),
        pearson,
        free,
        trace / free,
        wald,
        wald_degrees,
        float(chdtrc(wald_degrees, wald)),
    )


def _wald(counts: Estimates, residuals: Floats, free: Floats) -> tuple[float, float]:
    """Wald's statistic and its degrees, where rows are drawn as the model says.

    Parameters
    ----------
    counts
        Of all cells.
    residuals
        What the model leaves over, in units in which the model's draw has variance 1 in every direction, ``(free,)``.
    free
        How they are made of the counts, ``(cells, free)``.
    """
    noise, directions = np.linalg.eigh(free.T @ np.asarray(counts.covariance) @ free)
    # An unbiased covariance need not be positive.
    known = directions / np.sqrt(1 + np.clip(noise, 0, None))
    statistic, degrees = float(np.square(residuals @ known).sum()), residuals.size
    if counts.fourth_cumulants is None:
        return statistic, degrees
    squares = degrees + float(np.square(np.square(free @ known).sum(axis=1)) @ counts.fourth_cumulants) / 2
    return statistic * degrees / squares, degrees**2 / squares


def _noncentrality(degrees: float) -> float:
    """Of the chi-square that is beyond its critical value as often as :data:`POWER` says."""
    from scipy.special import chdtri, chndtrinc

    return float(chndtrinc(chdtri(degrees, LEVEL), degrees, 1 - POWER))
