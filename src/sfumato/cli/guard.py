"""What becomes of errors: one sentence and an exit code, never a private value."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from sfumato.cli import INTERRUPTED, STOPPED
from sfumato.cli.progress import shown_on_terminal
from sfumato.cli.showing import talk
from sfumato.cli.stopping import asked_to_stop
from sfumato.errors import PromiseRefutedError, SfumatoError

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
            return super().make_context(*arguments, **named)
        except KeyboardInterrupt:
            _stop()

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # typer's own context class
        """Run a verb."""
        try:
            with shown_on_terminal():
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
