"""Errors of sums over a drawn attribute's values, under predicates on the rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from sfumato.methods.splu_gen.law.model import NEGLIGIBLE, DecoyModel, Predicate, covariance
from sfumato.values.arrays import Floats


def variances_of(predicate: Predicate, weights: Floats) -> Floats:
    """Of the sums over values that the columns of ``(values, sums)`` say, under one predicate."""
    whole = covariance(predicate, predicate, predicate.shares, weights, weights)
    return np.clip(np.diagonal(whole), 0, None)


def leaning_of(model: DecoyModel, rows: Floats, weights: Floats) -> Floats:
    """Slope of the variance of sums over values if every row were drawn by itself, divided by that variance, ``(cells, sums)``.

    Parameters
    ----------
    model
        Of the attribute.
    rows
        True rows of every value in each cell, ``(cells, values)``, none of them negative.
    weights
        Which sums, ``(values, sums)`` of 0 and 1.

    Notes
    -----
    A row adds h to an estimate, on average its weight, and ``h^2 - h`` to the estimated variance. The slope of the variance is the
    covariance of the two, ``E[h^3] - E[h^2] E[h] - Var(h)`` summed over rows, divided by the variance of the first.
    """
    added = model.inverse @ weights
    second, third = (model.distortion @ added**power for power in (2, 3))
    variances = rows @ (second - weights)
    covariances = rows @ (third - second * weights) - variances
    # Of the sum of all values that occur there is rounding alone.
    is_drawn = variances > NEGLIGIBLE * rows.sum(axis=1, keepdims=True)
    return np.divide(covariances, variances**2, out=np.zeros_like(variances), where=is_drawn)


def between_cells(predicates: Sequence[Predicate], weights: Floats) -> Floats:
    """Covariance of every sum of values under every one of disjoint predicates, the sums of one side by side."""
    cells, sums = len(predicates), weights.shape[1]
    blocks = np.zeros((cells, sums, cells, sums))
    nothing = np.zeros(len(weights))
    for i, j in itertools.combinations_with_replacement(range(cells), 2):
        both = predicates[i].shares if i == j else nothing
        blocks[i, :, j] = covariance(predicates[i], predicates[j], both, weights, weights)
        blocks[j, :, i] = blocks[i, :, j].T
    return blocks.reshape(cells * sums, cells * sums)
