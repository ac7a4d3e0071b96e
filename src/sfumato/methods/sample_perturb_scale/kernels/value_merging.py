"""Merging public values that go together with the sensitive attribute in the same way.

Two values of a public attribute are alike when a chi-square test does not tell their distributions of
the sensitive attribute apart. Values that are alike are merged, so that a union of personal groups that
are alike becomes one personal group, and its reconstruction is limited as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.values.arrays import Floats, Integers

Linkage = Literal["components", "complete-linkage"]
DegreesOfFreedom = Literal["m-1", "m"]

SIGNIFICANCE = 0.05
"""Level of the test: values are told apart when their distributions differ at it."""


@dataclass(frozen=True, eq=False)
class Merging:
    """Classes of values found alike.

    Parameters
    ----------
    class_of
        ``(values,)``, the class of each value; classes are numbered by their first value.
    chained
        Classes that hold two values which the test tells apart, joined through others between them.

    Examples
    --------
    >>> Merging(class_of=np.array([0, 0, 1]), chained=()).classes
    ((0, 1), (2,))
    """

    class_of: Integers
    chained: tuple[int, ...]

    @property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """The values of every class, in order."""
        number = int(self.class_of.max()) + 1
        return tuple(tuple(np.flatnonzero(self.class_of == each).tolist()) for each in range(number))


def chi_square_statistics(counts: npt.NDArray[Any]) -> Floats:
    """Statistic of every two values' distributions of the sensitive attribute, ``(values, values)``.

    Parameters
    ----------
    counts
        ``(values, m)``, rows by value and sensitive category. A value without rows has nothing to be
        compared; its statistics are infinite, so that it joins nothing and links nothing.

    References
    ----------
    Han (2016), eq. 4.3: ``sum_j (sqrt(|O'|/|O|) o_j - sqrt(|O|/|O'|) o'_j)^2 / (o_j + o'_j)``, which is
    Pearson's statistic of the 2 x m table; categories that neither value has are left out.

    Examples
    --------
    >>> round(float(chi_square_statistics(np.array([[145, 399], [193, 592]]))[0, 1]), 4)
    0.7249
    """
    observed = np.asarray(counts, dtype=np.float64)
    totals = observed.sum(axis=1)
    statistics = np.full((len(observed), len(observed)), np.inf)
    np.fill_diagonal(statistics, 0)
    for first in np.flatnonzero(totals):
        # sqrt(N'/N) o - sqrt(N/N') o' = sqrt(N N') (o/N - o'/N'): differences of shares.
        others = np.flatnonzero(totals)
        shares = observed[others] / totals[others, None]
        differences = (observed[first] / totals[first] - shares) ** 2 * (totals[first] * totals[others])[
            :, None
        ]
        pooled = observed[first] + observed[others]
        terms = np.divide(differences, pooled, out=np.zeros_like(pooled), where=pooled > 0)
        statistics[first, others] = terms.sum(axis=1)
    return statistics


def critical_value(categories: int, *, degrees_of_freedom: DegreesOfFreedom = "m-1") -> float:
    """Largest statistic at which two values still count as alike.

    The 2 x m table has m-1 degrees of freedom; the thesis prints m, which merges more, and its own
    merged domains come out with m-1 only.

    Examples
    --------
    >>> round(critical_value(2), 3), round(critical_value(2, degrees_of_freedom="m"), 3)
    (3.841, 5.991)
    """
    from scipy.special import chdtri

    degrees = categories - 1 if degrees_of_freedom == "m-1" else categories
    return float(chdtri(degrees, SIGNIFICANCE))


def merge_values(
    counts: npt.NDArray[Any],
    *,
    linkage: Linkage = "components",
    degrees_of_freedom: DegreesOfFreedom = "m-1",
) -> Merging:
    """Classes of values whose distributions of the sensitive attribute are not told apart.

    Parameters
    ----------
    counts
        ``(values, m)``, rows by value and sensitive category.
    linkage
        ``"components"`` merges along chains of values that are alike in pairs (Han 2016, section 4.1.4),
        which can join values far apart; ``"complete-linkage"`` merges only while every pair of a class is alike.
    degrees_of_freedom
        ``"m-1"``, or ``"m"`` as the thesis prints.

    Examples
    --------
    >>> halves_to_tenths = np.array([[500, 500], [46, 54], [400, 600]])
    >>> chain = merge_values(halves_to_tenths)
    >>> chain.classes, chain.chained
    (((0, 1, 2),), (0,))
    >>> merge_values(halves_to_tenths, linkage="complete-linkage").classes
    ((0, 1), (2,))
    """
    table = np.asarray(counts)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise ParameterError(
            f"counts must be a table of values by two or more sensitive categories, got shape {table.shape}. "
            "Count one public attribute against the sensitive one.",
            parameter="counts",
        )
    statistics = chi_square_statistics(table)
    limit = critical_value(table.shape[1], degrees_of_freedom=degrees_of_freedom)
    find = _components if linkage == "components" else _complete_linkage
    class_of = _numbered_by_first(find(statistics, limit))
    chained = tuple(
        number
        for number in range(int(class_of.max()) + 1)
        if statistics[np.ix_(class_of == number, class_of == number)].max() > limit
    )
    return Merging(class_of, chained)


def _components(statistics: Floats, limit: float) -> Integers:
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(statistics <= limit, directed=False)
    return np.asarray(labels, dtype=np.int64)


def _complete_linkage(statistics: Floats, limit: float) -> Integers:
    """Join the two classes whose largest statistic is the smallest, while it is not above the limit."""
    if len(statistics) == 1:
        return np.zeros(1, dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    # Clustering takes no infinities; anything above the limit is never joined.
    finite = np.minimum(statistics, np.nextafter(limit, np.inf) * 2)
    tree = linkage(squareform(finite, checks=False), method="complete")
    return np.asarray(fcluster(tree, t=limit, criterion="distance"), dtype=np.int64)


def _numbered_by_first(labels: Integers) -> Integers:
    """The same classes, numbered in the order of their first values."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
