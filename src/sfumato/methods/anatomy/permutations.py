"""Sums over all permutations of a bucket (permanents), for many buckets at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers, MixedRadix, in_parts

# --------------------------------------------------------------------------------------------------
# People in buckets, arranged for computing with all buckets of one size at once.


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


# --------------------------------------------------------------------------------------------------
# Sums over all permutations of a bucket: exact, drawn from, and approximated.


LARGEST_EXACT = 12
"""Bucket size up to which sums over permutations are exact; the cost doubles with each more."""

NUMBERS_AT_ONCE = 2**17
"""Partial sums kept at a time: a megabyte, which stays in the cache."""

ROUNDS_OF_BALANCE = 100
"""Rounds of scaling rows and columns at most."""

SMALLEST_IMBALANCE = 1e-7
"""Distance of column sums from one at which a matrix is balanced."""


def permutation_marginals(likelihoods: Floats) -> tuple[Floats, Floats]:
    """Probability that each person of a bucket holds each of its values, and the weight of the bucket.

    Parameters
    ----------
    likelihoods
        ``(size, size, buckets)``: person, value, bucket; not negative.

    Returns
    -------
    tuple
        Marginals ``(size, size, buckets)``, and the logarithm of each matrix's permanent ``(buckets,)``:
        minus infinity where no permutation is possible, and the marginals are zero there.

    Notes
    -----
    With F[S] the weight of giving the values S to the first |S| people and B[S] the weight of giving the
    others to the rest, person m holds value q with weight ``A[m, q] sum over S of F[S] B[S + q]`` over the
    subsets S of m values without q: ``2^g g`` steps instead of ``g!``.

    Examples
    --------
    >>> marginals, weight = permutation_marginals(np.array([[0.6, 0.2], [0.3, 0.4]])[:, :, np.newaxis])
    >>> marginals[:, :, 0].round(12).tolist(), round(float(np.exp(weight[0])), 12)
    ([[0.8, 0.2], [0.2, 0.8]], 0.3)
    """
    size, _, number = likelihoods.shape
    marginals = np.empty_like(likelihoods)
    weights = np.empty(number)
    for part in in_parts(number, each=1 << size, at_once=NUMBERS_AT_ONCE):
        scales = likelihoods[:, :, part].max(axis=1)
        # Rows are scaled to a largest entry of one, so that long products stay within a double.
        matrix = likelihoods[:, :, part] / _positive(scales)[:, np.newaxis]
        forward, backward = _forward(matrix), _backward(matrix)
        total = forward[-1]
        for person, row in enumerate(_subsets(size)):
            for value, subsets in enumerate(row):
                joint = np.einsum("sb,sb->b", forward[subsets], backward[subsets | (1 << value)])
                marginals[person, value, part] = matrix[person, value] * joint / _positive(total)
        with np.errstate(divide="ignore"):
            weights[part] = np.log(total) + np.log(scales).sum(axis=0)
    return marginals, weights


def balanced_marginals(
    likelihoods: Floats, *, rounds: int = ROUNDS_OF_BALANCE, imbalance: float = SMALLEST_IMBALANCE
) -> tuple[Floats, Floats]:
    """An approximation of the marginals for any bucket size: likelihoods balanced to a doubly stochastic matrix.

    Rows and columns are scaled in turn until each person's probabilities add up to one and so do each
    value's. Among all doubly stochastic P this maximizes ``sum P ln(A / P)``, which takes the place of the
    logarithm of the permanent; so steps that use it never lower their objective either.

    Parameters
    ----------
    likelihoods
        ``(size, size, buckets)``: person, value, bucket; not negative.
    rounds
        Of scaling rows and columns, at most.
    imbalance
        Distance of column sums from one at which to stop.

    Returns
    -------
    tuple
        Approximate marginals ``(size, size, buckets)``, and the maximum ``(buckets,)``; minus infinity where
        some person or value has no likelihood at all.

    References
    ----------
    Sinkhorn (1967) for the scaling; Huang and Jebara (2009) for it as an approximation of permanents.

    Examples
    --------
    >>> even = balanced_marginals(np.ones((3, 3, 1)))[0]
    >>> even[:, :, 0].round(6).tolist()[0]
    [0.333333, 0.333333, 0.333333]
    """
    size, _, number = likelihoods.shape
    marginals = np.empty(likelihoods.shape)
    for part in in_parts(number, each=size**2, at_once=NUMBERS_AT_ONCE):
        scaled = np.ascontiguousarray(likelihoods[:, :, part])
        scaled = scaled / _positive(scaled.sum(axis=1, keepdims=True))
        marginals[:, :, part] = _balanced(scaled, rounds, imbalance)
    ratios = np.divide(likelihoods, marginals, out=np.ones_like(likelihoods), where=marginals > 0)
    weights = (marginals * np.log(ratios)).sum(axis=(0, 1))
    is_possible = (likelihoods.sum(axis=1) > 0).all(axis=0) & (likelihoods.sum(axis=0) > 0).all(axis=0)
    return marginals, np.where(is_possible, weights, -np.inf)


def _balanced(scaled: Floats, rounds: int, imbalance: float) -> Floats:
    """Columns and rows scaled in turn, until columns add up to one too."""
    for _ in range(rounds):
        columns = scaled.sum(axis=0, keepdims=True)
        if np.abs(columns - 1).max() < imbalance:
            return scaled
        scaled = scaled / _positive(columns)
        scaled = scaled / _positive(scaled.sum(axis=1, keepdims=True))
    return scaled


def _positive(sums: Floats) -> Floats:
    """Sums to divide by: one in place of zero."""
    return np.where(sums > 0, sums, 1)


def draw_permutations(likelihoods: Floats, generator: np.random.Generator) -> Integers:
    """One permutation for each bucket, drawn with probability in proportion to its weight.

    Parameters
    ----------
    likelihoods
        ``(size, size, buckets)``, with some possible permutation in every bucket.
    generator
        Where the draws come from.

    Returns
    -------
    numpy.ndarray
        ``(size, buckets)``: the place among the bucket's values that each person gets.

    Examples
    --------
    >>> certain = np.array([[0.0, 1.0], [1.0, 0.0]])[:, :, np.newaxis]
    >>> draw_permutations(certain, np.random.default_rng(1)).ravel().tolist()
    [1, 0]
    """
    size, _, number = likelihoods.shape
    drawn = np.empty((size, number), np.int64)
    for part in in_parts(number, each=1 << size, at_once=NUMBERS_AT_ONCE):
        scales = likelihoods[:, :, part].max(axis=1, keepdims=True)
        matrix = likelihoods[:, :, part] / scales
        backward = _backward(matrix)
        columns = np.arange(matrix.shape[2])
        taken = np.zeros(len(columns), np.int64)
        for person in range(size):
            # P(q | values taken so far) is in proportion to A[m, q] B[taken + q].
            bits = 1 << np.arange(size)[:, np.newaxis]
            is_free = (taken & bits) == 0
            weights = np.where(is_free, matrix[person] * backward[taken | bits, columns], 0)
            sums = np.cumsum(weights, axis=0)
            chosen = (sums <= generator.random(len(columns)) * sums[-1]).sum(axis=0)
            # Rounding may carry a draw past the last possible value.
            last = size - 1 - np.argmax(weights[::-1] > 0, axis=0)
            drawn[person, part] = np.minimum(chosen, last)
            taken |= 1 << drawn[person, part]
    return drawn


def _forward(matrix: Floats) -> Floats:
    """F over subsets of values, ``(2^size, buckets)``; the last is the permanent."""
    size = len(matrix)
    sums = np.zeros((1 << size, matrix.shape[2]))
    sums[0] = 1
    for person, row in enumerate(_subsets(size)):
        for value, subsets in enumerate(row):
            sums[subsets | (1 << value)] += sums[subsets] * matrix[person, value]
    return sums


def _backward(matrix: Floats) -> Floats:
    """B over subsets of values already given away, ``(2^size, buckets)``."""
    size = len(matrix)
    sums = np.zeros((1 << size, matrix.shape[2]))
    sums[-1] = 1
    for person, row in reversed(list(enumerate(_subsets(size)))):
        for value, subsets in enumerate(row):
            sums[subsets] += sums[subsets | (1 << value)] * matrix[person, value]
    return sums


@functools.cache
def _subsets(size: int) -> tuple[tuple[Integers, ...], ...]:
    """``[m][q]``: the subsets of m values without value q, as bit masks."""
    masks = np.arange(1 << size)
    counts = sum((masks >> bit) & 1 for bit in range(size))
    return tuple(
        tuple(masks[(counts == number) & ((masks >> value) & 1 == 0)] for value in range(size))
        for number in range(size)
    )
