"""Rows, or fragments of rows, published with noisy counts; rare ones are left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sfumato.errors import NotIdentifiableError
from sfumato.guarantees import Guarantee
from sfumato.laws.asking import answer, names_of, require_small, shape_of, without_errors
from sfumato.laws.base import Law, Published, Target
from sfumato.laws.believing import Posterior, SharedPrior, Targets
from sfumato.methods.columnized_counts.law.columns import (
    COLUMN_COLUMN,
    COUNT_COLUMN,
    FRAGMENT_COLUMN,
    ColumnSums,
    Entries,
    LongColumns,
    PublishedColumn,
    read_table,
)
from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix
from sfumato.methods.columnized_counts.law.noisy_sums import NoisySums
from sfumato.methods.columnized_counts.law.promising import (
    LEARNED_COLUMNS,
    PUBLIC_SIZE,
    TRUNCATION_KEY,
    promised,
    unless_paid,
)
from sfumato.methods.columnized_counts.law.row_beliefs import posterior_of_rows
from sfumato.methods.columnized_counts.law.size import NoisyTotal
from sfumato.values.arrays import Floats
from sfumato.values.bounds import LARGEST_EPSILON, MOST_ROWS
from sfumato.values.certainty import Certainty
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates
from sfumato.values.feasibility import Feasibility
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation

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
