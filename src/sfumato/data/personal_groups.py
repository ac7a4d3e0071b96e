"""Personal groups: rows equal on all quasi-identifiers, and how many rows of each have each sensitive value.

Only what occurs is held: the product of the quasi-identifiers may be far larger than the table.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import SourceError
from sfumato.values.arrays import Integers
from sfumato.values.counts import OccupiedCounts
from sfumato.values.mixed_radix import LARGEST_KEY, MixedRadix
from sfumato.values.schema import Attribute

LARGEST_DIRECT = 2**24
"""Keys below this are looked up in a table of all of them, 64 MB at most, and others by search."""

Codes = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class _Stage:
    """Some attributes joined to one key, then replaced by the key's place among those known.

    The first digit is the place that the stage before found: of the first stage, always 0.
    """

    radix: MixedRadix
    names: tuple[str, ...]
    known: Integers

    @cached_property
    def _direct(self) -> npt.NDArray[np.int32] | None:
        """The place of every key up to the largest known, -1 where there is none; None if too many."""
        largest = int(self.known[-1])
        if largest >= LARGEST_DIRECT:
            return None
        table = np.full(largest + 1, -1, dtype=np.int32)
        table[self.known] = np.arange(self.known.size)
        return table

    def find(self, ascending: Integers) -> Integers:
        """Places of keys that come in ascending order, which walks through memory once."""
        if not ascending.size:
            return ascending
        if self._direct is not None:
            places = self._direct.take(ascending, mode="clip").astype(np.int64)
            is_known = places.min() >= 0 and ascending[-1] < self._direct.size
        else:
            places = np.minimum(np.searchsorted(self.known, ascending), self.known.size - 1)
            is_known = np.array_equal(self.known[places], ascending)
        if not is_known:
            refuse_changed_table()
        return places


@dataclass(frozen=True, eq=False)
class PersonalGroups:
    """The occupied cells (group, sensitive value), sorted by group and then by value.

    Parameters
    ----------
    counts
        ``(cells,)``, rows of each cell.
    values
        ``(cells,)``, the sensitive code of each cell.
    starts
        ``(groups,)``, where each group's cells begin.
    stages
        How a row's codes lead to its cell.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
    >>> occupied = OccupiedCounts((sex, job), (np.array([1, 0, 1]), np.array([2, 1, 0])), np.array([5, 4, 3]))
    >>> groups = PersonalGroups.of(occupied, (sex,), job)
    >>> order, cells = groups.sort_rows({"sex": np.array([1, 0]), "job": np.array([0, 1])})
    >>> groups.sizes.tolist(), order.tolist(), cells.tolist()
    ([4, 8], [1, 0], [0, 1])
    """

    counts: Integers
    values: Integers
    starts: Integers
    stages: tuple[_Stage, ...]

    def __repr__(self) -> str:
        return f"PersonalGroups({self.starts.size} groups, {self.counts.size} cells)"

    @classmethod
    def of(
        cls,
        occupied: OccupiedCounts,
        attributes: Sequence[Attribute],
        sensitive: Attribute,
        *,
        recoding: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> PersonalGroups:
        """The groups of some counts, after replacing codes where a recoding says so.

        Parameters
        ----------
        occupied
            Counts over the attributes (as they were before recoding) and the sensitive one.
        attributes
            What makes a group, as it is after recoding.
        sensitive
            The sensitive attribute.
        recoding
            Attribute to the new code of each old one, ``(old size,)``.
        """
        new_codes = recoding or {}
        columns = {}
        for attribute in (*attributes, sensitive):
            old = occupied.codes_of(attribute.name)
            columns[attribute.name] = new_codes[attribute.name][old] if attribute.name in new_codes else old
        stages: list[_Stage] = []
        place, waiting = np.zeros(occupied.counts.size, dtype=np.int64), [*attributes, sensitive]
        while waiting:
            before = stages[-1].known.size if stages else 1
            taken = waiting[: _fitting([before, *(each.size for each in waiting)])]
            radix = MixedRadix([before, *(each.size for each in taken)])
            keys = radix.encode([place, *(columns[each.name] for each in taken)])
            known, place = np.unique(keys, return_inverse=True)
            stages.append(_Stage(radix, tuple(each.name for each in taken), known))
            waiting = waiting[len(taken) :]
        counts = np.zeros(known.size, dtype=np.int64)
        np.add.at(counts, place, occupied.counts)
        # The sensitive attribute is the last digit of the key, and what stands before it is the group.
        group_keys, values = np.divmod(known, sensitive.size)
        starts = np.flatnonzero(np.diff(group_keys, prepend=-1))
        return cls(counts, values, starts, tuple(stages))

    @property
    def sizes(self) -> Integers:
        """Rows of each group, ``(groups,)``."""
        return np.asarray(np.add.reduceat(self.counts, self.starts))

    @property
    def group_of_cell(self) -> Integers:
        """The group of each cell, ``(cells,)``."""
        lengths = np.diff(np.append(self.starts, self.counts.size))
        return np.repeat(np.arange(self.starts.size), lengths)

    def sort_rows(self, codes: Codes) -> tuple[Integers, Integers]:
        """An order of some rows by their cells, and the cells in that order; both ``(rows,)``.

        Raises
        ------
        SourceError
            When a row is in no cell that was counted: the table changed since.
        """
        order = np.zeros(1, dtype=np.int64)
        found = np.zeros(1, dtype=np.int64)
        for number, stage in enumerate(self.stages):
            before = np.zeros(next(iter(codes.values())).size, dtype=np.int64)
            if number > 0:
                before[order] = found
            keys = stage.radix.encode([before, *(codes[name] for name in stage.names)])
            order, ascending = _sort_keys(keys)
            found = stage.find(ascending)
        return order, found


def _fitting(sizes: Sequence[int]) -> int:
    """How many attributes after the first size still fit into one key; at least one."""
    products: Iterator[int] = itertools.accumulate(sizes, operator.mul)
    return max(sum(each < LARGEST_KEY for each in products) - 1, 1)


def _sort_keys(keys: Integers) -> tuple[Integers, Integers]:
    """An order that sorts the keys, and the sorted keys."""
    index_bits = max(keys.size - 1, 0).bit_length()
    if keys.size and int(keys.max()) < 2 ** (63 - index_bits):
        # Key and row number in one word: sorting words takes a fifth of the time of sorting indices.
        packed = (keys << index_bits) | np.arange(keys.size)
        packed.sort()
        return packed & (2**index_bits - 1), packed >> index_bits
    order = np.argsort(keys)
    return order, keys[order]


def refuse_changed_table() -> None:
    """Stop, because rows read now are not those counted before."""
    raise SourceError(
        "the private table changed between two readings. It must stay as it is while it is published; "
        "try again when it is at rest."
    )
