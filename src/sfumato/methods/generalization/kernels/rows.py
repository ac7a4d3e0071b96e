"""Distinct rows with their counts, kept as numbers in a mixed radix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.guarantees.class_criterion import Merging
from sfumato.values.arrays import Booleans, Codes, Integers
from sfumato.values.mixed_radix import MixedRadix, OccurringNumbers, encoded_groups, radix_groups

KEYS_WAITING = 4_000_000
"""Keys gathered before they are merged with those counted already; bounds memory."""


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The different combinations of quasi-identifiers and sensitive value, with how often each occurs.

    Parameters
    ----------
    radix
        Of the quasi-identifiers.
    sensitive_size
        Number of sensitive values (combinations of them, where there are several attributes); 1 when
        none matters.
    keys
        ``(n,)`` increasing: key of the quasi-identifiers times ``sensitive_size``, plus the sensitive code.
    counts
        ``(n,)`` rows of each.

    Examples
    --------
    >>> rows = DistinctRows.count(MixedRadix([3, 2]), 1, [np.array([5, 1, 5])])
    >>> rows.keys.tolist(), rows.counts.tolist(), rows.total
    ([1, 5], [1, 2], 3)
    """

    radix: MixedRadix
    sensitive_size: int
    keys: Integers
    counts: Integers

    @classmethod
    def count(cls, radix: MixedRadix, sensitive_size: int, batches: Iterable[Integers]) -> DistinctRows:
        """Count keys that come in batches; memory follows the number of different ones."""
        keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
        waiting: list[Integers] = []
        for batch in batches:
            waiting.append(batch)
            if sum(map(len, waiting)) >= KEYS_WAITING:
                keys, counts = _merge(keys, counts, waiting)
                waiting = []
        return cls(radix, sensitive_size, *_merge(keys, counts, waiting))

    @classmethod
    def added_up(
        cls, radix: MixedRadix, sensitive_size: int, parts: Iterable[tuple[Integers, Integers]]
    ) -> DistinctRows:
        """From the different keys of some portions, with how often each occurs there."""
        keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
        for new, times in parts:
            keys, counts = group(np.concatenate((keys, new)), np.concatenate((counts, times)))
        return cls(radix, sensitive_size, keys, counts)

    @cached_property
    def whole(self) -> MixedRadix:
        """Of the quasi-identifiers and the sensitive value: what the keys are numbers in."""
        return MixedRadix([*self.radix.sizes, self.sensitive_size])

    @property
    def numbering(self) -> MixedRadix:
        """Numbers the combinations of quasi-identifiers."""
        return self.radix

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of every quasi-identifier."""
        return self.radix.sizes

    @property
    def combinations(self) -> Integers:
        """Keys of the quasi-identifiers alone, ``(n,)``, increasing and repeated."""
        return self.keys // self.sensitive_size

    @property
    def total(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def codes(self, place: int) -> Integers:
        """Codes of one quasi-identifier, ``(n,)``."""
        return self.whole.digit(self.keys, place)

    @cached_property
    def sensitive(self) -> Integers:
        """Sensitive codes, ``(n,)``."""
        return self.whole.digit(self.keys, -1)

    def without_sensitive(self) -> DistinctRows:
        """The same rows with their sensitive values forgotten."""
        keys, counts = group(self.combinations, self.counts)
        return DistinctRows(self.radix, 1, keys, counts)


@dataclass(frozen=True, eq=False)
class WideRows:
    """The same where combinations are too many for one number: rows are kept by column.

    Parameters
    ----------
    numbering
        Numbers the combinations of quasi-identifiers that occur.
    sensitive_size
        Number of sensitive values; 1 when none matters.
    columns
        Codes of every quasi-identifier, ``(n,)`` each.
    sensitive, counts
        ``(n,)`` sensitive codes and rows.
    combinations
        ``(n,)`` numbers of the combinations, increasing and repeated.

    Examples
    --------
    >>> batches = [[np.array([2, 0, 2]), np.array([1, 1, 1]), np.array([0, 0, 1])]]
    >>> rows = WideRows.count([3, 2], [2], batches)
    >>> rows.combinations.tolist(), rows.sensitive.tolist(), rows.codes(0).tolist(), rows.total
    ([0, 1, 1], [0, 0, 1], [0, 2, 2], 3)
    """

    numbering: OccurringNumbers
    sensitive_size: int
    columns: tuple[Codes, ...]
    sensitive: Integers
    counts: Integers
    combinations: Integers

    @classmethod
    def count(
        cls, sizes: Sequence[int], sensitive: Sequence[int], batches: Iterable[Sequence[Codes]]
    ) -> WideRows:
        """Count rows that come in batches of columns; memory follows the number of different ones."""
        return cls.added_up(sizes, sensitive, [count_words(sizes, sensitive, batches)])

    @classmethod
    def added_up(
        cls, sizes: Sequence[int], sensitive: Sequence[int], parts: Iterable[tuple[Integers, Integers]]
    ) -> WideRows:
        """From the different rows of some portions as :func:`count_words` gives them."""
        groups = radix_groups(sizes)
        values = MixedRadix(sensitive)
        words, counts = np.empty((0, len(groups) + 1), np.int64), np.empty(0, np.int64)
        for new, times in parts:
            words, counts = _merge_words(np.concatenate((words, new)), np.concatenate((counts, times)), [])
        numbering, combinations = OccurringNumbers.of(groups, words[:, :-1])
        digits = (
            digit.astype(np.min_scalar_type(size))
            for each, word in zip(groups, words.T[:-1], strict=True)
            for size, digit in zip(each.sizes, each.decode(word), strict=True)
        )
        return cls(numbering, values.combinations, tuple(digits), words[:, -1], counts, combinations)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of every quasi-identifier."""
        return self.numbering.sizes

    @property
    def total(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def codes(self, place: int) -> Codes:
        """Codes of one quasi-identifier, ``(n,)``."""
        return self.columns[place]


def count_words(
    sizes: Sequence[int], sensitive: Sequence[int], batches: Iterable[Sequence[Codes]]
) -> tuple[Integers, Integers]:
    """The different rows of some batches of columns as numbers, ``(n, groups + 1)``, and how often each occurs."""
    groups, values = radix_groups(sizes), MixedRadix(sensitive)
    words, counts = np.empty((0, len(groups) + 1), np.int64), np.empty(0, np.int64)
    waiting: list[Integers] = []
    for columns in batches:
        waiting.append(_words(groups, columns[: len(sizes)], values, columns[len(sizes) :]))
        if sum(map(len, waiting)) >= KEYS_WAITING:
            words, counts = _merge_words(words, counts, waiting)
            waiting = []
    return _merge_words(words, counts, waiting)


def _words(
    groups: Sequence[MixedRadix],
    columns: Sequence[Codes],
    values: MixedRadix,
    sensitive: Sequence[Codes],
) -> Integers:
    """Rows as numbers: one for each group of quasi-identifiers, the last for the sensitive values."""
    last = values.encode(sensitive) if sensitive else np.zeros(len(columns[0]), np.int64)
    return np.stack([*encoded_groups(groups, columns), last], axis=1)


def _merge_words(words: Integers, counts: Integers, batches: list[Integers]) -> tuple[Integers, Integers]:
    """Different rows in increasing order, with how often each occurs."""
    rows = np.concatenate([words, *batches])
    numbers = np.concatenate([counts, np.ones(len(rows) - len(words), np.int64)])
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    if not len(rows):
        return rows, numbers
    starts = np.flatnonzero(np.concatenate(([True], (rows[1:] != rows[:-1]).any(axis=1))))
    return rows[starts], np.add.reduceat(numbers[order], starts)


def group(keys: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Different keys, increasing, with the sums of their counts.

    Examples
    --------
    >>> [each.tolist() for each in group(np.array([7, 3, 7]), np.array([1, 2, 4]))]
    [[3, 7], [2, 5]]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = run_starts(ordered)
    return ordered[starts], np.add.reduceat(counts[order], starts) if len(starts) else counts[:0]


def run_starts(ordered: Integers) -> Integers:
    """Positions where a sorted array takes a new value.

    Examples
    --------
    >>> run_starts(np.array([3, 3, 5])).tolist()
    [0, 2]
    """
    if not len(ordered):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _merge(keys: Integers, counts: Integers, batches: list[Integers]) -> tuple[Integers, Integers]:
    new = np.concatenate([np.empty(0, np.int64), *batches])
    ordered = np.sort(new)
    starts = run_starts(ordered)
    numbers = np.diff(np.append(starts, len(ordered)))
    if not len(keys):
        return ordered[starts], numbers
    return group(np.concatenate((keys, ordered[starts])), np.concatenate((counts, numbers)))


@dataclass(frozen=True)
class Criterion:
    """What every class of rows must satisfy.

    Parameters
    ----------
    k
        Fewest rows of a class.
    tests
        Functions from ``(classes, sensitive values)`` counts to which classes pass, ``(classes,)``.
    merging
        With which other classes one that passes can be merged and still passes: with any, as for size and
        number of different values; with those that pass too, as for entropy, ratios and distances; or none.

    Examples
    --------
    >>> Criterion(2).passes(np.array([1, 2]), None).tolist()
    [False, True]
    """

    k: int
    tests: tuple[Callable[[Integers], Booleans], ...] = ()
    merging: Merging = "any"

    @property
    def needs_sensitive(self) -> bool:
        """Whether sensitive values matter."""
        return bool(self.tests)

    def passes(self, sizes: Integers, sensitive: Integers | None) -> Booleans:
        """Which classes satisfy everything.

        Parameters
        ----------
        sizes
            ``(classes,)``.
        sensitive
            ``(classes, sensitive values)``; needed when there are tests.
        """
        passed = np.asarray(sizes >= self.k)
        for test in self.tests:
            assert sensitive is not None
            remaining = np.flatnonzero(passed)
            if len(remaining):
                passed[remaining] = test(sensitive[remaining])
        return passed
