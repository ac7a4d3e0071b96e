"""Estimates made feasible: not negative, and adding up to what is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Literal

import numpy as np

from sfumato.values.arrays import Floats

Feasibility = Literal["projection", "clip", "em"]
"""How estimates are made feasible: nearest non-negative ones with the same sum (``projection``), negatives cut
and the rest scaled to the same sum (``clip``), or the most likely ones by expectation-maximization (``em``)."""

LARGEST_NUMBER_OF_STEPS = 10_000
"""Steps after which expectation-maximization stops, converged or not."""


def project_to_simplex(values: Floats, totals: Floats, variances: Floats | None = None) -> Floats:
    """Nearest non-negative vectors with given sums.

    Parameters
    ----------
    values
        ``(groups, n)``; each row is projected on its own.
    totals
        ``(groups,)``, not negative.
    variances
        ``(n,)`` or ``(groups, n)``, positive: distance is in units of these, so that what is known well moves little; all alike when None.

    Returns
    -------
    numpy.ndarray
        ``(groups, n)``.

    Notes
    -----
    The projection takes a multiple of the variances from the entries of a row and cuts at zero; that multiple comes
    from the entries sorted by their ratio to the variances.

    Examples
    --------
    >>> project_to_simplex(np.array([[11.0, -1.0]]), np.array([10.0])).tolist()
    [[10.0, 0.0]]

    What is four times as uncertain gives way four times as much.

    >>> project_to_simplex(np.array([[8.0, 12.0]]), np.array([10.0]), np.array([1.0, 4.0])).tolist()
    [[6.0, 4.0]]
    """
    steps = np.broadcast_to(1.0 if variances is None else variances, values.shape)
    ratios = values / steps
    order = np.argsort(-ratios, axis=1, kind="stable")
    descending = np.take_along_axis(ratios, order, axis=1)
    excess = np.cumsum(np.take_along_axis(values, order, axis=1), axis=1) - totals[:, None]
    taken = np.cumsum(np.take_along_axis(steps, order, axis=1), axis=1)
    # The largest rank at which the entry still exceeds what is taken from it; rank 1 always does
    # unless the total is zero, where every entry is cut.
    last = np.maximum(np.sum(descending * taken > excess, axis=1), 1) - 1
    rows = np.arange(len(values))
    multiple = excess[rows, last] / taken[rows, last]
    return np.asarray(np.clip(values - multiple[:, None] * steps, 0, None))


def clip_to_totals(values: Floats, totals: Floats) -> Floats:
    """Negative entries cut at zero, the others of their row scaled to a given sum.

    Parameters
    ----------
    values
        ``(groups, n)``.
    totals
        ``(groups,)``, not negative. Where no entry is positive, the total is spread evenly.

    Returns
    -------
    numpy.ndarray
        ``(groups, n)``.

    Examples
    --------
    >>> clip_to_totals(np.array([[12.0, -2.0, 4.0]]), np.array([8.0])).tolist()
    [[6.0, 0.0, 2.0]]
    """
    positive = np.clip(values, 0, None)
    sums = positive.sum(axis=1)
    positive[sums == 0] = 1
    return np.asarray(positive * (totals / positive.sum(axis=1))[:, None])


def rake(cells: Floats, row_totals: Floats, column_totals: Floats, *, rounds: int = 1_000) -> Floats:
    """Non-negative cells scaled until they add up to both margins.

    Parameters
    ----------
    cells
        ``(rows, columns)``, not negative.
    row_totals, column_totals
        The margins; their sums are equal.
    rounds
        After which it is left at that.

    Examples
    --------
    >>> rake(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([2.0, 2.0]), np.array([1.0, 3.0])).round(6).tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """
    # An empty cell stays empty for ever, and then the margins may not fit; a grain keeps it open.
    grain = 1e-9 * np.outer(row_totals, column_totals > 0)
    fitted = np.maximum(cells, grain)
    for _ in itertools.repeat(None, rounds):
        fitted = fitted * _factors(row_totals, fitted.sum(axis=1))[:, np.newaxis]
        columns = fitted.sum(axis=0)
        if np.abs(columns - column_totals).max() <= 1e-9 * column_totals.sum():
            break
        fitted = fitted * _factors(column_totals, columns)
    return fitted


def _factors(wanted: Floats, given: Floats) -> Floats:
    # Where nothing is given nothing is wanted.
    return np.asarray(wanted / np.maximum(given, np.finfo(np.float64).tiny))


def most_likely(
    published: Floats,
    expect: Callable[[Floats], Floats],
    pull_back: Callable[[Floats], Floats],
    start: Floats,
    *,
    tolerance: float = 1e-7,
) -> Floats:
    """True counts under which the published ones are most likely, by expectation-maximization.

    Where the unbiased estimates are all positive they are the most likely ones too; where some are
    negative, these are not. Every step keeps the total and raises the likelihood.

    Parameters
    ----------
    published
        Published counts, of any shape.
    expect
        Gives the published counts to expect of true ones: multiplies by the distortion.
    pull_back
        Multiplies by the transposed distortion.
    start
        True counts to start from: positive where the result may be. The first step gives them the published total.
    tolerance
        Stops when a step moves less than this share of the total.

    Returns
    -------
    numpy.ndarray
        The shape of ``start``.

    References
    ----------
    Guo (2010), section 2.2; the step is ``x <- x * P'(y / P x)``.

    Examples
    --------
    >>> matrix = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> most_likely(np.array([100.0, 0.0]), lambda x: x @ matrix, lambda y: y @ matrix.T, np.array([50.0, 50.0])).round(2)
    array([100.,   0.])
    """
    current = start
    total = float(published.sum())
    for _ in range(LARGEST_NUMBER_OF_STEPS):
        expected = expect(current)
        # Where nothing is expected nothing was published, and the ratio does not matter.
        ratio = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
        following = current * pull_back(ratio)
        moved = float(np.abs(following - current).sum())
        current = following
        if moved <= tolerance * total:
            break
    return current
