"""Shuffle between tasks: partitions, encrypted task payloads, distinct combinations added up."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Integers
from sfumato.data.chunks import CodedBatch
from sfumato.data.encryption import Encryption
from sfumato.errors import ParameterError
from sfumato.estimates.counts import OccupiedCounts
from sfumato.schema import Attribute

# --------------------------------------------------------------------------------------------------
# Rows that must meet: tasks deal them to piles, other tasks take the piles.
#
# What travels between tasks is a blob: the rows that one task deals to one pile, as bytes.


class Blob(NamedTuple):
    """Rows on their way to a pile; ``origin`` and ``part`` put those of a pile in the same order on every attempt."""

    pile: int
    origin: int
    part: int
    content: bytes


def blob_name(pile: int, origin: int, part: int) -> str:
    """The name under which the content of a blob is encrypted."""
    return f"{origin} {part} {pile}"


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


# --------------------------------------------------------------------------------------------------
# What tasks are given: files in a folder of the job's own, encrypted, with the key in the task alone.
#
# What a task carries itself is small, because Spark writes large ones to disk as they are.


CANNOT_BE_SENT = (
    "these rows come through something that only this process has, such as its standard input, and tasks elsewhere cannot "
    "read it. Write them to a file first, best to Parquet, or use --engine duckdb."
)


@dataclass(frozen=True, eq=False, repr=False)
class Parcels:
    """Values under names, which only tasks of the job can open.

    Parameters
    ----------
    folder
        That every task can reach.
    encryption
        Of this job alone.
    home
        Where this process is: from there whoever named files meant them.
    """

    folder: Path
    encryption: Encryption
    home: Path

    def __repr__(self) -> str:
        return "Parcels()"

    @classmethod
    def of(cls, folder: Path) -> Self:
        """With a fresh key."""
        return cls(folder.absolute(), Encryption(), Path.cwd())

    def put(self, name: str, value: Any) -> None:
        """Leave a value for a task, once under a name.

        Raises
        ------
        ParameterError
            For what cannot be sent, such as a stream of this process.
        """
        try:
            plain = pickle.dumps(value, protocol=5)
        except (pickle.PicklingError, TypeError, AttributeError):
            raise ParameterError(CANNOT_BE_SENT, parameter="engine") from None
        content = self.encryption.encrypt(plain, name)
        path = self.folder / name
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(content)

    def take(self, name: str) -> Any:
        """What was left under a name; a parcel that was touched is refused before it is opened."""
        content = (self.folder / name).read_bytes()
        plain = self.encryption.decrypt(content, name)
        return pickle.loads(plain)  # noqa: S301 - authenticated: nobody else has the key

    @contextmanager
    def at_home(self) -> Iterator[None]:
        """Names of files mean within the block what they meant where the job was begun.

        A worker is used again by others, for whom its folder stays what it was.
        """
        try:
            moved = chdir(self.home)
            moved.__enter__()
        except OSError:
            # Another machine, without that folder: names from the root are the same there.
            yield
            return
        try:
            yield
        finally:
            moved.__exit__(None, None, None)


# --------------------------------------------------------------------------------------------------
# Combinations that occur, added up where they meet: what each split has of one comes to the same task.


SPLITS_PER_PILE = 8
MOST_PILES = 256

COUNT = "count"

Part = tuple[tuple[Any, ...], Integers]
"""Codes of combinations, and how often each occurs."""


def added(attributes: Sequence[Attribute], parts: Sequence[Part]) -> OccupiedCounts:
    """Counts of the same combinations, added up."""
    codes = tuple(
        np.concatenate([np.empty(0, each.code_type), *(found[place] for found, _ in parts)])
        for place, each in enumerate(attributes)
    )
    counts = np.concatenate([np.empty(0, np.int64), *(found for _, found in parts)])
    every = OccupiedCounts(tuple(attributes), codes, counts)
    _, first, place = np.unique(
        every.numbered([each.name for each in attributes]), return_index=True, return_inverse=True
    )
    sums = np.zeros(first.size, np.int64)
    np.add.at(sums, place, counts)
    return dataclasses.replace(every, codes=tuple(each[first] for each in codes), counts=sums)


@dataclass(frozen=True, eq=False)
class DealCombinations:
    """Counts the combinations of a split and deals them: those equal on the first attributes to one pile.

    Parameters
    ----------
    attributes
        What combinations are over.
    together
        How many of the first attributes decide the pile.
    piles
        Number of piles.
    encryption
        Of what is on its way, which is private.
    """

    attributes: tuple[Attribute, ...]
    together: int
    piles: int
    encryption: Encryption

    def for_number(self, number: int) -> DealCombinations:
        """The same for every split."""
        del number
        return self

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> Iterator[Blob]:
        """What goes to each pile."""
        parts = []
        for batch in batches:
            codes = tuple(batch.codes[each.name] for each in self.attributes)
            counted = added(self.attributes, [(codes, np.ones(batch.number_of_rows, np.int64))])
            parts.append((counted.codes, counted.counts))
        found = added(self.attributes, parts)
        pile_of = self._piles(found)
        for pile in np.unique(pile_of).tolist():
            chosen = pile_of == pile
            columns = {str(place): each[chosen] for place, each in enumerate(found.codes)}
            content = to_bytes({**columns, COUNT: found.counts[chosen]})
            yield Blob(pile, number, 0, self.encryption.encrypt(content, blob_name(pile, number, 0)))

    def _piles(self, found: OccupiedCounts) -> Integers:
        """The same pile for the same codes, whichever split they are of."""
        mixed = np.zeros(found.counts.size, np.uint64)
        # Knuth's multiplicative hashing; numbers wrap around.
        factor = np.uint64(0x9E3779B97F4A7C15)
        for each in found.codes[: self.together]:
            mixed = (mixed ^ each.astype(np.uint64)) * factor
            mixed ^= mixed >> np.uint64(32)
        return (mixed % np.uint64(self.piles)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class AddCombinations:
    """Adds up what all splits have of the combinations of a pile.

    Parameters
    ----------
    attributes, encryption
        As for :class:`DealCombinations`.
    finish
        What is told of the sums.
    """

    attributes: tuple[Attribute, ...]
    encryption: Encryption
    finish: Callable[[OccupiedCounts], Any]

    def for_number(self, number: int) -> AddCombinations:
        """The same for every pile."""
        del number
        return self

    def __call__(self, pile: int, blobs: Sequence[Blob]) -> Any:
        """What is told of the pile."""
        rows = from_bytes(
            self.encryption.decrypt(each.content, blob_name(pile, each.origin, each.part)) for each in blobs
        )
        if not rows.codes:
            return self.finish(added(self.attributes, []))
        codes = tuple(rows.codes[str(place)] for place in range(len(self.attributes)))
        return self.finish(added(self.attributes, [(codes, rows.codes[COUNT])]))


@dataclass(frozen=True)
class Kept:
    """The combinations that so many rows have."""

    fewest: int

    def __call__(self, sums: OccupiedCounts) -> Part:
        """Their codes and counts."""
        enough = sums.counts >= self.fewest
        return tuple(each[enough] for each in sums.codes), sums.counts[enough]


def sizes_of(sums: OccupiedCounts) -> dict[Any, int]:
    """How many combinations there are of each number of rows."""
    return dict(sums.sizes())


@dataclass(frozen=True)
class Diversity:
    """How many groups there are of each size and number of different sensitive categories."""

    names: tuple[str, ...]

    def __call__(self, sums: OccupiedCounts) -> dict[Any, int]:
        """Of groups equal on the names."""
        return dict(sums.diversity(self.names))


def added_up(found: Iterable[dict[Any, int]]) -> dict[Any, int]:
    """Histograms of different groups, added up."""
    total: Counter[Any] = Counter()
    for each in found:
        total.update(each)
    return dict(sorted(total.items()))


def meeting_of_combinations(
    attributes: tuple[Attribute, ...],
    splits: int,
    finish: Callable[[OccupiedCounts], Any],
    *,
    together: int | None = None,
) -> tuple[DealCombinations, Meeting]:
    """What deals the combinations of so many splits, and what adds them up."""
    piles = min(MOST_PILES, -(-splits // SPLITS_PER_PILE)) or 1
    encryption = Encryption()
    deal = DealCombinations(attributes, len(attributes) if together is None else together, piles, encryption)
    return deal, Meeting(piles, AddCombinations(attributes, encryption, finish))
