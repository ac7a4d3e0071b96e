"""Sums over all permutations of a bucket: exact, drawn from, and approximated."""

from __future__ import annotations

import functools

import numpy as np

from sfumato.values.arrays import Floats, Integers
from sfumato.values.parts import in_parts

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
