"""Combinations that one row alone has, counted while rows pass by: each by itself, or a sample of them by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.scattered import sorted_scattered

Keys = npt.NDArray[np.uint64]
"""Numbers that stand for combinations, spread evenly over 64 bits."""


class CellCounter:
    """Combinations of few attributes, each counted."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._radix = MixedRadix(sizes)
        self.cells = int(np.prod(sizes, dtype=np.int64))
        self._seen = np.zeros(self.cells, dtype=np.uint8)

    def add(self, codes: Sequence[npt.NDArray[Any]]) -> None:
        """Count rows, given by their codes of each attribute."""
        found = np.bincount(self._radix.encode(codes), minlength=self.cells)
        # Two is as good as many.
        self._seen = np.minimum(self._seen + found, 2).astype(np.uint8)

    def merge(self, other: Self) -> None:
        """Take over what another counter has seen of other rows."""
        self._seen = np.minimum(self._seen + other._seen, 2)

    def unique(self) -> int:
        """Combinations that one row has."""
        return int(np.count_nonzero(self._seen == 1))


class _Familiar:
    """Keys that were met twice and have nothing more to say: where rows are repeated, most of those that come.

    Each is remembered in a slot of its own first bits. Of several with one slot one is, and the others are not known
    here: whoever sorts what is left finds them.

    Parameters
    ----------
    keys
        What was met twice.
    halvings
        How many first bits of all keys are zero.
    """

    def __init__(self, keys: Keys, halvings: int) -> None:
        bits = keys.size.bit_length() + 1
        self._down, self._up = np.uint64(64 - bits), np.uint64(halvings)
        # An empty slot has a key that belongs into another one.
        self._slots = np.zeros(1 << bits, np.uint64)
        self._slots[0] = np.iinfo(np.uint64).max
        self._slots[self._slot(keys)] = keys

    def _slot(self, keys: Keys) -> Keys:
        return (keys << self._up) >> self._down

    def others_of(self, keys: Keys) -> Keys:
        """The keys that are not remembered."""
        return keys[np.not_equal(self._slots.take(self._slot(keys)), keys)]


class KeyCounter:
    """Combinations by their keys. When there are too many, those whose keys are large are let go: a fair sample remains."""

    def __init__(self, most: int, cells: float = float("inf"), *, left: int | None = None) -> None:
        self.most = most
        self.cells = cells
        # Keys that are left at most once there were too many.
        self._left = most if left is None else min(left, most)
        self._halvings = 0
        self._once = np.empty(0, np.uint64)
        self._again = np.empty(0, np.uint64)
        self._waiting: list[Keys] = []
        self._familiar = _Familiar(self._again, 0)

    def __getstate__(self) -> dict[str, Any]:
        """What travels is what was counted, and not what it is looked up by."""
        self._settle()
        return {name: value for name, value in self.__dict__.items() if name != "_familiar"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._familiar = _Familiar(self._again, self._halvings)

    @property
    def is_sample(self) -> bool:
        """Whether combinations were let go."""
        return self._halvings > 0

    def add(self, keys: Keys) -> None:
        """Count rows, given by their keys."""
        keys = self._sampled(keys)
        self._waiting.append(self._familiar.others_of(keys))
        if sum(each.size for each in self._waiting) >= self.most:
            self._settle()

    def merge(self, other: Self) -> None:
        """Take over what another counter has seen of other rows."""
        other._settle()
        # Both are the keys below a bound; what one has let go the other must let go too.
        self._halvings = max(self._halvings, other._halvings)
        again = self._sampled(other._again)
        self._waiting = [*map(self._sampled, self._waiting), self._sampled(other._once), again, again]
        self._once, self._again = self._sampled(self._once), self._sampled(self._again)
        self._settle()

    def _settle(self) -> None:
        """Sorted, equal keys are neighbours; a key that was met before is there twice by itself."""
        if not self._waiting:
            return
        keys = sorted_scattered(np.concatenate([*self._waiting, self._once, self._again, self._again]))
        self._waiting = []
        differs = np.ones(keys.size + 1, np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=differs[1:-1])
        first, last = differs[:-1], differs[1:]
        self._once, self._again = keys[first & last], keys[first & ~last]
        if self._once.size + self._again.size > self.most:
            while self._once.size + self._again.size > self._left:
                self._halvings += 1
                self._once, self._again = self._sampled(self._once), self._sampled(self._again)
        self._familiar = _Familiar(self._again, self._halvings)

    def _sampled(self, keys: Keys) -> Keys:
        return keys[keys < np.uint64(1 << (64 - self._halvings))] if self._halvings else keys

    def unique(self) -> int:
        """Combinations that one row has; by the share that was kept where some were let go."""
        self._settle()
        return int(self._once.size) << self._halvings
