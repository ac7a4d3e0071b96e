"""From estimated counts to anything computed from them: the one place where errors are carried on.

A statistic is a smooth function of true counts, or the root of an equation on them. Its estimate is the same
function, or the same root, at the estimated counts, negative ones included: an estimating equation needs only
a few sums over all cells to be near their expectations, and cutting cells at zero would bias those sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.errors import NoSolutionError
from sfumato.laws import Target, refuse_unknown_target
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates, normal_quantile
from sfumato.values.score_intervals import heavier_quantiles, score_limits

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
