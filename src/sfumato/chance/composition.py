"""Groups of different values, before any row is dealt to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.exact_distributions import code_dtype
from sfumato.chance.randomness import NoiseStream
from sfumato.values.arrays import Integers

Groups = npt.NDArray[Any]
"""Numbers of groups; the smaller integer type where there are many."""


@dataclass(frozen=True, eq=False)
class Composition:
    """Which values each group holds. It is made from counts alone: no row has a part in it.

    Parameters
    ----------
    members
        For each value, the increasing numbers of the groups that hold it.
    number_of_groups
        Groups, numbered from 0.
    """

    members: tuple[Groups, ...]
    number_of_groups: int

    def labelled(self, stream: NoiseStream) -> Composition:
        """The same groups with numbers that say nothing of how they were made."""
        labels = stream.permutation(self.number_of_groups).astype(np.int32)
        return Composition(ascending([labels[each] for each in self.members]), self.number_of_groups)

    def block(self, first: int, end: int) -> Composition:
        """Some consecutive groups by themselves, numbered from 0."""
        if (first, end) == (0, self.number_of_groups):
            return self
        held = (each[slice(*np.searchsorted(each, (first, end)))] - first for each in self.members)
        return Composition(tuple(held), end - first)

    @property
    def counts(self) -> Integers:
        """Groups that hold each value, ``(values,)``."""
        return np.array([each.size for each in self.members])

    def values_by_group(self) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The values of the groups, group after group and increasing in each."""
        bits = len(self.members).bit_length()
        # Group and value in one number: sorting numbers takes a fraction of the time of sorting indices.
        places = [each.astype(np.int64) << bits | value for value, each in enumerate(self.members)]
        return (np.sort(np.concatenate(places)) & (1 << bits) - 1).astype(code_dtype(len(places)))

    def deal(self, codes: npt.NDArray[Any], stream: NoiseStream) -> npt.NDArray[np.int32]:
        """Deal the rows of each value, in random order, to the groups that hold the value.

        Parameters
        ----------
        codes
            Value of each row, ``(rows,)``; every value as often as groups hold it.
        stream
            Where the bits come from.

        Returns
        -------
        numpy.ndarray
            ``(rows,)``: the group of each row.
        """
        # Codes are small integers, so this is a counting sort.
        by_value = np.argsort(codes, kind="stable")
        groups = np.empty(len(codes), np.int32)
        start = 0
        for holding in self.members:
            rows = by_value[start : start + len(holding)]
            groups[rows] = holding[stream.permutation(len(holding))]
            start += len(holding)
        return groups


def ascending(members: list[Groups]) -> tuple[Groups, ...]:
    """The same groups in ascending order, sorted where they are: they are as many as rows."""
    short = tuple(each.astype(np.int32, copy=False) for each in members)
    for each in short:
        each.sort()
    return short
