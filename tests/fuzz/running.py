"""Running the command line on spoiled input, in this process, with an eye on time, memory and words."""

from __future__ import annotations

import functools
import os
import resource
import signal
import subprocess
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 20
"""What an input may take of a processor."""

PATIENCE = 10
"""Times that on the clock, which counts the work of others on the machine too: a command that waits for nothing."""

BYTES = 2 * 2**30
"""What it may need, beyond what the process had."""

ALLOWED = {0, 1, 2, 3, 130}
"""Exit codes: done, refused, misused, refuted, interrupted."""

LONGEST_MESSAGE = 2_000
"""Characters that a refusal may have, all its sentences together."""

MARKER = "Quetzalcoatl"
"""Stands in private cells; nobody may be shown it."""


TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks that turn the direction of reading around."""


class TooSlow(BaseException):
    """The time is up; no handler of errors takes it for one."""


@dataclass(frozen=True)
class Trouble:
    """An input that was neither answered nor refused.

    Parameters
    ----------
    number
        Of the input, which its target and the seed make anew.
    what
        Went wrong.
    arguments
        Of the command.
    """

    number: int
    what: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        shown = " ".join(
            each if len(each) < 120 else f"{each[:100]}…({len(each)})" for each in self.arguments
        )
        return f"input {self.number}: {self.what}\n    sfumato {shown!r}"


@contextmanager
def timed() -> Iterator[None]:
    """Raises when the time is up."""

    def stop(*_: object) -> None:
        raise TooSlow

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
        (signal.SIGALRM, signal.ITIMER_REAL, PATIENCE * SECONDS),
    )
    before = [signal.signal(kind, stop) for kind, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (kind, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(kind, handler)


def used() -> int:
    """Bytes that this process, or one it started, has had at most."""
    return (
        max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        * 1024
    )


@dataclass(frozen=True)
class End:
    """How a command ended, and what it said."""

    exit_code: int
    shown: str
    said: str = ""
    escaped: BaseException | None = None


@functools.cache
def command() -> Any:
    """The command line. Building it takes ten times as long as most commands do, so it is built once."""
    from typer.main import get_command

    from sfumato.cli.app import app

    return get_command(app)


def run_here(arguments: tuple[str, ...]) -> End:
    """Run a command in this process."""
    from typer.testing import CliRunner

    code, escaped = 0, None
    with CliRunner().isolation() as (stdout, stderr, _):
        try:
            command().main(args=list(arguments), prog_name="sfumato")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception as error:  # noqa: BLE001 - whatever it is, it got past every handler
            escaped = error
        sys.stdout.flush()
        sys.stderr.flush()
        shown, said = (each.getvalue().decode("utf-8", "replace") for each in (stdout, stderr))
    return End(code, shown + said, said, escaped)


def run_apart(arguments: tuple[str, ...]) -> End:
    """Run a command as a user does, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "from sfumato.cli import main; main()", *arguments],
        capture_output=True,
        timeout=PATIENCE * SECONDS,
        check=False,
    )
    shown, said = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
    return End(done.returncode, shown + said, said)


def trouble_with(
    number: int, arguments: tuple[str, ...], run: Callable[[tuple[str, ...]], End] = run_here
) -> Trouble | None:
    """What went wrong with a command, if anything."""
    before = used()
    try:
        with timed():
            end = run(arguments)
    except (TooSlow, subprocess.TimeoutExpired):
        return Trouble(number, f"took more than {SECONDS} s", arguments)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it got past every handler
        return Trouble(number, f"raised {type(error).__name__}: {error}"[:300], arguments)
    wrong = (
        _wrong_end(end.exit_code, end.escaped, end.shown)
        or _wrong_words(end.shown)
        or _wrong_length(end)
        or (f"needed {(used() - before) >> 20:,} MB" if used() - before > BYTES else None)
    )
    return None if wrong is None else Trouble(number, wrong, arguments)


def _wrong_end(exit_code: int, escaped: BaseException | None, shown: str) -> str | None:
    if escaped is not None:
        return "".join(traceback.format_exception(escaped))[-600:]
    if exit_code not in ALLOWED:
        return f"exit {exit_code}{shown.rsplit('a fault of ours', maxsplit=1)[-1][:160]}"
    # The guard's sentence of last resort: nobody looked at a number before memory was asked for by it.
    return "asked for more memory than there is" if "sfumato: memory ran out" in shown else None


def _wrong_words(shown: str) -> str | None:
    if MARKER in shown:
        return f"shows a cell: {shown[max(shown.index(MARKER) - 100, 0) :][:300]}"
    if "Traceback" in shown or "Warning: " in shown:
        return f"shows what is not for users: {shown[-300:]}"
    left = {letter for letter in shown if unicodedata.category(letter) == "Cc" or letter in TURNING} - {
        "\n",
        "\t",
    }
    return f"commands the terminal by {left!r}" if left else None


def _wrong_length(end: End) -> str | None:
    """What is shown of a result may be long; a refusal may not."""
    longest = max(map(len, end.said.split("sfumato: ")[1:]), default=0)
    return f"says {longest:,} characters: {end.said[:300]}" if longest > LONGEST_MESSAGE else None


def quiet_environment(folder: Path) -> None:
    """What a command finds around it."""
    os.chdir(folder)
    os.environ.update(SFUMATO_LEDGER=str(folder / "ledger.db"), TERM="dumb", COLUMNS="100")
    os.environ.pop("SFUMATO_DEBUG", None)
    # A slip must not take the machine with it.
    resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    sys.setrecursionlimit(1_000)
