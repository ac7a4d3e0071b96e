"""Splits: the parts of a table that tasks read, fixed once for a publication."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.data.portions import refuse_changed_table
from sfumato.data.sources.base import Asked, Source, quote_path, state_of
from sfumato.data.sources.combining import Several
from sfumato.data.sources.parquet import ParquetFile, ParquetFiles, row_groups_of_files
from sfumato.values.schema import Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS_PER_SPLIT = 2**20
"""Rows of a split, nearly: whole row groups of a file. A task may hold some bytes for each of them."""

ROW_NUMBER = "file_row_number"
"""What DuckDB calls the column with the numbers of a Parquet file's rows."""

MEMORY_OF_TASK = "512MB"
"""What DuckDB may use within a task before it spills; other tasks run beside it."""


class Split(Protocol):
    """Some rows of a table, which a task anywhere can open."""

    @property
    def number_of_rows(self) -> int | None:
        """Rows, where they are known without reading."""

    def opened(self) -> tuple[Engine, Source]:
        """What reads the rows, and the rows."""


@dataclass(frozen=True)
class ParquetRun(Source):
    """Consecutive rows of a Parquet file.

    Parameters
    ----------
    path
        Of the file.
    state
        Of the file when its rows were divided; another one is refused.
    first, end
        Number of the first row, and of the one behind the last.
    """

    path: Path
    state: tuple[int, int] | None
    first: int
    end: int

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """None: it is a part of another source."""
        del asked
        return None

    @property
    def number_of_rows(self) -> int:
        """Rows."""
        return self.end - self.first

    @property
    def description(self) -> str:
        """The file's name."""
        return self.path.name

    def columns(self) -> tuple[str, ...]:
        """Those of the file."""
        return ParquetFile(self.path).columns()

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """The rows by their numbers, so that row groups without them are not read."""
        del cursor
        if state_of(self.path) != self.state:
            refuse_changed_table()
        yield (
            f"(select * exclude ({ROW_NUMBER}) from read_parquet({quote_path(self.path)}, {ROW_NUMBER} = true) "
            f"where {ROW_NUMBER} between {self.first} and {self.end - 1})"
        )
        if state_of(self.path) != self.state:
            refuse_changed_table()

    def opened(self) -> tuple[Engine, Source]:
        """DuckDB in one thread, over the rows."""
        return DuckDBEngine(threads=1, memory_limit=MEMORY_OF_TASK), self


@dataclass(frozen=True, eq=False)
class WholeSource:
    """All rows of a source of any other kind: one task reads them.

    Parameters
    ----------
    source
        The rows.
    """

    source: Source

    @property
    def number_of_rows(self) -> int | None:
        """As the source states it."""
        return self.source.stated_number_of_rows()

    def opened(self) -> tuple[Engine, Source]:
        """DuckDB in one thread, over the rows."""
        return DuckDBEngine(threads=1, memory_limit=MEMORY_OF_TASK), self.source


@dataclass(frozen=True, eq=False)
class CodedRun:
    """Rows that were coded already and wait on disk, veiled. Private.

    Parameters
    ----------
    path
        Of the file.
    schema
        Of the columns, in their order.
    number_of_rows
        Rows.
    cipher
        Lifts the veil.
    """

    path: Path
    schema: Schema
    number_of_rows: int
    cipher: NoiseSource

    def __repr__(self) -> str:
        return f"CodedRun({self.number_of_rows} rows)"

    @classmethod
    def write(cls, path: Path, schema: Schema, codes: dict[str, Any], rows: int, cipher: NoiseSource) -> Self:
        """Put rows on disk, which are then of no use without the cipher; it must be of this file alone."""
        content = b"".join(np.ascontiguousarray(codes[each.name]).tobytes() for each in schema.attributes)
        path.touch(mode=0o600)
        path.write_bytes(veiled(content, cipher))
        return cls(path, schema, rows, cipher)

    def opened(self) -> tuple[Engine, Source]:
        """Arrays in memory."""
        content = veiled(self.path.read_bytes(), self.cipher)
        codes, place = {}, 0
        for each in self.schema.attributes:
            kind = np.dtype(each.code_type)
            codes[each.name] = np.frombuffer(content, kind, self.number_of_rows, place)
            place += self.number_of_rows * kind.itemsize
        return ArrayEngine(), CodedRows(self.schema, codes)


def veiled(content: bytes, cipher: NoiseSource) -> bytes:
    """Bytes and a keystream, one on the other; doing it twice lifts it. A cipher veils one content only."""
    plain = np.frombuffer(content, np.uint8)
    return (plain ^ cipher.stream(0).words(-(-plain.size // 8)).view(np.uint8)[: plain.size]).tobytes()


def splits_of(source: Source) -> tuple[Split, ...]:
    """The splits of a source, in its order: of Parquet files runs of row groups, of others each file whole."""
    if isinstance(source, ParquetFile | ParquetFiles) and _has_numbered_rows(source):
        return _runs(source.files)
    if isinstance(source, Several):
        return tuple(split for part in source.parts for split in splits_of(part))
    return (WholeSource(source),)


def is_divided(source: Source) -> bool:
    """Whether every row can be reached by its place, so that all passes see the same ones in the same splits."""
    if isinstance(source, Several):
        return all(map(is_divided, source.parts))
    return isinstance(source, ParquetFile | ParquetFiles) and _has_numbered_rows(source)


def _has_numbered_rows(source: Source) -> bool:
    """Whether DuckDB can say the number of a row: not where a column of the file has the name that it says it by."""
    return ROW_NUMBER not in map(str.lower, source.columns())


def _runs(paths: Sequence[Path]) -> tuple[ParquetRun, ...]:
    states = [state_of(each) for each in paths]
    runs = []
    for path, state, groups in zip(paths, states, row_groups_of_files(paths), strict=True):
        first = end = 0
        for rows in groups:
            if end > first and end + rows - first > ROWS_PER_SPLIT:
                runs.append(ParquetRun(path, state, first, end))
                first = end
            end += rows
        if end > first:
            runs.append(ParquetRun(path, state, first, end))
    return tuple(runs)
