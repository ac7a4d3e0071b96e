"""Ctrl-C, remembered: libraries that are being loaded make other errors of it, which are no faults of anybody's."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

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

    Only in the main thread, which alone can listen, and only where nobody else listens or ignores it.
    """
    _asked.clear()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
