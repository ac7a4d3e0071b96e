"""Drawing decoys on counts, and the row phase that assigns them to rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Integers, MixedRadix
from sfumato.data.chunks import CodedBatch, Portion, refuse_changed_table
from sfumato.randomness.partitions import Composition, Partition, compose_groups, compose_together
from sfumato.randomness.quotas import Arrangement, contingency, split
from sfumato.randomness.streams import NoiseSource, NoiseStream

# --------------------------------------------------------------------------------------------------
# Drawing decoys: every row shows a value drawn uniformly from the different values of its group.
#
# Groups are never published, and the rows of a value were dealt to the groups that hold it in random order.
# So what the rows of a value show is, in distribution, a uniformly random arrangement of the values drawn for
# them: their numbers can be drawn from counts alone, and no row has to be held.


_Code = TypeVar("_Code", bound=np.integer[Any])

PLACES_AT_ONCE = 2**18
"""Places of groups that draw at a time, so that memory stays small."""


@dataclass(frozen=True, eq=False)
class Draws:
    """How many rows of each true value show each value; only what occurs is held.

    Parameters
    ----------
    size
        Values that the attribute can take.
    values, shown, numbers
        ``(n,)`` each: so many rows of the value show the other; values increasing.
    """

    size: int
    values: Integers
    shown: Integers
    numbers: Integers

    def arranged(self, stream: NoiseStream) -> Arrangement:
        """The shown values, in random order within each true value."""
        return Arrangement(self.values, self.shown, self.numbers, self.size, stream)

    def split(self, counts: Integers, noise: NoiseSource) -> tuple[Draws, ...]:
        """The draws that fall to each portion, from its rows of each value, ``(portions, values)``."""
        starts = np.searchsorted(self.values, np.arange(self.size + 1))
        tables = np.zeros((len(counts), self.values.size), np.int64)
        # Where nobody holds the value there is nothing to deal.
        for value in np.flatnonzero(counts.any(axis=0)).tolist():
            of_value = slice(starts[value], starts[value + 1])
            tables[:, of_value] = contingency(counts[:, value], self.numbers[of_value], noise.stream(value))
        return tuple(
            Draws(self.size, self.values[occurs], self.shown[occurs], table[occurs])
            for table in tables
            for occurs in [table > 0]
        )


def draw_on_counts(
    counts: Integers, gamma: int, noise: NoiseSource, *, partition: Partition = "mixed"
) -> Draws:
    """Group places by their values, draw for each a value of its group, and forget the groups.

    Parameters
    ----------
    counts
        Rows of each true value, ``(values,)``; their number is a multiple of ``gamma``.
    gamma, partition
        Rows of a group, and how groups are made.
    noise
        Source of this attribute's bits alone.

    Examples
    --------
    >>> drawn = draw_on_counts(np.array([2, 2, 2]), 3, NoiseSource.from_operating_system())
    >>> int(drawn.numbers.sum())
    6
    """
    composition = compose_groups(counts, gamma, noise.named("groups").stream(0), kind=partition)
    return _draw_members(composition, len(counts), gamma, noise)


def draw_together(counts: Integers, sizes: Sequence[int], gamma: int, noise: NoiseSource) -> Draws | None:
    """The same for several attributes at once: every row shows all values of one member of its group.

    Parameters
    ----------
    counts
        Rows of each combination of the attributes' values, numbered as by :class:`MixedRadix`.
    sizes
        Values that each attribute can take.
    gamma
        Rows of a group, whose members differ in each of the attributes.
    noise
        Source of these attributes' bits alone.

    Returns
    -------
    Draws
        Of combinations, or None when no such groups were found.
    """
    occurring = np.flatnonzero(counts)
    labels = np.stack(MixedRadix(sizes).decode(occurring))
    composition = compose_together(counts[occurring], labels, gamma, noise.named("groups").stream(0))
    if composition is None:
        return None
    drawn = _draw_members(composition, len(occurring), gamma, noise)
    return Draws(len(counts), occurring[drawn.values], occurring[drawn.shown], drawn.numbers)


def _draw_members(composition: Composition, size: int, gamma: int, noise: NoiseSource) -> Draws:
    """How often the places of each value draw each value of their groups."""
    stream = noise.named("draws").stream(0)
    pairs, numbers = np.empty(0, np.int64), np.empty(0, np.int64)
    groups_at_once = max(1, PLACES_AT_ONCE // gamma)
    for first in range(0, composition.number_of_groups, groups_at_once):
        end = min(first + groups_at_once, composition.number_of_groups)
        values = composition.block(first, end).values_by_group().reshape(-1, gamma).astype(np.int64)
        found, times = np.unique(values * size + draw_in_groups(values, stream), return_counts=True)
        pairs, place = np.unique(np.concatenate([pairs, found]), return_inverse=True)
        added = np.zeros(pairs.size, np.int64)
        np.add.at(added, place, np.concatenate([numbers, times]))
        numbers = added
    return Draws(size, pairs // size, pairs % size, numbers)


def draw_in_groups(values: Integers, stream: NoiseStream) -> Integers:
    """For each place a value drawn uniformly, with replacement, from those of its group; ``(groups, gamma)`` both."""
    places = stream.uniform_codes(values.size, values.shape[1]).reshape(values.shape)
    return np.take_along_axis(values, places.astype(np.intp), axis=1)


def draw_decoys(
    codes: npt.NDArray[_Code],
    number_of_values: int,
    gamma: int,
    noise: NoiseSource,
    *,
    partition: Partition = "mixed",
) -> npt.NDArray[_Code]:
    """What rows in memory would show.

    Parameters
    ----------
    codes
        True value of each row, ``(rows,)``; their number is a multiple of ``gamma``.
    number_of_values
        Values that the attribute can take.
    gamma, partition
        Rows of a group, and how groups are made.
    noise
        Source of this attribute's bits alone.

    Examples
    --------
    >>> draw_decoys(np.arange(6) % 3, 3, 2, NoiseSource.seeded(1)).shape
    (6,)
    """
    counts = np.bincount(codes, minlength=number_of_values)
    draws = draw_on_counts(counts, gamma, noise, partition=partition)
    return draws.arranged(noise.named("arrangement").stream(0)).take(codes).astype(codes.dtype)


# --------------------------------------------------------------------------------------------------
# The phases of SPLU-Gen: which rows are kept and how many hold each value, and the rows themselves.


Codes = Mapping[str, npt.NDArray[Any]]
Frequent = dict[str, Booleans]
"""Attribute to which of its values are frequent enough to be published; others are published all."""


@dataclass(frozen=True)
class Drawn:
    """What a row draws at once: an attribute, or several together.

    Parameters
    ----------
    names
        The attributes.
    sizes
        Values that each can take.
    gamma
        Rows of a group.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    gamma: int

    @property
    def name(self) -> str:
        """All of them."""
        return " and ".join(self.names)

    @cached_property
    def radix(self) -> MixedRadix:
        """Numbers the combinations of values."""
        return MixedRadix(self.sizes)

    def encode(self, codes: Codes) -> npt.NDArray[Any]:
        """The value of each row, or the number of its combination of values."""
        if len(self.names) == 1:
            return codes[self.names[0]]
        return self.radix.encode([codes[name] for name in self.names])

    def decode(self, numbers: npt.NDArray[Any]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Each attribute with its values."""
        if len(self.names) == 1:
            return zip(self.names, (numbers,), strict=True)
        return zip(self.names, self.radix.decode(numbers.astype(np.int64)), strict=True)

    def margins(self, counts: Integers) -> Iterator[tuple[str, Integers]]:
        """Each attribute with the rows of its values, from the rows of the combinations."""
        occurring = np.flatnonzero(counts)
        for (name, codes), size in zip(self.decode(occurring), self.sizes, strict=True):
            yield name, np.bincount(codes, counts[occurring], minlength=size).astype(np.int64)


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The rows of a portion that are published. Private.

    Parameters
    ----------
    counts
        By name of what is drawn, the kept rows of each value, ``(size,)``.
    rows
        Number of kept rows.
    candidates
        ``(n,)``: numbers of some rows of the portion, drawn at random among those that may be left out, in random order.
    codes
        By name of what is drawn, the values of the candidates, ``(n,)``.
    spare
        Number of rows that may be left out; all kept ones when not given.
    """

    counts: dict[str, Integers]
    rows: int
    candidates: Integers
    codes: dict[str, npt.NDArray[Any]]
    spare: int | None = None

    def without(self, number: int) -> KeptRows:
        """The same with the first so many candidates left out; the others are candidates no more."""
        codes = {name: each[:number] for name, each in self.codes.items()}
        counts = {
            name: each - np.bincount(codes[name], minlength=each.size) for name, each in self.counts.items()
        }
        return KeptRows(counts, self.rows - number, self.candidates[:number], codes)


def frequent_values(
    codes: Codes, counts: Integers, sizes: Mapping[str, int], threshold: int, spare: int
) -> tuple[Frequent, Frequent]:
    """Which values of each attribute so many rows hold, once rows with rarer values of any are left out.

    Leaving out the rows of a rare value of one attribute can make a value of another rare: it is repeated until every
    published value meets the threshold.

    Parameters
    ----------
    codes
        Attribute to its value in each combination that occurs.
    counts
        Rows of each combination.
    sizes
        Attribute to the values that it can take.
    threshold
        Rows that a value must have.
    spare
        Rows that may yet be left out besides.

    Returns
    -------
    tuple
        The values that are frequent, and those that stay so whichever rows are left out besides.

    Examples
    --------
    >>> codes = {"drug": np.array([0, 1, 1]), "disease": np.array([0, 0, 1])}
    >>> frequent, _ = frequent_values(codes, np.array([9, 5, 5]), {"drug": 2, "disease": 2}, 6, 0)
    >>> frequent["drug"].tolist(), frequent["disease"].tolist()
    ([True, False], [True, False])
    """
    frequent = {name: np.ones(size, np.bool_) for name, size in sizes.items()}
    while True:
        is_kept = _is_frequent(codes, frequent)
        held = {
            name: np.bincount(codes[name][is_kept], counts[is_kept], minlength=size)
            for name, size in sizes.items()
        }
        remaining = {name: each & (held[name] >= threshold) for name, each in frequent.items()}
        if all(np.array_equal(each, frequent[name]) for name, each in remaining.items()):
            return frequent, {name: each >= threshold + spare for name, each in held.items()}
        frequent = remaining


@dataclass(frozen=True, eq=False)
class CountKept:
    """Counts the rows of a portion, and draws some that may yet be left out.

    Parameters
    ----------
    drawn
        What is drawn at once.
    frequent, spare
        Which values are published, and which stay frequent whichever rows are left out besides.
    candidates
        Rows to draw.
    noise
        Draws them.
    """

    drawn: tuple[Drawn, ...]
    frequent: Frequent
    spare: Frequent
    candidates: int
    noise: NoiseSource

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> KeptRows:
        """The rows of the portion that are published, and the candidates among them."""
        parts = list(batches)
        codes = {
            name: np.concatenate([each.codes[name] for each in parts])
            for unit in self.drawn
            for name in unit.names
        }
        is_kept = _is_frequent(codes, self.frequent)
        is_spare = is_kept & _is_frequent(codes, self.spare)
        values = {unit.name: unit.encode(codes) for unit in self.drawn}
        counts = {
            unit.name: np.bincount(values[unit.name][is_kept], minlength=unit.radix.combinations)
            for unit in self.drawn
        }
        rows = int(np.count_nonzero(is_spare))
        chosen = _some_below(rows, min(self.candidates, rows), self.noise.stream(number))
        if rows < is_spare.size:
            chosen = np.flatnonzero(is_spare)[chosen]
        chosen_codes = {name: each[chosen] for name, each in values.items()}
        return KeptRows(counts, int(np.count_nonzero(is_kept)), chosen, chosen_codes, rows)


def leave_out(portions: list[KeptRows], number: int, stream: NoiseStream) -> list[KeptRows]:
    """So many rows fewer, every choice of them being equally likely."""
    sizes = np.array([each.rows if each.spare is None else each.spare for each in portions])
    shares = split(sizes, np.zeros(1, np.int64), np.array([number]), stream)
    return [each.without(int(share)) for each, share in zip(portions, shares, strict=True)]


@dataclass(frozen=True, eq=False)
class DecoyShare:
    """What a portion's rows show.

    Parameters
    ----------
    left_out
        Numbers of the portion's rows that are not published although their values are frequent.
    draws
        By name of what is drawn, what the others show.
    """

    left_out: Integers
    draws: dict[str, Draws]


@dataclass(frozen=True, eq=False)
class ShowDecoys:
    """The row phase: each value drawn for a true value is given to one of its rows, at random.

    Parameters
    ----------
    frequent
        Which values are published.
    drawn
        What is drawn at once.
    """

    frequent: Frequent
    drawn: tuple[Drawn, ...]

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[DecoyShare], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """The kept rows with their drawn values."""
        arranged = {
            name: draws.arranged(noise.named(f"decoys of {name}").named("arrangement").stream(portion.number))
            for name, draws in portion.share.draws.items()
        }
        start = 0
        for batch in batches:
            is_kept = _is_frequent(batch.codes, self.frequent, batch.number_of_rows)
            left_out = portion.share.left_out - start
            is_kept[left_out[(left_out >= 0) & (left_out < batch.number_of_rows)]] = False
            start += batch.number_of_rows
            rows = int(np.count_nonzero(is_kept))
            is_whole = rows == batch.number_of_rows
            codes = {name: each if is_whole else each[is_kept] for name, each in batch.codes.items()}
            shown = {
                name: found.astype(codes[name].dtype, copy=False)
                for unit in self.drawn
                for name, found in unit.decode(arranged[unit.name].take(unit.encode(codes)))
            }
            yield CodedBatch({**codes, **shown}, rows)
        if not all(each.is_finished for each in arranged.values()):
            refuse_changed_table()


def _is_frequent(codes: Codes, frequent: Frequent, rows: int | None = None) -> Booleans:
    """Which rows hold frequent values only."""
    is_frequent = np.ones(len(next(iter(codes.values()))) if rows is None else rows, np.bool_)
    for name, of_value in frequent.items():
        is_frequent &= of_value[codes[name]]
    return is_frequent


def _some_below(end: int, number: int, stream: NoiseStream) -> Integers:
    """Different whole numbers below ``end`` in random order; few of many, so repeats are drawn again."""
    chosen: dict[int, None] = {}
    while len(chosen) < number:
        drawn = stream.integers_below(np.full(number - len(chosen), end, np.uint64))
        chosen.update(dict.fromkeys(drawn.tolist()))
    return np.array(list(chosen), np.int64)
