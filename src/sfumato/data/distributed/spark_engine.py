"""The engine on Spark: the verbs of splits, and data frames of the session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.distributed.resting import AtRest
from sfumato.data.distributed.spark_runner import SparkRunner
from sfumato.data.distributed.splits import Split
from sfumato.data.distributed.tasks import CountMisfits, Refused, SplitTask
from sfumato.data.engine import Condition
from sfumato.data.fitting import Misfit, misfits_error
from sfumato.data.sources.base import Source
from sfumato.data.sources.spark import SparkFrame
from sfumato.values.counts import CountTable
from sfumato.values.schema import Attribute, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class CodedFrame(NamedTuple):
    """Rows of a data frame that were coded, with all that they were coded by."""

    frame: Any
    attributes: tuple[Attribute, ...]
    splits: tuple[Split, ...]


class SparkEngine(SplitEngine):
    """Reads, counts and publishes on Spark.

    Files are read by tasks as this machine would read them. Rows of a data frame may come in another order whenever
    they are asked for: they are coded once, put on disk, veiled, and read from there.

    Parameters
    ----------
    session
        The caller's; the one of this process, or a new one on this machine, where none is given.
    threads, memory_limit
        Of a session that is made.
    temporary_folder
        That tasks and this process share; needed where Spark runs on other machines.
    """

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        threads: int | None = None,
        memory_limit: str | None = None,
        temporary_folder: str | Path | None = None,
    ) -> None:
        self.spark = SparkRunner(
            session,
            threads=threads,
            memory=memory_limit,
            temporary_folder=None if temporary_folder is None else Path(temporary_folder),
        )
        super().__init__(self.spark)
        self._frames: list[CodedFrame] = []
        self._folders = ExitStack()

    def close(self) -> None:
        """Remove coded rows; the session stays."""
        self._frames = []
        self._folders.close()

    def splits(self, source: Source, attributes: Sequence[Attribute] = ()) -> tuple[Split, ...]:
        """The splits of a source; rows of a frame are coded for it."""
        if not isinstance(source, SparkFrame):
            return super().splits(source, attributes)
        read = tuple(attributes)
        for each in self._frames:
            # The frame itself, not its number, which another may have once this one is gone; and what codes mean.
            if each.frame is source.frame and each.attributes == read:
                return each.splits
        folder = self._folders.enter_context(self.spark.shared_folder())
        splits = AtRest(source, Schema(attributes=read), folder, self).splits()
        self._frames.append(CodedFrame(source.frame, read, splits))
        return splits

    def map(self, task: SplitTask, source: Source, attributes: Sequence[Attribute]) -> list[Any]:
        """What a task finds in every split; the rows of a frame are read by tasks that code or count cells alone."""
        if not isinstance(source, SparkFrame) or not task.reads_cells:
            return super().map(task, source, attributes)
        names = [each.name for each in attributes]
        found = self.spark.map_frame(task, source.frame, names)
        refused = [each for each in found if isinstance(each, Refused)]
        if any(each.is_misfit for each in refused) and not isinstance(task, CountMisfits):
            misfits = self.misfits(source, attributes)
            if misfits:
                raise misfits_error(misfits)
        if refused:
            raise refused[0].error()
        return found

    def count_by(
        self, source: Source, attributes: Sequence[Attribute], where: Sequence[Condition]
    ) -> CountTable:
        """Counts over the product of the attributes; how many rows a frame has, Spark itself says."""
        if isinstance(source, SparkFrame) and not attributes and not where:
            return CountTable((), np.array(self.spark.count_frame(source.frame), np.int64))
        return super().count_by(source, attributes, where)

    def number_of_rows(self, source: Source) -> int:
        """Rows of the source."""
        return (
            int(self.count_by(source, (), ()).total)
            if isinstance(source, SparkFrame)
            else super().number_of_rows(source)
        )

    def reads_once(self, source: Source) -> bool:
        """Rows of a frame."""
        return isinstance(source, SparkFrame)

    def misfits(self, source: Source, attributes: Sequence[Attribute]) -> tuple[Misfit, ...]:
        """Everything in which rows do not fit, counted over all splits or partitions."""
        cells = source.cells
        if not isinstance(cells, SparkFrame):
            return super().misfits(source, attributes)
        return self.judged_misfits(self.map(CountMisfits(tuple(attributes)), cells, attributes), attributes)
