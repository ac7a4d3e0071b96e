"""A DuckDB connection with interruptible queries and encrypted temporary files."""

from __future__ import annotations

import atexit
import functools
import os
import queue
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sfumato.atomic_files import make_files_private, spill_folder
from sfumato.errors import ParameterError
from sfumato.progress import watcher

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# One DuckDB for its owner's life: opened at first use, shared by cursors, closed at the end.


Settings = dict[str, str | bool | int | float | list[str]]

ENCIPHERED: Settings = {
    "temp_file_encryption": True,
    # Without an extension that would have to be downloaded, DuckDB's own cipher is all there is. It is called unsafe because
    # its keys come from a generator that is no cryptographic one; docs/decisions/0029 says what that leaves.
    "force_mbedtls_unsafe": True,
}
"""What exceeds memory goes to disk enciphered, with a key that is nowhere but in memory."""


CAREFUL: Settings = {
    # compressed_materialization packs values into as few bytes as the file's statistics say. Where they are wrong, other values
    # come out, or the process ends by a segmentation fault. statistics_propagation computes expressions from the statistics:
    # these leave NaN out, so that a column of 1.0 and NaN would be read as 1.0 throughout.
    "disabled_optimizers": "compressed_materialization,statistics_propagation",
    # A file may be replaced between two questions by one with the same time.
    "enable_external_file_cache": False,
}
"""What a file says of itself is not taken for true."""


SMALL: Settings = {**CAREFUL, "threads": 1}
"""Of the one that is asked what files say of themselves."""


_OPENING = threading.Lock()


def small_cursor() -> DuckDBPyConnection:
    """A cursor of a DuckDB that lives as long as the process, for questions whose answer is a few rows; whoever asks closes it.

    Opening a DuckDB takes thirty times as long as reading the foot of a file. Nothing asked here may exceed memory: there is
    no place to spill to.
    """
    with _OPENING:
        return _small(os.getpid()).cursor()


@functools.cache
def _small(process: int) -> DuckDBPyConnection:
    """Of this process; a forked one opens its own, since DuckDB's threads do not survive a fork."""
    import duckdb

    opened = duckdb.connect(config=SMALL)
    # Before DuckDB's own module goes; the parent process closes its own.
    atexit.register(lambda: opened.close() if os.getpid() == process else None)
    return opened


class KeptConnection:
    """An in-memory DuckDB that opens itself when a cursor is asked for.

    Opening takes far longer than a small query. Cursors may be used in several threads, one each. A copy
    sent to another process opens its own; a forked process does too, since DuckDB's threads do not
    survive a fork.

    Parameters
    ----------
    settings
        DuckDB's own, by name.
    temporary_folder
        Where a folder for what does not fit in memory is made; the system's place unless said otherwise.
    """

    def __init__(self, settings: Mapping[str, str], temporary_folder: Path | None) -> None:
        self.settings = dict(settings)
        self.temporary_folder = temporary_folder
        self._opened: _Opened | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[KeptConnection], tuple[dict[str, str], Path | None]]:
        return KeptConnection, (self.settings, self.temporary_folder)

    def cursor(self) -> DuckDBPyConnection:
        """A new cursor; whoever asks closes it."""
        with self._lock:
            cursor = self._open().connection.cursor()
        # How far a query is can be asked for; DuckDB's own bar would print into the data result on stdout.
        # Cursors do not inherit the settings.
        cursor.execute("set enable_progress_bar = true")
        cursor.execute("set enable_progress_bar_print = false")
        return cursor

    @property
    def session(self) -> object:
        """What is open now, and with it tables; None where nothing is."""
        opened = self._opened
        return opened if opened is not None and opened.process == os.getpid() else None

    def declare(self, statements: Mapping[str, str]) -> None:
        """Run statements that declare something for all cursors, by its name, each once."""
        if not statements:
            return
        with self._lock:
            opened = self._open()
            for name, statement in statements.items():
                if name not in opened.declared:
                    opened.connection.execute(statement)
                    opened.declared.add(name)

    def _open(self) -> _Opened:
        if self._opened is None or self._opened.process != os.getpid():
            self._opened = _Opened(self.settings, self.temporary_folder)
            # Also at the interpreter's exit, before DuckDB's own module goes.
            weakref.finalize(self, self._opened.close)
        return self._opened

    def close(self) -> None:
        """Give everything back; the next cursor opens anew."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None


class _Opened:
    """What must be given back: the connection and the folder it spills to."""

    def __init__(self, settings: Mapping[str, str], temporary_folder: Path | None) -> None:
        import duckdb

        self.process = os.getpid()
        parent = Path(tempfile.gettempdir()) if temporary_folder is None else temporary_folder
        # Others may neither look into the folder nor, enciphered as they are, make anything of its files.
        try:
            self.spill = spill_folder(parent)
        except OSError:
            raise ParameterError(
                f"no folder for temporary files can be made in {str(parent)!r}. Name another by --temp-dir, one that exists, may "
                "be written and has room.",
                parameter="temporary_folder",
            ) from None
        make_files_private(self.spill.path)
        chosen: Settings = {**settings, **CAREFUL, **ENCIPHERED, "temp_directory": str(self.spill.path)}
        self.connection: DuckDBPyConnection = duckdb.connect(config=chosen)
        self.declared: set[str] = set()
        self._is_closed = False

    def close(self) -> None:
        if self.process != os.getpid() or self._is_closed:
            # The parent process closes its own.
            return
        self._is_closed = True
        self.connection.close()
        self.spill.close()


# --------------------------------------------------------------------------------------------------
# Queries that Ctrl-C interrupts at once, with progress.
#
# Only the main thread receives signals. It waits in Python while a thread of the cursor runs the query; queries of other
# threads run where they are called.


Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.2
"""How often the progress of a query is looked at."""

SECONDS_BETWEEN_INTERRUPTS = 0.05
"""How often a running query is interrupted until it ends."""


class _Job:
    """A function that a thread runs once, unless it was withdrawn before it began."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._claim = threading.Lock()
        self.done = threading.Event()
        self.outcome: Any = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Run the function, and keep its result or exception."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            self.outcome = self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised again in the waiting thread
            self.failure = error
        finally:
            self.done.set()

    def withdraw(self) -> bool:
        """Whether the function has not begun; then it never will."""
        return self._claim.acquire(blocking=False)


def _run_jobs(jobs: queue.SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job.run()
        # Its result may be large.
        del job


def _end_thread(jobs: queue.SimpleQueue[_Job | None], thread: threading.Thread) -> None:
    jobs.put(None)
    # A thread whose start was interrupted cannot be joined. It ends by itself.
    if thread is not threading.current_thread() and thread.is_alive():
        thread.join()


class PatientCursor:
    """A DuckDB cursor whose queries can be interrupted and report progress; a context manager, which ends its thread.

    Parameters
    ----------
    cursor
        DuckDB's own.
    phase
        Name of the phase in progress reports.
    """

    def __init__(self, cursor: DuckDBPyConnection, phase: str) -> None:
        self._cursor = cursor
        self._phase = phase
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._end: weakref.finalize[..., PatientCursor] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._end is not None:
            self._end()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def execute(self, statement: str) -> PatientCursor:
        """Run a statement; its result is fetched from the cursor."""
        self._wait(lambda: self._cursor.execute(statement))
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row of the result."""
        return self._wait(self._cursor.fetchone)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows of the result."""
        return self._wait(self._cursor.fetchall)

    def sql(self, statement: str) -> PatientRelation:
        """A query that runs when its result is asked for."""
        return PatientRelation(self._cursor.sql(statement), self._wait)

    def _wait(self, work: Callable[[], Result]) -> Result:
        if threading.current_thread() is not threading.main_thread():
            return work()
        job = _Job(work)
        found, is_shown = watcher(), False
        try:
            self._submit(job)
            while not job.done.wait(SECONDS_BETWEEN_LOOKS):
                if found is not None:
                    is_shown = True
                    percent = self._cursor.query_progress()
                    found.show(self._phase, max(percent, 0.0), 100.0 if percent >= 0 else None)
        except BaseException:
            # Ctrl-C, or the signal to end, at any line above: the query may not have been submitted, or not have begun.
            if not job.withdraw():
                self._interrupt(job)
            raise
        finally:
            # A phase of somebody else, of which this query is one of many steps, goes on.
            if found is not None and is_shown:
                found.finish()
        if job.failure is not None:
            raise job.failure
        result: Result = job.outcome
        return result

    def _submit(self, job: _Job) -> None:
        """Hand a job to the cursor's thread."""
        # Not a thread for each batch: Python runs a callback when a thread object is deleted, and ignores a
        # KeyboardInterrupt raised in it.
        if self._end is None or not self._end.alive:
            self._jobs = queue.SimpleQueue()
            thread = threading.Thread(target=_run_jobs, args=(self._jobs,), name="sfumato-query", daemon=True)
            # Also at the interpreter's exit, after a scan that was read in part.
            self._end = weakref.finalize(self, _end_thread, self._jobs, thread)
            thread.start()
        self._jobs.put(job)

    def _interrupt(self, job: _Job) -> None:
        """End a running query."""
        # Repeated: DuckDB forgets an interrupt that comes just before a query begins.
        self._cursor.interrupt()
        while not job.done.wait(SECONDS_BETWEEN_INTERRUPTS):
            self._cursor.interrupt()


class PatientRelation:
    """A query whose result can be interrupted and watched."""

    def __init__(self, relation: Any, wait: Callable[[Callable[[], Any]], Any]) -> None:
        self._relation = relation
        self._wait = wait

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows of the result."""
        return list(self._wait(self._relation.fetchall))

    def fetch_numpy(self) -> dict[str, Any]:
        """The whole result, an array for each column; masked where it holds NULL."""
        found: dict[str, Any] = self._wait(self._relation.fetchnumpy)
        return found

    def to_arrow_reader(self, rows_per_batch: int) -> PatientReader:
        """The result in batches."""
        return PatientReader(self._wait(lambda: self._relation.to_arrow_reader(rows_per_batch)), self._wait)


class PatientReader:
    """Arrow batches, each of which can be interrupted and watched."""

    def __init__(self, reader: Any, wait: Callable[[Callable[[], Any]], Any]) -> None:
        self._reader = reader
        self._wait = wait

    def read_all(self) -> Any:
        """All batches as one table."""
        return self._wait(self._reader.read_all)

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self._reader)
        while (batch := self._wait(lambda: next(batches, None))) is not None:
            yield batch
