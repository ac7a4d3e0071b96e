"""Waiting for DuckDB so that Ctrl-C stops it at once and whoever watches sees how far it is.

A query runs in a thread of its own while the main thread, which alone receives signals, waits in Python. In other threads
it just runs: the main thread stops those.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.watching import watcher

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.2
"""How often the progress of a query is looked at."""


class PatientCursor:
    """A DuckDB cursor whose queries can be interrupted and watched.

    Parameters
    ----------
    cursor
        DuckDB's own.
    phase
        What a watcher is told that it does.
    """

    def __init__(self, cursor: DuckDBPyConnection, phase: str) -> None:
        self._cursor = cursor
        self._phase = phase

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
        done = threading.Event()
        outcome: list[Result] = []
        failure: list[BaseException] = []

        def run() -> None:
            try:
                outcome.append(work())
            except BaseException as error:  # noqa: BLE001 - it is raised again in the waiting thread
                failure.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=run, name="sfumato-query", daemon=True)
        thread.start()
        found, is_shown = watcher(), False
        try:
            while not done.wait(SECONDS_BETWEEN_LOOKS):
                if found is not None:
                    is_shown = True
                    percent = self._cursor.query_progress()
                    found.show(self._phase, max(percent, 0.0), 100.0 if percent >= 0 else None)
        except BaseException:
            # Ctrl-C, or the signal to end: the query must not go on behind the back of whoever stopped it.
            self._cursor.interrupt()
            thread.join()
            raise
        finally:
            # A phase of somebody else, of which this query is one of many steps, goes on.
            if found is not None and is_shown:
                found.finish()
        thread.join()
        if failure:
            raise failure[0]
        return outcome[0]


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
