"""Published counts that a question needs, read as seldom as memory allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sfumato.laws.asking.questions import common_conditions, conditions_outside, names_of, take_codes
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation

MOST_READ_TOGETHER = 80
"""Selections up to which one table over all their attributes is read; a table of many costs each of them time."""

LARGEST_JOINT_TABLE = 5_000_000
"""Cells of that table up to which it is."""


class Counting(Protocol):
    """What is asked of a release here."""

    @property
    def schema(self) -> Schema:
        """The published schema."""

    def count_by(self, names: Sequence[str], where: Selection) -> CountTable:
        """Published counts over some attributes, among the rows of the first table selected."""


class JointCounts:
    """Published counts of the cells of several tabulations, and of what two selections share.

    Parameters
    ----------
    published
        The release.
    asked
        The whole question. Conditions that all share filter the rows; the others become axes.
    kept
        Attributes whose conditions are about the truth and do not filter: whole axes of everything counted.

    Examples
    --------
    >>> from sfumato.values.schema import Attribute, Role
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    >>> class Release:
    ...     schema = Schema(attributes=(job,))
    ...     def count_by(self, names, where):
    ...         return CountTable((job,), np.array([7, 5]))
    >>> asked = Tabulation(by=("job",))
    >>> JointCounts(Release(), (asked,)).cells(asked).tolist()
    [7.0, 5.0]
    """

    def __init__(self, published: Counting, asked: Sequence[Tabulation], kept: Sequence[str] = ()) -> None:
        self._published = published
        self._kept = tuple(kept)
        self._filter = common_conditions(asked, lambda name: name not in kept)
        self._together = self._names(asked)
        sizes = [published.schema[name].size for name in (*self._together, *self._kept)]
        few = len(asked) <= MOST_READ_TOGETHER and math.prod(sizes) <= LARGEST_JOINT_TABLE
        self.is_one_table = few or len(asked) == 1
        self._tables: dict[tuple[str, ...], CountTable] = {}
        self._cells: dict[Tabulation, Floats] = {}

    def cells(self, asked: Tabulation) -> Floats:
        """Counts with one axis for each attribute that is shown and not kept, then one for each that is kept."""
        by = tuple(name for name in asked.by if name not in self._kept)
        public = Tabulation(by, conditions_outside(asked.where, self._kept))
        if public not in self._cells:
            names = self._together if self.is_one_table else self._names([public])
            if names not in self._tables:
                self._tables[names] = self._published.count_by((*names, *self._kept), self._filter)
            counts = take_codes(self._tables[names].counts, names, public.where)
            gone = tuple(axis for axis, name in enumerate(names) if name not in by)
            left = [name for name in names if name in by]
            order = [*(left.index(name) for name in by), *range(len(left), len(left) + len(self._kept))]
            self._cells[public] = np.asarray(counts.sum(axis=gone)).transpose(order)
        return self._cells[public]

    def _names(self, asked: Sequence[Tabulation]) -> tuple[str, ...]:
        """Attributes that need an axis: shown ones, and those whose conditions do not filter."""
        shown = {name for each in asked for name in each.by}
        needed = [name for name in names_of(asked) if name in shown or name not in self._filter.names]
        return tuple(name for name in needed if name not in self._kept)
