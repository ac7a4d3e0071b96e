"""Recodings ready to use: rows in as codes, generalized rows out, with those to be dropped marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource
from sfumato.data.portions import Portion, refuse_changed_table
from sfumato.values.arrays import Booleans, Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.mixed_radix import MixedRadix, OccurringNumbers

Codes = Mapping[str, npt.NDArray[Any]]


class Recoding(Protocol):
    """Replaces codes of original categories by codes of published ones."""

    def apply(self, codes: Codes) -> tuple[dict[str, npt.NDArray[Any]], Booleans]:
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

    def apply(self, codes: Codes) -> tuple[dict[str, npt.NDArray[Any]], Booleans]:
        """Published codes, and which rows are kept."""
        published = {name: level[codes[name]] for name, level in self.maps.items()}
        return published, ~is_member(self.keys({**codes, **published}), self.dropped)

    def keys(self, published: Codes) -> Integers:
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

    def apply(self, codes: Codes) -> tuple[dict[str, npt.NDArray[Any]], Booleans]:
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
