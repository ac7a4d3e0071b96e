"""Processes that work for the server, orders and answers as lines of JSON; jobs and planners run in them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

# --------------------------------------------------------------------------------------------------
# Lines of JSON between a server and the processes that work for it.


def own_output() -> TextIO:
    """Where this process writes its lines; whatever a library prints to stdout goes to stderr from now on."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def write_line(out: TextIO, content: dict[str, Any]) -> None:
    """One line, at once; nobody may be there any more to read it."""
    with suppress(BrokenPipeError):
        out.write(json.dumps(content) + "\n")
        out.flush()


# --------------------------------------------------------------------------------------------------
# Processes that work for the server: orders and answers are lines of JSON, and closing their input is cancel.


Told = Callable[[dict[str, Any]], None]

LONGEST_LINE = 2**28
"""Characters of an answer; tables of a release are read whole."""

SECONDS_TO_END = 20.0
"""What a process may take to remove what is half written, before it is killed."""

COMMAND_LINE = "sfumato.cli.worker"
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
            # Whatever it writes into the project folder is for its owner alone.
            umask=0o077,
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


# --------------------------------------------------------------------------------------------------
# Verbs of the command line, run for a page: quick ones in a warm process, the long one in a process of its
# own.


DONE, REFUTED, FAULT, INTERRUPTED = 0, 3, 70, 130
"""Exit codes of the command line that mean a result, a result that refutes a promise, a fault of ours, and a stop."""

NO_ANSWER = "The process that worked on this ended before it answered. Try again."


@dataclass(frozen=True)
class Outcome:
    """What a verb came to.

    Parameters
    ----------
    exit
        Its exit code.
    result, said
        What it wrote to stdout and to stderr.
    """

    exit: int
    result: str = ""
    said: str = ""

    @property
    def has_result(self) -> bool:
        """It was carried out; a refuted promise is a result too."""
        return self.exit in (DONE, REFUTED)

    @property
    def data(self) -> Any:
        """The result of a verb that printed JSON."""
        return json.loads(self.result)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it said, line by line, as a page shows it."""
        lines = (line.strip().removeprefix("sfumato: ") for line in self.said.splitlines())
        return tuple(line for line in lines if line and set(line) - set("╭─╮│╰╯ "))


@dataclass
class Job:
    """Long work that somebody started.

    Parameters
    ----------
    title
        What is done, for people.
    arguments
        Of the command line.
    page
        Where its result is shown.
    rows
        How many there are, for verbs that tell rows done and not how many there will be.
    makes
        What is there when it is done and not before, seen from the project folder; empty where that is something else.
    """

    title: str
    arguments: tuple[str, ...]
    page: str
    rows: int | None = None
    makes: str = ""
    number: int = 0
    is_stopping: bool = False
    left: str = ""
    state: Literal["running", "done", "refused", "cancelled"] = "running"
    phase: str = "Starting"
    done: float = 0
    total: float | None = None
    outcome: Outcome = field(default_factory=lambda: Outcome(DONE))

    @property
    def share(self) -> float | None:
        """How much is done, between 0 and 1, when known."""
        total = self.total or self.rows
        return None if not total else min(self.done / total, 1.0)

    def hear(self, told: dict[str, Any]) -> None:
        """Take over what the process says of its progress."""
        self.phase, self.done, self.total = told["phase"], told["done"], told["total"]


class Jobs:
    """The one long piece of work at a time; it belongs to the server, so every tab sees the same.

    Parameters
    ----------
    folder
        Where verbs run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.job: Job | None = None
        self._worker: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._started = 0

    @property
    def is_running(self) -> bool:
        """Something is under way."""
        return self.job is not None and self.job.state == "running"

    def start(self, job: Job, finish: Callable[[Outcome], None]) -> bool:
        """Begin, unless something is under way: there is no waiting between the look and the start.

        Parameters
        ----------
        job
            What to do.
        finish
            Told the outcome, when there is a result.
        """
        if self.is_running:
            return False
        self._started += 1
        job.number = self._started
        if (self.folder / job.makes).exists():
            # What is there already is nothing that this work would leave.
            job.makes = ""
        self.job = job
        self._worker = Worker(COMMAND_LINE, self.folder)
        self._task = asyncio.get_running_loop().create_task(self._run(job, self._worker, finish))
        return True

    async def _run(self, job: Job, worker: Worker, finish: Callable[[Outcome], None]) -> None:
        try:
            told = await worker.carry_out({"arguments": job.arguments}, job.hear)
            outcome = Outcome(told["exit"], told["result"], told["said"])
        except ProcessEndedError:
            outcome = Outcome(INTERRUPTED, said=NO_ANSWER)
        if outcome.has_result:
            try:
                finish(outcome)
            except Exception as error:  # noqa: BLE001 - whatever it is, the page must not wait for ever
                outcome = Outcome(
                    FAULT, said=f"A fault of ours ({type(error).__name__}): the result could not be kept."
                )
        job.outcome = outcome
        await worker.close()
        if outcome.has_result:
            # Also where somebody wanted to stop it: that came too late, and what was made is there.
            job.state = "done"
        elif job.is_stopping and outcome.exit == INTERRUPTED:
            job.left = job.makes if job.makes and (self.folder / job.makes).exists() else ""
            job.state = "cancelled"
        else:
            job.state = "refused"

    async def cancel(self, number: int) -> None:
        """Stop the work of this number; nothing of it is left behind, unless it was done before it could be stopped."""
        job, worker, task = self.job, self._worker, self._task
        if job is None or worker is None or task is None or job.state != "running" or job.number != number:
            return
        job.is_stopping = True
        await worker.close()
        await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        """Stop everything, for good."""
        if self.job is not None:
            await self.cancel(self.job.number)
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)


# --------------------------------------------------------------------------------------------------
# Two processes behind each planner: one that says promises at once, one that computes what takes longer.


PATIENCE = 1.0
"""Seconds after which a plan that somebody has asked past is given up."""


class Planner:
    """Plans and counts in processes that stay warm.

    Parameters
    ----------
    folder
        Where they run.
    """

    def __init__(self, folder: Path) -> None:
        self._quick = Worker(PLANNER, folder)
        self._thorough = Worker(PLANNER, folder)
        self._since = 0.0

    async def promise(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """What a design promises; never waits behind a computation."""
        return await _ask(self._quick, {**order, "do": "promise"})

    async def ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """An answer, in its turn; asked for again where somebody's newer plan ended the process."""
        told = await _ask(self._thorough, order)
        return await _ask(self._thorough, order) if told.get("said") == NO_ANSWER else told

    async def newest(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """An answer that matters only as long as nobody asks again: what takes long is given up for the next one."""
        if self._thorough.is_busy and time.monotonic() - self._since > PATIENCE:
            self._thorough.kill()
        if not self._thorough.is_busy:
            self._since = time.monotonic()
        return await _ask(self._thorough, order)

    async def close(self) -> None:
        """End both processes."""
        await asyncio.gather(self._quick.close(), self._thorough.close())


async def _ask(worker: Worker, order: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return await worker.carry_out(dict(order))
    except ProcessEndedError:
        return {"exit": 1, "said": NO_ANSWER}
