"""The least squares of buckets where values are so many that a matrix of all pairs of them is out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Booleans, Floats

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
    With A and K as in :class:`~sfumato.methods.anatomy.law.composition.BucketComposition`, ``A'KA`` has as many entries as
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
