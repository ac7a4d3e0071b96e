"""What noisy or missing counts of the cells of a person's group say of the person."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.laws.believing.prior import PSEUDO_COUNT
from sfumato.values.arrays import Floats, Integers

POINTS = 401
"""Numbers of rows tried for a cell; where more are possible they are tried at even distances."""

SURPRISE = 0.01
"""Probability that a cell is nothing like what was believed of it: groups that no model of two attributes foresees."""

LEAST_MEAN = 1e-6
"""Rows to expect in a cell that was believed empty."""


def expected_counts(
    low: Integers, high: Integers, likelihood: Callable[[Integers], Floats], means: Floats
) -> Floats:
    """Rows to expect in cells, given what was published of them.

    Parameters
    ----------
    low, high
        ``(cells,)``: numbers of rows that are possible, ends included.
    likelihood
        Numbers of rows ``(cells, points)`` to the probability of what was published, in the same shape.
    means
        ``(cells,)``: rows to expect beforehand.

    Notes
    -----
    Beforehand a number of rows has a geometric distribution, which among all with a mean says least: ``r^n (1 - r)`` with
    ``r = mean / (1 + mean)``. Its tail would outweigh any noise, so with a small probability the number is drawn from
    ``1 / ((n + 1) (n + 2))`` instead, which rules nothing out.

    Examples
    --------
    A cell published as it is.

    >>> expected_counts(np.array([3]), np.array([3]), lambda n: np.ones(n.shape), np.array([1.0])).tolist()
    [3.0]
    """
    width = int((high - low).max(initial=0)) + 1
    steps = np.linspace(0.0, 1.0, min(width, POINTS))
    points = np.round(low[:, np.newaxis] + (high - low)[:, np.newaxis] * steps).astype(np.int64)
    # Where fewer numbers are possible than are tried, some come twice; they count once.
    is_new = np.concatenate([np.ones((len(points), 1), bool), np.diff(points, axis=1) > 0], axis=1)
    mean = np.maximum(means, LEAST_MEAN)[:, np.newaxis]
    foreseen = np.exp(points * (np.log(mean) - np.log1p(mean))) / (1 + mean)
    believed = (1 - SURPRISE) * foreseen + SURPRISE / ((points + 1.0) * (points + 2.0))
    weights = np.where(is_new, believed * likelihood(points), 0.0)
    total = weights.sum(axis=1)
    # Where nothing is possible under the law, what was believed beforehand is all there is.
    return np.asarray(np.divide((weights * points).sum(axis=1), total, out=means.copy(), where=total > 0))


def beliefs_of_counts(expected: Floats, prior: Floats, *, are_members: bool) -> Floats:
    """Beliefs about people of groups whose cells are expected to hold so many rows, ``(groups, values)``.

    A member is one of the rows. With the number of all rows known, the chance that a row drawn from the table
    has a value, given its public values, is the ratio of the expected counts. Somebody else is like the group, as far
    as its rows outweigh some of prior belief.

    Examples
    --------
    >>> expected, prior = np.array([[3.0, 1.0]]), np.array([[0.2, 0.8]])
    >>> beliefs_of_counts(expected, prior, are_members=True).tolist()
    [[0.75, 0.25]]
    >>> beliefs_of_counts(expected, prior, are_members=False).round(6).tolist()
    [[0.444444, 0.555556]]
    """
    rows = expected if are_members else expected + PSEUDO_COUNT * prior
    total = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, total, out=prior.copy(), where=total > 0))
