"""Rows sampled from every group, perturbed, and scaled up to the group's size again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.chance.distortion import TwoValued, UniformDistortion, contract, squared
from sfumato.guarantees import Guarantee
from sfumato.guarantees.reconstruction_privacy import ReconstructionPrivacy
from sfumato.laws.asking import feasible, names_of, require_small, shape_of
from sfumato.laws.base import Law, Published
from sfumato.laws.believing import GroupedRows
from sfumato.laws.fitting import refuse_unfit_matrices
from sfumato.methods.sample_perturb_scale.law.group_blocks import GroupBlocks
from sfumato.methods.sample_perturb_scale.law.group_frequencies import largest_frequencies
from sfumato.methods.sample_perturb_scale.law.sampled_counts import SampledCounts
from sfumato.methods.sample_perturb_scale.law.sampling import Sampling
from sfumato.values.arrays import Floats
from sfumato.values.bounds import MOST_ROWS
from sfumato.values.counts import CountTable
from sfumato.values.feasibility import Feasibility, most_likely
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation

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
