"""Counts from decoy rows by one or several sensitive attributes, with variances; suppressed rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.estimates.estimates import Certainties, Certainty, Limits, normal_quantile
from sfumato.laws.base import Published
from sfumato.laws.estimator import (
    Formula,
    JointCounts,
    Target,
    codes_shown,
    conditions_outside,
    indicator,
    names_of,
    order_of,
    shape_of,
    take_codes,
)
from sfumato.methods.randomized_response.law import PerturbedCounts, PerturbedRows
from sfumato.methods.splu_gen.decoy_model import (
    MOST_VALUES,
    DecoyModel,
    JointCells,
    Predicate,
    between_cells,
    covariance,
    leaning_of,
    margin_variance,
    variances_of,
)
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import contract

# --------------------------------------------------------------------------------------------------
# What rows that were left out add to the errors of counts of decoys.
#
# A remainder that groups do not divide was left out at random, so that every row left out is in a cell with
# the probability of a published
# one. Rows that were left out because another drawn attribute's value was rare are taken to be spread like
# that too. How many there
# were is not published: errors allow for the most. They are mean squares and products of what is missing, not
# variances, because rows
# left out are always missing and never too many.


def left_out_variances(values: Floats, rows: float, most: int) -> Floats:
    """Mean square of what the rows left out, were they the most there can be, would add to public counts.

    A cell without a published row may have one that was left out: its share is that of a row more.
    """
    shares = (values + 1) / (rows + 2)
    return np.asarray(most * shares * (1 - shares) + (most * shares) ** 2)


def left_out_squares(shares: Floats, most: int) -> Floats:
    """The same of cells by their shares of all rows, so that it adds up with :func:`left_out_products`."""
    return np.asarray(most * shares + most * (most - 1) * shares**2)


def left_out_products(one: Floats, other: Floats, both: Floats, most: int) -> Floats:
    """Mean products of what the rows left out would add to pairs of counts, ``(cells, cells)``.

    Parameters
    ----------
    one, other
        Shares of all rows that are in each cell, ``(cells,)``.
    both
        That are in both, ``(cells, cells)``.
    most
        Rows that may have been left out.

    Examples
    --------
    Three rows, of which none or all are in a cell that has every row:

    >>> left_out_products(np.ones(1), np.ones(1), np.ones((1, 1)), 3).item()
    9.0
    """
    return np.asarray(most * both + most * (most - 1) * np.outer(one, other))


def claims_of(is_known: Booleans, most_left_out: int) -> Certainties:
    """What is known of the published rows is so of the table, save the rows left out."""
    known = Certainty.BOUNDED if most_left_out else Certainty.EXACT
    return np.where(is_known, known, Certainty.ESTIMATED).astype(np.int8)


def certain_ends(values: Floats, claims: Certainties, most_left_out: int) -> tuple[Floats, Floats]:
    """Least and most of what is known; infinite of estimates."""
    is_known = claims > Certainty.ESTIMATED
    return np.where(is_known, values, -np.inf), np.where(is_known, values + most_left_out, np.inf)


# --------------------------------------------------------------------------------------------------
# Counts from decoy rows by the model of one drawn attribute, and what counts of several have in common with
# them.


MOST_PREDICATES = 80
"""Public combinations up to which covariances between them are computed; their pairs cost time."""

LARGEST_SPREAD = 2**17
"""Public combinations times values up to which shares are made to add up over all combinations."""


class DecoyCounts(Formula):
    """Questions about one drawn attribute at most, and public ones.

    Parameters
    ----------
    published
        The release.
    asked
        The whole question: what is read at once for all of it.
    attribute
        The drawn attribute.
    model
        Its model.
    require_law
        Refuses what the model does not determine.
    most_left_out
        Rows that may have been left out of the release.
    at_random
        Of these, the rows that are taken to have been left out at random; the others had values of this attribute that no published row shows.
    is_drawn_alone
        Groups were made for this attribute by itself, so that the model says which values meet.
    """

    def __init__(
        self,
        published: Published,
        asked: Sequence[Tabulation],
        attribute: str,
        model: DecoyModel,
        require_law: Callable[[DecoyModel, str], None],
        most_left_out: int,
        at_random: int,
        *,
        is_drawn_alone: bool,
    ) -> None:
        self.schema = published.schema
        self.is_drawn_alone = is_drawn_alone
        self.number_of_rows = published.number_of_rows
        self.most_left_out = most_left_out
        self.at_random = at_random
        self.attribute = attribute
        self._published = published
        self.model = model
        self._require_law = require_law
        self._published_counts = JointCounts(published, asked, (attribute,))
        self._known: dict[Tabulation, list[Predicate]] = {}
        self._moments: dict[Tabulation, Floats] = {}
        self._spreads: dict[tuple[str, ...], Floats] = {}
        self._shares_of_rows: dict[Tabulation, Floats] = {}

    def values(self, asked: Tabulation) -> Floats:
        """Published counts of public values or of drawn values alone; ``y T^-1`` where they meet."""
        if self._is_margin(asked):
            return self._summed(asked, self._counts(asked)[0])
        return (self._estimates(asked) @ self._weights(asked)).ravel()[self._order(asked)]

    def variances(self, asked: Tabulation) -> Floats:
        """Of the draws, of which rows sit where and of which values meet, and of what is missing; of public counts, of rows left out alone."""
        if not self._is_drawn(asked):
            return left_out_variances(self.values(asked), self.number_of_rows, self.most_left_out)
        return self._of_draws(asked) + self._of_missing(asked)

    def bounds(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """Of public counts: those published, and the rows that may have been left out besides."""
        values = self.values(asked)
        return certain_ends(values, self.certainty(asked, values.size), self.most_left_out)

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Public counts are bounded by the rows that were left out, and exact where none was.

        So is nothing, where no published row has the public values asked for.
        """
        del number
        is_known = np.ones(math.prod(shape_of(self.schema, asked)), bool)
        if self._is_drawn(asked):
            is_empty = ~self._counts(asked).any(axis=1)
            is_known = np.repeat(is_empty, self._number_of_sums(asked))[self._order(asked)]
        return claims_of(is_known, self.most_left_out)

    def _of_draws(self, asked: Tabulation) -> Floats:
        """Variances of the estimates about the true counts of the published rows, as far as their values are shown."""
        if self._is_margin(asked) and self._are_meetings_unknown:
            return self._summed(asked, self._margin_variances)
        weights = self._weights(asked)
        if self._is_margin(asked):
            found = np.einsum("vs,vw,ws->s", weights, self.model.margin_covariance, weights)
            return np.asarray(np.clip(found, 0, None))
        self._require_law(self.model, self.attribute)
        if asked.by:
            found = np.array([variances_of(each, weights) for each in self._predicates(asked)])
        else:
            found = np.clip(weights.T @ self._moments_of(asked) @ weights, 0, None)
        return np.asarray(found.ravel()[self._order(asked)])

    def spread(self, asked: Tabulation) -> tuple[Floats, Floats] | None:
        """How the variance goes with the estimate.

        Of drawn values by themselves the variance of a count f is ``f (1 - 1/gamma)``, or less. Where they meet public values
        it goes with the count as it would if the rows that fit (:meth:`shares`) were drawn one by one, in proportion to the two variances.
        What is stated is the variance of the fitted count; intervals start from that of the estimate, on the line through it.
        """
        if not self._is_drawn(asked):
            return None
        variances, values, missing = self._of_draws(asked), self.values(asked), self._of_missing(asked)
        if not self._is_margin(asked):
            weights, order = self._weights(asked), self._order(asked)
            rows = self.shares(self._public(asked)) * self.model.counts
            slopes = variances * leaning_of(self.model, rows, weights).ravel()[order]
            return variances + slopes * (values - (rows @ weights).ravel()[order]) + missing, slopes
        # What no published row has is as uncertain as rows may have gone unseen or been left out, whatever its count.
        slopes = np.divide(variances, values, out=np.zeros_like(values), where=values > 0)
        return variances + missing, slopes

    def wholes(self, asked: Tabulation) -> Floats | None:
        """Rows that have the public values asked for: drawn values are a part of them."""
        if not self._is_drawn(asked):
            return None
        return np.repeat(self._counts(asked).sum(axis=1), self._number_of_sums(asked))[self._order(asked)]

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Of values that no published row shows, where rare ones were left out: so many rows at the most."""
        unseen = self.model.unseen
        if target == "population" or unseen.rarest < 2 or not self._is_drawn(asked):
            return None
        numbers, shares, places = self._of_values(asked)
        is_alone = (numbers > 0) & (shares == 0) & (places > 0)
        most = np.where(is_alone, unseen.most_rare(numbers), np.nan)
        errors = np.sqrt(unseen.by_chance(numbers, shares, places))
        order = self._order(asked)
        return partial(_ends_of_rare, most.ravel()[order], errors.ravel()[order])

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Of the draws to second order, between values and between public combinations, and of the rows left out."""
        drawn = [self._is_drawn(each) for each in (one, other)]
        if not any(drawn):
            # They lie between bounds, which combine by themselves.
            return np.zeros([math.prod(shape_of(self.schema, each)) for each in (one, other)])
        left_out = self._between_rows_left_out(one, other)
        return left_out + self._between_draws(one, other) if all(drawn) else left_out

    def _between_draws(self, one: Tabulation, other: Tabulation) -> Floats:
        """What the draws make of it where both are drawn."""
        are_margins = self._is_margin(one) and self._is_margin(other)
        if are_margins and self._are_meetings_unknown:
            # Which values meet is not determined, so neither is how two counts vary together.
            found = np.full((self._number_of_sums(one), self._number_of_sums(other)), np.nan)
            np.fill_diagonal(found, self._of_draws(one) + self._of_unseen(one) if one is other else np.nan)
            return found
        left, right = self._weights(one), self._weights(other)
        if not are_margins:
            self._require_law(self.model, self.attribute)
        if one is other:
            order, found = self._order(one), self.model.unseen.between_places(left, self._places(one))
            found += (
                left.T @ self.model.margin_covariance @ left
                if are_margins
                else between_cells(self._predicates(one), left)
            )
            return found[np.ix_(order, order)]
        if are_margins:
            return left.T @ self.model.margin_covariance @ right + self._between_unseen(one, other)
        both = self._predicates(Tabulation(where=one.where & other.where))[0].shares
        found = covariance(self._predicates(one)[0], self._predicates(other)[0], both, left, right)
        return found + self._between_unseen(one, other)

    def _between_unseen(self, one: Tabulation, other: Tabulation) -> float:
        """Mean product of what two selections err by values that no published row shows."""
        unseen = self.model.unseen
        sums = np.hstack([self._weights(each) for each in (one, other)])
        first, second = (self._places(each) for each in (one, other))
        if self._public(one) == self._public(other):
            return float(unseen.between_places(sums, first)[0, 1])
        both = self.shares_of_rows(self._public(Tabulation(where=one.where & other.where)))
        return unseen.between_sums(sums, first.item() * second.item(), both.item())

    def _between_rows_left_out(self, one: Tabulation, other: Tabulation) -> Floats:
        """Mean products of what the rows left out at random add; where it is not known how many are in both, as if they had nothing to do with each other."""
        shares = self.shares_of_rows(one)
        if one is other:
            return left_out_products(shares, shares, np.diag(shares), self.at_random)
        others = self.shares_of_rows(other)
        try:
            both = self.shares_of_rows(Tabulation(where=one.where & other.where))[:, None]
        except (NotIdentifiableError, TooLargeError):
            both = np.outer(shares, others)
        return left_out_products(shares, others, both, self.at_random)

    def has_covariance(self, asked: Sequence[Tabulation], number: int, largest: int) -> bool:
        """Not between too many public combinations either, nor where no table holds them together."""
        drawn = [each for each in asked if self._is_drawn(each)]
        predicates = sum(math.prod(shape_of(self.schema, each, self._shown(each))) for each in drawn)
        few = self._published_counts.is_one_table and predicates <= MOST_PREDICATES
        return few and super().has_covariance(asked, number, largest)

    @cached_property
    def _are_meetings_unknown(self) -> bool:
        """Or not computed, where values are too many for all pairs of them."""
        values = len(self.model.counts)
        return (
            not self.is_drawn_alone or len(self.model.occurring) <= self.model.gamma or values > MOST_VALUES
        )

    @cached_property
    def _margin_variances(self) -> Floats:
        """Of the counts of all values over the whole table, ``(values,)``; of a sum of them, their sum at most.

        Values of one group exclude each other, so a sum of counts varies by the sum of these at most.
        """
        return np.array([margin_variance(each, self.model.gamma) for each in self.model.counts])

    def _summed(self, asked: Tabulation, by_value: Floats) -> Floats:
        """Numbers of the values that a question about the drawn attribute alone asks for, or their sum."""
        codes = asked.where.codes(self.attribute)
        chosen = np.asarray(by_value if codes is None else by_value[list(codes)], np.float64)
        return chosen if self.attribute in asked.by else np.array([chosen.sum()])

    def _number_of_sums(self, asked: Tabulation) -> int:
        """Sums over the drawn attribute's values that each public combination has."""
        codes, size = asked.where.codes(self.attribute), len(self.model.counts)
        return (size if codes is None else len(codes)) if self.attribute in asked.by else 1

    def _is_drawn(self, asked: Tabulation) -> bool:
        return self.attribute in asked.by or self.attribute in asked.where.names

    def _is_margin(self, asked: Tabulation) -> bool:
        """Whether no public attribute is involved."""
        return all(name == self.attribute for name in names_of([asked]))

    def _shown(self, asked: Tabulation) -> tuple[str, ...]:
        return tuple(name for name in asked.by if name != self.attribute)

    def _public(self, asked: Tabulation) -> Tabulation:
        """What a question asks of public attributes."""
        return Tabulation(self._shown(asked), conditions_outside(asked.where, (self.attribute,)))

    def _weights(self, asked: Tabulation) -> Floats:
        """Which sums over the drawn attribute's values are asked for, ``(values, sums)``."""
        codes, size = asked.where.codes(self.attribute), len(self.model.counts)
        if self.attribute in asked.by:
            return np.eye(size)[:, slice(None) if codes is None else list(codes)]
        return indicator(size, codes)[:, None]

    def _order(self, asked: Tabulation) -> Integers:
        """Where each cell of the tabulation stands among public combinations by sums of values."""
        laid_out = self._shown(asked) + tuple(name for name in asked.by if name == self.attribute)
        return order_of(asked.by, laid_out, shape_of(self.schema, asked, laid_out))

    def _counts(self, asked: Tabulation) -> Floats:
        """Published rows of each value in every public combination, ``(combinations, values)``."""
        counts = self._published_counts.cells(asked)
        return counts.reshape(-1, counts.shape[-1])

    def _estimates(self, asked: Tabulation) -> Floats:
        """Estimated rows of each value in every public combination."""
        if not self._is_drawn(asked):
            return self._counts(asked)
        self._require_law(self.model, self.attribute)
        return self._counts(asked) @ self.model.inverse

    def _predicates(self, asked: Tabulation) -> list[Predicate]:
        """One for each public combination; their moments are the costly part, and kept where they are few."""
        public = self._public(asked)
        if public in self._known:
            return self._known[public]
        found = [self.model.predicate(each) for each in self.shares(public)]
        if len(found) <= MOST_PREDICATES:
            self._known[public] = found
        return found

    def shares(self, public: Tabulation) -> Floats:
        """Share of each value's rows in each public combination, ``(combinations, values)``.

        They come from the whole table over the attributes named, whose shares add up to one, and not from the cells
        asked for: so a cell has one error by whichever door, and a sum of cells has that of the same sum asked for.
        Of a table too large for it they fit the rows of their cells alone.
        """
        names = tuple(sorted(names_of([public])))
        if not names:
            return np.ones((1, len(self.model.counts)))
        sizes = [self.schema[name].size for name in names]
        if math.prod(sizes) * len(self.model.counts) > LARGEST_SPREAD:
            estimates = self._counts(public) @ self.model.inverse
            return np.array([self.model.shares(each) for each in self.model.within_rows(estimates)])
        if names not in self._spreads:
            counts = self._published.count_by((*names, self.attribute), Selection()).counts
            spread = self.model.spread(counts.reshape(-1, counts.shape[-1]) @ self.model.inverse)
            self._spreads[names] = spread.reshape(counts.shape)
        chosen = take_codes(self._spreads[names], names, public.where)
        summed = tuple(axis for axis, name in enumerate(names) if name not in public.by)
        left = [name for name in names if name in public.by]
        moved = chosen.sum(axis=summed).transpose([*(left.index(name) for name in public.by), len(left)])
        return np.asarray(moved.reshape(-1, moved.shape[-1]))

    def _moments_of(self, asked: Tabulation) -> Floats:
        """Covariance of all values' estimates under one public selection, which many questions may share."""
        public = self._public(asked)
        if public not in self._moments:
            predicate = self._predicates(public)[0]
            everything = np.eye(len(self.model.counts))
            self._moments[public] = covariance(predicate, predicate, predicate.shares, everything, everything)
        return self._moments[public]

    def _of_unseen(self, asked: Tabulation) -> Floats:
        """Mean squares of what each cell errs by values that no published row shows."""
        return self.model.unseen.squares(*self._of_values(asked)).ravel()[self._order(asked)]

    def _of_values(self, asked: Tabulation) -> tuple[Floats, Floats, Floats]:
        """Unseen values that each sum has, its share of published rows, and the share of all rows of each public combination."""
        unseen = self.model.unseen
        numbers, shares = (self._summed(asked, each) for each in (unseen.are_unseen, unseen.shares))
        return numbers, shares, self._places(asked)[:, None]

    def _places(self, asked: Tabulation) -> Floats:
        """Share of all rows that each public combination has, ``(combinations,)``."""
        return np.asarray(self._counts(asked).sum(axis=1) / max(self.number_of_rows, 1.0))

    def _of_missing(self, asked: Tabulation) -> Floats:
        """Mean squares of what each cell errs by rows that no value tells of, and by rows left out."""
        return self._of_unseen(asked) + left_out_squares(self.shares_of_rows(asked), self.at_random)

    def shares_of_rows(self, asked: Tabulation) -> Floats:
        """Share of all rows that is in each cell: of drawn values, by the rows that fit."""
        if asked not in self._shares_of_rows:
            if not self._is_drawn(asked) or self._is_margin(asked):
                rows = self.values(asked)
            else:
                self._require_law(self.model, self.attribute)
                rows = (self.shares(self._public(asked)) * self.model.counts @ self._weights(asked)).ravel()
                rows = rows[self._order(asked)]
            self._shares_of_rows[asked] = rows / max(self.number_of_rows, 1.0)
        return self._shares_of_rows[asked]


def _ends_of_rare(most: Floats, errors: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Between nobody and as many as can have been left out, or have gone unseen by chance."""
    return np.where(np.isnan(most), np.nan, 0.0), np.maximum(most, normal_quantile(confidence_level) * errors)


# --------------------------------------------------------------------------------------------------
# Counts from decoy rows by several drawn attributes at once, whose groups were made independently.


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
