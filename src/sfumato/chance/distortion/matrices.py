"""The matrices themselves: validity, inverse, and what one published category can give away."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sfumato.chance.distortion.axes import TwoValued
from sfumato.chance.exact_distributions import ROW_SUM_TOLERANCE, CategorySampler, UniformReplacement
from sfumato.errors import ParameterError
from sfumato.frozen import Frozen
from sfumato.values.arrays import Floats
from sfumato.values.bounds import MOST_CATEGORIES

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
        """The matrix, for :func:`~sfumato.chance.distortion.contract`."""
        elsewhere = (1 - self.retention) / self.size
        return TwoValued(self.retention + elsewhere, elsewhere)

    @property
    def inverse_on_axis(self) -> TwoValued:
        """The inverse in closed form, for :func:`~sfumato.chance.distortion.contract`."""
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
        """The matrix, for :func:`~sfumato.chance.distortion.contract`."""
        return self.dense()

    @property
    def inverse_on_axis(self) -> Floats:
        """The inverse, for :func:`~sfumato.chance.distortion.contract`."""
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
