"""The background thread: order, errors and early stops."""

from __future__ import annotations

import itertools
import threading

import pytest

from sfumato.release.storage import in_background


def test_items_keep_their_order():
    """What goes in first comes out first."""
    assert list(in_background(iter(range(100)))) == list(range(100))


def test_an_error_is_raised_after_the_items_before_it():
    """The consumer sees it where it happened."""

    def failing():
        yield 1
        yield 2
        raise OSError("gone")

    got = []
    with pytest.raises(OSError, match="gone"):
        for item in in_background(failing()):
            got.append(item)  # noqa: PERF402 - the items before the error are what is tested
    assert got == [1, 2]


def test_stopping_early_ends_the_thread_and_closes_the_stream():
    """No thread is left running over an endless stream."""
    closed = threading.Event()

    def endless():
        try:
            yield from itertools.count()
        finally:
            closed.set()

    before = threading.active_count()
    stream = in_background(endless())
    assert next(stream) == 0
    stream.close()
    assert closed.is_set()
    assert threading.active_count() == before
