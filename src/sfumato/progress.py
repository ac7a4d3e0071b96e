"""Progress callbacks of long computations.

Nothing of the data is in it: a phase is named after a file or a verb, and how far it is is a share or a number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Watcher(Protocol):
    """Shows how far something is."""

    def show(self, phase: str, done: float, total: float | None) -> None:
        """Say that so much of a phase is done; no total where none is known."""

    def finish(self) -> None:
        """Say that the innermost phase is over."""

    def silent(self) -> AbstractContextManager[None]:
        """Nothing is shown inside the block, where something else is written or asked."""


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


def silence() -> AbstractContextManager[None]:
    """Whoever watches shows nothing inside the block."""
    found = watcher()
    return nullcontext() if found is None else found.silent()


def steps(phase: str, items: Iterable[Item]) -> Iterator[Item]:
    """The same items; each is told of before it is worked on.

    Examples
    --------
    >>> list(steps("Counting", ["a", "b"]))
    ['a', 'b']
    """
    listed, found = list(items), watcher()
    if found is None:
        yield from listed
        return
    try:
        for done, item in enumerate(listed):
            found.show(phase, done, len(listed))
            yield item
    finally:
        # Also where the loop is left before its end.
        if listed:
            found.finish()
