"""Two threads for one stream: the next batch is made while the last one is written."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")

BATCHES_AHEAD = 4
"""Batches that may wait between the threads; bounds memory."""


def in_background(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, made by a thread of their own.

    An exception in the thread is raised here, in its place in the order. When the consumer stops early
    the thread stops at its next item. The first two items are made here: where there is but one, a thread would
    take longer to start than it could save.
    """
    try:
        first = list(itertools.islice(items, 2))
        yield from first
        if len(first) == 2:
            yield from _from_thread(items)
    finally:
        _close(items)


def _from_thread(items: Iterator[Item]) -> Iterator[Item]:
    waiting: queue.Queue[Item | _End] = queue.Queue(BATCHES_AHEAD)
    stopped = threading.Event()
    thread = threading.Thread(
        target=_fill, args=(items, waiting, stopped), name="sfumato-reader", daemon=True
    )
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        thread.join()


class _End:
    """What follows the last item: nothing, or the exception that ended the stream."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def _fill(items: Iterator[Item], waiting: queue.Queue[Item | _End], stopped: threading.Event) -> None:
    """Put every item on the queue, then the end."""
    end = _End(None)
    try:
        for item in items:
            if not _put(item, waiting, stopped):
                break
    except BaseException as error:  # noqa: BLE001 - it is raised again in the consumer's thread
        end = _End(error)
    finally:
        # Closing a generator lets it close its files in the thread that reads them.
        _close(items)
    _put(end, waiting, stopped)


def _close(items: Iterator[Item]) -> None:
    close = getattr(items, "close", None)
    if close is not None:
        close()


def _put(entry: Item | _End, waiting: queue.Queue[Item | _End], stopped: threading.Event) -> bool:
    """Wait for room, unless the consumer has gone; whether the entry was taken."""
    while not stopped.is_set():
        try:
            waiting.put(entry, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False
