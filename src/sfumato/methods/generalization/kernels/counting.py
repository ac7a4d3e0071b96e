"""Counting the different rows of a portion: what the search for a recoding, and its classes, are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.methods.generalization.kernels.applying import LevelRecoding
from sfumato.methods.generalization.kernels.rows import DistinctRows, count_words
from sfumato.values.arrays import Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.mixed_radix import MixedRadix


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
