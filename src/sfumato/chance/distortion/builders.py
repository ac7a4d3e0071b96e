"""Distortion matrices by name: Warner's, the asymmetric binary, the uniform one, invariant PRAM."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.chance.distortion.matrices import DenseDistortion, UniformDistortion
from sfumato.errors import ParameterError


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
