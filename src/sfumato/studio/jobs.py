"""Verbs of the command line, run for a page: quick ones in a warm process, the long one in a process of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sfumato.studio.processes import COMMAND_LINE, ProcessEndedError, Worker

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
