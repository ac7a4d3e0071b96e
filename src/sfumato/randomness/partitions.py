"""Random partitions of rows into small groups of distinct sensitive values."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Floats, Integers
from sfumato.errors import ParameterError, TooLargeError
from sfumato.randomness.conditional_poisson import fit_weights
from sfumato.randomness.streams import NoiseStream, code_dtype

# --------------------------------------------------------------------------------------------------
# Groups of different values, before any row is dealt to them.


Groups = npt.NDArray[Any]
"""Numbers of groups; the smaller integer type where there are many."""


@dataclass(frozen=True, eq=False)
class Composition:
    """Which values each group holds. It is made from counts alone: no row has a part in it.

    Parameters
    ----------
    members
        For each value, the increasing numbers of the groups that hold it.
    number_of_groups
        Groups, numbered from 0.
    """

    members: tuple[Groups, ...]
    number_of_groups: int

    def labelled(self, stream: NoiseStream) -> Composition:
        """The same groups with numbers that say nothing of how they were made."""
        labels = stream.permutation(self.number_of_groups).astype(np.int32)
        return Composition(ascending([labels[each] for each in self.members]), self.number_of_groups)

    def block(self, first: int, end: int) -> Composition:
        """Some consecutive groups by themselves, numbered from 0."""
        if (first, end) == (0, self.number_of_groups):
            return self
        held = (each[slice(*np.searchsorted(each, (first, end)))] - first for each in self.members)
        return Composition(tuple(held), end - first)

    @property
    def counts(self) -> Integers:
        """Groups that hold each value, ``(values,)``."""
        return np.array([each.size for each in self.members])

    def values_by_group(self) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The values of the groups, group after group and increasing in each."""
        bits = len(self.members).bit_length()
        # Group and value in one number: sorting numbers takes a fraction of the time of sorting indices.
        places = [each.astype(np.int64) << bits | value for value, each in enumerate(self.members)]
        return (np.sort(np.concatenate(places)) & (1 << bits) - 1).astype(code_dtype(len(places)))

    def deal(self, codes: npt.NDArray[Any], stream: NoiseStream) -> npt.NDArray[np.int32]:
        """Deal the rows of each value, in random order, to the groups that hold the value.

        Parameters
        ----------
        codes
            Value of each row, ``(rows,)``; every value as often as groups hold it.
        stream
            Where the bits come from.

        Returns
        -------
        numpy.ndarray
            ``(rows,)``: the group of each row.
        """
        # Codes are small integers, so this is a counting sort.
        by_value = np.argsort(codes, kind="stable")
        groups = np.empty(len(codes), np.int32)
        start = 0
        for holding in self.members:
            rows = by_value[start : start + len(holding)]
            groups[rows] = holding[stream.permutation(len(holding))]
            start += len(holding)
        return groups


def ascending(members: list[Groups]) -> tuple[Groups, ...]:
    """The same groups in ascending order, sorted where they are: they are as many as rows."""
    short = tuple(each.astype(np.int32, copy=False) for each in members)
    for each in short:
        each.sort()
    return short


# --------------------------------------------------------------------------------------------------
# Rows into small groups whose members all hold different values of one attribute.
#
# Anatomy publishes such groups, decoy methods draw from them. Which rows meet is decided by the values
# of that one attribute and by secret bits alone: no other column, and not the order of the file, has a
# part in it. Within a value, every assignment of its rows to the places the value got is equally likely.


Partition = Literal["mixed", "largest-first"]
"""``mixed``: close to a uniformly random valid partition, in time linear in rows and
values. ``largest-first``: the groups of Xiao and Tao (2006), ties broken at random; a step for each group."""

MOST_GROUPS = 100_000_000
"""Groups that are held at once: about a gigabyte."""

SWAP_ROUNDS = 30
"""Swap rounds that a mixed partition of few groups gets."""

SWAP_ROUNDS_FROM_LARGEST_FIRST = 100
"""Swap rounds when groups had to be made largest first, which is far from random."""

MOST_GROUPS_TO_SWAP = 50_000
"""Groups beyond which a mixed partition is as drawn: the moves that its totals needed then touch less than
one place in a hundred."""

COINS_OF_A_JUMP = 16
"""Coins for each place of a group beyond which heads are found by search instead of coin by coin."""

ROUNDS_OF_FIT = 500
"""Rounds after which the fit of the design's weights stops; a few dozen reach machine precision."""


def largest_group_size(counts: npt.ArrayLike) -> int:
    """The largest group size for which groups of different values exist: all rows over the largest count.

    Examples
    --------
    >>> largest_group_size([3, 3, 2, 1])
    3
    """
    numbers = np.asarray(counts)
    return int(numbers.sum() // max(int(numbers.max(initial=0)), 1))


def group_sizes(number_of_rows: int, group_size: int) -> Integers:
    """Size of every group: ``group_size``, or one more where it does not divide the rows.

    Fewer rows than ``group_size`` squared may need groups that are larger still; they stay as equal as
    they can be.

    Examples
    --------
    >>> group_sizes(11, 3).tolist()
    [4, 4, 3]
    """
    number_of_groups = number_of_rows // group_size
    if number_of_groups > MOST_GROUPS:
        raise TooLargeError(
            f"{number_of_groups:,} groups of {group_size:,} rows do not fit in memory; {MOST_GROUPS:,} do. "
            "Make groups larger, or take fewer rows."
        )
    base, larger = divmod(number_of_rows, number_of_groups)
    return np.repeat(np.array([base + 1, base]), [larger, number_of_groups - larger])


def compose_groups(
    counts: npt.ArrayLike, group_size: int, stream: NoiseStream, *, kind: Partition = "mixed"
) -> Composition:
    """Groups of different values that use up the rows of every value.

    Parameters
    ----------
    counts
        Rows of each value, ``(values,)``.
    group_size
        Members of a group; some groups get one more where it does not divide the rows.
    stream
        Where the bits come from; it is used up as needed.
    kind
        How groups are made.

    Raises
    ------
    ParameterError
        When a value is too frequent: it would meet itself in some group. The value is not named.

    Examples
    --------
    >>> from sfumato.randomness.streams import NoiseSource
    >>> groups = compose_groups([2, 2, 2], 3, NoiseSource.seeded(1).stream(0))
    >>> [each.tolist() for each in groups.members]
    [[0, 1], [0, 1], [0, 1]]
    """
    numbers = np.asarray(counts)
    largest = largest_group_size(numbers)
    if group_size < 1 or largest < group_size:
        raise ParameterError(
            f"groups of {group_size} different values do not exist: some value is held by more than one row "
            f"in {group_size}. The largest group size that works is {largest}. Lower the group size.",
            parameter="group_size",
        )
    sizes = group_sizes(int(numbers.sum()), group_size)
    members = None if kind == "largest-first" else _draw_members(numbers, sizes, stream)
    rounds = SWAP_ROUNDS if len(sizes) <= MOST_GROUPS_TO_SWAP else 0
    if members is None:
        members = _largest_first(numbers, group_size, stream)
        rounds = 0 if kind == "largest-first" else SWAP_ROUNDS_FROM_LARGEST_FIRST
    if rounds:
        members = _swap(members, len(sizes), stream, rounds)
    return Composition(ascending(members), len(sizes))


def partition_rows(
    codes: npt.NDArray[Any],
    number_of_values: int,
    group_size: int,
    stream: NoiseStream,
    *,
    kind: Partition = "mixed",
) -> npt.NDArray[np.int32]:
    """Give every row a group, so that the rows of a group hold different values.

    Parameters
    ----------
    codes
        Value of each row, ``(rows,)``, whole numbers below ``number_of_values``.
    number_of_values
        Values that the attribute can take.
    group_size, stream, kind
        As in :func:`compose_groups`.

    Returns
    -------
    numpy.ndarray
        ``(rows,)``: the group of each row, numbered from 0 in an order that says nothing.

    Examples
    --------
    >>> from sfumato.randomness.streams import NoiseSource
    >>> groups = partition_rows(np.array([0, 0, 1, 1, 2, 2]), 3, 3, NoiseSource.seeded(1).stream(0))
    >>> np.bincount(groups).tolist()
    [3, 3]
    """
    counts = np.bincount(codes, minlength=number_of_values)
    return compose_groups(counts, group_size, stream, kind=kind).labelled(stream).deal(codes, stream)


def _largest_first(counts: Integers, group_size: int, stream: NoiseStream) -> list[Groups]:
    """For each value, the groups that hold it: always one row of each of the most frequent values left.

    References
    ----------
    Xiao and Tao (2006), figure 2. A fresh random number breaks ties, because ties broken by the order of
    the values leave the matrix of groups and values without full rank.
    """
    ties = iter(stream.words(int(counts.sum()) + len(counts)).tolist())
    waiting = [(-int(count), next(ties), value) for value, count in enumerate(counts) if count]
    heapq.heapify(waiting)
    members: list[list[int]] = [[] for _ in counts]
    number = 0
    while len(waiting) >= group_size:
        chosen = [heapq.heappop(waiting) for _ in range(group_size)]
        for count, _, value in chosen:
            members[value].append(number)
            if count < -1:
                heapq.heappush(waiting, (count + 1, next(ties), value))
        number += 1
    groups = [np.array(each, np.int64) for each in members]
    sizes = np.full(number, group_size)
    for count, _, value in waiting:
        for _ in range(-count):
            # A left-over row joins a smallest group that lacks its value.
            is_open = np.ones(number, np.bool_)
            is_open[groups[value]] = False
            lacking = np.flatnonzero(is_open)
            smallest = lacking[sizes[lacking] == sizes[lacking].min()]
            joined = smallest[int(stream.integers_below([len(smallest)])[0])]
            groups[value] = np.append(groups[value], joined)
            sizes[joined] += 1
    _level(groups, sizes, stream)
    return groups


def _level(groups: list[Groups], sizes: Integers, stream: NoiseStream) -> None:
    """Move values from the largest to the smallest groups until sizes differ by one at most.

    Left-over rows of values that are in nearly every group may have had only one group to join. A larger
    group always holds a value that a smaller one lacks.
    """
    while sizes.max() - sizes.min() > 1:
        source, target = int(sizes.argmax()), int(sizes.argmin())
        movable = [
            value for value, holding in enumerate(groups) if source in holding and target not in holding
        ]
        value = movable[int(stream.integers_below([len(movable)])[0])]
        groups[value][groups[value] == source] = target
        sizes[source] -= 1
        sizes[target] += 1


def _numbers_of_heads(coins: Floats, size: int) -> Floats:
    """``[v, r]``: probability of r heads among the first v coins, ``(values + 1, size + 1)``."""
    table = np.zeros((len(coins) + 1, size + 1))
    table[0, 0] = 1
    for place, coin in enumerate(coins):
        table[place + 1] = table[place] * (1 - coin)
        table[place + 1, 1:] += table[place, :-1] * coin
    return table


def _draw_members(counts: Integers, sizes: Integers, stream: NoiseStream) -> list[Groups] | None:
    """Groups drawn from the conditional Poisson design, then moved to the exact counts; None when stuck.

    A uniformly random valid partition is a uniformly random 0/1 matrix with given row and column sums.
    Its rows behave as draws of the maximum-entropy design of fixed size: independent coins, conditioned on
    the number of heads.

    The drawn totals miss the counts by about a square root, so that the share of places that must be moved
    goes to zero as groups become many.
    """
    number_of_groups = len(sizes)
    members: list[Groups] = [np.empty(0, np.int32) for _ in counts]
    everywhere = np.flatnonzero(counts == number_of_groups)
    for value in everywhere:
        members[value] = np.arange(number_of_groups, dtype=np.int32)
    free = np.flatnonzero((counts > 0) & (counts < number_of_groups))
    open_places = sizes - len(everywhere)
    if len(free) == 0:
        return members
    # Any weights will do: what the draw misses is moved. Better ones leave less to move.
    weights, _ = fit_weights(counts[free] / number_of_groups, open_places, rounds=ROUNDS_OF_FIT)
    coins = weights / (1 + weights)
    drawn = _draw_design(coins, open_places, stream)
    for value, groups in zip(free, drawn, strict=True):
        members[value] = groups
    return members if _repair(members, counts, number_of_groups, stream) else None


def _draw_design(coins: Floats, sizes: Integers, stream: NoiseStream) -> list[Groups]:
    """For each coin, the groups that hold it: coins of each group, given that as many are heads as it has places."""
    largest = int(sizes.max())
    later = _numbers_of_heads(coins[::-1], largest)[::-1]
    if len(coins) > COINS_OF_A_JUMP * largest:
        return _jump(coins, sizes, later, stream)
    return _flip(coins, sizes, later, stream)


def _flip(coins: Floats, sizes: Integers, later: Floats, stream: NoiseStream) -> list[Groups]:
    """Coin after coin for all groups at once, each given how many heads a group still needs."""
    needed = sizes.astype(np.int16)
    drawn = []
    for place, coin in enumerate(coins):
        # P(heads now | r of the coins from here on are heads) = coin * P(r - 1 later) / P(r from here on).
        ways = later[place]
        chance = np.zeros(len(ways))
        np.divide(coin * later[place + 1, :-1], ways[1:], out=chance[1:], where=ways[1:] > 0)
        uniform = (stream.words(len(sizes)) >> np.uint64(11)) * 2.0**-53
        is_in = uniform < chance[needed]
        needed -= is_in
        drawn.append(np.flatnonzero(is_in).astype(np.int32))
    return drawn


def _jump(coins: Floats, sizes: Integers, later: Floats, stream: NoiseStream) -> list[Groups]:
    """Head after head for all groups at once: from one straight to the next, over all the tails between.

    The time follows the places of all groups, however many coins there are.
    """
    # P(no head before j | r heads from i on) = G(j) / G(i), where G(j) = P(tails up to j) P(r heads from j on).
    tails = np.concatenate(([0.0], np.cumsum(np.log1p(-coins))))
    with np.errstate(divide="ignore"):
        # Of the other sign, and so increasing; where rounding says otherwise, level.
        falling = np.maximum.accumulate(-(tails[:, np.newaxis] + np.log(later)), axis=0)
    place = np.zeros(len(sizes), np.int64)
    places, groups = [], []
    for needed in range(int(sizes.max()), 0, -1):
        # Groups of unequal sizes begin one after the other.
        drawing = np.flatnonzero(sizes >= needed)
        # Never 0, so that its logarithm is a number.
        uniform = ((stream.words(len(drawing)) >> np.uint64(11)) + 1) * 2.0**-53
        reached = falling[place[drawing], needed] - np.log(uniform)
        heads = np.searchsorted(falling[:, needed], reached, side="right") - 1
        # Beyond this there are not enough coins left; only a rounding error could lead there.
        heads = np.minimum(heads, len(coins) - needed)
        place[drawing] = heads + 1
        places.append(heads)
        groups.append(drawing.astype(np.int32))
    found = np.concatenate(places)
    order = np.argsort(found, kind="stable")
    return np.split(np.concatenate(groups)[order], np.cumsum(np.bincount(found, minlength=len(coins)))[:-1])


def _repair(members: list[Groups], counts: Integers, number_of_groups: int, stream: NoiseStream) -> bool:
    """Hand places from values with too many to values with too few, in random groups; whether all were."""
    surplus = np.array([len(each) for each in members]) - counts
    giving, taking = _in_random_order(surplus, stream)
    # Each move settles a value for good, unless no group can take part; a dead end needs a detour.
    for _ in range(8 * len(counts)):
        if not giving:
            return True
        giver, taker = giving[-1], taking[-1]
        wanted = int(min(surplus[giver], -surplus[taker]))
        moved = _move(members, giver, taker, wanted, number_of_groups, stream)
        surplus[giver] -= moved
        surplus[taker] += moved
        if moved < wanted:
            # Through a third value: it gives the place up here and gets one elsewhere later.
            others = [
                int(value)
                for value in stream.permutation(len(counts))
                if value not in (giver, taker) and len(members[value])
            ]
            for other in others:
                gained = _move(members, other, taker, wanted - moved, number_of_groups, stream)
                surplus[other] -= gained
                surplus[taker] += gained
                if gained:
                    break
            giving, taking = _in_random_order(surplus, stream)
            continue
        if surplus[giver] == 0:
            giving.pop()
        if surplus[taker] == 0:
            taking.pop()
    return False


def _in_random_order(surplus: Integers, stream: NoiseStream) -> tuple[list[int], list[int]]:
    """Values with too many places, and values with too few."""
    order = stream.permutation(len(surplus))
    return order[surplus[order] > 0].tolist(), order[surplus[order] < 0].tolist()


def _move(
    members: list[Groups], giver: int, taker: int, wanted: int, number_of_groups: int, stream: NoiseStream
) -> int:
    """Put one value in the place of another in random groups that hold the one and lack the other."""
    holds_taker = np.zeros(number_of_groups, np.bool_)
    holds_taker[members[taker]] = True
    possible = np.flatnonzero(~holds_taker[members[giver]])
    chosen = possible[stream.permutation(len(possible))[:wanted]]
    members[taker] = np.append(members[taker], members[giver][chosen])
    members[giver] = np.delete(members[giver], chosen)
    return len(chosen)


def _swap(members: list[Groups], number_of_groups: int, stream: NoiseStream, rounds: int) -> list[Groups]:
    """Exchange random places between random pairs of groups, where both keep different values.

    The moves are symmetric and connect all valid partitions, so the uniform law is the one they keep.
    """
    if number_of_groups < 2:
        return members
    values = np.repeat(np.arange(len(members)), [len(each) for each in members])
    groups = np.concatenate(members)
    sizes = np.bincount(groups, minlength=number_of_groups)
    by_group = np.argsort(groups, kind="stable")
    # A place that a smaller group does not have holds a number that is no value. All first places, then all second ones: what is
    # asked of every group goes through the few places of one, and not through the many groups one by one.
    by_place = np.full((number_of_groups, int(sizes.max())), -1, np.int32)
    by_place[np.arange(by_place.shape[1]) < sizes[:, np.newaxis]] = values[by_group]
    places = np.ascontiguousarray(by_place.T)
    half = number_of_groups // 2
    for _ in range(rounds):
        pairs = stream.permutation(number_of_groups)
        first, second = pairs[:half], pairs[half : 2 * half]
        first_place = stream.integers_below(sizes[first])
        second_place = stream.integers_below(sizes[second])
        leaves, enters = places[first_place, first], places[second_place, second]
        is_refused = (places.take(first, axis=1) == enters).any(axis=0)
        is_refused |= (places.take(second, axis=1) == leaves).any(axis=0)
        # Who is refused keeps what is there.
        places[first_place, first] = np.where(is_refused, leaves, enters)
        places[second_place, second] = np.where(is_refused, enters, leaves)
    by_place = places.T
    found_groups, found_places = np.nonzero(by_place >= 0)
    found = by_place[found_groups, found_places]
    order = np.argsort(found, kind="stable")
    ends = np.cumsum(np.bincount(found, minlength=len(members)))
    return np.split(found_groups[order], ends[:-1])


# --------------------------------------------------------------------------------------------------
# Groups whose members differ in each of several attributes, from the counts of combinations alone.


MIXING_ROUNDS = 100
"""Exchanges between random pairs of groups once all members differ: they start from sorted rows, far from random."""

MOST_ROUNDS = 4_000
"""Rounds of exchanges after which groups are taken not to exist."""


def is_certain(counts: Integers, labels: Integers, group_size: int) -> bool:
    """Whether groups exist for certain: the largest shares add up to less than one in ``group_size``.

    Two rows must not meet when they share a value. A row shares one with fewer rows than the largest counts add up to,
    and a graph whose vertices have fewer neighbours than there are colours can be coloured with each colour used
    equally often (Hajnal and Szemeredi 1970); a colour is a group.

    Examples
    --------
    >>> is_certain(np.array([2, 2, 2, 2]), np.array([[0, 1, 2, 3], [0, 1, 2, 3]]), 2)
    False
    """
    largest = sum(int(np.bincount(each, weights=counts).max()) for each in labels)
    return largest * group_size < int(counts.sum())


def compose_together(
    counts: Integers, labels: Integers, group_size: int, stream: NoiseStream
) -> Composition | None:
    """Groups of combinations that differ in every attribute, or None when none were found.

    Parameters
    ----------
    counts
        Rows of each combination, ``(combinations,)``; their number is a multiple of ``group_size``.
    labels
        ``(attributes, combinations)``: the value of each attribute in each combination.
    group_size
        Members of a group.
    stream
        Where the bits come from.

    Notes
    -----
    Rows sorted by the first attribute are dealt out in turn, so that groups differ in it. Then random pairs of groups
    propose to exchange a member each, which is done unless more members would share values than before. Once all
    differ the same moves mix: they are symmetric, so they keep the uniform law over valid groups.

    Examples
    --------
    >>> from sfumato.randomness.streams import NoiseSource
    >>> labels = np.array([[0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 0]])
    >>> found = compose_together(np.ones(6, int), labels, 3, NoiseSource.seeded(1).stream(0))
    >>> sorted(map(sorted, found.values_by_group().reshape(2, 3).tolist()))
    [[0, 2, 4], [1, 3, 5]]
    """
    number = int(counts.sum()) // group_size
    if number * group_size != int(counts.sum()):
        raise ParameterError(
            f"the rows must be a multiple of {group_size}. Leave some out.", parameter="group_size"
        )
    if any(np.bincount(each, weights=counts).max() > number for each in labels):
        return None
    # Largest combinations of a value first or last makes no difference; which of them, the bits decide.
    order = stream.permutation(len(counts))
    order = order[np.argsort(labels[0][order], kind="stable")]
    places = np.repeat(order, counts[order]).reshape(group_size, number).T.copy()
    if not _exchange(places, labels, stream):
        return None
    flat = places.ravel()
    groups = np.repeat(np.arange(number), group_size)
    by_combination = np.argsort(flat, kind="stable")
    ends = np.cumsum(np.bincount(flat, minlength=len(counts)))
    return Composition(ascending(np.split(groups[by_combination], ends[:-1])), number)


def _exchange(places: Integers, labels: Integers, stream: NoiseStream) -> bool:
    """Exchange members until all of a group differ, and then some more; whether they do."""
    number = len(places)
    mixed = 0
    for _ in range(MOST_ROUNDS):
        clashing = np.flatnonzero(_clashes(places, labels))
        mixed += not len(clashing)
        if mixed > MIXING_ROUNDS or (number < 2 and not len(clashing)):
            return True
        if number < 2:
            return False
        pairs = stream.permutation(number)
        half = number // 2
        first, second = pairs[:half], pairs[half : 2 * half]
        if 0 < len(clashing) < half:
            # Only what clashes needs to move; each with some other group.
            is_clashing = np.zeros(number, np.bool_)
            is_clashing[clashing] = True
            second = pairs[~is_clashing[pairs]][: len(clashing)]
            first = clashing[: len(second)]
        _propose(places, labels, first, second, stream)
    return not _clashes(places, labels).any()


def _clashes(places: Integers, labels: Integers) -> Integers:
    """For each group, how many of its members share a value with one before, over all attributes."""
    clashes = np.zeros(len(places), np.int64)
    for each in labels:
        ordered = np.sort(each[places], axis=1)
        clashes += (ordered[:, 1:] == ordered[:, :-1]).sum(axis=1)
    return clashes


def _propose(
    places: Integers, labels: Integers, first: Integers, second: Integers, stream: NoiseStream
) -> None:
    """One member of each first group against one of each second, where it makes no more members share values."""
    width = places.shape[1]
    one = stream.integers_below(np.full(len(first), width, np.uint64)).astype(np.int64)
    other = stream.integers_below(np.full(len(second), width, np.uint64)).astype(np.int64)
    changed = np.zeros(len(first), np.int64)
    exchanged = []
    for groups, mine, yours, theirs in ((first, one, second, other), (second, other, first, one)):
        after = places[groups]
        after[np.arange(len(groups)), mine] = places[yours, theirs]
        changed += _clashes(after, labels) - _clashes(places[groups], labels)
        exchanged.append(after)
    is_better = changed <= 0
    places[first[is_better]], places[second[is_better]] = exchanged[0][is_better], exchanged[1][is_better]
