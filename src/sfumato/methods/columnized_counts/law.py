"""The law of columnized counts: estimates, guarantees and posteriors from noisy counts of fragments."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sfumato.arrays import Floats, Integers
from sfumato.data.long_format import SparseUnits
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.estimates.counts import CountTable, Feasibility
from sfumato.estimates.estimates import Certainty, Estimates
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.guarantees.k_anonymity import SemanticKAnonymity
from sfumato.immutable import LARGEST_EPSILON, MOST_ROWS
from sfumato.laws.base import Law, Published
from sfumato.laws.estimator import Target, answer, names_of, require_small, shape_of, without_errors
from sfumato.laws.posterior import (
    Posterior,
    SharedPrior,
    Targets,
    beliefs_of_counts,
    expected_counts,
    places_among,
)
from sfumato.methods.columnized_counts.noisy_counts import (
    COLUMN_COLUMN,
    COUNT_COLUMN,
    FRAGMENT_COLUMN,
    ColumnSums,
    Entries,
    LongColumns,
    NoisyCountMatrix,
    NoisySums,
    NoisyTotal,
    PublishedColumn,
    read_table,
)
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.noise import scale_at_least
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# What noisy counts of rows promise together, and under which conditions.


LEAST_PAYMENT = 1e-6
"""Share of epsilon below which nothing was paid for the columns: it is the rounding of sums."""

LEARNED_COLUMNS = "the columns, which were learned from the same rows"
"""What a promise takes as known where no share of epsilon was spent on learning them."""

TRUNCATION_KEY = "the public key of truncation"
"""What a promise takes as known where a key decides which parts a row loses."""

PUBLIC_SIZE = "the number of rows or units, which is stated as public"
"""What a promise takes as known where the number of rows is published as it is."""


def promised(
    matrix: NoisyCountMatrix,
    *,
    number: int,
    column_budget: int | None,
    total_epsilon: float,
    columns_epsilon: float,
    is_size_public: bool,
    whole_units: bool,
) -> tuple[Guarantee, ...]:
    """The strongest promises that follow from how every column was published.

    A row that loses some of its parts to the column budget does so by chance, which costs the pointwise form,
    or by a public key, given which it is kept (Li and Li, theorem 7).
    """
    parts = column_budget or number
    size = (PUBLIC_SIZE,) if is_size_public else ()
    besides = Fraction(total_epsilon) + Fraction(columns_epsilon)
    numbers: dict[str, Any] = {
        "epsilon": scale_at_least(parts * Fraction(matrix.epsilon) + besides),
        "delta": scale_at_least(parts * Fraction(matrix.delta)),
        "whole_units": whole_units,
    }
    forms: list[dict[str, Any]] = [{"form": "pointwise", "given": size}]
    if parts < number:
        forms = [
            {"form": "additive", "given": size},
            {"form": "pointwise", "given": (TRUNCATION_KEY, *size)},
        ]
    added = [DifferentialPrivacy(**numbers, **form, relation="add-remove") for form in forms]
    return (
        SemanticKAnonymity(
            k=matrix.k,
            epsilon=total_epsilon,
            scope="each-column" if number > 1 else "table",
            whole_units=whole_units,
            given=size,
        ),
        *added,
        *(each.for_replacing() for each in added),
    )


def unless_paid(stated: Guarantee, premises: Sequence[Guarantee]) -> tuple[str, ...]:
    """That learned columns are taken as known, unless a promise leaves room for what was paid for them.

    Releases of older versions do not say how much that was; what they promise exceeds what their counts cost.
    """
    if not isinstance(stated, DifferentialPrivacy):
        return ()
    counts = [
        each.for_units(stated.rows_per_unit).epsilon
        for each in premises
        if isinstance(each, DifferentialPrivacy) and each.relation == stated.relation
    ]
    is_paid = bool(counts) and stated.epsilon > max(counts) * (1 + LEAST_PAYMENT)
    return () if is_paid else (LEARNED_COLUMNS,)


# --------------------------------------------------------------------------------------------------
# What is believed of people from rows that were published with noisy counts, or left out.


ALMOST_SURE = 1 - 1e-9
"""Counts of a row that are less likely than this to be published so, or left out, are not looked at."""


def posterior_of_rows(
    matrix: NoisyCountMatrix,
    columns: Sequence[PublishedColumn],
    published: Published,
    targets: Targets,
    prior: SharedPrior,
) -> Posterior:
    """Beliefs by the column that holds just what is known and wanted; the shared prior where none does."""
    before = prior.at(targets.names, targets.combinations)
    wanted = {*targets.names, targets.sensitive.name}
    holding = [each for each in columns if {*each.attributes} == wanted]
    if not holding:
        return Posterior(before, targets.index)
    names = (*targets.names, targets.sensitive.name)
    codes, (counts,) = read_table(published, holding[0].table, names, (COUNT_COLUMN,))
    rows = np.stack([codes[name].astype(np.int64) for name in names], axis=1)
    shown = _copies_of(targets, rows, counts.astype(np.int64))
    means = prior.group_sizes(targets.names, targets.combinations)[:, np.newaxis] * before
    expected = expected_copies(matrix, shown.ravel(), means.ravel()).reshape(shown.shape)
    found = beliefs_of_counts(expected, before, are_members=targets.are_members)
    return Posterior(found, targets.index)


def expected_copies(matrix: NoisyCountMatrix, shown: Integers, means: Floats) -> Floats:
    """Copies that rows are expected to have, from the copies shown, 0 where a row is absent, ``(rows,)``.

    Examples
    --------
    A row that is absent has few copies, if any; one shown with a hundred has about a hundred.

    >>> matrix = NoisyCountMatrix(k=5, epsilon=2.0, delta=1e-5)
    >>> expected_copies(matrix, np.array([0, 100]), np.array([1.0, 1.0])).round(1).tolist()
    [1.0, 100.0]
    """
    noise, k = matrix.noise, matrix.k
    # Twice as far as noise goes: beliefs beforehand may pull harder than it.
    reach = 2 * int(noise.half_width(ALMOST_SURE))
    is_absent = shown == 0
    low = np.where(is_absent, 0, np.maximum(shown - reach, k))
    high = np.where(is_absent, matrix.threshold(ALMOST_SURE), shown + reach)

    def likelihood(points: Integers) -> Floats:
        appears, left_out = matrix.release_probabilities_of(points)
        apart = shown[:, np.newaxis] - points
        # What would fall to k or below is published as k.
        drawn = np.where(shown[:, np.newaxis] == k, noise.cumulative(apart), noise.probability(apart))
        return np.where(is_absent[:, np.newaxis], left_out, appears * drawn)

    return expected_counts(low, high, likelihood, means)


def _copies_of(targets: Targets, rows: Integers, counts: Integers) -> Integers:
    """Copies published of each combination with each value, 0 where it is absent, ``(combinations, values)``."""
    shown = np.zeros((len(targets.combinations), targets.sensitive.size), np.int64)
    places = places_among(rows[:, :-1], targets.combinations)
    known = places >= 0
    np.add.at(shown, (places[known], rows[known, -1]), counts[known])
    return shown


# --------------------------------------------------------------------------------------------------
# Rows, or fragments of rows, published with noisy counts; rare ones are left out.


DEPENDABLE = 0.99
"""Release probability from which a single published row is not there by luck."""


class NoisyRows(Law):
    """Each different row was left out, or published with a noisy count, by a public matrix.

    A row that is published and well above the threshold has its count known up to noise of the stated
    law. Rows below the threshold are left out. How many there are follows from the number of all rows, which is
    published with noise, or public; which they are nobody can tell. So a sum over rows lies between what is
    published of it and the number of all rows less what is published of the others. Its estimate spreads the rows
    left out evenly over the combinations that were not published, which is a model and not a measurement. Without a
    number of rows, sums are refused. What goes with what across columns that were cut apart is not in the
    release at all and is refused.

    Parameters
    ----------
    matrix
        How likely a row is published with which count.
    columns, long
        What the tables hold: of rows, or of units.
    column_budget
        Columns that a row kept its parts in, where it may have had parts in more.
    total
        The number of rows, or units, with noise.
    public_size
        The same where it is public; one of the two, or neither.
    columns_epsilon
        Spent on learning which attributes, or items, make a column; None where they were given or learned for nothing.

    Notes
    -----
    Given that it is published, a row's count is ``k + max(0, f - k + G)``, whose mean exceeds f by
    ``r^(f-k+1) / (1 - r^2)``: nothing, once f is well above k. The variance is ``2r / (1-r)^2``, independent
    between rows. A row that is not published has fewer copies than with which it would surely have been.

    References
    ----------
    Li and Li, section 5; eq. 4.

    Examples
    --------
    >>> matrix = NoisyCountMatrix(k=5, epsilon=2.0, delta=1e-5)
    >>> column = PublishedColumn(table="rows", attributes=("sex", "job"), sizes=(2, 3))
    >>> print(NoisyRows(matrix=matrix, columns=(column,)).sentence)
    Each different row over sex and job was left out, surely below 5 copies and hardly ever from 18 on, or
    published with noise on its count (standard deviation 1.4).
    """

    law: Literal["noisy-rows"] = "noisy-rows"
    matrix: NoisyCountMatrix
    columns: tuple[PublishedColumn, ...] = ()
    long: LongColumns | None = None
    column_budget: Annotated[int, Field(ge=1, le=100_000)] | None = None
    total: NoisyTotal | None = None
    public_size: Annotated[int, Field(ge=0, le=MOST_ROWS)] | None = None
    columns_epsilon: Annotated[float, Field(gt=0, le=LARGEST_EPSILON)] | None = None

    chosen_from_rows: ClassVar[tuple[str, ...]] = ("columns", "k", "epsilon")
    # Paid for with a share of epsilon, or taken as known.
    accounted_choices: ClassVar[tuple[str, ...]] = ("columns",)
    own_conditions: ClassVar[tuple[str, ...]] = (LEARNED_COLUMNS, TRUNCATION_KEY, PUBLIC_SIZE)
    estimate_is: ClassVar[str] = (
        "spreads rows that were left out evenly over what was not published, and counts units that were left out as none; "
        "the interval holds without that"
    )
    estimators: ClassVar[Mapping[str, str]] = {
        "weighted": (
            "each published row stands for 1/probability rows of its count; assumes that rows below k are none, "
            "and is unsteady where counts are near the threshold; no error known"
        )
    }

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.columns) == (self.long is not None):
            raise ValueError("the law has columns of attributes, or long columns, one of them.")
        if self.total is not None and self.public_size is not None:
            raise ValueError("the number of rows is published with noise, or public, not both.")
        return self

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """Semantic k-anonymity; differential privacy of a row's columns, of the number of rows, of how columns were found."""
        del schema, stated
        return promised(
            self.matrix,
            number=len(self.columns) if self.long is None else len(self.long.columns),
            column_budget=self.column_budget,
            total_epsilon=0.0 if self.total is None else self.total.epsilon,
            columns_epsilon=self.columns_epsilon or 0.0,
            is_size_public=self.public_size is not None,
            whole_units=self.long is not None,
        )

    def conditions_of(self, chosen: Collection[str], stated: Guarantee, schema: Schema) -> tuple[str, ...]:
        """That the columns are taken as known, where they were learned and nothing was paid for it."""
        if "columns" not in chosen or self.columns_epsilon:
            return ()
        return unless_paid(stated, self.promises(schema, stated))

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> NoisySums:
        """Published rows of the column that answers.

        All are read from one column where one holds them all, so that shares are shares of one whole.
        """
        return self._sums(published, asked, is_weighted=False)

    def posterior(self, published: Published, targets: Targets, prior: SharedPrior) -> Posterior:
        """By published and absent rows of a person's group, where a column holds all public values with the sensitive one."""
        return posterior_of_rows(self.matrix, self.columns, published, targets, prior)

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """The same with each published row weighed by how likely it was to be published."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        found = answer(self._sums(published, (tabulation,), is_weighted=True), (tabulation,), target)
        # Rows that are hardly ever published are missing from nearly every release, whatever the mean over all of them.
        return without_errors(found)

    def _sums(self, published: Published, asked: Sequence[Tabulation], *, is_weighted: bool) -> NoisySums:
        schema = published.schema
        together = names_of(asked)
        tables_of: Callable[[Sequence[str]], str] = self._table
        try:
            one = self._table(together)
        except NotIdentifiableError:
            names_by_source = self._by_column(asked)
        else:
            names_by_source, tables_of = {one: together}, lambda _: one
        for each in asked:
            self._require_published(schema, each.where)
            require_small(shape_of(schema, each), each.by)
        return NoisySums(
            self.matrix,
            schema,
            {table: self._entries(published, schema, names) for table, names in names_by_source.items()},
            tables_of,
            columns=self._published_columns(published),
            size=self.public_size if self.total is None else self.total,
            share=self._share_kept(schema),
            is_whole=self.column_budget is None or self._share_kept(schema) < 1,
            is_weighted=is_weighted,
        )

    def _published_columns(self, published: Published) -> Mapping[str, PublishedColumn] | ColumnSums:
        if self.long is None:
            return {each.table: each for each in self.columns}
        _, (counts, column, fragment) = read_table(
            published, self.long.table, (), (COUNT_COLUMN, COLUMN_COLUMN, FRAGMENT_COLUMN)
        )
        _, first = np.unique(fragment, return_index=True)
        # Columns are numbered from 1 in what people read; one more stands for items in none.
        place, size = column[first].astype(np.int64) - 1, len(self.long.columns) + 1
        return ColumnSums(
            self.long.item,
            self.long.home_of(published.schema[self.long.item].size),
            np.bincount(place, weights=counts[first], minlength=size).astype(np.float64),
            np.bincount(place, minlength=size),
        )

    def _by_column(self, asked: Sequence[Tabulation]) -> dict[str, tuple[str, ...]]:
        """For every table that answers some question, the attributes it is asked about."""
        tables = [self._table(names_of([each])) for each in asked]
        return {
            table: names_of([each for each, other in zip(asked, tables, strict=True) if other == table])
            for table in tables
        }

    def _table(self, names: Sequence[str]) -> str:
        """The published table that answers for some attributes."""
        column = self._column(names)
        if column is not None:
            return column.table
        assert self.long is not None
        return self.long.table

    def _share_kept(self, schema: Schema) -> float:
        """Which share of all parts the column budget kept, where that is public; 1 where it is not, or all were.

        A row has a part in every column unless all of the column's attributes are missing from it. Where each
        column holds an attribute that cannot be missing, every row kept exactly the budget, each part equally
        likely; elsewhere rows with fewer parts kept a larger share, and nobody can tell how large.
        """
        if self.column_budget is None or not self.columns:
            return 1.0
        is_whole = all(
            any(schema[name].missing == "error" for name in each.attributes) for each in self.columns
        )
        return self.column_budget / len(self.columns) if is_whole else 1.0

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """The estimates themselves: sums of published counts are never negative and add up."""
        del feasibility
        return self.estimate(published, tabulation).values

    def treats_alike(self, name: str) -> bool:
        """Yes: whether a row is published, and its noise, follow from its count."""
        del name
        return True

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Root mean square error of single rows: noise where a row is published, its count where it is not.

        Raises
        ------
        NotIdentifiableError
            For sums over rows, whose error depends on how the counts are spread over the rows.
        """
        column = self._column(true_counts.names)
        if column is None or set(column.attributes) != set(true_counts.names):
            raise NotIdentifiableError(
                "the error of a sum over rows depends on how its count is spread over them, which the sum does not say. "
                "Plan with the data: the plan states which share of the rows survives."
            )
        counts = np.asarray(true_counts.counts, np.float64)
        appears, left_out = self.matrix.release_probabilities_of(true_counts.counts)
        return np.asarray(np.sqrt(left_out * counts**2 + appears * self.matrix.noise.variance))

    def notes(self, published: Published, where: Selection, estimates: Estimates) -> tuple[str, ...]:
        """What was left out, and whether a single row is there by luck."""
        column = self._column(where.names)
        threshold = self.matrix.threshold(DEPENDABLE)
        is_scaled = self._share_kept(published.schema) < 1
        dropped = (
            ()
            if self.column_budget is None or is_scaled
            else ("parts that were dropped to keep the column budget count as none, so the number leans low",)
        )
        if column is not None and not where.conditions:
            return ()
        if column is not None and self._are_single_rows(Tabulation(where=where), where.names):
            if estimates.certainty[0] == Certainty.OPEN and estimates.ends()[0][0] == 0:
                return (
                    f"the row is not published; rows below about {threshold} copies often are not",
                    *dropped,
                )
            if estimates.values[0] < threshold:
                return (
                    f"near the threshold of about {threshold}: that it is published at all leans it upwards",
                    *dropped,
                )
            return dropped
        counted = "count as none" if column is None else "are spread evenly over what was not published"
        where_they_are = f"were left out and {counted}; the interval holds whichever they are"
        return (f"rows that occur fewer than about {threshold} times {where_they_are}", *dropped)

    @property
    def sentence(self) -> str:
        """The link in words."""
        deviation = math.sqrt(self.matrix.noise.variance)
        return (
            f"Each different {self._what} was left out, surely below {self.matrix.k} copies and hardly ever from "
            f"{self.matrix.threshold(DEPENDABLE)} on, or published with noise on its count "
            f"(standard deviation {deviation:.2g}).{self._dropped}{self._number}"
        )

    @property
    def _number(self) -> str:
        if self.total is None:
            return (
                "" if self.public_size is None else f" There are {self.public_size:,} {self._units} in all."
            )
        deviation = math.sqrt(self.total.noise.variance)
        return f" The number of all {self._units} was published with noise of its own (standard deviation {deviation:.2g})."

    @property
    def _units(self) -> str:
        return "rows" if self.long is None else "units"

    @property
    def _dropped(self) -> str:
        if self.column_budget is None:
            return ""
        return f" Of a row with parts in more than {self.column_budget} columns, the others were dropped."

    @property
    def _what(self) -> str:
        if self.long is not None:
            return f"set of items that a unit has in one of {len(self.long.columns)} columns"
        if len(self.columns) > 1:
            return f"fragment of a row in one of {len(self.columns)} columns"
        return f"row over {' and '.join(self.columns[0].attributes)}"

    def _column(self, names: Sequence[str]) -> PublishedColumn | None:
        """The column that answers for some attributes: the one with the fewest cells; None for long data."""
        if self.long is not None:
            if set(names) <= set(self.long.names):
                return None
            raise NotIdentifiableError(
                f"the release holds {' and '.join(self.long.names)} only. Ask about them."
            )
        holding = [each for each in self.columns if set(names) <= set(each.attributes)]
        if not holding:
            raise NotIdentifiableError(
                f"no published column holds {' and '.join(names)} together. The table was cut into columns, and which "
                "fragment of one belongs with which of another is not published, so that their joint counts are not "
                "identified. Ask within one column."
            )
        return min(holding, key=lambda each: math.prod(each.sizes))

    def _require_published(self, schema: Schema, where: Selection) -> None:
        """Refuse a question about items that are in no column: nothing of them was published on purpose."""
        if self.long is None:
            return
        chosen = where.codes(self.long.item)
        if chosen and (self.long.home_of(schema[self.long.item].size)[list(chosen)] < 0).all():
            raise NotIdentifiableError(
                f"no published column holds the {self.long.item} asked about, so the release says nothing of it. "
                "Ask about one that is in a column."
            )

    def _are_single_rows(self, tabulation: Tabulation, names: Sequence[str]) -> bool:
        """Whether every cell asked for is one row of the column, not a sum of several."""
        column = self._column(names)
        if column is None or set(names) != set(column.attributes):
            return False
        return all(
            len(codes) == 1 for name, codes in tabulation.where.conditions if name not in tabulation.by
        )

    def _entries(self, published: Published, schema: Schema, names: Sequence[str]) -> Entries:
        column = self._column(names)
        if column is not None:
            codes, (counts,) = read_table(published, column.table, names, (COUNT_COLUMN,))
            return Entries(codes, counts.astype(np.float64), np.arange(counts.size))
        assert self.long is not None
        integers = (COUNT_COLUMN, COLUMN_COLUMN, FRAGMENT_COLUMN)
        codes, (counts, of_column, fragment) = read_table(
            published, self.long.table, self.long.names, integers
        )
        home = self.long.home_of(schema[self.long.item].size)
        # Columns are numbered from 1 in what people read.
        is_home = home[codes[self.long.item].astype(np.int64)] == of_column - 1
        kept = {name: each[is_home] for name, each in codes.items()}
        return Entries(kept, counts[is_home].astype(np.float64), fragment[is_home])


# --------------------------------------------------------------------------------------------------
# Published fragments of unit-item-value data, column by column, as sparse records with their counts.


@dataclass(frozen=True, eq=False)
class SparseRecords:
    """Records that a target may be behind: rows of ratings, or published fragments.

    Parameters
    ----------
    units
        What each record holds.
    crowd
        ``(records,)`` people that each record stands for; 1 for raw rows.
    """

    units: SparseUnits
    crowd: Integers

    def __repr__(self) -> str:
        return f"SparseRecords({self.units.number_of_units} records)"

    @classmethod
    def raw(cls, units: SparseUnits) -> SparseRecords:
        """Ratings as they are, one record for each rater."""
        return cls(units, np.ones(units.number_of_units, np.int64))


def long_columns_of(law: Law) -> LongColumns:
    """The columns of a release of unit-item-value data.

    Raises
    ------
    ParameterError
        When the release is of another kind.

    Examples
    --------
    >>> from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix
    >>> columns = LongColumns(table="fragments", item="movie", columns=((0, 1),))
    >>> long_columns_of(NoisyRows(matrix=NoisyCountMatrix(k=5, epsilon=1.0, delta=1e-5), long=columns)).item
    'movie'
    """
    if not isinstance(law, NoisyRows) or law.long is None:
        raise ParameterError(
            "this is about published unit-item-value data (columnized-counts of a table with [long]), and the release is "
            "of another kind. Publish ratings or baskets, or ask something else of this release.",
            parameter="release",
        )
    return law.long


def read_records(published: Published, long: LongColumns) -> list[SparseRecords]:
    """Fragments of each column with the number of people each stands for; empty columns have none."""
    integers = (COLUMN_COLUMN, FRAGMENT_COLUMN, COUNT_COLUMN)
    codes, (column, fragment, count) = read_table(published, long.table, long.names, integers)
    items = published.schema[long.item].size
    values = 1 if long.value is None else published.schema[long.value].size
    found = []
    for number in range(1, len(long.columns) + 1):
        inside = column == number
        numbers, first, unit = np.unique(fragment[inside], return_index=True, return_inverse=True)
        item = codes[long.item][inside]
        value = np.zeros_like(item) if long.value is None else codes[long.value][inside]
        names_of = tuple(str(each) for each in numbers.tolist())
        units = SparseUnits.from_triples(names_of, unit, item, value, items, values)
        found.append(SparseRecords(units, count[inside][first]))
    return found
