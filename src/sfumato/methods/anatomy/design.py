"""Anatomy: public and sensitive values in two tables, joined by bucket."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Integers
from sfumato.data.chunks import ROWS_PER_BATCH, rebatched
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, ParameterError
from sfumato.estimates.counts import CountTable
from sfumato.guarantees import Guarantee
from sfumato.guarantees.k_anonymity import LDiversity
from sfumato.immutable import MOST_ROWS
from sfumato.methods.anatomy.buckets import BUCKET, ROWS, SENSITIVE
from sfumato.methods.anatomy.kernels import Block, DealToBlocks, DealToBuckets, block_quotas, cut_into_blocks
from sfumato.methods.anatomy.law import BucketedRows
from sfumato.methods.base import Design, Repetition
from sfumato.methods.planning import PromiseGoal, crowd_of, crowd_size
from sfumato.randomness.partitions import Partition, compose_groups, group_sizes, largest_group_size
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import DrawnRows, MadeRows, Publication, PublishedTable
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# What several releases by buckets tell: a person's value is in every bucket, and other values seldom are.


@dataclass(frozen=True)
class Intersection:
    """What is left of the values that a person can have.

    Parameters
    ----------
    certain
        Share of people whose value alone is left.
    chance
        Mean chance to name a person's value by picking one of those left.
    """

    certain: float
    chance: float


def intersect_buckets(l_values: Sequence[int], values: int) -> Intersection:
    """Intersect a person's buckets, drawn independently, for values that are equally frequent.

    Parameters
    ----------
    l_values
        Different values of the bucket of each release, the person's own included.
    values
        That there are.

    Notes
    -----
    A bucket holds ``l - 1`` of the ``V - 1`` other values, all sets alike. Of r that are left, the next bucket holds a
    hypergeometric number. Where values are not equally frequent, frequent ones meet more often and a few people fewer are
    certain: 92.0 % in place of 92.3 % where the most frequent of 14 is twice the rarest.

    Examples
    --------
    >>> round(intersect_buckets((2, 2), 14).certain, 4), round(intersect_buckets((4,), 14).chance, 4)
    (0.9231, 0.25)
    """
    others = max(values, *l_values) - 1
    first, *more = (each - 1 for each in l_values)
    left = {first: 1.0}
    for drawn in more:
        after: dict[int, float] = {}
        for number, probability in left.items():
            for kept in range(max(0, drawn - (others - number)), min(number, drawn) + 1):
                ways = math.comb(number, kept) * math.comb(others - number, drawn - kept)
                after[kept] = after.get(kept, 0.0) + probability * ways / math.comb(others, drawn)
        left = after
    return Intersection(
        certain=left.get(0, 0.0), chance=sum(each / (1 + number) for number, each in left.items())
    )


# --------------------------------------------------------------------------------------------------
# Anatomy: public and sensitive values in two tables, joined by bucket.


EXAMPLE_SIZE = 2
"""Bucket size of the example design: it fits every table in which no value is held by more than half."""


class Anatomy(Design):
    """Publish public values exactly, sensitive values exactly, and how they belong together only by bucket.

    Promise
        l-diversity: in each bucket every sensitive value is held by at most one row in l.
    Against whom
        Someone who looks at one bucket by itself.
    Weaknesses
        The promise of 1/l fails against anyone who compares buckets: public values are published as they
        are, and what they say about the sensitive value is learned across buckets
        (:mod:`sfumato.attacks.anatomy_naive_bayes`). Every person in the table can be found by their
        public values, and who can rule out l - 1 values of a bucket knows the last.

    References
    ----------
    Xiao and Tao (2006), Anatomy: simple and effective privacy preservation; Mothali (2011), chapters 3-5.

    Examples
    --------
    >>> Anatomy(l_value=4).to_dict()
    {'method': 'anatomy', 'l_value': 4, 'partition': 'mixed'}
    """

    method: Literal["anatomy"] = "anatomy"
    l_value: Annotated[int, Field(strict=True, ge=2, le=MOST_ROWS)] = Field(
        description="rows of a bucket, all with different sensitive values; some buckets get one more"
    )
    attribute: str | None = Field(
        default=None, description="the sensitive attribute; the only one of the schema when not given"
    )
    partition: Partition = Field(
        default="mixed",
        description="how buckets are made: mixed (near a random valid partition, linear time) or largest-first",
    )

    title: ClassVar[str] = "Anatomy"
    summary: ClassVar[str] = (
        "Public values and sensitive values are published exactly, in two tables. Rows are put into buckets of l "
        "rows with different sensitive values; the tables share the bucket and nothing else, so that which value "
        "belongs to which row of a bucket is not published."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        (
            "What public values say about the sensitive one can be learned by comparing buckets; guesses then "
            "succeed far more often than 1 time in l (attack anatomy-naive-bayes)."
        ),
        "Public attributes are published as they are: a person who is unique on them can be found.",
        "Who can rule out l - 1 values of a person's bucket knows the person's value.",
    )
    published_twice: ClassVar[str] = (
        "A person's value is in both of its buckets, and other values seldom are: with two values a bucket most people are certain after two releases."
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Xiao, X. and Tao, Y. (2006). Anatomy: simple and effective privacy preservation. VLDB.",
        "Mothali, C. (2011). Attacking anonymization and constructing improved differentially private classifiers.",
    )

    promise_goals: ClassVar[Mapping[str, PromiseGoal]] = {
        "l_value": PromiseGoal(
            "rows of a bucket, all with different values",
            "l_value",
            "at least",
            crowd_size,
            protects_nothing=1,
        ),
        "belief": PromiseGoal(
            "the largest share of a value in a bucket",
            "l_value",
            "at least",
            crowd_of,
            most=1,
            protects_nothing=1,
        ),
    }

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """Small buckets for the first sensitive attribute."""
        first = schema.with_role(Role.SENSITIVE)[0]
        return cls(l_value=EXAMPLE_SIZE, attribute=first.name)

    @classmethod
    def published_again(cls, releases: Sequence[Repetition]) -> str:
        """How many people are certain, and how often a value is named, by intersecting buckets of each attribute."""
        told = [cls.published_twice]
        watched = [(one, each) for one in releases for each in one.promises if isinstance(each, LDiversity)]
        for name in dict.fromkeys(each.attribute for _, each in watched):
            l_values = [math.floor(each.l_value) for _, each in watched if each.attribute == name]
            values = max(one.sizes.get(name, 0) for one, _ in watched)
            if len(l_values) < 2 or not values:
                continue
            found = intersect_buckets(l_values, values)
            told.append(
                f"After {len(l_values)} releases in buckets of {' and '.join(map(str, sorted(set(l_values))))}, for {values} equally "
                f"frequent values: {percent(found.certain, decimals=1)} of the people are certain, and a guess among the values "
                f"left is right with {found.chance:.2f} on average, where one release leaves 1 in {max(l_values)}."
            )
        return " ".join(told)

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """l-diversity of the sensitive attribute."""
        return (LDiversity(attribute=self._sensitive(schema).name, l_value=self.l_value),)

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """The two tables; which values meet in a bucket is drawn here, from the counts of values alone."""
        sensitive = self._sensitive(table.schema)
        public = self._public(table.schema)
        left_out = self._left_out(table.schema)
        counts = self._counts(table, sensitive)
        blocks = self._blocks(counts.sum(axis=0), sensitive, noise)
        rows = MadeRows(
            (*public.names, sensitive.name),
            DealToBlocks(sensitive.name, sensitive.size),
            block_quotas(counts, blocks, noise.named("quotas of blocks")),
            gather=DealToBuckets(sensitive.name, public.names),
            piles=blocks,
        )
        values = DrawnRows(lambda: rebatched((block.batch(sensitive) for block in blocks), ROWS_PER_BATCH))
        return Publication(
            tables=(
                PublishedTable(ROWS, public, rows, (BUCKET,), "int32"),
                PublishedTable(SENSITIVE, Schema(attributes=(sensitive,)), values, (BUCKET,), "int32"),
            ),
            law=self.planned_law(table.schema),
            published_as_they_are=public.names,
            assumptions=tuple(f"{name}: sensitive too, and left out of this release" for name in left_out),
            not_protected=(f"{sensitive.name}: how often each value occurs is published exactly",),
        )

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """Buckets, and the guess of one who compares nothing; with the table, the largest buckets it allows."""
        sensitive = self._sensitive(schema)
        if rows < self.l_value:
            raise DataError(
                f"{rows} rows do not fill one bucket of l_value = {self.l_value}. Lower l_value, or plan for more rows.",
                number_of_rows=rows,
            )
        sizes = group_sizes(rows, self.l_value)
        promise = ResultTable(
            "What is published",
            ("attribute", "values", "buckets", "rows of a bucket", "promised chance of a guess"),
            (
                (
                    sensitive.name,
                    sensitive.size,
                    len(sizes),
                    f"{sizes.min()} to {sizes.max()}",
                    1 / self.l_value,
                ),
            ),
        )
        if table is None:
            return (promise,)
        counts = np.asarray(table.count_by([sensitive.name]).counts)
        self._require_eligible(counts, sensitive)
        eligible = ResultTable(
            "What the private table allows",
            ("attribute", "largest l_value that works"),
            ((sensitive.name, largest_group_size(counts)),),
            is_private=True,
        )
        return promise, eligible

    def unperturbed(self, schema: Schema) -> tuple[str, ...]:
        """The public attributes."""
        return self._public(schema).names

    def planned_law(self, schema: Schema) -> BucketedRows:
        """The law of the release itself."""
        return BucketedRows(sensitive=self._sensitive(schema).name, l_value=self.l_value)

    def can_publish(self, counts: CountTable) -> bool:
        """Buckets of different values exist, where the counts are the sensitive attribute's; others are free."""
        (attribute,) = counts.attributes
        if attribute.name != self.attribute if self.attribute else attribute.role is not Role.SENSITIVE:
            return True
        return largest_group_size(np.ceil(counts.counts).astype(np.int64)) >= self.l_value

    def _sensitive(self, schema: Schema) -> Attribute:
        """The attribute whose values are put into buckets."""
        chosen = schema.sensitive(
            self.attribute,
            parameter="attribute",
            advice="Name it in attribute; other sensitive ones are then left out of the release.",
        )
        if not chosen.role.is_published:
            raise ParameterError(
                f"{chosen.name!r} is {chosen.role.as_noun}, which is never published. Name a sensitive attribute.",
                parameter="attribute",
            )
        if self.l_value > chosen.size:
            raise ParameterError(
                f"l_value must be at most {chosen.size}, the number of values of {chosen.name!r}, got {self.l_value}. "
                "Lower it: a bucket holds l different values.",
                parameter="l_value",
            )
        return chosen

    def _left_out(self, schema: Schema) -> tuple[str, ...]:
        chosen = self._sensitive(schema).name
        return tuple(each.name for each in schema.with_role(Role.SENSITIVE) if each.name != chosen)

    def _public(self, schema: Schema) -> Schema:
        """What is published beside the bucket."""
        gone = {self._sensitive(schema).name, *self._left_out(schema)}
        kept = tuple(each for each in schema.publishable.attributes if each.name not in gone)
        if not kept:
            raise ParameterError(
                "anatomy publishes public attributes beside the sensitive one, and the schema has none. "
                "Give some attribute another role than sensitive.",
                parameter="attribute",
            )
        if BUCKET in (each.name for each in (*kept, self._sensitive(schema))):
            raise ParameterError(
                f"an attribute is named {BUCKET!r}, which is the column that joins the tables. Rename it.",
                parameter="attribute",
            )
        return Schema(attributes=kept)

    def _require_eligible(self, counts: npt.NDArray[Any], sensitive: Attribute) -> None:
        largest = largest_group_size(counts)
        if largest >= self.l_value:
            return
        advice = (
            f"The largest l_value that works is {largest}. Lower it, or merge or leave out rows."
            if largest >= 2
            else "No l_value works, because more than half of the rows share a value."
        )
        raise DataError(
            f"l_value = {self.l_value} cannot be met: some value of {sensitive.name!r} is held by more than one row "
            f"in {self.l_value}. {advice}",
            attribute=sensitive.name,
            number_of_rows=int(counts.sum()),
        )

    def _counts(self, table: PrivateTable, sensitive: Attribute) -> Integers:
        """Rows of each value in each portion, ``(portions, values)``."""
        counts = table.count_portions([sensitive.name]).of_attribute(sensitive.name)
        if not counts.size:
            raise DataError("the data have no rows. There is nothing to publish.", number_of_rows=0)
        self._require_eligible(counts.sum(axis=0), sensitive)
        return counts

    def _blocks(self, counts: Integers, sensitive: Attribute, noise: NoiseSource) -> tuple[Block, ...]:
        """The values of every bucket, numbered in an order that says nothing."""
        stream = noise.named(f"buckets of {sensitive.name}").stream(0)
        # In one expression, so that what was numbered anew is let go: it is as large as a column.
        return cut_into_blocks(
            compose_groups(counts, self.l_value, stream, kind=self.partition).labelled(stream)
        )
