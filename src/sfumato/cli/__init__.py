"""The command line: each verb parses, calls one function, and shows its result.

Results go to stdout, messages and progress to stderr. Exit codes: 0 done, 1 refused (nothing written),
2 misused, 3 a guarantee was refuted, 130 stopped by Ctrl-C, 70 an internal error.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

# --------------------------------------------------------------------------------------------------
# Ctrl-C, remembered: libraries that are being loaded make other errors of it, which are no faults of
# anybody's.


_asked = threading.Event()


def asked_to_stop() -> bool:
    """Whether Ctrl-C was pressed since the command line began to run."""
    return _asked.is_set()


def _stop(_number: int, _frame: object) -> NoReturn:
    _asked.set()
    raise KeyboardInterrupt


@contextmanager
def remembering() -> Iterator[None]:
    """Inside the block Ctrl-C raises as ever, and is remembered.

    Only in the main thread, which alone can listen, and only where no program of Python's listens. Shells start what
    runs in the background with SIGINT ignored: a verb that was sent one all the same, or cancelled in the studio, ends.
    """
    _asked.clear()
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not is_main or before not in (signal.default_int_handler, signal.SIG_IGN):
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# --------------------------------------------------------------------------------------------------
# The command line: each verb parses, calls one function, and shows its result.
#
# Results go to stdout, talk and progress to stderr. Exit codes: 0 done, 1 refused (nothing written),
# 2 misused, 3 a promise was refuted, 130 stopped by Ctrl-C, 70 a fault of ours.


STOPPED = "Interrupted."
"""What is said when Ctrl-C ends a verb."""

INTERRUPTED = 130
"""The exit code then, as shells count processes that end by a signal: 128 plus its number."""


def main() -> None:
    """Run the command line and leave the process; the entry point of the ``sfumato`` command."""
    try:
        run()
    except SystemExit as ending:
        _leave(ending)
        raise


def _leave(ending: SystemExit) -> None:
    """End the process at once, where nothing is left to be done.

    Taking every object apart, only for the system to take their memory back, is a sixth of the time of a small verb. What
    asked to be told of the end is told of it. Where other threads still run the interpreter waits for them in its own way.
    """
    if threading.active_count() > 1 or not isinstance(ending.code, int | None):
        return
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way to call them early
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit(ending.code or 0)


def run() -> None:
    """Run the command line; ends by :class:`SystemExit` with the exit code."""
    try:
        with remembering():
            _run()
    except KeyboardInterrupt:
        # Before or after the verb itself: while modules are loaded, or results are flushed.
        _say_stopped()
    except Exception:
        if not asked_to_stop():
            raise
        _say_stopped()


def _say_stopped() -> NoReturn:
    sys.stderr.write(f"{STOPPED}\n")
    raise SystemExit(INTERRUPTED) from None


def _run() -> None:
    # Loading modules makes many objects that all stay; looking through them again and again for garbage
    # is a tenth of the time of a small verb.
    gc.set_threshold(100_000, 50, 50)
    from sfumato.atomic_files import ended_by_exceptions
    from sfumato.cli.app import app

    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that cannot show a category's letters must not end a finished computation.
        sys.stdout.reconfigure(errors="backslashreplace")
    # By default the process would end on the spot, and leave what is half written behind.
    with ended_by_exceptions():
        app(prog_name="sfumato")
