"""How likely the rows of a cell are published in it, and all others: what intervals of few rows are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract
from sfumato.laws.asking import FewSteps, chances_of_being_seen, largest_chances
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.estimates import Limits


@dataclass(frozen=True, eq=False)
class SeenCells:
    """Published counts of the cells asked for.

    Parameters
    ----------
    counts
        Published counts, ``(d_0, d_1, ...)``.
    matrices
        Axis to its distortion, of those that are perturbed and asked about.
    selectors
        For each axis which categories each cell adds up, ``(d_i, e_i)`` of 0 and 1.
    rows
        For every cell the rows that have its unperturbed values, ``(cells,)``.
    """

    counts: Floats
    matrices: Mapping[int, AxisMatrix]
    selectors: Sequence[AxisMatrix]
    rows: Floats

    def limits(self, estimates: Floats, besides: Limits) -> FewSteps:
        """Limits of the true counts of the cells.

        Where a row of another cell is published in this one with a chance that hangs on which cell that is, its mean is estimated: as much as
        is left of the rows seen when the estimated ones of the cell are taken off. What the intervals would be without this they then hold too.

        Parameters
        ----------
        estimates
            Of the true counts, ``(cells,)``.
        besides
            Limits of the same counts that know how their estimates vary, but not that they take few values.
        """
        seen = contract(self.counts, self.selectors)
        kept: Floats = np.ones(seen.shape)
        gained: Floats = np.ones(seen.shape)
        for axis, matrix in self.matrices.items():
            chances = chances_of_being_seen(matrix, self.selectors[axis], self.counts.shape[axis])
            along = [-1 if each == axis else 1 for each in range(seen.ndim)]
            kept, gained = kept * chances[0].reshape(along), gained * chances[1].reshape(along)
        shown, kept, gained = seen.ravel(), kept.ravel(), gained.ravel()
        # Of several attributes the product of chances is that of rows outside in all of them, and there are others.
        is_estimated = np.isnan(gained) | (len(self.matrices) > 1)
        if not is_estimated.any():
            return FewSteps(shown, self.rows, kept, gained)
        true = np.clip(estimates, 0, self.rows)
        others = np.clip(shown - kept * true, 0, None)
        # All may seem to be of the cell; then one of them may be none of it.
        outside = np.maximum(self.rows - np.round(true), 1)

        def steps(rows_gained: Floats, more: Limits) -> FewSteps:
            mean = _two_digits(rows_gained) / outside
            chances = np.where(is_estimated, np.where(mean < kept, mean, np.nan), gained)
            return FewSteps(shown, self.rows, kept, chances, partial(_of_estimated, is_estimated, more))

        # A row that came over counts as one of the cell, and nothing seems to be gained then: a row more may have been.
        return steps(others, steps(others + self._largest_of_one(), besides))

    def _largest_of_one(self) -> Floats:
        """The largest chance with which a row of another cell is published in each, ``(cells,)``."""
        shape = contract(self.counts, self.selectors).shape
        either: Floats = np.ones(shape)
        most: Floats = np.zeros(shape)
        for axis, matrix in self.matrices.items():
            along = [-1 if each == axis else 1 for each in range(len(shape))]
            inside, outside = (
                each.reshape(along)
                for each in largest_chances(matrix, self.selectors[axis], self.counts.shape[axis])
            )
            most = np.maximum(most * np.maximum(inside, outside), either * outside)
            either = either * np.maximum(inside, outside)
        return most.ravel()


def _of_estimated(is_estimated: Booleans, besides: Limits, confidence_level: float) -> tuple[Floats, Floats]:
    """Limits of cells whose chances are estimates, where they are told; of all others ends that nothing is moved by."""
    low, high = besides(confidence_level)
    is_told = is_estimated & ~np.isnan(low)
    return np.where(is_told, low, np.inf), np.where(is_told, high, -np.inf)


def _two_digits(numbers: Floats) -> Floats:
    """Numbers that are not negative, of which no more is known: so that cells that are nearly alike are one case.

    Examples
    --------
    >>> _two_digits(np.array([0.0, 0.01234, 56.7])).tolist()
    [0.0, 0.012, 57.0]
    """
    unit = 10.0 ** (np.floor(np.log10(np.where(numbers > 0, numbers, 1.0))) - 1)
    return np.where(numbers > 0, np.round(numbers / unit) * unit, 0.0)
