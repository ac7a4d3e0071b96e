"""Products of matrices over the axes of a table, one axis at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Floats


@dataclass(frozen=True)
class TwoValued:
    """A square matrix with one value on the diagonal and one everywhere else, of whatever size fits.

    Multiplying by it takes one pass over a table instead of one for each category.

    Examples
    --------
    >>> TwoValued(0.8, 0.1).dense(3).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """

    diagonal: float
    elsewhere: float

    def dense(self, size: int) -> Floats:
        """The matrix entry by entry, ``(size, size)``."""
        matrix = np.full((size, size), self.elsewhere)
        np.fill_diagonal(matrix, self.diagonal)
        return matrix


AxisMatrix = Floats | TwoValued | None
"""What an axis is multiplied by: a matrix ``(size, new size)``, one with two values, or nothing."""


def contract(tensor: npt.NDArray[Any], matrices: Sequence[AxisMatrix]) -> Floats:
    """Multiply every axis of a tensor by its matrix, one axis at a time.

    The Kronecker product of the matrices is never formed (Guo 2010, lemma 3): an axis of size d costs
    d times the number of cells, and a two-valued matrix only the number of cells itself.

    Parameters
    ----------
    tensor
        ``(d_0, d_1, ...)``.
    matrices
        One for each axis, ``(d_i, e_i)``, or None to leave the axis alone.

    Returns
    -------
    numpy.ndarray
        ``(e_0, e_1, ...)``.

    Examples
    --------
    >>> contract(np.array([[10.0, 0.0], [0.0, 0.0]]), [TwoValued(0.9, 0.1), None]).tolist()
    [[9.0, 0.0], [1.0, 0.0]]
    """
    result = np.asarray(tensor, dtype=np.float64)
    for axis, matrix in enumerate(matrices):
        if isinstance(matrix, TwoValued):
            # (a - b) I + b J, applied to an axis: every entry scaled, plus b times the axis's sum.
            total = matrix.elsewhere * result.sum(axis=axis, keepdims=True)
            result = (matrix.diagonal - matrix.elsewhere) * result
            result += total
        elif matrix is not None:
            result = np.moveaxis(np.tensordot(result, matrix, axes=(axis, 0)), -1, axis)
    return result


@overload
def squared(matrix: Floats) -> Floats: ...
@overload
def squared(matrix: TwoValued) -> TwoValued: ...
@overload
def squared(matrix: AxisMatrix) -> AxisMatrix: ...
def squared(matrix: AxisMatrix) -> AxisMatrix:
    """Every entry squared.

    Examples
    --------
    >>> squared(TwoValued(3.0, -1.0))
    TwoValued(diagonal=9.0, elsewhere=1.0)
    """
    if isinstance(matrix, TwoValued):
        return TwoValued(matrix.diagonal**2, matrix.elsewhere**2)
    return None if matrix is None else matrix**2


def transposed(matrix: AxisMatrix) -> AxisMatrix:
    """Rows and columns exchanged.

    Examples
    --------
    >>> transposed(TwoValued(3.0, -1.0))
    TwoValued(diagonal=3.0, elsewhere=-1.0)
    """
    return matrix.T if isinstance(matrix, np.ndarray) else matrix
