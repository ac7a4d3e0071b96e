"""Intervals from the score, which keep their level however little the counts tell."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.analysis.routine import Equation, Root, find_root
from sfumato.errors import NoSolutionError
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates, normal_quantile

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
