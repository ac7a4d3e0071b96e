"""Distortion (PRAM) matrices: validity, inverse, products over axes, and the named ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.arrays import Floats
from sfumato.errors import ParameterError
from sfumato.immutable import MOST_CATEGORIES, Frozen
from sfumato.randomness.streams import ROW_SUM_TOLERANCE, CategorySampler, UniformReplacement

# --------------------------------------------------------------------------------------------------
# Products of matrices over the axes of a table, one axis at a time.


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


# --------------------------------------------------------------------------------------------------
# The matrices themselves: validity, inverse, and what one published category can give away.


LARGEST_CONDITION_NUMBER = 1e8
"""Beyond this, half of a double's digits are gone from every estimate, and all practical accuracy."""


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
    ``(I - ((1-p)/m) J) / p`` with J all ones (Han 2016, section 4.1). Guo (2010, eq. 5.2) names the same
    family by its diagonal.

    Examples
    --------
    >>> UniformDistortion(retention=0.2, size=10).dense()[0, :3].round(12).tolist()
    [0.28, 0.08, 0.08]
    """

    form: Literal["uniform"] = "uniform"
    retention: Annotated[float, Field(strict=True, gt=0, lt=1)]
    size: Annotated[int, Field(strict=True, ge=2, le=MOST_CATEGORIES)]

    @property
    def on_axis(self) -> TwoValued:
        """The matrix, for :func:`~sfumato.randomness.distortion.contract`."""
        elsewhere = (1 - self.retention) / self.size
        return TwoValued(self.retention + elsewhere, elsewhere)

    @property
    def inverse_on_axis(self) -> TwoValued:
        """The inverse in closed form, for :func:`~sfumato.randomness.distortion.contract`."""
        elsewhere = -(1 - self.retention) / self.size / self.retention
        return TwoValued(1 / self.retention + elsewhere, elsewhere)

    def dense(self) -> Floats:
        """The matrix, ``(size, size)``."""
        return self.on_axis.dense(self.size)

    def inverse(self) -> Floats:
        """The inverse, ``(size, size)``."""
        return self.inverse_on_axis.dense(self.size)

    @property
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value."""
        return 1 / self.retention

    @cached_property
    def drawn(self) -> UniformReplacement:
        """What rows are perturbed by: the retention as a whole number of words, rounded down."""
        return UniformReplacement.from_retention(self.retention, self.size)

    @property
    def largest_ratio(self) -> Fraction:
        """Largest ratio of two entries of a column, of what is really drawn."""
        own = self.drawn.keep_threshold + self.drawn.words_per_category
        return Fraction(own, self.drawn.words_per_category)


class DenseDistortion(Frozen):
    """Any distortion matrix, given entry by entry.

    Parameters
    ----------
    rows
        ``rows[true][published]``; each row sums to 1 within rounding, and is divided by its sum.

    Examples
    --------
    >>> DenseDistortion(rows=((0.9, 0.1), (0.3, 0.7))).inverse().round(4).tolist()
    [[1.1667, -0.1667], [-0.5, 1.5]]
    """

    form: Literal["dense"] = "dense"
    rows: tuple[tuple[float, ...], ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        size = len(self.rows)
        if size < 2 or any(len(row) != size for row in self.rows):
            raise ValueError(
                f"the distortion matrix must be square with two or more rows, got {size} rows of "
                f"{_numbers(len(row) for row in self.rows)} entries. "
                "Give one row for each true category and one entry in it for each published one."
            )
        for true, row in enumerate(self.rows):
            wrong = next((entry for entry in row if not 0 <= entry <= 1), None)
            if wrong is not None:
                raise ValueError(
                    f"row {true} of the distortion matrix holds {wrong:.12g}; its entries are probabilities "
                    "and must lie between 0 and 1. Correct the entry."
                )
            total = math.fsum(row)
            if abs(total - 1) > ROW_SUM_TOLERANCE:
                raise ValueError(
                    f"row {true} of the distortion matrix must sum to 1, it sums to {total:.12g}. "
                    "Divide the row by its sum; if the columns sum to 1 instead, transpose the matrix."
                )
        if not self.condition_number <= LARGEST_CONDITION_NUMBER:
            raise ValueError(
                f"the distortion matrix is singular or nearly so (condition number {self.condition_number:.3g}); "
                f"at most {LARGEST_CONDITION_NUMBER:.0e} is allowed, or nothing could be estimated. Make its rows "
                "more different from each other, for example by larger entries on the diagonal."
            )
        return self

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.rows)

    def dense(self) -> Floats:
        """The matrix, ``(size, size)``."""
        matrix = np.array(self.rows)
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True), dtype=np.float64)

    def inverse(self) -> Floats:
        """The inverse, ``(size, size)``."""
        return np.asarray(np.linalg.inv(self.dense()), dtype=np.float64)

    @property
    def on_axis(self) -> Floats:
        """The matrix, for :func:`~sfumato.randomness.distortion.contract`."""
        return self.dense()

    @property
    def inverse_on_axis(self) -> Floats:
        """The inverse, for :func:`~sfumato.randomness.distortion.contract`."""
        return self.inverse()

    @cached_property
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value."""
        return float(np.linalg.cond(self.dense()))

    @cached_property
    def drawn(self) -> CategorySampler:
        """What rows are perturbed by: every entry as a whole number of words."""
        return CategorySampler.from_probabilities(self.dense())

    @cached_property
    def largest_ratio(self) -> Fraction | None:
        """Largest ratio of two entries of a column, of what is really drawn; None where one is zero."""
        ratios = []
        for column in zip(*self.drawn.integer_weights, strict=True):
            if max(column) > 0:
                if min(column) == 0:
                    return None
                ratios.append(Fraction(max(column), min(column)))
        return max(ratios)


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


def largest_amplification(distortion: UniformDistortion | DenseDistortion) -> float:
    """Amplification of what is really drawn, never rounded down; infinite when there is no bound.

    Examples
    --------
    >>> largest_amplification(DenseDistortion(rows=((1.0, 0.0), (0.5, 0.5))))
    inf
    >>> largest_amplification(UniformDistortion(retention=0.5, size=2))
    3.0
    """
    exact = distortion.largest_ratio
    return math.inf if exact is None else _float_not_below(exact)


def largest_epsilon(distortion: UniformDistortion | DenseDistortion) -> float:
    """Local epsilon of what is really drawn, never rounded down: the logarithm of the amplification.

    Examples
    --------
    >>> math.log(3) <= largest_epsilon(UniformDistortion(retention=0.5, size=2)) < math.log(3) + 1e-15
    True
    """
    exact = distortion.largest_ratio
    if exact is None:
        return math.inf
    # ln(1 + x) of the exact excess over 1 keeps the digits of a small epsilon; the library's logarithm may
    # be a unit of the last place off.
    return math.nextafter(math.log1p(_float_not_below(exact - 1)), math.inf)


def _float_not_below(exact: Fraction) -> float:
    nearest_float = float(exact)
    return nearest_float if Fraction(nearest_float) >= exact else math.nextafter(nearest_float, math.inf)


def expected_squared_error(distortion: UniformDistortion | DenseDistortion | None, size: int) -> Floats:
    """Sum over estimated cells of the second moment that one row adds, by its true category, ``(size,)``.

    A row with true category t is published as y with probability P[t, y] and then adds row y of the inverse
    to the estimates, so it contributes ``sum_y P[t, y] sum_c inverse[y, c]^2``. Over several attributes the
    contributions multiply. For uniform perturbation it is ``(1 + (m - 1)/p^2)/m`` for every category
    (Guo 2010, lemmas 5 and 6, divided by m); without perturbation it is 1.

    Examples
    --------
    >>> expected_squared_error(UniformDistortion(retention=0.4, size=2), 2).round(12).tolist()
    [3.625, 3.625]
    """
    if distortion is None:
        return np.ones(size)
    if isinstance(distortion, UniformDistortion):
        return np.full(size, (1 + (size - 1) / distortion.retention**2) / size)
    return np.asarray(distortion.dense() @ (distortion.inverse() ** 2).sum(axis=1))


def check_sizes(
    distortions: Mapping[str, UniformDistortion | DenseDistortion], sizes: Mapping[str, int]
) -> None:
    """Refuse a matrix whose size is not that of its attribute.

    Examples
    --------
    >>> check_sizes({"job": UniformDistortion(retention=0.5, size=2)}, {"job": 3})
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the distortion matrix of attribute 'job' has 2 categories...
    """
    for name, distortion in distortions.items():
        if distortion.size != sizes[name]:
            raise ParameterError(
                f"the distortion matrix of attribute {name!r} has {distortion.size} categories, "
                f"the schema gives it {sizes[name]}. Use one row and one column for each category.",
                parameter=name,
            )


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(str(each) for each in sorted(set(values))) or "no"


# --------------------------------------------------------------------------------------------------
# Distortion matrices by name: Warner's, the asymmetric binary, the uniform one, invariant PRAM.


def warner(truth_probability: float) -> DenseDistortion:
    """Two categories, each published as it is with one probability, which must not be 1/2.

    References
    ----------
    Warner (1965); Guo (2010), section 2.2.

    Examples
    --------
    >>> warner(0.9).rows
    ((0.9, 0.1), (0.1, 0.9))
    """
    return asymmetric_binary(truth_probability, truth_probability)


def asymmetric_binary(first: float, second: float) -> DenseDistortion:
    """Two categories, each with its own probability of being published as it is.

    Parameters
    ----------
    first, second
        Of the first and the second category; their sum must not be 1, where nothing could be estimated.

    Examples
    --------
    >>> asymmetric_binary(0.9, 0.7).rows
    ((0.9, 0.1), (0.3, 0.7))
    """
    for name, value in (("first", first), ("second", second)):
        if not 0 <= value <= 1:
            raise ParameterError(
                f"the probability of publishing the {name} category as it is must lie between 0 and 1, "
                f"got {value}. Choose one in between.",
                parameter=name,
            )
    if abs(first + second - 1) < 1e-6:
        raise ParameterError(
            f"with probabilities {first} and {second} both categories are published alike, so nothing can be "
            "estimated. Their sum must differ from 1; move one of them away.",
            parameter="second",
        )
    # The other entry by subtraction of decimals as written: 1 - 0.9 would print as 0.09999999999999998.
    rows = ((first, round(1 - first, 15)), (round(1 - second, 15), second))
    return DenseDistortion(rows=rows)


def uniform_with_diagonal(diagonal: float, size: int) -> UniformDistortion:
    """The uniform matrix named by its diagonal, as in Guo (2010, eq. 5.2).

    Parameters
    ----------
    diagonal
        Probability that a category is published as it is, by being kept or by being drawn again;
        above ``1/size`` and below 1.
    size
        Number of categories.

    Examples
    --------
    >>> round(uniform_with_diagonal(0.28, 10).retention, 12)
    0.2
    """
    if not 1 / size < diagonal < 1:
        raise ParameterError(
            f"the diagonal must be above 1/{size} = {1 / size:.4g}, where everything is published alike, "
            f"and below 1, got {diagonal}. Raise it, or merge categories.",
            parameter="diagonal",
        )
    return UniformDistortion(retention=(size * diagonal - 1) / (size - 1), size=size)


def invariant(first: DenseDistortion | UniformDistortion, shares: npt.ArrayLike) -> DenseDistortion:
    """Invariant PRAM: a matrix that leaves a distribution as it is, so that counts can be read off directly.

    A value is distorted by ``first`` and then drawn back from the posterior of the true category, as an
    attacker who samples would do. Shares taken from private rows make the matrix depend on them: say so in
    the design's ``chosen_from_private_data``.

    Parameters
    ----------
    first
        The matrix of the first step.
    shares
        The distribution to keep, ``(size,)``, every share positive; divided by its sum.

    Notes
    -----
    With D the diagonal of the shares and L that of ``shares @ P``, the second step is
    ``L^-1 P' D``, and ``shares @ (P L^-1 P' D) = 1' P' D = shares``.

    References
    ----------
    Gouweleeuw, Kooiman, Willenborg and de Wolf (1998); Guo (2010), section 2.2.

    Examples
    --------
    >>> matrix = invariant(warner(0.8), [0.3, 0.7]).dense()
    >>> (np.array([0.3, 0.7]) @ matrix).round(12).tolist()
    [0.3, 0.7]
    """
    weights = np.asarray(shares, dtype=np.float64)
    if weights.shape != (first.size,) or not np.all(weights > 0) or not np.all(np.isfinite(weights)):
        raise ParameterError(
            f"invariant PRAM needs {first.size} shares, all of them positive. "
            "Give one for each category; merge categories that nobody has.",
            parameter="shares",
        )
    weights = weights / weights.sum()
    matrix = first.dense()
    back = matrix.T * weights / (weights @ matrix)[:, None]
    product = matrix @ back
    return DenseDistortion(
        rows=tuple(tuple(row) for row in (product / product.sum(axis=1)[:, None]).tolist())
    )
