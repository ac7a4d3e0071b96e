"""Who watches long work: whatever runs long says how far it is, and a front that has a terminal shows it.

Nothing of the data is in it: a phase is named after a file or a verb, and how far it is is a share or a number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Watcher(Protocol):
    """Shows how far something is."""

    def show(self, phase: str, done: float, total: float | None) -> None:
        """Say that so much of a phase is done; no total where none is known."""

    def finish(self) -> None:
        """Say that the phase is over."""


_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(new: Watcher) -> Iterator[None]:
    """Long work inside the block is shown by the watcher."""
    token = _WATCHER.set(new)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def watcher() -> Watcher | None:
    """Whoever watches, or None; ask in the thread that was given one."""
    return _WATCHER.get()


def steps(phase: str, items: Iterable[Item]) -> Iterator[Item]:
    """The same items; each is told of before it is worked on.

    Examples
    --------
    >>> list(steps("Counting", ["a", "b"]))
    ['a', 'b']
    """
    listed, found = list(items), watcher()
    for done, item in enumerate(listed):
        if found is not None:
            found.show(phase, done, len(listed))
        yield item
    if found is not None:
        found.finish()
