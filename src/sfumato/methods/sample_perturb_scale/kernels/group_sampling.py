"""Drawing a limited number of rows from every group, exactly and while rows stream past.

Three draws, all in whole numbers: how many rows of each sensitive value a group keeps (quotas), which rows
those are (positions among the rows of the cell, in whatever order they come), and how many times each kept
row stands in the release (copies).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.chance.exact_distributions import NUMBER_OF_WORDS
from sfumato.chance.randomness import NoiseSource, NoiseStream
from sfumato.data.personal_groups import PersonalGroups, refuse_changed_table
from sfumato.guarantees.reconstruction_privacy.guarantee import ReconstructionPrivacy
from sfumato.values.arrays import Booleans, Floats, Integers

BEYOND_ALL = np.iinfo(np.int64).max
"""A position that no row has."""


def strict_group_sizes(groups: PersonalGroups, promise: ReconstructionPrivacy) -> Integers:
    """Rows that each group keeps under its own cap, such that no rounding of its quotas breaks the promise.

    A sample of n rows may hold ``ceil(n f)`` rows of the most frequent value, a frequency slightly above the
    group's f, and must pass the test at that one.
    """
    sizes = groups.sizes
    kept = np.minimum(sizes, promise.group_caps(groups.counts, groups.starts).astype(np.int64))
    if promise.bound == "exact":
        # Both roundings of every value were tried already.
        return np.asarray(kept)
    largest = np.maximum.reduceat(groups.counts, groups.starts)
    pending = np.flatnonzero(kept < sizes)
    while pending.size:
        rounded_up = -(-kept[pending] * largest[pending] // sizes[pending])
        limits = promise.caps_at(rounded_up / kept[pending])
        failed = kept[pending] > limits
        pending = pending[failed]
        # The uniform cap passes at every frequency, so this ends there at the latest.
        kept[pending] = np.maximum(promise.uniform_cap, limits[failed].astype(np.int64))
    return np.asarray(kept)


def fixed_size_quotas(groups: PersonalGroups, kept: Integers, stream: NoiseStream) -> Integers:
    """Rows to keep of each cell, adding up to ``kept`` in every group; unbiased.

    A cell with c of its group's N rows gets ``c n / N`` rounded down or up, so that its expectation is
    exactly that: with u uniform on 0..N-1 and C the rows of the group's cells up to this one, in a random
    order, the quotas are the steps of ``floor((C n + u) / N)``.

    Parameters
    ----------
    groups
        The cells.
    kept
        ``(groups,)``, rows n that each group keeps; at most its size.
    """
    sizes, group_of_cell = groups.sizes, groups.group_of_cell
    offsets = stream.integers_below(sizes).astype(np.int64)
    # In a random order of each group's cells; in a fixed one, cells two steps apart would be rounded up together.
    order = np.lexsort((stream.words(groups.counts.size), group_of_cell))
    counts = groups.counts[order]
    up_to = np.cumsum(counts)
    up_to -= (up_to[groups.starts] - counts[groups.starts])[group_of_cell]
    n, size, offset = kept[group_of_cell], sizes[group_of_cell], offsets[group_of_cell]
    quotas = np.empty_like(counts)
    quotas[order] = (up_to * n + offset) // size - ((up_to - counts) * n + offset) // size
    return quotas


def independent_quotas(groups: PersonalGroups, caps: Floats, stream: NoiseStream) -> Integers:
    """Rows to keep of each cell, each rounded up or down by itself (Han 2016, algorithm of section 4.3).

    The total of a group is near its cap and may exceed it. A group that would lose all its rows keeps one,
    drawn uniformly from them.

    Parameters
    ----------
    groups
        The cells.
    caps
        ``(groups,)``, the largest sizes s_g; groups up to their cap are kept whole.
    """
    sizes, group_of_cell = groups.sizes, groups.group_of_cell
    rate = np.minimum(1.0, caps / sizes)[group_of_cell]
    expected = groups.counts * rate
    whole = np.floor(expected)
    # A double below 1 is at most 1 - 2^-53, so the product stays below 2^64.
    thresholds = ((expected - whole) * float(NUMBER_OF_WORDS)).astype(np.uint64)
    quotas = whole.astype(np.int64) + (stream.words(expected.size) < thresholds)
    emptied = np.flatnonzero(np.add.reduceat(quotas, groups.starts) == 0)
    if emptied.size:
        row = stream.integers_below(sizes[emptied]).astype(np.int64)
        before = np.cumsum(groups.counts) - groups.counts
        first = groups.starts[emptied]
        quotas[np.searchsorted(before, before[first] + row, side="right") - 1] = 1
    return np.minimum(quotas, groups.counts)


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
        offsets = np.concatenate([[0], np.cumsum(wanted)])
        listed = np.empty(offsets[-1], dtype=np.int64)
        pending = np.flatnonzero(wanted)
        owners, places = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        missing = wanted[pending]
        while pending.size:
            lacking = np.repeat(np.arange(pending.size), missing)
            drawn = stream.integers_below(sizes[pending[lacking]]).astype(np.int64)
            owners, places = np.concatenate([owners, lacking]), np.concatenate([places, drawn])
            order = np.lexsort((places, owners))
            owners, places = owners[order], places[order]
            is_new = np.append(True, (np.diff(owners) != 0) | (np.diff(places) != 0))
            owners, places = owners[is_new], places[is_new]
            missing = wanted[pending] - np.bincount(owners, minlength=pending.size)
            # Complete lists are put away; only the others are looked at again.
            is_complete = missing == 0
            done = is_complete[owners]
            first = np.searchsorted(owners, owners[done])
            listed[offsets[pending[owners[done]]] + np.flatnonzero(done) - first] = places[done]
            renumbered = np.cumsum(~is_complete) - 1
            owners, places = renumbered[owners[~done]], places[~done]
            pending, missing = pending[~is_complete], missing[~is_complete]
        return cls(sizes, lists_chosen, offsets, listed)


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


class GroupSampler:
    """Says of each row that streams past whether it is kept, and how many copies of it are published.

    Parameters
    ----------
    groups
        The counted cells.
    quotas
        ``(cells,)``, rows to keep of each.
    has_exact_sizes
        True when the copies of a group's rows add up to the group's size exactly; otherwise every row is
        rounded by itself, as in the thesis, and they do on average only.
    noise
        Where the draws come from.
    """

    def __init__(
        self, groups: PersonalGroups, quotas: Integers, *, has_exact_sizes: bool, noise: NoiseSource
    ) -> None:
        self.noise = noise
        self.group_of_cell = groups.group_of_cell
        self.kept = np.asarray(np.add.reduceat(quotas, groups.starts))
        # N = n floor(N/n) + r: all kept rows stand floor(N/n) times, r of them once more.
        self.whole, self.remainder = np.divmod(groups.sizes, self.kept)
        self.rows = PositionReader(
            ChosenPositions.draw(groups.counts, quotas, noise.named("which rows").stream(0))
        )
        self.one_more: PositionReader | None = None
        if has_exact_sizes:
            stream = noise.named("one more copy").stream(0)
            self.one_more = PositionReader(ChosenPositions.draw(self.kept, self.remainder, stream))

    def take(self, ascending: Integers, batch_number: int) -> tuple[Booleans, Integers]:
        """Which rows of a batch are kept, and the number of copies of each that is.

        Parameters
        ----------
        ascending
            ``(rows,)``, the cells of the batch's rows in ascending order.

        Returns
        -------
        tuple
            Whether each row is kept, ``(rows,)``, and the copies of those kept, in the same order.
        """
        is_kept = self.rows.mark(ascending)
        group = self.group_of_cell[ascending[is_kept]]
        if self.one_more is not None:
            more = self.one_more.mark(group)
        else:
            stream = self.noise.named("copies").stream(batch_number)
            more = stream.integers_below(self.kept[group]) < self.remainder[group].astype(np.uint64)
        return is_kept, self.whole[group] + more

    def finish(self) -> None:
        """Refuse a table of which fewer rows came than were counted, or more; nothing is published then."""
        if not self.rows.is_finished:
            refuse_changed_table()
