"""Rows of an ordinary table cut into columns, and the different fragments counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sfumato.methods.columnized_counts.kernels.units import rank_within
from sfumato.values.arrays import Booleans, Codes, Integers, Words
from sfumato.values.schema import Attribute

DISTINCT_HELD = 2**20
"""Different fragments that pile up before they are merged."""


@dataclass(frozen=True)
class WideColumn:
    """One column of a table: its attributes.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"), missing="category")
    >>> WideColumn((sex,)).is_covered({"sex": np.array([0, 2])}).tolist()
    [True, False]
    """

    attributes: tuple[Attribute, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the attributes."""
        return tuple(each.name for each in self.attributes)

    def is_covered(self, codes: Mapping[str, Codes]) -> Booleans:
        """Which rows have a value in at least one attribute; the others have no fragment here.

        Counting fragments without any value would let one row change more columns than the budget
        of columns knows (theorem 7 fails).
        """
        length = len(codes[self.attributes[0].name])
        covered = np.zeros(length, np.bool_)
        for each in self.attributes:
            if each.missing_code is None:
                return np.ones(length, np.bool_)
            covered |= codes[each.name] != each.missing_code
        return covered


@dataclass(eq=False)
class FragmentTally:
    """Counts the different fragments of one column, batch by batch; memory grows with different ones only.

    Examples
    --------
    >>> tally = FragmentTally(2)
    >>> tally.add(np.array([[0, 1], [0, 1], [2, 0]]))
    >>> fragments, counts = tally.result()
    >>> fragments.tolist(), counts.tolist()
    ([[0, 1], [2, 0]], [2, 1])
    """

    width: int
    _fragments: list[Codes] = field(default_factory=list)
    _counts: list[Integers] = field(default_factory=list)

    def add(self, fragments: Codes, counts: Integers | None = None) -> None:
        """Add fragments ``(rows, width)``, each once or as often as said."""
        weights = np.ones(len(fragments), np.int64) if counts is None else counts
        distinct, sums = _merge(fragments, weights)
        self._fragments.append(distinct)
        self._counts.append(sums)
        if sum(map(len, self._counts)) > DISTINCT_HELD + len(self._counts[0]) and len(self._counts) > 1:
            merged = self.result()
            self._fragments, self._counts = [merged[0]], [merged[1]]

    def result(self) -> tuple[Codes, Integers]:
        """The different fragments in the order of their codes, and how often each was added."""
        if not self._fragments:
            return np.zeros((0, self.width), np.int64), np.zeros(0, np.int64)
        return _merge(np.concatenate(self._fragments), np.concatenate(self._counts))


def _merge(fragments: Codes, counts: Integers) -> tuple[Codes, Integers]:
    distinct, place = np.unique(fragments.astype(np.int64), axis=0, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place.ravel(), counts)
    return distinct, sums


def choose_columns(covered: Booleans, column_budget: int, words: Words) -> Booleans:
    """At most so many of the columns that each row covers: those with the smallest words.

    Parameters
    ----------
    covered
        ``(rows, columns)``.
    column_budget
        Columns that a row may have.
    words
        ``(rows, columns)``; with uniform words the choice is uniform.

    Examples
    --------
    >>> covered = np.array([[True, True], [True, False]])
    >>> choose_columns(covered, 1, np.array([[5, 3], [1, 2]], np.uint64)).tolist()
    [[False, True], [True, False]]
    """
    rows, columns = np.nonzero(covered)
    chosen = np.zeros(covered.shape, np.bool_)
    kept = rank_within(rows, words[rows, columns]) < column_budget
    chosen[rows[kept], columns[kept]] = True
    return chosen
