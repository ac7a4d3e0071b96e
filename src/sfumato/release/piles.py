"""Rows dealt to piles, in memory until there are too many, then on disk."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource, NoiseStream
from sfumato.values.batches import CodedBatch

BYTES_IN_MEMORY = 64 * 2**20
"""Columns kept in memory before the piles go to disk."""

Columns = dict[str, npt.NDArray[Any]]


class Piles:
    """Piles of rows, one file for each where they outgrow memory.

    Parameters
    ----------
    folder
        Where files may be put.
    number
        Number of piles.
    cipher
        Veils what waits on disk, where that is more than will be published: the files are of no use without
        the key, which is nowhere but in memory.
    bytes_in_memory
        Columns kept in memory before they go to disk; ``BYTES_IN_MEMORY`` when not given.
    """

    def __init__(
        self,
        folder: Path,
        number: int,
        *,
        cipher: NoiseSource | None = None,
        bytes_in_memory: int | None = None,
    ) -> None:
        self.folder = folder
        self.cipher = cipher
        self.bytes_in_memory = BYTES_IN_MEMORY if bytes_in_memory is None else bytes_in_memory
        self._types: dict[str, np.dtype[Any]] = {}
        self._held: list[list[Columns]] = [[] for _ in range(number)]
        self._bytes_held = 0
        # Rows of each run of columns that was written, and the streams that veil what is written next.
        self._stored: list[list[int]] = [[] for _ in range(number)]
        self._veils = [self._veil(pile) for pile in range(number)]

    def deal(self, columns: Columns, pile_of: npt.NDArray[Any]) -> None:
        """Put each row on a pile."""
        self._types = {name: column.dtype for name, column in columns.items()}
        if len(self._held) == 1:
            self._held[0].append(columns)
        else:
            # One-byte keys are sorted by counting, in one pass.
            order = np.argsort(pile_of, kind="stable")
            dealt = {name: column[order] for name, column in columns.items()}
            ends = np.cumsum(np.bincount(pile_of, minlength=len(self._held))).tolist()
            for pile, (start, end) in enumerate(itertools.pairwise([0, *ends])):
                self._held[pile].append({name: column[start:end] for name, column in dealt.items()})
        self._bytes_held += sum(column.nbytes for column in columns.values())
        if self._bytes_held > self.bytes_in_memory:
            self._to_disk()

    def take(self, pile: int) -> CodedBatch:
        """All rows of a pile, in the order in which they came; the pile is empty then."""
        parts = [*self._from_disk(pile), *self._held[pile]]
        self._held[pile] = []
        columns = {
            # Each part is let go as it is joined, so that a pile is not in memory twice.
            name: np.concatenate([np.empty(0, kind), *(part.pop(name) for part in parts)])
            for name, kind in self._types.items()
        }
        return CodedBatch(columns, len(next(iter(columns.values()), ())))

    def _to_disk(self) -> None:
        for pile, parts in enumerate(self._held):
            if not parts:
                continue
            with self._path(pile).open("ab") as file:
                for name in self._types:
                    column = np.concatenate([part[name] for part in parts])
                    _veiled(column.view(np.uint8), self._veils[pile]).tofile(file)
            self._stored[pile].append(column.size)
            parts.clear()
        self._bytes_held = 0

    def _from_disk(self, pile: int) -> list[Columns]:
        runs, self._stored[pile] = self._stored[pile], []
        if not runs:
            return []
        veil = self._veil(pile)
        with self._path(pile).open("rb") as file:
            parts: list[Columns] = [
                {
                    name: _veiled(np.fromfile(file, np.uint8, rows * kind.itemsize), veil).view(kind)
                    for name, kind in self._types.items()
                }
                for rows in runs
            ]
        self._path(pile).unlink()
        return parts

    def _veil(self, pile: int) -> NoiseStream | None:
        return None if self.cipher is None else self.cipher.stream(pile)

    def _path(self, pile: int) -> Path:
        return self.folder / str(pile)


def _veiled(content: npt.NDArray[np.uint8], veil: NoiseStream | None) -> npt.NDArray[np.uint8]:
    """The bytes and a keystream, one on the other; doing it twice with the same stream lifts it."""
    if veil is None:
        return content
    return content ^ veil.words(-(-content.size // 8)).view(np.uint8)[: content.size]
