"""How likely the rows of a cell are published in it, and all others: what intervals of few rows are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract
from sfumato.laws.asking import FewSteps, chances_of_being_seen
from sfumato.values.arrays import Floats
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
        if len(self.matrices) == 1 and not np.isnan(gained).any():
            return FewSteps(shown, self.rows, kept, gained)
        true = np.clip(estimates, 0, self.rows)
        others = _two_digits(np.clip(shown - kept * true, 0, None))
        outside = self.rows - np.round(true)
        mean = np.divide(others, outside, out=np.zeros_like(others), where=outside > 0)
        return FewSteps(shown, self.rows, kept, np.where(mean < kept, mean, np.nan), besides)


def _two_digits(numbers: Floats) -> Floats:
    """Numbers that are not negative, of which no more is known: so that cells that are nearly alike are one case.

    Examples
    --------
    >>> _two_digits(np.array([0.0, 0.01234, 56.7])).tolist()
    [0.0, 0.012, 57.0]
    """
    unit = 10.0 ** (np.floor(np.log10(np.where(numbers > 0, numbers, 1.0))) - 1)
    return np.where(numbers > 0, np.round(numbers / unit) * unit, 0.0)
