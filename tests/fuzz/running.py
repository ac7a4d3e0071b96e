"""Running the command line on spoiled input, in this process, with an eye on time, memory and words."""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS = 20
"""What an input may take."""

BYTES = 2 * 2**30
"""What it may need, beyond what the process had."""

ALLOWED = {0, 1, 2, 3, 130}
"""Exit codes: done, refused, misused, refuted, interrupted."""

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

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def used() -> int:
    """Bytes that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def trouble_with(number: int, arguments: tuple[str, ...]) -> Trouble | None:
    """What went wrong with a command, if anything."""
    from typer.testing import CliRunner

    from sfumato.cli.application import app

    before = used()
    try:
        with timed():
            result = CliRunner().invoke(app, list(arguments), prog_name="sfumato")
    except TooSlow:
        return Trouble(number, f"took more than {SECONDS} s", arguments)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it got past every handler
        return Trouble(number, f"raised {type(error).__name__}: {error}"[:300], arguments)
    escaped = None if isinstance(result.exception, SystemExit) else result.exception
    wrong = (
        _wrong_end(result.exit_code, escaped, result.stdout + result.stderr)
        or _wrong_words(result.stdout + result.stderr)
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


def quiet_environment(folder: Path) -> None:
    """What a command finds around it."""
    os.chdir(folder)
    os.environ.update(SFUMATO_LEDGER=str(folder / "ledger.db"), TERM="dumb", COLUMNS="100")
    os.environ.pop("SFUMATO_DEBUG", None)
    # A slip must not take the machine with it.
    resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    sys.setrecursionlimit(1_000)
