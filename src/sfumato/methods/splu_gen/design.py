"""SPLU-Gen: every sensitive value is hidden among decoys; the count phase, and what to expect."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from sfumato.arrays import Integers
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, ParameterError
from sfumato.estimates.counts import CountTable
from sfumato.guarantees.small_sum_privacy import (
    LargeSumUtility,
    OddsFactor,
    SmallSumPrivacy,
    averaged_over,
    error_probabilities,
    homogeneous_error_probability,
    vanishing_probability,
)
from sfumato.immutable import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.methods.base import Design, Repetition
from sfumato.methods.splu_gen.decoy_model import DecoyModel
from sfumato.methods.splu_gen.kernels import (
    CountKept,
    DecoyShare,
    Drawn,
    Draws,
    Frequent,
    KeptRows,
    ShowDecoys,
    draw_on_counts,
    draw_together,
    frequent_values,
    leave_out,
)
from sfumato.methods.splu_gen.law import DecoyRows, PublicGroups, groupings, rarest_factors
from sfumato.randomness.partitions import Partition, is_certain, largest_group_size
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.results import ResultTable
from sfumato.schema import Role, Schema
from sfumato.text import Cell, percent_as_stated

# --------------------------------------------------------------------------------------------------
# What a plan says about people whose public group holds what they hold, and about the rarest values.


GROUPS_SHOWN = 10
"""Worst public groups that are shown for each drawn attribute."""


def what_rows_tell(odds: OddsFactor, table: PrivateTable) -> tuple[ResultTable, ...]:
    """The worst public groups of the private table, and the factors of its rarest values. Private; no value is named."""
    return (_factors(odds, table), _worst_groups(odds, table))


def _factors(odds: OddsFactor, table: PrivateTable) -> ResultTable:
    """By attribute the factor of its rarest value: over all other values, and for the worst one other."""
    rows: list[tuple[Cell, ...]] = []
    for name, gamma in odds.gamma_by_attribute.items():
        counts = np.asarray(table.count_by([name]).counts, np.int64)
        kept = np.where(counts >= odds.smallest_count, counts, 0)
        if np.count_nonzero(kept) > 1:
            rows.append((name, *rarest_factors(kept, gamma)))
    return ResultTable(
        "By what a row multiplies the odds of the rarest value",
        ("attribute", "rows that hold it", "odds factor", "against the one other value that shows it least"),
        tuple(rows),
        is_private=True,
    )


def _worst_groups(odds: OddsFactor, table: PrivateTable) -> ResultTable:
    """Worst first: to someone who knows the others of a public group, how sure a row makes."""
    public = [name for name in table.schema.publishable.names if name not in odds.gamma_by_attribute]
    found: list[tuple[Cell, ...]] = []
    for name, gamma in odds.gamma_by_attribute.items():
        for names in groupings(public):
            groups = PublicGroups(table.count_occupied((*names, name)))
            before, after = groups.told_by_others(gamma)
            # Rows of rarer values are left out.
            after = np.where(groups.totals[groups.values] >= odds.smallest_count, after, 0.0)
            # The worst value of each group, and how many of its rows are more likely told than not.
            is_told = np.bincount(
                groups.groups, groups.counts.counts * (after > 0.5), minlength=groups.number
            )
            worst = np.lexsort((-after, groups.groups))
            firsts = worst[np.unique(groups.groups[worst], return_index=True)[1]]
            chosen = firsts[np.argsort(-after[firsts], kind="stable")][:GROUPS_SHOWN]
            found += [
                (
                    groups.label(int(cell)),
                    name,
                    int(groups.sizes[cell]),
                    float(before[cell]),
                    float(after[cell]),
                    int(is_told[groups.groups[cell]]),
                )
                for cell in chosen
            ]
    found.sort(key=lambda row: (-float(row[4]), -int(row[2])))
    return ResultTable(
        "What a row tells someone who knows the others of the public group; the worst groups",
        (
            "public group",
            "attribute",
            "rows",
            "believed before",
            "highest posterior",
            "rows told above one half",
        ),
        tuple(found[:GROUPS_SHOWN]),
        is_private=True,
    )


# --------------------------------------------------------------------------------------------------
# What a plan says before decoys are drawn: questions, promises by count, whether groups exist.


APPLICABILITY = (
    (
        "Is a fact that holds for most people harmless here?",
        (
            "Large sums are published accurately. Where even a majority's value is a secret, as in a register of "
            "one disease, the model does not apply."
        ),
    ),
    (
        "Will these rows be published once?",
        "Fresh draws of the same rows average the protection away.",
    ),
    (
        "Is nobody known to share an extremely rare value?",
        "Someone who knows that two people share it learns from both keeping it; suppress rare values first.",
    ),
)
"""Questions that only the publisher can answer."""


def decoy_plan(
    promises: tuple[OddsFactor, SmallSumPrivacy, LargeSumUtility], table: PrivateTable | None
) -> tuple[ResultTable, ...]:
    """What is special in a plan of decoys; tables computed from the private table are marked.

    Parameters
    ----------
    promises
        What the design promises.
    table
        The private rows, when they may be looked at.
    """
    odds, privacy, utility = promises
    public = (
        ResultTable("Questions to answer before publishing", ("question", "why"), APPLICABILITY),
        _by_attribute(odds, privacy, utility),
        _by_count(privacy),
    )
    if table is None:
        return public
    shared = (_groups_together(odds, table),) if odds.together else ()
    return (*public, *what_rows_tell(odds, table), *shared, _groups(odds.gamma_by_attribute, table))


def _by_attribute(odds: OddsFactor, privacy: SmallSumPrivacy, utility: LargeSumUtility) -> ResultTable:
    """The promises; between the largest small and the smallest large sum nothing is promised."""
    return ResultTable(
        "What each drawn attribute gets",
        (
            "attribute",
            "gamma",
            "small sums up to",
            "wrong with probability",
            "large sums from",
            "odds grow up to, of N rows",
            "one row's value vanishes",
        ),
        tuple(
            (
                name,
                gamma,
                privacy.largest_small_count,
                "vacuous" if privacy.is_vacuous else privacy.error_probability(name),
                utility.smallest_large_count(name),
                " times ".join(odds.formula(each) for each in odds.tied_with(name)),
                vanishing_probability(1, gamma),
            )
            for name, gamma in odds.gamma_by_attribute.items()
        ),
    )


def _by_count(privacy: SmallSumPrivacy) -> ResultTable:
    """The two probabilities for every small count: of a value alone, and of a group who all share it."""
    counts = range(1, privacy.largest_small_count + 1)
    cells: list[tuple[Cell, ...]] = []
    for name, gamma in privacy.gamma_by_attribute.items():
        alone = error_probabilities(counts, gamma, privacy.relative_error)
        # Theorem 4 promises every concept of true count up to k what the worst single value gets.
        promised = np.minimum.accumulate(alone)
        for count, wrong, floor in zip(counts, alone, promised, strict=True):
            shared = homogeneous_error_probability(count, gamma, privacy.relative_error)
            cells.append((name, count, float(wrong), shared, "yes" if shared >= floor else "no"))
    return ResultTable(
        f"Probability that an answer is wrong by more than {privacy.relative_error:.4g} times the count",
        ("attribute", "true count", "value alone", "public group who all share it", "Theorem 4 holds"),
        tuple(cells),
    )


def _groups(gammas: Mapping[str, int], table: PrivateTable) -> ResultTable:
    """Whether groups exist, and what they leave of the questions."""
    # One set of rows is published, so the groups of every attribute must divide it.
    left_out = table.number_of_rows % math.lcm(*gammas.values())
    rows: list[tuple[Cell, ...]] = []
    for name, gamma in gammas.items():
        counts = np.asarray(table.count_by([name]).counts)
        largest = largest_group_size(counts)
        if largest < gamma:
            verdict = f"no groups of {gamma} exist"
        elif DecoyModel(counts.astype(np.float64), gamma).is_saturated:
            verdict = (
                "groups exist, but a category is in nearly all: only counts of categories alone are answered"
            )
        else:
            verdict = "groups exist"
        rows.append((name, gamma, largest, verdict, left_out))
    return ResultTable(
        "Groups of the private table",
        ("attribute", "gamma", "largest gamma that fits", "verdict", "rows left out"),
        tuple(rows),
        is_private=True,
    )


def _groups_together(odds: OddsFactor, table: PrivateTable) -> ResultTable:
    """Whether groups exist for certain whose members differ in each of the attributes drawn together."""
    gamma = odds.gamma_by_attribute[odds.together[0]]
    occupied = table.count_occupied(odds.together)
    labels = np.stack([np.asarray(each, np.int64) for each in occupied.codes])
    shares = sum(float(np.bincount(each, occupied.counts).max()) for each in labels) / occupied.counts.sum()
    verdict = (
        "groups exist for certain"
        if is_certain(occupied.counts, labels, gamma)
        else "groups are searched for when publishing, and refused by name where none are found"
    )
    return ResultTable(
        "Groups of attributes drawn together",
        ("attributes", "gamma", "largest shares together", "certain below", "verdict"),
        ((" and ".join(odds.together), gamma, shares, 1 / gamma, verdict),),
        is_private=True,
    )


# --------------------------------------------------------------------------------------------------
# The count phase of SPLU-Gen: which rows are published, and what the rows of each value show.


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class CountPhase:
    """Everything that is drawn from counts. Private.

    Parameters
    ----------
    table
        The private rows.
    drawn
        What each row draws at once.
    threshold
        Rows that every published value must be held by, or None.
    partition
        How groups are made.
    noise
        Where the bits come from.
    """

    table: PrivateTable
    drawn: Sequence[Drawn]
    threshold: int | None
    partition: Partition
    noise: NoiseSource

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes that are drawn."""
        return tuple(name for unit in self.drawn for name in unit.names)

    @property
    def multiple(self) -> int:
        """Of what the number of rows must be a multiple, so that the groups of every attribute divide it."""
        return math.lcm(*(each.gamma for each in self.drawn))

    @property
    def frequent(self) -> Frequent:
        """Which values of each attribute enough rows hold; nothing where all are published."""
        return self._frequent[0]

    @cached_property
    def _frequent(self) -> tuple[Frequent, Frequent]:
        """The same, and which values stay frequent whichever rows are left out besides."""
        if self.threshold is None:
            return {}, {}
        occupied = self.table.count_occupied(self.names)
        return frequent_values(
            dict(zip(self.names, occupied.codes, strict=True)),
            occupied.counts,
            {name: self.table.schema[name].size for name in self.names},
            self.threshold,
            self.multiple - 1,
        )

    def kept(self) -> list[KeptRows]:
        """The rows to publish of each portion: frequent enough, and as many as the groups divide evenly."""
        drawing = self.noise.named("rows left out")
        step = CountKept(tuple(self.drawn), *self._frequent, self.multiple - 1, drawing)
        portions = list(self.table.map_portions(self.names, step))
        rows = sum(each.rows for each in portions)
        if self.frequent:
            _LOG.info("left out %d rows with a rare sensitive value", self.table.number_of_rows - rows)
        remainder = rows % self.multiple
        if rows < self.multiple or sum(each.spare or 0 for each in portions) < remainder:
            raise DataError(
                f"the table has {rows} rows to publish; groups of {' and '.join(str(each.gamma) for each in self.drawn)} need "
                f"at least {self.multiple}, and more where rare values are left out. Use smaller groups, or more rows.",
                number_of_rows=rows,
            )
        portions = leave_out(portions, remainder, drawing.named("portions").stream(0))
        _LOG.info("left out %d rows at random, so that groups divide the rest", remainder)
        for unit in self.drawn:
            total = np.sum([each.counts[unit.name] for each in portions], axis=0)
            for name, counts in unit.margins(total):
                _refuse_frequent(name, unit.gamma, counts)
        return portions

    def shares(self) -> tuple[DecoyShare, ...]:
        """What the rows of each portion show, drawn from counts."""
        portions = self.kept()
        dealt: dict[str, tuple[Draws, ...]] = {}
        for unit in self.drawn:
            source = self.noise.named(f"decoys of {unit.name}")
            counts = np.stack([each.counts[unit.name] for each in portions])
            draws = self._draw(unit, counts.sum(axis=0), source)
            dealt[unit.name] = draws.split(counts, source.named("portions"))
        return tuple(
            DecoyShare(each.candidates, {name: of_unit[number] for name, of_unit in dealt.items()})
            for number, each in enumerate(portions)
        )

    def _draw(self, unit: Drawn, counts: Integers, noise: NoiseSource) -> Draws:
        """What the rows of each value, or combination of values, show."""
        if len(unit.names) == 1:
            return draw_on_counts(counts, unit.gamma, noise, partition=self.partition)
        drawn = draw_together(counts, unit.sizes, unit.gamma, noise)
        if drawn is None:
            raise DataError(
                f"no groups of {unit.gamma} rows were found whose members differ in each of {unit.name}. They exist for certain "
                f"where the shares of the most frequent values add up to less than one in {unit.gamma}. Use a smaller gamma, or "
                "name fewer attributes together.",
                attribute=unit.names[0],
            )
        return drawn


def _refuse_frequent(name: str, gamma: int, counts: Integers) -> None:
    """Refuse an attribute of which no groups of different values exist."""
    largest = largest_group_size(counts)
    if largest < gamma:
        advice = f"Use gamma = {largest}" if largest >= 2 else "No gamma fits: merge or split categories"
        raise DataError(
            f"a category of {name!r} is held by more than one row in {gamma}, so groups of {gamma} different "
            f"values do not exist; the largest gamma that fits is {largest}. {advice}, or leave the attribute out.",
            attribute=name,
        )


# --------------------------------------------------------------------------------------------------
# SPLU-Gen: every sensitive value is hidden among decoys, so that large sums survive and small ones do not.


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
        stated = [
            (one, each) for one in releases for each in one.promises if isinstance(each, SmallSumPrivacy)
        ]
        sums = [each for _, each in stated]
        told += [
            f"{name} is published unperturbed in one of them: no bound for it."
            for name in dict.fromkeys(name for each in sums for name in each.gamma_by_attribute)
            if any(name in one.sizes and name not in each.gamma_by_attribute for one, each in stated)
        ]
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
