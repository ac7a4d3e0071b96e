"""Rows in uniformly random order, however many there are.

A file's order can give away what its columns hide: rows sorted by the sensitive attribute, or in the
order of a list that someone else has. So rows are always published in random order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.engines.protocol import CodedBatch
from sfumato.randomness import NoiseSource

PILES = 64
"""Piles that rows are dealt to. At a billion rows a pile of nine one-byte columns is 140 MB."""

BYTES_IN_MEMORY = 128 * 2**20
"""Packed rows kept in memory before the piles go to disk."""

ROWS_PER_BATCH = 131_072
"""Rows of a batch given out, and so of a row group written."""

Packed = npt.NDArray[np.void]


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
    packed_type = np.dtype(list(columns))
    with tempfile.TemporaryDirectory(prefix="piles-", dir=folder) as spill:
        piles = _Piles(Path(spill))
        for number, batch in enumerate(batches):
            packed = np.empty(batch.number_of_rows, dtype=packed_type)
            for name, _ in columns:
                packed[name] = batch.codes[name]
            pile_of = noise.named("piles").stream(number).uniform_codes(len(packed), PILES)
            piles.deal(packed, pile_of)
        waiting: list[Packed] = []
        for number in range(PILES):
            pile = piles.take(number, packed_type)
            waiting.append(pile[noise.named("order").stream(number).permutation(len(pile))])
            if sum(map(len, waiting)) >= ROWS_PER_BATCH:
                yield _unpack(waiting)
                waiting = []
        if sum(map(len, waiting)):
            yield _unpack(waiting)


class _Piles:
    """Rows dealt to piles, in memory until there are too many, then on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.held: list[list[Packed]] = [[] for _ in range(PILES)]
        self.bytes_held = 0

    def deal(self, packed: Packed, pile_of: npt.NDArray[Any]) -> None:
        # One-byte keys sort by counting, so this costs one pass over the batch.
        dealt = packed[np.argsort(pile_of, kind="stable")]
        ends = np.cumsum(np.bincount(pile_of, minlength=PILES))
        for pile, (start, end) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
            self.held[pile].append(dealt[start:end])
        self.bytes_held += dealt.nbytes
        if self.bytes_held > BYTES_IN_MEMORY:
            self._to_disk()

    def _to_disk(self) -> None:
        for pile, parts in enumerate(self.held):
            with self._path(pile).open("ab") as file:
                for part in parts:
                    part.tofile(file)
            parts.clear()
        self.bytes_held = 0

    def take(self, pile: int, packed_type: np.dtype[Any]) -> Packed:
        parts = self.held[pile]
        self.held[pile] = []
        if self._path(pile).exists():
            parts = [np.fromfile(self._path(pile), dtype=packed_type), *parts]
            self._path(pile).unlink()
        return np.concatenate(parts) if parts else np.empty(0, dtype=packed_type)

    def _path(self, pile: int) -> Path:
        return self.folder / f"{pile}"


def _unpack(parts: list[Packed]) -> CodedBatch:
    whole = np.concatenate(parts)
    names = whole.dtype.names or ()
    return CodedBatch({name: np.ascontiguousarray(whole[name]) for name in names}, len(whole))
