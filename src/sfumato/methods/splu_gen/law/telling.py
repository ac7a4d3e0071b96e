"""What a row tells of its person where the person's public group holds the value: the posterior, own row left out.

A row of a public group shows the value y. What is believed of the person before comes from the others of the group
alone; the own row is used once, as the evidence, by the odds factor of the value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.guarantees.odds_factor import odds_factor
from sfumato.methods.splu_gen.law.model import DecoyModel
from sfumato.values.arrays import Floats, Integers
from sfumato.values.counts import OccupiedCounts
from sfumato.values.parts import in_parts
from sfumato.values.query_writing import write_condition

MOST_PAIRS = 28
"""Pairs of public attributes whose groups are looked at; where there are more, single attributes and all together are."""

GRID = 101
"""Shares of a group at which a belief about it is evaluated."""

CELLS_AT_ONCE = 2**15
"""Cells whose beliefs are held in memory together."""


def groupings(public: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Sets of public attributes by which people are grouped: each one, pairs where they are few, all together.

    Examples
    --------
    >>> list(groupings(["ward", "sex", "age"]))[-2:]
    [('sex', 'age'), ('ward', 'sex', 'age')]
    """
    pairs = tuple(itertools.combinations(public, 2))
    everything = (tuple(public),)
    few = pairs if len(pairs) <= MOST_PAIRS else ()
    return iter(dict.fromkeys([*((each,) for each in public), *few, *everything]))


def rarest_factors(counts: Integers, gamma: int) -> tuple[int, float, float]:
    """How many rows hold the rarest value, its odds factor, and the largest against one other value, over all values.

    The last is that of uniformly random groups; the second holds for any.
    """
    held = np.asarray(counts, np.float64)
    rarest = int(held[held > 0].min())
    worst = float(np.nanmax(DecoyModel(held, gamma).largest_factors))
    return rarest, max(odds_factor(rarest, float(held.sum()), gamma), 1.0), worst


@dataclass(frozen=True, eq=False)
class PublicGroups:
    """How many rows of each public group have each value.

    Parameters
    ----------
    counts
        Over the public attributes and the drawn one, which is the last.
    """

    counts: OccupiedCounts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The public attributes."""
        return tuple(each.name for each in self.counts.attributes[:-1])

    @cached_property
    def groups(self) -> Integers:
        """Number of each cell's group."""
        return self.counts.numbered(self.names)

    @property
    def number(self) -> int:
        """Of groups."""
        return int(self.groups.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> Integers:
        """Rows of each cell's group."""
        return np.bincount(self.groups, self.counts.counts).astype(np.int64)[self.groups]

    @property
    def values(self) -> Integers:
        """The drawn attribute's value in each cell."""
        return np.asarray(self.counts.codes[-1], np.int64)

    @cached_property
    def totals(self) -> Integers:
        """Rows of each value over all groups."""
        size = self.counts.attributes[-1].size
        return np.bincount(self.values, self.counts.counts, minlength=size).astype(np.int64)

    @property
    def rows(self) -> int:
        """Of all groups."""
        return int(self.counts.counts.sum())

    def label(self, cell: int) -> str:
        """The public group of a cell as a condition."""
        return " AND ".join(
            write_condition(attribute, (int(codes[cell]),))
            for attribute, codes in zip(self.counts.attributes[:-1], self.counts.codes[:-1], strict=True)
        )

    def told_by_others(self, gamma: int) -> tuple[Floats, Floats]:
        """For holders of each cell's value: what knowing the others gives, before and after their row shows it.

        The counts are true ones. The others are those of the public group; of someone alone in it, everybody.
        """
        held, total = self.counts.counts, self.totals[self.values]
        is_alone = self.sizes == 1
        before = np.where(
            is_alone, (total - 1) / max(self.rows - 1, 1), (held - 1) / np.maximum(self.sizes - 1, 1)
        )
        return before, self._after(before, gamma)

    def told_by_shown(self, gamma: int) -> tuple[Floats, Floats]:
        """For rows that show each cell's value: the belief from what the others show, and with the own row.

        The counts are published ones. A group's share of the value is the table's, or one group in all is anything
        (spike and slab); which of the two, what the other rows show decides.
        """
        found = [self._believed(part, gamma) for part in in_parts(len(self.values), at_once=CELLS_AT_ONCE)]
        before = np.concatenate(found) if found else np.zeros(0)
        return before, self._after(before, gamma)

    def _after(self, before: Floats, gamma: int) -> Floats:
        factors = np.array([odds_factor(max(each, 1), self.rows, gamma) for each in self.totals])
        # A published count can exceed the number of groups by chance; showing the value then says nothing.
        weights = before * np.maximum(factors, 1.0)[self.values]
        return np.asarray(weights / (weights + 1 - before))

    def _believed(self, cells: slice, gamma: int) -> Floats:
        """Mean share of the value among the others of the group, given how many of them show it."""
        total = self.totals[self.values[cells]].astype(np.float64)
        overall = total / self.rows
        # A row of another value shows this one so often, on average.
        decoy = np.minimum(total * (gamma - 1) / (gamma * np.maximum(self.rows - total, 1)), 1 / gamma)
        others = self.sizes[cells] - 1
        shown = self.counts.counts[cells] - 1
        shares = (np.arange(GRID) + 0.5) / GRID
        chances = decoy[:, None] + shares * (1 / gamma - decoy)[:, None]
        logs = shown[:, None] * np.log(chances) + (others - shown)[:, None] * np.log1p(-chances)
        of_table = shown * np.log(overall) + (others - shown) * np.log1p(-np.minimum(overall, 1 - 1e-12))
        likelihoods = np.exp(np.clip(logs - of_table[:, None], -700, 700))
        weight = 1 / max(self.number, 2)
        slab = weight * likelihoods.mean(axis=1)
        is_own = slab / (slab + 1 - weight)
        mean = likelihoods @ shares / likelihoods.sum(axis=1)
        return np.asarray(is_own * mean + (1 - is_own) * overall)
