"""Many selections at once, each about one drawn attribute and a public condition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.laws.base import Published
from sfumato.methods.splu_gen.law.model import DecoyModel, Predicate, covariance
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates
from sfumato.values.selection import Selection

MOST_SELECTIONS = 60
"""Selections up to which the covariance between them is computed."""

LARGEST_JOINT_TABLE = 5_000_000
"""Cells of the table over all their attributes up to which it is."""


@dataclass(frozen=True, eq=False)
class Selections:
    """Selections with the published counts they need.

    Parameters
    ----------
    attribute
        The drawn attribute.
    selections
        What is asked.
    tables
        Published counts by the public attributes' names; each has the drawn attribute last. One table
        over all names when covariances are wanted.
    """

    attribute: str
    selections: tuple[Selection, ...]
    tables: dict[tuple[str, ...], CountTable]

    @classmethod
    def read(cls, published: Published, selections: Sequence[Selection], attribute: str) -> Selections:
        """Count once for all of them, or once for each set of attributes when there are many."""
        by_selection = [tuple(n for n in each.names if n != attribute) for each in selections]
        together = tuple(dict.fromkeys(name for names in by_selection for name in names))
        cells = math.prod(published.schema[name].size for name in (*together, attribute))
        jointly = len(selections) <= MOST_SELECTIONS and cells <= LARGEST_JOINT_TABLE
        wanted = {together} if jointly else set(by_selection)
        tables = {names: published.count_by((*names, attribute), Selection()) for names in wanted}
        return cls(attribute, tuple(selections), tables)

    def estimates(self, model: DecoyModel) -> Estimates:
        """Estimates, with covariances when one table holds every attribute."""
        values = np.array([self._value(each, model) for each in self.selections])
        if len(self.tables) > 1 or len(self.selections) > MOST_SELECTIONS:
            variances = np.array([self._variance(each, model) for each in self.selections])
            return Estimates(values, variances + self._floors(model))
        number = len(self.selections)
        whole = np.zeros((number, number))
        for i, j in itertools.combinations_with_replacement(range(number), 2):
            first, second = self.selections[i], self.selections[j]
            if first.codes(self.attribute) is None or second.codes(self.attribute) is None:
                continue  # without a condition on the drawn attribute the count is exact
            both = self._predicate(self._public(first) & self._public(second), model)
            weights = [self._indicator(each, len(model.counts)) for each in (first, second)]
            whole[i, j] = whole[j, i] = covariance(
                self._predicate(self._public(first), model),
                self._predicate(self._public(second), model),
                both.shares,
                weights[0],
                weights[1],
            )[0, 0]
        return Estimates.with_covariance(values, whole + np.diag(self._floors(model)))

    def _floors(self, model: DecoyModel) -> Floats:
        """What each selection's variance gets for the values it asks about that no published row shows."""
        return np.array([self._floor(each, model) for each in self.selections])

    def _floor(self, selection: Selection, model: DecoyModel) -> float:
        codes = selection.codes(self.attribute)
        floor = 0.0 if codes is None else float(model.unseen_variances[list(codes)].sum())
        return floor if floor and self._counts(self._public(selection)).any() else 0.0

    def for_population(self, estimates: Estimates, model: DecoyModel, rows: int) -> Estimates:
        """The same with the table's own variance as a draw added: ``x_both - x_i x_j / N``."""
        values = estimates.values
        inflate = rows / max(rows - 1, 1)
        if estimates.covariance is None:
            variances = (estimates.variances + values - values**2 / rows) * inflate
            return Estimates(values, np.clip(variances, 0, None))
        shared = np.array(
            [[self._value(first & second, model) for second in self.selections] for first in self.selections]
        )
        whole = (estimates.covariance + shared - np.outer(values, values) / rows) * inflate
        return Estimates.with_covariance(values, whole)

    @cached_property
    def _predicates(self) -> dict[Selection, Predicate]:
        return {}

    @cached_property
    def _variances(self) -> dict[Selection, Floats]:
        return {}

    def _public(self, selection: Selection) -> Selection:
        return Selection(tuple(each for each in selection.conditions if each[0] != self.attribute))

    def _indicator(self, selection: Selection, size: int) -> Floats:
        codes = selection.codes(self.attribute)
        result = np.zeros((size, 1))
        result[slice(None) if codes is None else list(codes)] = 1
        return result

    def _counts(self, public: Selection) -> Floats:
        """Published rows of each value among those that a public selection chooses, ``(values,)``."""
        fitting = next(names for names in self.tables if set(public.names) <= set(names))
        names = public.names if public.names in self.tables else fitting
        table = self.tables[names]
        result = np.asarray(table.counts)
        for axis, name in reversed(list(enumerate(names))):
            codes = public.codes(name)
            if codes is not None:
                result = result.take(list(codes), axis=axis)
            result = result.sum(axis=axis)
        return np.asarray(result, dtype=np.float64)

    def _value(self, selection: Selection, model: DecoyModel) -> float:
        public = self._public(selection)
        indicator = self._indicator(selection, len(model.counts))[:, 0]
        counts = self._counts(public)
        if not public.names or selection.codes(self.attribute) is None:
            return float(counts @ indicator)
        return float(counts @ model.inverse @ indicator)

    def _predicate(self, public: Selection, model: DecoyModel) -> Predicate:
        # Selections about one public group share its moments, which are the costly part.
        if public not in self._predicates:
            counts = self._counts(public)
            estimates = counts @ model.inverse if public.names else counts
            self._predicates[public] = model.predicate(model.shares(estimates))
        return self._predicates[public]

    def _variance(self, selection: Selection, model: DecoyModel) -> float:
        codes = selection.codes(self.attribute)
        if codes is None:
            return 0.0
        public = self._public(selection)
        if public not in self._variances:
            predicate = self._predicate(public, model)
            everything = np.eye(len(model.counts))
            self._variances[public] = covariance(
                predicate, predicate, predicate.shares, everything, everything
            )
        chosen = list(codes)
        return max(float(self._variances[public][np.ix_(chosen, chosen)].sum()), 0.0)
