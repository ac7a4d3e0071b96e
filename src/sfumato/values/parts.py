"""Long work in parts that fit into memory: how it is divided changes nothing of what is computed."""

from __future__ import annotations

from collections.abc import Iterator


def in_parts(number: int, *, each: int = 1, at_once: int) -> Iterator[slice]:
    """Slices that together are all of a number of things.

    Parameters
    ----------
    number
        Of things.
    each
        Numbers that one thing takes.
    at_once
        Numbers worked on at a time, or one thing where it takes more.

    Examples
    --------
    >>> [(part.start, part.stop) for part in in_parts(5, each=10, at_once=25)]
    [(0, 2), (2, 4), (4, 5)]
    >>> len(list(in_parts(3, each=10, at_once=5))), list(in_parts(0, at_once=5))
    (3, [])
    """
    width = max(at_once // max(each, 1), 1)
    return (slice(start, min(start + width, number)) for start in range(0, number, width))
