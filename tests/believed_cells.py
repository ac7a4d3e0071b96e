"""Beliefs about cells by summing over every number of rows, as their definition says."""

from __future__ import annotations

import numpy as np

from sfumato.laws.posterior import SharedPrior, Targets
from sfumato.schema import Attribute, Role

SEX = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
AGE = Attribute(name="age", role=Role.QUASI_IDENTIFIER, categories=("young", "middle", "old"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))

PRIOR = SharedPrior(
    np.array([0.5, 0.3, 0.2]),
    {"sex": np.array([[0.7, 0.4, 0.5], [0.3, 0.6, 0.5]])},
    {"sex": np.array([0.6, 0.4]), "age": np.array([0.2, 0.3, 0.5])},
    200.0,
    1.0,
)
"""Two hundred rows; ages say nothing of jobs."""


def people(*, are_members):
    """Three kinds of people, of whom one stands for two."""
    codes = {"sex": np.array([1, 0, 1, 0]), "age": np.array([2, 1, 2, 0])}
    return Targets.of((SEX, AGE), JOB, codes, are_members=are_members)


def expected_rows(likelihood, mean, most=2_000):
    """Mean of the number of rows: geometric beforehand, one time in a hundred like 1 / ((n + 1) (n + 2))."""
    weights = []
    for rows in range(most):
        geometric = (mean / (1 + mean)) ** rows / (1 + mean)
        weights.append((0.99 * geometric + 0.01 / ((rows + 1) * (rows + 2))) * likelihood(rows))
    return sum(rows * weight for rows, weight in enumerate(weights)) / sum(weights)


def beliefs(likelihood_of, *, are_members):
    """Of each target: likelihoods of codes of sex, age and job, and the group's rows as everybody else's."""
    found = []
    for sex, age in ((1, 2), (0, 1), (1, 2), (0, 0)):
        weights = PRIOR.margin * PRIOR.given_value["sex"][sex]
        before = weights / weights.sum()
        size = 200.0 * PRIOR.shares["sex"][sex] * PRIOR.shares["age"][age]
        rows = np.array([expected_rows(likelihood_of(sex, age, job), size * before[job]) for job in range(3)])
        rows = rows if are_members else rows + 5 * before
        found.append(rows / rows.sum())
    return np.array(found)
