"""Rows in uniformly random order, however many there are.

A file's order can give away what its columns hide: rows sorted by the sensitive attribute, or in the
order of a list that someone else has. So rows are always published in random order.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource
from sfumato.values.batches import CodedBatch

PILES = 64
"""Piles that rows are dealt to. At a billion rows a pile of nine one-byte columns is 140 MB."""

BYTES_IN_MEMORY = 64 * 2**20
"""Columns kept in memory before the piles go to disk."""

ROWS_PER_BATCH = 131_072
"""Rows of a batch given out, and so of a row group written."""

Columns = dict[str, npt.NDArray[Any]]


def in_random_order(
    batches: Iterator[CodedBatch],
    columns: Sequence[tuple[str, np.dtype[Any]]],
    noise: NoiseSource,
    folder: Path,
) -> Iterator[CodedBatch]:
    """The same rows, every order equally likely.

    Each row is dealt to one of the piles independently, then every pile is shuffled and the piles are
    laid end to end: the same as sorting all rows by independent random keys. Piles that outgrow memory
    are kept in the folder; what is in them is what will be published, in an order that says nothing.

    Parameters
    ----------
    batches
        Rows to publish.
    columns
        Name and type of every column.
    noise
        Where the order comes from.
    folder
        Where piles may be put; emptied afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="piles-", dir=folder) as spill:
        piles = _Piles(Path(spill), dict(columns))
        dealing, ordering = noise.named("piles"), noise.named("order")
        for number, batch in enumerate(batches):
            piles.deal(batch, dealing.stream(number).uniform_codes(batch.number_of_rows, PILES))
        waiting: list[Columns] = []
        rows = 0
        for number in range(PILES):
            pile, size = piles.take(number)
            order = ordering.stream(number).permutation(size)
            waiting.append({name: column[order] for name, column in pile.items()})
            rows += size
            if rows >= ROWS_PER_BATCH or (number == PILES - 1 and rows):
                yield CodedBatch(_end_to_end(waiting), rows)
                waiting, rows = [], 0


class _Piles:
    """Rows dealt to piles, in memory until there are too many, then on disk; column by column."""

    def __init__(self, folder: Path, types: dict[str, np.dtype[Any]]) -> None:
        self.folder = folder
        self.types = types
        self.held: list[list[Columns]] = [[] for _ in range(PILES)]
        self.bytes_held = 0

    def deal(self, batch: CodedBatch, pile_of: npt.NDArray[Any]) -> None:
        # One-byte keys are sorted by counting, in one pass.
        order = np.argsort(pile_of, kind="stable")
        dealt = {name: batch.codes[name].astype(kind, copy=False)[order] for name, kind in self.types.items()}
        ends = np.cumsum(np.bincount(pile_of, minlength=PILES)).tolist()
        for pile, (start, end) in enumerate(itertools.pairwise([0, *ends])):
            self.held[pile].append({name: column[start:end] for name, column in dealt.items()})
        self.bytes_held += sum(column.nbytes for column in dealt.values())
        if self.bytes_held > BYTES_IN_MEMORY:
            self._to_disk()

    def _to_disk(self) -> None:
        for pile, parts in enumerate(self.held):
            for name, column in _end_to_end(parts).items():
                with self._path(pile, name).open("ab") as file:
                    column.tofile(file)
            parts.clear()
        self.bytes_held = 0

    def take(self, pile: int) -> tuple[Columns, int]:
        parts, self.held[pile] = self.held[pile], []
        if all(self._path(pile, name).exists() for name in self.types):
            stored = {
                name: np.fromfile(self._path(pile, name), dtype=kind) for name, kind in self.types.items()
            }
            parts = [stored, *parts]
            for name in self.types:
                self._path(pile, name).unlink()
        if not parts:
            return {name: np.empty(0, dtype=kind) for name, kind in self.types.items()}, 0
        columns = _end_to_end(parts)
        return columns, len(next(iter(columns.values())))

    def _path(self, pile: int, name: str) -> Path:
        return self.folder / f"{pile}-{list(self.types).index(name)}"


def _end_to_end(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
