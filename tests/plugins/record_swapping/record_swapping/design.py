"""The custodian's half of random record swapping."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from record_swapping.kernels.moments import mean_weight
from record_swapping.kernels.steps import Group, SwapInGroup, ToGroups
from record_swapping.law import SwappedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.guarantees import Guarantee
from sfumato.methods.base import Design
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import MadeRows, Publication, PublishedTable
from sfumato.results import ResultTable
from sfumato.schema import Role, Schema


class RecordSwapping(Design):
    """Deal the sensitive values of some rows, chosen at random, out among these rows.

    Promise
        None is proved. Who finds a person's row finds the person's own value in it unless it was swapped.
    Against whom
        Somebody who links rows by the public attributes, and cannot be sure of what is in them.
    Weaknesses
        Most rows are true.

    References
    ----------
    Dalenius, T., Reiss, S. P. (1982). Data-swapping: a technique for disclosure control. Journal of Statistical
    Planning and Inference 6, 73-85.

    Examples
    --------
    >>> RecordSwapping(share=0.2).to_dict()
    {'method': 'record-swapping', 'share': 0.2, 'within': []}
    """

    method: Literal["record-swapping"] = "record-swapping"
    share: Annotated[float, Field(gt=0, lt=1)] = Field(description="share of the rows that are swapped")
    within: tuple[str, ...] = Field(
        default=(),
        description="attributes whose groups rows are swapped within; none swaps over the whole table",
    )

    title: ClassVar[str] = "random record swapping"
    summary: ClassVar[str] = (
        "Some rows are chosen at random, and their sensitive values are dealt out among them in random order. Counts of "
        "the sensitive attributes, and of the others, stay exact; what goes with what is estimated."
    )
    weaknesses: ClassVar[tuple[str, ...]] = (
        "A row that was not chosen is published as it is, and most are not.",
        "A value that only one person holds is published: somebody has it.",
        "No promise is proved.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Dalenius, T., Reiss, S. P. (1982). Data-swapping: a technique for disclosure control.",
    )

    @classmethod
    def example(cls, schema: Schema) -> Self:
        """A third of the rows, over the whole table."""
        del schema
        return cls(share=1 / 3)

    def swapped(self, schema: Schema) -> tuple[str, ...]:
        """The sensitive attributes, which move together."""
        names = tuple(each.name for each in schema.with_role(Role.SENSITIVE))
        if not names or set(names) & set(self.within):
            raise ParameterError(
                "there is no sensitive attribute to swap, or groups are made of one. "
                'Give one role = "sensitive" in the schema, and leave it out of within.',
                parameter="within",
            )
        schema.select(self.within)
        return names

    def guarantees(self, schema: Schema) -> tuple[Guarantee, ...]:
        """None is proved."""
        self.swapped(schema)
        return ()

    def publish(self, table: PrivateTable, noise: NoiseSource) -> Publication:
        """All rows; those of a group meet, and some of them swap."""
        del noise
        schema = table.schema.publishable
        law = SwappedRows(swapped=self.swapped(table.schema), within=self.within, share=self.share)
        counted = table.count_by(self.within).counts.ravel()
        sizes = tuple(each.size for each in table.schema.select(self.within))
        rows = MadeRows(
            reads=schema.names,
            step=ToGroups(self.within, sizes),
            gather=SwapInGroup(law.swapped),
            piles=tuple(Group(int(each), law.number_chosen(each)) for each in counted),
        )
        return Publication(
            tables=(PublishedTable("rows", schema, rows),),
            law=law,
            published_as_they_are=tuple(name for name in schema.names if name not in law.swapped),
        )

    def plan_tables(self, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
        """How much of an association is left in groups of some sizes; nothing is read off the table."""
        del table
        law = SwappedRows(swapped=self.swapped(schema), within=self.within, share=self.share)
        sizes = sorted({min(each, rows) for each in (10, 100, rows)})
        kept = tuple(
            (size, law.number_chosen(size), 1 - mean_weight(size, law.number_chosen(size))) for size in sizes
        )
        columns = ("rows", "swapped", "share of an association kept")
        return (ResultTable("Rows swapped in a group", columns, kept),)
