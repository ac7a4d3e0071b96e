"""Variances of rows sampled by group, perturbed and scaled, term by term; the finite-sample correction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.estimates.counts import OccupiedCounts
from sfumato.randomness.distortion import AxisMatrix, UniformDistortion, contract, squared

# --------------------------------------------------------------------------------------------------
# Published rows by personal group: what a law about groups adds up.


@dataclass(frozen=True, eq=False)
class GroupBlocks:
    """Published rows of every group, divided further by attributes outside the groups.

    Parameters
    ----------
    codes
        Public attribute to its code in each block, ``(blocks,)``.
    rows
        ``(blocks, m)``, published rows by sensitive value, copies or weights included.
    group_sizes, groups
        ``(blocks,)``, the size of each block's whole group, and its number.
    cut_sizes
        ``(blocks,)``, the size that a group cut to the smallest sample would have, were it scaled as much as this one: its
        own, save where groups were cut to different numbers of rows.
    has_outside
        The blocks are finer than the groups.

    Examples
    --------
    >>> from sfumato.schema import Attribute, Role
    >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    >>> occupied = OccupiedCounts((sex, job), (np.array([1, 0, 1]), np.array([1, 1, 0])), np.array([5, 4, 3]))
    >>> GroupBlocks.of(occupied, ["sex"], ["sex"], "job", 2).rows.tolist()
    [[0.0, 4.0], [3.0, 5.0]]
    """

    codes: dict[str, npt.NDArray[Any]]
    rows: Floats
    group_sizes: Floats
    groups: Integers
    cut_sizes: Floats
    has_outside: bool

    @classmethod
    def of(
        cls, occupied: OccupiedCounts, names: Sequence[str], groups: Sequence[str], sensitive: str, size: int
    ) -> GroupBlocks:
        """Blocks over the attributes ``names``, of which the first are those that make a group."""
        block_of = occupied.numbered(names)
        _, first = np.unique(block_of, return_index=True)
        rows = np.zeros((first.size, size))
        np.add.at(rows, (block_of, occupied.codes_of(sensitive)), occupied.counts)
        group_of = occupied.numbered(groups)
        group_sizes = np.bincount(group_of, weights=occupied.counts)[group_of[first]]
        return cls(
            {name: occupied.codes_of(name)[first] for name in names},
            rows,
            np.asarray(group_sizes),
            group_of[first],
            np.asarray(group_sizes),
            has_outside=len(names) > len(groups),
        )

    @cached_property
    def first(self) -> Integers:
        """Place of a block of every group, by the group's number, ``(groups,)``: numbers from 0 on leave none out."""
        return np.unique(self.groups, return_index=True)[1]

    def rows_of_groups(self) -> Floats:
        """Published rows of every whole group by sensitive value, ``(groups, m)``."""
        summed = np.zeros((len(self.first), self.rows.shape[1]))
        np.add.at(summed, self.groups, self.rows)
        return summed


# --------------------------------------------------------------------------------------------------
# The errors of rows that were sampled by group, perturbed and scaled, term by term.


CANCELLED = 1e-10
"""Share of the largest possible variance below which a computed one is rounding error."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the blocks of each cell.

    Parameters
    ----------
    rows, effective, subtracted, copies
        ``(cells, m)``: published rows by sensitive value, as they are and weighted for the terms of the variance.
    squared_factors, cut
        ``(cells,)``.
    quotas
        ``(m,)``: variances of the rounded quotas.
    has_free_totals
        The copies of a cell do not add up to a fixed number.
    """

    rows: Floats
    effective: Floats
    subtracted: Floats
    copies: Floats
    squared_factors: Floats
    cut: Floats
    quotas: Floats
    has_free_totals: bool


@dataclass(frozen=True, eq=False)
class Sampling:
    """How groups were cut and perturbed; the fields are those of the law.

    Its methods hold the formula of :class:`~sfumato.methods.sample_perturb_scale.law.SampledRows`,
    term by term.
    """

    distortion: UniformDistortion
    scale_factors: Callable[[Floats], Floats]
    rows_per_group: float
    is_smallest: bool
    has_estimated_factors: bool
    has_exact_sizes: bool

    def add_up(
        self, blocks: GroupBlocks, is_selected: Booleans, cell: Integers, cells: int, *, adds_drawing: bool
    ) -> Sums:
        """Add up, over the selected blocks of each cell, what estimates and covariances are made of.

        Drawing rows adds an error where blocks are finer than groups, unless one of two questions is about
        whole groups: how many rows of a cell were kept is fixed, hence uncorrelated with which of them are
        in a part.
        """
        rows = blocks.rows[is_selected]
        factor, relative_variance = self.effects(blocks.cut_sizes[is_selected])
        is_cut = factor > 1
        effect = factor + relative_variance
        within = np.zeros_like(factor) if blocks.has_outside else np.where(is_cut, factor**2, 0.0)

        def by_value(weights: Floats) -> Floats:
            summed = np.zeros((cells, rows.shape[1]))
            np.add.at(summed, cell, rows * weights[:, None])
            return summed

        def whole(weights: Floats) -> Floats:
            return np.bincount(cell, weights=weights, minlength=cells).astype(np.float64)

        everyone = contract(blocks.rows.sum(axis=0), [self.distortion.inverse_on_axis])
        shares = np.clip(everyone, 0, None)
        return Sums(
            rows=by_value(np.ones_like(factor)),
            effective=by_value(effect),
            # d h^2 holds the copies of a row that was drawn by chance; only where quotas are fixed do they come on top.
            subtracted=by_value(1 + relative_variance if adds_drawing else effect),
            copies=by_value(relative_variance),
            squared_factors=whole(within),
            cut=whole(np.where(is_cut, effect, 0.0) * rows.sum(axis=1)),
            quotas=_quota_variances(self.rows_per_group * shares / positive(shares.sum())),
            has_free_totals=not self.has_exact_sizes or adds_drawing,
        )

    def effects(self, sizes: Floats) -> tuple[Floats, Floats]:
        """By the sizes of groups, where all are cut alike: w, and v/w with v the variance of the number of copies of a row."""
        factor = self.scale_factors(sizes)
        relative_variance = (factor % 1) * (1 - factor % 1) / factor
        if self.is_smallest:
            # Any factor w' up to w is possible. v/w' is 3 - w' - 2/w' up to 2, largest at the square root
            # of 2, and smaller than there beyond 2.
            worst = np.minimum(factor, math.sqrt(2))
            relative_variance = 3 - worst - 2 / worst
        if self.has_estimated_factors:
            # Not w itself but what it is about is known: beyond the square root of 2, v is no less than its mean of 1/6.
            up_to_two = 3 - factor - 2 / factor
            relative_variance = np.minimum(relative_variance, np.maximum(up_to_two, 1 / (6 * factor)))
        return factor, relative_variance

    def moments(self, selector: AxisMatrix) -> tuple[Floats, Floats]:
        """``E[h^2]`` and ``E[h^3]`` of a row that is inside each sum, ``(k,)`` each."""
        retention, (own, elsewhere) = self.distortion.retention, self._chances(selector)
        inside, outside = (1 - elsewhere) / retention, -elsewhere / retention
        second, third = (own * inside**power + (1 - own) * outside**power for power in (2, 3))
        return second, third

    def covariances_with_variances(
        self,
        rows: Floats,
        sizes: Floats,
        cell: Integers,
        cells: int,
        question: tuple[AxisMatrix, AxisMatrix],
        *,
        adds_drawing: bool,
    ) -> Floats:
        """Covariance of every sum's estimate with its estimated variance, ``(cells, k)``.

        Parameters
        ----------
        rows, sizes, cell
            Of each block: published rows by sensitive value, the size its group is cut at, the cell it falls in.
        question
            Selector and kernel of the sums.

        Notes
        -----
        With u = 1 where rows are drawn by chance and u = w where quotas are fixed, a true row adds a h to the estimate
        and a (d h^2 - u h) to the estimated variance: their covariance is ``d (d E[h^3] - u E[h^2]) - u E[h] (d E[h^2] - u E[h])``.
        """
        (selector, kernel), inverse = question, self.distortion.inverse_on_axis
        factor, relative_variance = self.effects(sizes)
        effect, kept = factor + relative_variance, np.ones_like(factor) if adds_drawing else factor

        def by_value(weights: Floats) -> Floats:
            summed = np.zeros((cells, self.distortion.size))
            np.add.at(summed, cell, rows * weights[:, None])
            return summed

        def inside(weights: Floats) -> Floats:
            return contract(contract(by_value(weights), [None, inverse]), [None, selector])

        return (
            contract(by_value(effect**2), [None, squared(kernel, 3)])
            - contract(by_value(effect * kept), [None, squared(kernel)])
            - inside(effect * kept) * self.moments(selector)[0]
            + inside(kept**2)
        )

    def factors_at_most(self, sizes: Floats) -> Floats:
        """Scale factors of groups of these published sizes; 1 only where a group surely was not cut.

        Where copies do not add up to the true size, a group that was cut by one row can look as if it was not. Each of
        its m quotas is then rounded by itself and loses less than a row, so that it keeps more than n - m of them.
        """
        factors = self.scale_factors(sizes)
        is_whole = sizes <= self.rows_per_group - self.distortion.size
        least = 1 + 1 / self.rows_per_group
        return np.where(is_whole | self.has_exact_sizes, factors, np.maximum(factors, least))

    def variances(self, sums: Sums, selector: AxisMatrix, kernel: AxisMatrix) -> Floats:
        """Variances, in every cell, of sums over sensitive values, ``(cells, k)``.

        Parameters
        ----------
        sums
            Of each cell.
        selector, kernel
            ``(m, k)``: which true values each sum adds up, and what a published value counts toward it.
        """
        inverse = self.distortion.inverse_on_axis
        copies = contract(sums.copies, [None, inverse])
        inside = contract(copies - contract(sums.subtracted, [None, inverse]), [None, selector])
        result = contract(sums.effective, [None, squared(kernel)]) + inside
        result = np.maximum(result, sums.cut[:, None] * self._least_variances(selector))
        quotas = contract(sums.quotas, [selector])
        result += sums.squared_factors[:, None] * (quotas - quotas**2 / positive(sums.quotas.sum()))
        if not sums.has_free_totals:
            chosen = contract(copies, [None, selector])
            result -= chosen**2 / positive(copies.sum(axis=1))[:, None]
        return self._without_rounding(result, sums)

    def covariances(
        self, sums: Sums, selectors: tuple[Floats, Floats], kernels: tuple[Floats, Floats]
    ) -> Floats:
        """Covariances of two sets of such sums, ``(cells, k, l)``; all matrices dense, ``(m, k)`` and ``(m, l)``."""
        (left, right), inverse = selectors, self.distortion.inverse_on_axis
        copies = contract(sums.copies, [None, inverse])
        result = np.einsum("em,mk,ml->ekl", sums.effective, *kernels)
        result += np.einsum("em,mk,ml->ekl", copies - contract(sums.subtracted, [None, inverse]), left, right)
        rounding = np.einsum("m,mk,ml->kl", sums.quotas, left, right)
        rounding -= np.outer(sums.quotas @ left, sums.quotas @ right) / positive(sums.quotas.sum())
        result += sums.squared_factors[:, None, None] * rounding
        if not sums.has_free_totals:
            totals = 1 / positive(copies.sum(axis=1))
            result -= np.einsum("ek,el,e->ekl", copies @ left, copies @ right, totals)
        return self._without_rounding(result, sums)

    def _without_rounding(self, result: Floats, sums: Sums) -> Floats:
        """What is known exactly has terms that cancel; the rounding left over is not an error of anything."""
        scale = sums.effective.sum(axis=1) / self.distortion.retention**2
        scale = scale.reshape(-1, *(1,) * (result.ndim - 1))
        return np.where(np.abs(result) > CANCELLED * scale, result, 0.0)

    def _least_variances(self, selector: AxisMatrix) -> Floats:
        """Smallest variance, whatever its true value, that perturbation gives what one row counts, ``(k,)``.

        A row is published inside j of m values with probability ``p + j (1-p)/m`` or ``j (1-p)/m``. A variance
        estimated from a sample of few rows can come out below both, and its interval would be far too short.
        """
        own, elsewhere = self._chances(selector)
        least = np.minimum(own * (1 - own), elsewhere * (1 - elsewhere))
        return np.asarray(least / self.distortion.retention**2)

    def _chances(self, selector: AxisMatrix) -> tuple[Floats, Floats]:
        """That a row is published inside each sum, if it is inside and if it is not, ``(k,)`` each."""
        retention, size = self.distortion.retention, self.distortion.size
        elsewhere = contract(np.ones(size), [selector]) * (1 - retention) / size
        return elsewhere + retention, elsewhere


def positive(number: Floats) -> Floats:
    """A divisor that may be zero where what it divides is."""
    return np.maximum(number, np.finfo(float).tiny)


def _quota_variances(expected: Floats) -> Floats:
    """Variances of the rounding of quotas with these expectations, ``(m,)``.

    The sum of the quotas is kept, so their covariance is ``diag(v) - v v' / sum(v)``.
    """
    # The mean of x (1 - x) over an even spread of fractional parts is 1/6; below 0.2113 x (1 - x) is less.
    return np.where(expected < (1 - math.sqrt(1 / 3)) / 2, expected * (1 - expected), 1 / 6)


# --------------------------------------------------------------------------------------------------
# What the fixed size of every group's sample takes away from the errors of its parts.


class Parts(NamedTuple):
    """Estimates in parts of groups: group, cell and estimate of each, ``(parts,)``, and how many cells there are."""

    groups: Integers
    cell: Integers
    values: Floats
    cells: int


def fixed_by_group(one: Parts, other: Parts, effects: Floats, *, is_diagonal: bool = False) -> Floats:
    """``sum over groups of effect x x'``, for all pairs of cells or for each cell with itself.

    Parameters
    ----------
    one, other
        Parts of the same groups.
    effects
        ``(groups,)``.
    is_diagonal
        ``(cells,)`` instead of ``(cells, cells)``.

    Examples
    --------
    >>> parts = Parts(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3.0, 2.0, 5.0]), 2)
    >>> fixed_by_group(parts, parts, np.array([1.0, 10.0])).tolist()
    [[259.0, 6.0], [6.0, 4.0]]
    """
    if one.cells == other.cells == 1:
        # One question with one other, which is most of what is asked: sparse matrices take three times as long.
        sums = [
            np.bincount(each.groups, weights=each.values, minlength=effects.size) for each in (one, other)
        ]
        whole = np.array([float(np.sum(effects * sums[0] * sums[1]))])
        return whole if is_diagonal else whole[:, None]
    from scipy.sparse import csr_array

    left: Any
    right: Any
    left, right = (
        csr_array((each.values, (each.cell, each.groups)), shape=(each.cells, effects.size))
        for each in (one, other)
    )
    weighted = left * effects[None, :]
    if is_diagonal:
        return np.asarray(weighted.multiply(right).sum(axis=1)).ravel()
    return np.asarray((weighted @ right.T).toarray())


def fixed_leaning(parts: Parts, fixed: Floats, effects: Floats, sizes: Floats) -> Floats:
    """What fixed sizes take away from the covariance of each cell's estimate with its estimated variance, ``(cells,)``.

    Parameters
    ----------
    parts
        Of groups.
    fixed, effects, sizes
        ``a / N``, ``(d - 1) / N`` and N of every group, with a the part of d - 1 that fixed sizes take away.

    Notes
    -----
    A part x of a group of N has the estimated variance ``(d - 1) x - a x^2 / N``, which changes by
    ``d - 1 - 2 a x / N`` with x. Their product is ``(d - 1)^2 x`` less ``3 (d - 1) a x^2 / N - 2 a^2 x^3 / N^2``: where a is
    all of it, a half of its group leans to neither side, and most of it to the other.

    Examples
    --------
    Half of a group, and all of it.

    >>> halves = Parts(np.array([0]), np.array([0]), np.array([50.0]), 1)
    >>> fixed_leaning(halves, np.array([0.02]), np.array([0.02]), np.array([100.0])).tolist()
    [200.0]
    >>> whole = Parts(np.array([0, 0]), np.array([0, 0]), np.array([50.0, 50.0]), 1)
    >>> fixed_leaning(whole, np.array([0.02]), np.array([0.02]), np.array([100.0])).tolist()
    [400.0]
    """
    number = effects.size
    places, index = np.unique(parts.cell * number + parts.groups, return_inverse=True)
    values = np.bincount(index.ravel(), weights=parts.values, minlength=places.size)
    group = places % number
    taken = fixed[group] * values**2 * (3 * effects[group] * sizes[group] - 2 * fixed[group] * values)
    return np.bincount(places // number, weights=taken, minlength=parts.cells).astype(np.float64)
