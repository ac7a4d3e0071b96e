"""What a release of noisy rows consists of: columns, their tables, and the entries in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.frozen import Frozen
from sfumato.laws.base import Published
from sfumato.values.arrays import Floats, Integers
from sfumato.values.bounds import MOST_CATEGORIES

COUNT_COLUMN = "count"
"""Column of a published table that holds the noisy counts."""

COLUMN_COLUMN = "column"
FRAGMENT_COLUMN = "fragment"
"""Columns of a table of long fragments: which column, and which fragment of it, an entry belongs to."""


class PublishedColumn(Frozen):
    """One published table of fragments over some attributes.

    Parameters
    ----------
    table
        Name of the published table.
    attributes, sizes
        What a fragment is made of, and the number of categories of each.
    """

    table: str
    attributes: Annotated[tuple[str, ...], Field(min_length=1)]
    sizes: tuple[Annotated[int, Field(ge=1, le=MOST_CATEGORIES)], ...]


class LongColumns(Frozen):
    """The columns of unit-item-value data, all in one published table.

    Parameters
    ----------
    table
        Name of the published table; a row is one item of one fragment.
    item, value
        Its attributes; no value for baskets.
    columns
        Codes of the items of each column.
    """

    table: str
    item: str
    value: str | None = None
    columns: tuple[tuple[Annotated[int, Field(ge=0, le=MOST_CATEGORIES)], ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes that can be asked about."""
        return (self.item,) if self.value is None else (self.item, self.value)

    def home_of(self, items: int) -> Integers:
        """For every item the column that answers for it: the one with the fewest items; -1 for none."""
        home = np.full(items, -1)
        for number in sorted(range(len(self.columns)), key=lambda each: -len(self.columns[each])):
            home[list(self.columns[number])] = number
        return home


@dataclass(frozen=True, eq=False)
class Entries:
    """Published entries: codes by attribute, the count and the number of the fragment of each, ``(n,)``."""

    codes: dict[str, npt.NDArray[Any]]
    counts: Floats
    fragment: Integers


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """What was published of each column of unit-item-value data.

    Parameters
    ----------
    item
        The attribute of items.
    home
        For every item the column that answers for it; -1, and so the last, for none.
    sums, numbers
        Noisy units of each column, and its fragments, ``(columns + 1,)``; the last are 0.
    """

    item: str
    home: Integers
    sums: Floats
    numbers: Integers


def read_table(
    published: Published, table: str, names: Sequence[str], integers: Sequence[str]
) -> tuple[dict[str, npt.NDArray[Any]], list[npt.NDArray[Any]]]:
    """Columns of a published table, which may have no rows."""
    batches = list(published.scan(table, (*names, *integers)))
    parts: dict[str, npt.NDArray[Any]] = {
        name: np.concatenate([np.zeros(0, np.int64), *(each.codes[name] for each in batches)])
        for name in (*names, *integers)
    }
    return {name: parts[name] for name in names}, [parts[name] for name in integers]
