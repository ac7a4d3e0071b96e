"""Estimates and errors of rows that were sampled by group, perturbed and scaled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.distortion import AxisMatrix, TwoValued, UniformDistortion, columns_of, contract, squared
from sfumato.laws.asking import (
    Formula,
    cell_of,
    codes_shown,
    conditions_on,
    conditions_outside,
    indicator,
    names_of,
    satisfying,
    unseen_variance,
)
from sfumato.methods.sample_perturb_scale.law.group_blocks import GroupBlocks
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.certainty import Certainties, Certainty
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation

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

    Its methods hold the formula of :class:`~sfumato.methods.sample_perturb_scale.law.sampled_rows.SampledRows`,
    term by term.
    """

    distortion: UniformDistortion
    scale_factors: Callable[[Floats], Floats]
    rows_per_group: float
    is_smallest: bool
    has_exact_sizes: bool

    def add_up(
        self, blocks: GroupBlocks, is_selected: Booleans, cell: Integers, cells: int, *, adds_drawing: bool
    ) -> Sums:
        """Add up, over the selected blocks of each cell, what estimates and covariances are made of.

        Drawing rows adds an error where blocks are finer than groups, unless one of two questions is about
        whole groups: how many rows of a cell were kept is fixed, hence uncorrelated with which of them are
        in a part.
        """
        factor = self.scale_factors(blocks.group_sizes)[is_selected]
        rows = blocks.rows[is_selected]
        is_cut = factor > 1
        # v/w, with v = frac(w) (1 - frac(w)) the variance of the number of copies.
        relative_variance = (factor % 1) * (1 - factor % 1) / factor
        if self.is_smallest:
            # Any factor w' up to w is possible. v/w' is 3 - w' - 2/w' up to 2, largest at the square root
            # of 2, and smaller than there beyond 2.
            worst = np.minimum(factor, math.sqrt(2))
            relative_variance = 3 - worst - 2 / worst
        relative_variance = np.where(is_cut, relative_variance, 0.0)
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
            subtracted=by_value(np.ones_like(factor) if adds_drawing else effect),
            copies=by_value(relative_variance),
            squared_factors=whole(within),
            cut=whole(np.where(is_cut, effect, 0.0) * rows.sum(axis=1)),
            quotas=_quota_variances(self.rows_per_group * shares / max(shares.sum(), 1.0)),
            has_free_totals=not self.has_exact_sizes or adds_drawing,
        )

    def factors_at_most(self, sizes: Floats) -> Floats:
        """Scale factors of groups of these published sizes; 1 only where a group surely was not cut.

        Where copies do not add up to the true size, a group that was cut by one row can look as if it was not.
        """
        factors = self.scale_factors(sizes)
        looks_whole = sizes < self.rows_per_group
        least = 1 + 1 / self.rows_per_group
        return np.where(looks_whole | self.has_exact_sizes, factors, np.maximum(factors, least))

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
        result += sums.squared_factors[:, None] * (quotas - quotas**2 / _positive(sums.quotas.sum()))
        if not sums.has_free_totals:
            chosen = contract(copies, [None, selector])
            result -= chosen**2 / _positive(copies.sum(axis=1))[:, None]
        return np.clip(self._without_rounding(result, sums), 0, None)

    def covariances(
        self, sums: Sums, selectors: tuple[Floats, Floats], kernels: tuple[Floats, Floats]
    ) -> Floats:
        """Covariances of two sets of such sums, ``(cells, k, l)``; all matrices dense, ``(m, k)`` and ``(m, l)``."""
        (left, right), inverse = selectors, self.distortion.inverse_on_axis
        copies = contract(sums.copies, [None, inverse])
        result = np.einsum("em,mk,ml->ekl", sums.effective, *kernels)
        result += np.einsum("em,mk,ml->ekl", copies - contract(sums.subtracted, [None, inverse]), left, right)
        rounding = np.einsum("m,mk,ml->kl", sums.quotas, left, right)
        rounding -= np.outer(sums.quotas @ left, sums.quotas @ right) / _positive(sums.quotas.sum())
        result += sums.squared_factors[:, None, None] * rounding
        if not sums.has_free_totals:
            totals = 1 / _positive(copies.sum(axis=1))
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
        retention, size = self.distortion.retention, self.distortion.size
        elsewhere = contract(np.ones(size), [selector]) * (1 - retention) / size
        own = np.minimum(elsewhere + retention, 1.0)
        return np.asarray(np.minimum(own * (1 - own), elsewhere * (1 - elsewhere)) / retention**2)


@dataclass(frozen=True, eq=False)
class SampledCounts(Formula):
    """Published rows by group, as the questions need them.

    Parameters
    ----------
    sampling
        How groups were cut and perturbed.
    groups, sensitive
        The attributes that make groups, and the perturbed one.
    schema
        The published one.
    fine, whole
        Blocks divided by all attributes asked about, and by group alone; one thing where nothing outside the
        groups is asked about, or nothing else.
    number_of_rows
        Published rows with their copies: the size of the table, or its estimate.
    """

    sampling: Sampling
    groups: tuple[str, ...]
    sensitive: str
    schema: Schema
    fine: GroupBlocks
    whole: GroupBlocks
    number_of_rows: float

    def values(self, asked: Tabulation) -> Floats:
        """``y P^-1`` of the published rows with their copies."""
        return self.laid_out(asked, contract(self.sums(asked, asked).rows, [None, self._kernel(asked)]))

    def variances(self, asked: Tabulation) -> Floats:
        """Perturbation, rounding of quotas and of copies, and where it applies the drawing of rows.

        Where an attribute outside the groups is asked about, rows may be there of which none was sampled.
        """
        found = self._variances(asked, asked)
        if self._is_outside(asked):
            is_unseen = self.sums(asked, asked).rows.sum(axis=1) == 0
            unseen = unseen_variance(1 / self._largest_factors(asked))
            found = np.where(is_unseen[:, None], unseen[:, None], found)
        return self.laid_out(asked, found)

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Exact are sizes of groups, other public counts where no group was cut, and nothing where nothing can be."""
        del number
        sums = self.sums(asked, asked)
        is_whole = self._largest_factors(asked) == 1
        is_sure = is_whole | (not self._is_outside(asked) and self.sampling.has_exact_sizes)
        is_public = self.sensitive not in names_of([asked])
        is_nothing = (sums.rows.sum(axis=1) == 0) & (is_whole | (not self._is_outside(asked)))
        is_exact = is_sure if is_public else is_nothing
        claims = np.where(is_exact, Certainty.EXACT, Certainty.ESTIMATED).astype(np.int8)
        width = contract(np.ones(self.sampling.distortion.size), [self.selector(asked)]).size
        return self.laid_out(asked, np.repeat(claims[:, None], width, axis=1))

    def _largest_factors(self, asked: Tabulation) -> Floats:
        """For every public cell, the largest factor of the groups that can have rows in it; 1 where none was cut."""
        blocks = self.fine
        where = conditions_on(asked.where, self.groups)
        is_selected = satisfying(blocks.codes, where, len(blocks.rows))
        axes = {name: codes_shown(self.schema, asked, name) for name in asked.by if name != self.sensitive}
        grouping = {name: codes for name, codes in axes.items() if name in self.groups}
        largest = np.ones(math.prod(len(codes) for codes in grouping.values()))
        factors = self.sampling.factors_at_most(blocks.group_sizes)[is_selected]
        np.maximum.at(largest, cell_of(blocks.codes, grouping, is_selected), factors)
        # Attributes outside the groups have axes too, along which the groups are the same.
        shape = [len(codes) if name in grouping else 1 for name, codes in axes.items()]
        whole = [len(codes) for codes in axes.values()]
        return np.broadcast_to(largest.reshape(shape), whole).ravel()

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """The same for pairs of cells; cells of different groups are independent."""
        size = self.sampling.distortion.size
        selectors = _dense(self.selector(one), size), _dense(self.selector(other), size)
        kernels = _dense(self._kernel(one), size), _dense(self._kernel(other), size)
        blocks = self.sampling.covariances(self.sums(one, other), selectors, kernels)
        if np.array_equal(*selectors):
            diagonal = np.einsum("ekk->ek", blocks)
            np.copyto(diagonal, self._variances(one, other))
        whole = _block_diagonal(blocks)
        if one is not other:
            return whole
        order = self.laid_out(one, np.arange(len(whole)).reshape(blocks.shape[:2]))
        return np.asarray(whole[np.ix_(order, order)])

    def sums(self, one: Tabulation, other: Tabulation) -> Sums:
        """Sums over the public cells of one tabulation, or over what two selections share."""
        is_outside = [self._is_outside(each) for each in (one, other)]
        blocks = self.fine if any(is_outside) else self.whole
        where = conditions_outside(one.where & other.where, (self.sensitive,))
        is_selected = satisfying(blocks.codes, where, len(blocks.rows))
        axes = {name: codes_shown(self.schema, one, name) for name in one.by if name != self.sensitive}
        cells = math.prod(len(codes) for codes in axes.values())
        cell = cell_of(blocks.codes, axes, is_selected)
        return self.sampling.add_up(blocks, is_selected, cell, cells, adds_drawing=all(is_outside))

    def selector(self, asked: Tabulation) -> AxisMatrix:
        """Which sensitive values each sum over a public cell adds up, ``(m, k)``."""
        codes = asked.where.codes(self.sensitive)
        if self.sensitive in asked.by:
            return TwoValued(1.0, 0.0, codes)
        return indicator(self.sampling.distortion.size, codes)[:, None]

    def laid_out(self, asked: Tabulation, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums of every public cell, ``(cells, k)``, in the order of the tabulation; the sensitive axis stands last here."""
        if self.sensitive not in asked.by:
            return cells.ravel()
        shape = [len(codes_shown(self.schema, asked, name)) for name in asked.by if name != self.sensitive]
        return np.moveaxis(cells.reshape(*shape, cells.shape[-1]), -1, asked.by.index(self.sensitive)).ravel()

    def _kernel(self, asked: Tabulation) -> AxisMatrix:
        """What a published value counts toward each of those sums, ``(m, k)``."""
        codes = asked.where.codes(self.sensitive)
        inverse = self.sampling.distortion.inverse_on_axis
        if self.sensitive in asked.by:
            return columns_of(inverse, codes)
        chosen = indicator(self.sampling.distortion.size, codes)
        # The rows of the inverse sum to 1; said as it is, a public count stays a whole number.
        return (chosen if codes is None else contract(chosen, [inverse]))[:, None]

    def _variances(self, one: Tabulation, other: Tabulation) -> Floats:
        """Of sums over what two questions share, ``(cells, k)``."""
        return self.sampling.variances(self.sums(one, other), self.selector(one), self._kernel(one))

    def _is_outside(self, asked: Tabulation) -> bool:
        """Whether an attribute is asked about that neither is sensitive nor makes groups."""
        return not {*names_of([asked])} <= {*self.groups, self.sensitive}


def _dense(matrix: AxisMatrix, size: int) -> Floats:
    return matrix.dense(size) if isinstance(matrix, TwoValued) else np.asarray(matrix)


def _positive(number: Floats) -> Floats:
    """A divisor that may be zero where what it divides is."""
    return np.maximum(number, np.finfo(float).tiny)


def _quota_variances(expected: Floats) -> Floats:
    """Variances of the rounding of quotas with these expectations, ``(m,)``.

    The sum of the quotas is kept, so their covariance is ``diag(v) - v v' / sum(v)``.
    """
    # The mean of x (1 - x) over an even spread of fractional parts is 1/6; below 0.2113 x (1 - x) is less.
    return np.where(expected < (1 - math.sqrt(1 / 3)) / 2, expected * (1 - expected), 1 / 6)


def _block_diagonal(blocks: Floats) -> Floats:
    """One matrix with the given ``(cells, k, l)`` along its diagonal: different cells share no rows."""
    cells, rows, columns = blocks.shape
    whole = np.zeros((cells, rows, cells, columns))
    place = np.arange(cells)
    whole[place, :, place, :] = blocks
    return whole.reshape(cells * rows, cells * columns)
