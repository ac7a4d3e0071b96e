"""SPLU-Gen: every sensitive value is hidden among decoys, so that large sums survive and small ones do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from sfumato.chance.partition import Partition, largest_group_size
from sfumato.chance.randomness import NoiseSource
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.guarantees.large_sum_utility import LargeSumUtility
from sfumato.guarantees.odds_factor import OddsFactor
from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy, averaged_over
from sfumato.methods.base import Design, Repetition
from sfumato.methods.splu_gen.design.count_phase import CountPhase
from sfumato.methods.splu_gen.kernels.rows import Drawn, ShowDecoys
from sfumato.methods.splu_gen.law.decoy_rows import DecoyRows
from sfumato.methods.splu_gen.plan.expectations import decoy_plan
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.values.bounds import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.values.counts import CountTable
from sfumato.values.number_text import percent_as_stated
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role, Schema

Gamma = Annotated[int, Field(strict=True, ge=2, le=1_000_000)]

MOST_COMBINATIONS = 2**22
"""Combinations of categories that can be drawn together; they are counted in an array."""

MANY_CATEGORIES = 20
"""Categories from which the example takes the paper's group size."""


class SPLUGen(Design):
    """Publish, for each row, a value drawn uniformly from a secret group of ``gamma`` different values.

    Promise
        An odds factor for the value of a person; small-sum privacy and large-sum utility for counts of a value.
    Against whom
        Anyone who sees the release once, knows the method and gamma, and knows the public attributes of
        everybody; the groups are not published.
    Weaknesses
        Public attributes are published as they are. A public group whose members all share a value is
        recognised more often than the paper's theorem says: up to gamma 8 for a relative error of 0.3, at
        larger gammas too for smaller errors. A person whose group holds a rare value is given away by a row that shows it.

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
        default=0.3,
        ge=SMALLEST_ERROR,
        le=LARGEST_ERROR,
        description="what counts as a wrong answer, relative to the true count",
    )
    largest_small_count: Annotated[int, Field(strict=True, ge=1, le=300)] = Field(
        default=10, description="counts up to this one are small sums, to be wrong often"
    )
    error_probability: float = Field(
        default=0.05, gt=0, lt=1, description="how often the answer about a large sum may be wrong"
    )
    suppress_rarer_than: Annotated[int, Field(strict=True, ge=2, le=MOST_ROWS)] | None = Field(
        default=None,
        description="leave out rows whose sensitive value fewer rows than this hold, until every attribute meets it",
    )
    together: tuple[str, ...] = Field(
        default=(),
        description="sensitive attributes that tell each other, of one gamma: each row shows all of them from one member of "
        "its group; only counts of single values are then answered",
    )
    independent: tuple[str, ...] = Field(
        default=(),
        description="sensitive attributes that you declare to tell nothing of the others; the rest is taken to be tied",
    )

    title: ClassVar[str] = "small-sum privacy by decoys (SPLU-Gen)"
    summary: ClassVar[str] = (
        "Rows are grouped in secret so that the members of a group hold different sensitive values; each row is "
        "published with a value drawn at random from its group. Counts of many people come out accurately, counts "
        "of few do not."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        (
            "Public attributes are published as they are: a person who is unique on them can be found, and the value that "
            "the row shows is then more likely the person's, by the odds factor: the rarer the value, the more."
        ),
        (
            "Where the others of a public group hold a rare value, a row of the group that shows it is nearly always "
            "true: decoys land anywhere, holders live together. The plan and the attack small-sum show the worst groups."
        ),
        (
            "Sensitive attributes that tell each other are drawn separately unless they are named together: rows in which "
            "they agree are more often true, and counts can be averaged over them."
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
        self._refuse_unfit_names(given)
        return {name: given[name] for name in schema.names if name in given}

    def _refuse_unfit_names(self, gammas: Mapping[str, int]) -> None:
        """Refuse attributes named together or independent that are not drawn so."""
        for parameter, names in (("together", self.together), ("independent", self.independent)):
            strange = [name for name in names if name not in gammas]
            if strange or len(set(names)) != len(names):
                raise ParameterError(
                    f"{parameter} names attributes that get decoys, each once; {', '.join(map(repr, strange or names))} "
                    f"{'is none of them' if strange else 'repeats one'}. Name some of {', '.join(map(repr, gammas))}.",
                    parameter=parameter,
                )
        if len(self.together) == 1 or len({gammas[name] for name in self.together}) > 1:
            raise ParameterError(
                "together needs two attributes or more, all of one gamma: they share a group and a draw. Name another, or "
                "give them the same gamma.",
                parameter="together",
            )
        if self.together and self.partition != "mixed":
            raise ParameterError(
                f"attributes are drawn together from mixed groups only, got {self.partition!r}. Leave partition out.",
                parameter="partition",
            )

    def drawn(self, schema: Schema) -> tuple[Drawn, ...]:
        """What each row draws at once: the attributes named together, and every other one by itself."""
        gammas = self.gammas(schema)
        units = dict.fromkeys(self.together if name in self.together else (name,) for name in gammas)
        drawn = tuple(
            Drawn(names, tuple(schema[name].size for name in names), gammas[names[0]]) for names in units
        )
        for each in drawn:
            if each.radix.combinations > MOST_COMBINATIONS:
                raise ParameterError(
                    f"{each.name} have {each.radix.combinations:,} combinations of categories, and at most {MOST_COMBINATIONS:,} "
                    "can be drawn together. Merge categories, or name fewer attributes together.",
                    parameter="together",
                )
        return drawn

    def guarantees(self, schema: Schema) -> tuple[OddsFactor, SmallSumPrivacy, LargeSumUtility]:
        """The odds factor of a person's value, small-sum privacy and large-sum utility, all exact."""
        gammas = self.gammas(schema)
        smallest = self.suppress_rarer_than or 1
        return (
            OddsFactor(
                gamma_by_attribute=gammas,
                smallest_count=smallest,
                together=self.together,
                independent=self.independent,
            ),
            SmallSumPrivacy(
                gamma_by_attribute=gammas,
                smallest_count=smallest,
                together=self.together,
                independent=self.independent,
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
            together=self.together,
        )

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """Rows with their sensitive values drawn from decoy groups. The groups never leave this function."""
        schema = table.schema.publishable
        gammas = self.gammas(table.schema)
        drawn = self.drawn(table.schema)
        counted = CountPhase(table, drawn, self.suppress_rarer_than, self.partition, noise)
        rows = MadeRows(schema.names, ShowDecoys(counted.frequent, drawn), counted.shares())
        return Publication(
            tables=(PublishedTable("rows", schema, rows),),
            law=self.law(table.schema),
            published_as_they_are=tuple(name for name in schema.names if name not in gammas),
            assumptions=(
                "What holds for most people is no secret.",
                "At most as many rows as make the number divisible by gamma were left out, at random.",
            ),
            chosen_from_private_data=self.choices,
        )

    @property
    def choices(self) -> Mapping[str, str]:
        """Which rows are left out, where a threshold decides it by how often their values occur."""
        rarest = self.suppress_rarer_than
        if rarest is None:
            return super().choices
        return {
            **super().choices,
            "rows left out": f"those whose sensitive value fewer than {rarest} rows hold",
        }

    @classmethod
    def published_again(cls, releases: Sequence[Repetition]) -> str:
        """How seldom the mean of the published counts is wrong, and the odds of a value that is shown every time."""
        told = [
            cls.published_twice,
            f"A row that shows a value in all {len(releases)} has the product of its odds factors.",
        ]
        sums = [each for one in releases for each in one.promises if isinstance(each, SmallSumPrivacy)]
        shared = [
            name
            for name in sums[-1].gamma_by_attribute
            if all(name in each.gamma_by_attribute for each in sums)
        ]
        if shared and max(each.smallest_count for each in sums) <= sums[-1].largest_small_count:
            name = min(shared, key=lambda each: averaged_over(sums, each))
            told.append(
                f"A count of {name} up to {sums[-1].largest_small_count} was wrong by more than "
                f"{percent_as_stated(sums[-1].relative_error)} with probability {sums[-1].error_probability(name):.3f} in the last of "
                f"{len(sums)} releases; the mean over them is with {averaged_over(sums, name):.3f}."
            )
        return " ".join(told)

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """Questions to answer, and promises by attribute and count; with the table, whether groups exist."""
        del rows
        return decoy_plan(self.guarantees(schema), table)

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
