"""Rows that must meet: tasks deal them to piles, other tasks take the piles.

What travels between tasks is a blob: the rows that one task deals to one pile, as bytes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.values.batches import CodedBatch


class Blob(NamedTuple):
    """Rows on their way to a pile; ``origin`` and ``part`` put those of a pile in the same order on every attempt."""

    pile: int
    origin: int
    part: int
    content: bytes


class DealStep(Protocol):
    """What a task makes of the rows of a split."""

    def for_number(self, number: int) -> DealStep:
        """The same with what the task of a number needs, and no other's share."""

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> Iterator[Blob]:
        """Blobs for the piles of the first meeting."""


class MeetingStep(Protocol):
    """What a task makes of a pile: blobs for the next meeting, or, in the last one, what is found."""

    def for_number(self, number: int) -> MeetingStep:
        """The same with what the task of a pile needs, and no other's share."""

    def __call__(self, pile: int, blobs: Sequence[Blob]) -> Any:
        """An iterator of blobs; in the last meeting one small value."""


class Meeting(NamedTuple):
    """A step that is run on every pile.

    Parameters
    ----------
    piles
        How many there are.
    step
        What becomes of each.
    """

    piles: int
    step: MeetingStep


def exchange_here(
    portions: Iterable[Iterator[CodedBatch]], deal: DealStep, meetings: Sequence[Meeting]
) -> list[Any]:
    """Deal and meet in this process, all blobs in memory; what each pile of the last meeting found, in order."""
    blobs: Iterable[Blob] = (
        blob for number, batches in enumerate(portions) for blob in deal.for_number(number)(batches, number)
    )
    found: list[Any] = []
    for place, meeting in enumerate(meetings):
        piles: dict[int, list[Blob]] = defaultdict(list)
        for blob in blobs:
            piles[blob.pile].append(blob)
        results = [
            meeting.step.for_number(pile)(pile, sorted(piles.pop(pile, []))) for pile in range(meeting.piles)
        ]
        if place + 1 < len(meetings):
            blobs = (blob for each in results for blob in each)
        else:
            found = results
    return found


def to_bytes(columns: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Columns as bytes: what they are, then one after the other.

    Examples
    --------
    >>> rows = from_bytes([to_bytes({"job": np.array([2, 0], np.uint8)}), to_bytes({"job": np.array([1], np.uint8)})])
    >>> rows.codes["job"].tolist(), rows.number_of_rows
    ([2, 0, 1], 3)
    """
    rows = len(next(iter(columns.values()), ()))
    kinds = {name: column.dtype.str for name, column in columns.items()}
    head = json.dumps([rows, kinds]).encode()
    body = b"".join(np.ascontiguousarray(column).tobytes() for column in columns.values())
    return len(head).to_bytes(4, "little") + head + body


def from_bytes(contents: Iterable[bytes]) -> CodedBatch:
    """The rows of several blobs, joined; no columns where there is none."""
    parts: list[tuple[int, dict[str, npt.NDArray[Any]]]] = []
    for content in contents:
        start = 4 + int.from_bytes(content[:4], "little")
        rows, kinds = json.loads(content[4:start])
        columns = {}
        for name, kind in kinds.items():
            columns[name] = np.frombuffer(content, np.dtype(kind), rows, start)
            start += columns[name].nbytes
        parts.append((rows, columns))
    if not parts:
        return CodedBatch({}, 0)
    names = parts[0][1]
    joined = {name: np.concatenate([columns[name] for _, columns in parts]) for name in names}
    return CodedBatch(joined, sum(rows for rows, _ in parts))
