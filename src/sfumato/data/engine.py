"""What an engine does: give rows as category codes, and count them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeVar

from sfumato.data.fitting import Misfit
from sfumato.data.portions import PortionCounts, PortionStep
from sfumato.data.sources.base import Source
from sfumato.values.batches import CodedBatch, UnitRows
from sfumato.values.counts import CountTable, OccupiedCounts
from sfumato.values.schema import Attribute, Schema

Condition = tuple[Attribute, tuple[int, ...]]
"""An attribute and the codes a row may have in it."""


Found = TypeVar("Found")

Unfit = Literal["refuse", "skip"]
"""What becomes of rows with a value outside the schema."""


class Engine(Protocol):
    """Reads sources as codes of a schema's categories.

    A value outside the schema is an error that names the column and the number of rows, and nothing else.
    """

    def scan(
        self, source: Source, attributes: Sequence[Attribute], *, integers: Sequence[str] = ()
    ) -> Iterator[CodedBatch]:
        """All rows, in batches; memory does not grow with the number of rows.

        Columns named in ``integers`` hold whole numbers instead of categories and come as ``int64``.
        """

    def count_by(
        self, source: Source, attributes: Sequence[Attribute], where: Sequence[Condition]
    ) -> CountTable:
        """Counts over the product of the attributes, among rows with the given codes."""

    def count_occupied(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        *,
        weight: str | None = None,
        unfit: Unfit = "refuse",
        fewest: int = 1,
    ) -> OccupiedCounts:
        """Counts of the combinations that occur, or sums of an integer column over each; those of fewer rows are left out.

        For attributes whose full product is too large for a :class:`~sfumato.values.counts.CountTable`. Rows with a
        value outside the schema are refused all together, or skipped.
        """

    def count_portions(self, source: Source, attributes: Sequence[Attribute]) -> PortionCounts:
        """Counts of the combinations that occur in each portion of the rows, as :meth:`scan` orders them."""

    def count_tables(self, source: Source, sets: Sequence[Sequence[Attribute]]) -> tuple[CountTable, ...]:
        """Counts over the product of each set's attributes, all in one pass; no set is empty."""

    def map_portions(
        self, source: Source, attributes: Sequence[Attribute], step: PortionStep[Found]
    ) -> Iterator[Found]:
        """What a step finds in each portion of the rows; nothing else of them comes here."""

    def at_rest(self, source: Source, schema: Schema) -> AbstractContextManager[Source]:
        """A source of the same rows that gives the same ones however often it is read, until the end.

        Nothing is read before the first pass over it; what fits no attribute of the schema is seen then.
        """

    def rows_of_units(self, source: Source, unit: Attribute, attributes: Sequence[Attribute]) -> UnitRows:
        """All rows, gathered by the unit they belong to; in memory, some bytes a row."""

    def misfits(self, source: Source, attributes: Sequence[Attribute]) -> tuple[Misfit, ...]:
        """Everything in which rows do not fit, with numbers of rows and without values; empty when all fit."""

    def number_of_rows(self, source: Source) -> int:
        """Rows of the source."""

    def group_sizes(self, source: Source, attributes: Sequence[Attribute]) -> dict[int, int]:
        """Size to the number of groups of that many rows, equal on all the attributes.

        Aggregated in the engine: the product of the attributes' categories may be far too large for a
        :class:`~sfumato.values.counts.CountTable`.
        """

    def group_diversity(
        self, source: Source, attributes: Sequence[Attribute], sensitive: Attribute
    ) -> dict[tuple[int, int], int]:
        """Size and number of different sensitive categories to the number of groups that have both."""

    def close(self) -> None:
        """Give back what is held; the next call takes it anew."""
