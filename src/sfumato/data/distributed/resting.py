"""A table at rest: its splits, fixed once, so that every pass sees the same rows in the same portions."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from sfumato.chance.randomness import NoiseSource
from sfumato.data.distributed.splits import ROWS_PER_SPLIT, CodedRun, Split, is_divided, splits_of
from sfumato.data.distributed.tasks import SplitTask
from sfumato.data.engine import Engine
from sfumato.data.portions import rebatched
from sfumato.data.sources.base import Asked, Source
from sfumato.values.schema import Attribute, Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Takes(Protocol):
    """What codes the rows of a source once: the engine whose source comes to rest."""

    def map(self, task: SplitTask, source: Source, attributes: tuple[Attribute, ...]) -> list[Any]:
        """What a task finds in every split."""


@dataclass(frozen=True, eq=False, repr=False)
class AtRest(Source):
    """Rows of another source in splits that stay the same.

    Rows of Parquet files are reached by their place, and a file that changes is refused. All others are read once,
    coded and put on disk, veiled: whoever reads again sees the same rows.

    Parameters
    ----------
    original
        Where the rows come from.
    schema
        What they must fit.
    folder
        Where coded rows may be put; removed by whoever gave it.
    engine
        Codes them.
    """

    original: Source
    schema: Schema
    folder: Path
    engine: Takes
    _splits: list[tuple[Split, ...]] = field(default_factory=list)
    _taking: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """None: it is made by an engine."""
        del asked
        return None

    def __repr__(self) -> str:
        return f"AtRest({self.description})"

    @property
    def description(self) -> str:
        """That of the original."""
        return self.original.description

    @property
    def is_taken(self) -> bool:
        """Whether the splits are fixed."""
        return bool(self._splits)

    @property
    def cells(self) -> Source:
        """The original, whose cells are not codes yet."""
        return self.original

    def columns(self) -> tuple[str, ...]:
        """Those of the original."""
        return self.original.columns()

    def stated_number_of_rows(self) -> int | None:
        """As the original states it."""
        return self.original.stated_number_of_rows()

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """The original's: for what is asked of cells, such as who the people are."""
        with self.original.relation(cursor) as rows:
            yield rows

    def splits(self) -> tuple[Split, ...]:
        """The splits; rows are coded here where they must be."""
        with self._taking:
            if not self._splits:
                self._splits.append(splits_of(self.original) if is_divided(self.original) else self._coded())
        return self._splits[0]

    def _coded(self) -> tuple[Split, ...]:
        coded = self.schema.publishable
        # A key of its own for this purpose, since the noise of the publication is none of the engine's business.
        cipher = NoiseSource.from_operating_system()
        found = self.engine.map(CodeRows(coded, self.folder, cipher), self.original, coded.attributes)
        # Tasks say names and numbers alone: what they answer may lie on a disk of Spark's, and the key must not.
        return tuple(
            CodedRun(self.folder / name, coded.as_published, rows, cipher.named(name))
            for name, rows in itertools.chain.from_iterable(found)
        )


@dataclass(frozen=True, eq=False)
class CodeRows(SplitTask):
    """Codes the rows of a split and puts them on disk, veiled, in files of its own.

    An attempt that is repeated writes other files under another veil; those of the attempt that is answered count.

    Parameters
    ----------
    schema
        The columns.
    folder
        Where the files are put.
    cipher
        Veils them.
    """

    reads_cells = True

    schema: Schema
    folder: Path
    cipher: NoiseSource

    def on(self, engine: Engine, source: Source, number: int) -> list[tuple[str, int]]:
        """Names of the files, and how many rows are in each."""
        return list(self._written(engine, source, number))

    def _written(self, engine: Engine, source: Source, number: int) -> Iterator[tuple[str, int]]:
        published = self.schema.as_published
        for place, batch in enumerate(rebatched(engine.scan(source, self.schema.attributes), ROWS_PER_SPLIT)):
            name = f"rows-{number:05}-{place:05}-{uuid.uuid4().hex}"
            cipher = self.cipher.named(name)
            codes = dict(batch.codes)
            CodedRun.write(self.folder / name, published, codes, batch.number_of_rows, cipher)
            yield name, batch.number_of_rows
