"""Published rows by public group, where each shows its own sensitive value through a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.values.arrays import Floats, Integers
from sfumato.values.counts import OccupiedCounts


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows with true public values and distorted sensitive ones.

    Parameters
    ----------
    combinations
        ``(groups, attributes)``: public codes of the groups that occur.
    counts
        ``(groups, values)``: published rows, a row that stands for several counted once.
    channel
        ``(values, values)``: ``matrix[true, published]`` of every single row.
    kept
        ``(groups,)``: probability that a given row of the table is among those counted.
    """

    combinations: Integers
    counts: Floats = field(repr=False)
    channel: Floats = field(repr=False)
    kept: Floats = field(repr=False)

    @classmethod
    def of(
        cls, occupied: OccupiedCounts, public: Sequence[str], sensitive: str, channel: Floats
    ) -> GroupedRows:
        """All rows, each counted as often as it was published.

        Examples
        --------
        >>> from sfumato.values.schema import Attribute, Role
        >>> sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
        >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
        >>> occupied = OccupiedCounts((sex, job), (np.array([1, 1]), np.array([0, 1])), np.array([5, 1]))
        >>> GroupedRows.of(occupied, ["sex"], "job", np.eye(2)).counts.tolist()
        [[5.0, 1.0]]
        """
        group = occupied.numbered(public)
        _, first = np.unique(group, return_index=True)
        counts = np.zeros((first.size, len(channel)))
        np.add.at(counts, (group, occupied.codes_of(sensitive).astype(np.int64)), occupied.counts)
        columns = [occupied.codes_of(name)[first].astype(np.int64) for name in public]
        combinations = np.stack(columns, axis=1) if columns else np.zeros((first.size, 0), np.int64)
        return cls(combinations, counts, channel, np.ones(first.size))
