"""Running tasks on Spark: one for each split, one for each pile."""

from __future__ import annotations

import logging
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.distributed.exchange import Blob, DealStep, Meeting
from sfumato.data.distributed.parcels import Parcels
from sfumato.data.distributed.running import LocalRunner
from sfumato.data.distributed.spark_session import find_session, is_local, require_privacy
from sfumato.data.distributed.splits import Split
from sfumato.data.distributed.tasks import Refused, SplitTask, attempt, batches_of, packed, unpacked
from sfumato.errors import ParameterError, SourceError, without_origins
from sfumato.values.schema import Attribute
from sfumato.writing import HeldFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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

FOLDERS = "sfumato-job-"


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
        held = HeldFolder(parent.absolute(), prefix=FOLDERS, kind=FOLDERS)
        try:
            yield held.path
        finally:
            held.close()

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

        from sfumato.data.distributed.frames import StreamOnce
        from sfumato.data.distributed.splits import MEMORY_OF_TASK
        from sfumato.data.duckdb import DuckDBEngine

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
