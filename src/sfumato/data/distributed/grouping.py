"""Combinations that occur, added up where they meet: what each split has of one comes to the same task."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.data.distributed.exchange import Blob, Meeting, from_bytes, to_bytes
from sfumato.data.distributed.splits import veiled
from sfumato.values.arrays import Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.counts import OccupiedCounts
from sfumato.values.schema import Attribute

SPLITS_PER_PILE = 8
MOST_PILES = 256

COUNT = "count"

Part = tuple[tuple[Any, ...], Integers]
"""Codes of combinations, and how often each occurs."""


def added(attributes: Sequence[Attribute], parts: Sequence[Part]) -> OccupiedCounts:
    """Counts of the same combinations, added up."""
    codes = tuple(
        np.concatenate([np.empty(0, each.code_type), *(found[place] for found, _ in parts)])
        for place, each in enumerate(attributes)
    )
    counts = np.concatenate([np.empty(0, np.int64), *(found for _, found in parts)])
    every = OccupiedCounts(tuple(attributes), codes, counts)
    _, first, place = np.unique(
        every.numbered([each.name for each in attributes]), return_index=True, return_inverse=True
    )
    sums = np.zeros(first.size, np.int64)
    np.add.at(sums, place, counts)
    return dataclasses.replace(every, codes=tuple(each[first] for each in codes), counts=sums)


@dataclass(frozen=True, eq=False)
class DealCombinations:
    """Counts the combinations of a split and deals them: those equal on the first attributes to one pile.

    Parameters
    ----------
    attributes
        What combinations are over.
    together
        How many of the first attributes decide the pile.
    piles
        Number of piles.
    cipher
        Veils what is on its way, which is private.
    """

    attributes: tuple[Attribute, ...]
    together: int
    piles: int
    cipher: NoiseSource

    def for_number(self, number: int) -> DealCombinations:
        """The same for every split."""
        del number
        return self

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> Iterator[Blob]:
        """What goes to each pile."""
        parts = []
        for batch in batches:
            codes = tuple(batch.codes[each.name] for each in self.attributes)
            counted = added(self.attributes, [(codes, np.ones(batch.number_of_rows, np.int64))])
            parts.append((counted.codes, counted.counts))
        found = added(self.attributes, parts)
        pile_of = self._piles(found)
        for pile in np.unique(pile_of).tolist():
            chosen = pile_of == pile
            columns = {str(place): each[chosen] for place, each in enumerate(found.codes)}
            content = to_bytes({**columns, COUNT: found.counts[chosen]})
            yield Blob(pile, number, 0, veiled(content, _veil(self.cipher, number, pile)))

    def _piles(self, found: OccupiedCounts) -> Integers:
        """The same pile for the same codes, whichever split they are of."""
        mixed = np.zeros(found.counts.size, np.uint64)
        # Knuth's multiplicative hashing; numbers wrap around.
        factor = np.uint64(0x9E3779B97F4A7C15)
        for each in found.codes[: self.together]:
            mixed = (mixed ^ each.astype(np.uint64)) * factor
            mixed ^= mixed >> np.uint64(32)
        return (mixed % np.uint64(self.piles)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class AddCombinations:
    """Adds up what all splits have of the combinations of a pile.

    Parameters
    ----------
    attributes, cipher
        As for :class:`DealCombinations`.
    finish
        What is told of the sums.
    """

    attributes: tuple[Attribute, ...]
    cipher: NoiseSource
    finish: Callable[[OccupiedCounts], Any]

    def for_number(self, number: int) -> AddCombinations:
        """The same for every pile."""
        del number
        return self

    def __call__(self, pile: int, blobs: Sequence[Blob]) -> Any:
        """What is told of the pile."""
        rows = from_bytes(veiled(each.content, _veil(self.cipher, each.origin, pile)) for each in blobs)
        if not rows.codes:
            return self.finish(added(self.attributes, []))
        codes = tuple(rows.codes[str(place)] for place in range(len(self.attributes)))
        return self.finish(added(self.attributes, [(codes, rows.codes[COUNT])]))


def _veil(cipher: NoiseSource, origin: int, pile: int) -> NoiseSource:
    return cipher.named(f"{origin} {pile}")


@dataclass(frozen=True)
class Kept:
    """The combinations that so many rows have."""

    fewest: int

    def __call__(self, sums: OccupiedCounts) -> Part:
        """Their codes and counts."""
        enough = sums.counts >= self.fewest
        return tuple(each[enough] for each in sums.codes), sums.counts[enough]


def sizes_of(sums: OccupiedCounts) -> dict[Any, int]:
    """How many combinations there are of each number of rows."""
    return dict(sums.sizes())


@dataclass(frozen=True)
class Diversity:
    """How many groups there are of each size and number of different sensitive categories."""

    names: tuple[str, ...]

    def __call__(self, sums: OccupiedCounts) -> dict[Any, int]:
        """Of groups equal on the names."""
        return dict(sums.diversity(self.names))


def added_up(found: Iterable[dict[Any, int]]) -> dict[Any, int]:
    """Histograms of different groups, added up."""
    total: Counter[Any] = Counter()
    for each in found:
        total.update(each)
    return dict(sorted(total.items()))


def meeting_of_combinations(
    attributes: tuple[Attribute, ...],
    splits: int,
    finish: Callable[[OccupiedCounts], Any],
    *,
    together: int | None = None,
) -> tuple[DealCombinations, Meeting]:
    """What deals the combinations of so many splits, and what adds them up."""
    piles = min(MOST_PILES, -(-splits // SPLITS_PER_PILE)) or 1
    cipher = NoiseSource.from_operating_system()
    deal = DealCombinations(attributes, len(attributes) if together is None else together, piles, cipher)
    return deal, Meeting(piles, AddCombinations(attributes, cipher, finish))
