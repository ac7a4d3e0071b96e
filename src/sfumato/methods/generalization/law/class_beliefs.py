"""What is believed of people from the classes of rows that they may be in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.laws.believing.prior import PSEUDO_COUNT
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.parts import in_parts

DISTANCE = 0.7
"""Power with which a class's people are told apart by what is believed of them anyway: naive Bayes is too sure at 1."""

NUMBERS_AT_ONCE = 20_000_000
"""Pairs of people and classes looked at at a time."""


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """Published combinations of public values, with the sensitive values of their rows.

    Parameters
    ----------
    possible
        For each public attribute ``(classes, categories)``: whether a row of the class may have the category.
    counts
        ``(classes, values)``: published rows.

    Examples
    --------
    Two classes over one attribute of three categories; the first stands for two of them.

    >>> possible = np.array([[True, True, False], [False, False, True]])
    >>> classes = PublishedClasses((possible,), np.array([[3.0, 1.0], [0.0, 2.0]]))
    >>> even = np.full((3, 2), 0.5)
    >>> classes.beliefs(np.array([[0], [1], [2]]), even, are_members=True).tolist()
    [[0.75, 0.25], [0.75, 0.25], [0.0, 1.0]]
    """

    possible: Sequence[Booleans]
    counts: Floats = field(repr=False)

    def beliefs(self, combinations: Integers, prior: Floats, *, are_members: bool) -> Floats:
        """Beliefs about people, ``(combinations, values)``; of who may be in no class, the prior.

        A class's composition is what is believed of one of its rows. What is believed of a person anyway, beside
        what is believed of those who may be in the class on average, tells its people apart. Somebody who may be in
        several classes is in each in proportion to the rows that would have these public values, were they spread evenly.

        Parameters
        ----------
        combinations
            ``(combinations, attributes)``: public codes.
        prior
            ``(combinations, values)``.
        are_members
            Known to be in the table: one of the rows. Else like them.
        """
        rows = self.counts.sum(axis=1)
        covered = np.prod([each.sum(axis=1) for each in self.possible], axis=0, dtype=np.float64)
        parts = tuple(in_parts(len(combinations), each=len(rows), at_once=NUMBERS_AT_ONCE))
        sums, people = np.zeros_like(self.counts), np.zeros((len(rows), 1))
        for part in parts:
            may_be = self._matching(combinations[part])
            sums += may_be.T.astype(np.float64) @ prior[part]
            people += may_be.sum(axis=0)[:, np.newaxis]
        # Of a class that nobody asked about may be in, anything but 0 will do.
        average = np.divide(sums, people, out=np.ones_like(sums), where=people > 0)
        shares = self.counts if are_members else self.counts + PSEUDO_COUNT * average
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        # What the class says beyond the average belief; rows / covered is how many to expect with given public values.
        told = shares / average**DISTANCE
        told *= (rows / covered)[:, np.newaxis]
        found = prior.copy()
        for part in parts:
            weights = (self._matching(combinations[part]).astype(np.float64) @ told) * prior[part] ** DISTANCE
            total = weights.sum(axis=1, keepdims=True)
            np.divide(weights, total, out=found[part], where=total > 0)
        return found

    def rows_that_may_be(self, combinations: Integers, counts: Floats) -> Floats:
        """True rows that may stand behind each class by sensitive value, ``(classes, values)``.

        Parameters
        ----------
        combinations, counts
            ``(combinations, attributes)`` and ``(combinations, values)``: the rows of a table.
        """
        found = np.zeros_like(self.counts)
        for part in in_parts(len(combinations), each=len(self.counts), at_once=NUMBERS_AT_ONCE):
            found += self._matching(combinations[part]).T.astype(np.float64) @ counts[part]
        return found

    def _matching(self, combinations: Integers) -> Booleans:
        """Whether each person may be in each class, ``(combinations, classes)``."""
        found = np.ones((len(combinations), len(self.counts)), bool)
        for place, possible in enumerate(self.possible):
            found &= possible[:, combinations[:, place]].T
        return found
