"""Composition of buckets: which values are in which, least squares for counts, expected errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers, in_parts
from sfumato.data.chunks import CodedBatch
from sfumato.errors import NotIdentifiableError, ReleaseDamagedError
from sfumato.estimates.counts import Feasibility, feasible, most_likely

# --------------------------------------------------------------------------------------------------
# The least squares of buckets where values are so many that a matrix of all pairs of them is out of reach.


SMALLEST_EIGENVALUE = 1e-10
"""Of the co-occurrence matrix, scaled to ones on its diagonal: below it a direction is not determined."""

MOST_ROUNDS = 2_000
"""Of conjugate gradients; some dozens do unless the buckets hardly tell values apart."""

SOLVED, DETERMINED = 1e-10, 1e-6
"""What may be left of the right side: where rounds end, and above which a sum is not determined."""


@dataclass(frozen=True, eq=False)
class SparseBuckets:
    """Products with, and solutions of, the matrices of buckets and values, in memory of their places.

    Parameters
    ----------
    places
        ``(buckets, largest)``: codes of the values in each bucket, -1 where a bucket has fewer.
    number_of_values
        Values that the attribute can take.

    Notes
    -----
    With A and K as in :class:`~sfumato.methods.anatomy.buckets.BucketComposition`, ``A'KA`` has as many entries as
    buckets have pairs of places. What is left of a right side in the directions that the buckets do not determine is never
    solved away, so what remains after the last round says whether a sum is determined; and whatever remains of one that is
    leans its estimate by less than that share.
    """

    places: npt.NDArray[np.int32]
    number_of_values: int

    @cached_property
    def incidence(self) -> Any:
        """A, ``(buckets, values)``, sparse."""
        from scipy.sparse import csr_array

        is_there = self.places >= 0
        ends = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
        codes = self.places[is_there]
        shape = len(self.places), self.number_of_values
        found = csr_array((np.ones(len(codes)), codes, ends), shape=shape)
        # A value may stand several times in a bucket.
        found.sum_duplicates()
        return found

    @cached_property
    def _sizes(self) -> Floats:
        return np.asarray(self.incidence.sum(axis=1), np.float64)

    def together(self, rows: Floats) -> Floats:
        """``rows @ A'KA``, ``(n, values)`` both."""
        return np.asarray((self.incidence.T @ (self.incidence @ rows.T / self._sizes[:, np.newaxis])).T)

    @cached_property
    def _scale(self) -> Floats:
        """Of each value one over the root of its diagonal entry; 0 where nobody has it."""
        squares = self.incidence.copy()
        squares.data = squares.data**2
        diagonal = np.asarray(squares.T @ (1 / self._sizes), np.float64)
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=diagonal > 0)

    def solve(self, right: Floats) -> tuple[Floats, Booleans]:
        """``right @ (A'KA)^+`` for rows ``(n, values)``, and which of them have a solution, ``(n,)``."""
        asked = right * self._scale
        found, left = np.zeros_like(asked), asked.copy()
        direction = left.copy()
        squares = (left**2).sum(axis=1)
        whole = squares.copy()
        for _ in range(MOST_ROUNDS):
            is_open = squares > SOLVED**2 * whole
            if not is_open.any():
                break
            product = self.together(direction * self._scale) * self._scale
            curvature = (direction * product).sum(axis=1)
            # Along a direction that buckets do not determine there is no curvature but that of rounding.
            is_open &= curvature > SMALLEST_EIGENVALUE * (direction**2).sum(axis=1)
            step = np.divide(squares, curvature, out=np.zeros(len(squares)), where=is_open)[:, np.newaxis]
            found += step * direction
            left -= step * product
            before, squares = squares, (left**2).sum(axis=1)
            turned = np.divide(squares, before, out=np.zeros(len(squares)), where=is_open)
            direction = left + turned[:, np.newaxis] * direction
        return found * self._scale, np.asarray(squares <= DETERMINED**2 * whole)

    def covariance(self, spread: Floats, totals: Floats, left: Floats, right: Floats) -> Floats:
        """``left @ (A'K diag(A s) KA - C diag(s / f) C) @ right'`` with ``C = A'KA``, ``(n_left, n_right)``."""
        weights = self.incidence @ spread / self._sizes**2
        shares = np.divide(spread, totals, out=np.zeros(len(spread)), where=totals > 0)
        first, second = self.incidence @ left.T, self.incidence @ right.T
        met = (first * weights[:, np.newaxis]).T @ second
        return np.asarray(met - (self.together(left) * shares) @ self.together(right).T)


# --------------------------------------------------------------------------------------------------
# Which values stand in which bucket, and the least squares that follows from it.


ROWS = "rows"
"""The published table of public attributes and buckets."""

SENSITIVE = "sensitive"
"""The published table of buckets and sensitive values."""

BUCKET = "bucket"
"""The column that joins them."""

LARGEST_TENSOR = 128
"""Values up to which the covariances of all single values are kept, a cube of numbers; beyond it, one
covariance at a time is computed from the buckets."""

MOST_SEPARATE_SPREADS = 3
"""Spreads up to which a pass over the buckets for each is quicker than the cube."""

SPARSE = 5
"""Times as many values as places of a bucket from which on its pairs are quicker than a row of all values."""

LARGEST_DENSE = 2_000
"""Values up to which all pairs of them are laid out and solved once for all; time grows with their cube: 3 s here, a quarter
of an hour at ten times as many. Beyond it every sum is solved by itself, in memory of the buckets."""

CELLS_AT_ONCE = 4_000_000
"""Numbers of the dense pieces in which bucket and value tables are multiplied: 32 MB."""


@dataclass(frozen=True, eq=False)
class BucketComposition:
    """The public table of buckets and their sensitive values.

    Parameters
    ----------
    places
        ``(buckets, largest)``: codes of the values in each bucket, -1 where a bucket has fewer.
    number_of_values
        Values that the attribute can take.

    Notes
    -----
    Let A be the matrix of buckets and values and m the number of a bucket's rows that satisfy a
    predicate. Which row of a bucket holds which value is unknown, but ``E[m] = A theta`` with theta_v the
    share of the rows of value v that satisfy it: within a value, rows were dealt to buckets at random. So
    least squares with weights K = 1/size gives theta without bias, whatever the buckets are:

    ``theta = (A'KA)^-1 A'K m``, and the counts ``x_v = f_v theta_v`` with f the exact totals.

    Examples
    --------
    >>> buckets = BucketComposition.from_pairs(np.array([1, 1, 2, 2]), np.array([0, 1, 1, 2]), 3)
    >>> buckets.totals.tolist(), buckets.rank
    ([1, 2, 1], 2)
    """

    places: npt.NDArray[np.int32]
    number_of_values: int

    @classmethod
    def from_pairs(
        cls, buckets: Integers, values: npt.NDArray[Any], number_of_values: int
    ) -> BucketComposition:
        """Collect the rows of a published table of buckets and values.

        Raises
        ------
        ReleaseDamagedError
            When the buckets are not numbered 1, 2, ... without a gap.
        """
        _refuse_other_numbers(buckets, len(buckets))
        sizes = np.bincount(buckets)[1:]
        if len(sizes) == 0 or sizes.min() == 0:
            raise _damaged("some bucket between the first and the last has no value")
        order = np.argsort(buckets, kind="stable")
        places = np.full((len(sizes), int(sizes.max())), -1, np.int32)
        places[np.arange(places.shape[1]) < sizes[:, np.newaxis]] = values[order]
        return cls(places, number_of_values)

    @cached_property
    def sizes(self) -> Integers:
        """Rows of each bucket, ``(buckets,)``."""
        return np.asarray(np.count_nonzero(self.places >= 0, axis=1))

    @cached_property
    def totals(self) -> Integers:
        """Rows of each value in the whole table, ``(values,)``: exact (f)."""
        return np.bincount(self.places[self.places >= 0], minlength=self.number_of_values)

    def counts(self) -> Integers:
        """How often each value stands in each bucket, ``(buckets, values)``."""
        return np.stack(
            [np.count_nonzero(self.places == value, axis=1) for value in range(self.number_of_values)], axis=1
        )

    @cached_property
    def _different(self) -> tuple[npt.NDArray[np.int32], Integers]:
        """Buckets that differ in their values, and how many there are of each."""
        base, largest = self.number_of_values + 1, self.places.shape[1]
        if base**largest >= 2**62:
            return self.places, np.ones(len(self.places), np.int64)
        powers = base ** np.arange(largest, dtype=np.int64)
        # Codes and the -1 of an empty place are as many as the base: no two different buckets have one key.
        keys = np.sort(self.places, axis=1) @ powers
        _, first, times = np.unique(keys, return_index=True, return_counts=True)
        return self.places[first], times

    def _incidence(self) -> Iterator[tuple[Floats, Floats]]:
        """Pieces of A over the different buckets ``(n, values)``, with ``times / size^2`` of each ``(n,)``."""
        different, times = self._different
        size = self.number_of_values
        for part in in_parts(len(different), each=size + 1, at_once=CELLS_AT_ONCE):
            places = different[part]
            # The number -1 of an empty place is the last column, which is cut off again.
            incidence = np.zeros((len(places), size + 1))
            for column in places.T:
                incidence[np.arange(len(places)), column] += 1
            incidence = incidence[:, :size]
            yield incidence, times[part] / incidence.sum(axis=1) ** 2

    def _gram(self, weight_by_value: Floats) -> Floats:
        """``A'K diag(A w) KA``, ``(values, values)``."""
        if SPARSE * self.places.shape[1] < self.number_of_values:
            return self._gram_by_pairs(weight_by_value)
        result = np.zeros((self.number_of_values, self.number_of_values))
        for incidence, scales in self._incidence():
            weights = scales * (incidence @ weight_by_value)
            result += (incidence * weights[:, np.newaxis]).T @ incidence
        return result

    def _gram_by_pairs(self, weight_by_value: Floats) -> Floats:
        """The same where buckets hold few of many values: pair after pair of a bucket's places."""
        different, times = self._different
        size, largest = self.number_of_values, different.shape[1]
        result = np.zeros((size + 1) ** 2)
        # The number -1 of an empty place is the last value, which weighs nothing and is cut off again.
        weights = np.append(weight_by_value, 0.0)
        for part in in_parts(len(different), each=largest**2, at_once=CELLS_AT_ONCE):
            places = np.where(different[part] < 0, size, different[part]).astype(np.int64)
            scales = times[part] / np.count_nonzero(places < size, axis=1) ** 2 * weights[places].sum(axis=1)
            keys = places[:, :, np.newaxis] * (size + 1) + places[:, np.newaxis, :]
            result += np.bincount(keys.ravel(), np.repeat(scales, largest**2), minlength=len(result))
        return np.asarray(result.reshape(size + 1, size + 1)[:size, :size])

    @cached_property
    def co_occurrence(self) -> Floats:
        """``A'KA`` with K = 1/size: how much of each value's buckets each value fills, ``(values, values)``.

        Divided by the totals, its rows are the distortion matrix of Xiao and Tao's answer.
        """
        # The row sums of A are the sizes, so a weight of one for each value gives size / size^2.
        return self._gram(np.ones(self.number_of_values))

    @cached_property
    def _solution(self) -> tuple[Floats, Floats]:
        """``F (A'KA)^+``, and a basis of what it leaves undetermined of the values that occur (columns of length 1)."""
        present = self.totals > 0
        matrix = self.co_occurrence[np.ix_(present, present)]
        scale = 1 / np.sqrt(np.diagonal(matrix))
        eigenvalues, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
        is_kept = eigenvalues > SMALLEST_EIGENVALUE
        kept = scale[:, np.newaxis] * vectors[:, is_kept]
        inverse = (kept / eigenvalues[is_kept]) @ kept.T
        size = self.number_of_values
        solution = np.zeros((size, size))
        solution[np.ix_(present, present)] = self.totals[present, np.newaxis] * inverse
        undetermined = scale[:, np.newaxis] * vectors[:, ~is_kept]
        return solution, undetermined / np.linalg.norm(undetermined, axis=0)

    @property
    def solution(self) -> Floats:
        """The matrix that turns ``A'Km`` into counts, ``x = solution @ A'Km``, ``(values, values)``."""
        return self._solution[0]

    @property
    def are_values_many(self) -> bool:
        """Too many for the matrices of all pairs of them."""
        return self.number_of_values > LARGEST_DENSE

    @cached_property
    def _sparse(self) -> SparseBuckets | None:
        """Where values are many: what then stands for the matrices of all pairs of them."""
        return SparseBuckets(self.places, self.number_of_values) if self.are_values_many else None

    def outputs(self, weights: Floats) -> Floats:
        """What sums of counts take from ``A'Km``: ``weights @ solution``, ``(n, values)`` both."""
        if self._sparse is not None:
            return self._sparse.solve(weights * self.totals)[0]
        return np.asarray(weights @ self.solution)

    def estimates(self, cells: Floats) -> Floats:
        """Counts of each value from ``A'Km`` of some cells: ``cells @ solution'``, ``(cells, values)`` both."""
        if self._sparse is not None:
            return self._sparse.solve(cells)[0] * self.totals
        return np.asarray(cells @ self.solution.T)

    def together(self, rows: Floats) -> Floats:
        """``rows @ A'KA``, ``(n, values)`` both."""
        return np.asarray(rows @ self.co_occurrence) if self._sparse is None else self._sparse.together(rows)

    @property
    def rank(self) -> int:
        """Directions that the buckets determine; all are when it is the number of values that occur."""
        return int(np.count_nonzero(self.totals)) - len(self._solution[1].T)

    def determines(self, weights: Floats) -> Booleans:
        """Which sums of counts are determined: ``weights @ x`` for each row of ``(n, values)``.

        A sum of counts ``w'F theta`` can be estimated when ``F w`` has no part in the directions that leave
        ``A theta`` as it is.
        """
        asked = weights * self.totals
        if self._sparse is not None:
            return self._sparse.solve(asked)[1]
        parts = np.abs(asked[:, self.totals > 0] @ self._solution[1])
        lengths = np.linalg.norm(asked, axis=1, keepdims=True)
        return np.asarray((parts <= 1e-6 * lengths).all(axis=1))

    @cached_property
    def _tensor(self) -> Floats:
        """For each value, what its random dealing contributes to ``Cov(A'Km)``, ``(values, values, values)``."""
        size = self.number_of_values
        result = np.zeros((size, size, size))
        for incidence, scales in self._incidence():
            for value in range(size):
                holding = np.flatnonzero(incidence[:, value])
                part = incidence[holding]
                weights = scales[holding] * part[:, value]
                result[value] += (part * weights[:, np.newaxis]).T @ part
        together = self.co_occurrence
        shares = np.divide(1.0, self.totals, out=np.zeros(size), where=self.totals > 0)
        return np.asarray(result - np.einsum("u,uv,uw->uvw", shares, together, together))

    def _dealing(self, spreads: Floats) -> Floats:
        """``sum_u s_u (M_u - f_u c_u' c_u) = A'K diag(A s) KA - sum_u s_u C_u' C_u / f_u``.

        M_u counts, with weights k^2, the buckets that hold u and any two values; c_u is row u of ``A'KA``
        over f_u. Rows of value u sit in a simple random sample of its places, hence the second term.
        """
        shares = np.divide(spreads, self.totals, out=np.zeros(len(spreads)), where=self.totals > 0)
        return np.asarray(self._gram(spreads) - (self.co_occurrence * shares) @ self.co_occurrence)

    def covariances(self, spreads: Floats, left: Floats, right: Floats) -> Floats:
        """``left @ Cov(A'Km) @ right'`` for several spreads.

        Parameters
        ----------
        spreads
            ``(n, values)``: s_u, the variance of one place of value u.
        left, right
            ``(n_left, values)`` and ``(n_right, values)``.

        Returns
        -------
        numpy.ndarray
            ``(n, n_left, n_right)``.
        """
        if self._sparse is not None:
            totals = self.totals.astype(np.float64)
            return np.stack([self._sparse.covariance(each, totals, left, right) for each in spreads])
        # All single values at once cost about as much as one pass for each of them; fewer spreads need fewer.
        if self.number_of_values <= LARGEST_TENSOR and len(spreads) > MOST_SEPARATE_SPREADS:
            single = np.einsum("av,uvw,bw->uab", left, self._tensor, right, optimize=True)
            return np.asarray(np.tensordot(spreads, single, axes=1))
        return np.stack([left @ self._dealing(each) @ right.T for each in spreads])

    def variances(self, spreads: Floats, left: Floats) -> Floats:
        """The diagonal of ``left @ Cov(A'Km) @ left'`` for several spreads, ``(n, n_left)``, in less time than all of it."""
        return np.stack([((left @ self._dealing(each)) * left).sum(axis=1) for each in spreads])

    def moments_of_places(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Second and third central moments, over the places of each value, of what a row there counts, ``(values, outputs)``."""
        raw = np.zeros((3, self.number_of_values, len(outputs)))
        for incidence, scales in self._incidence():
            sizes = incidence.sum(axis=1)
            counted = incidence @ outputs.T / sizes[:, np.newaxis]
            places = (incidence * (scales * sizes**2)[:, np.newaxis]).T
            raw += np.stack([places @ counted**power for power in (1, 2, 3)])
        first, second, third = raw / np.maximum(self.totals, 1)[:, np.newaxis]
        return second - first**2, third - 3 * first * second + 2 * first**3

    def weighted_counts(self, buckets: Integers, cells: Integers, number_of_cells: int) -> Floats:
        """``A'Km`` for the predicates "the row is in this cell", ``(cells, values)``.

        This is also the answer of Xiao and Tao: each row counts toward every value of its bucket, by the
        value's share of the bucket.

        Parameters
        ----------
        buckets, cells
            Bucket (from 1) and cell (from 0) of each row.
        number_of_cells
            How many cells there are.
        """
        size = self.number_of_values
        result = np.zeros(number_of_cells * size)
        weights = 1 / self.sizes[buckets - 1]
        places = self.places[buckets - 1]
        for column in places.T:
            is_there = column >= 0
            keys = cells[is_there] * size + column[is_there]
            result += np.bincount(keys, weights[is_there], minlength=len(result))
        return result.reshape(number_of_cells, size)


def spreads_of_cells(totals: Integers | Floats, first: Floats, second: Floats, both: Floats) -> Floats:
    """Covariance, at one place of each value, of two predicates' indicators, ``(..., values)``.

    ``s_u = (x_u(both) f_u - x_u(first) x_u(second)) / (f_u (f_u - 1))``: drawing without replacement. With
    both predicates the same it is ``x (f - x) / (f (f - 1))``. A value held by one row has no spread.
    """
    pairs = totals * (totals - 1.0)
    return np.asarray(
        np.divide(both * totals - first * second, pairs, out=np.zeros(np.shape(both)), where=totals > 1)
    )


def feasible_cells(buckets: BucketComposition, cells: Floats, feasibility: Feasibility) -> Floats:
    """Non-negative counts of each public cell that add up to its rows, ``(cells, values)``."""
    if feasibility == "em":
        totals = np.maximum(buckets.totals, 1)
        # What is begun with matters by its shares: the first step gives every cell its rows.
        start = np.tile(buckets.totals.astype(np.float64), (len(cells), 1))
        return most_likely(
            cells, lambda x: buckets.together(x / totals), lambda y: buckets.together(y) / totals, start
        )
    return feasible(buckets.estimates(cells), cells.sum(axis=1), feasibility)


def _damaged(reason: str) -> ReleaseDamagedError:
    return ReleaseDamagedError(
        f"the table of buckets is not as it was published: {reason}. Get the release again from where it came."
    )


def refuse_other_sizes(rows_of_bucket: Integers, values_of_bucket: Integers) -> None:
    """Refuse buckets that have not as many values as rows."""
    if not np.array_equal(rows_of_bucket, values_of_bucket):
        pairs = itertools.zip_longest(rows_of_bucket, values_of_bucket, fillvalue=0)
        number = sum(rows != values for rows, values in pairs)
        raise _damaged(f"{number:,} buckets have not as many values as rows")


def _refuse_other_numbers(buckets: Integers, most: int) -> None:
    if not ((buckets >= 1) & (buckets <= most)).all():
        raise _damaged("it holds bucket numbers outside 1 to the number of buckets")


def sizes_of_buckets(batches: Iterable[CodedBatch], most: int) -> Integers:
    """Rows of each bucket, from the first on; at most so many buckets are believed."""
    sizes = np.zeros(1, np.int64)
    for batch in batches:
        buckets = batch.codes[BUCKET]
        _refuse_other_numbers(buckets, most)
        if (more := int(buckets.max(initial=0)) + 1 - len(sizes)) > 0:
            sizes = np.pad(sizes, (0, more))
        np.add.at(sizes, buckets, 1)
    return sizes[1:]


# --------------------------------------------------------------------------------------------------
# Errors to expect where buckets are many, without drawing any: values that are alike are worked out together.


MOST_KINDS = 3
"""Kinds of values up to which this is quicker than drawing."""

FEWEST_BUCKETS_OF_A_VALUE = 20
"""Buckets for each value from which on they are many: what is left out is then below one part in a hundred of an error."""

ROUNDS_OF_FIT = 500
TOLERANCE = 1e-11


@dataclass(frozen=True)
class Alike:
    """A matrix of values by values that does not tell values of one kind apart.

    Such matrices are sums of two: one that acts on differences between values of a kind, and one that acts on the kinds'
    means; sums and products are taken in each.

    Parameters
    ----------
    differences
        ``(kinds,)``: what it multiplies differences within each kind by.
    means
        ``(kinds, kinds)``, in the basis of vectors of length one that are level within a kind.
    """

    differences: Floats
    means: Floats

    def __matmul__(self, other: Alike) -> Alike:
        return Alike(self.differences * other.differences, self.means @ other.means)

    def diagonal(self, sizes: Floats) -> Floats:
        """``(kinds,)``: the entry on the diagonal of a value of each kind."""
        return np.asarray(np.diagonal(self.means) / sizes + self.differences * (sizes - 1) / sizes)

    @classmethod
    def from_entries(cls, own: Floats, others: Floats, sizes: Floats) -> Alike:
        """From the entries of a value with itself ``(kinds,)`` and with another one ``(kinds, kinds)``."""
        means = others * np.sqrt(np.outer(sizes, sizes))
        within = np.diagonal(others)
        return cls(own - within, means + np.diag(own - within))


@dataclass(frozen=True, eq=False)
class ManyBuckets:
    """What many random buckets of different values come to: how often values stand in one together.

    A random valid partition into many buckets behaves as independent coins, one for each value, given that a bucket has
    as many heads as places (see :mod:`sfumato.randomness.partitions`).

    Parameters
    ----------
    totals
        ``(kinds,)``: rows of a value of each kind, none of them 0.
    sizes
        ``(kinds,)``: values of each kind.
    bucket_size
        Rows of a bucket; what does not divide the rows makes some buckets one larger.
    """

    totals: Floats
    sizes: Floats
    bucket_size: int

    @classmethod
    def of(cls, cells: Floats, bucket_size: int) -> tuple[ManyBuckets, Integers] | None:
        """Buckets of values that are alike where all their cells are, and the kind of each value; None where not many.

        Parameters
        ----------
        cells
            ``(cells, values)``: rows of each value in each cell, some in every value.
        bucket_size
            Rows of a bucket.
        """
        different, kinds, sizes = np.unique(cells, axis=1, return_inverse=True, return_counts=True)
        totals = different.sum(axis=0)
        found = cls(totals, sizes.astype(np.float64), bucket_size)
        if (
            len(sizes) > MOST_KINDS
            or found.number_of_buckets < FEWEST_BUCKETS_OF_A_VALUE * cells.shape[1]
            # Counts are rounded up to whole rows; more than one row for each bucket does not fit.
            or totals.max() > found.number_of_buckets + 1
        ):
            return None
        return found, np.asarray(kinds).ravel()

    @property
    def number_of_buckets(self) -> int:
        """Buckets in all."""
        return int(self.totals @ self.sizes) // self.bucket_size

    @property
    def sizes_of_buckets(self) -> dict[int, float]:
        """Share of the buckets of each size."""
        rows = int(self.totals @ self.sizes)
        base, larger = divmod(rows, self.number_of_buckets)
        # No bucket holds more than every value.
        share = larger / self.number_of_buckets if base < self.sizes.sum() else 0.0
        return {size: part for size, part in ((base, 1 - share), (base + 1, share)) if part}

    def together(self, power: int) -> Together:
        """Chances that values stand in one bucket, times its size to a negative power, for any three of them."""
        inclusion = self.totals / self.number_of_buckets
        everywhere = inclusion >= 1 - 1e-12
        weights = _fit(inclusion, everywhere, self.sizes, self.sizes_of_buckets)
        found: dict[tuple[int, ...], float] = {}
        for kinds in (
            each for number in (1, 2, 3) for each in product(range(len(self.sizes)), repeat=number)
        ):
            taken = np.bincount(kinds, minlength=len(self.sizes)).astype(np.float64)
            if tuple(sorted(kinds)) != kinds or (taken > self.sizes).any():
                continue
            found[kinds] = sum(
                share * size**-power * _chance(weights, everywhere, self.sizes, size, taken)
                for size, share in self.sizes_of_buckets.items()
            )
        return Together(found)

    def standard_errors(self, cells: Floats) -> Floats:
        """Of the least-squares estimate of a value's count in each cell, ``(cells, kinds)``.

        Parameters
        ----------
        cells
            ``(cells, kinds)``: rows of a value of each kind in each cell.

        Raises
        ------
        NotIdentifiableError
            When the buckets do not tell all values apart.

        Notes
        -----
        The errors of :class:`~sfumato.methods.anatomy.buckets.BucketComposition`, with expectations in place of what
        single buckets hold, and refused where these determine nothing. Against the mean of drawn buckets: within 0.3 % from 50 buckets for each value on, within 1 %
        from 20 on, for 4 to 50 values and buckets of 2 to 8.
        """
        buckets, sizes, kinds = self.number_of_buckets, self.sizes, range(len(self.sizes))
        pairs, triples = self.together(1), self.together(2)
        own = buckets * np.array([pairs.chance(c) for c in kinds])
        others = buckets * np.array([[pairs.chance(c, d) for d in kinds] for c in kinds])
        gram = Alike.from_entries(own, others, sizes)
        solution = _inverse(gram, own)
        totals = Alike(self.totals, np.diag(self.totals))
        solution = totals @ solution
        transposed = Alike(solution.differences, solution.means.T)
        errors = []
        for spreads in spreads_of_cells(self.totals, cells, cells, cells):
            dealt = self._dealing(spreads, gram, triples)
            # Buckets are no more than so many: least squares pays for the values that it fits.
            variances = (solution @ dealt @ transposed).diagonal(sizes) * (1 + (sizes.sum() - 1) / buckets)
            errors.append(np.sqrt(variances))
        return np.array(errors)

    def _dealing(self, spreads: Floats, gram: Alike, triples: Together) -> Alike:
        """``A'K diag(A s) KA - sum_u s_u C_u' C_u / f_u``, as for single buckets."""
        kinds, sizes = range(len(self.sizes)), self.sizes
        # Over the third value u: those of its kind that are neither v nor w, and v and w themselves. Where there are not so
        # many of a kind, there is no chance either.
        own = np.array(
            [
                spreads[c] * triples.chance(c)
                + sum(spreads[u] * (sizes[u] - (u == c)) * triples.chance(c, u) for u in kinds)
                for c in kinds
            ]
        )
        others = np.array(
            [
                [
                    (spreads[c] + spreads[d]) * triples.chance(c, d)
                    + sum(
                        spreads[u] * (sizes[u] - (u == c) - (u == d)) * triples.chance(c, d, u) for u in kinds
                    )
                    for d in kinds
                ]
                for c in kinds
            ]
        )
        first = Alike.from_entries(own * self.number_of_buckets, others * self.number_of_buckets, sizes)
        weights = Alike(spreads / self.totals, np.diag(spreads / self.totals))
        second = gram @ weights @ gram
        return Alike(first.differences - second.differences, first.means - second.means)


@dataclass(frozen=True)
class Together:
    """Chances that different values of some kinds stand in one bucket; 0 where there are not so many of a kind."""

    known: dict[tuple[int, ...], float]

    def chance(self, *kinds: int) -> float:
        """Of one, two or three different values of these kinds."""
        return self.known.get(tuple(sorted(kinds)), 0.0)


@lru_cache(maxsize=64)
def _log_choose(number: int, most: int) -> Floats:
    """Logarithms of the ways to choose 0 to ``most`` of a number; minus infinity beyond it."""
    return np.array(
        [
            math.lgamma(number + 1) - math.lgamma(k + 1) - math.lgamma(number - k + 1)
            if k <= number
            else -math.inf
            for k in range(most + 1)
        ]
    )


def _chance_of_heads(weights: Floats, everywhere: Booleans, sizes: Floats, heads: int) -> float:
    """That coins, ``sizes`` of each kind, show so many heads; a value that is everywhere always does."""
    wanted = heads - int(sizes[everywhere].sum())
    if wanted < 0:
        return 0.0
    ways = np.zeros(wanted + 1)
    ways[0] = 1
    for weight, number in zip(weights[~everywhere], sizes[~everywhere], strict=True):
        places = np.arange(wanted + 1)
        logarithms = (
            _log_choose(int(number), wanted) + places * math.log(weight) - number * math.log1p(weight)
        )
        ways = np.convolve(ways, np.exp(logarithms))
    return float(ways[wanted])


def _chance(weights: Floats, everywhere: Booleans, sizes: Floats, bucket_size: int, taken: Floats) -> float:
    """That some values of each kind are in a bucket of this size."""
    coins = np.where(everywhere, 1.0, weights / (1 + weights))
    left = _chance_of_heads(weights, everywhere, sizes - taken, bucket_size - int(taken.sum()))
    return float(np.prod(coins**taken)) * left / _chance_of_heads(weights, everywhere, sizes, bucket_size)


def _fit(
    inclusion: Floats, everywhere: Booleans, sizes: Floats, sizes_of_buckets: dict[int, float]
) -> Floats:
    """Weights of the coins by which a value of each kind is in its share of the buckets.

    The fixed point of :func:`sfumato.randomness.conditional_poisson.fit_weights`, for kinds of values.
    """
    free = ~everywhere
    weights = np.ones(len(sizes))
    if not free.any():
        return weights
    odds = inclusion[free] / (1 - inclusion[free])
    weights[free] = odds
    for _ in range(ROUNDS_OF_FIT):
        current = np.array(
            [
                sum(
                    share * _chance(weights, everywhere, sizes, size, np.eye(len(sizes))[kind])
                    for size, share in sizes_of_buckets.items()
                )
                for kind in np.flatnonzero(free)
            ]
        )
        ratio = odds * (1 - current) / current
        weights[free] *= ratio
        if np.abs(ratio - 1).max() < TOLERANCE:
            break
    return weights


def _inverse(matrix: Alike, own: Floats) -> Alike:
    """Of a symmetric matrix; it has one where, scaled as for single buckets, no direction vanishes."""
    scale = np.sqrt(own)
    eigenvalues = np.linalg.eigvalsh(matrix.means / np.outer(scale, scale))
    # Of a kind of one value there are no differences, and what stands for them is its own entry.
    if min(eigenvalues.min(), (matrix.differences / own).min()) <= SMALLEST_EIGENVALUE:
        raise NotIdentifiableError(
            "buckets that always hold the same values together do not tell them apart, so that no count of one of them can be "
            "expected. Make buckets smaller."
        )
    return Alike(1 / matrix.differences, np.asarray(np.linalg.inv(matrix.means), np.float64))
