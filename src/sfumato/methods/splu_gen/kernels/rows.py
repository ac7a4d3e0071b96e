"""The phases of SPLU-Gen: which rows are kept and how many hold each value, and the rows themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.quotas import split
from sfumato.chance.randomness import NoiseSource, NoiseStream
from sfumato.data.portions import Portion, refuse_changed_table
from sfumato.methods.splu_gen.kernels.decoys import Draws
from sfumato.values.arrays import Booleans, Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.mixed_radix import MixedRadix

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
