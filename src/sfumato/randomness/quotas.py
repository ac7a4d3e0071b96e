"""Random subsets of rows, and draws on counts allotted to rows that are read in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Integers, Words
from sfumato.randomness.streams import NoiseStream

# --------------------------------------------------------------------------------------------------
# A uniformly random subset of the rows of each of many cells, told while rows stream past.


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
    >>> from sfumato.randomness.streams import NoiseSource
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
    >>> from sfumato.randomness.streams import NoiseSource
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


# --------------------------------------------------------------------------------------------------
# Dealing what was drawn on counts to rows that are read in parts.
#
# A method that decides by counts how many rows of a cell get which outcome owes the rows nothing but a
# uniformly random choice of which. That choice can be made part by part: how many of each outcome fall to
# each part of the rows is drawn first (:func:`split`, :func:`contingency`), and given that, every part
# arranges its own by itself (:class:`Arrangement`). All of it is exact, in whole numbers.


def split(sizes: Integers, starts: Integers, quotas: Integers, stream: NoiseStream) -> Integers:
    """How many of a cell's chosen rows lie in each of its parts, when every subset is equally likely.

    Parameters
    ----------
    sizes
        ``(parts,)``: rows of each part, the parts of a cell one after the other.
    starts
        ``(cells,)``: where the parts of each cell begin.
    quotas
        ``(cells,)``: rows chosen of each cell.
    stream
        Where the bits come from.

    Returns
    -------
    numpy.ndarray
        ``(parts,)``, adding up to the quotas: multivariate hypergeometric.

    Examples
    --------
    >>> from sfumato.randomness.streams import NoiseSource
    >>> stream = NoiseSource.from_operating_system().stream(0)
    >>> split(np.array([2, 3, 4]), np.array([0, 2]), np.array([5, 0]), stream).tolist()
    [2, 3, 0]
    """
    if not sizes.size:
        return sizes
    totals = np.add.reduceat(sizes, starts)
    parts_of_cell = np.diff(starts, append=sizes.size)
    # A cell of one part leaves nothing to choose.
    chosen = ChosenPositions.draw(totals, np.where(parts_of_cell > 1, quotas, totals), stream)
    # All cells' rows in one line: a listed position belongs to the part that it falls into.
    first = np.cumsum(totals) - totals
    places = np.repeat(first, np.diff(chosen.offsets)) + chosen.listed
    listed = np.bincount(np.searchsorted(np.cumsum(sizes), places, side="right"), minlength=sizes.size)
    shares = np.where(np.repeat(chosen.lists_chosen, parts_of_cell), listed, sizes - listed)
    alone = starts[parts_of_cell == 1]
    shares[alone] = quotas[parts_of_cell == 1]
    return shares


def contingency(parts: Integers, outcomes: Integers, stream: NoiseStream) -> Integers:
    """How many rows of each part get each outcome, when every assignment is equally likely.

    Parameters
    ----------
    parts
        ``(parts,)``: rows of each part.
    outcomes
        ``(outcomes,)``: rows that get each outcome; as many in all.
    stream
        Where the bits come from; none are used where there is nothing to choose.

    Returns
    -------
    numpy.ndarray
        ``(parts, outcomes)``, with these sums.

    Examples
    --------
    >>> from sfumato.randomness.streams import NoiseSource
    >>> stream = NoiseSource.from_operating_system().stream(0)
    >>> contingency(np.array([2, 3]), np.array([4, 1]), stream).sum(axis=0).tolist()
    [4, 1]
    """
    if np.count_nonzero(parts) <= 1:
        return np.where(parts[:, np.newaxis] > 0, outcomes, 0)
    if np.count_nonzero(outcomes) <= 1:
        return np.where(outcomes > 0, parts[:, np.newaxis], 0)
    dealt = _repeated(np.arange(outcomes.size), outcomes)[stream.permutation(int(outcomes.sum()))]
    rows = np.split(dealt, np.cumsum(parts)[:-1])
    return np.stack([np.bincount(each, minlength=outcomes.size) for each in rows])


class Arrangement:
    """The outcomes of each cell's rows in uniformly random order, handed out as the rows come.

    Parameters
    ----------
    cells, outcomes, numbers
        ``(n,)`` each: so many rows of the cell get the outcome; cells increasing.
    size
        Number of cells.
    stream
        Where the order comes from.

    Examples
    --------
    >>> from sfumato.randomness.streams import NoiseSource
    >>> one, two = np.array([0, 0, 2]), np.array([7, 8, 9])
    >>> dealt = Arrangement(one, two, np.array([1, 1, 2]), 3, NoiseSource.from_operating_system().stream(0))
    >>> sorted(dealt.take(np.array([2, 0, 0])).tolist()), dealt.is_finished
    ([7, 8, 9], False)
    """

    def __init__(
        self, cells: Integers, outcomes: npt.NDArray[Any], numbers: Integers, size: int, stream: NoiseStream
    ) -> None:
        counts = np.zeros(size, np.int64)
        np.add.at(counts, cells, numbers)
        self._ends = np.cumsum(counts)
        self._next = self._ends - counts
        # A cell that was not counted must find something to hand out; the end of the rows is then refused.
        listed = _repeated(outcomes, numbers)
        self._listed = np.append(listed, np.zeros(1, listed.dtype))
        self._has_one_outcome = np.unique(outcomes).size == 1
        several = np.flatnonzero(np.bincount(cells, minlength=size) > 1)
        for start, end in zip(self._next[several].tolist(), self._ends[several].tolist(), strict=True):
            self._listed[start:end] = self._listed[start:end][stream.permutation(end - start)]

    def take(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Outcomes of the next rows, from the rows' cells."""
        came = np.bincount(cells, minlength=self._next.size)
        first = self._next - (np.cumsum(came) - came)
        self._next += came
        if self._has_one_outcome:
            return np.full(cells.size, self._listed[0])
        # Cells are small integers, so this is a counting sort.
        order = np.argsort(cells, kind="stable")
        places = np.repeat(first, came) + np.arange(cells.size)
        taken = np.empty(cells.size, self._listed.dtype)
        taken[order] = self._listed.take(places, mode="clip")
        return taken

    @property
    def is_finished(self) -> bool:
        """As many rows have come of every cell as there were outcomes for it."""
        return np.array_equal(self._next, self._ends)


def drawn_of_each(units: Integers, words: Words, most: int) -> Integers:
    """Places of at most so many rows of each unit, those of the smallest words: every choice is equally likely.

    Parameters
    ----------
    units
        ``(rows,)``, whose each row is.
    words
        ``(rows,)``, independent and uniform; of equal ones, of which there are hardly any, the first counts.
    most
        Rows of a unit.

    Examples
    --------
    >>> drawn_of_each(np.array([7, 9, 7, 7]), np.array([5, 1, 2, 8], np.uint64), 2).tolist()
    [0, 1, 2]
    """
    order = np.lexsort((words, units))
    of_order = units[order]
    starts = np.flatnonzero(np.r_[True, of_order[1:] != of_order[:-1]][: units.size])
    rank = np.arange(units.size) - np.repeat(starts, np.diff(np.r_[starts, units.size]))
    return np.sort(order[rank < most])


def _repeated(items: npt.NDArray[Any], numbers: Integers) -> npt.NDArray[Any]:
    """Items so many times each, in the smallest type that holds them."""
    return np.repeat(items.astype(np.min_scalar_type(int(items.max(initial=0)))), numbers)
