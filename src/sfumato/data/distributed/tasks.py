"""What tasks do with a split, and how they say that they could not: in a sentence, never by an exception.

Whoever runs a task would repeat one that raises, and print what it raised into logs: texts of readers quote cells.
"""

from __future__ import annotations

import pickle
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfumato import errors
from sfumato.data.distributed.splits import Split
from sfumato.data.engine import Condition, Engine, Unfit
from sfumato.data.portions import ROWS_PER_BATCH, PortionStep, rebatched
from sfumato.data.sources.base import Source
from sfumato.errors import DataError, SfumatoError, SourceError
from sfumato.values.batches import CodedBatch
from sfumato.values.schema import Attribute

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

    def on(self, engine: Engine, source: Source, number: int) -> Any:
        """What the step finds."""
        return self.step(rebatched(engine.scan(source, self.attributes), ROWS_PER_BATCH), number)


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
        from sfumato.data.duckdb import DuckDBEngine

        # Coded rows fit.
        return engine.count_misfits(source, self.attributes) if isinstance(engine, DuckDBEngine) else None
