"""Published rows by personal group: what a law about groups adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Floats, Integers
from sfumato.values.counts import OccupiedCounts


@dataclass(frozen=True, eq=False)
class GroupBlocks:
    """Published rows of every group, divided further by attributes outside the groups.

    Parameters
    ----------
    codes
        Public attribute to its code in each block, ``(blocks,)``.
    rows
        ``(blocks, m)``, published rows by sensitive value, copies or weights included.
    group_sizes, groups
        ``(blocks,)``, the size of each block's whole group, and its number.
    cut_sizes
        ``(blocks,)``, the size that a group cut to the smallest sample would have, were it scaled as much as this one: its
        own, save where groups were cut to different numbers of rows.
    has_outside
        The blocks are finer than the groups.

    Examples
    --------
    >>> from sfumato.values.schema import Attribute, Role
    >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    >>> occupied = OccupiedCounts((sex, job), (np.array([1, 0, 1]), np.array([1, 1, 0])), np.array([5, 4, 3]))
    >>> GroupBlocks.of(occupied, ["sex"], ["sex"], "job", 2).rows.tolist()
    [[0.0, 4.0], [3.0, 5.0]]
    """

    codes: dict[str, npt.NDArray[Any]]
    rows: Floats
    group_sizes: Floats
    groups: Integers
    cut_sizes: Floats
    has_outside: bool

    @classmethod
    def of(
        cls, occupied: OccupiedCounts, names: Sequence[str], groups: Sequence[str], sensitive: str, size: int
    ) -> GroupBlocks:
        """Blocks over the attributes ``names``, of which the first are those that make a group."""
        block_of = occupied.numbered(names)
        _, first = np.unique(block_of, return_index=True)
        rows = np.zeros((first.size, size))
        np.add.at(rows, (block_of, occupied.codes_of(sensitive)), occupied.counts)
        group_of = occupied.numbered(groups)
        group_sizes = np.bincount(group_of, weights=occupied.counts)[group_of[first]]
        return cls(
            {name: occupied.codes_of(name)[first] for name in names},
            rows,
            np.asarray(group_sizes),
            group_of[first],
            np.asarray(group_sizes),
            has_outside=len(names) > len(groups),
        )

    @cached_property
    def first(self) -> Integers:
        """Place of a block of every group, by the group's number, ``(groups,)``: numbers from 0 on leave none out."""
        return np.unique(self.groups, return_index=True)[1]

    def rows_of_groups(self) -> Floats:
        """Published rows of every whole group by sensitive value, ``(groups, m)``."""
        summed = np.zeros((len(self.first), self.rows.shape[1]))
        np.add.at(summed, self.groups, self.rows)
        return summed
