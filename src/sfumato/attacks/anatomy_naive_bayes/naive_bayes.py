"""Naive Bayes with unknown values, fitted by expectation-maximization within buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.methods.anatomy.law.people import BucketedPeople
from sfumato.methods.anatomy.law.permutations import balanced_marginals, permutation_marginals
from sfumato.values.arrays import Booleans, Floats
from sfumato.watching import steps

Expectation = Literal["exact", "balanced", "restricted", "approximate"]
"""``exact``: over the permutations of each bucket. ``balanced``: likelihoods of a bucket scaled so that people and
values both add up, for any size. ``restricted``: each person by themselves over the bucket's values. ``approximate``: each person by themselves over all values, buckets ignored (the thesis's Case 2)."""


SLACK: dict[Expectation, float] = {"exact": 1e-9, "balanced": 1e-4, "restricted": 1e-9, "approximate": 1e-9}
"""Relative fall of the objective that is rounding; balancing stops early and so rounds more."""

ROUNDS_OF_BALANCE = 20
IMBALANCE = 1e-3
"""A cycle need not balance further: the next one balances again, and the fit ends in the same place."""


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Shares of the sensitive values, and of public categories given them.

    Parameters
    ----------
    shares
        ``(values,)``, summing to 1 (psi).
    conditionals
        For each public attribute ``(categories, values)``, columns summing to 1 (w).
    """

    shares: Floats
    conditionals: tuple[Floats, ...]

    @classmethod
    def uniform(cls, people: BucketedPeople) -> NaiveBayes:
        """The start that favours nothing."""
        values = people.number_of_values
        return cls(
            np.full(values, 1 / values),
            tuple(np.full((size, values), 1 / size) for size in people.attribute_sizes),
        )

    @classmethod
    def random(
        cls, people: BucketedPeople, generator: np.random.Generator, alpha: float, beta: float
    ) -> NaiveBayes:
        """A start drawn from the prior: Dirichlet with parameters one plus the pseudo-counts."""
        values = people.number_of_values
        return cls(
            generator.dirichlet(np.full(values, 1 + alpha)),
            tuple(generator.dirichlet(np.full(size, 1 + beta), values).T for size in people.attribute_sizes),
        )

    @classmethod
    def from_expected_counts(
        cls, people: BucketedPeople, counts: Floats, alpha: float, beta: float
    ) -> NaiveBayes:
        """The maximization step: smoothed effective shares (Mothali 2011, section 4.1.2).

        Parameters
        ----------
        people
            Whose public values.
        counts
            ``(combinations, values)``: expected number of people with each pair.
        alpha, beta
            Pseudo-counts added to each value, and to each category of each value.
        """
        totals = counts.sum(axis=0)
        conditionals = []
        for place, size in enumerate(people.attribute_sizes):
            found = np.zeros((size, people.number_of_values))
            np.add.at(found, people.combinations[:, place], counts)
            denominators = totals + size * beta
            # A value that nobody holds, without smoothing, says nothing about categories.
            conditionals.append(
                np.divide(
                    found + beta, denominators, out=np.full_like(found, 1 / size), where=denominators > 0
                )
            )
        shares = (totals + alpha) / (totals.sum() + people.number_of_values * alpha)
        return cls(shares, tuple(conditionals))

    def log_likelihoods(self, people: BucketedPeople) -> Floats:
        """``ln L``: log probability of each value together with each combination, ``(combinations, values)``."""
        with np.errstate(divide="ignore"):
            result = np.log(self.shares)[np.newaxis] + np.zeros((len(people.combinations), 1))
            for place, conditional in enumerate(self.conditionals):
                result += np.log(conditional)[people.combinations[:, place]]
        return result

    def log_prior(self, alpha: float, beta: float) -> float:
        """``alpha sum ln psi + beta sum ln w``, constants left out."""
        terms = [(alpha, self.shares), *((beta, each) for each in self.conditionals)]
        return float(sum(weight * np.log(each).sum() for weight, each in terms if weight > 0))


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and how it came about.

    Parameters
    ----------
    model
        After the last maximization step.
    objectives
        Log posterior before each maximization step and after the last.
    has_converged
        The objective settled before the cycles ran out.
    """

    model: NaiveBayes
    objectives: tuple[float, ...]
    has_converged: bool

    @property
    def objective(self) -> float:
        """What starts are compared by; never the truth."""
        return self.objectives[-1]


def row_shares(likelihoods: Floats) -> Floats:
    """Each person's likelihoods over the bucket's places, scaled to sum to 1, in the same shape."""
    sums = likelihoods.sum(axis=1, keepdims=True)
    return np.asarray(likelihoods / np.where(sums > 0, sums, 1))


def expected_counts(
    people: BucketedPeople,
    model: NaiveBayes,
    expectation: Expectation,
    allowed: Booleans | None = None,
) -> tuple[Floats, float]:
    """The expectation step: expected pairs ``(combinations, values)``, and the log likelihood.

    Some assignment of every bucket must be allowed.
    """
    logs = model.log_likelihoods(people)
    if allowed is not None:
        logs = np.where(allowed, logs, -np.inf)
    scales = logs.max(axis=1, keepdims=True)
    scales[~np.isfinite(scales)] = 0
    likelihoods = np.exp(logs - scales)
    rows = people.rows_of_combination
    log_likelihood = float(rows @ scales[:, 0])
    if expectation == "approximate":
        sums = likelihoods.sum(axis=1, keepdims=True)
        return rows[:, np.newaxis] * likelihoods / sums, log_likelihood + float(rows @ np.log(sums[:, 0]))
    counts = np.zeros(likelihoods.size)
    for block in people.blocks:
        matrix = likelihoods.ravel()[block.cells]
        if expectation == "exact":
            marginals, weights = permutation_marginals(matrix)
        elif expectation == "balanced":
            marginals, weights = balanced_marginals(matrix, rounds=ROUNDS_OF_BALANCE, imbalance=IMBALANCE)
        else:
            marginals = row_shares(matrix)
            with np.errstate(divide="ignore"):
                weights = np.log(matrix.sum(axis=1)).sum(axis=0)
        log_likelihood += float(weights.sum())
        counts += np.bincount(block.cells.ravel(), marginals.ravel(), minlength=counts.size)
    return counts.reshape(likelihoods.shape), log_likelihood


def fit(
    people: BucketedPeople,
    start: NaiveBayes,
    *,
    expectation: Expectation = "exact",
    alpha: float = 1.0,
    beta: float = 1.0,
    cycles: int = 500,
    tolerance: float = 1e-8,
    allowed: Booleans | None = None,
) -> Fit:
    """Expectation-maximization from one start.

    Parameters
    ----------
    people
        The release.
    start
        First model.
    expectation
        Which expectation step.
    alpha, beta
        Pseudo-counts of values, and of categories given values.
    cycles
        Maximization steps at most.
    tolerance
        Relative change of the objective at which it has settled; 0 runs all cycles.
    allowed
        ``(combinations, values)``: False where outside knowledge rules a pair out.

    Raises
    ------
    ArithmeticError
        When a cycle lowers the objective, which the method cannot do: a fault of this program.

    References
    ----------
    Mothali (2011), tables 4.1 and 4.2, with the index of the product over people corrected.
    """
    model = start
    objectives: list[float] = []
    has_converged = False
    for cycle in steps("Fitting, at most", range(cycles + 1)):
        counts, log_likelihood = expected_counts(people, model, expectation, allowed)
        objective = log_likelihood + model.log_prior(alpha, beta)
        if objectives and objective < objectives[-1] - SLACK[expectation] * max(abs(objective), 1):
            raise ArithmeticError(
                f"expectation-maximization lowered its objective from {objectives[-1]} to {objective}."
            )
        has_converged = bool(objectives) and objective - objectives[-1] <= tolerance * abs(objective)
        objectives.append(objective)
        if cycle == cycles or (has_converged and tolerance > 0):
            break
        model = NaiveBayes.from_expected_counts(people, counts, alpha, beta)
    return Fit(model, tuple(objectives), has_converged)
