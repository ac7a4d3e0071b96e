"""The law of sample-perturb-scale: estimates and posteriors from rows sampled by group, perturbed and scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.estimates.counts import CountTable, Feasibility, feasible, most_likely
from sfumato.estimates.estimates import Certainties, Certainty, Limits
from sfumato.estimates.exact_intervals import FewSteps, chances_of_being_seen, unseen_variance
from sfumato.guarantees import Guarantee
from sfumato.guarantees.reconstruction_privacy import ReconstructionPrivacy
from sfumato.immutable import MOST_ROWS
from sfumato.laws.base import Law, Published, refuse_unfit_matrices
from sfumato.laws.estimator import (
    Formula,
    Target,
    cell_of,
    codes_shown,
    conditions_on,
    conditions_outside,
    indicator,
    names_of,
    require_small,
    satisfying,
    shape_of,
)
from sfumato.laws.posterior import GroupedRows
from sfumato.methods.sample_perturb_scale.variances import (
    GroupBlocks,
    Parts,
    Sampling,
    Sums,
    fixed_by_group,
    fixed_leaning,
    positive,
)
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import (
    AxisMatrix,
    TwoValued,
    UniformDistortion,
    columns_of,
    contract,
    squared,
)
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# How frequent the most frequent sensitive value of every group is, as perturbed rows tell it.


def largest_frequencies(estimates: Floats, variances: Floats, sizes: Floats) -> Floats:
    """Largest frequency of a sensitive value in every group, ``(groups,)``.

    Parameters
    ----------
    estimates, variances
        Of the counts of sensitive values in every group, ``(groups, m)``.
    sizes
        Of the groups.

    Notes
    -----
    The largest of several estimates is larger than the largest of what they estimate. Frequencies f of a group
    are therefore taken nearer to those F of all rows: ``F + sqrt(A / (A + S)) (f - F)``, with S the sum of the variances of the
    group's frequencies and A the mean sum of squares by which groups truly differ. With the root, what is taken for the
    frequencies differs from group to group as much as the true ones do; without it, it would differ less, and the
    largest would come out too small.

    References
    ----------
    Louis, T. A. (1984). Estimating a population of parameter values using Bayes and empirical Bayes methods.
    JASA 79, 393-398.

    Examples
    --------
    Two groups that differ by chance alone, and two that differ surely.

    >>> alike = np.array([[60.0, 40.0], [50.0, 50.0]])
    >>> largest_frequencies(alike, np.full((2, 2), 100.0), np.full(2, 100.0)).tolist()
    [0.55, 0.55]
    >>> largest_frequencies(alike, np.full((2, 2), 0.0), np.full(2, 100.0)).tolist()
    [0.6, 0.5]
    """
    rows, of_all = np.maximum(sizes, 1.0)[:, None], max(sizes.sum(), 1.0)
    frequencies, noise = estimates / rows, (variances / rows**2).sum(axis=1)
    everyone = estimates.sum(axis=0) / of_all
    apart = ((frequencies - everyone) ** 2).sum(axis=1)
    # Groups that are known better say more of how much groups differ; noise alone is no reason to weigh one less.
    differing = max(float(sizes @ (apart - noise)) / of_all, 0.0)
    total = differing + noise
    kept = np.sqrt(np.divide(differing, total, out=np.ones_like(total), where=total > 0))
    return np.asarray((everyone + kept[:, None] * (frequencies - everyone)).max(axis=1))


# --------------------------------------------------------------------------------------------------
# Estimates and errors of rows that were sampled by group, perturbed and scaled.


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


# --------------------------------------------------------------------------------------------------
# Rows sampled from every group, perturbed, and scaled up to the group's size again.


MERGED = "merged values"
LEFT_OUT = "attributes left out"
"""What was chosen where all values of an attribute are alike, so that it is not in the release."""


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
        then unpublished, since it would tell the group's largest frequency.
    caps_fall_with_frequency
        Groups were cut to Chernoff's cap at their largest frequency. Errors are then stated for the cap at the largest
        frequency that is estimated of each group; else for the smallest number, which is conservative.
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

    A condition on an attribute outside the groups picks rows by more than the sample was stratified by. Every row
    then adds ``d h h' - E[h] E[h]'``, copies and the drawing of rows included, and public counts x of the parts of a
    group of N take away ``(d - 1) x x' / N``: the sample's size is fixed. Different groups are independent.

    Examples
    --------
    >>> SampledRows(
    ...     sensitive="job", distortion=UniformDistortion(retention=0.5, size=3), groups=("sex",), rows_per_group=58
    ... ).sentence
    "From every group equal on sex at most 58 rows were drawn; each row's job was distorted by a public matrix
    (condition number 2), and each row then counts as often as its group was cut."
    """

    chosen_from_rows: ClassVar[tuple[str, ...]] = ("retention", f"{MERGED} of", LEFT_OUT)

    law: Literal["sampled-rows"] = "sampled-rows"
    sensitive: str
    distortion: UniformDistortion
    groups: tuple[str, ...]
    rows_per_group: Annotated[float, Field(ge=1, le=MOST_ROWS)]
    is_smallest: bool = False
    caps_fall_with_frequency: bool = False
    has_exact_sizes: bool = True
    weight: str | None = None

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """Reconstruction privacy at the errors stated, where groups were cut to few enough rows for it."""
        del schema
        if not isinstance(stated, ReconstructionPrivacy):
            return ()
        kept = ReconstructionPrivacy(
            **stated.model_dump(include={"relative_error", "error_probability", "bound", "given"}),
            sensitive=self.sensitive,
            groups=self.groups,
            retention=self.distortion.retention,
            size=self.distortion.size,
            cap="group" if self.is_smallest else "uniform",
        )
        return (kept,) if self.rows_per_group <= kept.uniform_limit else ()

    def question_schema(self, published: Schema) -> Schema:
        """The published attributes, which the matrix and the groups must fit."""
        refuse_unfit_matrices({self.sensitive: self.distortion.size}, published, self.groups)
        return published

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

    def cut_sizes(self, sizes: Floats, largest: Floats) -> Floats:
        """Sizes at which groups cut to the smallest sample would be scaled as much as these are, ``(groups,)``.

        Parameters
        ----------
        sizes, largest
            Of every group: its rows, and the largest frequency of a sensitive value.

        Notes
        -----
        The cap at a frequency f is that at 1 times ``(f p + q) / ((p + q) f^2)`` with q = (1 - p)/m (Han 2016, eq. 4.9).

        Examples
        --------
        A group of one value only, and one of two in halves, whose cap is 3.2 times as high at a retention of 1/2.

        >>> law = SampledRows(
        ...     sensitive="job", distortion=UniformDistortion(retention=0.5, size=2), groups=("sex",), rows_per_group=50,
        ...     is_smallest=True, caps_fall_with_frequency=True,
        ... )
        >>> law.cut_sizes(np.array([100.0, 100.0]), np.array([1.0, 0.5])).round(6).tolist()
        [100.0, 37.5]
        """
        if not self.caps_fall_with_frequency:
            return np.asarray(sizes)
        kept, elsewhere = self.distortion.retention, (1 - self.distortion.retention) / self.distortion.size
        frequency = np.clip(largest, 1 / self.distortion.size, 1.0)
        higher = (frequency * kept + elsewhere) / ((kept + elsewhere) * frequency**2)
        return np.asarray(sizes / higher)

    def estimated_cut_sizes(self, rows: Floats) -> Floats:
        """The same from published rows by sensitive value, copies included, ``(groups, m)``.

        How far a group was cut says how sure its frequencies are, and these say how far it was cut: the second round
        begins with what the first found.
        """
        sizes, inverse = rows.sum(axis=1), self.distortion.inverse_on_axis
        estimates = contract(rows, [None, inverse])
        # What a value counts is 1 or more, or less than nothing: its square is never below it.
        of_rows = contract(rows, [None, squared(inverse)]) - estimates
        effects = np.ones_like(sizes)
        for _ in range(2):
            largest = largest_frequencies(estimates, of_rows * effects[:, None], sizes)
            cut = self.cut_sizes(sizes, largest)
            effects = np.add(*self._sampling.effects(cut))
        return cut

    def grouped_rows(self, published: Published, public: Sequence[str], sensitive: str) -> GroupedRows | None:
        """Rows that were drawn, each counted once; a row of a group that was cut is among them by chance."""
        if self.sensitive in public or sensitive in self.groups:
            return None
        outside = tuple(name for name in (*public, sensitive) if name not in (*self.groups, self.sensitive))
        blocks = self._blocks(published, outside)
        scale = self.scale_factors(blocks.cut_sizes)[:, np.newaxis]
        if sensitive == self.sensitive:
            rows, channel = blocks.rows / scale, self.distortion.dense()
        else:
            size = published.schema[sensitive].size
            rows, channel = np.zeros((len(scale), size)), np.eye(size)
            rows[np.arange(len(scale)), blocks.codes[sensitive]] = (blocks.rows / scale).sum(axis=1)
        combinations, place = np.unique(
            np.stack([blocks.codes[name].astype(np.int64) for name in public], axis=1),
            axis=0,
            return_inverse=True,
        )
        counts = np.zeros((len(combinations), len(channel)))
        np.add.at(counts, place.ravel(), rows)
        standing_for = np.bincount(place.ravel(), blocks.rows.sum(axis=1))
        return GroupedRows(combinations, counts, channel, counts.sum(axis=1) / standing_for)

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> SampledCounts:
        """Published rows by group, and by the attributes asked for outside the groups."""
        for each in asked:
            require_small(shape_of(published.schema, each), each.by)
        inside = {*self.groups, self.sensitive}
        fine = self._blocks(published, tuple(name for name in names_of(asked) if name not in inside))
        # What is asked of whole groups must not get the error of drawing rows from a question beside it.
        is_whole = any({*names_of([each])} <= inside for each in asked)
        whole = self._blocks(published, ()) if fine.has_outside and is_whole else fine
        rows = float(fine.rows.sum())
        return SampledCounts(self._sampling, self.groups, self.sensitive, published.schema, fine, whole, rows)

    @property
    def _sampling(self) -> Sampling:
        return Sampling(
            self.distortion,
            self.scale_factors,
            self.rows_per_group,
            self.is_smallest,
            self.caps_fall_with_frequency,
            self.has_exact_sizes,
        )

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Feasible cells that add up to the scaled size of every combination of public values."""
        formula = self.formula(published, (tabulation,))
        rows = formula.sums(tabulation, tabulation).rows
        totals = rows.sum(axis=1)
        inverse = self.distortion.inverse_on_axis
        if feasibility == "em":
            matrix = self.distortion.on_axis
            start = np.repeat(totals[:, None] / self.distortion.size, self.distortion.size, axis=1)
            # The matrix of uniform perturbation is its own transpose.
            made = most_likely(
                rows, lambda x: contract(x, [None, matrix]), lambda y: contract(y, [None, matrix]), start
            )
        else:
            made = feasible(contract(rows, [None, inverse]), totals, feasibility)
        return formula.laid_out(tabulation, contract(made, [None, formula.selector(tabulation)]))

    def treats_alike(self, name: str) -> bool:
        """Yes: what replaces a value is drawn evenly from all."""
        del name
        return True

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
        published = contract(true_counts, [None, self.distortion.on_axis])
        sizes = published.sum(axis=1)
        largest = true_counts.max(axis=1) / np.maximum(sizes, 1.0)
        cut = self.cut_sizes(sizes, largest)
        blocks = GroupBlocks({}, published, sizes, np.arange(len(published)), cut, has_outside=False)
        every = np.ones(len(published), dtype=bool)
        sums = self._sampling.add_up(
            blocks, every, np.arange(len(published)), len(published), adds_drawing=False
        )
        return self._sampling.variances(sums, TwoValued(1.0, 0.0), self.distortion.inverse_on_axis)

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """What rows do not have as they truly are."""
        return (self.sensitive,)

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

    def _blocks(self, published: Published, outside: Sequence[str]) -> GroupBlocks:
        """Published rows by group, by some attributes outside the groups, and by sensitive value."""
        names = (*self.groups, *outside)
        occupied = published.count_occupied((*names, self.sensitive), weight=self.weight)
        blocks = GroupBlocks.of(occupied, names, self.groups, self.sensitive, self.distortion.size)
        if not self.caps_fall_with_frequency:
            return blocks
        return replace(blocks, cut_sizes=self.estimated_cut_sizes(blocks.rows_of_groups())[blocks.groups])
