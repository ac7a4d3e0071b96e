"""The command line: each verb parses, calls one function, and shows its result.

Results go to stdout, talk and progress to stderr. Exit codes: 0 done, 1 refused (nothing written),
2 misused, 3 a promise was refuted, 130 stopped by Ctrl-C, 70 a fault of ours.
"""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

from sfumato.cli.stopping import asked_to_stop, remembering

STOPPED = "Interrupted."
"""What is said when Ctrl-C ends a verb."""

INTERRUPTED = 130
"""The exit code then, as shells count processes that end by a signal: 128 plus its number."""


def main() -> None:
    """Run the command line; the entry point of the ``sfumato`` command."""
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
    from sfumato.cli.application import app
    from sfumato.writing import ended_by_exceptions

    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that cannot show a category's letters must not end a finished computation.
        sys.stdout.reconfigure(errors="backslashreplace")
    # By default the process would end on the spot, and leave what is half written behind.
    with ended_by_exceptions():
        app(prog_name="sfumato")
