"""Rows of each unit drawn from a table in splits: rows of a unit meet in one pile, wherever they lie."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sfumato.data import coding
from sfumato.data.chunks import rebatched
from sfumato.data.distributed import splits
from sfumato.data.distributed.exchange import from_bytes, to_bytes
from sfumato.data.distributed.splits import CodedRun, SplitTask
from sfumato.data.encryption import Encryption
from sfumato.data.engine import ArrayEngine, CodedRows, Engine
from sfumato.data.sources.base import Asked, Source
from sfumato.errors import DataError
from sfumato.randomness.quotas import drawn_of_each
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PILES = 256
"""Piles that rows are dealt to; small ones are drawn from together."""

UNIT, ALIKE, WORD = "sfumato unit", "sfumato alike", "sfumato word"
"""Columns beside the codes: keyed digests of a row's unit, and of that without case and spaces; a random word."""


@dataclass(frozen=True, eq=False, repr=False)
class WithDigests(Source):
    """Rows with keyed digests of their unit, -1 where it is missing.

    Parameters
    ----------
    original
        The rows.
    unit
        Whose they are.
    key
        Secret.
    """

    original: Source
    unit: Attribute
    key: str

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """None: it is made within a task."""
        del asked
        return None

    @property
    def description(self) -> str:
        """That of the original."""
        return self.original.description

    @property
    def cells(self) -> Source:
        """The original's."""
        return self.original.cells

    def columns(self) -> tuple[str, ...]:
        """Those of the original, and the digests."""
        return (*self.original.columns(), UNIT, ALIKE)

    def code(self, attribute: Attribute) -> str:
        """As of the original."""
        return self.original.code(attribute)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """The rows with two columns more."""
        text = coding.cell_text(self.unit)
        with self.original.relation(cursor) as rows:
            digests = ", ".join(
                f"case when {coding.is_missing(self.unit)} then -1 else {self._digest(each)} end as {coding.quote_name(name)}"
                for name, each in ((UNIT, text), (ALIKE, coding.alike_text(text)))
            )
            yield f"(select *, {digests} from {rows})"

    def _digest(self, text: str) -> str:
        return f"('0x' || substr(sha256({coding.quote_text(self.key)} || {text}), 1, 15))::bigint"


class Section(NamedTuple):
    """Rows of one pile in a file."""

    file: str
    pile: int
    start: int
    size: int
    rows: int


@dataclass(frozen=True, eq=False)
class DealUnits(SplitTask):
    """Codes the rows of a split and deals them to piles by unit, encrypted, each with a random word.

    Parameters
    ----------
    schema
        The columns.
    folder
        Where the files are put.
    encryption
        Of the files.
    noise
        Gives the words, and the key of the digests.
    """

    reads_cells = True

    schema: Schema
    folder: Path
    encryption: Encryption
    noise: NoiseSource

    def on(self, engine: Engine, source: Source, number: int) -> list[Section]:
        """Where the rows of each pile are."""
        return list(self._dealt(engine, source, number))

    def _dealt(self, engine: Engine, source: Source, number: int) -> Iterator[Section]:
        assert self.schema.unit is not None
        key = self.noise.named("digests").stream(0).words(4).tobytes().hex()
        rows = engine.scan(
            WithDigests(source, self.schema.unit, key),
            self.schema.publishable.attributes,
            integers=(UNIT, ALIKE),
        )
        stream = self.noise.named("words").stream(number)
        for batch in rebatched(rows, splits.ROWS_PER_SPLIT):
            if (batch.codes[UNIT] < 0).any():
                # How many rows it is about is counted over all splits.
                raise DataError("rows have no unit.", attribute=self.schema.unit.name)
            columns = {**batch.codes, WORD: stream.words(batch.number_of_rows)}
            # What is equal up to case or spaces must meet too.
            piles = columns[ALIKE] % PILES
            order = np.argsort(piles, kind="stable")
            ends = np.cumsum(np.bincount(piles, minlength=PILES))
            file = f"units-{number:05}-{uuid.uuid4().hex}"
            path, start = self.folder / file, 0
            path.touch(mode=0o600)
            with path.open("wb") as written:
                for pile, (first, end) in enumerate(zip([0, *ends], ends, strict=False)):
                    if end > first:
                        chosen = {name: column[order[first:end]] for name, column in columns.items()}
                        content = self.encryption.encrypt(to_bytes(chosen), f"{file} {pile}")
                        written.write(content)
                        yield Section(file, pile, start, len(content), int(end - first))
                        start += len(content)


@dataclass(frozen=True, eq=False)
class UnitPiles:
    """Some piles, as a split: all rows of some units.

    Parameters
    ----------
    schema, folder, encryption
        As for :class:`DealUnits`.
    sections
        Where the rows are, in their order.
    """

    schema: Schema
    folder: Path
    encryption: Encryption
    sections: tuple[Section, ...]

    @property
    def number_of_rows(self) -> int:
        """Rows of all sections."""
        return sum(each.rows for each in self.sections)

    @classmethod
    def grouped(
        cls, schema: Schema, folder: Path, encryption: Encryption, sections: Iterable[Section]
    ) -> list[Self]:
        """All piles, neighbors together while they are small."""
        by_pile: dict[int, list[Section]] = {}
        for each in sections:
            by_pile.setdefault(each.pile, []).append(each)
        groups: list[list[Section]] = []
        held = 0
        for pile in sorted(by_pile):
            rows = sum(each.rows for each in by_pile[pile])
            if not groups or held + rows > splits.ROWS_PER_SPLIT:
                groups.append([])
                held = 0
            groups[-1] += by_pile[pile]
            held += rows
        return [cls(schema, folder, encryption, tuple(each)) for each in groups]

    def opened(self) -> tuple[Engine, Source]:
        """All columns in memory."""
        return ArrayEngine(), CodedRows(self.schema.publishable, from_bytes(self._contents()).codes)

    def _contents(self) -> Iterator[bytes]:
        for each in self.sections:
            with (self.folder / each.file).open("rb") as file:
                file.seek(each.start)
                yield self.encryption.decrypt(file.read(each.size), f"{each.file} {each.pile}")


@dataclass(frozen=True, eq=False)
class DrawUnits(SplitTask):
    """Draws rows of each unit of some piles and puts them on disk, encrypted.

    Parameters
    ----------
    schema
        The columns, and how many rows of each unit are kept.
    folder, encryption
        As for :class:`DealUnits`.
    """

    schema: Schema
    folder: Path
    encryption: Encryption

    def on(self, engine: Engine, source: Source, number: int) -> tuple[str, int, Sequence[int]]:
        """Name of the file, its rows, and what is known of sizes of units (:func:`~sfumato.data.coding.misfits_of_units`)."""
        del engine
        assert isinstance(source, CodedRows)
        codes: dict[str, Any] = dict(source.codes)
        units, first, sizes = np.unique(codes[UNIT], return_index=True, return_counts=True)
        _, place, different = np.unique(codes[ALIKE][first], return_inverse=True, return_counts=True)
        is_alike = different[place] > 1
        assert self.schema.rows_drawn_per_unit is not None
        kept = drawn_of_each(codes[UNIT], codes[WORD], self.schema.rows_drawn_per_unit)
        name = f"drawn-{number:05}-{uuid.uuid4().hex}"
        published = self.schema.publishable
        columns = {each.name: codes[each.name][kept] for each in published.attributes}
        CodedRun.write(self.folder / name, published, columns, kept.size, self.encryption)
        told = (units.size, codes[UNIT].size, 0, 0, int(is_alike.sum()), int(sizes[is_alike].sum()))
        return name, int(kept.size), told
