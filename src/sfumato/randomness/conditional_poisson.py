"""Conditional Poisson sampling: which categories meet in a group of distinct categories.

A group of fixed size whose members have different categories, and whose categories have given inclusion
probabilities, follows under maximum entropy the law ``Pr(group) proportional to product of weights``.
A uniformly random partition of rows into such groups has this law in every group. Here are its weights
and its moments, as discrete Fourier sums: with z on the unit circle and P_u = w_u z / (1 + w_u z), the
probability that distinct categories u, v, ... are all in the group is the weighted mean of P_u P_v ...
over the circle. No term is ever divided out again, so nothing cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Floats, Integers
from sfumato.errors import ParameterError

_Complex = npt.NDArray[np.complex128]

ALIASING = 1e-18
"""Chance, below a double's resolution, that a group without fixed size would wrap around the circle."""

TOLERANCE = 1e-13
"""Relative distance of inclusion odds at which the search for weights stops."""

MAXIMUM_ROUNDS = 20_000
"""Rounds of the search for weights; some tens are usual, thousands when a category is nearly certain."""

MOST_TO_SOLVE = 50
"""Categories up to which a round solves for all weights at once; with more, many cheap rounds take less time."""

NEAR = 0.5
"""Relative distance of inclusion odds below which a round solves for all weights at once."""


@dataclass(frozen=True, eq=False)
class ConditionalPoisson:
    """The maximum-entropy law of a group of ``size`` different categories.

    Parameters
    ----------
    inclusion
        ``(n,)``: probability that a group holds the category, from 0 to below 1; they sum to ``size``.
    size
        Categories in a group, 2 or more.

    Notes
    -----
    Categories of inclusion 0 have weight 0; what is said *given* such a category is the limit.

    References
    ----------
    Chen, Dempster and Liu (1994), Biometrika 81(3), 457-469, for the law and its weights.

    Examples
    --------
    Four equally likely categories, two in a group: each pair is one of six.

    >>> law = ConditionalPoisson(np.full(4, 0.5), 2)
    >>> round(float(law.pairs[0, 1]), 12) == round(1 / 6, 12)
    True
    """

    inclusion: Floats
    size: int

    def __post_init__(self) -> None:
        wanted = self.inclusion
        if not 2 <= self.size < np.count_nonzero(wanted):
            raise ParameterError(
                f"a group of {self.size} needs more than {self.size} categories that occur, and at least "
                f"two of them in a group; here {np.count_nonzero(wanted)} occur. Use smaller groups.",
                parameter="size",
            )
        if wanted.min() < 0 or wanted.max() >= 1 or not math.isclose(wanted.sum(), self.size, rel_tol=1e-9):
            raise ParameterError(
                "inclusion probabilities must be 0 or more, below 1, and sum to the size of a group. "
                "A category in more than one of every group's places cannot be spread out.",
                parameter="inclusion",
            )

    @cached_property
    def weights(self) -> Floats:
        """Weights, ``(n,)``, scaled so that independent draws would hold ``size`` on average."""
        weights, is_found = fit_weights(self.inclusion, np.array([self.size]))
        if not is_found:
            raise ParameterError(
                "the weights of the groups' law were not found: some category is in nearly every group. "
                "Use smaller groups.",
                parameter="inclusion",
            )
        return weights

    @cached_property
    def _points(self) -> _Circle:
        return _circle(self.weights, self.size)

    @cached_property
    def pairs(self) -> Floats:
        """Probability that both categories are in a group, ``(n, n)``; the diagonal is ``inclusion``."""
        result = self._points.mean(1, 1)
        np.fill_diagonal(result, self.inclusion)
        return result

    @cached_property
    def given(self) -> Floats:
        """``[u, v]``: probability that a group holds v when it holds u, ``(n, n)``; defined for weight 0 too."""
        points = self._points
        # P_u / w_u has a limit at weight 0; the ratio below does not need the weight itself.
        bare = points.roots[:, None] / (1 + self.weights * points.roots[:, None])
        both = _real(bare.T @ (points.masses[:, None] * points.chances))
        result = both / _real(points.masses @ bare)[:, None]
        np.fill_diagonal(result, 1)
        return np.asarray(result)

    @cached_property
    def _pair_moments(self) -> tuple[Floats, Floats, Floats]:
        """Means of ``P_u^2 P_v``, ``P_u^2 P_v^2`` and ``P_u^3 P_v``: the same whatever is scored."""
        return self._points.mean(2, 1), self._points.mean(2, 2), self._points.mean(3, 1)

    def total_pairs(self, scores: Floats) -> Floats:
        """``E[t 1' 1]``: a group's total score t times the indicator of both categories, ``(n, n)``.

        Parameters
        ----------
        scores
            ``(n,)``: what a category adds to its group's total when it is in it.
        """
        points = self._points
        totals = points.chances @ scores
        # Outside u and v the group's score is s1 - a_u P_u - a_v P_v; u and v themselves add a_u + a_v.
        cross = scores[:, None] * self._pair_moments[0]
        result = points.mean(1, 1, totals) - cross - cross.T + np.add.outer(scores, scores) * self.pairs
        alone = points.mean_of(points.chances * (totals[:, None] - points.chances * scores))
        np.fill_diagonal(result, alone + scores * self.inclusion)
        return np.asarray(result)

    def squared_total_pairs(self, scores: Floats) -> Floats:
        """``E[t^2 1' 1]``, ``(n, n)``, with t a group's total score."""
        points = self._points
        chances, squares = points.chances, scores**2
        totals = chances @ scores
        # Expected square of the others' total: its mean squared plus sum a^2 P (1 - P), at each point.
        others = totals**2 + chances @ squares - chances**2 @ squares
        sums = np.add.outer(scores, scores)
        first, mixed, third = self._pair_moments
        second = points.mean(2, 1, totals)
        # The terms that take u and v out of the others' total, and put them back as certain members.
        one_side = (
            2 * squares[:, None] * third
            - squares[:, None] * first
            - 2 * scores[:, None] * second
            - 2 * sums * scores[:, None] * first
        )
        result = (
            points.mean(1, 1, others)
            + one_side
            + one_side.T
            + 2 * np.multiply.outer(scores, scores) * mixed
            + 2 * sums * points.mean(1, 1, totals)
            + sums**2 * self.pairs
        )
        own = chances * scores
        rest = totals[:, None] - own
        spread = (chances @ squares - chances**2 @ squares)[:, None] - chances * squares + own**2
        alone = points.mean_of(chances * (rest**2 + spread + 2 * scores * rest + squares))
        np.fill_diagonal(result, alone)
        return np.asarray(result)


def fit_weights(inclusion: Floats, sizes: Integers, *, rounds: int = MAXIMUM_ROUNDS) -> tuple[Floats, bool]:
    """Weights of the design in which each category is in its share of groups, and whether they were found.

    One set of weights serves groups of different sizes: given its size, every group follows the law of that
    size.

    Parameters
    ----------
    inclusion
        ``(n,)``: share of the groups that hold the category, from 0 to below 1.
    sizes
        Size of every group; only how often each occurs matters.
    rounds
        When to stop searching.

    Returns
    -------
    tuple
        ``(n,)`` weights, scaled so that independent draws would hold the mean size, and whether their
        inclusion is the wanted one to within ``TOLERANCE``.

    Notes
    -----
    Fixed point: ``w <- w * odds(wanted) / odds(current)``, which raises entropy in every round. Near the weights, and
    with few categories, steps of Newton's method in the logarithms of the weights: inclusion changes with these by the covariance of
    the indicators. Where such a step leads no nearer, the next is one of the fixed point again.

    References
    ----------
    Chen, Dempster and Liu (1994), Biometrika 81(3), 457-469.

    Examples
    --------
    >>> fit_weights(np.full(4, 0.5), np.array([2]))[0].round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    occurs = inclusion > 0
    wanted = inclusion[occurs]
    odds = wanted / (1 - wanted)
    different, times = np.unique(sizes, return_counts=True)
    shares = times / times.sum()
    mean_size = float(different @ shares)
    weights = odds.copy()
    is_found, solved_from = False, math.inf
    for _ in range(rounds):
        # Groups of nothing, or of all, have neither law nor spread.
        laws = {int(size): _circle(weights, int(size)) for size in different if 0 < int(size) < len(weights)}
        current = shares @ np.stack(
            [_inclusion(laws.get(int(size)), int(size), len(weights)) for size in different]
        )
        ratio = odds * (1 - current) / current
        distance = float(np.max(np.abs(ratio - 1)))
        is_found = distance < TOLERANCE
        if is_found:
            break
        if len(weights) <= MOST_TO_SOLVE and distance < min(NEAR, solved_from / 2):
            parts = [
                share * _spread(laws[int(size)])
                for size, share in zip(different, shares, strict=True)
                if int(size) in laws
            ]
            ratio, solved_from = _solved(sum(parts), wanted - current), distance
        else:
            solved_from = math.inf
        weights = _scaled(weights * ratio, mean_size)
    result = np.zeros_like(inclusion)
    result[occurs] = weights
    return result, is_found


def _inclusion(points: _Circle | None, size: int, categories: int) -> Floats:
    """Probability that a group of ``size`` holds each category, ``(n,)``."""
    if points is None:
        return np.full(categories, float(size > 0))
    return _real(points.masses @ points.chances)


def _spread(points: _Circle) -> Floats:
    """Covariance of the indicators of the categories in a group, ``(n, n)``."""
    inclusion = _real(points.masses @ points.chances)
    pairs = points.mean(1, 1)
    np.fill_diagonal(pairs, inclusion)
    return pairs - np.outer(inclusion, inclusion)


def _solved(spread: Floats, missing: Floats) -> Floats:
    """What to multiply the weights by, to first order, so that inclusion moves by what is missing, ``(n,)``."""
    # A factor common to all weights changes nothing: the constant vector is the one that the covariance maps to zero.
    constant = np.full_like(spread, np.trace(spread) / len(spread) ** 2)
    return np.asarray(np.exp(np.clip(np.linalg.solve(spread + constant, missing), -1, 1)))


@dataclass(frozen=True, eq=False)
class _Circle:
    """Half of the points of the unit circle, the other half being their conjugates.

    ``roots`` and ``masses`` are ``(t,)``; ``chances`` are the P_u, ``(t, n)``.
    """

    roots: _Complex
    masses: _Complex
    chances: _Complex

    def mean(self, first: int, second: int, factor: npt.NDArray[Any] | None = None) -> Floats:
        """Mean of ``factor P_u^first P_v^second`` over the circle, ``(n, n)``."""
        masses = self.masses if factor is None else self.masses * factor
        right = masses[:, None] * self.chances**second
        left = self.chances**first
        # The real part of a complex product as two real ones: half the work.
        return np.asarray(left.real.T @ right.real - left.imag.T @ right.imag)

    def mean_of(self, terms: _Complex) -> Floats:
        """Mean over the circle of terms, ``(t, n)``."""
        return _real(self.masses @ terms)


def _circle(weights: Floats, size: int) -> _Circle:
    roots, turned = _half_circle(min(len(weights) + 1, _enough_points(size)), size)
    lifted = weights * roots[:, None]
    logarithms = (np.log1p(lifted) - np.log1p(weights)).sum(axis=1)
    masses = turned * np.exp(logarithms)
    return _Circle(roots, masses / masses.sum().real, lifted / (1 + lifted))


@lru_cache(maxsize=64)
def _half_circle(number: int, size: int) -> tuple[_Complex, _Complex]:
    """Points of the upper half, and how often each counts times its power of ``-size``; both to be read only."""
    upper = np.arange(number // 2 + 1)
    roots = np.exp(2j * math.pi * upper / number)
    # Points on the real axis are their own conjugates and count once.
    multiplicity = np.where((upper == 0) | (2 * upper == number), 1.0, 2.0)
    return roots, multiplicity * roots**-size


@lru_cache(maxsize=256)
def _enough_points(size: int) -> int:
    """Points at which a sum of independent draws of mean ``size`` wraps around with chance ``ALIASING``.

    Chernoff: ``Pr(X >= size + k) <= exp(k - (size + k) ln(1 + k/size))``.
    """
    number = size + 1
    while number - (size + number) * math.log1p(number / size) > math.log(ALIASING):
        number += 1
    return number


def _scaled(weights: Floats, size: float) -> Floats:
    """The same law with ``sum w/(1+w) = size``, where the circle's masses are best conditioned."""
    factor = 1.0
    for _ in range(100):
        chances = factor * weights / (1 + factor * weights)
        step = (size - chances.sum()) / np.sum(chances * (1 - chances))
        # In the logarithm of the factor the sum is smooth and increasing; steps are kept moderate.
        factor *= math.exp(min(max(step, -2.0), 2.0))
        if abs(step) < 1e-12:
            break
    return factor * weights


def _real(values: _Complex) -> Floats:
    return np.asarray(values.real, dtype=np.float64)
