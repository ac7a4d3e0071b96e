"""Running the row phase of a publication on this machine, portion by portion."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.chance.randomness import NoiseSource
from sfumato.data.portions import PILE, ROWS_PER_BATCH, PileStep, Portion, Read, rebatched, run_steps
from sfumato.release.piles import Piles
from sfumato.release.publication import DrawnRows, MadeRows
from sfumato.values.batches import CodedBatch

BYTES_WAITING = 16 * 2**20
"""Columns of rows that must meet that are kept in memory; what is made of them needs memory too."""


def make_rows(
    rows: MadeRows | DrawnRows, read: Read, noise: NoiseSource, folder: Path | None = None
) -> Iterator[CodedBatch]:
    """The rows of a published table; in the order of the private ones unless they had to meet.

    Parameters
    ----------
    rows
        How they are made.
    read
        Gives private rows.
    noise
        Of the publication.
    folder
        Where rows may wait that must meet; the machine's own place for temporary files when not given.
    """
    if isinstance(rows, DrawnRows):
        yield from rows.batches()
        return
    made = run_steps(rows.step, read(rows.reads), rows.shares, noise)
    if rows.gather is None:
        yield from made
    else:
        # A pile is large, and what comes after works best on what fits a cache.
        yield from rebatched(_gathered(made, rows.gather, rows.piles, noise, folder), ROWS_PER_BATCH)


def _gathered(
    made: Iterable[CodedBatch],
    gather: PileStep[Any],
    shares: Sequence[Any],
    noise: NoiseSource,
    folder: Path | None,
) -> Iterator[CodedBatch]:
    """Rows put on the piles that their step named, then made pile by pile."""
    with tempfile.TemporaryDirectory(prefix="piles-", dir=folder) as waiting:
        # What waits here is private still.
        cipher = noise.named("rows that wait to meet")
        piles = Piles(Path(waiting), len(shares), cipher=cipher, bytes_in_memory=BYTES_WAITING)
        for batch in made:
            columns = {name: column for name, column in batch.codes.items() if name != PILE}
            piles.deal(columns, batch.codes[PILE])
        for number, share in enumerate(shares):
            yield gather(piles.take(number), Portion(number, share), noise)
