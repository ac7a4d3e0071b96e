"""Counts over the product of some attributes' categories."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import QueryError, TooLargeError, nearest
from sfumato.values.arrays import Integers
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.schema import Attribute

LARGEST_TABLE = 100_000_000
"""Cells that a dense table may have: 800 MB of counts."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts over the full product of categories, zeros included.

    Parameters
    ----------
    attributes
        One for each axis, in order.
    counts
        ``(attributes[0].size, attributes[1].size, ...)``; a scalar array when there are none.

    Examples
    --------
    >>> from sfumato.values.schema import Attribute, Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
    >>> table = CountTable((sex, job), np.array([[1, 2, 3], [4, 5, 6]]))
    >>> table.project(["job"]).counts.tolist()
    [5, 7, 9]
    """

    attributes: tuple[Attribute, ...]
    counts: npt.NDArray[Any]

    def __post_init__(self) -> None:
        expected = tuple(each.size for each in self.attributes)
        if self.counts.shape != expected:
            raise ValueError(f"counts have shape {self.counts.shape}, the attributes ask for {expected}.")
        if len(set(self.names)) != len(self.names):
            raise QueryError("a table has one axis for each attribute. Name each attribute once.")
        if self.counts.flags.writeable or self.counts.base is not None:
            # Nobody else may change what the table holds, nor find their own array frozen.
            counts = np.array(self.counts)
            counts.flags.writeable = False
            object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.attributes)
        return f"CountTable({names}: {self.counts.size} cells)"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, one for each axis."""
        return tuple(each.name for each in self.attributes)

    @property
    def total(self) -> float:
        """Sum over all cells."""
        return float(self.counts.sum())

    def axis_of(self, name: str) -> int:
        """Axis of an attribute."""
        if name not in self.names:
            raise QueryError(f"the table has no attribute {name!r}; {nearest(name, self.names)}")
        return self.names.index(name)

    def project(self, names: Sequence[str]) -> CountTable:
        """Sum out every attribute not named; axes come in the order asked for."""
        kept = [self.axis_of(name) for name in names]
        if len(set(kept)) != len(kept):
            raise QueryError("a table has one axis for each attribute. Name each attribute once.")
        gone = tuple(axis for axis in range(self.counts.ndim) if axis not in kept)
        summed = np.asarray(self.counts.sum(axis=gone) if gone else self.counts)
        remaining = sorted(kept)
        order = [remaining.index(axis) for axis in kept]
        return CountTable(tuple(self.attributes[axis] for axis in kept), summed.transpose(order))

    def condition(self, name: str, codes: Iterable[int]) -> CountTable:
        """Keep the rows whose attribute has one of the codes, and sum the attribute out."""
        axis = self.axis_of(name)
        summed = self.counts.take(_codes(codes, self.attributes[axis]), axis=axis).sum(axis=axis)
        rest = self.attributes[:axis] + self.attributes[axis + 1 :]
        return CountTable(rest, np.asarray(summed))

    def merge(self, name: str, merged: Attribute, code_of: Sequence[int]) -> CountTable:
        """Replace an attribute by a coarser one; ``code_of[old]`` is the new code."""
        axis = self.axis_of(name)
        moved = np.moveaxis(self.counts, axis, 0)
        result = np.zeros((merged.size, *moved.shape[1:]), dtype=self.counts.dtype)
        _codes(code_of, merged)
        np.add.at(result, np.asarray(code_of), moved)
        attributes = (*self.attributes[:axis], merged, *self.attributes[axis + 1 :])
        return CountTable(attributes, np.moveaxis(result, 0, axis))


@dataclass(frozen=True, eq=False)
class OccupiedCounts:
    """Counts of the combinations that occur, where the full product would be far too large.

    Parameters
    ----------
    attributes
        What the combinations are over.
    codes
        For each attribute, ``(number of combinations,)``.
    counts
        ``(number of combinations,)``, none of them zero; in no particular order.
    """

    attributes: tuple[Attribute, ...]
    codes: tuple[npt.NDArray[Any], ...]
    counts: Integers

    def __post_init__(self) -> None:
        if any(each.shape != self.counts.shape for each in self.codes) or self.counts.ndim != 1:
            raise ValueError("codes and counts must be vectors of one length.")

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.attributes)
        return f"OccupiedCounts({names}: {self.counts.size} combinations)"

    @classmethod
    def of_rows(cls, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]]) -> OccupiedCounts:
        """How many rows each combination has that occurs in them.

        Parameters
        ----------
        attributes
            At least one.
        columns
            The rows' codes of each, ``(rows,)``.

        Examples
        --------
        >>> from sfumato.values.schema import Attribute, Role
        >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
        >>> some = OccupiedCounts.of_rows([job], [np.array([2, 0, 2], np.uint8)])
        >>> some.codes[0].tolist(), some.counts.tolist()
        ([0, 2], [1, 2])
        """
        try:
            radix = MixedRadix([each.size for each in attributes])
        except TooLargeError:
            numbers = numbers_of_rows(attributes, columns)
            _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
            return cls(tuple(attributes), tuple(each[first] for each in columns), counts)
        # What occurs is read off the numbers themselves: sorting them alone takes half the time of finding rows, and short
        # ones half of that.
        short = np.min_scalar_type(radix.combinations)
        keys, counts = np.unique(radix.encode(columns).astype(short, copy=False), return_counts=True)
        codes = (
            code.astype(each.code_type)
            for each, code in zip(attributes, radix.decode(keys.astype(np.int64)), strict=True)
        )
        return cls(tuple(attributes), tuple(codes), counts)

    def codes_of(self, name: str) -> npt.NDArray[Any]:
        """Code of one attribute in every combination."""
        names = [each.name for each in self.attributes]
        if name not in names:
            raise QueryError(f"the counts have no attribute {name!r}; {nearest(name, names)}")
        return self.codes[names.index(name)]

    def sizes(self) -> dict[int, int]:
        """How many combinations there are of each number of rows."""
        return dict(sorted(Counter(self.counts.tolist()).items()))

    def diversity(self, names: Sequence[str]) -> dict[tuple[int, int], int]:
        """How many groups equal on some attributes there are of each size and number of different combinations in them."""
        group = self.numbered(names)
        sizes = np.bincount(group, weights=self.counts).astype(np.int64).tolist()
        return dict(sorted(Counter(zip(sizes, np.bincount(group).tolist(), strict=True)).items()))

    def numbered(self, names: Sequence[str]) -> Integers:
        """Number of each combination's part over some attributes: equal parts have equal numbers, from 0 on.

        Examples
        --------
        >>> from sfumato.values.schema import Attribute, Role
        >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
        >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
        >>> some = OccupiedCounts((sex, job), (np.array([1, 1, 0]), np.array([2, 0, 0])), np.array([5, 1, 7]))
        >>> some.numbered(["sex"]).tolist()
        [1, 1, 0]
        """
        numbers = np.zeros(self.counts.size, dtype=np.int64)
        for name in names:
            # Numbered anew for each attribute: the product of all their sizes may not fit 64 bits.
            keys = numbers * (int(self.codes_of(name).max(initial=0)) + 1) + self.codes_of(name)
            numbers = np.unique(keys, return_inverse=True)[1]
        return numbers


def empty_counts(attributes: Sequence[Attribute]) -> Integers:
    """Zero counts over the product, refused when they would not fit in memory."""
    cells = math.prod(each.size for each in attributes)
    if cells > LARGEST_TABLE:
        names = ", ".join(each.name for each in attributes)
        raise TooLargeError(
            f"a table over {names} has {cells:,} cells; at most {LARGEST_TABLE:,} fit. "
            "Ask for fewer attributes, or condition on some of them instead of tabulating them."
        )
    return np.zeros([each.size for each in attributes], dtype=np.int64)


def _codes(codes: Iterable[int], attribute: Attribute) -> list[int]:
    """The different codes in order; a negative one would silently count from the end."""
    chosen = sorted(set(codes))
    if chosen and not 0 <= chosen[0] <= chosen[-1] < attribute.size:
        raise QueryError(
            f"codes of attribute {attribute.name!r} run from 0 to {attribute.size - 1}, got {chosen[0]} to {chosen[-1]}."
        )
    return chosen


def numbers_of_rows(attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]]) -> Integers:
    """A number for each row, the same for rows that are equal on the attributes, of which there is one at least."""
    try:
        return MixedRadix([each.size for each in attributes]).encode(columns)
    except TooLargeError:
        every_row = OccupiedCounts(
            tuple(attributes), tuple(columns), np.ones(columns[0].size, dtype=np.int64)
        )
        return every_row.numbered([each.name for each in attributes])
