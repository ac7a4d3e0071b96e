"""The model of decoy groups: the distortion matrix that the published margin implies, and its errors; unobserved categories."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.estimates.counts import CountTable, project_to_simplex
from sfumato.estimates.exact_intervals import unseen_variance
from sfumato.randomness.conditional_poisson import ConditionalPoisson
from sfumato.randomness.distortion import contract

# --------------------------------------------------------------------------------------------------
# What values that no published row shows add to the errors of counts of decoys.
#
# A row with such a value is in a group of gamma rows, each of which shows it with probability 1/gamma: it
# went unseen by chance. The row
# itself is published and shows what others have, so sums with its value miss it, and other sums have it
# instead, as often as they
# have any row. "All values but this one" therefore errs as this value does.
#
# Or the value was rare, and all its rows were left out: sums with it miss them, and nothing else.


@dataclass(frozen=True, eq=False)
class UnseenValues:
    """Values that no published row shows, though some rows may have them.

    Parameters
    ----------
    counts, gamma, rarest
        As for :class:`~sfumato.methods.splu_gen.decoy_model.DecoyModel`.

    Notes
    -----
    Of a single such value the rule of three says how many rows it may have. It says the same of all of them together, if they were named beforehand, and
    not as much of each. Who names them after looking at the release knows more: of values that few rows have, those shown once tell how
    many rows went unseen (:attr:`rows`). So rows with such values are many or few all together, with
    the mean square of a sum of both, and are spread over the values so that each has no more than the rule of three says of it.

    Examples
    --------
    One value of three; all others err as it does, and all together do not err.

    >>> values = UnseenValues(np.array([60.0, 40.0, 0.0]), 3, 1)
    >>> values.squares(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]), np.ones(3)).round(2).tolist()
    [1.58, 1.58, 0.0]
    """

    counts: Floats
    gamma: int
    rarest: int

    @cached_property
    def are_unseen(self) -> Floats:
        """Which values these are, as 0 and 1."""
        return np.asarray(self.counts == 0, np.float64)

    @cached_property
    def shares(self) -> Floats:
        """Of the published rows, how often they show each value."""
        return self.counts / max(float(self.counts.sum()), 1.0)

    @cached_property
    def rows(self) -> float:
        """Rows that are expected to have such values, by those that are shown once.

        Of a value with n rows the gamma n rows of its groups show it none or once with probabilities of the ratio ``(1 - 1/gamma) : n``. So the values
        that are shown once, times ``1 - 1/gamma``, have the mean of all rows that went unseen. These are no more than if each
        of the values had what the rule of three says of one.

        References
        ----------
        Good (1953), The population frequencies of species and the estimation of population parameters.
        """
        most = (self._number**2 - 1) * self._of_one
        expected = (1 - 1 / self.gamma) * np.count_nonzero(self.counts == 1)
        return float(min(expected, math.sqrt(0.25 + max(most, 0.0)) - 0.5))

    def squares(self, numbers: Floats, shares: Floats, places: Floats) -> Floats:
        """Mean squares of what sums over values err by such rows, in the shape that the three have together.

        Parameters
        ----------
        numbers
            How many of these values are in each sum.
        shares
            How much of the published rows shows a value of it.
        places
            Share of all rows that are where it is asked: in a public combination, and in everything else that is asked.
        """
        return self.by_chance(numbers, shares, places) + (places > 0) * self.most_rare(numbers) ** 2

    def by_chance(self, numbers: Floats, shares: Floats, places: Floats) -> Floats:
        """The same of rows that are published and do not show their value."""
        if not self._number:
            return np.zeros(np.broadcast_shapes(numbers.shape, shares.shape, places.shape))
        misses, apart = numbers / self._number - shares, numbers - numbers**2 / self._number
        return np.asarray(self._together(places) * misses**2 + self._apart(places) * apart)

    def most_rare(self, numbers: Floats) -> Floats:
        """Rows that so many values have at the most, if all of them were left out because they are rare."""
        return np.asarray(numbers * (self.rarest - 1.0))

    def between_places(self, weights: Floats, places: Floats) -> Floats:
        """Mean products between sums in places that do not overlap, ``(places * sums, places * sums)``.

        Parameters
        ----------
        weights
            Which sums, ``(values, sums)`` of 0 and 1.
        places
            Share of all rows in each, ``(places,)``.
        """
        size = places.size * weights.shape[1]
        if not self._number:
            return np.zeros((size, size))
        misses, unseen = self._misses(weights), weights * self.are_unseen[:, None]
        numbers = unseen.sum(axis=0)
        apart = unseen.T @ unseen - np.outer(numbers, numbers) / self._number
        rare = self.most_rare(numbers)
        together = np.outer(self.rows * places, self.rows * places)
        np.fill_diagonal(together, self._together(places))
        found = np.kron(together, np.outer(misses, misses)) + np.kron(np.diag(self._apart(places)), apart)
        return np.asarray(found + np.kron(np.diag(places > 0), np.outer(rare, rare)), np.float64)

    def between_sums(self, weights: Floats, product: float, both: float) -> float:
        """Mean product of what two sums err that are asked in different places.

        Parameters
        ----------
        weights
            Which two, ``(values, 2)``.
        product, both
            Of the shares of all rows in the two places, and the share in both.
        """
        if not self._number:
            return 0.0
        return float(np.prod(self._misses(weights)) * (self.rows**2 * product + self.rows * both))

    def _misses(self, weights: Floats) -> Floats:
        """Share of the rows that went unseen which each sum should have, less what it has instead."""
        return np.asarray((self.are_unseen / self._number - self.shares) @ weights)

    def _together(self, places: Floats) -> Floats:
        """Mean square of all rows that went unseen in each place."""
        rows = self.rows * places
        return np.where(places > 0, self._of_one + rows + rows**2, 0.0)

    def _apart(self, places: Floats) -> Floats:
        """Mean square of what one value has besides its part of them, so that it has what the rule of three says."""
        if self._number < 2:
            return np.zeros_like(places)
        left = self._of_one - self._together(places) / self._number**2
        return np.where(places > 0, left / (1 - 1 / self._number), 0.0)

    @cached_property
    def _number(self) -> int:
        return int(self.are_unseen.sum())

    @cached_property
    def _of_one(self) -> float:
        """Mean square of the rows that a value may have which was named beforehand."""
        return float(unseen_variance(1 - (1 - 1 / self.gamma) ** self.gamma))


# --------------------------------------------------------------------------------------------------
# The mathematics of decoy groups: one distortion matrix from the published margin, and its errors.
#
# Rows were put into groups of ``gamma`` rows with different values, by a uniformly random valid partition,
# and every row shows a value drawn uniformly from its group's. A row with value u shows v with probability
# ``T[u, v] = Pr(group holds v | group holds u) / gamma``, which the frequencies alone determine. T is
# computed from the published margin, which estimates the true one without bias; the errors below know that
# it comes from the same draws.


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


# --------------------------------------------------------------------------------------------------
# Errors of sums over a drawn attribute's values, under predicates on the rows.


def variances_of(predicate: Predicate, weights: Floats) -> Floats:
    """Of the sums over values that the columns of ``(values, sums)`` say, under one predicate."""
    whole = covariance(predicate, predicate, predicate.shares, weights, weights)
    return np.clip(np.diagonal(whole), 0, None)


def leaning_of(model: DecoyModel, rows: Floats, weights: Floats) -> Floats:
    """Slope of the variance of sums over values if every row were drawn by itself, divided by that variance, ``(cells, sums)``.

    Parameters
    ----------
    model
        Of the attribute.
    rows
        True rows of every value in each cell, ``(cells, values)``, none of them negative.
    weights
        Which sums, ``(values, sums)`` of 0 and 1.

    Notes
    -----
    A row adds h to an estimate, on average its weight, and ``h^2 - h`` to the estimated variance. The slope of the variance is the
    covariance of the two, ``E[h^3] - E[h^2] E[h] - Var(h)`` summed over rows, divided by the variance of the first.
    """
    added = model.inverse @ weights
    second, third = (model.distortion @ added**power for power in (2, 3))
    variances = rows @ (second - weights)
    covariances = rows @ (third - second * weights) - variances
    # Of the sum of all values that occur there is rounding alone.
    is_drawn = variances > NEGLIGIBLE * rows.sum(axis=1, keepdims=True)
    return np.divide(covariances, variances**2, out=np.zeros_like(variances), where=is_drawn)


def between_cells(predicates: Sequence[Predicate], weights: Floats) -> Floats:
    """Covariance of every sum of values under every one of disjoint predicates, the sums of one side by side."""
    cells, sums = len(predicates), weights.shape[1]
    blocks = np.zeros((cells, sums, cells, sums))
    nothing = np.zeros(len(weights))
    for i, j in itertools.combinations_with_replacement(range(cells), 2):
        both = predicates[i].shares if i == j else nothing
        blocks[i, :, j] = covariance(predicates[i], predicates[j], both, weights, weights)
        blocks[j, :, i] = blocks[i, :, j].T
    return blocks.reshape(cells * sums, cells * sums)


# --------------------------------------------------------------------------------------------------
# Errors of counts over several drawn attributes, from the models of each and from (estimated) true counts.
#
# A row of true values u and w adds ``(e_u + a) x (e_w + b)`` to the estimates, where a and b are the errors
# of its two
# inverted draws: independent of each other, with mean 0. So the error of a table is the sum of three that are
# not
# correlated:
#
# - ``a x e_w``: the error of the first attribute alone, under the predicates that the other has the value w;
# - ``e_u x b``: likewise of the second;
# - ``a x b``: that two rows share a group of both attributes has a chance of the order 1/N^2, so rows count
# as
#   independent here, and the covariance is ``sum of X[u, w] Cov(a | u) x Cov(b | w)``.
#
# The first two are those of :func:`~sfumato.methods.splu_gen.decoy_model.covariance`, which knows that the
# matrices come
# from the same draws. More attributes have one such term each, and one for every product of two or more.


NEARLY_NONE = 1e-9
"""Rows that a value of which nobody is shown is taken to have where there are any: there may be some."""


@dataclass(frozen=True, eq=False)
class JointCells:
    """Sums over the values of several drawn attributes, in some public combinations.

    Parameters
    ----------
    models
        By drawn attribute, in the order of the axes.
    estimates
        Rows of each public combination and values, ``(combinations, size, size, ...)``; they may be negative.
    totals
        By attribute that is asked about, the rows of each of its values in the combinations,
        ``(combinations, size)``: what the shares within a combination add up to.
    weights
        By attribute, which sums over its values are asked for, ``(size, sums)``.
    """

    models: Mapping[str, DecoyModel]
    estimates: Floats
    totals: Mapping[str, Floats]
    weights: Mapping[str, Floats]

    def variances(self) -> Floats:
        """Of every sum in every combination, ``(combinations, sums, sums, ...)``."""
        moments = [self._second_moments(name, self.weights, self.weights) for name in self.models]
        # Sums are of 0 and 1, so that a row's true part in one is its own square.
        truths = [self.weights[name] for name in self.models]
        found = self._of_products([np.einsum("uss->us", each) for each in moments], truths)
        for name in self.totals:
            own = np.array([variances_of(each, self.weights[name]) for each in self.predicates(name)])
            found = found + self._laid_out(own, name)
        return found

    def rows(self) -> Floats:
        """Rows of every sum that are behind these errors, in the same order."""
        return contract(self._rows, [None, *(self.weights[name] for name in self.models)])

    def rows_of_others(self, name: str) -> Floats:
        """The same whatever values of an attribute they have, whose axis has length 1; nearly none, but some, of other values that nobody shows."""
        weights = {**self.weights, name: np.ones((self._size(name), 1))}
        found = contract(self._rows, [None, *(weights[each] for each in self.models)])
        is_occupied = self.estimates.any(axis=tuple(range(1, self.estimates.ndim)), keepdims=True)
        return np.where(is_occupied, np.maximum(found, NEARLY_NONE), 0.0)

    def covariance(self) -> Floats:
        """Between all of them, twice the axes of :meth:`variances`."""
        shape = self._shape
        cells = math.prod(shape[1:])
        found = np.zeros((shape[0], cells, shape[0], cells))
        own = self.products(self.weights, self.weights).reshape(-1, cells, cells)
        for place in range(shape[0]):
            found[place, :, place] = own[place]
        found = found.reshape(*shape, *shape)
        for name in self.totals:
            found += self._pairs_laid_out(between_cells(self.predicates(name), self.weights[name]), name)
        return found

    def products(self, left: Mapping[str, Floats], right: Mapping[str, Floats]) -> Floats:
        """Covariance, within each combination, of what the products of errors add to two sets of sums.

        ``(combinations, sums, ..., sums, ...)``: the axes of the one, then those of the other.
        """
        sizes = [(left[name].shape[1], right[name].shape[1]) for name in self.models]
        moments = [self._second_moments(name, left, right) for name in self.models]
        truths = [left[name][:, :, None] * right[name][:, None, :] for name in self.models]
        flat = [[each.reshape(len(each), -1) for each in some] for some in (moments, truths)]
        number = len(sizes)
        pairs = self._of_products(*flat).reshape(-1, *(each for pair in sizes for each in pair))
        return pairs.transpose([0, *range(1, 2 * number, 2), *range(2, 2 * number + 1, 2)])

    def predicates(self, name: str) -> list[Predicate]:
        """That a row is in the combination and has the others' values, for every sum over these."""
        return [self.models[name].predicate(each) for each in self.shares(name).reshape(-1, self._size(name))]

    def shares(self, name: str) -> Floats:
        """Share of each of an attribute's rows that satisfies them, ``(combinations, the others' sums, size)``."""
        counts, others = self.models[name].counts, [each for each in self.models if each != name]
        # The own rows last, whatever the rounds of fitting left: over all combinations shares add up to one.
        moved = np.moveaxis(self._with_totals(self._rows, name), self._axis(name), 1)
        summed = contract(moved, [None, None, *(self.weights[each] for each in others)])
        found = np.moveaxis(summed, 1, -1)
        # A value that no published row shows has no rows to share out.
        return np.asarray(found / np.maximum(counts, 1.0))

    @cached_property
    def _rows(self) -> Floats:
        """The estimates made feasible: not negative, with the rows of every combination and of every value in it.

        First those of rare values, which err little, move little (:meth:`DecoyModel.within_rows` says why): all alike, the noise of
        frequent values would take the few rows that rare ones have.
        """
        flat = self.estimates.reshape(len(self.estimates), -1)
        rows = project_to_simplex(flat, flat.sum(axis=1), self._steps(self.models)).reshape(
            self.estimates.shape
        )
        for _ in range(ROUNDS):
            # By name: a few rounds are not the end of fitting, and a question asked in another order has the same errors.
            for name in sorted(self.totals):
                rows = self._with_totals(rows, name)
        return rows

    def _with_totals(self, rows: Floats, name: str) -> Floats:
        """The nearest rows that are not negative and have those of an attribute's values in every combination."""
        moved = np.moveaxis(rows, self._axis(name), 1)
        flat = moved.reshape(-1, math.prod(moved.shape[2:]))
        steps = self._steps(each for each in self.models if each != name)
        made = project_to_simplex(flat, self.totals[name].ravel(), steps).reshape(moved.shape)
        return np.moveaxis(made, 1, self._axis(name))

    def _steps(self, names: Iterable[str]) -> Floats:
        """How far cells of some attributes err beside each other, flat."""
        return np.asarray(
            reduce(np.multiply.outer, [self.models[name].relative_variances for name in names])
        ).ravel()

    def _axis(self, name: str) -> int:
        return 1 + list(self.models).index(name)

    @property
    def _shape(self) -> tuple[int, ...]:
        return (len(self.estimates), *(self.weights[name].shape[1] for name in self.models))

    def _size(self, name: str) -> int:
        return len(self.models[name].counts)

    def _second_moments(self, name: str, left: Mapping[str, Floats], right: Mapping[str, Floats]) -> Floats:
        """``E[h g' | u]`` of what a row of each true value adds to two sets of sums, ``(size, sums, sums)``."""
        model = self.models[name]
        one, other = model.inverse @ left[name], model.inverse @ right[name]
        return np.asarray(np.einsum("uv,vi,vj->uij", model.distortion, one, other, optimize=True))

    def _of_products(self, moments: Sequence[Floats], truths: Sequence[Floats]) -> Floats:
        """Sum over rows of all products of two errors or more: of everything, less no error and less one."""
        found = contract(self._rows, [None, *moments]) - contract(self._rows, [None, *truths])
        for place in range(len(moments)):
            alone = [*truths[:place], moments[place] - truths[place], *truths[place + 1 :]]
            found = found - contract(self._rows, [None, *alone])
        return found

    def _laid_out(self, own: Floats, name: str) -> Floats:
        """From the others' sums by an attribute's sums to the order of the axes."""
        others = [self.weights[each].shape[1] for each in self.models if each != name]
        return np.moveaxis(own.reshape(len(self.estimates), *others, -1), -1, self._axis(name))

    def _pairs_laid_out(self, own: Floats, name: str) -> Floats:
        number = len(self._shape)
        others = [self.weights[each].shape[1] for each in self.models if each != name]
        half = (len(self.estimates), *others, self.weights[name].shape[1])
        axis = self._axis(name)
        return np.moveaxis(own.reshape(*half, *half), [number - 1, 2 * number - 1], [axis, number + axis])


def joint_errors(models: Mapping[str, DecoyModel], true_counts: CountTable) -> Floats:
    """Standard errors of the cells over several drawn attributes, from their true counts."""
    public = [name for name in true_counts.names if name not in models]
    laid_out = [true_counts.axis_of(name) for name in (*public, *models)]
    moved = np.asarray(true_counts.counts, dtype=np.float64).transpose(laid_out)
    cells = moved.reshape(-1, *moved.shape[len(public) :])
    totals = {
        name: cells.sum(axis=tuple(each for each in range(1, cells.ndim) if each != axis))
        for axis, name in enumerate(models, start=1)
    }
    for name, model in models.items():
        model.require_identifiable(name)
    weights = {name: np.eye(len(each.counts)) for name, each in models.items()}
    variances = JointCells(models, cells, totals, weights).variances().reshape(moved.shape)
    return np.sqrt(variances.transpose(np.argsort(laid_out)))
