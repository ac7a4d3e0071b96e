"""How far long work is, on the stderr of a terminal and nowhere else: phase, share done, time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.values.plain_text import visible
from sfumato.watching import watched_by, watcher

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SECONDS_BEFORE_SHOWING = 0.5
"""Work shorter than this is over before anybody could read about it."""

SECONDS_OF_SILENCE = 1.5
"""After so long without any phase or output it is said that work goes on."""

SECONDS_BETWEEN_LOOKS = 0.25
"""How often it is looked whether something has become long enough to be shown."""

UNNAMED = "Working"
"""The phase of work that says nothing of itself."""


@dataclass
class _Phase:
    """What runs, since when, how far it is, and its line if it has one."""

    name: str
    done: float = 0.0
    total: float | None = None
    since: float = field(default_factory=time.monotonic)
    line: TaskID | None = None


class TerminalWatcher:
    """A line on stderr for each phase that runs, inner ones below outer ones; gone when the phase is.

    Phases are looked at by a thread of its own, because what runs long in one piece tells nothing meanwhile.
    """

    def __init__(self) -> None:
        self._phases: list[_Phase] = []
        self._unnamed = _Phase(UNNAMED)
        self._display: Progress | None = None
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="sfumato-progress", daemon=True)
        self._thread.start()

    def show(self, phase: str, done: float, total: float | None) -> None:
        """Say how far a phase is; those that began inside it are over."""
        with self._lock:
            if phase not in [each.name for each in self._phases]:
                self._phases.append(_Phase(phase))
            while self._phases[-1].name != phase:
                self._take_away(self._phases.pop())
            self._phases[-1].done, self._phases[-1].total = done, total
            self._refresh()

    def finish(self) -> None:
        """Say that the innermost phase is over."""
        with self._lock:
            if self._phases:
                self._take_away(self._phases.pop())
            self._unnamed.since = time.monotonic()
            self._refresh()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Lines are taken away, and none is drawn inside the block: something else is written there."""
        with self._lock:
            for each in (*self._phases, self._unnamed):
                self._take_away(each)
            yield
            self._unnamed.since = time.monotonic()

    def close(self) -> None:
        """Show nothing any more."""
        self._over.set()
        self._thread.join()
        with self.silent():
            self._phases = []

    def _look(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_LOOKS):
            with self._lock:
                self._refresh()

    def _refresh(self) -> None:
        """Give a line to what is long enough, and none to what is over."""
        now = time.monotonic()
        for each in self._phases:
            if each.line is not None or now - each.since >= SECONDS_BEFORE_SHOWING:
                self._take_away(self._unnamed)
                self._draw(each)
        if not self._phases and now - self._unnamed.since >= SECONDS_OF_SILENCE:
            self._draw(self._unnamed)

    def _draw(self, phase: _Phase) -> None:
        if self._display is None:
            self._display = _display()
            self._display.start()
        if phase.line is None:
            phase.line = self._display.add_task(visible(phase.name), total=phase.total)
        self._display.update(phase.line, completed=phase.done, total=phase.total)

    def _take_away(self, phase: _Phase) -> None:
        if self._display is not None and phase.line is not None:
            if len(self._display.task_ids) == 1:
                self._stop()
            else:
                self._display.remove_task(phase.line)
        phase.line = None

    def _stop(self) -> None:
        if self._display is not None:
            self._display.stop()
        self._display = None


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
        # A bracket in a file's name is no markup.
        TextColumn("{task.description}", markup=False),
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
        shown.close()


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
        if rows:
            found.finish()
