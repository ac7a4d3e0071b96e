"""Rows in uniformly random order, however many there are.

A file's order can give away what its columns hide: rows sorted by the sensitive attribute, or in the
order of a list that someone else has. So rows are always published in random order.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource, NoiseStream
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
    published = (_published(batch, columns) for batch in batches)
    first = list(itertools.islice(published, 2))
    if len(first) == 1 and _rows(first[0]) <= ROWS_PER_BATCH:
        # One pile is enough, and needs no place of its own.
        only = _permuted(first[0], noise.named("order").stream(0))
        yield CodedBatch(only, _rows(only))
        return
    with tempfile.TemporaryDirectory(prefix="piles-", dir=folder) as spill:
        piles = Piles(Path(spill), PILES)
        dealing, ordering = noise.named("piles"), noise.named("order")
        for number, part in enumerate(itertools.chain(first, published)):
            piles.deal(part, dealing.stream(number).uniform_codes(_rows(part), PILES))
        waiting: list[Columns] = []
        rows = 0
        for number in range(PILES):
            pile = dict(piles.take(number).codes)
            waiting.append(_permuted(pile, ordering.stream(number)))
            rows += _rows(pile)
            if rows >= ROWS_PER_BATCH or (number == PILES - 1 and rows):
                yield from _cut(_end_to_end(waiting), rows)
                waiting, rows = [], 0


def _published(batch: CodedBatch, columns: Mapping[str, npt.DTypeLike | None]) -> Columns:
    return {
        name: batch.codes[name] if kind is None else batch.codes[name].astype(kind, copy=False)
        for name, kind in columns.items()
    }


def _rows(columns: Columns) -> int:
    return len(next(iter(columns.values()), ()))


def _permuted(columns: Columns, stream: NoiseStream) -> Columns:
    order = stream.permutation(_rows(columns))
    return {name: column[order] for name, column in columns.items()}


def _cut(columns: Columns, rows: int) -> Iterator[CodedBatch]:
    """Rows in batches of nearly the same size: what is done with a batch must not take more memory where piles are large."""
    pieces = max(rows // ROWS_PER_BATCH, 1)
    for start, end in itertools.pairwise(part * rows // pieces for part in range(pieces + 1)):
        yield CodedBatch({name: column[start:end] for name, column in columns.items()}, end - start)


def _end_to_end(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
