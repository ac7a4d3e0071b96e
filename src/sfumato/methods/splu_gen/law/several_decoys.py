"""Counts from decoy rows by several drawn attributes at once, whose groups were made independently."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.chance.distortion import contract
from sfumato.errors import NotIdentifiableError
from sfumato.laws.asking import (
    Formula,
    JointCounts,
    codes_shown,
    conditions_outside,
    indicator,
    names_of,
    order_of,
    shape_of,
)
from sfumato.laws.base import Published, Target
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedCounts, PerturbedRows
from sfumato.methods.splu_gen.law.decoy_counts import MOST_PREDICATES, DecoyCounts
from sfumato.methods.splu_gen.law.joint_cells import JointCells
from sfumato.methods.splu_gen.law.left_out import (
    certain_ends,
    claims_of,
    left_out_products,
    left_out_squares,
)
from sfumato.methods.splu_gen.law.model import DecoyModel, covariance
from sfumato.values.arrays import Floats, Integers
from sfumato.values.certainty import Certainties, Certainty
from sfumato.values.estimates import Limits
from sfumato.values.selection import Tabulation


class SeveralDecoys(Formula):
    """Questions about several drawn attributes.

    A question about one of them is answered by its model, about several by the product of their matrices.

    Parameters
    ----------
    single
        Gives the formula of one drawn attribute.
    drawn
        Attributes that were drawn.
    product
        The formula of all together, worked out when it is needed.
    models
        By attribute that was drawn.
    left_out
        Rows that are taken to have been left out at random of a question about some of them; of one about none, all there may be.
    published, asked
        As for :class:`DecoyCounts`.
    """

    def __init__(
        self,
        single: Callable[[str], DecoyCounts],
        drawn: Sequence[str],
        product: Callable[[], PerturbedCounts],
        models: Callable[[str], DecoyModel],
        left_out: Callable[[Sequence[str]], int],
        published: Published,
        asked: Sequence[Tabulation],
    ) -> None:
        self.number_of_rows = published.number_of_rows
        self.schema = published.schema
        self._left_out = left_out
        self._published_counts = JointCounts(published, asked, tuple(drawn))
        self._model_of = models
        self._single_of = single
        self._drawn = tuple(drawn)
        self._make_product = product
        self._singles: dict[str, DecoyCounts] = {}

    def values(self, asked: Tabulation) -> Floats:
        """By the model of one attribute, or by the product."""
        return self._formula(asked).values(asked)

    def variances(self, asked: Tabulation) -> Floats:
        """Of one attribute by its model; of several by :class:`JointCells`, of values that no row shows and of rows left out."""
        if len(self._drawn_in(asked)) < 2:
            return self._formula(asked).variances(asked)
        of_draws = self._cells(asked).variances().ravel()[self._order(asked)] + self._unseen(asked)
        return of_draws + left_out_squares(self._shares_of_rows(asked), self._left_out(self._drawn_in(asked)))

    def spread(self, asked: Tabulation) -> tuple[Floats, Floats] | None:
        """Of one attribute by its model; of several there is none.

        As far as rows drawn one by one would lean, intervals of several leaned too much: truths lay below them three times as often as above.
        """
        return None if len(self._drawn_in(asked)) > 1 else self._formula(asked).spread(asked)

    def wholes(self, asked: Tabulation) -> Floats | None:
        """Of one attribute by its model; intervals of several do not lean."""
        return None if len(self._drawn_in(asked)) > 1 else self._formula(asked).wholes(asked)

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Of one attribute by its model."""
        return None if len(self._drawn_in(asked)) > 1 else self._formula(asked).limits(asked, target)

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """By the model of one attribute; of several, known only where no row has the public values asked for."""
        formula = self._formula(asked)
        claims = formula.certainty(asked, number)
        if isinstance(formula, DecoyCounts):
            return claims
        return claims_of(claims == Certainty.EXACT, self._left_out(()))

    def bounds(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """Of what is known."""
        values = self.values(asked)
        return certain_ends(values, self.certainty(asked, values.size), self._left_out(()))

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Of what both have drawn: the error of each such attribute, and of their products; of the rows left out."""
        drawn = self._drawn_in(one, other)
        if len(drawn) < 2:
            return self._single((drawn or self._drawn)[0]).covariance(one, other)
        try:
            return self._between_draws(one, other) + self._between_rows_left_out(one, other)
        except NotIdentifiableError:
            return np.full((self.values(one).size, self.values(other).size), np.nan)

    def _between_draws(self, one: Tabulation, other: Tabulation) -> Floats:
        if one is other:
            return self._of_cells(one)
        both = [name for name in self._drawn_in(one) if name in self._drawn_in(other)]
        return self._of_selections(one, other, both) if both else np.zeros((1, 1))

    def _between_rows_left_out(self, one: Tabulation, other: Tabulation) -> Floats:
        """As if they had nothing to do with each other where neither question has all attributes: a table of both would be worked out for nothing else."""
        drawn, shares = self._drawn_in(one, other), self._shares_of_rows(one)
        most = self._left_out(drawn)
        if one is other:
            return left_out_products(shares, shares, np.diag(shares), most)
        others = self._shares_of_rows(other)
        both = np.outer(shares, others)
        if drawn in (self._drawn_in(one), self._drawn_in(other)):
            both = self._shares_of_rows(Tabulation(where=one.where & other.where))[:, None]
        return left_out_products(shares, others, both, most)

    def _shares_of_rows(self, asked: Tabulation) -> Floats:
        """Share of all rows that is in each cell, by the rows that fit."""
        drawn = self._drawn_in(asked)
        if len(drawn) < 2:
            return self._single((drawn or self._drawn)[0]).shares_of_rows(asked)
        return self._cells(asked).rows().ravel()[self._order(asked)] / max(self.number_of_rows, 1.0)

    def _of_cells(self, asked: Tabulation) -> Floats:
        found, order = self._cells(asked).covariance(), self._order(asked)
        return found.reshape(order.size, order.size)[np.ix_(order, order)]

    def _of_selections(self, one: Tabulation, other: Tabulation, both: Sequence[str]) -> Floats:
        """Of two selections, which may overlap."""
        left, right = self._cells(one), self._cells(other)
        shared = self._cells(Tabulation(where=one.where & other.where))
        found = shared.products(left.weights, right.weights).reshape(1, 1)
        for name in both:
            (first,), (second,) = left.predicates(name), right.predicates(name)
            meeting = shared.shares(name).ravel()
            found = found + covariance(first, second, meeting, left.weights[name], right.weights[name])
        return found

    def has_covariance(self, asked: Sequence[Tabulation], number: int, largest: int) -> bool:
        """Not between too many cells of the other attributes."""
        for each in asked:
            shape = dict(zip(each.by, shape_of(self.schema, each), strict=True))
            others = [
                math.prod(size for shown, size in shape.items() if shown != name)
                for name in self._drawn_in(each)
            ]
            if max(others, default=0) * len(asked) > MOST_PREDICATES:
                return False
        return super().has_covariance(asked, number, largest)

    def _unseen(self, asked: Tabulation) -> Floats:
        """Mean squares of what each cell errs by values of each attribute that no published row shows."""
        cells, total = self._cells(asked), np.zeros(1)
        for name in self._drawn_in(asked):
            unseen, weights = self._model_of(name).unseen, self._weights(asked, name)
            places = cells.rows_of_others(name) / max(self.number_of_rows, 1.0)
            along = [-1 if each == name else 1 for each in self._drawn]
            numbers, shares = ((each @ weights).reshape(along) for each in (unseen.are_unseen, unseen.shares))
            total = total + unseen.squares(numbers, shares, places)
        return total.ravel()[self._order(asked)]

    def _cells(self, asked: Tabulation) -> JointCells:
        """Everything that the errors of a question's cells need."""
        models = {name: self._model_of(name) for name in self._drawn}
        counts = self._published_counts.cells(asked)
        flat = counts.reshape(-1, *counts.shape[counts.ndim - len(models) :])
        public = Tabulation(
            tuple(name for name in asked.by if name not in models), conditions_outside(asked.where, models)
        )
        return JointCells(
            models,
            contract(flat, [None, *(each.inverse for each in models.values())]),
            {name: self._single(name).shares(public) * models[name].counts for name in self._drawn_in(asked)},
            {name: self._weights(asked, name) for name in models},
        )

    def _weights(self, asked: Tabulation, name: str) -> Floats:
        """Which sums over a drawn attribute's values are asked for, ``(size, sums)``."""
        size = self.schema[name].size
        if name in asked.by:
            return np.eye(size)[:, list(codes_shown(self.schema, asked, name))]
        return indicator(size, asked.where.codes(name))[:, None]

    def _order(self, asked: Tabulation) -> Integers:
        """Where each cell of the tabulation stands among public combinations by sums of values."""
        laid_out = (
            *(each for each in asked.by if each not in self._drawn),
            *(each for each in self._drawn if each in asked.by),
        )
        return order_of(asked.by, laid_out, shape_of(self.schema, asked, laid_out))

    @cached_property
    def _product(self) -> PerturbedCounts:
        return self._make_product()

    def _drawn_in(self, *asked: Tabulation) -> tuple[str, ...]:
        names = names_of(asked)
        return tuple(name for name in self._drawn if name in names)

    def _single(self, name: str) -> DecoyCounts:
        if name not in self._singles:
            self._singles[name] = self._single_of(name)
        return self._singles[name]

    def _formula(self, asked: Tabulation) -> Formula:
        drawn = self._drawn_in(asked)
        return self._product if len(drawn) > 1 else self._single((drawn or self._drawn)[0])


@dataclass(frozen=True, eq=False)
class _Matrix:
    """A distortion matrix and its inverse under the names that the algebra of randomized response reads."""

    on_axis: Floats
    inverse_on_axis: Floats


def product_of(models: Mapping[str, DecoyModel]) -> PerturbedRows:
    """Independent attributes as a product of matrices; not validated again, since they are computed here."""
    matrices: dict[str, Any] = {name: _Matrix(each.distortion, each.inverse) for name, each in models.items()}
    return PerturbedRows.model_construct(distortions=matrices)
