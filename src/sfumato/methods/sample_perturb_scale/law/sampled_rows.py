"""Rows sampled from every group, perturbed, and scaled up to the group's size again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.chance.distortion import UniformDistortion
from sfumato.laws.base import Law, Published, Target
from sfumato.methods.randomized_response.law.perturbed_rows import LARGEST_COVARIANCE
from sfumato.methods.sample_perturb_scale.law.group_blocks import GroupBlocks
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.counts import CountTable, empty_counts
from sfumato.values.estimates import Estimates, Feasibility, clip_to_totals, most_likely, project_to_simplex
from sfumato.values.selection import Selection, Tabulation

CANCELLED = 1e-10
"""Share of the largest possible variance below which a computed one is rounding error."""


class SampledRows(Law):
    """Large groups were cut to a sample, whose perturbed rows stand for several rows each.

    Published counts, copies included, are unbiased like those of plain perturbation; their errors are not
    alike, because copies are not independent rows.

    Parameters
    ----------
    sensitive, distortion
        The perturbed attribute and its matrix.
    groups
        Published attributes that make a personal group.
    rows_per_group
        Rows n that a group of more rows was cut to.
    is_smallest
        The number above is the smallest that any group was cut to. Which group was cut to how many rows is
        then unpublished, since it would tell the group's largest frequency; errors are stated for the
        smallest number, which is conservative.
    has_exact_sizes
        The copies of a group's rows add up to its true size.
    weight
        Column that says how many rows each published row stands for; None when the copies themselves are
        published.

    Notes
    -----
    Let a group of N rows be cut to n, let w = N/n (1 where it was not cut) and let h be the row of the inverse
    matrix that a published value gives. A kept row stands for a copies, E[a] = w and
    E[a^2] = w^2 + v with v = frac(w) (1 - frac(w)). A group's estimates are the sum of a h over its kept rows;
    with d = E[a^2]/E[a] their covariance is the sum of

    - perturbation: ``d (sum h h' - diag(estimates))``, the sum being over published rows with their copies: the
      formula of plain perturbation times d, and at least what it is were all rows of the kind that varies least;
    - rounding of the quotas to whole rows: ``w^2 R``. A quota of expectation t is rounded with variance
      frac(t) (1 - frac(t)); it is private, so its mean 1/6 stands for it, or t (1 - t) where t is small;
    - rounding of the copies: ``(v/w) diag(estimates)``, less what a fixed total takes away.

    A condition on an attribute outside the groups picks rows by more than the sample was stratified by; then
    drawing the rows adds at most ``(w - 1) diag(estimates)``. Different groups are independent.

    Examples
    --------
    >>> SampledRows(
    ...     sensitive="job", distortion=UniformDistortion(retention=0.5, size=3), groups=("sex",), rows_per_group=58
    ... ).sentence
    "From every group equal on sex at most 58 rows were drawn; each row's job was distorted by a public matrix
    (condition number 2), and each row then counts as often as its group was cut."
    """

    law: Literal["sampled-rows"] = "sampled-rows"
    sensitive: str
    distortion: UniformDistortion
    groups: tuple[str, ...]
    rows_per_group: Annotated[float, Field(ge=1)]
    is_smallest: bool = False
    has_exact_sizes: bool = True
    weight: str | None = None

    def scale_factors(self, sizes: npt.ArrayLike) -> Floats:
        """How many rows a kept row of a group of that size stands for (w); at most, where n is the smallest.

        Examples
        --------
        >>> law = SampledRows(
        ...     sensitive="job", distortion=UniformDistortion(retention=0.5, size=3), groups=("sex",), rows_per_group=50
        ... )
        >>> law.scale_factors([20, 50, 125]).tolist()
        [1.0, 1.0, 2.5]
        """
        return np.maximum(1.0, np.asarray(sizes, dtype=np.float64) / self.rows_per_group)

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of the cells of a tabulation, with a covariance that knows of the sampling."""
        # Refuses what does not fit, before anything is computed.
        empty_counts(published.schema.select(tabulation.by))
        blocks, axes, sums = self._tabulate(published, tabulation)
        shape = [len(codes) for codes in axes.values()]
        indicator = _indicator(self.distortion.size, tabulation.where.codes(self.sensitive))
        if self.sensitive in tabulation.by:
            indicator = np.eye(self.distortion.size)[:, indicator[:, 0] > 0]
        values = sums.rows @ self._kernel(indicator)
        # The sensitive attribute's axis stands last here, in the tabulation where it was asked for.
        order = np.arange(values.size).reshape(*shape, -1)
        if self.sensitive in tabulation.by:
            order = np.moveaxis(order, -1, tabulation.by.index(self.sensitive))
        flat, place = values.ravel(), order.ravel()
        total = float(blocks.rows.sum())
        if flat.size > LARGEST_COVARIANCE:
            variances = self._variances(sums, indicator).ravel()
            if target == "population":
                variances = variances + flat - (flat**2 - variances) / total
            return Estimates(flat[place], np.clip(variances, 0, None)[place])
        covariance = _block_diagonal(self._covariances(sums, indicator, indicator))
        if target == "population":
            covariance = covariance + np.diag(flat) - (np.outer(flat, flat) - covariance) / total
        return Estimates.with_covariance(flat[place], covariance[np.ix_(place, place)])

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates for selections that may overlap, with the covariance between them."""
        names = tuple(dict.fromkeys(name for each in selections for name in each.names))
        fine = self._blocks(published, names)
        is_fine = [bool(set(each.names) - {*self.groups, self.sensitive}) for each in selections]
        # What is asked of whole groups must not get the error of drawing rows from a question beside it.
        whole = self._blocks(published, ()) if fine.has_outside and not all(is_fine) else fine
        indicators = [_indicator(self.distortion.size, each.codes(self.sensitive)) for each in selections]
        total = float(fine.rows.sum())
        values = np.array(
            [
                float(
                    (
                        fine.rows[fine.satisfy(each, without=self.sensitive)].sum(axis=0)
                        @ self._kernel(indicator)
                    )[0]
                )
                for each, indicator in zip(selections, indicators, strict=True)
            ]
        )
        covariance = np.empty((len(selections), len(selections)))
        for i, j in itertools.combinations_with_replacement(range(len(selections)), 2):
            blocks = fine if is_fine[i] or is_fine[j] else whole
            both = blocks.satisfy(selections[i], without=self.sensitive)
            both = both & blocks.satisfy(selections[j], without=self.sensitive)
            sums = self._sums(
                blocks,
                both,
                np.zeros(np.count_nonzero(both), dtype=np.int64),
                1,
                adds_drawing=is_fine[i] and is_fine[j],
            )
            entry = self._covariances(sums, indicators[i], indicators[j])[0, 0, 0]
            if target == "population":
                shared = float((sums.rows @ self._kernel(indicators[i] * indicators[j]))[0, 0])
                entry += shared - (values[i] * values[j] - entry) / total
            covariance[i, j] = covariance[j, i] = entry
        return Estimates.with_covariance(values, covariance)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Feasible cells that add up to the scaled size of every combination of public values."""
        _, axes, sums = self._tabulate(published, tabulation)
        matrix, inverse = self.distortion.dense(), self.distortion.inverse()
        totals = sums.rows.sum(axis=1)
        if feasibility == "em":
            start = np.repeat(totals[:, None] / self.distortion.size, self.distortion.size, axis=1)
            feasible = most_likely(sums.rows, lambda x: x @ matrix, lambda y: y @ matrix.T, start)
        else:
            make_feasible = project_to_simplex if feasibility == "projection" else clip_to_totals
            feasible = make_feasible(sums.rows @ inverse, totals)
        chosen = _indicator(self.distortion.size, tabulation.where.codes(self.sensitive))[:, 0] > 0
        if self.sensitive not in tabulation.by:
            return np.asarray(feasible[:, chosen].sum(axis=1))
        shaped = feasible[:, chosen].reshape(*(len(codes) for codes in axes.values()), -1)
        return np.moveaxis(shaped, -1, tabulation.by.index(self.sensitive)).ravel()

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that estimates of the table's cells will have, from its true counts.

        Attributes of the groups that the table lacks are taken to be the same in all rows: groups are then
        larger than they are and cut more, so the errors are upper bounds.
        """
        if self.sensitive not in true_counts.names:
            return np.zeros(true_counts.counts.shape)
        axis = true_counts.axis_of(self.sensitive)
        counts = np.moveaxis(np.asarray(true_counts.counts, dtype=np.float64), axis, -1)
        variances = self.expected_variances(counts.reshape(-1, self.distortion.size)).reshape(counts.shape)
        return np.moveaxis(np.sqrt(variances), -1, axis)

    def expected_variances(self, true_counts: Floats) -> Floats:
        """Variances that the estimates of every sensitive value in some groups will have.

        Parameters
        ----------
        true_counts
            ``(groups, m)``.

        Returns
        -------
        numpy.ndarray
            ``(groups, m)``.
        """
        published = true_counts @ self.distortion.dense()
        blocks = GroupBlocks({}, published, published.sum(axis=1), has_outside=False)
        every = np.ones(len(published), dtype=bool)
        sums = self._sums(blocks, every, np.arange(len(published)), len(published))
        return np.clip(self._variances(sums, np.eye(self.distortion.size)), 0, None)

    @property
    def sentence(self) -> str:
        """The link in words."""
        number = f"{self.rows_per_group:.6g} row{'' if self.rows_per_group == 1 else 's'}"
        drawn = (
            f"an unpublished number of rows, {number} or more, was drawn where the group had more"
            if self.is_smallest
            else f"at most {number} were drawn"
        )
        return (
            f"From every group equal on {', '.join(self.groups) or 'nothing (all rows)'} {drawn}; each row's {self.sensitive} was distorted by a "
            f"public matrix (condition number {self.distortion.condition_number:.3g}), and each row then counts as "
            "often as its group was cut."
        )

    def _tabulate(
        self, published: Published, tabulation: Tabulation
    ) -> tuple[GroupBlocks, dict[str, tuple[int, ...]], _Sums]:
        """Blocks, the codes along every public axis of the tabulation, and sums over each of its public cells."""
        where = tabulation.where
        blocks = self._blocks(published, (*tabulation.by, *where.names))
        axes = {
            name: codes
            if (codes := where.codes(name)) is not None
            else tuple(range(published.schema[name].size))
            for name in tabulation.by
            if name != self.sensitive
        }
        is_selected = blocks.satisfy(where, without=self.sensitive)
        cells = math.prod(len(codes) for codes in axes.values())
        return blocks, axes, self._sums(blocks, is_selected, blocks.cell_of(axes, is_selected), cells)

    def _blocks(self, published: Published, asked: Sequence[str]) -> GroupBlocks:
        """Published rows by group, by the attributes asked for outside the groups, and by sensitive value."""
        outside = tuple(
            dict.fromkeys(name for name in asked if name not in self.groups and name != self.sensitive)
        )
        names = (*self.groups, *outside)
        occupied = published.count_occupied((*names, self.sensitive), weight=self.weight)
        return GroupBlocks.of(occupied, names, self.groups, self.sensitive, self.distortion.size)

    def _sums(
        self,
        blocks: GroupBlocks,
        is_selected: Booleans,
        cell: Integers,
        cells: int,
        *,
        adds_drawing: bool | None = None,
    ) -> _Sums:
        """Add up, over the selected blocks of each cell, what estimates and covariances are made of.

        Drawing rows adds an error where blocks are finer than groups, unless ``adds_drawing`` says otherwise:
        how many rows of a cell were kept is fixed, hence uncorrelated with which of them are in a part.
        """
        if adds_drawing is None:
            adds_drawing = blocks.has_outside
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
        subtracted = np.ones_like(factor) if adds_drawing else effect
        has_free_totals = not self.has_exact_sizes or adds_drawing

        def add(weights: Floats) -> Floats:
            summed = np.zeros((cells, rows.shape[1]))
            np.add.at(summed, cell, rows * weights[:, None])
            return summed

        squared_factors = np.zeros(cells)
        np.add.at(squared_factors, cell, within)
        cut = np.zeros(cells)
        np.add.at(cut, cell, np.where(is_cut, effect, 0.0) * rows.sum(axis=1))
        shares = np.clip(blocks.rows.sum(axis=0) @ self.distortion.inverse(), 0, None)
        return _Sums(
            rows=add(np.ones_like(factor)),
            effective=add(effect),
            subtracted=add(subtracted),
            copies=add(relative_variance),
            squared_factors=squared_factors,
            cut=cut,
            rounding=_quota_rounding(self.rows_per_group * shares / max(shares.sum(), 1.0)),
            has_free_totals=has_free_totals,
        )

    def _kernel(self, indicators: Floats) -> Floats:
        """What a published value counts toward the true values that each column indicates, ``(m, k)``."""
        # The rows of the inverse sum to 1; said as it is, a public count stays a whole number.
        return np.where(indicators.all(axis=0), 1.0, self.distortion.inverse() @ indicators)

    def _covariances(self, sums: _Sums, left: Floats, right: Floats) -> Floats:
        """Covariance, in every cell, of the sums over sensitive values that two sets of indicators give.

        Parameters
        ----------
        left, right
            ``(m, k)`` and ``(m, l)``.

        Returns
        -------
        numpy.ndarray
            ``(cells, k, l)``.
        """
        inverse = self.distortion.inverse()
        copies = sums.copies @ inverse
        result = np.einsum("em,mk,ml->ekl", sums.effective, inverse @ left, inverse @ right)
        result += np.einsum("em,mk,ml->ekl", copies - sums.subtracted @ inverse, left, right)
        if np.array_equal(left, right):
            diagonal = np.einsum("ekk->ek", result)
            np.maximum(diagonal, sums.cut[:, None] * self._least_variances(left), out=diagonal)
        result += sums.squared_factors[:, None, None] * (left.T @ sums.rounding @ right)
        if not sums.has_free_totals:
            totals = np.maximum(copies.sum(axis=1), np.finfo(float).tiny)
            result -= np.einsum("ek,el,e->ekl", copies @ left, copies @ right, 1 / totals)
        # What is known exactly has terms that cancel; the rounding left over is not an error of anything.
        scale = sums.effective.sum(axis=1) / self.distortion.retention**2
        return np.where(np.abs(result) > CANCELLED * scale[:, None, None], result, 0.0)

    def _least_variances(self, indicators: Floats) -> Floats:
        """Smallest variance, whatever its true value, that perturbation gives what one row counts, ``(k,)``.

        A row is published inside j of m values with probability ``p + j (1-p)/m`` or ``j (1-p)/m``. A variance
        estimated from a sample of few rows can come out below both, and its interval would be far too short.
        """
        retention = self.distortion.retention
        elsewhere = indicators.sum(axis=0) * (1 - retention) / self.distortion.size
        own = np.minimum(elsewhere + retention, 1.0)
        return np.asarray(np.minimum(own * (1 - own), elsewhere * (1 - elsewhere)) / retention**2)

    def _variances(self, sums: _Sums, indicators: Floats) -> Floats:
        """Diagonal of :meth:`_covariances`, for tables too large for the whole of it; ``(cells, k)``."""
        columns = [self._covariances(sums, each[:, None], each[:, None])[:, 0, 0] for each in indicators.T]
        return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the blocks of each cell; matrices are ``(cells, m)``, ``squared_factors`` and ``cut`` ``(cells,)``."""

    rows: Floats
    effective: Floats
    subtracted: Floats
    copies: Floats
    squared_factors: Floats
    cut: Floats
    rounding: Floats
    has_free_totals: bool


def _indicator(size: int, codes: tuple[int, ...] | None) -> Floats:
    """Column that is 1 for the chosen categories, for all when none are named; ``(size, 1)``."""
    column = np.ones((size, 1)) if codes is None else np.zeros((size, 1))
    column[list(codes or ())] = 1
    return column


def _quota_rounding(expected: Floats) -> Floats:
    """Covariance of the rounding of quotas with these expectations, which keeps their sum; ``(m, m)``."""
    # The mean of x (1 - x) over an even spread of fractional parts is 1/6; below 0.2113 x (1 - x) is less.
    variances = np.where(expected < (1 - math.sqrt(1 / 3)) / 2, expected * (1 - expected), 1 / 6)
    total = variances.sum()
    if total == 0:
        return np.zeros((expected.size, expected.size))
    return np.asarray(np.diag(variances) - np.outer(variances, variances) / total)


def _block_diagonal(blocks: Floats) -> Floats:
    """One matrix with the given ``(cells, k, k)`` along its diagonal: different cells share no rows."""
    cells, width, _ = blocks.shape
    whole = np.zeros((cells, width, cells, width))
    place = np.arange(cells)
    whole[place, :, place, :] = blocks
    return whole.reshape(cells * width, cells * width)
