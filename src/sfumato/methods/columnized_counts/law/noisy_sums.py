"""Sums of published rows with noisy counts, their errors, and what was left out of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from sfumato.chance.noise import DiscreteNoise
from sfumato.chance.noise_sums import half_widths_of_sums
from sfumato.errors import NotIdentifiableError
from sfumato.laws.asking import Formula, cell_of, codes_shown, names_of, satisfying
from sfumato.laws.base import Target
from sfumato.methods.columnized_counts.law.columns import ColumnSums, Entries, PublishedColumn
from sfumato.methods.columnized_counts.law.combinations import combinations_of_a_cell, has_rows_without_values
from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix
from sfumato.methods.columnized_counts.law.size import NoisyTotal
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.certainty import Certainties, Certainty, all_claim
from sfumato.values.estimates import Limits
from sfumato.values.left_open import Ends, LeftOut
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation

SURELY_PUBLISHED = 0.999
"""Probability with which a row would have been published that is taken to be no more than that where it is not there."""


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
    """Published entries, added up, and what of the rows that were left out each sum may have.

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
    columns
        By published table, its column; or of unit-item-value data, what was published of each column.
    size
        How many rows or units there are: with noise, or as everybody knows; None where the release does not say.
    share
        Which share of all parts the column budget kept.
    is_whole
        Every part was kept, or a known share of them.
    is_weighted
        Each entry counts by how likely it was to be published (Horvitz and Thompson), and nothing else does.

    Notes
    -----
    What was kept of X parts, each with probability p, is divided by p: K / p estimates X, and the draw adds
    ``X (1 - p) / p`` to the variance. Drawing the table itself from a population comes after that: it is the
    error of X, which is not divided again.

    Of T rows, P were published; the others, R = T - P, are in combinations that were not, or below the threshold of
    what could have been. A sum over some of the combinations counts the share of R that it has of the combinations that
    were not published: then all sums add up to T. It may have none of R, or all, and of each combination no more than
    what would surely have been published.
    """

    matrix: NoisyCountMatrix
    schema: Schema
    entries: Mapping[str, Entries]
    table_of: Callable[[Sequence[str]], str]
    columns: Mapping[str, PublishedColumn] | ColumnSums
    size: NoisyTotal | int | None
    share: float
    is_whole: bool
    is_weighted: bool
    _chosen: dict[tuple[Tabulation, str], _Chosen] = field(default_factory=dict, init=False, repr=False)
    _varied: dict[tuple[Tabulation, str], Floats] = field(default_factory=dict, init=False, repr=False)

    @property
    def number_of_rows(self) -> float:  # type: ignore[override]
        """As stated in public, or as published with noise.

        Raises
        ------
        NotIdentifiableError
            When the release says neither.
        """
        if self.size is None:
            raise NotIdentifiableError(
                "the release does not say how many rows the table has, so that nothing can be said of the population it was "
                "drawn from. Ask about the table, or publish with total_share above 0 or a public_size."
            )
        return float(max(self.size.count if isinstance(self.size, NoisyTotal) else self.size, 0))

    def values(self, asked: Tabulation) -> Floats:
        """Sums of published counts, divided by the share that was kept, with their share of what was left out."""
        return self._values(asked, self._table(asked))

    def _values(self, asked: Tabulation, table: str) -> Floats:
        if self._is_about_all(asked):
            return np.array([self.number_of_rows])
        sums = self._sums(asked, table)
        if self.is_weighted:
            return sums
        self._refuse_without_end(asked, table)
        return sums if self.size is None else sums + self._shares(asked, table) * self._left_out(table)[0]

    def variances(self, asked: Tabulation) -> Floats:
        """Noise of what is published, and of the number of rows where a share of those left out is counted."""
        table = self._table(asked)
        own, shares = self._own_variances(asked, table), self._shares(asked, table)
        # Var(P + cR) with Cov(P, R) = -Var(P).
        return np.asarray((1 - 2 * shares) * own + shares**2 * self._left_out(table)[1])

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Noise of the fragments that are in both; nobody can tell which parts of two columns were kept together."""
        table, elsewhere = self._table(one), self._table(other)
        shares = self._shares(one, table), self._shares(other, elsewhere)
        if table != elsewhere:
            # Columns have nothing in common but the noise of the number of rows.
            together = float(shares[0][0] * shares[1][0]) * self._size_variance
            return np.full((1, 1), together if self.share == 1 else np.nan)
        noise = (self._incidence(one).T @ self._incidence(other)).toarray() / self.share**2
        both = (
            np.diag(self._sums(one, table))
            if one is other
            else self._sums(Tabulation(where=one.where & other.where), table)[:, None]
        )
        own = self._own_variances(one, table), self._own_variances(other, table)
        whole = np.asarray(noise + both * (1 - self.share) / self.share)
        whole = whole - np.outer(own[0], shares[1]) - np.outer(shares[0], own[1])
        whole = whole + np.outer(*shares) * self._left_out(table)[1]
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
        """A published row occurs at least k times; so do those elsewhere, which leaves the rest of a public size."""
        table = self._table(asked)
        numbers = self._choose(asked, table).numbers.astype(np.float64)
        most = np.full(numbers.size, np.inf)
        if isinstance(self.size, int) and not isinstance(self.columns, ColumnSums):
            most = self.size - self.matrix.k * (self.entries[table].counts.size - numbers)
        return self.matrix.k * numbers, most

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Open wherever a row may have been left out; the number of all rows is published or public."""
        if self._is_about_all(asked):
            return all_claim(Certainty.EXACT if isinstance(self.size, int) else Certainty.ESTIMATED, number)
        if self.is_weighted:
            return all_claim(Certainty.ESTIMATED, number)
        is_settled = self._most(asked, self._table(asked)) == 0
        return np.where(is_settled, Certainty.ESTIMATED, Certainty.OPEN).astype(np.int8)

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Of numbers without anything left out, by the law of their noise."""
        if target == "population" or self.is_weighted:
            return None
        values = self.values(asked)
        if self._is_about_all(asked):
            total = self.size
            if not isinstance(total, NoisyTotal):
                return None
            return partial(_ends_of_total, total)
        table = self._table(asked)
        is_settled = self._most(asked, table) == 0
        if self.share < 1:
            return None
        numbers = np.maximum(self._choose(asked, table).numbers, 1)
        return partial(_ends_of_sums, self.matrix.noise, values, numbers, is_settled)

    def left_open(self, asked: Sequence[Tabulation]) -> LeftOut | Ends | None:
        """What each number may have of the rows that were left out."""
        if self.is_weighted:
            return None
        tables = {self._table(each) for each in asked}
        if isinstance(self.columns, ColumnSums):
            return _joined([self._ends_of_items(each, self.columns) for each in asked])
        if len(tables) > 1:
            # Each by itself: nobody can tell which rows of one column are which of another.
            return _joined([self._left_open_of([each]).of(self.values(each)) for each in asked])
        return self._left_open_of(asked)

    def _left_open_of(self, asked: Sequence[Tabulation]) -> LeftOut:
        table = self._table(asked[0])
        rows, variance = self._left_out(table)
        shares = np.concatenate([self._shares(each, table) for each in asked])
        own = np.concatenate([self._own_variances(each, table) for each in asked])
        return LeftOut(
            rows,
            variance,
            np.concatenate([self.variances(each) for each in asked]),
            shares,
            # Cov(P + cR, R) with Cov(P, R) = -Var(P).
            shares * variance - own,
            np.concatenate([self._most(each, table) for each in asked]),
            are_apart=len(asked) == 1,
            is_part_of=None if len(asked) == 1 else _parts_and_wholes(asked),
        )

    def _ends_of_items(self, asked: Tabulation, columns: ColumnSums) -> Ends:
        """Every unit of which nothing was published in an item's column may have the item, and the value."""
        values, own = self.values(asked), self.variances(asked)
        size = math.inf if self.size is None else self.number_of_rows
        rows = np.clip(size - columns.sums, 0, None)
        errors = np.sqrt(self._size_variance + columns.numbers * self.matrix.noise.variance)
        # Items of each cell: its own along an axis, else all that were chosen. A unit has each of them once.
        chosen = codes_shown(self.schema, asked, columns.item)
        axes = [len(codes_shown(self.schema, asked, name)) for name in asked.by]
        of_cells = np.zeros((values.size, len(chosen)), np.bool_)
        if columns.item in asked.by:
            place = np.indices(axes)[asked.by.index(columns.item)].ravel()
            of_cells[np.arange(values.size), place] = True
        else:
            of_cells[:] = True
        home = columns.home[list(chosen)]
        high_errors = np.sqrt(own) + of_cells @ errors[home]
        return Ends(values, values + of_cells @ rows[home], own, high_errors**2)

    def _refuse_without_end(self, asked: Tabulation, table: str) -> None:
        """Sums of which nobody could say how much was left out of them."""
        if self.size is None and (self._most(asked, table) > self._most_of_one).any():
            raise NotIdentifiableError(
                "rows were left out of the release, and it does not say how many rows there are: a sum has no upper end. Ask "
                "for single rows, or publish with total_share above 0 or a public_size."
            )

    @property
    def _size_variance(self) -> float:
        return self.size.noise.variance if isinstance(self.size, NoisyTotal) else 0.0

    def _left_out(self, table: str) -> tuple[float, float]:
        """Rows that were left out of a published table, and the variance of that number."""
        if self.size is None:
            return math.inf, 0.0
        everything = Tabulation()
        published = float(self._sums(everything, table)[0])
        variance = self._size_variance + float(self._own_variances(everything, table)[0])
        return max(self.number_of_rows - published, 0.0), variance

    @property
    def _most_of_one(self) -> float:
        """Copies of a row that is not published: with more it would have been, as good as surely."""
        copies = self.matrix.threshold(SURELY_PUBLISHED)
        # Of X rows, X p kept their part, give or take three standard deviations.
        return (copies + 3 * math.sqrt(copies * (1 - self.share))) / self.share

    def _open(self, asked: Tabulation, table: str) -> Floats:
        """Combinations of each cell that were not published, ``(cells,)``."""
        assert not isinstance(self.columns, ColumnSums)
        numbers = self._choose(asked, table).numbers
        every = float(combinations_of_a_cell(self.columns[table], self.schema, asked))
        return np.asarray(every - numbers)

    def _most(self, asked: Tabulation, table: str) -> Floats:
        """Rows that were left out of each cell at most, ``(cells,)``; infinite where all of them could be its."""
        if isinstance(self.columns, ColumnSums) or not self.is_whole:
            return np.full(self._choose(asked, table).size, np.inf)
        without = has_rows_without_values(self.columns[table], self.schema, asked)
        return np.where(without, np.inf, self._open(asked, table) * self._most_of_one)

    def _shares(self, asked: Tabulation, table: str) -> Floats:
        """Of the combinations that were not published, the share that each cell has."""
        if self._is_about_all(asked):
            return np.ones(1)
        number = self._choose(asked, table).size
        if self.size is None or self.is_weighted or isinstance(self.columns, ColumnSums):
            return np.zeros(number)
        every = float(self._open(Tabulation(), table)[0])
        return self._open(asked, table) / every if every else np.zeros(number)

    def _is_about_all(self, asked: Tabulation) -> bool:
        """Whether the question is how many rows there are, which is published or public."""
        is_said = self.size is not None and not isinstance(self.columns, ColumnSums) and not self.is_weighted
        return is_said and not asked.by and not asked.where.conditions

    def _table(self, asked: Tabulation) -> str:
        return self.table_of(names_of([asked]))

    def _choose(self, asked: Tabulation, table: str) -> _Chosen:
        """Kept while a question is answered: all that is said of a tabulation begins with it."""
        if (asked, table) not in self._chosen:
            entries = self.entries[table]
            is_chosen = satisfying(entries.codes, asked.where, entries.counts.size)
            axes = {name: codes_shown(self.schema, asked, name) for name in asked.by}
            self._chosen[asked, table] = _Chosen(
                entries.counts[is_chosen],
                entries.fragment[is_chosen],
                cell_of(entries.codes, axes, is_chosen),
                math.prod(len(codes) for codes in axes.values()),
            )
        return self._chosen[asked, table]

    def _sums(self, asked: Tabulation, table: str) -> Floats:
        """Of what is published, ``(cells,)``."""
        chosen = self._choose(asked, table)
        added = self._weigh(chosen.counts)[0]
        sums = np.bincount(chosen.cells, weights=added, minlength=chosen.size)
        return sums.astype(np.float64) / self.share

    def _own_variances(self, asked: Tabulation, table: str) -> Floats:
        """Of the same: deviations add up within a fragment, whose noise is one, and then as squares."""
        if (asked, table) not in self._varied:
            self._varied[asked, table] = self._noise_of_sums(asked, table)
        return self._varied[asked, table]

    def _noise_of_sums(self, asked: Tabulation, table: str) -> Floats:
        chosen = self._choose(asked, table)
        found = np.zeros(chosen.size)
        if chosen.cells.size:
            order = np.lexsort((chosen.fragment, chosen.cells))
            cells, fragment = chosen.cells[order], chosen.fragment[order]
            is_new = np.ones(cells.size, np.bool_)
            is_new[1:] = (cells[1:] != cells[:-1]) | (fragment[1:] != fragment[:-1])
            starts = np.flatnonzero(is_new)
            squares = np.add.reduceat(self._weigh(chosen.counts)[1][order], starts) ** 2
            found = np.bincount(cells[starts], weights=squares, minlength=chosen.size).astype(np.float64)
        return found / self.share**2 + self._sums(asked, table) * (1 - self.share) / self.share

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


def _parts_and_wholes(asked: Sequence[Tabulation]) -> Booleans:
    """Of selections, whether every row of one is a row of another, ``(n, n)``."""
    return np.array([[each.where & other.where == each.where for other in asked] for each in asked])


def _ends_of_total(total: NoisyTotal, confidence_level: float) -> tuple[Floats, Floats]:
    half = np.full(1, total.noise.half_width(confidence_level))
    return total.count - half, total.count + half


def _ends_of_sums(
    noise: DiscreteNoise, values: Floats, numbers: Integers, is_settled: Booleans, confidence_level: float
) -> tuple[Floats, Floats]:
    half = half_widths_of_sums(noise, numbers, confidence_level)
    half[~is_settled] = np.nan
    return values - half, values + half


def _joined(ends: Sequence[Ends]) -> Ends:
    names = ("low", "high", "low_variances", "high_variances")
    return Ends(*(np.concatenate([getattr(each, name) for each in ends]) for name in names))
