"""Drawing decoys: every row shows a value drawn uniformly from the different values of its group.

Groups are never published, and the rows of a value were dealt to the groups that hold it in random order.
So what the rows of a value show is, in distribution, a uniformly random arrangement of the values drawn for
them: their numbers can be drawn from counts alone, and no row has to be held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.chance.composition import Composition
from sfumato.chance.partition import Partition, compose_groups
from sfumato.chance.quotas import Arrangement, contingency
from sfumato.chance.randomness import NoiseSource, NoiseStream
from sfumato.chance.together import compose_together
from sfumato.values.arrays import Integers
from sfumato.values.mixed_radix import MixedRadix

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
