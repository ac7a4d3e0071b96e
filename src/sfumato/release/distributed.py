"""Published tables written in shards by tasks.

Each row is dealt to a pile at random and every pile is put in random order, so that all files together are in
uniformly random order. A task that is repeated deals the same rows and writes the same bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.data.arrow import row_writer
from sfumato.data.chunks import PILE, CodedBatch, PileStep, Portion, RowStep, refuse_changed_table
from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.distributed.exchange import Blob, Meeting, blob_name, from_bytes, to_bytes
from sfumato.data.distributed.splits import AtRest
from sfumato.data.encryption import Encryption
from sfumato.errors import DataError, ParameterError
from sfumato.randomness.streams import NoiseSource
from sfumato.release.manifest import Format, Part, TableEntry
from sfumato.release.publication import DrawnRows, MadeRows, PublishedTable
from sfumato.release.storage import columns_of, parted_entry, sha256_of
from sfumato.schema import Schema

ROWS_PER_FILE = 2_500_000
"""Rows of a file, nearly; a task holds a file's rows in memory."""

BYTES_PER_FILE = 2**29
"""Codes of a file, at most nearly: wide tables are written to more files, of fewer rows."""

BYTES_PER_BLOB = 2**26
"""Codes that a task holds before it hands them over, nearly; where they are cut changes nothing of what is published."""

Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class PartsWriter:
    """Writes the tables of a publication whose private rows are in splits.

    Parameters
    ----------
    engine
        Runs the tasks.
    source, schema
        The private rows, and what they fit.
    noise
        Of the publication.
    """

    engine: SplitEngine
    source: AtRest
    schema: Schema
    noise: NoiseSource

    def __call__(self, table: PublishedTable, folder: Path, format: Format) -> TableEntry:
        """Write a table that is made from private rows.

        Raises
        ------
        ParameterError
            For CSV files.
        """
        if format != "parquet":
            raise ParameterError(
                "a release in parts is written as Parquet, got format csv. Leave --format out.",
                parameter="format",
            )
        rows = table.rows
        assert isinstance(rows, MadeRows)
        splits = self.engine.splits(self.source)
        if rows.shares is not None and len(rows.shares) != len(splits):
            refuse_changed_table()
        files = number_of_files(self.engine.number_of_rows(self.source), _types(table).values())
        (folder / table.name).mkdir()
        order = self.noise.named(f"order of {table.name}")
        waiting = Encryption()
        # How the rows are made may be large, and is of no use to whoever writes them. Tasks may run in another folder.
        nothing = dataclasses.replace(table, rows=DrawnRows(_no_rows))
        write = WritePart(nothing, folder.absolute(), order)
        deal = DealRows(rows.step, rows.shares, self.noise, _types(table), order, files, None)
        meetings = [Meeting(files, write)]
        if rows.gather is not None:
            deal = dataclasses.replace(deal, waiting=waiting)
            gather = GatherRows(rows.gather, rows.piles, self.noise, _types(table), order, files, waiting)
            meetings = [Meeting(len(rows.piles), gather), *meetings]
        found = self.engine.exchange(self.source, self.schema.select(rows.reads), deal, meetings)
        return self._entry(table, folder, found)

    def _entry(self, table: PublishedTable, folder: Path, found: Sequence[Part]) -> TableEntry:
        for part in found:
            # Another file system than the one that the tasks wrote to, or a disk that was lost.
            path = folder / part.path
            if not path.is_file() or sha256_of(path) != part.sha256:
                raise DataError(
                    "a written part is not what its task wrote. Nothing was published; tasks and this process must share "
                    "one file system."
                )
        known = {Path(part.path).name for part in found}
        for each in (folder / table.name).iterdir():
            if each.name not in known:
                each.unlink()
        parts = tuple(found)
        if not table.may_be_empty and not any(part.number_of_rows for part in parts):
            raise DataError("the data have no rows. There is nothing to publish.", number_of_rows=0)
        return parted_entry(table, parts)


def number_of_files(rows: int, types: Iterable[Any]) -> int:
    """Files for so many rows with columns of some types; None is a whole number.

    Examples
    --------
    >>> number_of_files(30_000_000, [np.uint8] * 9), number_of_files(30_000_000, [np.int32] * 400)
    (12, 90)
    """
    width = sum(np.dtype(np.int64 if each is None else each).itemsize for each in types)
    return max(1, -(-rows // ROWS_PER_FILE), -(-rows * width // BYTES_PER_FILE))


def _no_rows() -> Iterator[CodedBatch]:
    return iter(())


def _types(table: PublishedTable) -> dict[str, Any]:
    return {
        **{each.name: each.code_type for each in table.schema.attributes},
        **dict.fromkeys(table.integers),
    }


@dataclass(frozen=True, eq=False)
class DealRows:
    """Makes the rows of a split and deals them: at random, or where its step says.

    Parameters
    ----------
    step
        The row phase.
    shares
        What the count phase found for each portion.
    noise, order
        Of the publication, and of the table's order.
    types
        Of the columns that are published; None for one that keeps its own.
    files
        Files that the table is written to.
    waiting
        Encrypts rows that must meet first, which are private still; None where they are published as they are dealt.
    """

    step: RowStep[Any]
    shares: Sequence[Any] | Mapping[int, Any] | None
    noise: NoiseSource
    types: Mapping[str, Any]
    order: NoiseSource
    files: int
    waiting: Encryption | None

    def for_number(self, number: int) -> DealRows:
        """With the share of one portion."""
        return (
            self if self.shares is None else dataclasses.replace(self, shares={number: self.shares[number]})
        )

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> Iterator[Blob]:
        """What goes to each pile."""
        portion = Portion(number, None if self.shares is None else self.shares[number])
        dealing = self.order.named("piles")
        held: list[tuple[Columns, npt.NDArray[Any]]] = []
        size = part = 0
        for place, batch in enumerate(self.step(batches, portion, self.noise)):
            if self.waiting is None:
                pile = dealing.stream(portion.stream_number(place)).uniform_codes(
                    batch.number_of_rows, self.files
                )
                held.append((_published(batch, self.types), pile))
            else:
                columns = {name: column for name, column in batch.codes.items() if name != PILE}
                held.append((columns, batch.codes[PILE]))
            size += sum(column.nbytes for column in held[-1][0].values())
            if size >= BYTES_PER_BLOB:
                yield from self._blobs(held, number, part)
                held, size, part = [], 0, part + 1
        yield from self._blobs(held, number, part)

    def _blobs(
        self, held: Sequence[tuple[Columns, npt.NDArray[Any]]], number: int, part: int
    ) -> Iterator[Blob]:
        for pile, columns in _dealt(held):
            content = to_bytes(columns)
            if self.waiting is not None:
                content = self.waiting.encrypt(content, blob_name(pile, number, part))
            yield Blob(pile, number, part, content)


def _published(batch: CodedBatch, types: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    return {
        name: batch.codes[name] if kind is None else batch.codes[name].astype(kind, copy=False)
        for name, kind in types.items()
    }


def _dealt(
    held: Sequence[tuple[Columns, npt.NDArray[Any]]],
) -> Iterator[tuple[int, dict[str, npt.NDArray[Any]]]]:
    """The rows of each pile that gets some."""
    if not held:
        return
    pile_of = np.concatenate([pile for _, pile in held])
    columns = {name: np.concatenate([each[name] for each, _ in held]) for name in held[0][0]}
    order = np.argsort(pile_of, kind="stable")
    piles, starts = np.unique(pile_of[order], return_index=True)
    for pile, rows in zip(piles.tolist(), np.split(order, starts[1:]), strict=True):
        yield int(pile), {name: column[rows] for name, column in columns.items()}


@dataclass(frozen=True, eq=False)
class GatherRows:
    """Makes what is published of rows that had to meet, and deals it at random.

    Parameters
    ----------
    gather
        What becomes of a pile.
    shares
        What the count phase found for each pile.
    noise, types, order, files, waiting
        As for :class:`DealRows`.
    """

    gather: PileStep[Any]
    shares: Sequence[Any] | Mapping[int, Any]
    noise: NoiseSource
    types: Mapping[str, Any]
    order: NoiseSource
    files: int
    waiting: Encryption

    def for_number(self, number: int) -> GatherRows:
        """With the share of one pile."""
        return dataclasses.replace(self, shares={number: self.shares[number]})

    def __call__(self, pile: int, blobs: Sequence[Blob]) -> Iterator[Blob]:
        """What goes to each file."""
        rows = from_bytes(
            self.waiting.decrypt(each.content, blob_name(pile, each.origin, each.part)) for each in blobs
        )
        if not rows.codes:
            refuse_changed_table()
        made = self.gather(rows, Portion(pile, self.shares[pile]), self.noise)
        to = self.order.named("piles").stream(pile).uniform_codes(made.number_of_rows, self.files)
        for number, columns in _dealt([(_published(made, self.types), to)]):
            yield Blob(number, pile, 0, to_bytes(columns))


@dataclass(frozen=True, eq=False)
class WritePart:
    """Writes a pile in random order, as a file of the table.

    Parameters
    ----------
    table
        What is written; of its rows nothing is needed.
    folder
        Of the release.
    order
        Of the table's rows.
    """

    table: PublishedTable
    folder: Path
    order: NoiseSource

    def for_number(self, number: int) -> WritePart:
        """The same for every pile."""
        del number
        return self

    def __call__(self, pile: int, blobs: Sequence[Blob]) -> Part:
        """The part of the table that was written."""
        rows = from_bytes(each.content for each in blobs)
        name = f"{self.table.name}/part-{pile:05}.parquet"
        # Every attempt has a file of its own and the bytes are the same: the last to take the name changes nothing.
        waiting = self.folder / self.table.name / f".part-{pile:05}-{uuid.uuid4().hex}"
        with row_writer(waiting, columns_of(self.table), "parquet") as write:
            if rows.number_of_rows:
                order = self.order.named("order").stream(pile).permutation(rows.number_of_rows)
                batch = CodedBatch({each: column[order] for each, column in rows.codes.items()}, order.size)
                write(batch)
        content = hashlib.sha256(waiting.read_bytes()).hexdigest()
        waiting.replace(self.folder / name)
        return Part(path=name, sha256=content, number_of_rows=rows.number_of_rows)
