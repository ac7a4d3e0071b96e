"""Codes of several attributes as one number, and back: the digits of a number whose places differ in size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sfumato.errors import TooLargeError
from sfumato.values.arrays import Integers

LARGEST_GROUP = 2**31
"""Combinations of a group of attributes, where all attributes together have too many for one number."""

LARGEST_KEY = 2**62
"""Combinations of categories that a signed 64-bit number can tell apart, with room to spare."""


class MixedRadix:
    """Combinations of codes, numbered with the last attribute fastest: numpy's order of cells in a table.

    Parameters
    ----------
    sizes
        Number of categories of every attribute.

    Raises
    ------
    TooLargeError
        When the combinations are too many for one number.

    Examples
    --------
    >>> radix = MixedRadix([3, 2])
    >>> keys = radix.encode([np.array([2, 0]), np.array([1, 1])])
    >>> keys.tolist(), [each.tolist() for each in radix.decode(keys)]
    ([5, 1], [[2, 0], [1, 1]])
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        if self.combinations > LARGEST_KEY:
            raise TooLargeError(
                f"{len(self.sizes)} attributes have {self.combinations:.3g} combinations of categories; "
                f"at most {LARGEST_KEY:.3g} can be told apart. Merge categories, or leave attributes out."
            )

    @cached_property
    def combinations(self) -> int:
        """How many there are, whether or not they occur."""
        return math.prod(self.sizes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """By how much a key grows with each attribute's code."""
        return tuple(math.prod(self.sizes[place + 1 :]) for place in range(len(self.sizes)))

    def encode(self, columns: Sequence[npt.NDArray[Any]]) -> Integers:
        """Keys of rows given as one array of codes for each attribute, all of one shape."""
        keys = columns[0].astype(np.int64)
        for size, column in zip(self.sizes[1:], columns[1:], strict=True):
            keys *= size
            keys += column
        return keys

    def digit(self, keys: Integers, place: int) -> Integers:
        """Codes of one attribute."""
        return np.asarray(keys // self.strides[place] % self.sizes[place])

    def decode(self, keys: Integers) -> tuple[Integers, ...]:
        """Codes of every attribute."""
        codes = []
        for size in reversed(self.sizes[1:]):
            keys, code = np.divmod(keys, size)
            codes.append(code)
        return (keys, *reversed(codes))

    def tabulate(
        self, columns: Sequence[npt.NDArray[Any]], weights: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        """How many rows, or what sum of weights, each combination has: an array of shape ``sizes``.

        Examples
        --------
        >>> MixedRadix([2, 3]).tabulate([np.array([0, 1, 1]), np.array([2, 0, 0])]).tolist()
        [[0, 0, 1], [2, 0, 0]]
        """
        cells = self.encode(columns).ravel()
        return np.bincount(cells, weights, minlength=self.combinations).reshape(self.sizes)


def radix_groups(sizes: Sequence[int]) -> tuple[MixedRadix, ...]:
    """Attributes in groups of neighbours, each with few enough combinations for half a number.

    Examples
    --------
    >>> [len(each.sizes) for each in radix_groups([10] * 19)]
    [9, 9, 1]
    """
    groups: list[list[int]] = []
    for size in sizes:
        if groups and math.prod(groups[-1]) * size <= LARGEST_GROUP:
            groups[-1].append(size)
        else:
            groups.append([size])
    return tuple(MixedRadix(each) for each in groups)


def encoded_groups(groups: Sequence[MixedRadix], columns: Sequence[npt.NDArray[Any]]) -> Iterator[Integers]:
    """The number of each group's combination in every row."""
    start = 0
    for each in groups:
        yield each.encode(columns[start : start + len(each.sizes)])
        start += len(each.sizes)


@dataclass(frozen=True, eq=False)
class OccurringNumbers:
    """Combinations that occur, numbered in order, however many could.

    Group after group, what a row has so far is replaced by its place among all that occurs, which leaves room for the
    next group in one number.

    Parameters
    ----------
    groups
        Of the attributes.
    known
        For each group, the increasing numbers that occur: place so far times the group's combinations, plus its own.

    Examples
    --------
    >>> groups = radix_groups([3, 2])
    >>> numbering, numbers = OccurringNumbers.of(groups, np.array([[0], [5], [5]]))
    >>> numbers.tolist(), numbering.encode([np.array([2, 1]), np.array([1, 0])]).tolist()
    ([0, 1, 1], [1, -1])
    """

    groups: tuple[MixedRadix, ...]
    known: tuple[Integers, ...]

    @classmethod
    def of(cls, groups: Sequence[MixedRadix], words: Integers) -> tuple[Self, Integers]:
        """The numbering of rows given by the number of each group, ``(n, groups)``, and their numbers."""
        numbers = np.zeros(len(words), np.int64)
        known = []
        for each, word in zip(groups, words.T, strict=True):
            found, numbers = np.unique(numbers * each.combinations + word, return_inverse=True)
            known.append(found)
        return cls(tuple(groups), tuple(known)), numbers

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of every attribute."""
        return tuple(size for each in self.groups for size in each.sizes)

    def encode(self, columns: Sequence[npt.NDArray[Any]]) -> Integers:
        """Numbers of rows, -1 for those whose combination does not occur."""
        numbers = np.zeros(len(columns[0]), np.int64)
        for each, word, found in zip(
            self.groups, encoded_groups(self.groups, columns), self.known, strict=True
        ):
            keys = numbers * each.combinations + word
            places = np.minimum(np.searchsorted(found, keys), len(found) - 1)
            # What did not occur before cannot occur with more attributes.
            numbers = np.where((found[places] == keys) & (numbers >= 0), places, -1)
        return numbers
