"""The worker protocol: verbs run for another program, a line of JSON for each order and event.

``python -m sfumato.cli.worker`` reads ``{"number": 1, "arguments": ["show", "release", "--json"]}`` from stdin, carries
out one order after the other, and writes ``{"number", "phase", "done", "total"}`` while it works, then ``{"number",
"exit", "result", "said"}``: what the verb would have written to stdout and stderr. The process stays warm between
orders. Closing its stdin is Ctrl-C: what is half written is removed, and the process ends.
"""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO

from sfumato.atomic_files import ended_by_exceptions
from sfumato.cli import remembering
from sfumato.progress import watched_by
from sfumato.studio.processes import own_output, write_line

SECONDS_BETWEEN_LINES = 0.1
"""Progress is told no more often than this."""


class TellingWatcher:
    """Tells how far an order is, in lines."""

    def __init__(self, number: int, out: TextIO) -> None:
        self._number = number
        self._out = out
        self._phase = ""
        self._last = 0.0
        self._lock = threading.Lock()

    def show(self, phase: str, done: float, total: float | None) -> None:
        """Say how far a phase is, unless that was said just now."""
        now = time.monotonic()
        with self._lock:
            if phase == self._phase and now - self._last < SECONDS_BETWEEN_LINES:
                return
            self._phase, self._last = phase, now
            write_line(self._out, {"number": self._number, "phase": phase, "done": done, "total": total})

    def finish(self) -> None:
        """Nothing: the next phase, or the end, says so."""

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Nothing disturbs: results are collected elsewhere."""
        yield


class Orders:
    """Orders as they come in; their end interrupts whatever runs."""

    def __init__(self, source: TextIO) -> None:
        self._source = source
        self._waiting: queue.Queue[str | None] = queue.Queue()
        self._is_running = threading.Event()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name="sfumato-orders", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while (line := self._waiting.get()) is not None:
            # Each side says what it does before it looks at the other: an end never falls between the two.
            self._is_running.set()
            if self._has_ended.is_set():
                return
            try:
                yield json.loads(line)
            finally:
                self._is_running.clear()

    def _read(self) -> None:
        for line in self._source:
            self._waiting.put(line)
        self._has_ended.set()
        self._waiting.put(None)
        if self._is_running.is_set():
            interrupt()


def interrupt() -> None:
    """Ctrl-C as a terminal sends it: to this process and those that it started, where they are a group of their own."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGINT)
    else:
        # To the main thread, which may wait for others in a call that no flag would end.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def own_input() -> TextIO:
    """Where orders come from; stdin itself is empty from now on.

    A process that is forked closes its stdin at once, and would wait for ever for the thread that reads orders from it.
    """
    source = os.fdopen(os.dup(0), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source


def carry_out(order: dict[str, Any], out: TextIO) -> None:
    """Run one verb, and tell its result, its talk and its exit code."""
    from sfumato.cli.app import app

    result, said = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(result), redirect_stderr(said), watched_by(TellingWatcher(order["number"], out)):
        try:
            app(order["arguments"], prog_name="sfumato")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    told = {"exit": code, "result": result.getvalue(), "said": said.getvalue()}
    write_line(out, {"number": order["number"], **told})


def main() -> None:
    """Carry out orders until there are no more."""
    out = own_output()
    with suppress(KeyboardInterrupt), ended_by_exceptions():
        for order in Orders(own_input()):
            with remembering():
                carry_out(order, out)


if __name__ == "__main__":
    main()
