"""SPLU-Gen: every sensitive value is hidden among decoys, so that large sums survive and small ones do not."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from sfumato.chance.partition import Partition, largest_group_size
from sfumato.chance.randomness import NoiseSource
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, ParameterError
from sfumato.guarantees.large_sum_utility import LargeSumUtility
from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy
from sfumato.methods.base import Design
from sfumato.methods.splu_gen.kernels.decoys import Draws, draw_on_counts
from sfumato.methods.splu_gen.kernels.rows import (
    DecoyShare,
    Frequent,
    KeptRows,
    ShowDecoys,
    count_kept,
    leave_out,
)
from sfumato.methods.splu_gen.law.decoy_rows import DecoyRows
from sfumato.methods.splu_gen.plan.expectations import decoy_plan
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.values.counts import CountTable
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role, Schema

_LOG = logging.getLogger(__name__)

Gamma = Annotated[int, Field(strict=True, ge=2)]

MANY_CATEGORIES = 20
"""Categories from which the example takes the paper's group size."""


class SPLUGen(Design):
    """Publish, for each row, a value drawn uniformly from a secret group of ``gamma`` different values.

    Promise
        Small-sum privacy and large-sum utility for counts of a sensitive value.
    Against whom
        Anyone who sees the release once, knows the method and gamma, and knows the public attributes of
        everybody; the groups are not published.
    Weaknesses
        Public attributes are published as they are. A public group whose members all share a value is
        recognised more often than the paper's theorem says: up to gamma 8 for a relative error of 0.3, at
        larger gammas too for smaller errors.

    References
    ----------
    Fu, Wang, Wong, Wang and Jiang (2014); groups from Xiao and Tao (2006).

    Examples
    --------
    >>> SPLUGen(gamma=5).to_dict()["gamma"]
    5
    """

    method: Literal["splu-gen"] = "splu-gen"
    gamma: Gamma | dict[str, Gamma] = Field(
        description="rows of a decoy group: one number for every sensitive attribute, or one by attribute; 5 to 10 is advised"
    )
    partition: Partition = Field(
        default="mixed",
        description="mixed: close to a uniformly random valid partition; largest-first: as in the paper, "
        "which leaves counts within public groups without an unbiased estimate",
    )
    relative_error: float = Field(
        default=0.3, gt=0, description="what counts as a wrong answer, relative to the true count"
    )
    largest_small_count: Annotated[int, Field(strict=True, ge=1)] = Field(
        default=10, description="counts up to this one are small sums, to be wrong often"
    )
    error_probability: float = Field(
        default=0.05, gt=0, lt=1, description="how often the answer about a large sum may be wrong"
    )
    suppress_rarer_than: Annotated[int, Field(strict=True, ge=2)] | None = Field(
        default=None, description="leave out rows whose sensitive value fewer rows than this hold"
    )

    title: ClassVar[str] = "small-sum privacy by decoys (SPLU-Gen)"
    summary: ClassVar[str] = (
        "Rows are grouped in secret so that the members of a group hold different sensitive values; each row is "
        "published with a value drawn at random from its group. Counts of many people come out accurately, counts "
        "of few do not."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        (
            "Public attributes are published as they are: a person who is unique on them can be found, and then has "
            "the published value with probability about 1/gamma."
        ),
        (
            "A public group whose members all hold one value is answered correctly more often than the paper's "
            "Theorem 4 says, up to gamma 8 for a relative error of 0.3 and beyond that for smaller ones, because the size "
            "of the group is public and caps the answer."
        ),
        "Publishing the same rows again with fresh draws lets anyone average the error away.",
        "Someone who knows that two people share a very rare value learns from both keeping it.",
    )
    published_twice: ClassVar[str] = (
        "Decoys are fresh in every release and the true value is not: whoever links the rows by the public attributes sees it recur, and averaging tells small counts."
    )
    citations: ClassVar[tuple[str, ...]] = (
        (
            "Fu, A. W.-C., Wang, K., Wong, R. C.-W., Wang, J., Jiang, M. (2014). Small sum privacy and large sum "
            "utility in data publishing. Journal of Biomedical Informatics."
        ),
        "Xiao, X., Tao, Y. (2006). Anatomy: simple and effective privacy preservation. VLDB.",
    )

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """The paper's five where there are many categories, pairs where there are few."""
        smallest = min((each.size for each in schema.with_role(Role.SENSITIVE)), default=2)
        return cls(gamma=5 if smallest >= MANY_CATEGORIES else 2)

    def gammas(self, schema: Schema) -> dict[str, int]:
        """Group size of every drawn attribute, in the schema's order; refuses parameters that do not fit.

        Raises
        ------
        ParameterError
            When no attribute is sensitive, all are, one has no group size, or too few categories.
        """
        sensitive = [each.name for each in schema.with_role(Role.SENSITIVE)]
        given = self.gamma if isinstance(self.gamma, Mapping) else dict.fromkeys(sensitive, self.gamma)
        for name in given:
            if not schema[name].role.is_published:
                raise ParameterError(
                    f"{name!r} is {schema[name].role.as_noun}: it is never published, so it needs no decoys. Leave it out of gamma.",
                    parameter="gamma",
                )
        lacking = [name for name in sensitive if name not in given]
        if lacking or not given:
            which = (
                f"the sensitive attribute {lacking[0]!r} has no gamma"
                if lacking
                else "no attribute is sensitive"
            )
            raise ParameterError(
                f'{which}. Every attribute with role = "sensitive" gets decoys: give gamma one number, or one for each.',
                parameter="gamma",
            )
        if set(given) == set(schema.publishable.names):
            raise ParameterError(
                "every attribute would get decoys, so nothing public is left to ask about and the model of small and "
                "large sums does not apply. Give the harmless attributes another role, or publish counts instead.",
                parameter="gamma",
            )
        for name, gamma in given.items():
            if gamma > schema[name].size:
                raise ParameterError(
                    f"gamma of attribute {name!r} must be at most its number of categories, {schema[name].size}, "
                    f"got {gamma}: a group holds different values. Lower it.",
                    parameter="gamma",
                )
        return {name: given[name] for name in schema.names if name in given}

    def guarantees(self, schema: Schema) -> tuple[SmallSumPrivacy, LargeSumUtility]:
        """Small-sum privacy and large-sum utility, by exact binomial probabilities."""
        gammas = self.gammas(schema)
        return (
            SmallSumPrivacy(
                gamma_by_attribute=gammas,
                relative_error=self.relative_error,
                largest_small_count=self.largest_small_count,
            ),
            LargeSumUtility(
                gamma_by_attribute=gammas,
                relative_error=self.relative_error,
                error_probability=self.error_probability,
            ),
        )

    def law(self, schema: Schema) -> DecoyRows:
        """How published counts relate to true ones."""
        return DecoyRows(
            gamma_by_attribute=self.gammas(schema),
            partition=self.partition,
            largest_small_count=self.largest_small_count,
            relative_error=self.relative_error,
            error_probability=self.error_probability,
            suppress_rarer_than=self.suppress_rarer_than,
        )

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """Rows with their sensitive values drawn from decoy groups. The groups never leave this function."""
        schema = table.schema.publishable
        gammas = self.gammas(table.schema)
        frequent = self._frequent(table, gammas)
        portions = self._kept(table, gammas, frequent, noise)
        shares = self._shares(portions, gammas, noise)
        rows = MadeRows(schema.names, ShowDecoys(frequent), shares)
        return Publication(
            tables=(PublishedTable("rows", schema, rows),),
            law=self.law(table.schema),
            published_as_they_are=tuple(name for name in schema.names if name not in gammas),
            assumptions=(
                "What holds for most people is no secret.",
                "At most as many rows as make the number divisible by gamma were left out, at random.",
            ),
            chosen_from_private_data={}
            if self.suppress_rarer_than is None
            else {
                "rows left out": f"those whose sensitive value fewer than {self.suppress_rarer_than} rows hold"
            },
        )

    def _frequent(self, table: PrivateTable, gammas: Mapping[str, int]) -> Frequent:
        """Which values of each attribute enough rows hold; nothing where all are published."""
        if self.suppress_rarer_than is None:
            return {}
        return {name: table.count_by([name]).counts >= self.suppress_rarer_than for name in gammas}

    def _kept(
        self, table: PrivateTable, gammas: Mapping[str, int], frequent: Frequent, noise: NoiseSource
    ) -> list[KeptRows]:
        """The rows to publish of each portion: frequent enough, and as many as the groups divide evenly."""
        multiple = math.lcm(*gammas.values())
        sizes = {name: table.schema[name].size for name in gammas}
        drawing = noise.named("rows left out")
        portions = count_kept(table.scan(tuple(gammas)), sizes, frequent, multiple - 1, drawing)
        rows = sum(each.rows for each in portions)
        if frequent:
            _LOG.info("left out %d rows with a rare sensitive value", table.number_of_rows - rows)
        if rows < multiple:
            raise DataError(
                f"the table has {rows} rows to publish; groups of {' and '.join(map(str, gammas.values()))} need at "
                f"least {multiple}. Use smaller groups, or more rows.",
                number_of_rows=rows,
            )
        portions = leave_out(portions, rows % multiple, drawing.named("portions").stream(0))
        _LOG.info("left out %d rows at random, so that groups divide the rest", rows % multiple)
        for name, gamma in gammas.items():
            largest = largest_group_size(sum(each.counts[name] for each in portions))
            if largest < gamma:
                advice = (
                    f"Use gamma = {largest}" if largest >= 2 else "No gamma fits: merge or split categories"
                )
                raise DataError(
                    f"a category of {name!r} is held by more than one row in {gamma}, so groups of {gamma} different "
                    f"values do not exist; the largest gamma that fits is {largest}. {advice}, or leave the attribute out.",
                    attribute=name,
                )
        return portions

    def _shares(
        self, portions: list[KeptRows], gammas: Mapping[str, int], noise: NoiseSource
    ) -> tuple[DecoyShare, ...]:
        """What the rows of each portion show, drawn from counts."""
        dealt: dict[str, tuple[Draws, ...]] = {}
        for name, gamma in gammas.items():
            source = noise.named(f"decoys of {name}")
            counts = np.stack([each.counts[name] for each in portions])
            drawn = draw_on_counts(counts.sum(axis=0), gamma, source, partition=self.partition)
            dealt[name] = drawn.split(counts, source.named("portions"))
        return tuple(
            DecoyShare(each.candidates, {name: dealt[name][number] for name in gammas})
            for number, each in enumerate(portions)
        )

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """Questions to answer, and promises by attribute and count; with the table, whether groups exist."""
        del rows
        return decoy_plan(self.gammas(schema), self.guarantees(schema), table)

    def planned_law(self, schema: Schema) -> DecoyRows:
        """The law of the release itself."""
        return self.law(schema)

    def can_publish(self, counts: CountTable) -> bool:
        """Groups of different values exist, where the attribute gets decoys; others are free."""
        (attribute,) = counts.attributes
        if isinstance(self.gamma, Mapping):
            gamma = self.gamma.get(attribute.name)
        else:
            gamma = self.gamma if attribute.role is Role.SENSITIVE else None
        return gamma is None or largest_group_size(np.ceil(counts.counts).astype(np.int64)) >= gamma
