"""Sums of published rows with noisy counts, and their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.chance.noise_sums import half_widths_of_sums
from sfumato.laws.asking import Formula, cell_of, codes_shown, names_of, satisfying
from sfumato.laws.base import Target
from sfumato.methods.columnized_counts.law.columns import Entries
from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix
from sfumato.values.arrays import Floats, Integers
from sfumato.values.estimates import Limits, normal_quantile
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation

SURELY_PUBLISHED = 0.95
"""Probability with which a row would have been published that is called absent below a bound."""


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Entries that a question chooses: count, fragment and cell of each ``(n,)``, and how many cells there are."""

    counts: Floats
    fragment: Integers
    cells: Integers
    size: int

    @property
    def numbers(self) -> Integers:
        """Entries of each cell, ``(cells,)``."""
        return np.bincount(self.cells, minlength=self.size)


@dataclass(frozen=True, eq=False)
class NoisySums(Formula):
    """Published entries, added up.

    Parameters
    ----------
    matrix
        How likely a row is published with which count.
    schema
        The published one.
    entries
        By published table, its entries.
    table_of
        The table that answers for some attributes.
    share
        Which share of all parts the column budget kept.
    is_weighted
        Each entry counts by how likely it was to be published (Horvitz and Thompson).
    has_one_noise_each
        No two entries share their noise, as those of one fragment do.

    Notes
    -----
    What was kept of X parts, each with probability p, is divided by p: K / p estimates X, and the draw adds
    ``X (1 - p) / p`` to the variance. Drawing the table itself from a population comes after that: it is the
    error of X, which is not divided again.
    """

    matrix: NoisyCountMatrix
    schema: Schema
    entries: Mapping[str, Entries]
    table_of: Callable[[Sequence[str]], str]
    share: float
    is_weighted: bool
    has_one_noise_each: bool

    @property
    def number_of_rows(self) -> float:  # type: ignore[override]
        """What is published of the table's rows: of the first column that answers."""
        return float(next(iter(self.entries.values())).counts.sum()) / self.share

    def values(self, asked: Tabulation) -> Floats:
        """Sums of published counts, divided by the share that was kept."""
        return self._values(asked, self._table(asked))

    def variances(self, asked: Tabulation) -> Floats:
        """Deviations add up within a fragment, whose noise is one, and then as squares."""
        chosen = self._choose(asked, self._table(asked))
        found = np.zeros(chosen.size)
        if chosen.cells.size:
            order = np.lexsort((chosen.fragment, chosen.cells))
            cells, fragment = chosen.cells[order], chosen.fragment[order]
            is_new = np.ones(cells.size, np.bool_)
            is_new[1:] = (cells[1:] != cells[:-1]) | (fragment[1:] != fragment[:-1])
            starts = np.flatnonzero(is_new)
            squares = np.add.reduceat(self._weigh(chosen.counts)[1][order], starts) ** 2
            found = np.bincount(cells[starts], weights=squares, minlength=chosen.size).astype(np.float64)
        # Where nothing was published a row may still have been left out: zero is not certain.
        found[chosen.numbers == 0] = self._error_of_absence**2
        return found / self.share**2 + self.values(asked) * (1 - self.share) / self.share

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Noise of the fragments that are in both; nobody can tell which parts of two columns were kept together."""
        if self._table(one) != self._table(other):
            return np.full((1, 1), 0.0 if self.share == 1 else np.nan)
        noise = (self._incidence(one).T @ self._incidence(other)).toarray() / self.share**2
        whole = np.asarray(noise + self.shared(one, other) * (1 - self.share) / self.share)
        if one is other:
            np.fill_diagonal(whole, self.variances(one))
        return whole

    def shared(self, one: Tabulation, other: Tabulation) -> Floats:
        """Rows in both, where one column holds both."""
        if one is other:
            return np.diag(self.values(one))
        if self._table(one) != self._table(other):
            return np.full((1, 1), np.nan)
        return self._values(Tabulation(where=one.where & other.where), self._table(one))[:, None]

    def bounds(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """A published row occurs at least k times; how many were left out nobody can tell."""
        numbers = self._choose(asked, self._table(asked)).numbers
        return self.matrix.k * numbers.astype(np.float64), np.full(numbers.size, np.inf)

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Of sums of so many published counts, by the law of their noise; of none, as their standard error says."""
        if target == "population" or self.is_weighted or not self.has_one_noise_each or self.share < 1:
            return None
        values, numbers = self.values(asked), self._choose(asked, self._table(asked)).numbers

        def ends(confidence_level: float) -> tuple[Floats, Floats]:
            absent = normal_quantile(confidence_level) * self._error_of_absence
            present = half_widths_of_sums(self.matrix.noise, np.maximum(numbers, 1), confidence_level)
            half = np.where(numbers == 0, absent, present)
            return values - half, values + half

        return ends

    @property
    def _error_of_absence(self) -> float:
        """Standard error whose 95 % interval ends where an absent row would have been published."""
        return self.matrix.threshold(SURELY_PUBLISHED) / normal_quantile(SURELY_PUBLISHED)

    def _table(self, asked: Tabulation) -> str:
        return self.table_of(names_of([asked]))

    def _choose(self, asked: Tabulation, table: str) -> _Chosen:
        entries = self.entries[table]
        is_chosen = satisfying(entries.codes, asked.where, entries.counts.size)
        axes = {name: codes_shown(self.schema, asked, name) for name in asked.by}
        return _Chosen(
            entries.counts[is_chosen],
            entries.fragment[is_chosen],
            cell_of(entries.codes, axes, is_chosen),
            math.prod(len(codes) for codes in axes.values()),
        )

    def _values(self, asked: Tabulation, table: str) -> Floats:
        chosen = self._choose(asked, table)
        added = self._weigh(chosen.counts)[0]
        sums = np.bincount(chosen.cells, weights=added, minlength=chosen.size)
        return sums.astype(np.float64) / self.share

    def _incidence(self, asked: Tabulation) -> Any:
        """Deviation that each fragment's noise gives each cell, a sparse matrix ``(fragments, cells)``."""
        from scipy.sparse import csr_array

        table = self._table(asked)
        chosen = self._choose(asked, table)
        fragments = int(self.entries[table].fragment.max(initial=-1)) + 1
        places = (chosen.fragment, chosen.cells)
        return csr_array((self._weigh(chosen.counts)[1], places), shape=(fragments, chosen.size))

    def _weigh(self, counts: Floats) -> tuple[Floats, Floats]:
        """What each published entry adds to a sum, and its standard deviation."""
        noise = self.matrix.noise.variance
        if not self.is_weighted:
            return counts, np.full(counts.size, math.sqrt(noise))
        # Horvitz and Thompson: mean f and variance (1-w)/w f^2 + noise/w for a row of f copies, in which
        # the published count stands for f.
        appears, left_out = self.matrix.release_probabilities_of(counts)
        return counts / appears, np.sqrt(left_out / appears**2 * counts**2 + noise / appears**2)
