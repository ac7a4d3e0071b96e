"""Noisy marginals: differentially private counts of chosen tables, zeros included."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from sfumato.chance.noise import DiscreteGaussian, DiscreteLaplace, draw_with_opendp
from sfumato.chance.randomness import NoiseSource
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import (
    DifferentialPrivacy,
    Neighbours,
    marginal_sensitivity,
    rho_of_epsilon,
)
from sfumato.methods.base import Design
from sfumato.methods.goals import PromiseGoal
from sfumato.methods.noisy_marginals.design.choice import (
    MARGINAL_SETS,
    Measurement,
    choose_marginals,
    gaussian_noises,
    laplace_noises,
)
from sfumato.methods.noisy_marginals.kernels import CountSelected
from sfumato.methods.noisy_marginals.law.marginals import COUNT_COLUMN, NoisyAnswer, NoisyMarginal
from sfumato.methods.noisy_marginals.law.noisy_counts import NoisyCounts
from sfumato.methods.noisy_marginals.plan import exposure_table, precision_table, private_tables, size_table
from sfumato.release.publication import DrawnRows, Publication, PublishedTable
from sfumato.values.arrays import Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.bounds import LARGEST_ERROR, SMALLEST_EPSILON
from sfumato.values.counts import CountTable
from sfumato.values.public_grids import is_epsilon_on_grid
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection

CELLS_PER_BATCH = 2**20
"""Cells of a marginal that get their noise and are handed over at once."""

DISCRETE_FORM = {"laplace": "discrete-laplace", "gaussian": "discrete-gaussian"}
"""Floating mechanisms, which are refused, and what to use instead."""

SCHEMA_TABLE = "attributes"
"""A table of one made-up row, which declares attributes that only declared queries are about."""


class NoisyMarginals(Design):
    """Publish the counts of chosen tables, each cell with discrete noise of a public law.

    Promise
        Differential privacy of the whole release: pure epsilon with discrete Laplace noise, epsilon
        and delta with discrete Gaussian noise. Every cell of the full product of categories is
        published, so that which cells are empty is hidden too.
    Against whom
        Anyone, with any knowledge of the other rows and any other data.
    Weaknesses
        What holds of a whole group shows, and is likely of each of its members (the ratio attack). The
        more tables, the more noise in each. Tables published with independent noise disagree.

    References
    ----------
    Dwork and others (2006); Han (2016), chapter 3; Mothali (2011), chapters 6 to 8.

    Examples
    --------
    >>> NoisyMarginals(epsilon=0.5).to_dict()["mechanism"]
    'discrete-laplace'
    >>> NoisyMarginals(epsilon=0.5, mechanism="laplace")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: mechanism 'laplace' draws floating-point numbers...
    """

    method: Literal["noisy-marginals"] = "noisy-marginals"
    epsilon: Annotated[
        float,
        Field(
            ge=SMALLEST_EPSILON,
            le=LARGEST_ERROR,
            description="privacy budget of the whole release; above 0",
        ),
    ]
    delta: Annotated[
        float, Field(ge=0, lt=1, description="of discrete Gaussian noise; 0 with discrete Laplace noise")
    ] = 0.0
    mechanism: Literal["discrete-laplace", "discrete-gaussian"] = Field(
        default="discrete-laplace", description="law of the noise on every count"
    )
    marginals: str | tuple[tuple[str, ...], ...] = Field(
        default="two-way",
        description=f"tables to publish: {', '.join(MARGINAL_SETS)}, or a list of lists of attributes",
    )
    attributes: tuple[str, ...] | None = Field(
        default=None, description="attributes that a named set of tables is made of; all when not given"
    )
    class_attribute: str | None = Field(
        default=None,
        description="attribute that two-way-with-sensitive and naive-bayes cross with the others; "
        "the sensitive one when not given",
    )
    queries: tuple[str, ...] = Field(
        default=(), description="conditions whose numbers of rows are published with noise, beside the tables"
    )
    neighbours: Neighbours = Field(
        default="replace-one",
        description="what epsilon is about: one row replaced (the number of rows is public), or one more or less",
    )
    budget: Literal["uniform", "cells"] = Field(
        default="uniform",
        description="the same noise in every table, or less noise in tables of many cells (least total variance)",
    )
    sampler: Literal["sfumato", "opendp"] = Field(
        default="sfumato", description="who draws the noise; opendp needs the extra of that name"
    )

    title: ClassVar[str] = "noisy marginals"
    summary: ClassVar[str] = (
        "No row is published. For each chosen set of attributes the table of counts over all their categories is "
        "published, empty cells included, with independent discrete noise on every count. Counts within a table "
        "are estimated without bias and with known error."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        (
            "The ratio of two noisy counts comes close to the true share when the group is large beside the noise: "
            "a sensitive value that most of a group has is then known of each member, whatever epsilon says."
        ),
        "Each further table takes a part of the budget, so that all counts get noisier.",
        "Questions about attributes that share no table cannot be answered.",
        "Publishing the same rows again adds up: the epsilons of all releases count together.",
    )
    published_twice: ClassVar[str] = "Epsilons and deltas add up."
    citations: ClassVar[tuple[str, ...]] = (
        "Dwork, C., McSherry, F., Nissim, K. and Smith, A. (2006). Calibrating noise to sensitivity in private data analysis.",
        "Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for differential privacy.",
        "Han, C. (2016). Sensitive disclosures under differential privacy guarantees. Simon Fraser University.",
    )

    promise_goals: ClassVar[Mapping[str, PromiseGoal]] = {
        "epsilon": PromiseGoal("of the whole release, one row replaced", "epsilon", "at most"),
        "delta": PromiseGoal(
            "of the whole release", "delta", "exactly", most=1, besides={"mechanism": "discrete-gaussian"}
        ),
    }

    @field_validator("mechanism", mode="before")
    @classmethod
    def _refuse_floats(cls, value: Any) -> Any:
        if isinstance(value, str) and value in DISCRETE_FORM:
            raise ValueError(
                f"mechanism {value!r} draws floating-point numbers, whose last digits give the count away, so no "
                f"promise can rest on it. Allowed are discrete-laplace and discrete-gaussian; use {DISCRETE_FORM[value]!r}."
            )
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.choices and not is_epsilon_on_grid(self.epsilon):
            raise ValueError(
                f"epsilon was chosen from the private rows and must be 1, 2 or 5 times a power of ten, got {self.epsilon}: more "
                "digits would tell about single people. Round it down."
            )
        if self.mechanism == "discrete-laplace" and self.delta > 0:
            raise ValueError(
                f"discrete Laplace noise gives pure epsilon, so delta must be 0, got {self.delta}. "
                "Leave delta out, or set mechanism = 'discrete-gaussian'."
            )
        if self.mechanism == "discrete-gaussian" and self.delta == 0:
            raise ValueError(
                "discrete Gaussian noise gives no pure epsilon, so delta must be above 0. "
                "Set delta well below 1 / number of rows, for example 1e-6."
            )
        if isinstance(self.marginals, str) and self.marginals not in MARGINAL_SETS:
            raise ValueError(
                f"marginals must be {', '.join(MARGINAL_SETS)} or a list of lists of attributes, got {self.marginals!r}."
            )
        if not self.marginals and not self.queries:
            raise ValueError("there is nothing to publish: name marginals, or queries, or both.")
        return self

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """Every pair of attributes, or the one attribute there is, at epsilon 1."""
        names = schema.publishable.names
        return cls(epsilon=1.0) if len(names) > 1 else cls(epsilon=1.0, marginals=(names,))

    def measurements(self, schema: Schema) -> tuple[Measurement, ...]:
        """Everything that gets noise for a table of this schema: marginals, then queries."""
        marginals = choose_marginals(schema, self.marginals, self.attributes, self.class_attribute)
        changed_by_row = marginal_sensitivity(1, self.neighbours)
        tables = tuple(
            Measurement(names, math.prod(schema[name].size for name in names), changed_by_row)
            for names in marginals
        )
        # Replacing a row changes the number that satisfies a condition by one at most, as adding does.
        return tables + tuple(Measurement((question,), 1, 1) for question in self._questions(schema))

    def protects_nothing(self, schema: Schema) -> str:
        """Where noise is 0 nine times of ten in every table."""
        is_none = all(each.half_width(0.9) == 0 for each in self.noises(schema))
        return "nine of ten counts would be published as they are" if is_none else ""

    def noises(self, schema: Schema) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The law of the noise of every measurement, in their order."""
        measurements = self.measurements(schema)
        if self.mechanism == "discrete-laplace":
            return laplace_noises(measurements, self.epsilon, self.budget)
        return gaussian_noises(measurements, rho_of_epsilon(self.epsilon, self.delta), self.budget)

    def law(
        self, schema: Schema, answers: Sequence[int] = (), *, number_of_rows: int | None = None
    ) -> NoisyCounts:
        """The public link between what is published and the true counts."""
        measurements, noises = self.measurements(schema), self.noises(schema)
        number = len(measurements) - len(self.queries)
        marginals = tuple(
            NoisyMarginal(
                table=f"marginal-{place}",
                attributes=each.names,
                sizes=tuple(schema[name].size for name in each.names),
                noise=noise,
            )
            for place, (each, noise) in enumerate(
                zip(measurements[:number], noises[:number], strict=True), start=1
            )
        )
        questions = zip(self._questions(schema), answers, noises[number:], strict=bool(answers))
        return NoisyCounts(
            marginals=marginals,
            answers=tuple(NoisyAnswer(question=q, count=count, noise=noise) for q, count, noise in questions),
            number_of_rows=number_of_rows,
        )

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """Differential privacy, with the budget that is really spent."""
        _ = self.noises(schema)
        rho = None if self.mechanism == "discrete-laplace" else rho_of_epsilon(self.epsilon, self.delta)
        return (
            DifferentialPrivacy(epsilon=self.epsilon, delta=self.delta, rho=rho, relation=self.neighbours),
        )

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """One table of noisy counts for each marginal; answers to queries stand in the law."""
        if self.sampler == "opendp" and noise.is_reproducible:
            raise ParameterError(
                "OpenDP's samplers take no seed, so a seeded release cannot use them. "
                "Leave the seed out, or set sampler = 'sfumato'.",
                parameter="sampler",
            )
        schema = table.schema.publishable
        # By counting, which does not refuse a table without rows.
        size = int(table.count_by(()).counts) if self.neighbours == "replace-one" else None
        law = self.law(table.schema, self._answers(table, noise), number_of_rows=size)
        counts = table.count_tables([each.attributes for each in law.marginals])
        tables = tuple(
            self._published_table(each, partial(counts.__getitem__, place), schema, noise)
            for place, each in enumerate(law.marginals)
        )
        in_tables = {name for each in law.marginals for name in each.attributes}
        selections = [Selection.parse(each, schema) for each in self.queries]
        elsewhere = [name for each in selections for name in each.names if name not in in_tables]
        if elsewhere or not tables:
            # The first category of everything: a row that says nothing of any person.
            row = CodedBatch({each.name: np.zeros(1, each.code_type) for each in schema.attributes}, 1)
            tables = (*tables, PublishedTable(SCHEMA_TABLE, schema, DrawnRows(lambda: iter([row]))))
        return Publication(
            tables=tables,
            law=law,
            not_protected=("the number of rows, which neighbouring tables share",)
            if self.neighbours == "replace-one"
            else (),
        )

    def planned_law(self, schema: Schema) -> NoisyCounts | None:
        """The law of the release, of which the answers to declared queries are not known yet."""
        return self.law(schema) if self.marginals else None

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """Noise by table, errors by size of count, and the groups that the ratio attack reaches."""
        measurements, noises = self.measurements(schema), self.noises(schema)
        public = (
            precision_table(measurements, noises),
            size_table(noises, rows),
            exposure_table(noises, rows),
        )
        if table is None:
            return public
        number = len(measurements) - len(self.queries)
        marginals = [each.names for each in measurements[:number]]
        return public + private_tables(table, marginals, noises[:number], self.class_attribute)

    def _questions(self, schema: Schema) -> tuple[str, ...]:
        """Declared queries in canonical form, so that the same question asked later is recognised."""
        known = schema.publishable
        questions = tuple(Selection.parse(each, known).describe(known) for each in self.queries)
        if len(set(questions)) < len(questions):
            raise ParameterError(
                "two of the queries ask the same; each takes a part of the budget. Leave one out.",
                parameter="queries",
            )
        return questions

    def _answers(self, table: PrivateTable, noise: NoiseSource) -> list[int]:
        """Noisy numbers of rows for the declared queries, in one pass over the rows."""
        if not self.queries:
            return []
        schema = table.schema.publishable
        selections = [Selection.parse(each, schema) for each in self.queries]
        names = tuple(dict.fromkeys(name for each in selections for name in each.names))
        portions = table.map_portions(names or schema.names[:1], CountSelected.of(selections, schema))
        counts = sum(portions, np.zeros(len(selections), np.int64))
        noises = self.noises(table.schema)[-len(selections) :]
        return [
            int(count + self._draw(each, noise.named("noise of queries"), place, 1)[0])
            for place, (count, each) in enumerate(zip(counts, noises, strict=True))
        ]

    def _published_table(
        self, marginal: NoisyMarginal, count: Callable[[], CountTable], schema: Schema, noise: NoiseSource
    ) -> PublishedTable:
        attributes = schema.select(marginal.attributes)
        bits = noise.named(f"noise of {marginal.table}")

        def batches() -> Iterator[CodedBatch]:
            counts = count().counts.ravel()
            for number, start in enumerate(range(0, counts.size, CELLS_PER_BATCH)):
                part = counts[start : start + CELLS_PER_BATCH]
                places = np.unravel_index(np.arange(start, start + part.size), marginal.sizes)
                columns: dict[str, Any] = {
                    each.name: codes.astype(each.code_type)
                    for each, codes in zip(attributes, places, strict=True)
                }
                columns[COUNT_COLUMN] = part + self._draw(marginal.noise, bits, number, part.size)
                yield CodedBatch(columns, part.size)

        return PublishedTable(
            marginal.table, Schema(attributes=attributes), DrawnRows(batches), (COUNT_COLUMN,)
        )

    def _draw(
        self, law: DiscreteLaplace | DiscreteGaussian, noise: NoiseSource, number: int, count: int
    ) -> Integers:
        if self.sampler == "opendp":
            return draw_with_opendp(law, count)
        return law.draw(noise.stream(number), count)
