"""Counts as sums of noisy cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from sfumato.chance.noise_sums import half_width_of_sum
from sfumato.errors import NotIdentifiableError
from sfumato.laws.asking import Formula, codes_shown, conditions_outside, names_of, shape_of, take_codes
from sfumato.laws.base import Published, Target
from sfumato.methods.noisy_marginals.law.marginal_effects import NoisyTable
from sfumato.methods.noisy_marginals.law.marginals import NoisyAnswer, NoisyMarginal, read_marginal
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainties, Certainty
from sfumato.values.estimates import Limits
from sfumato.values.selection import Selection, Tabulation

if TYPE_CHECKING:
    from sfumato.methods.noisy_marginals.law.noisy_counts import NoisyCounts


@dataclass(frozen=True)
class _Source:
    """Where the cells of a question are read: each adds up so many cells of a marginal, but for declared answers."""

    marginal: NoisyMarginal | None
    cells_added: int
    declared: Mapping[int, NoisyAnswer]


class NoisySums(Formula):
    """Sums of noisy cells, each read where its variance is smallest.

    Cells of one table share no noise. Two selections that are read from one marginal share the noise of the
    cells they share; two from different ones share none.

    Parameters
    ----------
    law
        What was published.
    published
        The release.
    """

    def __init__(self, law: NoisyCounts, published: Published) -> None:
        self.law = law
        self.published = published
        self._tables: dict[str, NoisyTable] = {}

    @cached_property
    def number_of_rows(self) -> float:  # type: ignore[override]
        """The public number of rows, or the noisy total."""
        return float(self.values(Tabulation())[0])

    def _is_size(self, asked: Tabulation) -> bool:
        """Whether the question is how many rows there are, which is public."""
        return self.law.number_of_rows is not None and not names_of([asked])

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """A public number of rows is exact; all else is estimated."""
        if self._is_size(asked):
            return np.full(1, Certainty.EXACT, np.int8)
        return super().certainty(asked, number)

    def values(self, asked: Tabulation) -> Floats:
        """Sums of published cells, or declared answers as they stand."""
        if self._is_size(asked):
            return np.array([self.law.number_of_rows], np.float64)
        source = self._source(asked)
        cells = np.full(self._number(asked), np.nan)
        if source.marginal is not None:
            cells = self._sums(source.marginal, asked)
        return _replaced(cells, {place: each.count for place, each in source.declared.items()})

    def variances(self, asked: Tabulation) -> Floats:
        """The noise of all cells that each adds up."""
        if self._is_size(asked):
            return np.zeros(1)
        source = self._source(asked)
        own = np.nan if source.marginal is None else source.marginal.noise.variance * source.cells_added
        found = np.full(self._number(asked), own)
        return _replaced(found, {place: each.noise.variance for place, each in source.declared.items()})

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """The noise of all cells that both add up."""
        if one is other:
            return np.diag(self.variances(one))
        if self._is_size(one) or self._is_size(other):
            return np.zeros((1, 1))
        first, second = self._source(one), self._source(other)
        if first.declared or second.declared:
            is_same = first.declared == second.declared
            return np.full((1, 1), first.declared[0].noise.variance if is_same else 0.0)
        marginal = first.marginal if first.marginal == second.marginal else None
        if marginal is None:
            return np.zeros((1, 1))
        shared = marginal.cells_added(Tabulation(where=one.where & other.where))
        return np.full((1, 1), marginal.noise.variance * shared)

    def fourth_cumulants(self, asked: Tabulation) -> Floats:
        """Those of all noises that each adds up."""
        if self._is_size(asked):
            return np.zeros(1)
        source = self._source(asked)
        own = (
            np.nan if source.marginal is None else source.marginal.noise.fourth_cumulant * source.cells_added
        )
        found = np.full(self._number(asked), own)
        return _replaced(
            found, {place: each.noise.fourth_cumulant for place, each in source.declared.items()}
        )

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """By the exact law of a sum of so many noises."""
        if target == "population" or self._is_size(asked):
            return None
        return partial(_ends_of_source, self._source(asked), self.values(asked))

    def _number(self, asked: Tabulation) -> int:
        return math.prod(shape_of(self.published.schema, asked))

    def _source(self, asked: Tabulation) -> _Source:
        """The best marginal, and the cells that a declared answer to just them gives more exactly."""
        declared = self._declared(asked)
        try:
            marginal = self.law.best(names_of([asked]))
        except NotIdentifiableError:
            if len(declared) < self._number(asked):
                raise
            return _Source(None, 0, declared)
        added = marginal.cells_added(asked)
        variance = marginal.noise.variance * added
        better = {place: each for place, each in declared.items() if each.noise.variance <= variance}
        return _Source(marginal, added, better)

    def _declared(self, asked: Tabulation) -> dict[int, NoisyAnswer]:
        """Declared answers to single cells, by place; the order of conditions does not matter."""
        schema = self.published.schema
        shown = [codes_shown(schema, asked, name) for name in asked.by]
        summed = dict(conditions_outside(asked.where, asked.by).conditions)
        found: dict[int, NoisyAnswer] = {}
        for each in sorted(self.law.answers, key=lambda each: -each.noise.variance):
            conditions = dict(Selection.parse(each.question, schema).binding(schema).conditions)
            own = [conditions.pop(name, ()) for name in asked.by]
            if conditions == summed and all(
                len(codes) == 1 and codes[0] in among for codes, among in zip(own, shown, strict=True)
            ):
                places = [among.index(codes[0]) for codes, among in zip(own, shown, strict=True)]
                # Without axes there is one cell, whose place no index has.
                flat = np.ravel_multi_index(places, [len(among) for among in shown]) if shown else 0
                found[int(flat)] = each
        return found

    def _sums(self, marginal: NoisyMarginal, asked: Tabulation) -> Floats:
        """Cells of one marginal, added up to those asked for."""
        if marginal.table not in self._tables:
            self._tables[marginal.table] = read_marginal(self.published, marginal)
        table = self._tables[marginal.table]
        cells = take_codes(table.counts, table.names, asked.where)
        gone = tuple(axis for axis, name in enumerate(table.names) if name not in asked.by)
        kept = [name for name in table.names if name in asked.by]
        return np.asarray(cells.sum(axis=gone)).transpose([kept.index(name) for name in asked.by]).ravel()


def _replaced(values: Floats, by_place: Mapping[int, float]) -> Floats:
    """The same with other numbers in some places."""
    for place, number in by_place.items():
        values[place] = number
    return values


def _ends_of_source(source: _Source, values: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    own = np.nan
    if source.marginal is not None:
        own = half_width_of_sum(source.marginal.noise, source.cells_added, confidence_level)
    declared = {
        place: half_width_of_sum(each.noise, 1, confidence_level) for place, each in source.declared.items()
    }
    half = _replaced(np.full(values.size, own), declared)
    return values - half, values + half
