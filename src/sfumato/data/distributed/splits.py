"""Splits of a table, materialized once, and the tasks that read them."""

from __future__ import annotations

import itertools
import pickle
import threading
import uuid
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from sfumato import errors
from sfumato.data.chunks import ROWS_PER_BATCH, CodedBatch, PortionStep, rebatched, refuse_changed_table
from sfumato.data.duckdb_engine import DrawnUnits, DuckDBEngine
from sfumato.data.encryption import OVERHEAD_BYTES, Encryption
from sfumato.data.engine import ArrayEngine, CodedRows, Condition, Engine, Unfit
from sfumato.data.sources.base import Asked, CheckedFile, Several, Source, held, quote_path, state_of
from sfumato.data.sources.columnar import ParquetFile, ParquetFiles, row_groups_of_files
from sfumato.errors import DataError, SfumatoError, SourceError
from sfumato.schema import Attribute, Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# Splits: the parts of a table that tasks read, fixed once for a publication.


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
    checks
        Of the file, where it is of a release.
    """

    path: Path
    state: tuple[int, int] | None
    first: int
    end: int
    checks: tuple[CheckedFile, ...] = ()

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
        with held((self.path,), self.checks) as (path,):
            yield (
                f"(select * exclude ({ROW_NUMBER}) from read_parquet({quote_path(path)}, {ROW_NUMBER} = true) "
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
    """Coded rows on disk, encrypted. Private.

    Parameters
    ----------
    path
        Of the file.
    schema
        Of the columns, in their order.
    number_of_rows
        Rows.
    encryption
        Of the columns, one record for each.
    """

    path: Path
    schema: Schema
    number_of_rows: int
    encryption: Encryption

    def __repr__(self) -> str:
        return f"CodedRun({self.number_of_rows} rows)"

    @classmethod
    def write(
        cls, path: Path, schema: Schema, codes: dict[str, Any], rows: int, encryption: Encryption
    ) -> Self:
        """Put rows on disk, encrypted; the name of the file must be its own."""
        path.touch(mode=0o600)
        with path.open("wb") as file:
            for place, each in enumerate(schema.attributes):
                column = np.ascontiguousarray(codes[each.name])
                file.write(encryption.encrypt(column.view(np.uint8).data, f"{path.name} {place}"))
        return cls(path, schema, rows, encryption)

    def opened(self) -> tuple[Engine, Source]:
        """Arrays in memory."""
        codes = {}
        with self.path.open("rb") as file:
            for place, each in enumerate(self.schema.attributes):
                kind = np.dtype(each.code_type)
                record = file.read(self.number_of_rows * kind.itemsize + OVERHEAD_BYTES)
                content = self.encryption.decrypt(record, f"{self.path.name} {place}")
                codes[each.name] = np.frombuffer(content, kind, self.number_of_rows)
        return ArrayEngine(), CodedRows(self.schema, codes)


def splits_of(source: Source) -> tuple[Split, ...]:
    """The splits of a source, in its order: of Parquet files runs of row groups, of others each file whole."""
    if isinstance(source, ParquetFile | ParquetFiles) and _has_numbered_rows(source):
        return _runs(source.files, source.checks)
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


def _runs(paths: Sequence[Path], checks: Sequence[CheckedFile]) -> tuple[ParquetRun, ...]:
    states = [state_of(each) for each in paths]
    runs = []
    for place, (path, state) in enumerate(zip(paths, states, strict=True)):
        own = tuple(checks[place : place + 1])
        with held((path,), own) as opened:
            (groups,) = row_groups_of_files(opened)
        first = end = 0
        for rows in groups:
            if end > first and end + rows - first > ROWS_PER_SPLIT:
                runs.append(ParquetRun(path, state, first, end, own))
                first = end
            end += rows
        if end > first:
            runs.append(ParquetRun(path, state, first, end, own))
    return tuple(runs)


# --------------------------------------------------------------------------------------------------
# What tasks do with a split, and how they say that they could not: in a sentence, never by an exception.
#
# Whoever runs a task would repeat one that raises, and print what it raised into logs: texts of readers quote
# cells.


OTHER_FAILURE = "a task failed on some rows. Nothing of them is repeated here; try the same table with --engine duckdb, which says more."

DISK_FAILURE = (
    "a task could not read or write a file: {}. Nothing was published; disks of tasks need room, and the folders that they "
    "share with this process (--out, --temp-dir) must be seen by all of them."
)


class Refused(NamedTuple):
    """What a task could not do, without a value of a cell."""

    kind: str
    sentence: str
    is_misfit: bool = False

    def error(self) -> SfumatoError:
        """The exception that says so."""
        found = getattr(errors, self.kind, SourceError)
        known = found if isinstance(found, type) and issubclass(found, SfumatoError) else SourceError
        try:
            return known(self.sentence)
        except TypeError:
            return SourceError(self.sentence)


def attempt(work: Callable[[], Any]) -> Any:
    """What some work gives, or why it could not be done."""
    try:
        return work()
    except SfumatoError as error:
        # Columns that do not fit are counted over all splits afterwards.
        is_misfit = type(error) is DataError and error.attribute is not None
        return Refused(type(error).__name__, str(error), is_misfit)
    except OSError as error:
        # What the system says of itself; the name of a file would be one that nobody outside the job knows.
        return Refused("SourceError", DISK_FAILURE.format(error.strerror or "the disk refused"))
    except Exception:  # noqa: BLE001 - whatever it is, its text may quote a cell
        return Refused("SourceError", OTHER_FAILURE)


def packed(value: Any) -> bytes:
    """A found value on its way back."""
    return zlib.compress(pickle.dumps(value, protocol=5), 1)


def unpacked(content: bytes) -> Any:
    """A found value; only of this job's own tasks."""
    return pickle.loads(zlib.decompress(content))  # noqa: S301


class SplitTask(ABC):
    """Something that is done with every split; members are frozen dataclasses that can be pickled."""

    reads_cells: ClassVar[bool] = False
    """It looks at cells as they were given, so that coded rows are of no use to it."""

    @abstractmethod
    def on(self, engine: Engine, source: Source, number: int) -> Any:
        """What is found in the split of a number."""

    def __call__(self, split: Split, number: int) -> Any:
        """The same, from the split."""
        engine, source = split.opened()
        try:
            return self.on(engine, source, number)
        finally:
            engine.close()


def batches_of(split: Split, attributes: Sequence[Attribute]) -> Iterator[CodedBatch]:
    """The rows of a split in batches of the same size wherever they are read."""
    engine, source = split.opened()
    try:
        yield from rebatched(engine.scan(source, attributes), ROWS_PER_BATCH)
    finally:
        engine.close()


@dataclass(frozen=True, eq=False)
class RunStep(SplitTask):
    """A step of a method."""

    attributes: tuple[Attribute, ...]
    step: PortionStep[Any]
    unit: Attribute | None = None

    def on(self, engine: Engine, source: Source, number: int) -> Any:
        """What the step finds."""
        rows = engine.scan(source, self.attributes, unit=self.unit)
        return self.step(rebatched(rows, ROWS_PER_BATCH), number)


@dataclass(frozen=True, eq=False)
class RunStepOnUnits(RunStep):
    """A step that sees units, which coded rows no longer hold."""

    reads_cells = True


@dataclass(frozen=True, eq=False)
class CountCells(SplitTask):
    """Counts over a product."""

    attributes: tuple[Attribute, ...]
    where: tuple[Condition, ...] = ()

    def on(self, engine: Engine, source: Source, number: int) -> Any:
        """The array of counts."""
        del number
        return engine.count_by(source, self.attributes, self.where).counts


@dataclass(frozen=True, eq=False)
class CountSets(SplitTask):
    """Counts over several products."""

    sets: tuple[tuple[Attribute, ...], ...]

    def on(self, engine: Engine, source: Source, number: int) -> Any:
        """The arrays of counts."""
        del number
        return [each.counts for each in engine.count_tables(source, self.sets)]


@dataclass(frozen=True, eq=False)
class CountOccupied(SplitTask):
    """Counts of what occurs; what few rows of a split have may be had by many of the table."""

    attributes: tuple[Attribute, ...]
    weight: str | None
    unfit: Unfit

    def on(self, engine: Engine, source: Source, number: int) -> Any:
        """Codes of the combinations, their sums, and their rows where those differ."""
        del number
        counted = engine.count_occupied(source, self.attributes, weight=self.weight, unfit=self.unfit)
        rows = None
        if self.weight is not None:
            plain = engine.count_occupied(source, self.attributes, unfit=self.unfit)
            order = np.lexsort(plain.codes[::-1]) if plain.codes else np.arange(plain.counts.size)
            back = np.argsort(np.lexsort(counted.codes[::-1])) if counted.codes else order
            rows = plain.counts[order][back]
        return counted.codes, counted.counts, rows


@dataclass(frozen=True, eq=False)
class CountMisfits(SplitTask):
    """How many rows every complaint is about."""

    reads_cells = True

    attributes: tuple[Attribute, ...]

    def on(self, engine: Engine, source: Source, number: int) -> Any:
        """Numbers of rows, and rows of each unit where a schema bounds them."""
        del number
        from sfumato.data.duckdb_engine import DuckDBEngine

        # Coded rows fit.
        return engine.count_misfits(source, self.attributes) if isinstance(engine, DuckDBEngine) else None


# --------------------------------------------------------------------------------------------------
# A table at rest: its splits, fixed once, so that every pass sees the same rows in the same portions.


class Takes(Protocol):
    """What codes the rows of a source once: the engine whose source comes to rest."""

    def map(self, task: SplitTask, source: Source, attributes: tuple[Attribute, ...]) -> list[Any]:
        """What a task finds in every split."""

    def draw(self, source: DrawnUnits, folder: Path) -> tuple[Split, ...]:
        """Splits of rows drawn of each unit."""


@dataclass(frozen=True, eq=False, repr=False)
class AtRest(Source):
    """Rows of another source in splits that stay the same.

    Rows of Parquet files are reached by their place, and a file that changes is refused. All others are read once,
    coded and put on disk, encrypted: whoever reads again sees the same rows.

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
        return self.original.cells

    @property
    def is_drawn(self) -> bool:
        """As the original."""
        return self.original.is_drawn

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
                self._splits.append(self._taken_splits())
        return self._splits[0]

    def _taken_splits(self) -> tuple[Split, ...]:
        if isinstance(self.original, DrawnUnits):
            return self.engine.draw(self.original, self.folder)
        return splits_of(self.original) if is_divided(self.original) else self._coded()

    def _coded(self) -> tuple[Split, ...]:
        coded = self.schema.publishable
        encryption = Encryption()
        found = self.engine.map(CodeRows(coded, self.folder, encryption), self.original, coded.attributes)
        # Tasks say names and numbers alone: what they answer may lie on a disk of Spark's, and the key must not.
        return tuple(
            CodedRun(self.folder / name, coded.as_published, rows, encryption)
            for name, rows in itertools.chain.from_iterable(found)
        )


@dataclass(frozen=True, eq=False)
class CodeRows(SplitTask):
    """Codes the rows of a split and puts them on disk, encrypted, in files of its own.

    An attempt that is repeated writes other files; those of the attempt that is answered count.

    Parameters
    ----------
    schema
        The columns.
    folder
        Where the files are put.
    encryption
        Of the files.
    """

    reads_cells = True

    schema: Schema
    folder: Path
    encryption: Encryption

    def on(self, engine: Engine, source: Source, number: int) -> list[tuple[str, int]]:
        """Names of the files, and how many rows are in each."""
        return list(self._written(engine, source, number))

    def _written(self, engine: Engine, source: Source, number: int) -> Iterator[tuple[str, int]]:
        published = self.schema.as_published
        for place, batch in enumerate(rebatched(engine.scan(source, self.schema.attributes), ROWS_PER_SPLIT)):
            name = f"rows-{number:05}-{place:05}-{uuid.uuid4().hex}"
            codes = dict(batch.codes)
            CodedRun.write(self.folder / name, published, codes, batch.number_of_rows, self.encryption)
            yield name, batch.number_of_rows
