"""Distortion matrices: how a published category arises from a true one.

``matrix[true, published]`` is the probability that a row with the true category is published with the
other; rows sum to 1. Counts are row vectors: the expected published counts are ``true @ matrix`` and
``published @ inverse`` estimates the true ones without bias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.errors import ParameterError
from sfumato.frozen import Frozen

LARGEST_CONDITION_NUMBER = 1e8
"""Beyond this, half of a double's digits are gone from every estimate, and all practical accuracy."""

Floats = npt.NDArray[np.float64]


class UniformDistortion(Frozen):
    """Keep the category with the retention probability, else publish one drawn uniformly from all.

    Parameters
    ----------
    retention
        The probability p of keeping (the drawn category may be the same again).
    size
        The number m of categories.

    Notes
    -----
    The diagonal is p + (1-p)/m and every other entry (1-p)/m; the inverse is
    ``(I - ((1-p)/m) J) / p`` with J all ones (Han 2016, section 4.1).

    Examples
    --------
    >>> matrix = UniformDistortion(retention=0.2, size=10).dense()
    >>> float(matrix[0, 0].round(12)), float(matrix[0, 1].round(12))
    (0.28, 0.08)
    """

    form: Literal["uniform"] = "uniform"
    retention: Annotated[float, Field(strict=True, gt=0, lt=1)]
    size: Annotated[int, Field(strict=True, ge=2)]

    def dense(self) -> Floats:
        """The matrix, ``(size, size)``."""
        return self.retention * np.eye(self.size) + (1 - self.retention) / self.size

    def inverse(self) -> Floats:
        """The inverse, ``(size, size)``, in closed form."""
        return (np.eye(self.size) - (1 - self.retention) / self.size) / self.retention

    @property
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value."""
        return 1 / self.retention


class DenseDistortion(Frozen):
    """Any distortion matrix, given entry by entry.

    Parameters
    ----------
    rows
        ``rows[true][published]``; each row sums to 1 within rounding.
    """

    form: Literal["dense"] = "dense"
    rows: tuple[tuple[Annotated[float, Field(ge=0, le=1)], ...], ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        size = len(self.rows)
        if size < 2 or any(len(row) != size for row in self.rows):
            raise ValueError(f"a distortion matrix must be square with two or more rows, got {size} rows.")
        for true, row in enumerate(self.rows):
            total = sum(row)
            # Twelve decimals allow for a matrix written by hand or by another program.
            if abs(total - 1) > 1e-9:
                raise ValueError(
                    f"row {true} of the distortion matrix must sum to 1, it sums to {total:.12g}."
                )
        if self.condition_number > LARGEST_CONDITION_NUMBER:
            raise ValueError(
                f"the distortion matrix is singular or nearly so (condition number {self.condition_number:.3g}); "
                f"at most {LARGEST_CONDITION_NUMBER:.0e} is allowed. Make its rows more different from each other."
            )
        return self

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.rows)

    def dense(self) -> Floats:
        """The matrix, ``(size, size)``."""
        return np.array(self.rows)

    def inverse(self) -> Floats:
        """The inverse, ``(size, size)``."""
        return np.asarray(np.linalg.inv(self.dense()), dtype=np.float64)

    @property
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value."""
        return float(np.linalg.cond(self.dense()))


Distortion = Annotated[UniformDistortion | DenseDistortion, Field(discriminator="form")]


def amplification(matrix: Floats) -> float:
    """Largest ratio, over published categories, of two entries in a column (infinite at a zero).

    This is the gamma of amplification and the exponential of the local epsilon.

    Examples
    --------
    >>> round(amplification(UniformDistortion(retention=0.5, size=2).dense()), 12)
    3.0
    """
    smallest, largest = matrix.min(axis=0), matrix.max(axis=0)
    possible = largest > 0
    with np.errstate(divide="ignore"):
        return float(np.max(largest[possible] / smallest[possible]))


def contract(tensor: npt.NDArray[Any], matrices: Sequence[Floats | None]) -> Floats:
    """Multiply every axis of a tensor by its matrix, one axis at a time.

    The Kronecker product of the matrices is never formed: an axis of size d costs d times the number
    of cells, not the square of it.

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
    """
    result = np.asarray(tensor, dtype=np.float64)
    for axis, matrix in enumerate(matrices):
        if matrix is not None:
            result = np.moveaxis(np.tensordot(result, matrix, axes=(axis, 0)), -1, axis)
    return result


def check_sizes(
    distortions: Mapping[str, UniformDistortion | DenseDistortion], sizes: Mapping[str, int]
) -> None:
    """Refuse a matrix whose size is not that of its attribute."""
    for name, distortion in distortions.items():
        if distortion.size != sizes[name]:
            raise ParameterError(
                f"the distortion matrix of attribute {name!r} has {distortion.size} categories, "
                f"the schema gives it {sizes[name]}. Use one row and one column for each category.",
                parameter=name,
            )
