"""Codes of several attributes as one number, and back: the digits of a number whose places differ in size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import TooLargeError
from sfumato.values.arrays import Integers

LARGEST_KEY = 2**62
"""Combinations of categories that a signed 64-bit number can tell apart, with room to spare."""


class MixedRadix:
    """Combinations of codes, numbered with the last attribute fastest: numpy's order of cells in a table.

    Parameters
    ----------
    sizes
        Number of categories of every attribute.

    Raises
    ------
    TooLargeError
        When the combinations are too many for one number.

    Examples
    --------
    >>> radix = MixedRadix([3, 2])
    >>> keys = radix.encode([np.array([2, 0]), np.array([1, 1])])
    >>> keys.tolist(), [each.tolist() for each in radix.decode(keys)]
    ([5, 1], [[2, 0], [1, 1]])
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        if self.combinations > LARGEST_KEY:
            raise TooLargeError(
                f"{len(self.sizes)} attributes have {self.combinations:.3g} combinations of categories; "
                f"at most {LARGEST_KEY:.3g} can be told apart. Merge categories, or leave attributes out."
            )

    @cached_property
    def combinations(self) -> int:
        """How many there are, whether or not they occur."""
        return math.prod(self.sizes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """By how much a key grows with each attribute's code."""
        return tuple(math.prod(self.sizes[place + 1 :]) for place in range(len(self.sizes)))

    def encode(self, columns: Sequence[npt.NDArray[Any]]) -> Integers:
        """Keys of rows given as one array of codes for each attribute, all of one shape."""
        keys = columns[0].astype(np.int64)
        for size, column in zip(self.sizes[1:], columns[1:], strict=True):
            keys *= size
            keys += column
        return keys

    def digit(self, keys: Integers, place: int) -> Integers:
        """Codes of one attribute."""
        return np.asarray(keys // self.strides[place] % self.sizes[place])

    def decode(self, keys: Integers) -> tuple[Integers, ...]:
        """Codes of every attribute."""
        codes = []
        for size in reversed(self.sizes[1:]):
            keys, code = np.divmod(keys, size)
            codes.append(code)
        return (keys, *reversed(codes))

    def tabulate(
        self, columns: Sequence[npt.NDArray[Any]], weights: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        """How many rows, or what sum of weights, each combination has: an array of shape ``sizes``.

        Examples
        --------
        >>> MixedRadix([2, 3]).tabulate([np.array([0, 1, 1]), np.array([2, 0, 0])]).tolist()
        [[0, 0, 1], [2, 0, 0]]
        """
        cells = self.encode(columns).ravel()
        return np.bincount(cells, weights, minlength=self.combinations).reshape(self.sizes)
