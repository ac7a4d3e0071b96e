"""Unit-item-value data as published: a row for each item that a unit has, and wide attributes to ask about."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sfumato.frozen import Frozen
from sfumato.values.bounds import MOST_ROWS
from sfumato.values.schema import Attribute, Schema

ABSENT, PRESENT = "no", "yes"
"""Categories of an item of a basket: code 0 is that a unit lacks it."""


class LongTable(Frozen):
    """A published table in long form, and what it is a table of.

    Parameters
    ----------
    table
        Its name.
    unit
        Column of whole numbers from 0 on that says whose a row is; the numbers were given at random.
    item, value
        Its attributes; no value for baskets.
    number_of_units
        Those without a row included.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> item = Attribute(name="item", role=Role.SENSITIVE, categories=("bread", "milk"))
    >>> wide = LongTable(table="items", item="item", number_of_units=3).widened(Schema(attributes=(item,)))
    >>> wide.names, wide["milk"].labels
    (('bread', 'milk'), ('no', 'yes'))
    """

    table: str
    unit: str = "unit"
    item: str
    value: str | None = None
    number_of_units: Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)]

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes of the table."""
        return (self.item,) if self.value is None else (self.item, self.value)

    def widened(self, published: Schema) -> Schema:
        """One attribute for each item, whose first category is that a unit lacks it; a wide schema stays as it is."""
        if published.names != self.names:
            return published
        item = published[self.item]
        values = (PRESENT,) if self.value is None else published[self.value].labels
        pattern = Attribute(name=item.name, role=item.role, categories=(absent_label(values), *values))
        # Copies of a checked attribute under other names: a basket may have a hundred thousand items.
        return Schema(attributes=tuple(pattern.model_copy(update={"name": each}) for each in item.labels))


def absent_label(values: tuple[str, ...]) -> str:
    """What is said of a unit that lacks an item: a word that none of the values is.

    Examples
    --------
    >>> absent_label(("yes",)), absent_label(("no", "maybe"))
    ('no', '(no)')
    """
    label = ABSENT
    while label in values:
        label = f"({label})"
    return label
