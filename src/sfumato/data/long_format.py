"""Long-format data (unit, item, value): as published, and sparse in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Booleans, Codes, Integers, MixedRadix, Words
from sfumato.data.chunks import UnitRows
from sfumato.errors import DataError
from sfumato.immutable import MOST_ROWS, Frozen
from sfumato.randomness.streams import NoiseStream
from sfumato.schema import Attribute, Schema

# --------------------------------------------------------------------------------------------------
# Unit-item-value data as published: a row for each item that a unit has, and wide attributes to ask about.


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
    >>> from sfumato.schema import Role
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


# --------------------------------------------------------------------------------------------------
# Unit-item-value data in memory, sparse: for every unit the items it has, and their values.


@dataclass(frozen=True, eq=False)
class SparseUnits:
    """Entries sorted by unit and item; an item occurs at most once in a unit.

    Parameters
    ----------
    names
        Of the units, ``(units,)``; private.
    starts
        ``(units + 1,)``; the entries of unit u are ``starts[u]`` up to ``starts[u + 1]``.
    items, values
        ``(entries,)`` codes.
    number_of_items, number_of_values
        Sizes of the two domains.
    """

    names: Sequence[str]
    starts: Integers
    items: Codes
    values: Codes
    number_of_items: int
    number_of_values: int

    def __repr__(self) -> str:
        return f"SparseUnits({self.number_of_units} units, {self.number_of_items} items)"

    @classmethod
    def from_triples(
        cls,
        names: Sequence[str],
        units: npt.ArrayLike,
        items: npt.ArrayLike,
        values: npt.ArrayLike,
        number_of_items: int,
        number_of_values: int,
    ) -> SparseUnits:
        """From entries in any order.

        Raises
        ------
        DataError
            When a unit has two values for one item; says how many rows are concerned, not which.
        """
        # One number for each entry: sorting numbers is many times faster than sorting by three keys.
        radix = MixedRadix([len(names), number_of_items, number_of_values])
        keys = np.sort(radix.encode([np.asarray(each, np.int64) for each in (units, items, values)]))
        pairs = keys // number_of_values
        repeated = int(np.count_nonzero(pairs[1:] == pairs[:-1]))
        if repeated:
            raise DataError(
                f"{repeated:,} rows give a unit a second value for an item it already has. A unit has each item once; "
                "keep one row of each.",
                number_of_rows=repeated,
            )
        of_unit, sorted_items, sorted_values = radix.decode(keys)
        starts = np.searchsorted(of_unit, np.arange(len(names) + 1))
        item_type = np.min_scalar_type(max(number_of_items - 1, 0))
        value_type = np.min_scalar_type(max(number_of_values - 1, 0))
        return cls(
            names,
            starts.astype(np.int64),
            sorted_items.astype(item_type),
            sorted_values.astype(value_type),
            number_of_items,
            number_of_values,
        )

    @classmethod
    def from_rows(cls, rows: UnitRows, item: Attribute, value: Attribute | None) -> SparseUnits:
        """From rows gathered by unit; baskets have one value, code 0.

        Raises
        ------
        DataError
            As :meth:`from_triples`.
        """
        of_unit = np.repeat(np.arange(len(rows.names)), np.diff(rows.ends, prepend=0))
        values = np.zeros(of_unit.size, np.uint8) if value is None else rows.codes[value.name]
        number = 1 if value is None else value.size
        return cls.from_triples(rows.names, of_unit, rows.codes[item.name], values, item.size, number)

    @property
    def number_of_units(self) -> int:
        """Units, those without entries included."""
        return self.starts.size - 1

    def units(self) -> Integers:
        """Unit of every entry, ``(entries,)``."""
        return np.repeat(np.arange(self.number_of_units), np.diff(self.starts))

    def supports(self) -> Integers:
        """How many units have each item, ``(items,)``."""
        return np.bincount(self.items, minlength=self.number_of_items)

    def keep(self, chosen: Booleans) -> SparseUnits:
        """The same units with some of their entries."""
        kept = np.concatenate([[0], np.cumsum(chosen)])[self.starts]
        return SparseUnits(
            self.names,
            kept.astype(np.int64),
            self.items[chosen],
            self.values[chosen],
            self.number_of_items,
            self.number_of_values,
        )

    def at_most(self, entries: int, stream: NoiseStream) -> SparseUnits:
        """At most so many entries of every unit, a uniformly random choice of them."""
        if np.diff(self.starts).max(initial=0) <= entries:
            return self
        return self.keep(rank_within(self.units(), stream.words(self.items.size)) < entries)

    def recoded(self, code_of: Codes, number_of_values: int) -> SparseUnits:
        """The same entries with coarser values; ``code_of[old]`` is the new code."""
        return SparseUnits(
            self.names,
            self.starts,
            self.items,
            np.asarray(code_of)[self.values],
            self.number_of_items,
            number_of_values,
        )


def rank_within(groups: Integers, keys: Words) -> Integers:
    """Place of every element in its group when sorted by key, from 0 on.

    Examples
    --------
    >>> rank_within(np.array([0, 1, 0]), np.array([9, 1, 3], np.uint64)).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((keys, groups))
    ordered = groups[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    begins = np.maximum.accumulate(np.where(is_first, np.arange(ordered.size), 0))
    ranks = np.empty(ordered.size, np.int64)
    ranks[order] = np.arange(ordered.size) - begins
    return ranks
