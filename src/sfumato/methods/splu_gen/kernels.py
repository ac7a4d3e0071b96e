"""Drawing decoys: every row shows a value drawn uniformly from the different values of its group."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.chance.partition import Partition, partition_rows
from sfumato.chance.randomness import NoiseSource, NoiseStream

_Code = TypeVar("_Code", bound=np.integer[Any])

GROUPS_PER_STREAM = 65_536
"""Groups drawn at a time, so that memory beside the codes stays small."""


def draw_from_groups(
    codes: npt.NDArray[_Code], groups: npt.NDArray[Any], gamma: int, stream: NoiseStream
) -> npt.NDArray[_Code]:
    """For each row a value drawn uniformly, with replacement, from the values of its group.

    Parameters
    ----------
    codes
        True value of each row, ``(rows,)``.
    groups
        Group of each row, ``(rows,)``; every group has ``gamma`` rows.
    gamma
        Rows of a group.
    stream
        Where the bits come from.

    Returns
    -------
    numpy.ndarray
        ``(rows,)``, of the type of ``codes``.

    Examples
    --------
    >>> stream = NoiseSource.seeded(1).stream(0)
    >>> drawn = draw_from_groups(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), 2, stream)
    >>> bool((drawn[:2] < 2).all() and (drawn[2:] >= 2).all())
    True
    """
    members = np.argsort(groups, kind="stable").reshape(-1, gamma)
    drawn = np.empty_like(codes)
    for start in range(0, len(members), GROUPS_PER_STREAM):
        rows = members[start : start + GROUPS_PER_STREAM]
        places = stream.uniform_codes(rows.size, gamma).reshape(rows.shape)
        drawn[rows] = np.take_along_axis(codes[rows], places.astype(np.intp), axis=1)
    return drawn


def draw_decoys(
    codes: npt.NDArray[_Code],
    number_of_values: int,
    gamma: int,
    noise: NoiseSource,
    *,
    partition: Partition = "mixed",
) -> npt.NDArray[_Code]:
    """Group the rows by their values alone, draw, and forget the groups.

    Parameters
    ----------
    codes
        True value of each row, ``(rows,)``; their number is a multiple of ``gamma``.
    number_of_values
        Values that the attribute can take.
    gamma, partition
        Rows of a group, and how groups are made.
    noise
        Source of this attribute's bits alone.

    Examples
    --------
    >>> draw_decoys(np.arange(6) % 3, 3, 2, NoiseSource.seeded(1)).shape
    (6,)
    """
    groups = partition_rows(codes, number_of_values, gamma, noise.named("groups").stream(0), kind=partition)
    return draw_from_groups(codes, groups, gamma, noise.named("draws").stream(0))
