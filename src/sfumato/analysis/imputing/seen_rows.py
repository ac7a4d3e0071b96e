"""Published rows as evidence of true ones: combinations that occur, and what each may have been."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sfumato.chance.distortion import TwoValued
from sfumato.errors import TooLargeError
from sfumato.release.release import Release
from sfumato.values.arrays import Codes, Floats, Integers
from sfumato.values.mixed_radix import MixedRadix

LARGEST_CHANNEL = 2_000
"""Combinations of the perturbed attributes' categories: what a row may have been, each with its chance."""


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Published rows over some attributes, gathered by what they show.

    Parameters
    ----------
    exact, perturbed
        Names of attributes, published as they are and redrawn.
    exact_radix, perturbed_radix
        Number their combinations.
    groups
        Combinations of exact attributes that occur, ascending, ``(groups,)``.
    group_of, shown
        For every published combination that occurs, its group and its perturbed values, ``(cells,)``, ascending.
    rows
        How many rows show it, ``(cells,)``.
    channel
        Chance of every published combination of the perturbed attributes, ``matrix[true, published]``.
    shares_told
        Of the information of the true rows, the shares that published ones have: where they have least, and on average.
    """

    exact: tuple[str, ...]
    perturbed: tuple[str, ...]
    exact_radix: MixedRadix
    perturbed_radix: MixedRadix
    groups: Integers
    group_of: Integers
    shown: Integers
    rows: Integers
    channel: Floats
    shares_told: tuple[float, float]

    @classmethod
    def of(cls, release: Release, names: Sequence[str], matrices: Mapping[str, Floats | TwoValued]) -> Self:
        """Count the rows of a release.

        Raises
        ------
        TooLargeError
            When a row may have been too many things.
        """
        exact = tuple(name for name in names if name not in matrices)
        perturbed = tuple(name for name in names if name in matrices)
        exact_radix, perturbed_radix = (
            MixedRadix([release.schema[name].size for name in each]) for each in (exact, perturbed)
        )
        width = perturbed_radix.combinations
        if width > LARGEST_CHANNEL:
            raise TooLargeError(
                f"the perturbed attributes {', '.join(perturbed)} have {width:,} combinations of categories, and rows are drawn "
                f"for at most {LARGEST_CHANNEL:,}. Name fewer of them."
            )
        counted = release.count_occupied((*exact, *perturbed))
        keys = _encode(exact_radix, [counted.codes_of(name) for name in exact], counted.counts.size)
        groups, group_of = np.unique(keys, return_inverse=True)
        shown = perturbed_radix.encode([counted.codes_of(name) for name in perturbed])
        order = np.argsort(group_of * width + shown)
        dense = {name: _dense(matrices[name], release.schema[name].size) for name in perturbed}
        channel: Floats = np.eye(1)
        for name in perturbed:
            channel = np.asarray(np.kron(channel, dense[name]), dtype=np.float64)
        told = [told_shares(dense[name], _margin(release, name)) for name in perturbed]
        return cls(
            exact,
            perturbed,
            exact_radix,
            perturbed_radix,
            groups,
            group_of[order],
            shown[order],
            counted.counts[order],
            channel,
            (math.prod(least for least, _ in told), math.prod(mean for _, mean in told)),
        )

    @property
    def width(self) -> int:
        """What a row may have been: combinations of the perturbed attributes."""
        return len(self.channel)

    @property
    def number_of_rows(self) -> int:
        """Published rows."""
        return int(self.rows.sum())

    @cached_property
    def _seen_keys(self) -> Integers:
        return np.asarray(self.group_of * self.width + self.shown)

    @cached_property
    def starts(self) -> Integers:
        """Where the cells of each group begin, ``(groups,)``."""
        return np.searchsorted(self.group_of, np.arange(self.groups.size))

    def chances(self, shares: Floats) -> Floats:
        """What the rows of every published combination were, ``(cells, width)``, given the shares of true values in groups."""
        chances = shares[self.group_of] * self.channel.T[self.shown]
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def places(self, codes: Mapping[str, npt.NDArray[Any]], number: int) -> Integers:
        """For some rows the published combination each shows, ``(rows,)``."""
        keys = _encode(self.exact_radix, [codes[name] for name in self.exact], number)
        shown = self.perturbed_radix.encode([codes[name] for name in self.perturbed])
        return np.searchsorted(self._seen_keys, np.searchsorted(self.groups, keys) * self.width + shown)


def told_shares(matrix: Floats, margin: Floats) -> tuple[float, float]:
    """How much of a true value's information its published one has: where it has least, and on average.

    Parameters
    ----------
    matrix
        ``matrix[true, published]``.
    margin
        True counts, or estimates of them, ``(k,)``.

    Notes
    -----
    A function of the true value with variance 1 keeps, seen through the published one, a variance between the least and the
    largest squared singular value of ``sqrt(p) M / sqrt(p M)``, the first of which is 1 for the constant. What is kept in the worst
    direction also says how fast a chain of draws forgets: by one minus it a step.

    Examples
    --------
    >>> least, mean = told_shares(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([50.0, 50.0]))
    >>> round(least, 6), round(mean, 6)
    (0.36, 0.36)
    """
    shares = np.clip(margin, 0, None) + 0.5
    shares = shares / shares.sum()
    scaled = np.sqrt(shares)[:, None] * matrix / np.sqrt(shares @ matrix)
    kept = np.square(np.linalg.svd(scaled, compute_uv=False))[1:]
    return (float(kept.min()), float(kept.mean())) if kept.size else (1.0, 1.0)


def _margin(release: Release, name: str) -> Floats:
    return np.asarray(release.consistent_counts(name).values, dtype=np.float64)


def _dense(matrix: Floats | TwoValued, size: int) -> Floats:
    return matrix.dense(size) if isinstance(matrix, TwoValued) else matrix


def _encode(radix: MixedRadix, codes: Sequence[Codes | npt.NDArray[Any]], number: int) -> Integers:
    """Keys of rows; without attributes all rows are alike."""
    return radix.encode(codes) if codes else np.zeros(number, dtype=np.int64)
