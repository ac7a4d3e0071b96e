"""Randomized response: every row's chosen attributes are redrawn by public chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sfumato.counts import CountTable
from sfumato.distortion import UniformDistortion, amplification
from sfumato.engines.protocol import CodedBatch
from sfumato.errors import ParameterError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.amplification import Amplification
from sfumato.guarantees.local_differential_privacy import (
    LocalDifferentialPrivacy,
    retention_of_epsilon,
)
from sfumato.laws.perturbed_rows import PerturbedRows
from sfumato.methods.base import Design
from sfumato.private_table import PrivateTable
from sfumato.randomness import NoiseSource, UniformReplacement
from sfumato.release.publication import Publication, PublishedTable
from sfumato.schema import Role, Schema
from sfumato.tables import ResultTable

Probability = Annotated[float, Field(strict=True, gt=0, lt=1)]
Epsilon = Annotated[float, Field(strict=True, gt=0)]

SHARES = (0.001, 0.01, 0.1, 0.5)
"""Shares of rows for which a plan states the expected error."""


class RandomizedResponse(Design):
    """Keep each chosen value with a public probability, else publish one drawn uniformly.

    Promise
        Local differential privacy for the perturbed attributes of each row, and bounded amplification
        of any belief about them.
    Against whom
        Anyone with the release, its parameters, and any knowledge of other rows.
    Weaknesses
        Attributes that are not perturbed are published as they are. In a large group of people alike,
        the group's distribution can be reconstructed well, and with it what is likely of a member.

    References
    ----------
    Warner (1965); Guo (2010), chapters 2 and 5; Han (2016), section 4.1.

    Examples
    --------
    >>> RandomizedResponse(retention=0.5).to_dict()
    {'method': 'randomized-response', 'retention': 0.5}
    """

    method: Literal["randomized-response"] = "randomized-response"
    retention: Probability | dict[str, Probability] | None = Field(
        default=None,
        description="probability of keeping a value: one number for every perturbed attribute, or one by attribute",
    )
    epsilon: Epsilon | dict[str, Epsilon] | None = Field(
        default=None,
        description="local epsilon: one number is the total of a row, split evenly over the perturbed attributes",
    )
    attributes: tuple[str, ...] | None = Field(
        default=None, description="attributes to perturb; the sensitive ones when not given"
    )

    title: ClassVar[str] = "randomized response"
    summary: ClassVar[str] = (
        "Every row is published. In each chosen attribute its value is kept with a public probability and "
        "otherwise replaced by one drawn at random, independently of everything else, so that true counts can "
        "be estimated without bias and with known error."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        "Attributes that are not perturbed are published as they are: a person who is unique on them can be found.",
        (
            "The distribution within a large group of people who are alike on the unperturbed attributes can be "
            "reconstructed well; what is true of nearly all of the group is then known of each member."
        ),
        "Publishing the same rows again with fresh noise adds up: the epsilons of all releases count together.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Warner, S. L. (1965). Randomized response: a survey technique for eliminating evasive answer bias.",
        "Guo, L. (2010). Randomization based privacy preserving categorical data analysis. UNC Charlotte.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.retention is None and self.epsilon is None:
            raise ValueError(
                "randomized response needs a retention (between 0 and 1) or an epsilon (above 0). Try retention=0.5."
            )
        if isinstance(self.retention, float) and isinstance(self.epsilon, float):
            raise ValueError(
                "retention and epsilon say the same thing twice; give one of them, or one by attribute."
            )
        if self.attributes is not None and len(set(self.attributes)) != len(self.attributes):
            raise ValueError("attributes must be different from each other.")
        return self

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """Half of all values kept."""
        del schema
        return cls(retention=0.5)

    def distortions(self, schema: Schema) -> dict[str, UniformDistortion]:
        """The matrix of every perturbed attribute, for a schema."""
        names = self._perturbed(schema)
        retentions = {name: self._retention(name, schema[name].size, len(names)) for name in names}
        return {
            name: UniformDistortion(retention=p, size=schema[name].size) for name, p in retentions.items()
        }

    def _perturbed(self, schema: Schema) -> tuple[str, ...]:
        named = [*_keys(self.retention), *_keys(self.epsilon)]
        if self.attributes is None:
            chosen = list(dict.fromkeys([*(each.name for each in schema.with_role(Role.SENSITIVE)), *named]))
        else:
            chosen = list(self.attributes)
        outside = [name for name in named if name not in chosen]
        if outside:
            raise ParameterError(
                f"{outside[0]!r} has a retention or epsilon but is not among the attributes to perturb. "
                "Add it to attributes, or leave its number out.",
                parameter="attributes",
            )
        if not chosen:
            raise ParameterError(
                "no attribute is marked sensitive, so there is nothing to perturb. "
                'Give one role = "sensitive" in the schema, or name some in attributes.',
                parameter="attributes",
            )
        for name in chosen:
            if schema[name].role is Role.IDENTIFIER:
                raise ParameterError(
                    f"{name!r} is an identifier: it is never published, so it cannot be perturbed. "
                    "Leave it out of attributes, or change its role.",
                    parameter="attributes",
                )
        # In the schema's order, so that the same design gives the same law however it was written.
        return tuple(name for name in schema.names if name in chosen)

    def _retention(self, name: str, size: int, number_perturbed: int) -> float:
        if name in _keys(self.retention) and name in _keys(self.epsilon):
            raise ParameterError(f"{name!r} has both a retention and an epsilon; give one.", parameter=name)
        if isinstance(self.retention, Mapping) and name in self.retention:
            return self.retention[name]
        if isinstance(self.epsilon, Mapping) and name in self.epsilon:
            return retention_of_epsilon(self.epsilon[name], size)
        if isinstance(self.retention, float):
            return self.retention
        if isinstance(self.epsilon, float):
            return retention_of_epsilon(self.epsilon / number_perturbed, size)
        raise ParameterError(
            f"no retention or epsilon is given for {name!r}, which would be perturbed. "
            f"Set retention.{name}, or name the attributes to perturb without it.",
            parameter=f"retention.{name}",
        )

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """Local differential privacy and amplification, from the matrices that are really drawn."""
        gammas = {name: amplification(each.dense()) for name, each in self.distortions(schema).items()}
        unprotected = tuple(name for name in schema.publishable.names if name not in gammas)
        return (
            LocalDifferentialPrivacy(
                epsilon_by_attribute={name: math.log(gamma) for name, gamma in gammas.items()},
                unprotected=unprotected,
            ),
            Amplification(gamma_by_attribute=gammas),
        )

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """Rows with their chosen attributes redrawn."""
        schema = table.schema.publishable
        distortions = self.distortions(table.schema)
        kernels = {
            name: UniformReplacement.from_retention(each.retention, each.size)
            for name, each in distortions.items()
        }

        def batches() -> Iterator[CodedBatch]:
            for number, batch in enumerate(table.scan()):
                codes = dict(batch.codes)
                for name, kernel in kernels.items():
                    # A source for each attribute and a stream for each batch: no bit is used twice.
                    stream = noise.named(f"perturb {name}").stream(number)
                    codes[name] = stream.perturb_uniformly(codes[name], kernel)
                yield CodedBatch(codes, batch.number_of_rows)

        guarantees = self.guarantees(table.schema)
        unprotected = tuple(name for name in schema.names if name not in distortions)
        return Publication(
            tables=(PublishedTable("rows", schema, batches),),
            law=PerturbedRows(distortions=distortions),
            guarantees=guarantees,
            design=self.to_dict(),
            assumptions=("Every person has one row.", "The private table is published once."),
            not_protected=tuple(f"{name}: published as it is" for name in unprotected),
            weaknesses=self.weaknesses,
            citations=self.citations,
        )

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """The promise by attribute, and standard errors of counts to expect."""
        distortions = self.distortions(schema)
        law = PerturbedRows(distortions=distortions)
        promise = ResultTable(
            "What each perturbed attribute gets",
            ("attribute", "categories", "retention", "epsilon", "condition number"),
            tuple(
                (
                    name,
                    each.size,
                    each.retention,
                    math.log(amplification(each.dense())),
                    each.condition_number,
                )
                for name, each in distortions.items()
            ),
        )
        errors = ResultTable(
            f"Expected standard error of an estimated count, by the true share of {rows:,} rows",
            ("attribute", *(f"{share:.4g}" for share in SHARES)),
            tuple(
                (name, *(_expected_error(law, schema, name, rows, share) for share in SHARES))
                for name in distortions
            ),
        )
        if table is None:
            return promise, errors
        return promise, errors, *(_private_errors(law, table, name) for name in distortions)


def _keys(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, Mapping) else ()


def _expected_error(law: PerturbedRows, schema: Schema, name: str, rows: int, share: float) -> float:
    """Largest standard error of a category holding this share of rows, the others being equally frequent."""
    attribute = schema[name]
    errors = []
    for code in range(attribute.size):
        counts = np.full(attribute.size, rows * (1 - share) / (attribute.size - 1))
        counts[code] = rows * share
        errors.append(law.expected_standard_errors(CountTable((attribute,), counts))[code])
    return float(max(errors))


def _private_errors(law: PerturbedRows, table: PrivateTable, name: str) -> ResultTable:
    """Standard error to expect for every category of one attribute, from its true counts."""
    true_counts = table.count_by([name])
    errors = law.expected_standard_errors(true_counts)
    labels = table.schema[name].labels
    return ResultTable(
        f"Expected standard error of each count of {name}, from the private table",
        ("category", "true count", "expected std. error"),
        tuple(
            (label, int(count), float(error))
            for label, count, error in zip(labels, true_counts.counts, errors, strict=True)
        ),
        is_private=True,
    )
