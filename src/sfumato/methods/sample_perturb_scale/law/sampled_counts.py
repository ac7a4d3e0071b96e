"""Estimates and errors of rows that were sampled by group, perturbed and scaled."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.distortion import AxisMatrix, TwoValued, columns_of, contract
from sfumato.laws.asking import (
    FewSteps,
    Formula,
    cell_of,
    chances_of_being_seen,
    codes_shown,
    conditions_on,
    conditions_outside,
    indicator,
    names_of,
    satisfying,
    unseen_variance,
)
from sfumato.laws.base import Target
from sfumato.methods.sample_perturb_scale.law.fixed_sizes import Parts, fixed_by_group, fixed_leaning
from sfumato.methods.sample_perturb_scale.law.group_blocks import GroupBlocks
from sfumato.methods.sample_perturb_scale.law.sampling import Sampling, Sums, positive
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.certainty import Certainties, Certainty
from sfumato.values.estimates import Limits
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation

UNSEEN_ROWS = 2
"""Rows that are taken to have gone unseen where rows were drawn by chance, for intervals: about half of the square of 1.96.

Where few rows of a cell were sampled, those that were do not say how far the groups of the others were cut.
"""


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
    _added_up: dict[tuple[Tabulation, Tabulation], Sums] = field(default_factory=dict, init=False, repr=False)

    def values(self, asked: Tabulation) -> Floats:
        """``y P^-1`` of the published rows with their copies."""
        return self.laid_out(asked, contract(self.sums(asked, asked).rows, [None, self._kernel(asked)]))

    def variances(self, asked: Tabulation) -> Floats:
        """Perturbation, rounding of quotas and of copies, and where it applies the drawing of rows.

        Where an attribute outside the groups is asked about, rows may be there of which none was sampled.
        """
        found = self._of_public_cells(asked)
        if self._is_outside(asked):
            is_unseen, unseen = self._unseen(asked)
            found = np.where(is_unseen, unseen, found)
        return self.laid_out(asked, found)

    def _unseen(self, asked: Tabulation) -> tuple[Booleans, Floats]:
        """Public cells of which no row was sampled, and the variance of their counts; ``(cells, 1)`` each."""
        is_unseen = self.sums(asked, asked).rows.sum(axis=1) == 0
        return is_unseen[:, None], unseen_variance(1 / self._largest_factors(asked))[:, None]

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Exact are sizes of groups, other public counts where no group was cut, and nothing where nothing can be."""
        sums = self.sums(asked, asked)
        is_whole = self._largest_factors(asked) == 1
        is_sure = is_whole | (not self._is_outside(asked) and self.sampling.has_exact_sizes)
        is_public = self.sensitive not in names_of([asked])
        is_nothing = (sums.rows.sum(axis=1) == 0) & (is_whole | (not self._is_outside(asked)))
        is_exact = is_sure if is_public else is_nothing
        claims = np.where(is_exact, Certainty.EXACT, Certainty.ESTIMATED).astype(np.int8)
        return self.laid_out(asked, np.repeat(claims[:, None], number // len(claims), axis=1))

    def _largest_factors(self, asked: Tabulation) -> Floats:
        """For every public cell, the largest factor of the groups that can have rows in it; 1 where none was cut."""
        is_selected, cell, number = self._groups_of_cells(asked)
        largest = np.ones(number)
        np.maximum.at(largest, cell, self.sampling.factors_at_most(self.fine.group_sizes)[is_selected])
        return self._for_all_cells(asked, largest)

    def _mean_effects(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """For every public cell the means of d and of its square over the rows of its groups, ``(cells, 1)`` each."""
        is_selected, cell, number = self._groups_of_cells(asked)
        effect = np.add(*self.sampling.effects(self.fine.cut_sizes[is_selected]))
        rows = self.fine.rows[is_selected].sum(axis=1)
        weights = positive(np.bincount(cell, weights=rows, minlength=number).astype(np.float64))
        mean, square = (
            np.maximum(np.bincount(cell, weights=rows * effect**power, minlength=number) / weights, 1.0)
            for power in (1, 2)
        )
        return self._for_all_cells(asked, mean)[:, None], self._for_all_cells(asked, square)[:, None]

    def _groups_of_cells(self, asked: Tabulation) -> tuple[Booleans, Integers, int]:
        """Blocks of the groups that can have rows in what is asked, the cell of each, and how many cells there are."""
        blocks = self.fine
        is_selected = satisfying(blocks.codes, conditions_on(asked.where, self.groups), len(blocks.rows))
        grouping = {name: codes for name, codes in self._axes(asked).items() if name in self.groups}
        number = math.prod(len(codes) for codes in grouping.values())
        return is_selected, cell_of(blocks.codes, grouping, is_selected), number

    def _for_all_cells(self, asked: Tabulation, by_group: Floats) -> Floats:
        """The same number along the axes of attributes outside the groups."""
        axes = self._axes(asked)
        shape = [len(codes) if name in self.groups else 1 for name, codes in axes.items()]
        whole = [len(codes) for codes in axes.values()]
        return np.broadcast_to(by_group.reshape(shape), whole).ravel()

    def _axes(self, asked: Tabulation) -> dict[str, tuple[int, ...]]:
        return {name: codes_shown(self.schema, asked, name) for name in asked.by if name != self.sensitive}

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """The same for pairs of cells; cells of different groups are independent."""
        size = self.sampling.distortion.size
        selectors = _dense(self.selector(one), size), _dense(self.selector(other), size)
        kernels = _dense(self._kernel(one), size), _dense(self._kernel(other), size)
        sums = self.sums(one, other)
        blocks = self.sampling.covariances(sums, selectors, kernels)
        if np.array_equal(*selectors):
            diagonal = np.einsum("ekk->ek", blocks)
            diagonal[...] = self._variances(one, sums)
        whole = _block_diagonal(blocks)
        if self._has_fixed_sizes(one, other):
            whole -= fixed_by_group(self._parts(one), self._parts(other), self._effect_by_group())
        if one is not other:
            return whole
        order = self.laid_out(one, np.arange(len(whole)).reshape(blocks.shape[:2]))
        return np.asarray(whole[np.ix_(order, order)])

    def spread(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """The variances and their slopes, with what a few rows add that went unseen where rows were drawn by chance."""
        is_outside = self._is_outside(asked)
        blocks, is_selected, cell, cells = self._selected(asked, asked)
        sizes, question = blocks.cut_sizes[is_selected], (self.selector(asked), self._kernel(asked))
        variances = self._of_public_cells(asked)
        covariance = self.sampling.covariances_with_variances(
            blocks.rows[is_selected], sizes, cell, cells, question, adds_drawing=is_outside
        )
        if self._has_fixed_sizes(asked, asked):
            effects, sizes = self._effect_by_group(is_whole=True), self._size_by_group()
            fixed = fixed_leaning(self._parts(asked), self._effect_by_group(), effects, sizes)
            covariance = covariance - fixed[:, None]
        if is_outside:
            second, third = self.sampling.moments(question[0])
            mean, square = self._mean_effects(asked)
            variances = variances + UNSEEN_ROWS * (mean * second - 1)
            covariance = covariance + UNSEEN_ROWS * (square * third - 2 * mean * second + 1)
        slopes = np.divide(covariance, variances, out=np.zeros_like(covariance), where=variances > 0)
        # h^2 over h changes by twice the largest h at most; noise cannot take the quotient beyond.
        effect = np.max(np.add(*self.sampling.effects(sizes)), initial=1.0)
        largest = 2 * effect / self.sampling.distortion.retention
        slopes = np.clip(slopes, -largest, largest)
        if is_outside:
            is_unseen, unseen = self._unseen(asked)
            variances, slopes = np.where(is_unseen, unseen, variances), np.where(is_unseen, 0.0, slopes)
        return self.laid_out(asked, variances), self.laid_out(asked, slopes)

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Of counts about the table of sensitive values where no group was cut: there each row is published once, and only perturbed."""
        if target != "table" or self.sensitive not in names_of([asked]):
            return None
        rows = self.sums(asked, asked).rows
        selector = self.selector(asked)
        chances = chances_of_being_seen(
            self.sampling.distortion.on_axis, selector, self.sampling.distortion.size
        )
        seen = contract(rows, [None, selector])
        is_whole = (self._largest_factors(asked) == 1)[:, None]
        kept, gained = (np.where(is_whole, each, np.nan) for each in chances)
        whole = np.broadcast_to(rows.sum(axis=1, keepdims=True), seen.shape)
        seen, whole, kept, gained = (self.laid_out(asked, each) for each in (seen, whole, kept, gained))
        return FewSteps(seen, whole, kept, gained)

    def sums(self, one: Tabulation, other: Tabulation) -> Sums:
        """Sums over the public cells of one tabulation, or over what two selections share.

        Estimates, errors, claims and intervals all begin with them: they are kept while a question is answered.
        """
        if (one, other) not in self._added_up:
            blocks, is_selected, cell, cells = self._selected(one, other)
            adds_drawing = self._is_outside(one) and self._is_outside(other)
            self._added_up[one, other] = self.sampling.add_up(
                blocks, is_selected, cell, cells, adds_drawing=adds_drawing
            )
        return self._added_up[one, other]

    def _selected(self, one: Tabulation, other: Tabulation) -> tuple[GroupBlocks, Booleans, Integers, int]:
        """Blocks, which of them two questions share, the cell of each of these, and how many cells there are."""
        blocks = self.fine if self._is_outside(one) or self._is_outside(other) else self.whole
        where = conditions_outside(one.where & other.where, (self.sensitive,))
        is_selected = satisfying(blocks.codes, where, len(blocks.rows))
        axes = self._axes(one)
        cells = math.prod(len(codes) for codes in axes.values())
        return blocks, is_selected, cell_of(blocks.codes, axes, is_selected), cells

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
        return np.moveaxis(cells.reshape(*shape, cells.shape[1]), -1, asked.by.index(self.sensitive)).ravel()

    def _kernel(self, asked: Tabulation) -> AxisMatrix:
        """What a published value counts toward each of those sums, ``(m, k)``."""
        codes = asked.where.codes(self.sensitive)
        inverse = self.sampling.distortion.inverse_on_axis
        if self.sensitive in asked.by:
            return columns_of(inverse, codes)
        chosen = indicator(self.sampling.distortion.size, codes)
        # The rows of the inverse sum to 1; said as it is, a public count stays a whole number.
        return (chosen if codes is None else contract(chosen, [inverse]))[:, None]

    def _variances(self, asked: Tabulation, sums: Sums) -> Floats:
        """Of what is asked of the rows that were added up, ``(cells, k)``."""
        return self.sampling.variances(sums, self.selector(asked), self._kernel(asked))

    def _of_public_cells(self, asked: Tabulation) -> Floats:
        """Of the sums over every public cell, ``(cells, k)``, before anything is said of rows that went unseen."""
        found = self._variances(asked, self.sums(asked, asked))
        if not self._has_fixed_sizes(asked, asked):
            return found
        parts = self._parts(asked)
        fixed = fixed_by_group(parts, parts, self._effect_by_group(), is_diagonal=True)
        return np.clip(found - fixed[:, None], 0, None)

    def _has_fixed_sizes(self, one: Tabulation, other: Tabulation) -> bool:
        """Whether the fixed size of every sample ties two questions about parts of groups to each other.

        Of counts of sensitive values it takes away little, and estimates of one group say too little of how much.
        """
        are_parts = self._is_outside(one) and self._is_outside(other)
        is_public = any(self.sensitive not in names_of([each]) for each in (one, other))
        return are_parts and is_public

    def _parts(self, asked: Tabulation) -> Parts:
        """Estimates of what is asked in every group that has rows in it."""
        blocks, is_selected, cell, cells = self._selected(asked, asked)
        values = contract(blocks.rows[is_selected], [None, self._kernel(asked)])[:, 0]
        return Parts(blocks.groups[is_selected], cell, values, cells)

    def _effect_by_group(self, *, is_whole: bool = False) -> Floats:
        """``(d - 1) / N`` of every group, by its number; of d what the fixed size of a sample takes away, or the whole.

        How many rows of a group were kept is fixed. Their copies are where they add up to the size of the group; where each
        row has a number of its own, that varies however large a part of the group is asked about.
        """
        factor, copies = self.sampling.effects(self.fine.cut_sizes[self.fine.first])
        is_fixed = is_whole or self.sampling.has_exact_sizes
        effects = factor + copies if is_fixed else factor
        return np.asarray((effects - 1) / positive(self._size_by_group()))

    def _size_by_group(self) -> Floats:
        """Published rows of every group with their copies, by its number."""
        return np.asarray(self.fine.group_sizes[self.fine.first])

    def _is_outside(self, asked: Tabulation) -> bool:
        """Whether an attribute is asked about that neither is sensitive nor makes groups."""
        return not {*names_of([asked])} <= {*self.groups, self.sensitive}


def _dense(matrix: AxisMatrix, size: int) -> Floats:
    return matrix.dense(size) if isinstance(matrix, TwoValued) else np.asarray(matrix)


def _block_diagonal(blocks: Floats) -> Floats:
    """One matrix with the given ``(cells, k, l)`` along its diagonal: different cells share no rows."""
    cells, rows, columns = blocks.shape
    whole = np.zeros((cells, rows, cells, columns))
    place = np.arange(cells)
    whole[place, :, place, :] = blocks
    return whole.reshape(2 * (cells * rows,))
