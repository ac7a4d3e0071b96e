"""Products of matrices over the axes of a table, one axis at a time."""

from __future__ import annotations

import math
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

    Parameters
    ----------
    diagonal, elsewhere
        Its two values.
    columns
        Those that are kept, all when not given.

    Examples
    --------
    >>> TwoValued(0.8, 0.1).dense(3).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """

    diagonal: float
    elsewhere: float
    columns: tuple[int, ...] | None = None

    def dense(self, size: int) -> Floats:
        """The matrix entry by entry, ``(size, size)`` or ``(size, columns)``."""
        columns = np.arange(size) if self.columns is None else np.array(self.columns, np.int64)
        matrix = np.full((size, len(columns)), self.elsewhere)
        matrix[columns, np.arange(len(columns))] = self.diagonal
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
            kept = result if matrix.columns is None else result.take(list(matrix.columns), axis=axis)
            result = (matrix.diagonal - matrix.elsewhere) * kept
            result += total
        elif matrix is not None:
            result = _along(result, axis, matrix)
    return result


def _along(tensor: Floats, axis: int, matrix: Floats) -> Floats:
    """One axis multiplied by a matrix; the outer axes without turning the table around, which takes longer."""
    shape = tensor.shape
    made = (*shape[:axis], matrix.shape[1], *shape[axis + 1 :])
    if axis == 0:
        return (matrix.T @ tensor.reshape(shape[0], math.prod(shape[1:]))).reshape(made)
    if axis == tensor.ndim - 1:
        return (tensor.reshape(math.prod(shape[:-1]), shape[-1]) @ matrix).reshape(made)
    return np.moveaxis(np.tensordot(tensor, matrix, axes=(axis, 0)), -1, axis)


@overload
def squared(matrix: Floats, power: int = 2) -> Floats: ...
@overload
def squared(matrix: TwoValued, power: int = 2) -> TwoValued: ...
@overload
def squared(matrix: AxisMatrix, power: int = 2) -> AxisMatrix: ...
def squared(matrix: AxisMatrix, power: int = 2) -> AxisMatrix:
    """Every entry squared, or to another power.

    Examples
    --------
    >>> squared(TwoValued(3.0, -1.0))
    TwoValued(diagonal=9.0, elsewhere=1.0, columns=None)
    """
    if isinstance(matrix, TwoValued):
        return TwoValued(matrix.diagonal**power, matrix.elsewhere**power, matrix.columns)
    return None if matrix is None else matrix**power


def columns_of(matrix: AxisMatrix, codes: tuple[int, ...] | None) -> AxisMatrix:
    """Some columns of the matrix of an axis, in memory of the order of the axis where its form allows; all for None.

    Examples
    --------
    >>> columns_of(TwoValued(3.0, -1.0), (2,)).dense(3).tolist()
    [[-1.0], [-1.0], [3.0]]
    """
    if codes is None:
        return matrix
    if isinstance(matrix, np.ndarray):
        return matrix[:, list(codes)]
    whole = TwoValued(1.0, 0.0) if matrix is None else matrix
    return TwoValued(whole.diagonal, whole.elsewhere, codes)


def transposed(matrix: AxisMatrix) -> AxisMatrix:
    """Rows and columns exchanged.

    Examples
    --------
    >>> transposed(TwoValued(3.0, -1.0))
    TwoValued(diagonal=3.0, elsewhere=-1.0, columns=None)
    """
    return matrix.T if isinstance(matrix, np.ndarray) else matrix
