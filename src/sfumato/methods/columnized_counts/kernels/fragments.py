"""Fragments: what a unit has in one column, and how many units have exactly the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource
from sfumato.methods.columnized_counts.kernels.units import SparseUnits, rank_within
from sfumato.values.arrays import Booleans, Integers, Words
from sfumato.values.mixed_radix import MixedRadix


@dataclass(frozen=True, eq=False)
class Fragments:
    """Fragments of all columns, sorted by column; units that have nothing in a column have none there.

    Parameters
    ----------
    column, unit
        ``(fragments,)``.
    starts, ends
        ``(fragments,)`` places in ``items`` and ``values``.
    items, values
        Codes of the entries, fragment by fragment.
    """

    column: Integers
    unit: Integers
    starts: Integers
    ends: Integers
    items: npt.NDArray[Any]
    values: npt.NDArray[Any]

    def __repr__(self) -> str:
        return "Fragments()"

    def keep(self, chosen: Booleans) -> Fragments:
        """Some of the fragments; entries stay where they are."""
        return Fragments(
            self.column[chosen],
            self.unit[chosen],
            self.starts[chosen],
            self.ends[chosen],
            self.items,
            self.values,
        )


@dataclass(frozen=True, eq=False)
class FragmentCounts:
    """Different fragments with the number of units that have each; private until noise is on the counts."""

    fragments: Fragments
    counts: Integers

    def __repr__(self) -> str:
        return "FragmentCounts()"


def cut_into_fragments(units: SparseUnits, columns: Sequence[Sequence[int]]) -> Fragments:
    """Cut every unit into its fragments; overlapping columns give an entry to several of them.

    Examples
    --------
    >>> units = SparseUnits.from_triples(["a", "b"], [0, 0, 1], [0, 2, 1], [4, 1, 3], 3, 5)
    >>> cut = cut_into_fragments(units, [(0, 1), (2,)])
    >>> cut.column.tolist(), cut.unit.tolist()
    ([0, 0, 1], [0, 1, 0])
    """
    of_entry = units.units()
    parts: list[tuple[Integers, Integers, Integers, npt.NDArray[Any], npt.NDArray[Any]]] = []
    for first, column_of_item in _cuts(columns, units.number_of_items):
        column = column_of_item[units.items]
        order = np.argsort(column, kind="stable")
        # Items outside every column of this cut sort last.
        order = order[: np.count_nonzero(column != np.iinfo(column.dtype).max)]
        column, unit = column[order].astype(np.int64), of_entry[order]
        is_start = np.ones(order.size, np.bool_)
        is_start[1:] = (column[1:] != column[:-1]) | (unit[1:] != unit[:-1])
        starts = np.flatnonzero(is_start)
        parts.append((column[starts] + first, unit[starts], starts, units.items[order], units.values[order]))
    return _end_to_end(parts)


def _cuts(columns: Sequence[Sequence[int]], items: int) -> list[tuple[int, npt.NDArray[Any]]]:
    """Runs of consecutive columns without a common item, each as first column and column of every item."""
    runs: list[tuple[int, Integers]] = []
    nowhere = -1
    for number, column in enumerate(columns):
        chosen = np.asarray(column, np.int64)
        if not runs or (runs[-1][1][chosen] != nowhere).any():
            runs.append((number, np.full(items, nowhere)))
        runs[-1][1][chosen] = number - runs[-1][0]
    result = []
    for first, of_item in runs:
        # Small unsigned numbers are sorted by counting; the largest stands for no column.
        kind = np.min_scalar_type(int(of_item.max()) + 1)
        result.append((first, np.where(of_item == nowhere, np.iinfo(kind).max, of_item).astype(kind)))
    return result


def _end_to_end(
    parts: Sequence[tuple[Integers, Integers, Integers, npt.NDArray[Any], npt.NDArray[Any]]],
) -> Fragments:
    offsets = np.cumsum([0, *(part[3].size for part in parts)])
    pairs = list(zip(parts, offsets[:-1].tolist(), strict=True))
    starts = np.concatenate([part[2] + offset for part, offset in pairs])
    return Fragments(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        starts,
        np.append(starts[1:], offsets[-1]),
        np.concatenate([part[3] for part in parts]),
        np.concatenate([part[4] for part in parts]),
    )


def truncate(fragments: Fragments, column_budget: int, words: Words) -> Fragments:
    """At most so many fragments of every unit: those with the smallest words.

    With secret uniform words the choice is uniform. That breaks the pointwise form of differential privacy
    and keeps the additive one; words that depend on the unit's public name alone keep both.

    Examples
    --------
    >>> units = SparseUnits.from_triples(["a"], [0, 0], [0, 1], [0, 0], 2, 1)
    >>> cut = cut_into_fragments(units, [(0,), (1,)])
    >>> truncate(cut, 1, np.array([7, 3], np.uint64)).column.tolist()
    [1]
    """
    return fragments.keep(rank_within(fragments.unit, words) < column_budget)


def keyed_words(fragments: Fragments, names: Sequence[str], key: str) -> Words:
    """A word for every fragment from a public key, the unit's name and the column, and nothing else.

    Examples
    --------
    >>> units = SparseUnits.from_triples(["a"], [0, 0], [0, 1], [0, 0], 2, 1)
    >>> cut = cut_into_fragments(units, [(0,), (1,)])
    >>> bool((keyed_words(cut, ["a"], "2024") == keyed_words(cut, ["a"], "2024")).all())
    True
    """
    secret = hashlib.sha256(key.encode()).digest()
    digests = (hashlib.blake2b(name.encode(), digest_size=8, key=secret).digest() for name in names)
    of_unit = np.frombuffer(b"".join(digests), np.uint64)
    # The finalizer of splitmix64: one word a unit becomes one a unit and column.
    mixed = of_unit[fragments.unit] + (fragments.column.astype(np.uint64) + np.uint64(1)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def count_fragments(fragments: Fragments, number_of_values: int, noise: NoiseSource) -> FragmentCounts:
    """Different fragments of every column with the number of units that have exactly that.

    Fragments are compared by two sums of secret random words, one word for each item and value: two
    different fragments agree with probability 2**-128.

    Examples
    --------
    >>> units = SparseUnits.from_triples(["a", "b"], [0, 1], [0, 0], [4, 4], 1, 5)
    >>> cut = cut_into_fragments(units, [(0,)])
    >>> count_fragments(cut, 5, NoiseSource.from_operating_system()).counts.tolist()
    [2]
    """
    if not fragments.column.size:
        return FragmentCounts(fragments, np.zeros(0, np.int64))
    pairs = MixedRadix([int(fragments.items.max()) + 1, number_of_values]).encode(
        [fragments.items, fragments.values]
    )
    places = np.stack([fragments.starts, fragments.ends], axis=1).ravel()
    sums = []
    for number in range(2):
        words = noise.named("fragments").stream(number).words(int(pairs.max()) + 1)
        # The last end is one past the array; a zero there makes it a place.
        entries = np.append(words[pairs], np.uint64(0))
        sums.append(np.add.reduceat(entries, places)[::2])
    order = np.lexsort((sums[1], sums[0], fragments.column))
    is_new = np.zeros(order.size, np.bool_)
    is_new[0] = True
    for each in (fragments.column, *sums):
        ordered = each[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    firsts = np.flatnonzero(is_new)
    chosen = np.zeros(order.size, np.bool_)
    chosen[order[firsts]] = True
    counts = np.zeros(order.size, np.int64)
    counts[order[firsts]] = np.diff(np.append(firsts, order.size))
    return FragmentCounts(fragments.keep(chosen), counts[chosen])
