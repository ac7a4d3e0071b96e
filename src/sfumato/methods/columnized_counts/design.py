"""Columnized counts: rows, or fragments of them, published with noisy counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from sfumato.arrays import Integers
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, ParameterError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, Form
from sfumato.guarantees.k_anonymity import SemanticKAnonymity
from sfumato.immutable import LARGEST_EPSILON, MOST_ROWS, SMALLEST_EPSILON
from sfumato.methods.base import Design
from sfumato.methods.columnized_counts.count_phase import (
    LongCounting,
    SimilarityBudget,
    WideCounting,
    has_rows,
    long_columns,
    named_columns,
    published_tables,
    wide_columns,
)
from sfumato.methods.columnized_counts.kernels import Groups, ItemSimilarity
from sfumato.methods.columnized_counts.law import LEARNED_COLUMNS, PUBLIC_SIZE, TRUNCATION_KEY, NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix, NoisyTotal
from sfumato.methods.planning import PromiseGoal, crowd_size
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import Publication
from sfumato.results import ResultTable
from sfumato.schema import Schema
from sfumato.text import Cell

# --------------------------------------------------------------------------------------------------
# What noisy count publishing will show, before any budget is spent.


PROBABILITIES = (0.01, 0.5, 0.99)
"""Release probabilities whose counts a plan states."""

SIZES = (5, 10, 20, 30, 50, 100, 200, 500, 1_000, 10_000)
"""True counts for which a plan states the expected noise level."""

NOTHING = "nothing would survive"


def threshold_table(matrix: NoisyCountMatrix, columns: int, rows: int, total_epsilon: float) -> ResultTable:
    """From which count on a row of a column appears; the same for every column."""
    counts = [matrix.threshold(each) for each in PROBABILITIES]
    total = DiscreteLaplace(scale=1 / total_epsilon).variance if total_epsilon else 0.0
    body: list[tuple[Cell, ...]] = [
        ("columns", columns),
        ("epsilon of a column", matrix.epsilon),
        ("delta of a column", matrix.delta),
        *(
            (f"copies to appear with probability {each:g}", n)
            for each, n in zip(PROBABILITIES, counts, strict=True)
        ),
        ("expected error of a large count", float(matrix.expected_noise([10**9])[0] * 10**9)),
        ("epsilon of the number of rows", total_epsilon),
        ("standard error of the number of rows", math.sqrt(total) if total else "not published"),
        ("rows of the table", rows),
        ("probability that as many equal rows appear", float(matrix.release_probabilities_of([rows])[0][0])),
    ]
    return ResultTable("Release threshold of a row", ("what", "value"), tuple(body))


def noise_table(matrix: NoisyCountMatrix, rows: int) -> ResultTable:
    """Expected noise level by true count."""
    counts = np.array([each for each in SIZES if each <= rows] or [rows])
    appears, _ = matrix.release_probabilities_of(counts)
    levels = matrix.expected_noise(counts)
    return ResultTable(
        "Expected noise level, mean of |published - true| / true, by true count of a row",
        ("true count", "probability to appear", "noise level"),
        tuple(
            (int(count), float(share), float(level))
            for count, share, level in zip(counts, appears, levels, strict=True)
        ),
    )


def survival_table(matrix: NoisyCountMatrix, counts: Sequence[Integers]) -> ResultTable:
    """Which share of each column's rows to expect in the release. Private.

    Parameters
    ----------
    counts
        For each column the number of copies of every different fragment.
    """
    body: list[tuple[Cell, ...]] = []
    for number, each in enumerate(counts, start=1):
        appears, _ = matrix.release_probabilities_of(each)
        rows = int(each.sum())
        published = float(appears.sum())
        share = float((appears * each).sum() / max(rows, 1))
        level = float((matrix.expected_noise(each) * each).sum() / max(rows, 1))
        verdict = NOTHING if published < 0.5 else "ok"
        body.append((number, rows, each.size, int(each.max(initial=0)), published, share, level, verdict))
    return ResultTable(
        "Expected to survive, by column",
        (
            "column",
            "rows",
            "different",
            "largest count",
            "different expected",
            "share of rows",
            "noise level",
            "verdict",
        ),
        tuple(body),
        is_private=True,
    )


# --------------------------------------------------------------------------------------------------
# Columnized counts: rows, or fragments of them, published with noisy counts.


NOTHING_PASSED = (
    "the release is empty: no row occurs often enough to have been published. It is a release all the same, and its epsilon is "
    "spent: making another, with these or other parameters, spends epsilon again. Plan first: a larger epsilon or delta, a "
    "smaller k, fewer columns or fewer categories let more rows pass."
)
"""What the custodian is told when nothing passed."""


class ColumnizedCounts(Design):
    """Publish rows themselves, each different one with a noisy count; wide or sparse tables cut into columns.

    Promise
        Semantic k-anonymity of the whole row where the table is not cut, and of every column by itself where
        it is, never of the columns together. Differential privacy with epsilon and delta of the whole
        release: pointwise, or in the additive form where a random choice keeps rows to the column budget.
    Against whom
        Anyone who knows the algorithm and its parameters, and possibly every row but one.
    Weaknesses
        Rare rows vanish, and with them whatever holds of few. The columns together may single a row out. A
        schema learned from the private rows without a share of epsilon is not covered.

    References
    ----------
    Li and Li, Microdata publishing with algorithmic privacy guarantees; theorems 5 to 7.

    Examples
    --------
    >>> ColumnizedCounts(k=10, epsilon=1.0, delta=1e-5, columns=5, column_budget=2).columns
    (5,)
    >>> ColumnizedCounts(k=10, epsilon=1.0, delta=1e-5, columns=5, column_budget=6)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: column_budget must be from 1 to the 5 columns there are, got 6...
    """

    method: Literal["columnized-counts"] = "columnized-counts"
    k: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=10, description="crowd that every published row could belong to; 1 or more"
    )
    epsilon: Annotated[
        float,
        Field(
            ge=SMALLEST_EPSILON,
            le=LARGEST_EPSILON,
            description="privacy budget of the whole release; above 0",
        ),
    ]
    delta: Annotated[
        float, Field(gt=0, lt=1, description="of the whole release; well below 1 / number of rows")
    ] = 1e-5
    columns: tuple[Annotated[int, Field(ge=1, le=100_000)], ...] = Field(
        default=(1,), description="number of columns to cut into; a list for overlapping columns"
    )
    column_budget: int | None = Field(
        default=None,
        description="columns (c*) that one row may have a part in, the rest of it is dropped; all when not given",
    )
    column_sets: tuple[tuple[str, ...], ...] | None = Field(
        default=None,
        description="the columns themselves, as lists of attributes or items, in place of a number",
    )
    schema_share: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.2,
        description="share of epsilon spent on learning the columns; 0 learns them exactly and leaves them uncovered",
    )
    similarity: ItemSimilarity = Field(
        default="agreement", description="how alike two items are; attributes are compared by phi-squared"
    )
    similarity_items: Annotated[int, Field(ge=2, le=100_000)] = Field(
        default=20, description="items of a unit that noisy similarities use"
    )
    truncation_key: str | None = Field(
        default=None,
        description="public text that decides, with the unit's name, which columns a unit keeps; secret chance when not given",
    )
    recoding: dict[str, tuple[tuple[str, ...], ...]] = Field(
        default_factory=dict,
        description="public groups of categories that are published as one, by attribute",
    )
    noise_exponent: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.5,
        description="share of a column's epsilon that the noise of counts uses (1/2 in the paper)",
    )
    total_share: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.05,
        description="share of epsilon spent on the number of rows (or units), without which sums have no upper end; 0 for none",
    )
    public_size: Annotated[int, Field(ge=0, le=MOST_ROWS)] | None = Field(
        default=None,
        description="number of rows (or units) where it is public anyway: nothing is spent on it",
    )

    title: ClassVar[str] = "noisy counts of rows and columns"
    summary: ClassVar[str] = (
        "Each different row is left out, or published with a noisy count of at least k. Wide tables and ratings are "
        "first cut into columns of attributes that go together, and a row keeps its parts in a fixed number of them."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        "Rows that occur less often than the threshold are left out: what holds of few people is lost.",
        "When a table is cut, the columns together are not semantically k-anonymous: fragments may be put together.",
        "What the k people behind a row have in common is published.",
        "Publishing the same rows again adds up: the epsilons and deltas of all releases count together.",
    )
    published_twice: ClassVar[str] = "Epsilons and deltas add up."
    citations: ClassVar[tuple[str, ...]] = (
        "Li, T. and Li, N. Microdata publishing with algorithmic privacy guarantees. Purdue University.",
    )
    reads_units: ClassVar[bool] = True
    promise_goals: ClassVar[Mapping[str, PromiseGoal]] = {
        "epsilon": PromiseGoal("of the whole release, one row more or less", "epsilon", "at most"),
        "delta": PromiseGoal("of the whole release", "delta", "exactly", most=1),
        "k": PromiseGoal("people behind every published row", "k", "at least", crowd_size),
    }

    @field_validator("columns", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, int) else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.columns or (self.column_sets is not None and not self.column_sets):
            raise ValueError(
                "there is no column to publish. Give columns = 1 or more, or the sets themselves."
            )
        if self.column_budget is not None and not 1 <= self.column_budget <= self.number_of_columns:
            raise ValueError(
                f"column_budget must be from 1 to the {self.number_of_columns} columns there are, got "
                f"{self.column_budget}. A row has a part in at least one column and at most in all."
            )
        largest = -math.expm1(-self.epsilon)
        if self.delta >= largest:
            raise ValueError(
                f"delta must be below 1 - exp(-epsilon) = {largest:.4g} at epsilon {self.epsilon:.4g}, got {self.delta}. "
                "Use a delta well below 1 / number of rows, for example 1e-5."
            )
        if self.learns_columns and self.schema_share + self.total_share >= 1:
            raise ValueError(
                f"schema_share and total_share must leave something of epsilon, got {self.schema_share} and {self.total_share}. "
                "Lower one of them."
            )
        _ = self.matrix
        return self

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """The table uncut, in crowds of five."""
        del schema
        return cls(k=5, epsilon=2.0)

    @property
    def number_of_columns(self) -> int:
        """Of all cuts together."""
        return sum(self.columns) if self.column_sets is None else len(self.column_sets)

    @property
    def is_cut(self) -> bool:
        """More than one column is published."""
        return self.number_of_columns > 1

    @property
    def learns_columns(self) -> bool:
        """The columns are made from the private rows."""
        return self.column_sets is None and any(each > 1 for each in self.columns)

    @property
    def schema_epsilon(self) -> float:
        """Part of epsilon spent on learning the columns."""
        return self.epsilon * self.schema_share if self.learns_columns else 0.0

    @property
    def total_epsilon(self) -> float:
        """Part of epsilon spent on the number of rows, or units."""
        return 0.0 if self.public_size is not None else self.epsilon * self.total_share

    @property
    def matrix(self) -> NoisyCountMatrix:
        """How every column is published: epsilon and delta are divided by the column budget (theorem 7)."""
        budget = self.column_budget or self.number_of_columns
        spent = Fraction(self.schema_epsilon) + Fraction(self.total_epsilon)
        return NoisyCountMatrix(
            k=self.k,
            epsilon=_divided(Fraction(self.epsilon) - spent, budget),
            delta=_divided(Fraction(self.delta), budget),
            exponent=self.noise_exponent,
        )

    @property
    def is_truncated(self) -> bool:
        """A row may lose some of its parts."""
        return self.column_budget is not None and self.column_budget < self.number_of_columns

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """Semantic k-anonymity of the row or of each column, and differential privacy of the whole."""
        self._require_fit(schema)
        form: Form = "additive" if self.is_truncated and self.truncation_key is None else "pointwise"
        uncovered = self.learns_columns and self.schema_share == 0
        conditions = [
            *([LEARNED_COLUMNS] if uncovered else []),
            *([TRUNCATION_KEY] if self.is_truncated and self.truncation_key else []),
        ]
        size = [PUBLIC_SIZE] if self.public_size is not None else []
        private = DifferentialPrivacy(
            epsilon=self.epsilon,
            delta=self.delta,
            relation="add-remove",
            form=form,
            whole_units=schema.long is not None,
            given=(*conditions, *size),
        )
        return (
            # Without a row the number of rows is another, and that is published within its epsilon.
            SemanticKAnonymity(
                k=self.k,
                epsilon=self.total_epsilon,
                scope="each-column" if self.is_cut else "table",
                whole_units=schema.long is not None,
                given=tuple(size),
            ),
            private,
            private.for_replacing(),
        )

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """One table of rows with counts for each column; one table of fragments for unit-item-value data."""
        self._require_fit(table.schema)
        # A row that fewer than k share is never published, so that it need not be held.
        counting = self._counting(table, noise, fewest=self.k)
        law = self._law(table.schema, counting, noise)
        tables = published_tables(law, counting, noise.named("counts"))
        return Publication(
            tables=tables,
            law=law,
            assumptions=self._assumptions(),
            not_protected=("whether the columns together point to one row",) if self.is_cut else (),
            chosen_from_private_data=self._chosen(),
            warnings=() if has_rows(tables) else (NOTHING_PASSED,),
        )

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """Thresholds and noise levels; with the data, which share of each column's rows survives."""
        self._require_fit(schema)
        budget = self.number_of_columns
        public = (
            threshold_table(self.matrix, budget, rows, self.total_epsilon),
            noise_table(self.matrix, rows),
        )
        if table is None:
            return public
        counting = self._counting(table, NoiseSource.from_operating_system())
        return (*public, survival_table(self.matrix, counting.counts()))

    def _require_fit(self, schema: Schema) -> None:
        known = self._known(schema)
        what = "item" if schema.long else "attribute"
        if self.column_sets is not None:
            named_columns(self.column_sets, known, what)
        elif max(self.columns) > len(known):
            raise ParameterError(
                f"columns must be at most the {len(known)} {what}s there are, got {max(self.columns)}. Ask for fewer.",
                parameter="columns",
            )
        if self.truncation_key is not None and schema.long is None:
            raise ParameterError(
                "truncation_key needs unit-item-value data, whose units have names; rows of an ordinary table have none. "
                "Leave it out.",
                parameter="truncation_key",
            )
        for name in self.recoding:
            if name not in (schema.long.names[1:] if schema.long else schema.publishable.names):
                raise ParameterError(
                    f"recoding names {name!r}, which is no attribute whose categories can be grouped. "
                    "Name a published attribute; of unit-item-value data, the value.",
                    parameter="recoding",
                )

    def _known(self, schema: Schema) -> tuple[str, ...]:
        """What columns are made of: items, or attributes."""
        return schema[schema.long.item].labels if schema.long else schema.publishable.names

    def _counting(
        self, table: PrivateTable, noise: NoiseSource, *, fewest: int = 1
    ) -> WideCounting | LongCounting:
        given: Groups | None = None
        if self.column_sets is not None:
            what = "item" if table.schema.long else "attribute"
            given = named_columns(self.column_sets, self._known(table.schema), what)
        budget = SimilarityBudget(self.similarity, self.schema_epsilon or None, self.similarity_items)
        kind = LongCounting if table.schema.long else WideCounting
        return kind.of(
            table,
            columns=given or self.columns,
            column_budget=self.column_budget if self.is_truncated else None,
            recoding=self.recoding,
            similarity=budget,
            truncation_key=self.truncation_key,
            fewest=fewest,
            noise=noise,
        )

    def _law(self, schema: Schema, counting: WideCounting | LongCounting, noise: NoiseSource) -> NoisyRows:
        if self.public_size not in (None, counting.number_of_units):
            raise DataError(
                "public_size is not the number of rows (or units) of this table. State the right one, or leave it out: a noisy "
                "total is then published.",
            )
        total = (
            NoisyTotal.draw(counting.number_of_units, self.total_epsilon, noise.named("total"))
            if self.total_epsilon
            else None
        )
        long = schema.long
        return NoisyRows(
            matrix=self.matrix,
            columns=wide_columns(counting) if isinstance(counting, WideCounting) else (),
            long=long_columns(long, counting) if long and isinstance(counting, LongCounting) else None,
            column_budget=self.column_budget if self.is_truncated else None,
            total=total,
            public_size=self.public_size,
            columns_epsilon=self.schema_epsilon or None,
        )

    def _assumptions(self) -> tuple[str, ...]:
        return (
            "Epsilon and delta are about one row (or unit) more or less; for one replaced, epsilon doubles.",
            *(
                (
                    (
                        "Semantic k-anonymity holds for each column by itself, given the columns and what each row keeps "
                        "in them, and is not claimed for all together."
                    ),
                )
                if self.is_cut
                else ()
            ),
        )

    def _chosen(self) -> dict[str, str]:
        if not self.learns_columns:
            return {}
        if self.schema_share:
            return {
                "columns": f"learned from noisy similarities, with epsilon {self.schema_epsilon:.4g} of the total"
            }
        return {
            "columns": "learned from exact similarities of the private rows; the promise is conditional on them"
        }


def _divided(total: Fraction, parts: int) -> float:
    """The largest double of which so many do not exceed a total."""
    share = float(total / parts)
    return share if Fraction(share) * parts <= total else math.nextafter(share, 0)
