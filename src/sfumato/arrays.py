"""Array types, mixed-radix codes of several attributes, work in chunks that fit into memory, sorting of uniform words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sfumato.errors import TooLargeError

# --------------------------------------------------------------------------------------------------
# Types of arrays, by what they hold. Shapes stand in the docstrings.


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
"""64 secret bits each."""
Codes = npt.NDArray[Any]
"""Category codes, of whatever unsigned type holds them."""
Counts = npt.NDArray[Any]
"""Whole numbers, or estimates of them."""


# --------------------------------------------------------------------------------------------------
# Long work in parts that fit into memory: how it is divided changes nothing of what is computed.


def in_parts(number: int, *, each: int = 1, at_once: int) -> Iterator[slice]:
    """Slices that together are all of a number of things.

    Parameters
    ----------
    number
        Of things.
    each
        Numbers that one thing takes.
    at_once
        Numbers worked on at a time, or one thing where it takes more.

    Examples
    --------
    >>> [(part.start, part.stop) for part in in_parts(5, each=10, at_once=25)]
    [(0, 2), (2, 4), (4, 5)]
    >>> len(list(in_parts(3, each=10, at_once=5))), list(in_parts(0, at_once=5))
    (3, [])
    """
    width = max(at_once // max(each, 1), 1)
    return (slice(start, min(start + width, number)) for start in range(0, number, width))


# --------------------------------------------------------------------------------------------------
# Sorting of numbers that are spread evenly over 64 bits, as random words and hashes are.


FEWEST = 1_024
"""Numbers below which sorting by comparing alone is as fast."""

_LOWER_BITS = np.uint64(48)


def sorted_scattered(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The same numbers in ascending order, for evenly spread ones in about half the time of comparing alone.

    They are put in order by their top 16 bits, which is done by counting; what is left to compare then are neighbours.
    Numbers that are not spread evenly are sorted as well, only no faster.

    Examples
    --------
    >>> sorted_scattered(np.array([2**63, 5, 2**62, 1], np.uint64)).tolist()
    [1, 5, 4611686018427387904, 9223372036854775808]
    """
    if numbers.size < FEWEST:
        return np.sort(numbers)
    ordered = numbers[np.argsort((numbers >> _LOWER_BITS).astype(np.uint16), kind="stable")]
    # This one is fast where little is left to do.
    ordered.sort(kind="stable")
    return ordered


# --------------------------------------------------------------------------------------------------
# Codes of several attributes as one number, and back: the digits of a number whose places differ in size.


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
