"""The law of randomized response: rows, or items of units, distorted by matrices, published or withheld."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sfumato.arrays import Floats, Integers, MixedRadix
from sfumato.data.chunks import CodedBatch
from sfumato.data.long_format import LongTable
from sfumato.errors import NotIdentifiableError, ReleaseDamagedError, TooLargeError
from sfumato.estimates.counts import CountTable, Feasibility, OccupiedCounts, feasible_by_group, most_likely
from sfumato.estimates.estimates import (
    Certainties,
    Certainty,
    Limits,
    OccupiedCells,
    OccupiedEstimates,
    all_claim,
    normal_quantile,
)
from sfumato.estimates.intervals import score_limits
from sfumato.guarantees import Guarantee
from sfumato.guarantees.amplification import Amplification
from sfumato.guarantees.differential_privacy import ItemDifferentialPrivacy, LocalDifferentialPrivacy
from sfumato.laws.base import ItemColumns, Law, Published, refuse_unfit_matrices
from sfumato.laws.cross_validation import fit_groups
from sfumato.laws.estimator import (
    Formula,
    Target,
    common_conditions,
    conditions_outside,
    indicator,
    names_of,
    require_small,
    second_moment,
    shape_of,
    take_codes,
)
from sfumato.laws.posterior import GroupedRows, Posterior, SharedPrior, Targets, places_among
from sfumato.laws.shrinkage import NOBODY, linked_counts, occupied_groups, shares_with_overall
from sfumato.methods.randomized_response.variances import Axis, SeenCells, least_variances, variance_slopes
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import (
    AxisMatrix,
    DenseDistortion,
    Distortion,
    TwoValued,
    UniformDistortion,
    columns_of,
    contract,
    largest_amplification,
    largest_epsilon,
    squared,
    transposed,
)
from sfumato.schema import Attribute, Schema

# --------------------------------------------------------------------------------------------------
# What is believed of people whose public values were perturbed too.


def linked_posterior(
    matrices: Mapping[str, AxisMatrix], published: Published, targets: Targets, prior: SharedPrior
) -> Posterior:
    """Beliefs by weighing every published row, by Bayes, with how likely it is to be of such a person.

    A member is one of the published rows, so the rows' own weights are added up; somebody else is like the joint
    distribution that was fitted to them. Where the joint table is too large, the shared prior is what is left. The own
    row of a member is part of the fitted distribution too: beliefs about the rarest people are a little too sure.
    """
    found = prior.at(targets.names, targets.combinations)
    order = sorted(targets.names, key=lambda name: name in matrices)
    number_of_exact = sum(name not in matrices for name in order)
    joint = (*order, targets.sensitive.name)
    try:
        exact, counts = occupied_groups(published.count_occupied(joint), number_of_exact)
    except TooLargeError:
        return Posterior(found, targets.index)
    every: list[AxisMatrix] = [matrices.get(name) for name in joint]
    axes: list[AxisMatrix] = [None, *every[number_of_exact:]] if number_of_exact else every
    fitted = fit_groups(counts, axes, np.random.default_rng(0), codes=exact)
    linked = linked_counts(counts, axes, fitted) if targets.are_members else fitted
    beliefs = shares_with_overall(linked, NOBODY)
    codes = [targets.codes_of(name) for name in order]
    known = np.ones(len(found), bool)
    if exact is not None:
        places = places_among(np.stack(codes[:number_of_exact], axis=1), exact)
        known = places >= 0
        codes = [places, *codes[number_of_exact:]]
    found[known] = beliefs[tuple(each[known] for each in codes)]
    return Posterior(found, targets.index)


# --------------------------------------------------------------------------------------------------
# Rows whose attributes were distorted independently by public matrices.


LARGEST_PRODUCT = 1_000
"""Combinations of perturbed categories up to which the product of their matrices is written out."""

CHOSEN_FROM_ROWS = ("retention", "epsilon", "matrix", "attributes")
"""Parameters of redrawing that may be chosen by looking at the private rows."""

LARGEST_OCCUPIED = 5_000_000
"""Cells up to which those that occur are estimated together."""


def promises_of_distortions(
    distortions: Mapping[str, UniformDistortion | DenseDistortion], schema: Schema
) -> tuple[LocalDifferentialPrivacy, Amplification]:
    """What matrices promise a row of a published schema, from the whole numbers that are really drawn."""
    gammas = {name: largest_amplification(each) for name, each in distortions.items()}
    bounded = {name: gamma for name, gamma in gammas.items() if math.isfinite(gamma)}
    unbounded = tuple(name for name in gammas if name not in bounded)
    return (
        LocalDifferentialPrivacy(
            epsilon_by_attribute={name: largest_epsilon(distortions[name]) for name in bounded},
            unprotected=tuple(name for name in schema.names if name not in gammas),
            unbounded=unbounded,
        ),
        Amplification(gamma_by_attribute=bounded, unbounded=unbounded),
    )


class PerturbedRows(Law):
    """Each row's perturbed attributes were drawn from the matrix row of its true category.

    Published counts y of true counts x satisfy ``E[y] = x P`` with P the product of the attributes'
    matrices (identity where unperturbed), so ``y P^-1`` estimates x without bias (Guo 2010, eq. 2.2).

    Notes
    -----
    A cell's estimate is a sum over published rows, ``sum_i h(y_i)``, where h is a column of the
    inverse. Given the truth the rows are independent, and the covariance of the estimates is

    ``sum_i E[h h'] - E[h] E[h]'``, estimated without bias by ``sum_i h(y_i) h(y_i)' - diag(estimates)``,

    because E[h] is the indicator of the row's true cell and cells do not overlap. That is the noise of
    publishing alone, for statements about the private table's own rows: ``target="table"``, the default,
    because those rows are what was published (Guo's S2). For a population that the table was drawn from,
    the multinomial variance of the draw comes on top: ``(sum_i h h' - x x'/N) N/(N-1)`` (his S1 + S2).
    Both are of the same order, so neither may stand for the other: intervals of the one cover too often
    or too rarely for the other. The covariance is unbiased; standard errors are not taken below what
    :func:`~sfumato.methods.randomized_response.variances.least_variances` proves, as the unbiased variance of a
    cell of a handful of rows can be, even below zero.

    Examples
    --------
    >>> from sfumato.randomness.distortion import UniformDistortion
    >>> PerturbedRows(distortions={"job": UniformDistortion(retention=0.5, size=3)}).sentence
    "Each row's job was distorted independently by a public matrix (condition number 2)."
    """

    rows_are_independent: ClassVar[bool] = True

    law: Literal["perturbed-rows"] = "perturbed-rows"
    distortions: dict[str, Distortion]

    chosen_from_rows: ClassVar[tuple[str, ...]] = CHOSEN_FROM_ROWS
    is_row_by_row: ClassVar[bool] = True

    def withheld(self) -> Law:
        """The same attributes, without their matrices."""
        return Withheld(perturbed=tuple(self.distortions))

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """The attributes with a matrix."""
        return tuple(self.distortions)

    def matrices(self) -> dict[str, Floats | TwoValued]:
        """The matrix of every perturbed attribute."""
        return {name: each.on_axis for name, each in self.distortions.items()}

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """Local differential privacy and amplification."""
        del stated
        return promises_of_distortions(self.distortions, schema)

    def question_schema(self, published: Schema) -> Schema:
        """The published attributes, which the matrices must fit: one for another would give wrong numbers."""
        refuse_unfit_matrices({name: each.size for name, each in self.distortions.items()}, published)
        return published

    def grouped_rows(self, published: Published, public: Sequence[str], sensitive: str) -> GroupedRows | None:
        """All published rows, where public values are published as they are."""
        if any(name in self.distortions for name in public):
            return None
        size = published.schema[sensitive].size
        drawn = self.distortions.get(sensitive)
        channel = np.eye(size) if drawn is None else drawn.dense()
        return GroupedRows.of(published.count_occupied((*public, sensitive)), public, sensitive, channel)

    def posterior(self, published: Published, targets: Targets, prior: SharedPrior) -> Posterior:
        """By groups, or where public values are perturbed too, by linking every published row as far as it may be theirs."""
        if not any(name in self.distortions for name in targets.names):
            return super().posterior(published, targets, prior)
        return linked_posterior(self.matrices(), published, targets, prior)

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> PerturbedCounts:
        """Published counts over the attributes asked about, with the matrix of each."""
        exact = common_conditions(asked, lambda name: name not in self.distortions)
        shown = {name for each in asked for name in each.by}
        names = tuple(name for name in names_of(asked) if name in shown or name not in exact.names)
        table = published.count_by(names, exact)
        return PerturbedCounts(
            np.asarray(table.counts, dtype=np.float64),
            names,
            [self._matrix(each) for each in table.attributes],
            [self._inverse(each) for each in table.attributes],
            published.number_of_rows,
        )

    def estimate_occupied(self, published: Published, names: Sequence[str]) -> OccupiedCells | None:
        """Unperturbed combinations that occur, times every combination of the perturbed attributes."""
        perturbed = tuple(name for name in names if name in self.distortions)
        exact = tuple(name for name in names if name not in self.distortions)
        sizes = [published.schema[name].size for name in perturbed]
        width = math.prod(sizes)
        if width > LARGEST_PRODUCT:
            return None
        counted = published.count_occupied((*exact, *perturbed))
        groups, codes = _combinations(counted, exact, published.schema)
        number = len(codes[0]) if codes else 1
        if number * width > LARGEST_OCCUPIED:
            return None
        place = MixedRadix(sizes).encode([counted.codes_of(name) for name in perturbed]) if perturbed else 0
        cells = np.bincount(groups * width + place, counted.counts, minlength=number * width)
        inverse: Floats = np.eye(1)
        for name in perturbed:
            inverse = np.asarray(np.kron(inverse, self.distortions[name].inverse()), dtype=np.float64)
        redrawn = np.indices(sizes).reshape(len(sizes), width)
        return OccupiedCells(
            {name: np.repeat(each, width) for name, each in zip(exact, codes, strict=True)}
            | {name: np.tile(each, number) for name, each in zip(perturbed, redrawn, strict=True)},
            OccupiedEstimates.of(cells.reshape(number, width).astype(np.float64), inverse),
        )

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative cells that add up to the exact total of every unperturbed combination.

        Conditions on perturbed attributes become cells of their own first, so that what adds up is
        known exactly: the number of rows with those unperturbed values.
        """
        where = conditions_outside(tabulation.where, self.distortions)
        perturbed = {name: codes for name, codes in tabulation.where.conditions if name in self.distortions}
        whole = Tabulation(tuple(dict.fromkeys((*tabulation.by, *perturbed))), where)
        is_exact = [name not in self.distortions for name in whole.by]
        formula = self.formula(published, (whole,))
        if feasibility == "em":
            made = self._most_likely(take_codes(formula.counts, whole.by, where), whole.by)
        else:
            made = feasible_by_group(
                formula.values(whole).reshape(shape_of(published.schema, whole)), is_exact, feasibility
            )
        for axis, name in reversed(list(enumerate(whole.by))):
            if name in perturbed:
                # Unperturbed attributes were restricted when counting; perturbed ones could not be.
                made = made.take(list(perturbed[name]), axis=axis)
            if name not in tabulation.by:
                made = made.sum(axis=axis)
        return np.asarray(made).ravel()

    def _most_likely(self, counts: Floats, names: Sequence[str]) -> Floats:
        """Most likely true counts; unperturbed combinations keep their totals, since no row leaves them."""
        matrices = [self.distortions[name].on_axis if name in self.distortions else None for name in names]
        back = [transposed(matrix) for matrix in matrices]
        # The likelihood has one top, which every start finds that rules no cell out.
        return most_likely(
            counts,
            lambda true: contract(true, matrices),
            lambda ratio: contract(ratio, back),
            np.ones_like(counts),
        )

    def treats_alike(self, name: str) -> bool:
        """Unless a matrix of its own says what becomes of each category."""
        return not isinstance(self.distortions.get(name), DenseDistortion)

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that estimates of the table's cells will have, from its true counts.

        The variance of a cell is ``sum over published cells of E[y] h^2`` minus its true count.
        """
        matrices = [self._matrix(each) for each in true_counts.attributes]
        inverses = [self._inverse(each) for each in true_counts.attributes]
        expected = contract(true_counts.counts, matrices)
        squares = contract(expected, [squared(each) for each in inverses])
        return np.asarray(np.sqrt(np.clip(squares - true_counts.counts, 0, None)))

    @property
    def sentence(self) -> str:
        """The link in words."""
        worst = math.prod(each.condition_number for each in self.distortions.values())
        names = " and ".join(self.distortions)
        were = "was" if len(self.distortions) == 1 else "were"
        matrices = "a public matrix" if len(self.distortions) == 1 else "public matrices"
        return (
            f"Each row's {names} {were} distorted independently by {matrices} (condition number {worst:.3g})."
        )

    def _matrix(self, attribute: Attribute) -> AxisMatrix:
        distortion = self.distortions.get(attribute.name)
        return None if distortion is None else distortion.on_axis

    def _inverse(self, attribute: Attribute) -> AxisMatrix:
        distortion = self.distortions.get(attribute.name)
        return None if distortion is None else distortion.inverse_on_axis


@dataclass(frozen=True, eq=False)
class PerturbedCounts(Formula):
    """Published counts, and how each axis of them was distorted.

    Parameters
    ----------
    counts
        ``(size of the first attribute, size of the second, ...)``.
    names
        One for each axis, those that are shown first.
    matrices, inverses
        For each axis its distortion and the inverse, None where it was published as it is.
    number_of_rows
        Of the table.
    """

    counts: Floats
    names: tuple[str, ...]
    matrices: Sequence[AxisMatrix]
    inverses: Sequence[AxisMatrix]
    number_of_rows: float

    def values(self, asked: Tabulation) -> Floats:
        """``y P^-1``, summed over what is not shown."""
        return contract(self.counts, self._weights(asked)).ravel()

    def variances(self, asked: Tabulation) -> Floats:
        """``sum h^2`` less the estimate, and never less than publishing can have left."""
        weights = self._weights(asked)
        squares = contract(self.counts, [squared(each) for each in weights]).ravel()
        least = least_variances(self.counts, list(zip(self.matrices, weights, strict=True))).ravel()
        return np.maximum(squares - contract(self.counts, weights).ravel(), least)

    def spread(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """How the estimated variance goes with the estimate: their covariance over the variance."""
        variances = self.variances(asked)
        weights = self._weights(asked)
        axes = [
            Axis(matrix, inverse, weight, asked.where.codes(name))
            for name, matrix, inverse, weight in zip(
                self.names, self.matrices, self.inverses, weights, strict=True
            )
        ]
        return variances, variance_slopes(self.counts, axes, variances)

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Of counts about the table, where what is published of them takes few values."""
        perturbed = [axis for axis in self._asked_axes(asked) if self.inverses[axis] is not None]
        if target != "table" or not perturbed:
            return None
        seen = SeenCells(
            self.counts,
            {axis: self.matrices[axis] for axis in perturbed},
            self._weights(asked, [None] * len(self.names)),
            self._rows(self._weights(asked)),
        )
        return seen.limits(self.values(asked), partial(self._score_limits, asked))

    def _score_limits(self, asked: Tabulation, confidence_level: float) -> tuple[Floats, Floats]:
        return score_limits(self.values(asked), *self.spread(asked), normal_quantile(confidence_level))

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """``sum h g'`` less what is in both: the product of two expectations is the indicator of both."""
        second = second_moment(self.counts, self._weights(one), self._weights(other))
        return second - self.shared(one, other)

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Exact without a perturbed attribute, and where no row has the unperturbed values asked for."""
        if all(self.inverses[axis] is None for axis in self._asked_axes(asked)):
            return all_claim(Certainty.EXACT, number)
        return np.where(self._rows(self._weights(asked)) == 0, Certainty.EXACT, Certainty.ESTIMATED).astype(
            np.int8
        )

    def _asked_axes(self, asked: Tabulation) -> list[int]:
        """Axes that are shown, or of which some categories are asked for."""
        return [
            axis
            for axis, name in enumerate(self.names)
            if name in asked.by or asked.where.codes(name) is not None
        ]

    def _rows(self, weights: Sequence[AxisMatrix]) -> Floats:
        """For every cell the rows that have its unperturbed values, which are known exactly, ``(cells,)``."""
        counts, shape = self.counts, contract(self.counts, weights).shape
        for axis, (inverse, weight) in enumerate(zip(self.inverses, weights, strict=True)):
            if inverse is None:
                counts = contract(counts, [*[None] * axis, weight])
            else:
                counts = counts.sum(axis=axis, keepdims=True)
        return np.broadcast_to(counts, shape).ravel()

    def _weights(self, asked: Tabulation, inverses: Sequence[AxisMatrix] | None = None) -> list[AxisMatrix]:
        """For each axis, what a published category counts toward each cell; or would, with other inverses."""
        return [
            columns_of(inverse, asked.where.codes(name))
            if name in asked.by
            else _sum_of_columns(inverse, asked.where.codes(name), size)
            for name, inverse, size in zip(
                self.names,
                self.inverses if inverses is None else inverses,
                self.counts.shape,
                strict=True,
            )
        ]


def _combinations(
    counted: OccupiedCounts, names: Sequence[str], schema: Schema
) -> tuple[Integers, tuple[Integers, ...]]:
    """Of every counted cell the number of its combination over some attributes, and the codes of each combination."""
    if not names:
        return np.zeros(counted.counts.size, dtype=np.int64), ()
    radix = MixedRadix([schema[name].size for name in names])
    keys, groups = np.unique(radix.encode([counted.codes_of(name) for name in names]), return_inverse=True)
    return groups, radix.decode(keys)


def _sum_of_columns(inverse: AxisMatrix, codes: tuple[int, ...] | None, size: int) -> Floats:
    """The inverse times the indicator of some categories, ``(size, 1)``; the rows of an inverse sum to 1."""
    chosen = indicator(size, codes)
    # Both kinds of inverse act on an axis, so it is the transposed one that multiplies the indicator.
    return (chosen if codes is None else contract(chosen, [transposed(inverse)]))[:, None]


# --------------------------------------------------------------------------------------------------
# Rows whose attributes were distorted independently by matrices that nobody outside is told.


class Withheld(Law):
    """Which attributes were perturbed, and nothing of how strongly.

    What is not perturbed is counted exactly. Of the rest no count can be told: a cell can have risen or
    fallen (Guo 2010, lemma 1). What stays valid without the matrices, such as tests of independence, is what
    each row's redrawing does to *any* table, and is told by :func:`sfumato.analysis.unknown_distortion.advise`.

    Examples
    --------
    >>> Withheld(perturbed=("job",)).sentence
    "Each row's job was distorted independently by a matrix that is withheld."
    """

    law: Literal["withheld"] = "withheld"
    perturbed: Annotated[tuple[str, ...], Field(min_length=1)]

    chosen_from_rows: ClassVar[tuple[str, ...]] = CHOSEN_FROM_ROWS
    is_withheld: ClassVar[bool] = True
    is_row_by_row: ClassVar[bool] = True

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.perturbed)) != len(self.perturbed):
            raise ValueError("perturbed attributes must be different from each other.")
        return self

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """The perturbed attributes."""
        return self.perturbed

    def question_schema(self, published: Schema) -> Schema:
        """The published attributes, among which the perturbed ones must be."""
        unknown = [name for name in self.perturbed if name not in published]
        if unknown:
            raise ReleaseDamagedError(
                f"the release's law says that {unknown[0]!r} was perturbed, which it does not publish. "
                "Get the release again from where it came."
            )
        return published

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> PerturbedCounts:
        """Exact counts where nothing perturbed is asked about."""
        self._refuse_perturbed(names_of(asked))
        return PerturbedRows(distortions={}).formula(published, asked)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """The exact counts, where nothing perturbed is asked about."""
        del feasibility
        return self.estimate(published, tabulation).values

    def treats_alike(self, name: str) -> bool:
        """Yes: what is told at all is exact."""
        del name
        return True

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Zero of what is published as it is; refused of the rest."""
        self._refuse_perturbed(true_counts.names)
        return np.zeros(true_counts.counts.shape)

    def _refuse_perturbed(self, names: Iterable[str]) -> None:
        hidden = [name for name in names if name in self.perturbed]
        if hidden:
            raise NotIdentifiableError(
                f"estimates about {' and '.join(hidden)} are not valid: the law is withheld. Published values were redrawn by a "
                "matrix that nobody is told, and a true count can be larger or smaller than the published one. Attributes that "
                "were not perturbed are counted exactly; `sfumato independence` tests at its level all the same; "
                "`sfumato advise` says what else stays valid."
            )

    @property
    def sentence(self) -> str:
        """The link in words."""
        one = len(self.perturbed) == 1
        matrices = "a matrix that is withheld" if one else "matrices that are withheld"
        return f"Each row's {' and '.join(self.perturbed)} {'was' if one else 'were'} distorted independently by {matrices}."


# --------------------------------------------------------------------------------------------------
# Units whose every item was distorted independently by one public matrix: baskets, ratings.


class PerturbedItems(Law):
    """What a unit has of each item was drawn from the matrix row of what it truly has.

    The wide table of units by items, of which the long one lists the cells that are not empty, is one of perturbed
    rows (:class:`PerturbedRows`) in which every attribute has the same matrix: category 0 is that a unit lacks the
    item, the others are its values. So every question is answered by that law, from counts over the items asked about.

    Examples
    --------
    >>> from sfumato.randomness.distortion import UniformDistortion
    >>> kept = UniformDistortion(retention=0.5, size=2)
    >>> PerturbedItems(distortion=kept, long=LongTable(table="items", item="item", number_of_units=9)).sentence
    'What each of 9 units has of each item was distorted independently by a public matrix (condition number 2).'
    """

    rows_are_independent: ClassVar[bool] = True
    chosen_from_rows: ClassVar[tuple[str, ...]] = CHOSEN_FROM_ROWS

    law: Literal["perturbed-items"] = "perturbed-items"
    distortion: Distortion
    long: LongTable

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.long.value is None and self.distortion.size != 2:
            raise ValueError("a basket has an item or lacks it, so that the matrix has two rows and columns.")
        return self

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """The columns of the long table."""
        return self.long.names

    def question_schema(self, published: Schema) -> Schema:
        """An attribute for each item."""
        wide = self.long.widened(published)
        if wide.attributes[0].size != self.distortion.size:
            raise ReleaseDamagedError(
                "the release's law has a distortion matrix that does not fit what a unit can have of an item. "
                "Get the release again from where it came."
            )
        return wide

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """Differential privacy of every single item."""
        del schema, stated
        return promises_of_items(self.distortion)

    def refuse_unfit_tables(self, published: Published) -> None:
        """Refuse rows of units that there are not, and items that a unit has twice."""
        published.items(self.long).counts()

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> PerturbedCounts:
        """That of perturbed rows, over the items asked about."""
        return self.on_items(asked).formula(WideUnits(published, self.long), asked)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative cells that add up to the number of units."""
        wide = WideUnits(published, self.long)
        return self.on_items((tabulation,)).consistent(wide, tabulation, feasibility=feasibility)

    def on_items(self, asked: Sequence[Tabulation]) -> PerturbedRows:
        """The law of the wide table, as far as some questions see it."""
        names = dict.fromkeys(name for each in asked for name in (*each.by, *each.where.names))
        return PerturbedRows(distortions=dict.fromkeys(names, self.distortion))

    def treats_alike(self, name: str) -> bool:
        """As perturbed rows do."""
        return PerturbedRows(distortions={name: self.distortion}).treats_alike(name)

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Those of perturbed rows."""
        law = PerturbedRows(distortions=dict.fromkeys(true_counts.names, self.distortion))
        return law.expected_standard_errors(true_counts)

    @property
    def sentence(self) -> str:
        """The link in words."""
        return (
            f"What each of {self.long.number_of_units:,} units has of each item was distorted independently by a public "
            f"matrix (condition number {self.distortion.condition_number:.3g})."
        )


def promises_of_items(distortion: Distortion) -> tuple[ItemDifferentialPrivacy]:
    """What a matrix promises of every item of a unit, from the whole numbers that are really drawn."""
    epsilon = largest_epsilon(distortion)
    return (ItemDifferentialPrivacy(epsilon=epsilon if math.isfinite(epsilon) else None),)


@dataclass(frozen=True, eq=False)
class WideUnits:
    """A release in long form, as perturbed rows see one: a row for each unit, an attribute for each item.

    Parameters
    ----------
    published
        The release.
    long
        Its table.
    """

    published: Published
    long: LongTable

    @property
    def schema(self) -> Schema:
        """An attribute for each item."""
        return self.published.schema

    @property
    def number_of_rows(self) -> int:
        """Units."""
        return self.long.number_of_units

    def count_by(self, names: Sequence[str], where: Selection) -> CountTable:
        """Published counts over some items, among all units."""
        assert not where.conditions  # Every item is distorted, so that no condition may filter.
        attributes = self.schema.select(names)
        sizes = [each.size for each in attributes]
        require_small(sizes, names)
        if not names:
            return CountTable((), np.array(self.number_of_rows))
        if len(names) == 1:
            return CountTable(attributes, self.published.items(self.long).counts()[self._places(names)[0]])
        cells = MixedRadix(sizes).encode(list(self.published.items(self.long).codes(self._places(names))))
        counts = np.bincount(cells, minlength=int(np.prod(sizes)))
        return CountTable(attributes, counts.reshape(sizes))

    def count_occupied(self, names: Sequence[str], *, weight: str | None = None) -> OccupiedCounts:
        """Not asked by the law of perturbed rows."""
        return self.published.count_occupied(names, weight=weight)

    def items(self, long: LongTable) -> ItemColumns:
        """Those of the release."""
        return self.published.items(long)

    def scan(self, table: str, names: Sequence[str]) -> Iterator[CodedBatch]:
        """Those of the release."""
        return self.published.scan(table, names)

    def _places(self, names: Sequence[str]) -> list[int]:
        return [self.schema.names.index(name) for name in names]
