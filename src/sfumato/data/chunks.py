"""Chunks of rows as category codes, and the row phase of a method that maps them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Integers
from sfumato.errors import SourceError
from sfumato.estimates.counts import OccupiedCounts
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute

# --------------------------------------------------------------------------------------------------
# Rows in motion, as category codes.


@dataclass(frozen=True, eq=False)
class CodedBatch:
    """Some rows, one array of category codes for each attribute.

    Parameters
    ----------
    codes
        Attribute name to ``(number_of_rows,)`` of the attribute's ``code_type``.
    number_of_rows
        Rows in the batch.
    """

    codes: Mapping[str, npt.NDArray[Any]]
    number_of_rows: int

    def __repr__(self) -> str:
        return f"CodedBatch({', '.join(self.codes)}: {self.number_of_rows} rows)"


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows gathered by whose they are. Private, names above all.

    Parameters
    ----------
    names
        Of the units, in alphabetical order.
    ends
        ``(units,)``; the rows of unit u are those from ``ends[u - 1]`` up to ``ends[u]``.
    codes
        Attribute name to ``(rows,)`` category codes.
    """

    names: Sequence[str]
    ends: Integers
    codes: Mapping[str, npt.NDArray[Any]]

    def __repr__(self) -> str:
        return f"UnitRows({', '.join(self.codes)})"


# --------------------------------------------------------------------------------------------------
# Portions: the runs of rows that the row phase of a method works on, one at a time.
#
# A method is a *count phase*, whose results are small, and a *row phase*: a step that makes published rows
# from a portion's private ones. A step is a value. It can be pickled, sent elsewhere and run again, and it
# gives the same rows from the same portion and the same noise; nothing of the private table, of an engine or
# of a source can be reached from it.


ROWS_PER_BATCH = 131_072
"""Rows that a step sees at a time; also of a batch that an engine gives."""

BATCHES_PER_PORTION = 32
"""Batches of a portion. A step may hold some bytes for each of a portion's rows."""

BATCH_BITS = 32
"""Bits of a stream's number that say the batch; those above them say the portion."""

PILE = "\N{NULL}pile"
"""Name, which no column has, under which a step says where its rows are to meet."""

Read = Callable[[Sequence[str]], Iterator[CodedBatch]]
"""Gives the private rows of some attributes, in the source's order."""

Share = TypeVar("Share")
Found_co = TypeVar("Found_co", covariant=True)
Result = TypeVar("Result")


def rows_per_portion() -> int:
    """Rows of every portion but the last."""
    return BATCHES_PER_PORTION * ROWS_PER_BATCH


@dataclass(frozen=True, eq=False)
class Portion(Generic[Share]):
    """A run of rows, or the rows that were put on one pile.

    Parameters
    ----------
    number
        Its place among all portions; from it come the numbers of its streams.
    share
        What the count phase found for this portion alone, such as how many rows of each cell get which
        outcome; None for a step that needs nothing.
    """

    number: int
    share: Share

    def stream_number(self, batch: int) -> int:
        """Number of a batch's stream of bits: no two batches of a table have the same."""
        return self.number << BATCH_BITS | batch


class RowStep(Protocol[Share]):
    """The row phase: a frozen dataclass that can be called and pickled."""

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[Share], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """Published rows of a portion, from its private ones; reads them to their end."""


class PortionStep(Protocol[Found_co]):
    """A count phase that an engine's own counting does not cover: a frozen dataclass that can be called and pickled."""

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> Found_co:
        """What is found in the portion of a number: small, since only this reaches the process that asks."""


class PileStep(Protocol[Share]):
    """What follows where rows of different portions must meet."""

    def __call__(self, rows: CodedBatch, pile: Portion[Share], noise: NoiseSource) -> CodedBatch:
        """Published rows of a pile."""


@dataclass(frozen=True, eq=False)
class PortionCounts:
    """True counts of the combinations that occur in each portion. Private.

    Parameters
    ----------
    occupied
        A combination once for each portion that it occurs in.
    portions
        ``(combinations,)``: the portion of each.
    """

    occupied: OccupiedCounts
    portions: Integers

    @classmethod
    def of(cls, parts: Sequence[OccupiedCounts], attributes: Sequence[Attribute]) -> PortionCounts:
        """What was counted in each portion, put together."""
        codes = (
            np.concatenate([np.empty(0, each.code_type), *(part.codes[place] for part in parts)])
            for place, each in enumerate(attributes)
        )
        counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])
        portions = np.repeat(np.arange(len(parts)), [part.counts.size for part in parts])
        return cls(OccupiedCounts(tuple(attributes), tuple(codes), counts), portions)

    @property
    def number_of_portions(self) -> int:
        """Portions of the table."""
        return int(self.portions.max(initial=-1)) + 1

    def of_attribute(self, name: str) -> Integers:
        """Rows of each category of one attribute, ``(portions, categories)``."""
        size = next(each.size for each in self.occupied.attributes if each.name == name)
        counts = np.zeros((self.number_of_portions, size), np.int64)
        np.add.at(counts, (self.portions, self.occupied.codes_of(name)), self.occupied.counts)
        return counts


def in_portions(batches: Iterable[CodedBatch]) -> Iterator[Iterator[CodedBatch]]:
    """Cut rows into portions, each an iterator of batches.

    The cuts follow from the order of the rows alone, however the engine's threads shared the reading.
    """
    exact = rebatched(batches, ROWS_PER_BATCH)
    for first in exact:
        portion = itertools.chain([first], itertools.islice(exact, BATCHES_PER_PORTION - 1))
        yield portion
        # What a step leaves unread must not become part of the next portion.
        deque(portion, maxlen=0)


def map_portions(batches: Iterable[CodedBatch], step: PortionStep[Result]) -> Iterator[Result]:
    """What a step finds in each portion of some rows, in their order."""
    return (step(portion, number) for number, portion in enumerate(in_portions(batches)))


def count_portions(batches: Iterable[CodedBatch], attributes: Sequence[Attribute]) -> PortionCounts:
    """Counts of the combinations that occur in each portion of some rows, held one portion at a time."""

    def count(batches: Iterator[CodedBatch], number: int) -> OccupiedCounts:
        del number
        rows = _joined(list(batches))
        return OccupiedCounts.of_rows(attributes, [rows.codes[each.name] for each in attributes])

    return PortionCounts.of(list(map_portions(batches, count)), attributes)


def run_steps(
    step: RowStep[Any],
    batches: Iterable[CodedBatch],
    shares: Sequence[Any] | None,
    noise: NoiseSource,
) -> Iterator[CodedBatch]:
    """Published rows of all portions, in the order of the private rows.

    Raises
    ------
    SourceError
        When there are not as many portions as shares: the table changed since it was counted.
    """
    number = 0
    for portion in in_portions(batches):
        if shares is not None and number >= len(shares):
            refuse_changed_table()
        yield from step(portion, Portion(number, None if shares is None else shares[number]), noise)
        number += 1
    if shares is not None and number != len(shares):
        refuse_changed_table()


def rebatched(batches: Iterable[CodedBatch], rows: int) -> Iterator[CodedBatch]:
    """The same rows in batches of exactly so many, the last one excepted.

    Examples
    --------
    >>> given = [CodedBatch({"n": np.arange(size)}, size) for size in (3, 1, 3)]
    >>> [each.codes["n"].tolist() for each in rebatched(given, 2)]
    [[0, 1], [2, 0], [0, 1], [2]]
    """
    waiting: list[CodedBatch] = []
    held = 0
    for batch in batches:
        start = 0
        while held + batch.number_of_rows - start >= rows:
            end = start + rows - held
            yield _joined([*waiting, _cut(batch, start, end)])
            waiting, held, start = [], 0, end
        if start < batch.number_of_rows:
            waiting.append(_cut(batch, start, batch.number_of_rows))
            held += batch.number_of_rows - start
    if held:
        yield _joined(waiting)


def _cut(batch: CodedBatch, start: int, end: int) -> CodedBatch:
    if end - start == batch.number_of_rows:
        return batch
    return CodedBatch({name: column[start:end] for name, column in batch.codes.items()}, end - start)


def _joined(batches: Sequence[CodedBatch]) -> CodedBatch:
    if len(batches) == 1:
        return batches[0]
    return CodedBatch(
        {name: np.concatenate([each.codes[name] for each in batches]) for name in batches[0].codes},
        sum(each.number_of_rows for each in batches),
    )


def refuse_changed_table() -> NoReturn:
    """Stop, because rows read now are not those counted before."""
    raise SourceError(
        "the private table changed between two readings. It must stay as it is while it is published; "
        "try again when it is at rest."
    )
