"""What is read off a release without its matrices: Guo (2010), chapter 4, on expected releases.

Shares are those of the thesis's insurance data, to the four decimals that are printed; a table over attributes A, B, C
has A slowest. Nothing here goes through a law: chapter 4 asks what survives without one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Shares = npt.NDArray[np.float64]

ROWS = 5822
"""Of the training file."""


def released(shares: Sequence[float], kept: Sequence[float]) -> Shares:
    """Shares to expect when each binary attribute is kept with its own probability, shaped by attribute.

    Examples
    --------
    >>> released((0.4, 0.1, 0.2, 0.3), (0.9, 1.0)).round(2).tolist()
    [[0.38, 0.12], [0.22, 0.28]]
    """
    table = np.array(shares).reshape((2,) * len(kept))
    for axis, each in enumerate(kept):
        matrix = np.array([[each, 1 - each], [1 - each, each]])
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table


def fitted(table: Shares, generators: Sequence[str], names: str) -> Shares:
    """Shares that a decomposable loglinear model expects: the product of its margins over those they share.

    Parameters
    ----------
    table
        With one axis for each name.
    generators
        Such as ``("AB", "AC")``; each may share letters with one before it.
    names
        Letters of the axes.

    Examples
    --------
    >>> fitted(np.array([[0.4, 0.1], [0.2, 0.3]]), ("A", "B"), "AB").round(2).tolist()
    [[0.3, 0.2], [0.3, 0.2]]
    """
    expected = np.ones_like(table)
    seen = ""
    for generator in generators:
        shared = "".join(each for each in generator if each in seen)
        expected = expected * _margin(table, generator, names) / _margin(table, shared, names)
        seen += generator
    return np.asarray(expected)


def _margin(table: Shares, kept: str, names: str) -> Shares:
    axes = tuple(place for place, name in enumerate(names) if name not in kept)
    return np.asarray(table.sum(axis=axes, keepdims=True))


def chi_square(table: Shares, generators: Sequence[str], names: str) -> float:
    """Pearson's statistic of a model's fit, of as many rows as the thesis has."""
    expected = fitted(table, generators, names)
    return float(ROWS * ((table - expected) ** 2 / expected).sum())


def gini_of_split(table: Shares, axis: int) -> float:
    """Impurity of the last attribute within the categories of another, weighed by their shares (result 13)."""
    pair = np.moveaxis(table, axis, 0).reshape(2, -1, 2).sum(axis=1)
    group = pair.sum(axis=1)
    return float((group * (1 - ((pair / group[:, None]) ** 2).sum(axis=1))).sum() / group.sum())


def naive_bayes(table: Shares, values: Sequence[int]) -> Shares:
    """Posterior of the last attribute, given one value of each other, as naive Bayes has it (result 14)."""
    prior = table.sum(axis=tuple(range(table.ndim - 1)))
    scores = prior.copy()
    for axis, value in enumerate(values):
        others = tuple(place for place in range(table.ndim - 1) if place != axis)
        scores = scores * table.sum(axis=others)[value] / prior
    return np.asarray(scores / scores.sum())


def interaction(table: Shares, axes: Sequence[int]) -> float:
    """Parameter of the saturated loglinear model for the first categories of some attributes (equation 4.6).

    Dots of the equation mean averages: every logarithm counts 1/8 in a table of eight cells.
    """
    signs = np.ones(table.shape)
    for axis in axes:
        shape = [2 if place == axis else 1 for place in range(table.ndim)]
        signs = signs * np.array([1.0, -1.0]).reshape(shape)
    return float((signs * np.log(table)).mean())


def slice_odds_ratios(table: Shares) -> tuple[float, float]:
    """Odds ratio of the first two attributes in each category of the third."""
    first, second = (
        math.exp(float(np.log(part[0, 0] * part[1, 1]) - np.log(part[0, 1] * part[1, 0])))
        for part in np.moveaxis(table, 2, 0)
    )
    return first, second
