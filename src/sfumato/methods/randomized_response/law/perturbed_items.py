"""Units whose every item was distorted independently by one public matrix: baskets, ratings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from sfumato.chance.distortion import Distortion, largest_epsilon
from sfumato.errors import ReleaseDamagedError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.item_differential_privacy import ItemDifferentialPrivacy
from sfumato.laws.asking.questions import require_small
from sfumato.laws.base import ItemColumns, Law, Published
from sfumato.methods.randomized_response.law.perturbed_rows import (
    CHOSEN_FROM_ROWS,
    PerturbedCounts,
    PerturbedRows,
)
from sfumato.values.arrays import Floats
from sfumato.values.batches import CodedBatch
from sfumato.values.counts import CountTable, OccupiedCounts
from sfumato.values.feasibility import Feasibility
from sfumato.values.long_tables import LongTable
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation


class PerturbedItems(Law):
    """What a unit has of each item was drawn from the matrix row of what it truly has.

    The wide table of units by items, of which the long one lists the cells that are not empty, is one of perturbed
    rows (:class:`PerturbedRows`) in which every attribute has the same matrix: category 0 is that a unit lacks the
    item, the others are its values. So every question is answered by that law, from counts over the items asked about.

    Examples
    --------
    >>> from sfumato.chance.distortion import UniformDistortion
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
