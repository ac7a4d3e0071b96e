"""The row phase of random record swapping: rows meet in their group, and some of them swap there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import MixedRadix
from sfumato.data.chunks import PILE, CodedBatch, Portion, refuse_changed_table
from sfumato.randomness.streams import NoiseSource


@dataclass(frozen=True)
class Group:
    """What the count phase says of a group: its rows, and how many of them swap."""

    rows: int
    chosen: int


@dataclass(frozen=True)
class ToGroups:
    """Puts every row on the pile of its group.

    ``within`` are the attributes that make groups, ``sizes`` their numbers of categories.
    """

    within: tuple[str, ...]
    sizes: tuple[int, ...]

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[None], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """The same rows, each with its group."""
        del portion, noise
        for batch in batches:
            group = np.zeros(batch.number_of_rows, dtype=np.int64)
            if self.within:
                group = MixedRadix(self.sizes).encode([batch.codes[name] for name in self.within])
            yield CodedBatch({**batch.codes, PILE: group}, batch.number_of_rows)


@dataclass(frozen=True)
class SwapInGroup:
    """Deals the swapped values of a group's chosen rows out among them."""

    swapped: tuple[str, ...]

    def __call__(self, rows: CodedBatch, pile: Portion[Group], noise: NoiseSource) -> CodedBatch:
        """The rows of a group; the values of all swapped attributes move together."""
        if rows.number_of_rows != pile.share.rows:
            refuse_changed_table()
        choosing, dealing = (noise.named(use).stream(pile.number) for use in ("choose rows", "deal values"))
        chosen = choosing.permutation(rows.number_of_rows)[: pile.share.chosen]
        places = np.arange(rows.number_of_rows)
        places[chosen] = chosen[dealing.permutation(chosen.size)]
        moved = {name: rows.codes[name][places] for name in self.swapped}
        return CodedBatch({**rows.codes, **moved}, rows.number_of_rows)
