"""A uniformly random subset of the rows of each of many cells, told while rows stream past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.chance.randomness import NoiseStream
from sfumato.values.arrays import Booleans, Integers

BEYOND_ALL = np.iinfo(np.int64).max
"""A position that no row has."""


@dataclass(frozen=True, eq=False)
class ChosenPositions:
    """A uniformly drawn subset of the positions 0..size-1, for each of many cells.

    Of every cell the chosen positions or the others are listed, whichever are fewer; memory is that of the
    shorter lists, never of the rows.

    Parameters
    ----------
    sizes
        ``(cells,)``, positions of each cell.
    lists_chosen
        ``(cells,)``, whether the listed positions are the chosen ones or the others.
    offsets
        ``(cells + 1,)``, where each cell's list begins and ends.
    listed
        The lists end to end, ascending within each.

    Examples
    --------
    >>> from sfumato.chance.randomness import NoiseSource
    >>> stream = NoiseSource.from_operating_system().stream(0)
    >>> chosen = ChosenPositions.draw(np.array([4, 3]), np.array([4, 1]), stream)
    >>> chosen.lists_chosen.tolist(), np.diff(chosen.offsets).tolist()
    ([False, True], [0, 1])
    """

    sizes: Integers
    lists_chosen: Booleans
    offsets: Integers
    listed: Integers

    @classmethod
    def draw(cls, sizes: Integers, quotas: Integers, stream: NoiseStream) -> ChosenPositions:
        """Choose ``quotas`` of ``sizes`` positions in every cell, every subset being equally likely.

        Positions are drawn until there are enough different ones. Nothing in that prefers one position to
        another, so all subsets are equally likely; and as at most half of a cell is ever listed, each
        round finds at least half of what is missing, on average.
        """
        lists_chosen = 2 * quotas <= sizes
        wanted = np.where(lists_chosen, quotas, sizes - quotas)
        # The positions of all cells stand in one line, so that one number says cell and position.
        first = np.cumsum(sizes) - sizes
        listed = np.empty(0, dtype=np.int64)
        pending = np.flatnonzero(wanted)
        missing = wanted[pending]
        while pending.size:
            starts = first[pending]
            drawn = stream.integers_below(np.repeat(sizes[pending], missing)).astype(np.int64)
            drawn = np.sort(drawn + np.repeat(starts, missing))
            drawn = drawn[np.diff(drawn, prepend=-1) > 0]
            place = np.searchsorted(listed, drawn)
            is_new = np.append(listed, -1)[place] != drawn
            listed = np.insert(listed, place[is_new], drawn[is_new])
            owners = np.searchsorted(starts, drawn[is_new], side="right") - 1
            missing = missing - np.bincount(owners, minlength=pending.size)
            pending, missing = pending[missing > 0], missing[missing > 0]
        offsets = np.concatenate([[0], np.cumsum(wanted)])
        return cls(sizes, lists_chosen, offsets, listed - np.repeat(first, wanted))


class PositionReader:
    """Says of rows, as they stream past, whether their positions in their cells are chosen.

    The first row of a cell has position 0, and so on, over all batches. Along every cell's list the reader
    remembers how far the rows have come, so that it never searches.

    Parameters
    ----------
    chosen
        The chosen positions.

    Examples
    --------
    >>> from sfumato.chance.randomness import NoiseSource
    >>> stream = NoiseSource.from_operating_system().stream(0)
    >>> reader = PositionReader(ChosenPositions.draw(np.array([4, 3]), np.array([4, 1]), stream))
    >>> first, second = reader.mark(np.array([0, 0, 1])), reader.mark(np.array([0, 0, 1, 1]))
    >>> int(first[:2].sum() + second[:2].sum()), int(first[2:].sum() + second[2:].sum())
    (4, 1)
    """

    def __init__(self, chosen: ChosenPositions) -> None:
        self.chosen = chosen
        self._seen = np.zeros(chosen.sizes.size, dtype=np.int64)
        # Every list ends with a position that no row reaches, so that its end needs no test.
        self._lists = np.insert(chosen.listed, chosen.offsets[1:], BEYOND_ALL)
        self._place = chosen.offsets[:-1] + np.arange(chosen.sizes.size)
        self._next = self._lists[self._place]

    def mark(self, ascending: Integers) -> Booleans:
        """Whether each row is chosen, from the rows' cells in ascending order."""
        begins = np.flatnonzero(np.diff(ascending, prepend=-1))
        cells = ascending[begins]
        first = self._seen[cells]
        after = first + np.diff(begins, append=ascending.size)
        self._seen[cells] = after
        is_listed = np.zeros(ascending.size, dtype=bool)
        position = self._next[cells]
        active = np.flatnonzero(position < after)
        position = position[active]
        # Each round passes one listed position of every cell that still has one among these rows.
        while active.size:
            is_listed[begins[active] + position - first[active]] = True
            moved = cells[active]
            self._place[moved] += 1
            position = self._lists[self._place[moved]]
            self._next[moved] = position
            is_reached = position < after[active]
            active, position = active[is_reached], position[is_reached]
        return np.asarray(is_listed == self.chosen.lists_chosen[ascending])

    @property
    def is_finished(self) -> bool:
        """As many rows have come of every cell as it has positions."""
        return np.array_equal(self._seen, self.chosen.sizes)
