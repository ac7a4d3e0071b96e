"""Releases of randomized response as their law estimates them, drawn from counts without any rows."""

from __future__ import annotations

import math

import numpy as np

from counted import Counted
from known_counts import KnownCounts, numbered_attribute
from published_rows import category_attribute
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import UniformDistortion

REPLICATES = 1_000
"""At a nominal 95 % it accepts 91.0 to 98.2 %; the twins cover 86 % or less, or always."""

TWIN_REPLICATES = 200
"""For twins that cover 60 % or less: 200 releases reject up to 169 that cover (at a quarter of the alarm rate), and such a twin has more once in 10**13 runs."""

A, B, Y = category_attribute("a", 2), numbered_attribute("b", 3), category_attribute("y", 2)
ATTRIBUTES = (A, B, Y)
NAMES = tuple(each.name for each in ATTRIBUTES)
ROWS = 20_000


def shares():
    """Of a, b and y: a logistic model with slopes 0.8 of a and -0.5, 0.6 of b."""
    covariates = np.array([[0.25, 0.20, 0.10], [0.15, 0.12, 0.18]])
    predictors = -0.7 + 0.8 * np.array([[0], [1]]) + np.array([0, -0.5, 0.6])
    share = 1 / (1 + np.exp(-predictors))
    return np.stack([covariates * (1 - share), covariates * share], axis=-1)


TABLE = np.round(ROWS * shares()).astype(int)


def law_of(**retention):
    """Randomized response with a retention for each perturbed attribute."""
    return PerturbedRows(
        distortions={
            name: UniformDistortion(retention=each, size=dict(zip(NAMES, TABLE.shape, strict=True))[name])
            for name, each in retention.items()
        }
    )


def matrix_of(attributes, law):
    """Chances of each published cell, by true cell."""
    matrix = np.ones((1, 1))
    for each in attributes:
        own = law.distortions[each.name].dense() if each.name in law.distortions else np.eye(each.size)
        matrix = np.kron(matrix, own)
    return matrix


def publish(draw, counts, matrix):
    """Published counts: every row of a true cell is drawn from the cell's chances."""
    return sum(
        draw.multinomial(number, chances) for number, chances in zip(counts.ravel(), matrix, strict=True)
    )


def estimated(law, attributes, counts):
    """The release as its law estimates it."""
    names = tuple(each.name for each in attributes)
    shape = [each.size for each in attributes]
    estimates = law.estimate(Counted(attributes, counts.reshape(shape)), Tabulation(by=names))
    return KnownCounts(attributes, estimates.values, estimates.covariance)


def holds(found, truth):
    """Whether an interval has the true number in it."""
    return found.low <= truth <= found.high


def mean_p_value(values, truth):
    """Two-sided p-value that a sample has a mean: normal, asymptotic."""
    z = (np.mean(values) - truth) / (np.std(values, ddof=1) / math.sqrt(len(values)))
    return math.erfc(abs(z) / math.sqrt(2))
