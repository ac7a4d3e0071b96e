"""Distinct rows with counts, and recodings applied to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.arrays import (
    Booleans,
    Codes,
    Integers,
    MixedRadix,
    OccurringNumbers,
    encoded_groups,
    radix_groups,
)
from sfumato.data.chunks import CodedBatch, Portion, refuse_changed_table
from sfumato.guarantees.class_criteria import Merging
from sfumato.randomness.streams import NoiseSource

# --------------------------------------------------------------------------------------------------
# Distinct rows with their counts, kept as numbers in a mixed radix.


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


# --------------------------------------------------------------------------------------------------
# Recodings ready to use: rows in as codes, generalized rows out, with those to be dropped marked.


CodesByName = Mapping[str, npt.NDArray[Any]]


class Recoding(Protocol):
    """Replaces codes of original categories by codes of published ones."""

    def apply(self, codes: CodesByName) -> tuple[dict[str, npt.NDArray[Any]], Booleans]:
        """Published codes of the attributes recoded, and which rows are kept."""


@dataclass(frozen=True, eq=False)
class LevelRecoding:
    """One map for each attribute, the same for all rows; some classes are dropped.

    Parameters
    ----------
    maps
        Attribute to ``(size,)``: published code of every category.
    radix
        Of the published codes that make a class, in the order of ``class_names``.
    class_names
        Attributes on which rows of a class are equal; those without a map count as they are.
    dropped
        Increasing keys of the classes to drop.

    Examples
    --------
    >>> coarse = LevelRecoding({"age": np.array([0, 0, 1])}, MixedRadix([2]), ("age",), np.array([1]))
    >>> coarse.apply({"age": np.array([1, 2])})
    ({'age': array([0, 1])}, array([ True, False]))
    """

    maps: dict[str, Integers]
    radix: MixedRadix
    class_names: tuple[str, ...]
    dropped: Integers

    def apply(self, codes: CodesByName) -> tuple[dict[str, npt.NDArray[Any]], Booleans]:
        """Published codes, and which rows are kept."""
        published = {name: level[codes[name]] for name, level in self.maps.items()}
        return published, ~is_member(self.keys({**codes, **published}), self.dropped)

    def keys(self, published: CodesByName) -> Integers:
        """Class of every row, as a number; all rows are one class when every attribute says nothing."""
        if not self.class_names:
            return np.zeros(len(next(iter(published.values()))), dtype=np.int64)
        return self.radix.encode([published[name] for name in self.class_names])


@dataclass(frozen=True, eq=False)
class BoxRecoding:
    """A box for every combination of quasi-identifiers.

    Parameters
    ----------
    radix, names
        Of the combinations: the quasi-identifiers in order.
    keys
        Increasing keys of the combinations that occur.
    published
        Attribute to ``(number of combinations,)``: the published code.

    Examples
    --------
    >>> boxes = BoxRecoding(MixedRadix([3]), ("age",), np.array([0, 2]), {"age": np.array([1, 0])})
    >>> boxes.apply({"age": np.array([2, 0])})[0]
    {'age': array([0, 1])}
    """

    radix: MixedRadix | OccurringNumbers
    names: tuple[str, ...]
    keys: Integers
    published: dict[str, Integers]

    def apply(self, codes: CodesByName) -> tuple[dict[str, npt.NDArray[Any]], Booleans]:
        """Published codes; every row is kept. Combinations that were not counted are refused."""
        keys = self.radix.encode([codes[name] for name in self.names])
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        if not np.array_equal(self.keys[place], keys):
            refuse_changed_table()
        recoded = {name: column[place] for name, column in self.published.items()}
        return recoded, np.ones(len(keys), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class ApplyRecoding:
    """The row phase: generalized rows, without those to be dropped. Nothing is drawn.

    Parameters
    ----------
    recoding
        What becomes of the codes.
    names
        Attributes to publish.
    """

    recoding: Recoding
    names: tuple[str, ...]

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[None], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """Generalized rows."""
        del portion, noise
        for batch in batches:
            changed, kept = self.recoding.apply(batch.codes)
            codes = {**batch.codes, **changed}
            yield CodedBatch({name: codes[name][kept] for name in self.names}, int(kept.sum()))


def is_member(keys: Integers, known: Integers) -> Booleans:
    """Which keys are among some increasing ones.

    Examples
    --------
    >>> is_member(np.array([1, 5]), np.array([2, 5])).tolist()
    [False, True]
    """
    if not len(known):
        return np.zeros(len(keys), dtype=np.bool_)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.asarray(known[place] == keys)


# --------------------------------------------------------------------------------------------------
# Counting the different rows of a portion: what the search for a recoding, and its classes, are made from.


@dataclass(frozen=True, eq=False)
class CountCombinations:
    """The different combinations of some attributes, as numbers.

    Parameters
    ----------
    names
        Attributes.
    radix
        Of their codes.
    """

    names: tuple[str, ...]
    radix: MixedRadix

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> tuple[Integers, Integers]:
        """Increasing numbers, and how often each occurs."""
        del number
        keys = (self.radix.encode([batch.codes[name] for name in self.names]) for batch in batches)
        rows = DistinctRows.count(self.radix, 1, keys)
        return rows.keys, rows.counts


@dataclass(frozen=True, eq=False)
class CountWideRows:
    """The same where combinations are too many for one number.

    Parameters
    ----------
    names
        Attributes, the sensitive ones last.
    sizes, sensitive
        Categories of the quasi-identifiers and of the sensitive attributes.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    sensitive: tuple[int, ...]

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> tuple[Integers, Integers]:
        """Different rows as several numbers each, and how often each occurs."""
        del number
        columns = ([batch.codes[name] for name in self.names] for batch in batches)
        return count_words(self.sizes, self.sensitive, columns)


@dataclass(frozen=True, eq=False)
class CountClasses:
    """The classes that a recoding makes, each with the sensitive values in it.

    Parameters
    ----------
    recoding
        Makes the classes.
    watched
        Sensitive attributes.
    radix
        Of class and sensitive values.
    """

    recoding: LevelRecoding
    watched: tuple[str, ...]
    radix: MixedRadix

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> tuple[Integers, Integers]:
        """Increasing numbers of class and values, and how often each occurs."""
        del number
        rows = DistinctRows.count(self.radix, 1, map(self._keys, batches))
        return rows.keys, rows.counts

    def _keys(self, batch: CodedBatch) -> Integers:
        published, _ = self.recoding.apply(batch.codes)
        key = self.recoding.keys({**batch.codes, **published})
        return self.radix.encode([key, *(batch.codes[name] for name in self.watched)])
