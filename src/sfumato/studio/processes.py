"""Processes that work for the server: orders and answers are lines of JSON, and closing their input is cancel."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

Told = Callable[[dict[str, Any]], None]

LONGEST_LINE = 2**28
"""Characters of an answer; tables of a release are read whole."""

SECONDS_TO_END = 20.0
"""What a process may take to remove what is half written, before it is killed."""

COMMAND_LINE = "sfumato.cli.orders"
"""The module that runs verbs of the command line. It stands above this layer, so it is started, never imported."""

PLANNER = "sfumato.studio.planner"


class ProcessEndedError(Exception):
    """The process ended before it answered: it was cancelled or killed."""


class Worker:
    """One process, started when it is first needed and kept warm.

    Parameters
    ----------
    module
        What runs in it.
    folder
        Where it runs, so that paths of orders are those a person would type there.
    """

    def __init__(self, module: str, folder: Path) -> None:
        self.module = module
        self.folder = folder
        self._process: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, tuple[asyncio.Future[dict[str, Any]], Told]] = {}
        self._number = 0
        self._starting = asyncio.Lock()
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """Some order is not answered yet."""
        return bool(self._waiting)

    async def carry_out(self, order: dict[str, Any], tell: Told = lambda _: None) -> dict[str, Any]:
        """The answer to an order; meanwhile progress is told.

        Raises
        ------
        ProcessEndedError
            When the process ended first, or could not be started.
        """
        async with self._starting:
            if not self._is_closed and (self._process is None or self._process.returncode is not None):
                try:
                    await self._start()
                except OSError:
                    # The folder is gone, or the machine has no room for a process.
                    raise ProcessEndedError from None
            process = self._process
            if self._is_closed and process is not None:
                # Somebody closed it while it was being started.
                await self._finish(process)
        if self._is_closed or process is None or process.stdin is None:
            raise ProcessEndedError
        self._number += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = answer, tell
        with suppress(ConnectionError):
            process.stdin.write(json.dumps({"number": self._number, **order}).encode() + b"\n")
            await process.stdin.drain()
        return await answer

    async def close(self) -> None:
        """Cancel, for good: the process removes what is half written and ends; it is killed if it does not."""
        self._is_closed = True
        if self._process is not None:
            await self._finish(self._process)

    async def _finish(self, process: Process) -> None:
        self._process = None
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), SECONDS_TO_END)
        except TimeoutError:
            _kill_group(process)
            await process.wait()
        # Workers of its own write nothing half, and need not be waited for.
        _kill_group(process)
        if self._reader is not None:
            # Its last line may be in the pipe still: what it says was done is done.
            await asyncio.gather(self._reader, return_exceptions=True)
        self._end()

    def kill(self) -> None:
        """End it at once; for a process that writes nothing."""
        process, self._process = self._process, None
        if process is not None:
            _kill_group(process)
        self._end()

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            self.module,
            stdin=PIPE,
            stdout=PIPE,
            # What a verb says comes in its answer; what a library writes besides may quote cells, and nobody would read it.
            stderr=DEVNULL,
            limit=LONGEST_LINE,
            cwd=self.folder,
            # Many small products of matrices: threads that wait for each other take longer than one alone.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"} if self.module == PLANNER else None,
            # Ctrl-C in the terminal is the server's to hear; it closes the input of every process.
            start_new_session=True,
        )
        self._reader = asyncio.create_task(self._read(self._process))

    async def _read(self, process: Process) -> None:
        if process.stdout is None:
            return
        try:
            while line := await process.stdout.readline():
                self._hear(json.loads(line))
        except ValueError:
            # A line that is longer than any may be: nothing after it can be told apart.
            _kill_group(process)
        await process.wait()
        if self._process is process:
            self._process = None
            self._end()

    def _hear(self, told: dict[str, Any]) -> None:
        answer, tell = self._waiting.get(told["number"], (None, None))
        if answer is None or tell is None:
            return
        if "exit" in told:
            del self._waiting[told["number"]]
            if not answer.done():
                answer.set_result(told)
        else:
            tell(told)

    def _end(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for answer, _ in waiting.values():
            if not answer.done():
                answer.set_exception(ProcessEndedError())


def _kill_group(process: Process) -> None:
    """End a process and whatever it started, which is a group of its own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
