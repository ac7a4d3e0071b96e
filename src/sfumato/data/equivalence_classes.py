"""Equivalence classes: rows equal on all quasi-identifiers, with the counts of their sensitive values.

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

from sfumato.arrays import LARGEST_KEY, Integers, MixedRadix
from sfumato.data.chunks import refuse_changed_table
from sfumato.estimates.counts import OccupiedCounts
from sfumato.schema import Attribute

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
    >>> from sfumato.schema import Role
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
        """The groups of some counts; parameters as in :meth:`with_cells`."""
        return cls.with_cells(occupied, attributes, sensitive, recoding=recoding)[0]

    @classmethod
    def with_cells(
        cls,
        occupied: OccupiedCounts,
        attributes: Sequence[Attribute],
        sensitive: Attribute,
        *,
        recoding: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> tuple[PersonalGroups, Integers]:
        """The groups of some counts, and the cell of each, after replacing codes where a recoding says so.

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
        return cls(counts, values, starts, tuple(stages)), place

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


@dataclass(frozen=True, eq=False)
class CellParts:
    """Rows of every cell in every portion that it occurs in, sorted by cell and then by portion.

    Parameters
    ----------
    cells, portions, counts
        ``(n,)`` each.
    """

    cells: Integers
    portions: Integers
    counts: Integers

    @classmethod
    def of(cls, cells: Integers, portions: Integers, counts: Integers) -> CellParts:
        """Parts in any order, added up where there are several of a cell in a portion.

        Examples
        --------
        >>> parts = CellParts.of(np.array([1, 0, 1]), np.array([0, 2, 0]), np.array([5, 6, 7]))
        >>> parts.cells.tolist(), parts.portions.tolist(), parts.counts.tolist()
        ([0, 1], [2, 0], [6, 12])
        """
        number = int(portions.max(initial=0)) + 1
        order, keys = _sort_keys(cells * number + portions)
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        summed = np.add.reduceat(counts[order], starts) if starts.size else counts
        return cls(*np.divmod(keys[starts], number), summed)

    @property
    def starts(self) -> Integers:
        """Where the parts of each cell begin."""
        return np.flatnonzero(np.diff(self.cells, prepend=-1))

    def by_portion(self, number_of_portions: int) -> list[Integers]:
        """The places of each portion's parts."""
        # Short numbers are sorted by counting, in one pass.
        short = np.min_scalar_type(number_of_portions)
        order = np.argsort(self.portions.astype(short), kind="stable")
        ends = np.cumsum(np.bincount(self.portions, minlength=number_of_portions))
        return np.split(order, ends[:-1])


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
