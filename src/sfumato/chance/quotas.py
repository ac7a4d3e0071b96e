"""Dealing what was drawn on counts to rows that are read in parts.

A method that decides by counts how many rows of a cell get which outcome owes the rows nothing but a
uniformly random choice of which. That choice can be made part by part: how many of each outcome fall to
each part of the rows is drawn first (:func:`split`, :func:`contingency`), and given that, every part
arranges its own by itself (:class:`Arrangement`). All of it is exact, in whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.chosen_positions import ChosenPositions
from sfumato.chance.randomness import NoiseStream
from sfumato.values.arrays import Integers


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
    >>> from sfumato.chance.randomness import NoiseSource
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
    >>> from sfumato.chance.randomness import NoiseSource
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
    >>> from sfumato.chance.randomness import NoiseSource
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


def _repeated(items: npt.NDArray[Any], numbers: Integers) -> npt.NDArray[Any]:
    """Items so many times each, in the smallest type that holds them."""
    return np.repeat(items.astype(np.min_scalar_type(int(items.max(initial=0)))), numbers)
