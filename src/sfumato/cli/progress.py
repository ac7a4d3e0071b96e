"""How far long work is, on the stderr of a terminal and nowhere else: phase, share done, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sfumato.watching import watched_by, watcher

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BEFORE_SHOWING = 0.5
"""Work shorter than this is over before anybody could read about it."""


class TerminalWatcher:
    """One line on stderr for the phase that runs; gone when the phase is."""

    def __init__(self) -> None:
        self._phase: str | None = None
        self._since = 0.0
        self._display: Progress | None = None

    def show(self, phase: str, done: float, total: float | None) -> None:
        """Say how far a phase is."""
        if phase != self._phase:
            self.finish()
            self._phase, self._since = phase, time.monotonic()
        if self._display is None and time.monotonic() - self._since >= SECONDS_BEFORE_SHOWING:
            self._display = _display()
            self._display.add_task(phase, total=total)
            self._display.start()
        if self._display is not None:
            self._display.update(self._display.task_ids[0], completed=done, total=total)

    def finish(self) -> None:
        """Take the line away, so that results are not written into it."""
        if self._display is not None:
            self._display.stop()
        self._phase, self._display = None, None


def _display() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    # Redirecting would send results, which belong on stdout, to stderr.
    return Progress(
        *columns,
        console=Console(file=sys.stderr),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


@contextmanager
def shown_on_terminal() -> Iterator[None]:
    """Long work inside the block is shown, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    shown = TerminalWatcher()
    try:
        with watched_by(shown):
            yield
    finally:
        shown.finish()


@contextmanager
def progress_bar(title: str, total: Callable[[], int | None]) -> Iterator[Callable[[int], None]]:
    """Shows how far rows are; give the function it yields the rows done since last time, from any thread.

    Parameters
    ----------
    title
        What runs.
    total
        Rows in all, or None where only counting them would tell; asked for at the first step.
    """
    found = watcher()
    if found is None:
        yield lambda _: None
        return
    rows: list[int | None] = []
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        if not rows:
            rows.append(total())
        done += more
        found.show(title, done, rows[0])

    try:
        yield advance
    finally:
        found.finish()
