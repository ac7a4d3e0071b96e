"""The engine on Spark: session, data frames, runner of tasks."""

from __future__ import annotations

import itertools
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sfumato.atomic_files import spill_folder
from sfumato.data.coding import Misfit, misfits_error
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.data.distributed.exchange import Blob, DealStep, Meeting, Parcels
from sfumato.data.distributed.splits import (
    AtRest,
    CountMisfits,
    Refused,
    Split,
    SplitTask,
    attempt,
    batches_of,
    packed,
    unpacked,
)
from sfumato.data.engine import Condition
from sfumato.data.sources.base import Asked, Source, fresh_name
from sfumato.data.sources.databases import SparkFrame
from sfumato.errors import DataError, MissingExtraError, ParameterError, SourceError, without_origins
from sfumato.estimates.counts import CountTable
from sfumato.schema import Attribute, Schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import DataFrame, SparkSession

# --------------------------------------------------------------------------------------------------
# Rows of a Spark data frame: in its session for the engine, as a stream within a task.


@dataclass(frozen=True, eq=False, repr=False)
class StreamOnce(Source):
    """Arrow batches that come once: those of a partition, within its task."""

    first: Any
    rest: Iterator[Any]
    _begun: list[bool] = field(default_factory=list)

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """None: it is made within a task."""
        del asked
        return None

    @property
    def description(self) -> str:
        """What it is to whoever gave it."""
        return "the data frame"

    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(self.first.schema.names)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Register the stream, once."""
        import pyarrow as pa

        if self._begun:
            # Whoever reads again wants to know what does not fit, which is counted over all partitions at once.
            raise DataError("rows of the data frame do not fit the schema.", attribute="")
        self._begun.append(True)
        name = fresh_name("frame")
        batches = itertools.chain([self.first], self.rest)
        cursor.register(name, pa.RecordBatchReader.from_batches(self.first.schema, batches))
        yield name


# --------------------------------------------------------------------------------------------------
# A Spark session to work in: the caller's, one that is there, or one on this machine.


JAVA_VERSIONS = (17, 21)
"""Majors that Spark 4 runs on."""

ATTEMPTS = 4
"""Times that a task is tried; plain ``local[2]`` would try once."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Nothing listens beyond this machine.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.io.encryption.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "131072",
    # It quotes cells that a query fails on.
    "spark.log.level": "OFF",
}


def find_session(
    *, threads: int | None = None, memory: str | None = None, folder: Path | None = None
) -> SparkSession:
    """The session of this process, or a new one on this machine.

    Raises
    ------
    MissingExtraError
        When PySpark is not installed.
    ParameterError
        When Java or pandas is none that it works with.
    """
    require_parts()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - there is no public name for it
        # Made in another thread: with settings, this would change them in it.
        there: SparkSession = SparkSession.builder.getOrCreate()
        return there
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Workers are of the same Python, with the same packages, unless somebody says otherwise.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName("sfumato")
    settings = dict(SETTINGS)
    if memory is not None:
        settings["spark.driver.memory"] = _java_memory(memory)
    if folder is not None:
        settings["spark.local.dir"] = str(folder)
    if "MASTER" not in os.environ and "SPARK_REMOTE" not in os.environ:
        builder = builder.master(f"local[{'*' if threads is None else threads},{ATTEMPTS}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def require_parts() -> None:
    """Refuse to begin where something is missing that would fail in the middle."""
    try:
        import pyspark
    except ImportError:
        raise MissingExtraError("--engine spark", extra="spark") from None
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise ParameterError(
            f"PySpark {pyspark.__version__} is installed, and 4.1 or later is needed: pip install 'sfumato[spark]'",
            parameter="engine",
        )
    require_pandas()
    require_java()


def require_pandas() -> None:
    """Refuse a pandas that PySpark 4 does not work with; none at all is fine."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("pandas")
    except PackageNotFoundError:
        return
    if int(found.split(".")[0]) >= 3:
        raise ParameterError(
            f"pandas {found} is installed, and PySpark 4 works with pandas below 3: pip install 'pandas<3'",
            parameter="engine",
        )


def require_java() -> None:
    """Refuse to begin without a Java that Spark runs on."""
    wanted = " or ".join(map(str, JAVA_VERSIONS))
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME names {home}, where there is none" if home else "none is on the PATH"
        raise ParameterError(
            f"Spark needs Java {wanted}, and {where}. Install it, on Debian by apt install openjdk-17-jre-headless, or set "
            "JAVA_HOME.",
            parameter="engine",
        )
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    major = int(found[1]) if found else 0
    if major not in JAVA_VERSIONS:
        raise ParameterError(
            f"Spark needs Java {wanted}, and {java} is {f'Java {major}' if major else 'of no version that it says'}. Install "
            "one of them and set JAVA_HOME to it.",
            parameter="engine",
        )


def is_local(session: SparkSession) -> bool:
    """Whether all tasks run on this machine."""
    return str(session.sparkContext.master).startswith("local")


def require_privacy(session: SparkSession) -> None:
    """Refuse a cluster that would write or send what tasks are given in clear.

    Raises
    ------
    ParameterError
        Naming the settings.
    """
    conf = session.sparkContext.getConf()
    if is_local(session):
        return
    lacking = [
        name
        # Without the first, the last is without effect.
        for name in ("spark.authenticate", "spark.io.encryption.enabled", "spark.network.crypto.enabled")
        if conf.get(name, "false").lower() != "true"
    ]
    if lacking:
        raise ParameterError(
            f"the key of the noise would lie on the executors' disks or cross the network in clear. Set {' and '.join(lacking)} "
            "to true.",
            parameter="engine",
        )


def _java_memory(memory: str) -> str:
    """``1.5GB`` as Java writes it, in whole megabytes."""
    units = {"k": 2**-10, "m": 1, "g": 2**10, "t": 2**20}
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])i?b\s*", memory, re.IGNORECASE)
    if found is None:
        raise ParameterError(
            f"memory must be a number with a unit, such as 4GB or 500MB, got {memory!r}.", parameter="memory"
        )
    return f"{max(512, round(float(found[1]) * units[found[2].lower()]))}m"


# --------------------------------------------------------------------------------------------------
# Running tasks on Spark: one for each split, one for each pile.


FOUND = "number int, content binary"
BLOBS = "pile int, origin int, part int, content binary"

REFUSED = -1
"""Origin of a blob that says why a task could not do its work."""

MARKER = -2
"""Origin of a blob that says nothing, so that every pile has a task."""

NO_PARCEL = (
    "the executors do not see the folder that they share with this process, or cannot read it. Name one by --temp-dir "
    "that is on a file system of all of them."
)
GIVEN_UP = (
    "Spark gave the job up: the data frame's own query fails on its rows, a task was lost as often as it may be tried, an "
    "executor's disk or memory ran out, or the session was stopped. Nothing was published; Spark's log says more, and may "
    "quote cells, so that a session that sfumato makes keeps none: run the query in a session of your own."
)
QUOTING_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""By which PySpark prints what a query failed on, before anybody can catch it."""


class SparkRunner:
    """Runs tasks in a Spark session.

    Parameters
    ----------
    session
        The caller's; found or made when it is first needed, where none is given.
    threads, memory
        Of a session that is made.
    temporary_folder
        That tasks and this process share; needed where Spark runs on other machines.
    """

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        threads: int | None = None,
        memory: str | None = None,
        temporary_folder: Path | None = None,
    ) -> None:
        self._session = session
        self._threads = threads
        self._memory = memory
        self._is_checked = False
        self.temporary_folder = temporary_folder

    @property
    def session(self) -> SparkSession:
        """The session, once it is known to keep secrets."""
        if self._session is None:
            self._session = find_session(
                threads=self._threads, memory=self._memory, folder=self.temporary_folder
            )
        if not self._is_checked:
            require_privacy(self._session)
            self._is_checked = True
        return self._session

    def close(self) -> None:
        """The session stays: it is the process's, and starting another takes long."""

    @contextmanager
    def shared_folder(self) -> Iterator[Path]:
        """A folder that every task can reach."""
        if self.temporary_folder is None and not is_local(self.session):
            raise ParameterError(
                "where Spark runs on several machines, they and this process need a folder that all of them see. Name it by "
                "--temp-dir.",
                parameter="temporary_folder",
            )
        parent = self.temporary_folder or Path(tempfile.gettempdir())
        with spill_folder(parent.absolute()) as folder:
            yield folder

    def map(self, task: SplitTask, splits: Sequence[Split]) -> list[Any]:
        """One task for each split."""
        if not splits:
            return []
        with self.shared_folder() as folder, self._job():
            parcels = Parcels.of(folder)
            for number, split in enumerate(splits):
                parcels.put(f"split-{number}", (task, split))
            rows = self._numbers(len(splits)).mapInArrow(MapWorker(parcels), FOUND)
            return self._found(rows, len(splits))

    def count_frame(self, frame: DataFrame) -> int:
        """Rows of a data frame, as Spark counts them."""
        with self._job():
            return int(frame.count())

    def map_frame(self, task: SplitTask, frame: DataFrame, names: Sequence[str]) -> list[Any]:
        """One task for each partition of a data frame, on some of its columns or all; those without rows find nothing."""
        from pyspark.sql import functions

        with self.shared_folder() as folder, self._job():
            parcels = Parcels.of(folder)
            parcels.put("task", task)
            read = tuple(names or frame.columns)
            # Under numbers: to Spark a dot in a name would be a part of a column, a backtick the end of the name.
            columns = [
                functions.col("`" + name.replace("`", "``") + "`").alias(f"column{place}")
                for place, name in enumerate(read)
            ]
            rows = _collected(frame.select(columns).mapInArrow(FrameWorker(parcels, read), FOUND))
            return [unpacked(bytes(row.content)) for row in sorted(rows, key=lambda row: row.number)]

    def exchange(
        self,
        splits: Sequence[Split],
        attributes: Sequence[Attribute],
        deal: DealStep,
        meetings: Sequence[Meeting],
    ) -> list[Any]:
        """One task for each split, then one for each pile."""
        from pyspark.sql import functions

        if not splits:
            return LocalRunner().exchange(splits, attributes, deal, meetings)
        with self.shared_folder() as folder, self._job():
            parcels = Parcels.of(folder)
            for number, split in enumerate(splits):
                parcels.put(f"split-{number}", (split, tuple(attributes), deal.for_number(number)))
            rows = self._numbers(len(splits)).mapInArrow(DealWorker(parcels, meetings[0].piles), BLOBS)
            for place, meeting in enumerate(meetings):
                for pile in range(meeting.piles):
                    parcels.put(f"pile-{place}-{pile}", meeting.step.for_number(pile))
                following = meetings[place + 1].piles if place + 1 < len(meetings) else None
                met = rows.repartitionById(meeting.piles, functions.col("pile"))
                worker = MeetingWorker(parcels, place, following)
                rows = met.mapInArrow(worker, FOUND if following is None else BLOBS)
            return self._found(rows, meetings[-1].piles)

    @contextmanager
    def _job(self) -> Iterator[None]:
        """What Spark is asked to do within the block fails in our words, and ends when the block is left early."""
        with in_our_words():
            context = self.session.sparkContext
            tag = f"sfumato-{uuid.uuid4().hex}"
            context.addJobTag(tag)
            try:
                yield
            except BaseException:
                # A signal, or somebody's exception: otherwise tasks would go on, and a process that is ended wait for them.
                with suppress(Exception):
                    context.cancelJobsWithTag(tag)
                raise
            finally:
                with suppress(Exception):
                    context.removeJobTag(tag)

    def _numbers(self, end: int) -> DataFrame:
        """A partition for each number."""
        return self.session.range(0, end, 1, end)

    def _found(self, rows: DataFrame, expected: int) -> list[Any]:
        found: list[Any] = [None] * expected
        answered = 0
        for row in _collected(rows):
            value = unpacked(bytes(row.content))
            if isinstance(value, Refused):
                return [value]
            found[row.number] = value
            answered += 1
        if answered != expected:
            raise SourceError(GIVEN_UP)
        return found


@contextmanager
def in_our_words() -> Iterator[None]:
    """What Spark itself says of a failure may quote what it was about: neither raised nor printed."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    loud = [each for each in map(logging.getLogger, QUOTING_LOGGERS) if not each.disabled]
    for each in loud:
        each.disabled = True
    try:
        with without_origins():
            try:
                yield
            except (PySparkException, Py4JError, ConnectionError):
                raise SourceError(GIVEN_UP) from None
    finally:
        for each in loud:
            each.disabled = False


def _collected(rows: DataFrame) -> list[Any]:
    """All rows of a result."""
    found: list[Any] = rows.collect()
    return found


def _record(number: int, value: Any) -> Any:
    import pyarrow as pa

    columns = [pa.array([number], pa.int32()), pa.array([packed(value)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["number", "content"])


def _blob_record(blob: Blob) -> Any:
    import pyarrow as pa

    numbers = [pa.array([each], pa.int32()) for each in blob[:3]]
    columns = [*numbers, pa.array([blob.content], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["pile", "origin", "part", "content"])


def _opened(parcels: Parcels, name: str) -> Any:
    try:
        return parcels.take(name)
    except OSError:
        raise SourceError(NO_PARCEL) from None


@dataclass(frozen=True, eq=False)
class MapWorker:
    """Runs a task on the splits whose numbers come in."""

    parcels: Parcels

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What was found in each."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _record(number, attempt(partial(self._run, number)))

    def _run(self, number: int) -> Any:
        task, split = _opened(self.parcels, f"split-{number}")
        with self.parcels.at_home():
            return task(split, number)


@dataclass(frozen=True, eq=False)
class FrameWorker:
    """Runs a task on a partition of a data frame, whose columns have their names again."""

    parcels: Parcels
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What was found in it."""
        from pyspark import TaskContext

        from sfumato.data.distributed.splits import MEMORY_OF_TASK
        from sfumato.data.duckdb_engine import DuckDBEngine

        named = (each.rename_columns(list(self.names)) for each in batches)
        first = next(named, None)
        if first is None:
            return
        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        rows = StreamOnce(first, named)

        def run() -> Any:
            with DuckDBEngine(threads=1, memory_limit=MEMORY_OF_TASK) as engine:
                return _opened(self.parcels, "task").on(engine, rows, number)

        yield _record(number, attempt(run))
        # What a task leaves unread would break the pipe that it comes through.
        for _ in named:
            pass


@dataclass(frozen=True, eq=False)
class DealWorker:
    """Deals the rows of the splits whose numbers come in."""

    parcels: Parcels
    piles: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Blobs for the piles."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._blobs(number)
                if number == 0:
                    yield from _markers(self.piles)

    def _blobs(self, number: int) -> Iterator[Any]:
        def blobs() -> Iterator[Blob]:
            split, attributes, deal = _opened(self.parcels, f"split-{number}")
            with self.parcels.at_home():
                yield from deal(batches_of(split, attributes), number)

        yield from _attempted(blobs())


def _attempted(blobs: Iterator[Blob]) -> Iterator[Any]:
    """The blobs as they come; where they break off, one that says why."""
    while True:
        found = attempt(partial(next, blobs, None))
        if isinstance(found, Refused):
            yield _blob_record(Blob(0, REFUSED, 0, packed(found)))
            return
        if found is None:
            return
        yield _blob_record(found)


def _markers(piles: int) -> Iterator[Any]:
    return (_blob_record(Blob(pile, MARKER, 0, b"")) for pile in range(piles))


@dataclass(frozen=True, eq=False)
class MeetingWorker:
    """Does with a pile what its meeting is for."""

    parcels: Parcels
    place: int
    following: int | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Blobs for the next meeting, or what was found."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        pile = context.partitionId()
        blobs = [
            Blob(*row)
            for batch in batches
            for row in zip(*(each.to_pylist() for each in batch.columns), strict=True)
        ]
        refused = next((each for each in blobs if each.origin == REFUSED), None)
        rows = sorted(each for each in blobs if each.origin >= 0)
        if self.following is None:
            yield _record(
                pile, unpacked(refused.content) if refused else attempt(partial(self._meet, pile, rows))
            )
            return
        if refused is not None:
            yield _blob_record(refused)
        else:
            yield from _attempted(self._meet(pile, rows))
        if pile == 0:
            yield from _markers(self.following)

    def _meet(self, pile: int, blobs: Sequence[Blob]) -> Any:
        if any(each.pile != pile for each in blobs):
            raise SourceError(GIVEN_UP)
        return _opened(self.parcels, f"pile-{self.place}-{pile}")(pile, blobs)


# --------------------------------------------------------------------------------------------------
# The engine on Spark: the verbs of splits, and data frames of the session.


class CodedFrame(NamedTuple):
    """Rows of a data frame that were coded, with all that they were coded by."""

    frame: Any
    attributes: tuple[Attribute, ...]
    splits: tuple[Split, ...]


class SparkEngine(SplitEngine):
    """Reads, counts and publishes on Spark.

    Files are read by tasks as this machine would read them. Rows of a data frame may come in another order whenever
    they are asked for: they are coded once, put on disk, encrypted, and read from there.

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

    def close(self) -> None:
        """Remove coded rows; the session stays."""
        self._frames = []
        super().close()

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
