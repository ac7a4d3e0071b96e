"""From likelihoods to guesses: the most probable assignment of each bucket, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.errors import DataError
from sfumato.methods.anatomy.law.people import Block, BucketedPeople
from sfumato.methods.anatomy.law.permutations import (
    LARGEST_EXACT,
    balanced_marginals,
    permutation_marginals,
)
from sfumato.values.arrays import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class Guesses:
    """What an attacker believes about everybody.

    Parameters
    ----------
    people
        The release.
    likelihoods
        For each block ``(size, size, buckets)``: weight of each person and value, rows scaled freely.
    marginals
        For each block ``(size, size, buckets)``: probability that each person holds each value.
    chosen
        For each block ``(size, buckets)``: the place of the value that each person is given.
    """

    people: BucketedPeople
    likelihoods: tuple[Floats, ...]
    marginals: tuple[Floats, ...]
    chosen: tuple[Integers, ...]

    @cached_property
    def values(self) -> Integers:
        """The value guessed for each person, ``(rows,)``."""
        return self._by_row(
            [
                np.take_along_axis(b.values, c, axis=0)
                for b, c in zip(self.people.blocks, self.chosen, strict=True)
            ]
        ).astype(np.int64)

    @cached_property
    def probabilities(self) -> Floats:
        """The probability that the attacker gives to that guess, ``(rows,)``."""
        return self.probabilities_by(self.marginals)

    def probabilities_by(self, marginals: tuple[Floats, ...]) -> Floats:
        """Probability of each guess under other marginals of the same shape, ``(rows,)``."""
        parts = []
        for block, matrix, chosen in zip(self.people.blocks, marginals, self.chosen, strict=True):
            guessed = np.take_along_axis(block.values, chosen, axis=0)
            # A value that a bucket holds twice has two places; both count.
            is_guess = block.values[np.newaxis] == guessed[:, np.newaxis]
            parts.append((matrix * is_guess).sum(axis=1))
        return self._by_row(parts)

    def probabilities_of(self, values: npt.NDArray[np.integer]) -> Floats:
        """Probability that the attacker gives to each person's holding a certain value, ``(rows,)``."""
        parts = []
        for block, matrix in zip(self.people.blocks, self.marginals, strict=True):
            is_value = block.values[np.newaxis] == values[block.rows][:, np.newaxis]
            parts.append((matrix * is_value).sum(axis=1))
        return self._by_row(parts)

    def _by_row(self, parts: list[Floats] | list[Integers]) -> Floats:
        result = np.empty(self.people.number_of_rows)
        for block, part in zip(self.people.blocks, parts, strict=True):
            result[block.rows] = part
        return result


def guess(people: BucketedPeople, likelihoods: Floats) -> Guesses:
    """Guesses from likelihoods of combinations and values, ``(combinations, values)``, not negative."""
    return guess_in_buckets(people, tuple(likelihoods.ravel()[block.cells] for block in people.blocks))


def guess_in_buckets(people: BucketedPeople, likelihoods: tuple[Floats, ...]) -> Guesses:
    """Guesses from the likelihoods of every bucket's people and values.

    Parameters
    ----------
    people
        The release.
    likelihoods
        For each block ``(size, size, buckets)``, not negative.

    Notes
    -----
    The most probable assignment maximizes the product of likelihoods, not of marginals: those already hold
    the evidence of the permutations and would count it twice. Marginals of buckets too large for the exact
    sum are balanced ones.
    """
    marginals = tuple(
        (permutation_marginals if len(matrix) <= LARGEST_EXACT else balanced_marginals)(matrix)[0]
        for matrix in likelihoods
    )
    chosen = tuple(best_permutations(matrix) for matrix in likelihoods)
    return Guesses(people, likelihoods, marginals, chosen)


def best_permutations(likelihoods: Floats) -> Integers:
    """The permutation with the largest product in each bucket, by the Hungarian method.

    Parameters
    ----------
    likelihoods
        ``(size, size, buckets)``.

    Returns
    -------
    numpy.ndarray
        ``(size, buckets)``: the place of the value that each person gets.

    Examples
    --------
    >>> matrix = np.array([[0.6, 0.4, 0.9], [0.6, 0.9, 0.1], [0.5, 0.8, 0.7]])
    >>> best_permutations(matrix[:, :, np.newaxis]).ravel().tolist()
    [2, 0, 1]
    """
    from scipy.optimize import linear_sum_assignment

    with np.errstate(divide="ignore"):
        costs = -np.log(np.ascontiguousarray(np.moveaxis(likelihoods, 2, 0)))
    return np.array([linear_sum_assignment(each)[1] for each in costs], np.int64).reshape(costs.shape[:2]).T


def require_possible(people: BucketedPeople, allowed: Booleans) -> None:
    """Refuse knowledge under which some bucket's values cannot be given to its people.

    Parameters
    ----------
    people
        The release.
    allowed
        ``(combinations, values)``: False where outside knowledge rules a pair out.

    Raises
    ------
    DataError
        With the number of buckets that have no assignment left.
    """
    from scipy.optimize import linear_sum_assignment

    number = 0
    for block in people.blocks:
        for matrix in np.moveaxis(allowed.ravel()[block.cells], 2, 0):
            # The assignment with the most allowed pairs; possible when all its pairs are.
            number += int(matrix[linear_sum_assignment(matrix, maximize=True)].sum()) < block.size
    if number:
        raise DataError(
            f"what is ruled out leaves {number:,} buckets without a possible assignment. "
            "Some of it contradicts the release; rule out less."
        )


def sorted_beliefs(block: Block, marginals: Floats) -> Floats:
    """Each person's probabilities of the bucket's different values, largest first, ``(size, size, buckets)``.

    A value with several places has its probability at one of them and zero at the others.
    """
    same = block.values[:, np.newaxis] == block.values[np.newaxis]
    is_first = ~np.tril(np.moveaxis(same, 2, 0), -1).any(axis=2)
    joined = np.einsum("mqb,qpb->mpb", marginals, same.astype(np.float64)) * is_first.T[np.newaxis]
    return -np.sort(-joined, axis=1)
