"""Groups whose members differ in each of several attributes, from the counts of combinations alone."""

from __future__ import annotations

import numpy as np

from sfumato.chance.composition import Composition, ascending
from sfumato.chance.randomness import NoiseStream
from sfumato.errors import ParameterError
from sfumato.values.arrays import Integers

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
    >>> from sfumato.chance.randomness import NoiseSource
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
