"""Results on stdout; progress, messages and errors on stderr; exit codes."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import typer
from typer.core import TyperGroup

from sfumato.cli import INTERRUPTED, STOPPED, asked_to_stop
from sfumato.errors import PromiseRefutedError, SfumatoError, readable
from sfumato.progress import silence, watched_by, watcher
from sfumato.text import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# --------------------------------------------------------------------------------------------------
# Results on stdout, talk on stderr.


class Result(Protocol):
    """Anything with a text for people and plain data for programs."""

    def summary(self) -> str:
        """Text for people."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""


def show_result(result: Result, *, as_json: bool) -> None:
    """Print a result."""
    if as_json:
        show_json(result.to_dict())
    else:
        tell(result.summary())


def show_json(content: Any) -> None:
    """Print plain data as JSON."""
    # ASCII, so that the text is valid JSON in whatever encoding stdout has.
    tell(json.dumps(_without_nan(content), indent=2, allow_nan=False))


def tell(text: str) -> None:
    """Print text on stdout."""
    with silence():
        typer.echo(visible(text))


def ask_password(question: str) -> str:
    """Ask for what must not be seen."""
    with silence():
        return str(typer.prompt(question, hide_input=True))


def _without_nan(content: Any) -> Any:
    """JSON has no word for infinite or undefined numbers; null is the nearest."""
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def talk(sentence: str) -> None:
    """Say something on stderr."""
    with silence():
        typer.echo(readable(visible(sentence)), err=True)


def warn(sentence: str) -> None:
    """Say something on stderr that must not be overlooked."""
    with silence():
        typer.secho(f"WARNING: {readable(visible(sentence))}", err=True, bold=True, fg="red")


# --------------------------------------------------------------------------------------------------
# How far long work is, on the stderr of a terminal and nowhere else: phase, share done, time left.


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


# --------------------------------------------------------------------------------------------------
# What becomes of errors: one sentence and an exit code, never a private value.


REFUSED = 1
"""Bad data or parameters; nothing was written."""

REFUTED = 3
"""A promise was refuted."""

FAULT = 70
"""Our own mistake (EX_SOFTWARE of sysexits)."""

BROKEN_PIPE = 141
"""As shells count processes that end by a signal: 128 plus its number."""

DEBUG_VARIABLE = "SFUMATO_DEBUG"

_PACKAGE = Path(__file__).parent.parent


class GuardedGroup(TyperGroup):
    """A group of verbs whose errors all end in a sentence on stderr and a stated exit code."""

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        """Parse what was typed; typer itself would be stopped without a word."""
        try:
            with _shortly():
                return super().make_context(*arguments, **named)
        except KeyboardInterrupt:
            _stop()

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # typer's own context class
        """Run a verb."""
        try:
            with shown_on_terminal(), _shortly():
                result = super().invoke(ctx)
            # Here and not at exit, where a reader that has gone away could no longer be handled.
            sys.stdout.flush()
        except (typer.Exit, typer.Abort, typer.TyperException):
            raise
        except PromiseRefutedError as error:
            _refuse(str(error), code=REFUTED)
        except SfumatoError as error:
            _refuse(str(error))
        except BrokenPipeError:
            _leave_quietly()
        except OSError as error:
            _refuse(_about_files(error))
        except MemoryError:
            _refuse("memory ran out. Ask for less at once, or give the process more memory.")
        except KeyboardInterrupt:
            _stop()
        except Exception as error:  # noqa: BLE001 - the top: whatever is not foreseen is a fault of ours
            _admit(error, with_traceback=bool(ctx.params.get("debug")) or _debugging())
        else:
            return result
        raise AssertionError  # every handler above leaves by an exception


@contextmanager
def _shortly() -> Iterator[None]:
    """Typer repeats what was typed, however long."""
    try:
        yield
    except typer.TyperException as error:
        error.message = readable(error.message)
        raise


def _stop() -> NoReturn:
    talk(STOPPED)
    raise typer.Exit(INTERRUPTED) from None


def _refuse(sentence: str, *, code: int = REFUSED) -> None:
    # Whatever it was made into on its way here, Ctrl-C came first.
    if asked_to_stop():
        _stop()
    talk(f"sfumato: {sentence}")
    raise typer.Exit(code) from None


def _about_files(error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    where = f" {str(error.filename)!r}" if error.filename else ""
    return f"the system refused to read or write{where}: {reason}. Check that it exists, may be used, and has room."


def _leave_quietly() -> None:
    """End as other tools do when the reader of a pipe has gone."""
    # What is still buffered would fail again when the interpreter closes stdout.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    raise typer.Exit(BROKEN_PIPE) from None


def _admit(error: Exception, *, with_traceback: bool) -> None:
    """Say that it is our fault and where, without the error's text: that may quote private cells."""
    if asked_to_stop():
        _stop()
    if with_traceback:
        traceback.print_exception(error)
    talk(
        f"sfumato: a fault of ours ({type(error).__name__} {_place(error)}), not of your input. "
        "Please report it. Its message is not shown because it may quote your data; "
        f"{DEBUG_VARIABLE}=1 or --debug shows it with the traceback."
    )
    raise typer.Exit(FAULT) from None


def _place(error: Exception) -> str:
    """The innermost line of our own code on the way to the error."""
    places = [
        f"at sfumato/{Path(frame.filename).relative_to(_PACKAGE)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_PACKAGE)
    ]
    return places[-1] if places else "outside sfumato"


def _debugging() -> bool:
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")
