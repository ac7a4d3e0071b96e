"""The phases of SPLU-Gen: which rows are kept and how many hold each value, and the rows themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.quotas import split
from sfumato.chance.randomness import NoiseSource, NoiseStream
from sfumato.data.portions import Portion, in_portions, refuse_changed_table
from sfumato.methods.splu_gen.kernels.decoys import Draws
from sfumato.values.arrays import Booleans, Integers
from sfumato.values.batches import CodedBatch

Codes = Mapping[str, npt.NDArray[Any]]
Frequent = dict[str, Booleans]
"""Attribute to which of its values are frequent enough to be published; others are published all."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The rows of a portion that are published. Private.

    Parameters
    ----------
    counts
        Attribute to the kept rows of each of its values, ``(size,)``.
    rows
        Number of kept rows.
    candidates
        ``(n,)``: numbers of some rows of the portion, drawn at random among those kept, in random order.
    codes
        Attribute to the values of the candidates, ``(n,)``.
    """

    counts: dict[str, Integers]
    rows: int
    candidates: Integers
    codes: dict[str, npt.NDArray[Any]]

    def without(self, number: int) -> KeptRows:
        """The same with the first so many candidates left out; the others are candidates no more."""
        codes = {name: each[:number] for name, each in self.codes.items()}
        counts = {
            name: each - np.bincount(codes[name], minlength=each.size) for name, each in self.counts.items()
        }
        return KeptRows(counts, self.rows - number, self.candidates[:number], codes)


def count_kept(
    batches: Iterable[CodedBatch],
    sizes: Mapping[str, int],
    frequent: Frequent,
    candidates: int,
    noise: NoiseSource,
) -> list[KeptRows]:
    """Count the rows of every portion, and draw so many of each that may yet be left out."""
    portions = []
    for number, portion in enumerate(in_portions(batches)):
        parts = list(portion)
        codes = {name: np.concatenate([each.codes[name] for each in parts]) for name in sizes}
        is_kept = _is_frequent(codes, frequent)
        rows = int(np.count_nonzero(is_kept))
        counts = {name: np.bincount(codes[name][is_kept], minlength=size) for name, size in sizes.items()}
        chosen = _some_below(rows, min(candidates, rows), noise.stream(number))
        if rows < is_kept.size:
            chosen = np.flatnonzero(is_kept)[chosen]
        chosen_codes = {name: each[chosen] for name, each in codes.items()}
        portions.append(KeptRows(counts, rows, chosen, chosen_codes))
    return portions


def leave_out(portions: list[KeptRows], number: int, stream: NoiseStream) -> list[KeptRows]:
    """So many rows fewer, every choice of them being equally likely."""
    sizes = np.array([each.rows for each in portions])
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
        Attribute to what the others show.
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
    """

    frequent: Frequent

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
                name: each.take(codes[name]).astype(codes[name].dtype, copy=False)
                for name, each in arranged.items()
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
