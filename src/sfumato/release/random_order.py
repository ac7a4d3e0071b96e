"""Rows in uniformly random order, however many there are.

A file's order can give away what its columns hide: rows sorted by the sensitive attribute, or in the
order of a list that someone else has. So rows are always published in random order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource
from sfumato.release.piles import Columns, Piles
from sfumato.values.batches import CodedBatch

PILES = 64
"""Piles that rows are dealt to. At a billion rows a pile of nine one-byte columns is 140 MB."""

ROWS_PER_BATCH = 131_072
"""Rows of a batch given out, and so of a row group written."""


def in_random_order(
    batches: Iterator[CodedBatch],
    columns: Mapping[str, npt.DTypeLike | None],
    noise: NoiseSource,
    folder: Path | None,
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
        The type of every column; None for one that keeps its own.
    noise
        Where the order comes from.
    folder
        Where piles may be put; emptied afterwards. The system's own folder for such things when None.
    """
    with tempfile.TemporaryDirectory(prefix="piles-", dir=folder) as spill:
        piles = Piles(Path(spill), PILES)
        dealing, ordering = noise.named("piles"), noise.named("order")
        for number, batch in enumerate(batches):
            published = {
                name: batch.codes[name] if kind is None else batch.codes[name].astype(kind, copy=False)
                for name, kind in columns.items()
            }
            piles.deal(published, dealing.stream(number).uniform_codes(batch.number_of_rows, PILES))
        waiting: list[Columns] = []
        rows = 0
        for number in range(PILES):
            pile = piles.take(number)
            order = ordering.stream(number).permutation(pile.number_of_rows)
            waiting.append({name: column[order] for name, column in pile.codes.items()})
            rows += pile.number_of_rows
            if rows >= ROWS_PER_BATCH or (number == PILES - 1 and rows):
                yield CodedBatch(_end_to_end(waiting), rows)
                waiting, rows = [], 0


def _end_to_end(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
