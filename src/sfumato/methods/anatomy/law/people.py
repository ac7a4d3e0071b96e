"""People in buckets, arranged for computing with all buckets of one size at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Booleans, Integers
from sfumato.values.mixed_radix import MixedRadix


@dataclass(frozen=True, eq=False)
class Block:
    """All buckets of one size.

    Parameters
    ----------
    rows
        ``(size, buckets)``: the people of each bucket, as row numbers.
    values
        ``(size, buckets)``: the values of each bucket; the order of both is random and means nothing.
    cells
        ``(size, size, buckets)``: for person m and value q, the index of their pair in a flattened table
        over combinations of public values and sensitive values.
    """

    rows: Integers
    values: Integers
    cells: Integers

    @property
    def size(self) -> int:
        """People of a bucket."""
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class BucketedPeople:
    """What an Anatomy release tells: each person's public values and bucket, each bucket's values.

    Parameters
    ----------
    combinations
        ``(combinations, attributes)``: codes of the combinations of public values that occur.
    combination_of_row
        ``(rows,)``.
    attribute_sizes
        Number of categories of each public attribute.
    number_of_values
        Number of values of the sensitive attribute.
    blocks
        The buckets, by size.

    Examples
    --------
    >>> people = BucketedPeople.arrange(
    ...     [np.array([0, 1, 1, 0])], [2], np.array([1, 1, 2, 2]), np.array([[0, 1], [1, 2]]), 3, seed=1
    ... )
    >>> people.number_of_rows, len(people.combinations), people.blocks[0].size
    (4, 2, 2)
    """

    combinations: Integers
    combination_of_row: Integers
    attribute_sizes: tuple[int, ...]
    number_of_values: int
    blocks: tuple[Block, ...]

    @classmethod
    def arrange(
        cls,
        columns: Sequence[npt.NDArray[Any]],
        attribute_sizes: Sequence[int],
        buckets: Integers,
        places: npt.NDArray[Any],
        number_of_values: int,
        *,
        seed: int,
    ) -> BucketedPeople:
        """Arrange published columns.

        Parameters
        ----------
        columns
            Codes of each public attribute, each ``(rows,)``.
        attribute_sizes
            Their numbers of categories.
        buckets
            Bucket of each row, numbered from 1.
        places
            ``(buckets, largest)``: values of each bucket, -1 where it has fewer.
        number_of_values
            Number of values of the sensitive attribute.
        seed
            For the order of people and values inside buckets: it decides ties, so it is random.
        """
        generator = np.random.default_rng(seed)
        combinations, of_row = _combine(columns, attribute_sizes)
        whole = MixedRadix([len(combinations), number_of_values])
        shuffled = generator.permutation(len(buckets))
        by_bucket = shuffled[np.argsort(buckets[shuffled], kind="stable")]
        sizes = np.bincount(buckets)[1:]
        starts = np.cumsum(sizes) - sizes
        blocks = []
        for size in np.unique(sizes):
            chosen = np.flatnonzero(sizes == size)
            rows = by_bucket[starts[chosen] + np.arange(size)[:, np.newaxis]]
            found = places[chosen]
            # Stable by presence: the values come first, in the order they have; then they are shuffled.
            present = np.argsort(found < 0, axis=1, kind="stable")[:, :size]
            values = generator.permuted(np.take_along_axis(found, present, axis=1), axis=1).T.astype(np.int64)
            cells = whole.encode(np.broadcast_arrays(of_row[rows][:, np.newaxis], values[np.newaxis]))
            blocks.append(Block(rows, np.ascontiguousarray(values), np.ascontiguousarray(cells)))
        return cls(combinations, of_row, tuple(attribute_sizes), number_of_values, tuple(blocks))

    def only(
        self, chosen: Sequence[Booleans], *, most: int, generator: np.random.Generator
    ) -> BucketedPeople:
        """The people of some buckets, or of a random part of these buckets where they are more than ``most``.

        Parameters
        ----------
        chosen
            For each block ``(buckets,)``.
        most
            People at most, up to the size of one bucket.
        generator
            Draws the part.
        """
        number = sum(block.size * int(each.sum()) for block, each in zip(self.blocks, chosen, strict=True))
        share = min(1.0, most / max(number, 1))
        kept = [
            generator.permutation(np.flatnonzero(each))[: int(np.ceil(share * each.sum()))] for each in chosen
        ]
        pairs = [(block, each) for block, each in zip(self.blocks, kept, strict=True) if each.size]
        rows = [block.rows[:, each] for block, each in pairs]
        whole = np.concatenate([each.ravel() for each in rows]) if rows else np.zeros(0, np.int64)
        places = np.empty(self.number_of_rows, np.int64)
        places[whole] = np.arange(len(whole))
        blocks = tuple(
            Block(
                places[block.rows[:, each]],
                np.ascontiguousarray(block.values[:, each]),
                np.ascontiguousarray(block.cells[:, :, each]),
            )
            for block, each in pairs
        )
        return replace(self, combination_of_row=self.combination_of_row[whole], blocks=blocks)

    @property
    def number_of_rows(self) -> int:
        """People."""
        return len(self.combination_of_row)

    @property
    def number_of_buckets(self) -> int:
        """Buckets of all sizes."""
        return sum(block.rows.shape[1] for block in self.blocks)

    @property
    def largest_bucket(self) -> int:
        """People of the largest bucket."""
        return max(block.size for block in self.blocks)

    @cached_property
    def rows_of_combination(self) -> Integers:
        """How many people have each combination, ``(combinations,)``."""
        return np.bincount(self.combination_of_row, minlength=len(self.combinations))

    @cached_property
    def rows_of_value(self) -> Integers:
        """How many people hold each value, ``(values,)``: buckets say it exactly."""
        counts = np.zeros(self.number_of_values, np.int64)
        for block in self.blocks:
            counts += np.bincount(block.values.ravel(), minlength=self.number_of_values)
        return counts

    @cached_property
    def number_of_value_sets(self) -> int:
        """Different sets of values that buckets have: the symmetry diagnostic.

        With a single one, swapping two values everywhere changes nothing published, and there is nothing
        to learn about who holds which.
        """
        found = set()
        for block in self.blocks:
            found |= {tuple(each) for each in np.unique(np.sort(block.values, axis=0), axis=1).T.tolist()}
        return len(found)

    @cached_property
    def chance_of_random_guess(self) -> float:
        """Expected accuracy of dealing each bucket's values at random: mean of ``sum_v c(v)^2 / size``."""
        expected = 0.0
        for block in self.blocks:
            same = block.values[:, np.newaxis] == block.values[np.newaxis]
            expected += float(same.sum()) / block.size
        return expected / self.number_of_rows


def _combine(columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> tuple[Integers, Integers]:
    """Combinations that occur and the one of each row; keys stay small, one attribute at a time."""
    keys = np.zeros(len(columns[0]), np.int64)
    table = np.zeros((1, 0), np.int64)
    for column, size in zip(columns, sizes, strict=True):
        radix = MixedRadix([len(table), size])
        joint, keys = np.unique(radix.encode([keys, column]), return_inverse=True)
        before, code = radix.decode(joint)
        table = np.column_stack([table[before], code])
    return table, keys.astype(np.int64)
