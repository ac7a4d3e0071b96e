"""The law of SPLU-Gen: tabulations, leave-one-out posterior, and the paper's pairwise estimate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Floats, Integers, in_parts
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.estimates.counts import CountTable, Feasibility, OccupiedCounts
from sfumato.estimates.estimates import Estimates
from sfumato.guarantees import Guarantee
from sfumato.guarantees.small_sum_privacy import DecoyPromise, LargeSumUtility, odds_factor
from sfumato.immutable import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.laws.base import Law, Published
from sfumato.laws.estimator import (
    Target,
    codes_shown,
    conditions_outside,
    names_of,
    order_of,
    shape_of,
    take_codes,
)
from sfumato.laws.posterior import GroupedRows
from sfumato.methods.randomized_response.law import PerturbedCounts, PerturbedRows
from sfumato.methods.splu_gen.decoy_counts import DecoyCounts, SeveralDecoys, product_of
from sfumato.methods.splu_gen.decoy_model import (
    DecoyModel,
    covariance,
    decoy_model,
    joint_errors,
    margin_variance,
    variances_of,
)
from sfumato.query.selection import Selection, Tabulation
from sfumato.query.text import write_condition
from sfumato.randomness.partitions import Partition
from sfumato.schema import Schema
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# Questions to a release of decoy rows, laid out as public combinations by values of drawn attributes.


@dataclass(frozen=True, eq=False)
class DecoyQuestion:
    """The published counts that a tabulation needs.

    Parameters
    ----------
    drawn
        Drawn attributes that the tabulation involves: those it shows first, then those it conditions on.
    codes
        For each drawn attribute the categories asked about.
    is_shown
        For each drawn attribute, whether its categories are cells (else they are summed).
    counts
        Published rows, ``(public combinations, values of drawn[0], values of drawn[1], ...)``.
    order
        Place, among public combinations by shown categories, of each cell as the tabulation orders them.
    """

    drawn: tuple[str, ...]
    codes: tuple[tuple[int, ...], ...]
    is_shown: tuple[bool, ...]
    counts: Floats
    order: Integers

    def states(self, published: Published) -> Floats:
        """Rows outside and inside each public combination, without and with each category asked about.

        Returns
        -------
        numpy.ndarray
            ``(cells, 2, 2, ...)``: an axis for the public combination, then one for each drawn attribute.

        Raises
        ------
        ParameterError
            When several categories of an attribute are to be summed; this form knows one at a time.
        """
        for name, codes, shown in zip(self.drawn, self.codes, self.is_shown, strict=True):
            if not shown and len(codes) != 1:
                raise ParameterError(
                    f"this estimator answers for one category of {name!r} at a time, got {len(codes)}. "
                    "Tabulate over it, or leave the estimator out.",
                    parameter="estimator",
                )
        everyone = np.asarray(published.count_by(self.drawn, Selection()).counts, dtype=np.float64)
        inside = _collapse(self.counts, self.codes)
        outside = _collapse(everyone[None], self.codes) - inside
        both = np.stack([outside, inside], axis=len(self.drawn) + 1)
        cells = math.prod(both.shape[: len(self.drawn) + 1])
        return both.reshape(cells, *(2,) * (len(self.drawn) + 1))


def ask(published: Published, tabulation: Tabulation, gammas: Mapping[str, int]) -> DecoyQuestion:
    """Count what a tabulation needs; conditions on drawn attributes are about the truth and do not filter."""
    by, where = tabulation.by, tabulation.where
    public = tuple(name for name in by if name not in gammas)
    shown = tuple(name for name in by if name in gammas)
    drawn = shown + tuple(name for name in where.names if name in gammas and name not in by)
    exact = conditions_outside(where, gammas)
    counts = take_codes(published.count_by(public + drawn, exact).counts, public, exact)
    codes = tuple(codes_shown(published.schema, tabulation, name) for name in drawn)
    laid_out = public + shown
    return DecoyQuestion(
        drawn=drawn,
        codes=codes,
        is_shown=tuple(name in shown for name in drawn),
        counts=counts.reshape(-1, *counts.shape[len(public) :]),
        order=order_of(by, laid_out, shape_of(published.schema, tabulation, laid_out)),
    )


def _collapse(counts: npt.NDArray[Any], codes: Sequence[tuple[int, ...]]) -> Floats:
    """For each category asked about, rows without and with it: ``(c, k_1, ..., k_w, 2, ..., 2)``."""
    result = np.asarray(counts, dtype=np.float64)
    for axis, chosen in enumerate(codes, start=1):
        holding = result.take(list(chosen), axis=axis)
        lacking = result.sum(axis=axis, keepdims=True) - holding
        result = np.stack([lacking, holding], axis=-1)
    return result


# --------------------------------------------------------------------------------------------------
# Reconstruction from decoy groups one value at a time: the closed form and the paper's iteration.
#
# A row is in one of 2 x 2 states, in or outside a public predicate P and with or without the value s (with
# several sensitive attributes, one more factor of 2 for each). Both forms assume that every row without s
# is equally likely to share a group with s, which holds only when values are equally frequent; the matrix
# of :mod:`sfumato.methods.splu_gen.decoy_model` does without that. They are kept for comparison.


PAPER_TOLERANCE = 0.01
"""Relative change of every state at which the paper's iteration stops (Fu et al. 2014, section 5)."""

EMPTY = 1e-9
"""Rows below which a state counts as empty."""

MAXIMUM_ROUNDS = 10_000
"""Rounds after which the iteration stops, converged or not."""

Transition = Literal["paper", "corrected"]
"""``paper``: a row without s shows it with probability f/N (Fig. 6), which adds up to more than f.
``corrected``: f (gamma - 1) / (gamma (N - f)), so that the expected number shown is f."""


def show_probability(
    count: Floats, rows: float, gamma: int, *, transition: Transition = "corrected"
) -> Floats:
    """Probability that a row *without* the value shows it.

    Groups with s hold f (gamma - 1) of the N - f rows without it, and each shows s with probability
    1/gamma.

    Examples
    --------
    >>> show_probability(np.array(100.0), 1000, 5).round(7)
    np.float64(0.0888889)
    """
    if transition == "paper":
        return np.asarray(count / rows)
    return np.asarray(count * (gamma - 1) / (gamma * (rows - count)))


def pairwise_count(shown: Floats, selected: Floats, count: Floats, rows: float, gamma: int) -> Floats:
    """Estimated number of rows in P with s: ``(y - n_P a) / (1/gamma - a)``.

    Parameters
    ----------
    shown
        Published rows in P that show s.
    selected
        Rows in P, exactly known.
    count
        Published rows that show s, below ``rows / gamma``; at that point P and s are unrelated whatever
        the truth.
    rows, gamma
        All rows; rows of a group.

    Examples
    --------
    >>> round(float(pairwise_count(np.array(42.0), np.array(400.0), np.array(100.0), 1000, 5)), 9)
    58.0
    """
    chance = show_probability(count, rows, gamma)
    return np.asarray((shown - selected * chance) / (1 / gamma - chance))


def paper_fixed_point(shown: float, selected: float, count: float, rows: float, gamma: int) -> float:
    """Where the paper's iteration with its printed matrix ends when it is not stopped early.

    The frequency is the smaller root of ``f (1 + 1/gamma) - f^2/N = f'``.

    Examples
    --------
    >>> round(paper_fixed_point(42, 400, 100, 1000, 5), 4)
    54.2373
    """
    slope = 1 + 1 / gamma
    root = (slope - (slope**2 - 4 * count / rows) ** 0.5) * rows / 2
    return float((shown - selected * root / rows) / (1 / gamma - root / rows))


def iterate(
    published: Floats,
    gammas: Sequence[int],
    *,
    transition: Transition = "paper",
    tolerance: float = PAPER_TOLERANCE,
    maximum_rounds: int = MAXIMUM_ROUNDS,
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Fu et al. (2014), equations 13 and 14: expectation-maximization whose matrix follows the estimate.

    Parameters
    ----------
    published
        ``(queries, 2, 2, ...)``: published rows in each state; the first axis of 2 is outside or inside
        P, the others without or with the value of each sensitive attribute.
    gammas
        Rows of a group, one for each sensitive attribute.
    transition
        Which matrix.
    tolerance
        The iteration of a query stops when no state changes by more than this share of itself.

    Returns
    -------
    tuple
        Estimated states, of the shape of ``published``, and the number of rounds of each query.

    Notes
    -----
    The 1 % of the paper often stops it after a round or two, close to the published counts.

    Examples
    --------
    >>> states, rounds = iterate(np.array([[[4.0, 1.0], [3.0, 1.0]]]), [3])
    >>> round(float(states[0, 1, 1]), 5), int(rounds[0])
    (1.26114, 45)
    """
    current = np.array(published, dtype=np.float64)
    rounds = np.zeros(len(current), dtype=np.int64)
    active = np.arange(len(current))
    for _ in range(maximum_rounds):
        following = _round(current[active], published[active], gammas, transition)
        previous = current[active]
        # A state that is empty stays so and has no relative change; one that dies out would go on to the last digit.
        has_moved = (previous > EMPTY) & (np.abs(following - previous) > tolerance * previous)
        current[active] = following
        rounds[active] += 1
        active = active[has_moved.reshape(len(active), -1).any(axis=1)]
        if not active.size:
            break
    return current, rounds


def _round(current: Floats, published: Floats, gammas: Sequence[int], transition: Transition) -> Floats:
    """One step: ``x_i <- x_i sum_j a_ij y_j / sum_r a_rj x_r``."""
    rows = current.reshape(len(current), -1).sum(axis=1)
    matrices = []
    for axis, gamma in enumerate(gammas, start=2):
        other = tuple(each for each in range(1, current.ndim) if each != axis)
        count = current.sum(axis=other)[:, 1]
        chance = show_probability(count, rows, gamma, transition=transition)
        kept = np.full_like(chance, 1 / gamma)
        matrices.append(np.stack([np.stack([1 - chance, chance], 1), np.stack([1 - kept, kept], 1)], axis=1))
    expected = current
    for axis, matrix in enumerate(matrices, start=2):
        expected = _along(expected, matrix, axis)
    back = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
    for axis, matrix in enumerate(matrices, start=2):
        back = _along(back, matrix.transpose(0, 2, 1), axis)
    return np.asarray(current * back)


def _along(states: Floats, matrices: Floats, axis: int) -> Floats:
    """Multiply one axis of every query's states by that query's own matrix."""
    moved = np.moveaxis(states, axis, -1)
    shape = moved.shape
    flat = moved.reshape(len(moved), -1, 2)
    return np.moveaxis((flat @ matrices).reshape(shape), -1, axis)


def pairwise_counts(states: Floats, names: Sequence[str], gammas: Sequence[int]) -> Floats:
    """Closed form for one drawn attribute."""
    if len(gammas) > 1:
        raise ParameterError(
            f"the pairwise estimator answers for one drawn attribute at a time, here are {len(gammas)}. "
            "Leave the estimator out, or ask for 'paper'.",
            parameter="estimator",
        )
    shown, selected = states[:, 1, 1], states[:, 1].sum(axis=1)
    count, rows = states[:, :, 1].sum(axis=1), states.reshape(len(states), -1).sum(axis=1)
    if np.any(count * gammas[0] >= rows):
        raise NotIdentifiableError(
            f"a category of {names[0]!r} is published at least once for every group of {gammas[0]}, so its counts "
            f"in public groups are not determined; they lie between 0 and the group's rows. Ask about others."
        )
    return pairwise_count(shown, selected, count, float(rows[0]), gammas[0])


# --------------------------------------------------------------------------------------------------
# What a row tells of its person where the person's public group holds the value: the posterior, own row left
# out.
#
# A row of a public group shows the value y. What is believed of the person before comes from the others of
# the group
# alone; the own row is used once, as the evidence, by the odds factor of the value.


MOST_PAIRS = 28
"""Pairs of public attributes whose groups are looked at; where there are more, single attributes and all together are."""

GRID = 101
"""Shares of a group at which a belief about it is evaluated."""

CELLS_AT_ONCE = 2**15
"""Cells whose beliefs are held in memory together."""


def groupings(public: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Sets of public attributes by which people are grouped: each one, pairs where they are few, all together.

    Examples
    --------
    >>> list(groupings(["ward", "sex", "age"]))[-2:]
    [('sex', 'age'), ('ward', 'sex', 'age')]
    """
    pairs = tuple(itertools.combinations(public, 2))
    everything = (tuple(public),)
    few = pairs if len(pairs) <= MOST_PAIRS else ()
    return iter(dict.fromkeys([*((each,) for each in public), *few, *everything]))


def rarest_factors(counts: Integers, gamma: int) -> tuple[int, float, float]:
    """How many rows hold the rarest value, its odds factor, and the largest against one other value, over all values.

    The last is that of uniformly random groups; the second holds for any.
    """
    held = np.asarray(counts, np.float64)
    rarest = int(held[held > 0].min())
    worst = float(np.nanmax(DecoyModel(held, gamma).largest_factors))
    return rarest, max(odds_factor(rarest, float(held.sum()), gamma), 1.0), worst


@dataclass(frozen=True, eq=False)
class PublicGroups:
    """How many rows of each public group have each value.

    Parameters
    ----------
    counts
        Over the public attributes and the drawn one, which is the last.
    """

    counts: OccupiedCounts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The public attributes."""
        return tuple(each.name for each in self.counts.attributes[:-1])

    @cached_property
    def groups(self) -> Integers:
        """Number of each cell's group."""
        return self.counts.numbered(self.names)

    @property
    def number(self) -> int:
        """Of groups."""
        return int(self.groups.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> Integers:
        """Rows of each cell's group."""
        return np.bincount(self.groups, self.counts.counts).astype(np.int64)[self.groups]

    @property
    def values(self) -> Integers:
        """The drawn attribute's value in each cell."""
        return np.asarray(self.counts.codes[-1], np.int64)

    @cached_property
    def totals(self) -> Integers:
        """Rows of each value over all groups."""
        size = self.counts.attributes[-1].size
        return np.bincount(self.values, self.counts.counts, minlength=size).astype(np.int64)

    @property
    def rows(self) -> int:
        """Of all groups."""
        return int(self.counts.counts.sum())

    def label(self, cell: int) -> str:
        """The public group of a cell as a condition."""
        return " AND ".join(
            write_condition(attribute, (int(codes[cell]),))
            for attribute, codes in zip(self.counts.attributes[:-1], self.counts.codes[:-1], strict=True)
        )

    def told_by_others(self, gamma: int) -> tuple[Floats, Floats]:
        """For holders of each cell's value: what knowing the others gives, before and after their row shows it.

        The counts are true ones. The others are those of the public group; of someone alone in it, everybody.
        """
        held, total = self.counts.counts, self.totals[self.values]
        is_alone = self.sizes == 1
        before = np.where(
            is_alone, (total - 1) / max(self.rows - 1, 1), (held - 1) / np.maximum(self.sizes - 1, 1)
        )
        return before, self._after(before, gamma)

    def told_by_shown(self, gamma: int) -> tuple[Floats, Floats]:
        """For rows that show each cell's value: the belief from what the others show, and with the own row.

        The counts are published ones. A group's share of the value is the table's, or one group in all is anything
        (spike and slab); which of the two, what the other rows show decides.
        """
        found = [self._believed(part, gamma) for part in in_parts(len(self.values), at_once=CELLS_AT_ONCE)]
        before = np.concatenate(found) if found else np.zeros(0)
        return before, self._after(before, gamma)

    def _after(self, before: Floats, gamma: int) -> Floats:
        factors = np.array([odds_factor(max(each, 1), self.rows, gamma) for each in self.totals])
        # A published count can exceed the number of groups by chance; showing the value then says nothing.
        weights = before * np.maximum(factors, 1.0)[self.values]
        return np.asarray(weights / (weights + 1 - before))

    def _believed(self, cells: slice, gamma: int) -> Floats:
        """Mean share of the value among the others of the group, given how many of them show it."""
        total = self.totals[self.values[cells]].astype(np.float64)
        overall = total / self.rows
        # A row of another value shows this one so often, on average.
        decoy = np.minimum(total * (gamma - 1) / (gamma * np.maximum(self.rows - total, 1)), 1 / gamma)
        others = self.sizes[cells] - 1
        shown = self.counts.counts[cells] - 1
        shares = (np.arange(GRID) + 0.5) / GRID
        chances = decoy[:, None] + shares * (1 / gamma - decoy)[:, None]
        logs = shown[:, None] * np.log(chances) + (others - shown)[:, None] * np.log1p(-chances)
        of_table = shown * np.log(overall) + (others - shown) * np.log1p(-np.minimum(overall, 1 - 1e-12))
        likelihoods = np.exp(np.clip(logs - of_table[:, None], -700, 700))
        weight = 1 / max(self.number, 2)
        slab = weight * likelihoods.mean(axis=1)
        is_own = slab / (slab + 1 - weight)
        mean = likelihoods @ shares / likelihoods.sum(axis=1)
        return np.asarray(is_own * mean + (1 - is_own) * overall)


# --------------------------------------------------------------------------------------------------
# Rows whose sensitive values were drawn from secret groups of decoys.


FEW_ROWS = 20
"""Published rows of a value below which a normal interval for its counts is not to be trusted."""


class DecoyRows(Law):
    """Each row shows a value drawn uniformly from the different values of its secret group.

    Counts of a sensitive value alone are Binomial(gamma f, 1/gamma): unbiased, whatever the groups. Within public groups the
    published counts y of true counts x satisfy ``E[y] = x T``, with T computed from the published margin (``model.DecoyModel``),
    so ``y T^-1`` estimates x, unbiased to first order, for all values at once and adding up to the group.

    Parameters
    ----------
    gamma_by_attribute
        Rows of a group, for each attribute that was drawn.
    partition
        How groups were made; the matrix needs ``"mixed"``.
    largest_small_count, relative_error, error_probability
        What answers are held against to say whether they are small or large sums.
    suppress_rarer_than
        Rows whose sensitive value fewer rows hold were left out; none were when not given.
    together
        Attributes that each row shows from one member of its group, whose members differ in each of them. The count of
        each value keeps its law; which values meet is then not known, and what depends on it is refused.

    Notes
    -----
    Several drawn attributes were grouped independently: their matrices form a product, whose errors are those of
    :class:`~sfumato.methods.splu_gen.decoy_model.JointCells`.

    Examples
    --------
    >>> print(DecoyRows(gamma_by_attribute={"job": 5}).sentence)
    Each row's job was drawn uniformly from the 5 different values of a secret group (mixed partition).
    """

    law: Literal["decoy-rows"] = "decoy-rows"
    gamma_by_attribute: dict[str, Annotated[int, Field(strict=True, ge=2, le=1_000_000)]]
    partition: Partition = "mixed"
    largest_small_count: Annotated[int, Field(ge=1, le=300)] = 10
    relative_error: Annotated[float, Field(ge=SMALLEST_ERROR, le=LARGEST_ERROR)] = 0.3
    error_probability: Annotated[float, Field(gt=0, lt=1)] = 0.05
    suppress_rarer_than: Annotated[int, Field(ge=1, le=MOST_ROWS)] | None = None
    together: tuple[str, ...] = ()

    # T is computed from the published margin, and its inverse is not linear in it.
    chosen_from_rows: ClassVar[tuple[str, ...]] = ("rows left out", "gamma")
    estimate_is: ClassVar[str] = "unbiased to first order"
    estimators: ClassVar[Mapping[str, str]] = {
        "pairwise": "one value against all others; biased where frequency and the question are related, no error known",
        "paper": "the iteration of Fu et al. (2014) with its printed matrix and 1 % stop; biased, no error known",
    }

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """What the sizes of groups, the smallest count and what was drawn together give, at every error.

        Which attributes are independent no law can tell: a promise that rests on it says so.
        """
        del schema
        gammas = {"gamma_by_attribute": dict(self.gamma_by_attribute)}
        if isinstance(stated, LargeSumUtility):
            return (stated.model_copy(update=gammas),)
        if isinstance(stated, DecoyPromise):
            drawn = {"smallest_count": self.suppress_rarer_than or 1, "together": self.together}
            return (stated.model_copy(update=gammas | drawn),)
        return ()

    def grouped_rows(self, published: Published, public: Sequence[str], sensitive: str) -> GroupedRows | None:
        """All published rows, seen through the matrix that the published margin gives; an attacker need not be sure of it."""
        drawn = self._model(published, sensitive) if sensitive in self.gamma_by_attribute else None
        if {*public} & {*self.gamma_by_attribute} or (drawn is not None and not drawn.has_law):
            return None
        channel = np.eye(published.schema[sensitive].size) if drawn is None else drawn.distortion
        return GroupedRows.of(published.count_occupied((*public, sensitive)), public, sensitive, channel)

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> DecoyCounts | SeveralDecoys:
        """The model of one drawn attribute, or a product of the matrices of several.

        What it cannot say it refuses: counts within public groups when some value may be in every group, or
        the groups were made largest first; counts of a sensitive value alone are answered even then.
        """
        drawn = [name for name in names_of(asked) if name in self.gamma_by_attribute]
        left_out = partial(self._left_out, published)

        def single(name: str) -> DecoyCounts:
            mine = [each for each in asked if not {*names_of([each])} & {*drawn} - {name}]
            return DecoyCounts(
                published,
                mine,
                name,
                self._model(published, name),
                self._require_law,
                left_out(()),
                left_out((name,)),
                is_drawn_alone=name not in self.together,
            )

        if len(drawn) < 2:
            return single(drawn[0] if drawn else next(iter(self.gamma_by_attribute)))

        def product() -> PerturbedCounts:
            return self._product(published, drawn).formula(published, asked)

        return SeveralDecoys(
            single,
            drawn,
            product,
            lambda name: self._model(published, name),
            left_out,
            published,
            asked,
        )

    def most_left_out(self, published: Published) -> int:
        """Rows that may be missing: a remainder that groups do not divide, and rows with values called rare.

        A value was left out wholly or not at all, so a rare one is among those that no published row shows.
        """
        return self._left_out(published, ())

    def _left_out(self, published: Published, known: Sequence[str]) -> int:
        """The same without those of attributes whose values are asked for: which of these miss rows is known by value."""
        if self.suppress_rarer_than is None:
            return self._remainder
        unseen = sum(
            int(np.count_nonzero(self._model(published, name).counts == 0))
            for name in self.gamma_by_attribute
            if name not in known
        )
        return self._remainder + unseen * (self.suppress_rarer_than - 1)

    @property
    def _remainder(self) -> int:
        """Rows left out at random at the most, so that the groups of every attribute divide the rest."""
        return math.lcm(*self.gamma_by_attribute.values()) - 1

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Estimates by the pairwise closed form or by the paper's iteration, one value at a time."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        question = ask(published, tabulation, self.gamma_by_attribute)
        if not question.drawn:
            return self.estimate(published, tabulation, target=target)
        for name in question.drawn:
            self._require_drawn_alone(name)
        gammas = [self.gamma_by_attribute[name] for name in question.drawn]
        states = question.states(published)
        if estimator == "paper":
            inside = (slice(None),) + (1,) * (len(gammas) + 1)
            values = iterate(states, gammas)[0][inside]
        else:
            values = pairwise_counts(states, question.drawn, gammas)
        # How far they are off is not known, of a table or of a population.
        return Estimates(values[question.order], np.full(len(values), np.nan))

    def difference(
        self,
        published: Published,
        question: Selection,
        first: Selection,
        second: Selection,
        *,
        target: Target = "table",
    ) -> Estimates:
        """Difference of two groups' shares; between two values of a drawn attribute, by their contrast.

        The contrast stays determined where single counts are not, because a third value is in every group.
        """
        groups = (*first.conditions, *second.conditions)
        names = {name for name, _ in groups}
        is_pair = len(groups) == 2 and len(names) == 1 and all(len(codes) == 1 for _, codes in groups)
        is_public = not any(name in self.gamma_by_attribute for name in question.names)
        if target == "table" and is_pair and is_public and names <= set(self.gamma_by_attribute):
            (one, (left,)), (_, (right,)) = groups
            return self.contrast(published, one, left, right, question)
        return super().difference(published, question, first, second, target=target)

    def contrast(
        self, published: Published, attribute: str, first: int, second: int, where: Selection
    ) -> Estimates:
        """Difference between two values' shares of rows that satisfy a public condition.

        The share of the first value's rows minus that of the second's. It stays determined when a third
        value is in every group and single counts are not.

        Parameters
        ----------
        attribute
            A drawn attribute.
        first, second
            Codes of two of its values.
        where
            A condition on attributes published as they are.
        """
        if any(name in self.gamma_by_attribute for name in where.names):
            raise ParameterError(
                f"a contrast compares two categories of {attribute!r} under a condition on attributes that are "
                "published as they are; the condition names a drawn one. Leave it out.",
                parameter="where",
            )
        model = self._model(published, attribute)
        self._require_known_meetings(attribute)
        if not model.counts[[first, second]].all() or any(model.is_certain[[first, second]]):
            raise NotIdentifiableError(
                f"one of the two categories of {attribute!r} is in nearly every group or in no published row, "
                "so its share is not determined. Compare other categories."
            )
        counts = np.asarray(published.count_by((attribute,), where).counts, dtype=np.float64)
        shares = model.identified_shares(counts)
        predicate, everyone = model.predicate(shares), model.predicate(np.ones(len(counts)))
        weights = np.zeros((len(counts), 1))
        weights[first], weights[second] = 1 / model.counts[first], -1 / model.counts[second]
        # d(x/f) = (dx - theta df) / f, and f' is the estimate under the predicate that holds for all.
        drift = -shares[:, None] * weights
        cross = covariance(predicate, everyone, shares, weights, drift)
        variance = (
            covariance(predicate, predicate, shares, weights, weights)
            + cross
            + cross.T
            + covariance(everyone, everyone, everyone.shares, drift, drift)
        )
        estimates = counts @ model.inverse
        value = estimates[first] / model.counts[first] - estimates[second] / model.counts[second]
        return Estimates.with_covariance(np.array([value]), variance)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative cells that add up to the exact number of rows of every public combination."""
        names = {*tabulation.by, *tabulation.where.names}
        drawn = tuple(name for name in self.gamma_by_attribute if name in names)
        if len(drawn) == 1 and names == {drawn[0]}:
            # A value's published count is feasible as it is.
            return self.estimate(published, tabulation).values
        return self._product(published, drawn).consistent(published, tabulation, feasibility=feasibility)

    def treats_alike(self, name: str) -> bool:
        """Yes: decoys are drawn by how many rows have a value."""
        del name
        return True

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that estimates of the table's cells will have, from its true counts."""
        drawn = [name for name in true_counts.names if name in self.gamma_by_attribute]
        models = {
            name: decoy_model(_whole(true_counts.project([name]).counts), self.gamma_by_attribute[name])
            for name in drawn
        }
        if not drawn:
            return np.zeros(true_counts.counts.shape)
        if len(true_counts.names) > 1:
            for each in drawn:
                self._require_drawn_alone(each)
        if len(drawn) > 1:
            return joint_errors(models, true_counts)
        name, model = drawn[0], models[drawn[0]]
        axis = true_counts.axis_of(name)
        moved = np.moveaxis(np.asarray(true_counts.counts, dtype=np.float64), axis, -1)
        if len(true_counts.names) == 1:
            return np.asarray(np.sqrt([margin_variance(each, model.gamma) for each in moved]))
        model.require_identifiable(name)
        model.require_solvable()
        weights = np.eye(len(model.counts))
        variances = [
            variances_of(model.predicate(model.shares(each)), weights)
            for each in moved.reshape(-1, moved.shape[-1])
        ]
        return np.moveaxis(np.sqrt(np.array(variances)).reshape(moved.shape), -1, axis)

    def notes(self, published: Published, where: Selection, estimates: Estimates) -> tuple[str, ...]:
        """What kind of sum the answer is, and whether its interval is to be trusted."""
        drawn = [name for name in where.names if name in self.gamma_by_attribute]
        if not drawn:
            return ()
        notes = [self._kind(float(estimates.values[0]), float(estimates.standard_errors[0]))]
        for name in drawn:
            codes = where.codes(name) or ()
            rows = self._model(published, name).counts[list(codes)]
            if rows.sum() < FEW_ROWS:
                notes.append(f"fewer than {FEW_ROWS} published rows of {name}: too few for a normal interval")
        return tuple(notes)

    def _kind(self, estimate: float, error: float) -> str:
        """Small, large or grey: whether an answer of this size is protected, dependable, or neither."""
        from scipy.special import ndtr

        if estimate <= self.largest_small_count:
            return f"small sum: at or below {self.largest_small_count} rows, inaccurate on purpose"
        if 2 * ndtr(-self.relative_error * estimate / max(error, 1e-300)) <= self.error_probability:
            chance = 1 - self.error_probability
            return (
                f"large sum: within {percent(self.relative_error)} of the truth with probability {chance:.4g}"
            )
        return "grey: neither small enough to be protected nor large enough to be dependable"

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """What rows do not have as they truly are."""
        return tuple(self.gamma_by_attribute)

    @property
    def keeps_independence(self) -> bool:
        """Groups are made of an attribute's own values; of attributes drawn together, one's groups are made of the others' too."""
        return not self.together

    @property
    def sentence(self) -> str:
        """The link in words."""
        names = " and ".join(self.gamma_by_attribute)
        sizes = " and ".join(str(each) for each in self.gamma_by_attribute.values())
        groups = "a secret group" if len(self.gamma_by_attribute) == 1 else "secret groups of its own"
        shared = (
            f"; {' and '.join(self.together)} together, from one member of a group whose members differ in each"
            if self.together
            else ""
        )
        return (
            f"Each row's {names} was drawn uniformly from the {sizes} different values of {groups}{shared} "
            f"({self.partition} partition)."
        )

    def _model(self, published: Published, name: str) -> DecoyModel:
        margin = published.count_by((name,), Selection())
        rarest = self.suppress_rarer_than or 1
        return decoy_model(_whole(margin.counts), self.gamma_by_attribute[name], rarest)

    def _require_law(self, model: DecoyModel, name: str) -> None:
        self._require_known_meetings(name)
        model.require_identifiable(name)

    def _require_drawn_alone(self, name: str) -> None:
        if name in self.together:
            raise NotIdentifiableError(
                f"{' and '.join(map(repr, self.together))} were drawn together, and which of their values meet in groups "
                "cannot be computed from the release. Counts of categories of one of them alone are determined; ask for those."
            )

    def _require_known_meetings(self, name: str) -> None:
        self._require_drawn_alone(name)
        if self.partition != "mixed":
            raise NotIdentifiableError(
                f"the groups of {name!r} were made {self.partition}, and which values meet in them cannot be "
                "computed from the release. Counts of its categories alone are determined; for others ask for "
                "estimator='pairwise' or 'paper', knowing that they are biased."
            )

    def _product(self, published: Published, names: Sequence[str]) -> PerturbedRows:
        models = {name: self._model(published, name) for name in names}
        for name, model in models.items():
            self._require_law(model, name)
        return product_of(models)


def _whole(counts: Floats) -> tuple[int, ...]:
    return tuple(int(each) for each in counts)
