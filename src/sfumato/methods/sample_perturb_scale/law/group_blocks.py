"""Published rows by personal group: what a law about groups adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.counts import OccupiedCounts
from sfumato.values.selection import Selection


@dataclass(frozen=True, eq=False)
class GroupBlocks:
    """Published rows of every group, divided further by attributes outside the groups.

    Parameters
    ----------
    codes
        Public attribute to its code in each block, ``(blocks,)``.
    rows
        ``(blocks, m)``, published rows by sensitive value, copies or weights included.
    group_sizes
        ``(blocks,)``, the size of each block's whole group.
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
        group_sizes = np.bincount(group_of, weights=occupied.counts)
        return cls(
            {name: occupied.codes_of(name)[first] for name in names},
            rows,
            np.asarray(group_sizes[group_of[first]]),
            has_outside=len(names) > len(groups),
        )

    def satisfy(self, where: Selection, *, without: str) -> Booleans:
        """Which blocks satisfy the conditions on public attributes, ``(blocks,)``."""
        result = np.ones(len(self.rows), dtype=bool)
        for name, codes in where.conditions:
            if name != without:
                result &= np.isin(self.codes[name], codes)
        return result

    def cell_of(self, axes: Mapping[str, tuple[int, ...]], is_selected: Booleans) -> Integers:
        """Flat index, over the product of the axes' codes, of the cell that each selected block falls in."""
        cell = np.zeros(np.count_nonzero(is_selected), dtype=np.int64)
        for name, codes in axes.items():
            cell = cell * len(codes) + np.searchsorted(codes, self.codes[name][is_selected])
        return cell
