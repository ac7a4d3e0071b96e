"""The mathematics of decoy groups: one distortion matrix from the published margin, and its errors.

Rows were put into groups of ``gamma`` rows with different values, by a uniformly random valid partition,
and every row shows a value drawn uniformly from its group's. A row with value u shows v with probability
``T[u, v] = Pr(group holds v | group holds u) / gamma``, which the frequencies alone determine. T is
computed from the published margin, which estimates the true one without bias; the errors below know that
it comes from the same draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from sfumato.chance.conditional_poisson import ConditionalPoisson
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.methods.splu_gen.law.unseen import UnseenValues
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.feasibility import project_to_simplex

SAFE_DISTANCE = 5.0
"""Standard deviations of its count that every value must keep from being in every group."""

MOST_VALUES = 2_000
"""Whose pairs are solved together: time grows with their cube, memory with their square, 14 seconds and a gigabyte here."""

NEGLIGIBLE = 1e-9
"""Of a value that no published row shows, whose estimate is 0 everywhere."""

ROUNDS = 5
"""Of fitting shares to the rows of cells and of values. Two hundred change no error that is answered by more than a hundredth, of three releases of each table of the coverage matrix."""


@dataclass(frozen=True, eq=False)
class DecoyModel:
    """Distortion matrix and moments of one sensitive attribute.

    Parameters
    ----------
    counts
        Published rows of each value, ``(values,)``.
    gamma
        Rows of a group.
    rarest
        Rows that a value must have had to be published at all.

    Notes
    -----
    Moments are per group and refer to values that occur in the published rows; what the others add to errors, whose
    estimate is 0, is :attr:`unseen`.

    Examples
    --------
    >>> model = DecoyModel(np.array([40.0, 30.0, 30.0]), 2)
    >>> model.distortion.sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """

    counts: Floats
    gamma: int
    rarest: int = 1

    @property
    def groups(self) -> float:
        """Number of groups."""
        return float(self.counts.sum()) / self.gamma

    @cached_property
    def is_certain(self) -> Booleans:
        """For each value whether it may be in every group, as far as its published count can tell."""
        room = SAFE_DISTANCE * np.sqrt(self.counts * (1 - 1 / self.gamma))
        return np.asarray(self.groups - self.counts < room)

    @property
    def is_saturated(self) -> bool:
        """Some value may be in every group, which erases how it, and with it any value, meets a predicate.

        Adding one number to the share of every other value's rows that satisfy a predicate, and taking
        the rows from the saturated value, changes no expected published count. Of no more values than a group has rows
        the most frequent one is in every group.
        """
        return bool(self.is_certain.any())

    def require_identifiable(self, attribute: str) -> None:
        """Refuse counts within public groups when the model is saturated."""
        if self.is_saturated:
            raise NotIdentifiableError(
                f"some category of {attribute!r} may be in every group of {self.gamma}, so the release does "
                "not determine how any category is spread over other attributes. Counts of its categories "
                "alone, and differences between two other categories (contrast), are still determined. "
                "Ask for those, or ask the publisher for smaller groups."
            )

    @cached_property
    def occurring(self) -> Integers:
        """Codes of the values that occur in the published rows."""
        return np.flatnonzero(self.counts)

    @cached_property
    def inclusion(self) -> Floats:
        """Share of groups that hold each value, ``(values,)``, kept below 1; the sum is gamma."""
        shares = self.counts / self.groups
        # By chance a published count can exceed the number of groups; the true one cannot.
        cap = 1 - 0.5 / self.groups
        while (over := shares > cap).any():
            room = self.gamma - cap * np.count_nonzero(over | (shares == cap))
            rest = ~over & (shares < cap)
            shares = np.where(over, cap, shares)
            shares[rest] *= room / shares[rest].sum()
        return shares

    @property
    def has_law(self) -> bool:
        """There are more values than a group has rows, so that which meet is a matter of chance."""
        return len(self.occurring) > self.gamma

    @cached_property
    def law(self) -> ConditionalPoisson:
        """The law of a group's values."""
        if not self.has_law:
            raise NotIdentifiableError(
                f"the published rows hold {len(self.occurring)} different values for groups of {self.gamma}, "
                "so every value may be in every group. Only counts of values alone are determined."
            )
        return ConditionalPoisson(self.inclusion, self.gamma)

    def require_solvable(self) -> None:
        """Refuse counts within public groups of more values than all pairs of them can be laid out for."""
        if len(self.counts) > MOST_VALUES:
            raise TooLargeError(
                f"an attribute of {len(self.counts):,} categories that was published with decoys can be asked about alone; "
                f"together with other attributes at most {MOST_VALUES:,} categories can be, because all pairs of them are "
                "solved together. Ask about it alone, or ask the publisher for fewer categories."
            )

    @cached_property
    def distortion(self) -> Floats:
        """``T[true, published]``, ``(values, values)``; rows sum to 1."""
        self.require_solvable()
        return self.law.given / self.gamma

    @property
    def largest_factors(self) -> Floats:
        """By value y, ``T[y, y] / min T[u, y]`` over the other values u: what a row that shows y says at most.

        Infinite where some other value never meets y, and not a number where no published row shows y. Values that
        are all in every group tell nothing.
        """
        used = self.occurring
        factors = np.full(len(self.counts), np.nan)
        if len(used) <= self.gamma:
            factors[used] = 1.0
            return factors
        # A group that holds y shows it with 1/gamma, so that the own row's chance is never the least.
        chances = self.distortion[np.ix_(used, used)]
        with np.errstate(divide="ignore"):
            factors[used] = 1 / (self.gamma * np.clip(chances.min(axis=0), 0, None))
        return factors

    @cached_property
    def inverse(self) -> Floats:
        """Its inverse, ``(values, values)``."""
        return np.asarray(np.linalg.inv(self.distortion))

    def shares(self, estimates: Floats) -> Floats:
        """Share of each value's rows that satisfy a predicate, cut to [0, 1]; theta of the derivation."""
        shares = np.divide(
            estimates, self.counts, out=np.zeros(len(self.counts)), where=self.counts > 0, casting="unsafe"
        )
        return np.asarray(np.clip(shares, 0, 1))

    def spread(self, estimates: Floats) -> Floats:
        """Shares of each value's rows in cells that together hold every row, ``(cells, values)`` both.

        Not negative, and adding up to one over the cells, as the true ones do: covariances between cells fit each other
        only then, and sums of many cells get no negative variance. They are made to fit the rows of every cell, which are public, and those of every
        value by turns, each time the nearest in units of how far they err. Cut at 0 the errors of many cells add up to more rows than a value
        has, and scaling all of them down would take the rows from the few cells where they are: their errors would be stated too small.
        """
        fitted = self.within_rows(estimates)
        rows = fitted.sum(axis=1)
        # Estimates of a cell err as its rows are many. One that is far beyond its error is no noise: of a value's rows too many, it gives back the least.
        variances = np.outer(np.maximum(rows, NEGLIGIBLE), self.relative_variances)
        steps = (variances / (1 + estimates**2 / variances)).T
        for _ in range(ROUNDS):
            fitted = project_to_simplex(fitted.T, self.counts, steps).T
            fitted = project_to_simplex(fitted, rows, self.relative_variances)
        fitted = project_to_simplex(fitted.T, self.counts, steps).T
        return np.asarray(fitted / np.maximum(self.counts, 1.0))

    def within_rows(self, estimates: Floats) -> Floats:
        """Estimates made to fit the rows of every cell, ``(cells, values)`` both: those of rare values, which err little, move little."""
        return project_to_simplex(estimates, estimates.sum(axis=1), self.relative_variances)

    @cached_property
    def relative_variances(self) -> Floats:
        """How far estimates of each value err beside those of others, ``(values,)``: of a cell whose rows show what all rows show."""
        return np.asarray(np.maximum(self.counts @ self.inverse**2 / self.counts.sum(), NEGLIGIBLE))

    def identified_shares(self, counts: Floats) -> Floats:
        """Shares whose differences are determined even when a value is in every group.

        The undetermined number common to the other values is set so that on average they satisfy the
        predicate as often as all rows do.

        Parameters
        ----------
        counts
            ``(values,)``: published rows that satisfy the predicate.
        """
        estimates = counts @ self.inverse
        if not self.is_certain.any():
            return self.shares(estimates)
        overall = counts.sum() / self.counts.sum()
        others = ~self.is_certain & (self.counts > 0)
        shares = np.full(len(counts), overall)
        shares[others] = estimates[others] / self.counts[others]
        shares[others] += overall - estimates[others].sum() / self.counts[others].sum()
        return np.asarray(np.clip(shares, 0, 1))

    def predicate(self, shares: Floats) -> Predicate:
        """Moments of the groups and a predicate that holds for these shares of each value's rows."""
        return Predicate(self, shares)

    @cached_property
    def margin_covariance(self) -> Floats:
        """Covariance of the published margin itself: ``G (diag(pi) - Pi / gamma)``, ``(values, values)``."""
        return np.asarray(self.groups * (np.diag(self.inclusion) - self.law.pairs / self.gamma))

    @cached_property
    def unseen(self) -> UnseenValues:
        """Values that no published row shows."""
        return UnseenValues(self.counts, self.gamma, self.rarest)

    @cached_property
    def _spread(self) -> Floats:
        """Pseudo-inverse of ``Sigma = Pi - pi' pi`` on the values that occur."""
        used = self.occurring
        shares = self.inclusion[used]
        sigma = self.law.pairs[np.ix_(used, used)] - np.outer(shares, shares)
        # A group's size is fixed, so the constant vector is the one that Sigma maps to zero.
        constant = np.full_like(sigma, 1 / len(used))
        return np.asarray(np.linalg.inv(sigma + constant) - constant)

    @cached_property
    def _inverse_pairs(self) -> Floats:
        used = self.occurring
        return np.asarray(np.linalg.inv(self.law.pairs[np.ix_(used, used)]))


@dataclass(frozen=True, eq=False)
class Predicate:
    """A predicate on public attributes, seen through the groups.

    Parameters
    ----------
    model
        The attribute's model.
    shares
        ``(values,)``: share of each value's rows that satisfy the predicate (theta).
    """

    model: DecoyModel
    shares: Floats

    @cached_property
    def pairs(self) -> Floats:
        """``Q = E[(theta.1) 1' 1]``."""
        return self.model.law.total_pairs(self.shares)

    @cached_property
    def squared_pairs(self) -> Floats:
        """``R = E[(theta.1)^2 1' 1]``."""
        return self.model.law.squared_total_pairs(self.shares)

    @cached_property
    def draws(self) -> Floats:
        """Covariance, per group, of the draws of the rows that satisfy it: ``diag(q)/g - Q/g^2``."""
        gamma = self.model.gamma
        return np.diag(np.diagonal(self.pairs)) / gamma - self.pairs / gamma**2

    def derivative(self, weights: Floats) -> Floats:
        """``D weights``, where ``D[k, v]`` is the change of ``(x T)_v`` when the margin's f_k changes.

        ``D = ((Q - q' pi) Sigma^+)' / g - diag(theta) T``: T is computed from the same draws that the
        counts come from, and this cancels a part of their error.

        Parameters
        ----------
        weights
            ``(values, k)``.
        """
        model = self.model
        used = model.occurring
        moved = self.pairs.T @ weights - np.outer(model.inclusion, np.diagonal(self.pairs) @ weights)
        result = -self.shares[:, None] * (model.distortion @ weights)
        result[used] += model._spread @ moved[used] / model.gamma  # noqa: SLF001 - one thing in two classes
        return result


def covariance(first: Predicate, second: Predicate, both: Floats, left: Floats, right: Floats) -> Floats:
    """Covariance of estimated counts under two predicates, to second order.

    Parameters
    ----------
    first, second
        The predicates.
    both
        ``(values,)``: share of each value's rows that satisfy both.
    left, right
        ``(values, k)`` and ``(values, m)``: which sums of the estimates of the first and of the second.

    Returns
    -------
    numpy.ndarray
        ``(k, m)``.

    Notes
    -----
    With ``a = T^-1 left`` and ``b = T^-1 right`` and per-group moments (g is gamma, G groups):

    - draws: an estimate moves by ``(dy_P - df' D_P) T^-1``, so the draws give
      ``W_both - W_1 D_2 - D_1' W_2 + D_1' W D_2`` with W of all rows;
    - which rows of a value sit where: ``(Q_psi - Pi' diag(psi / pi) Pi) / g^2``, with
      ``psi = theta_both - theta_1 theta_2``, a simple random sample within each value;
    - which values meet: ``(R_12 - Q_1 Pi^-1 Q_2) / g^2``: what is left of the groups' scores when their
      regression on the fixed frequencies is taken out; R_12 by polarization.
    """
    model = first.model
    law, gamma, used = model.law, model.gamma, model.occurring
    a, b = model.inverse @ left, model.inverse @ right
    moved_a, moved_b = first.derivative(a), second.derivative(b)
    everyone = np.diag(model.inclusion) - law.pairs / gamma
    total = (
        a.T @ _draws(first, second, both) @ b
        - (a.T @ first.draws) @ moved_b
        - moved_a.T @ (second.draws @ b)
        + moved_a.T @ everyone @ moved_b
    )
    psi = both - first.shares * second.shares
    inside = np.divide(psi, model.inclusion, out=np.zeros_like(psi), where=model.inclusion > 0)
    meeting_a, meeting_b = law.pairs @ a, law.pairs @ b
    seats = a.T @ law.total_pairs(psi) @ b - meeting_a.T @ (inside[:, None] * meeting_b)
    scored_a, scored_b = (first.pairs @ a)[used], (second.pairs @ b)[used]
    values = a.T @ _joint_squares(first, second) @ b - scored_a.T @ model._inverse_pairs @ scored_b  # noqa: SLF001
    return np.asarray(model.groups * (total + (seats + values) / gamma**2))


def _draws(first: Predicate, second: Predicate, both: Floats) -> Floats:
    if first is second:
        return first.draws
    return first.model.predicate(both).draws


def _joint_squares(first: Predicate, second: Predicate) -> Floats:
    """``E[(theta_1.1)(theta_2.1) 1' 1]``."""
    if first is second:
        return first.squared_pairs
    summed = first.model.law.squared_total_pairs(first.shares + second.shares)
    return np.asarray((summed - first.squared_pairs - second.squared_pairs) / 2)


@lru_cache(maxsize=16)
def decoy_model(counts: tuple[int, ...], gamma: int, rarest: int = 1) -> DecoyModel:
    """The model of a published margin, kept for the next question about the same release.

    Examples
    --------
    >>> decoy_model((40, 30, 30), 2) is decoy_model((40, 30, 30), 2)
    True
    """
    return DecoyModel(np.array(counts, dtype=np.float64), gamma, rarest)


def margin_variance(count: float, gamma: int) -> float:
    """Variance of the published count of one value, Binomial(gamma f, 1/gamma): ``f (1 - 1/gamma)``.

    Examples
    --------
    >>> margin_variance(100, 5)
    80.0
    """
    return math.fsum((count, -count / gamma))
