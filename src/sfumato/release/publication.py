"""What a method hands over to be written, and the row phase run: chunks mapped and put in uniformly random order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.atomic_files import spill_folder
from sfumato.data.chunks import (
    PILE,
    ROWS_PER_BATCH,
    CodedBatch,
    PileStep,
    Portion,
    Read,
    RowStep,
    rebatched,
    run_steps,
)
from sfumato.data.encryption import EncryptedFile
from sfumato.laws import Law
from sfumato.randomness.streams import NoiseSource, NoiseStream
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# What a method hands over to be written: rows in motion, and the facts that go with them.


@dataclass(frozen=True, eq=False)
class MadeRows:
    """Rows that a step makes from private ones, portion by portion.

    Parameters
    ----------
    reads
        Attributes of the private table that the step sees.
    step
        The row phase.
    shares
        For each portion, what the count phase found for it; None for a step that needs nothing.
    gather
        Where rows of different portions must meet: what becomes of a pile of them. The step then says each
        row's pile under the name :data:`~sfumato.data.chunks.PILE`.
    piles
        For each pile, what the count phase found for it.
    """

    reads: tuple[str, ...]
    step: RowStep[Any]
    shares: tuple[Any, ...] | None = None
    gather: PileStep[Any] | None = None
    piles: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows that come from counts alone: no private row is read for them.

    Parameters
    ----------
    batches
        Called to give the rows as codes.
    """

    batches: Callable[[], Iterator[CodedBatch]]


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A table about to be written; its rows are made while they are written, in random order.

    Parameters
    ----------
    name
        Name of the resource and of its file.
    schema
        The categorical columns.
    rows
        How the rows are made.
    integers
        Columns that hold whole numbers instead of categories, such as a bucket or a count.
    integer_type
        In which those are written: the shorter, where none can be larger.
    may_be_empty
        The method may leave every row out, and that none is there is part of what is published.
    order_says_nothing
        The rows come in an order drawn at random, such as that of numbers given to units at random: they are
        published as they come, so that rows of a unit stand together.
    """

    name: str
    schema: Schema
    rows: MadeRows | DrawnRows
    integers: tuple[str, ...] = ()
    integer_type: Literal["int32", "int64"] = "int64"
    may_be_empty: bool = False
    order_says_nothing: bool = False


@dataclass(frozen=True, eq=False)
class Publication:
    """What a method makes of a private table; what every release says besides is added when it is published.

    Parameters
    ----------
    tables
        The published tables; the first is the one that queries are about.
    law
        How published relates to true.
    published_as_they_are
        Attributes that the method leaves as they are.
    assumptions, not_protected
        The method's own sentences for the manifest, beyond those that hold for every method.
    chosen_from_private_data
        Parameter, by a name that the law knows, to how it was chosen by looking at the private rows; empty when none was.
    settled
        Parameters of the design that were left open and have got their value from the private rows.
    warnings
        What only the custodian is told, in sentences.
    """

    tables: tuple[PublishedTable, ...]
    law: Law
    published_as_they_are: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    chosen_from_private_data: Mapping[str, str] = field(default_factory=dict)
    settled: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


# --------------------------------------------------------------------------------------------------
# Rows dealt to piles, in memory until there are too many, then on disk.


BYTES_IN_MEMORY = 64 * 2**20
"""Columns kept in memory before the piles go to disk."""

Columns = dict[str, npt.NDArray[Any]]


class Piles:
    """Piles of rows, one encrypted file for each where they outgrow memory.

    Parameters
    ----------
    folder
        Where files may be put.
    number
        Number of piles.
    bytes_in_memory
        Columns kept in memory before they go to disk; ``BYTES_IN_MEMORY`` when not given.
    """

    def __init__(
        self,
        folder: Path,
        number: int,
        *,
        bytes_in_memory: int | None = None,
    ) -> None:
        self.folder = folder
        self.bytes_in_memory = BYTES_IN_MEMORY if bytes_in_memory is None else bytes_in_memory
        self._types: dict[str, np.dtype[Any]] = {}
        self._held: list[list[Columns]] = [[] for _ in range(number)]
        self._bytes_held = 0
        self._files: dict[int, EncryptedFile] = {}

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
            if pile not in self._files:
                self._files[pile] = EncryptedFile(self._path(pile))
            columns = (np.concatenate([part[name] for part in parts]) for name in self._types)
            self._files[pile].append(column.view(np.uint8).data for column in columns)
            parts.clear()
        self._bytes_held = 0

    def _from_disk(self, pile: int) -> list[Columns]:
        file = self._files.pop(pile, None)
        if file is None:
            return []
        # A run of columns for each time that memory was full.
        columns = zip(itertools.cycle(self._types.items()), file.read(), strict=False)
        arrays = ((name, np.frombuffer(content, kind)) for (name, kind), content in columns)
        parts: list[Columns] = []
        while run := dict(itertools.islice(arrays, len(self._types))):
            parts.append(run)
        self._path(pile).unlink()
        return parts

    def _path(self, pile: int) -> Path:
        return self.folder / str(pile)


# --------------------------------------------------------------------------------------------------
# Running the row phase of a publication on this machine, portion by portion.


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
    with spill_folder(folder) as waiting:
        piles = Piles(waiting, len(shares), bytes_in_memory=BYTES_WAITING)
        for batch in made:
            columns = {name: column for name, column in batch.codes.items() if name != PILE}
            piles.deal(columns, batch.codes[PILE])
        for number, share in enumerate(shares):
            yield gather(piles.take(number), Portion(number, share), noise)


# --------------------------------------------------------------------------------------------------
# Rows in uniformly random order, however many there are.
#
# A file's order can give away what its columns hide: rows sorted by the sensitive attribute, or in the
# order of a list that someone else has. So rows are always published in random order.


PILES = 64
"""Piles that rows are dealt to. At a billion rows a pile of nine one-byte columns is 140 MB."""

ROWS_PER_SHUFFLED_BATCH = 131_072
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
    are kept in the folder, encrypted.

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
    if len(first) == 1 and _rows(first[0]) <= ROWS_PER_SHUFFLED_BATCH:
        # One pile is enough, and needs no place of its own.
        only = _permuted(first[0], noise.named("order").stream(0))
        yield CodedBatch(only, _rows(only))
        return
    with spill_folder(folder) as spill:
        piles = Piles(spill, PILES)
        dealing, ordering = noise.named("piles"), noise.named("order")
        for number, part in enumerate(itertools.chain(first, published)):
            piles.deal(part, dealing.stream(number).uniform_codes(_rows(part), PILES))
        waiting: list[Columns] = []
        rows = 0
        for number in range(PILES):
            pile = dict(piles.take(number).codes)
            waiting.append(_permuted(pile, ordering.stream(number)))
            rows += _rows(pile)
            if rows >= ROWS_PER_SHUFFLED_BATCH or (number == PILES - 1 and rows):
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
    pieces = max(rows // ROWS_PER_SHUFFLED_BATCH, 1)
    for start, end in itertools.pairwise(part * rows // pieces for part in range(pieces + 1)):
        yield CodedBatch({name: column[start:end] for name, column in columns.items()}, end - start)


def _end_to_end(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
