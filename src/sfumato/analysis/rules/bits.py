"""Which rows have which items, a bit for each, and how many rows have all items of a set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Booleans, Integers

Bits = npt.NDArray[np.uint64]
ItemSet = tuple[int, ...]
"""Places of items, increasing."""

BYTES_AT_ONCE = 2**24
"""Of the rows of several sets that are looked at together."""


@dataclass(frozen=True, eq=False)
class BitColumns:
    """Items as columns of bits, one for each row, in words of 64.

    Parameters
    ----------
    words
        ``(items, words)``; bits beyond the last row are 0.

    Examples
    --------
    >>> columns = BitColumns.of([np.array([True, True, False]), np.array([False, True, True])])
    >>> columns.count([(0,), (0, 1)])
    {(0,): 2, (0, 1): 1}
    """

    words: Bits

    @classmethod
    def of(cls, columns: Iterable[Booleans]) -> BitColumns:
        """From whether each row has each item, ``(rows,)`` for every item."""
        return cls(np.stack([_packed(each) for each in columns]))

    def count(self, sets: Iterable[ItemSet]) -> dict[ItemSet, int]:
        """Rows that have all items of each set; sets that begin alike should stand together."""
        counts: dict[ItemSet, int] = {}
        for beginning, endings in _by_beginning(sets):
            rows = np.bitwise_and.reduce(self.words[list(beginning)], axis=0) if beginning else None
            for part in self._parts(endings):
                together = self.words[part] if rows is None else self.words[part] & rows
                found = np.bitwise_count(together).sum(axis=1, dtype=np.int64)
                counts.update(
                    ((*beginning, last), int(number)) for last, number in zip(part, found, strict=True)
                )
        return counts

    def _parts(self, places: list[int]) -> Iterator[list[int]]:
        number = max(BYTES_AT_ONCE // max(8 * self.words.shape[1], 1), 1)
        return (places[start : start + number] for start in range(0, len(places), number))


def _packed(column: Booleans) -> Bits:
    packed = np.packbits(column)
    return np.pad(packed, (0, -packed.size % 8)).view(np.uint64)


def _by_beginning(sets: Iterable[ItemSet]) -> Iterator[tuple[ItemSet, list[int]]]:
    """What all items but the last are, with the last ones that go with it."""
    for beginning, group in itertools.groupby(sets, key=lambda each: each[:-1]):
        yield beginning, [each[-1] for each in group]


def subsets(chosen: ItemSet) -> Iterator[ItemSet]:
    """All sets within one, the empty one and itself included, in the order of binary numbers, the first item the highest bit.

    Examples
    --------
    >>> list(subsets((4, 7)))
    [(), (7,), (4,), (4, 7)]
    """
    for taken in itertools.product((False, True), repeat=len(chosen)):
        yield tuple(itertools.compress(chosen, taken))


def joined(frequent: Iterable[ItemSet], attribute_of: Integers) -> Iterator[ItemSet]:
    """Sets with one item more, of which all sets with one item less are frequent; no two items of one attribute.

    Examples
    --------
    >>> list(joined([(0, 1), (0, 2), (1, 2), (1, 3)], np.arange(4)))
    [(0, 1, 2)]
    """
    ordered = sorted(frequent)
    known = set(ordered)
    for beginning, endings in _by_beginning(ordered):
        for place, one in enumerate(endings):
            for other in endings[place + 1 :]:
                if attribute_of[one] == attribute_of[other]:
                    continue
                candidate = (*beginning, one, other)
                # The two that it was joined from are known.
                if all(candidate[:left] + candidate[left + 1 :] in known for left in range(len(beginning))):
                    yield candidate
