"""The de Finetti attack as block Gibbs sampling: model given assignment, assignment given model."""

from __future__ import annotations

import numpy as np

from sfumato.attacks.anatomy_naive_bayes.guesses import Guesses, best_permutations
from sfumato.attacks.anatomy_naive_bayes.naive_bayes import NaiveBayes
from sfumato.methods.anatomy.law.people import BucketedPeople
from sfumato.methods.anatomy.law.permutations import draw_permutations, permutation_marginals
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.watching import steps


def sample(
    people: BucketedPeople,
    generator: np.random.Generator,
    *,
    beta: float = 1.0,
    burn_in: int = 50,
    sweeps: int = 100,
    allowed: Booleans | None = None,
) -> Guesses:
    """Average beliefs over models drawn together with the people's values.

    Parameters
    ----------
    people
        The release.
    generator
        Where the draws come from.
    beta
        Pseudo-count of each category given a value: the parameter of the Dirichlet prior.
    burn_in
        Sweeps before the average begins.
    sweeps
        Sweeps that are averaged.
    allowed
        ``(combinations, values)``: False where outside knowledge rules a pair out.

    Notes
    -----
    The assignment of a bucket is drawn exactly, from all its permutations at once. Averaged are the
    marginals given the model, not the draws, which has the same mean and less noise. How often each value
    occurs is known, so the shares of values play no part.

    References
    ----------
    Kifer (2009), attacks on privacy and de Finetti's theorem.
    """
    counts = _random_counts(people)
    totals = [np.zeros(block.cells.shape) for block in people.blocks]
    for sweep in steps("Drawing assignments", range(burn_in + sweeps)):
        likelihoods = _draw_likelihoods(people, counts, generator, beta, allowed)
        matrices = [likelihoods.ravel()[block.cells] for block in people.blocks]
        drawn = [draw_permutations(matrix, generator) for matrix in matrices]
        counts = _count(people, drawn)
        if sweep >= burn_in:
            for place, matrix in enumerate(matrices):
                totals[place] += permutation_marginals(matrix)[0]
    marginals = tuple(total / sweeps for total in totals)
    return Guesses(people, marginals, marginals, tuple(best_permutations(each) for each in marginals))


def _draw_likelihoods(
    people: BucketedPeople,
    counts: Floats,
    generator: np.random.Generator,
    beta: float,
    allowed: Booleans | None,
) -> Floats:
    """Conditionals given an assignment, one Dirichlet for each attribute and value; then likelihoods."""
    conditionals = []
    for place, size in enumerate(people.attribute_sizes):
        found = np.zeros((size, people.number_of_values))
        np.add.at(found, people.combinations[:, place], counts)
        # A Dirichlet draw is gamma draws scaled to sum to one.
        gammas = generator.standard_gamma(found + beta)
        conditionals.append(gammas / gammas.sum(axis=0))
    shares = np.full(people.number_of_values, 1 / people.number_of_values)
    logs = NaiveBayes(shares, tuple(conditionals)).log_likelihoods(people)
    if allowed is not None:
        logs = np.where(allowed, logs, -np.inf)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _random_counts(people: BucketedPeople) -> Floats:
    """Pairs of an arbitrary assignment: people and values of a bucket are in random order already."""
    order = [np.tile(np.arange(block.size)[:, np.newaxis], block.rows.shape[1]) for block in people.blocks]
    return _count(people, order)


def _count(people: BucketedPeople, assignment: list[Integers]) -> Floats:
    """How many people of each combination an assignment gives each value, ``(combinations, values)``."""
    shape = (len(people.combinations), people.number_of_values)
    counts = np.zeros(shape[0] * shape[1])
    for block, places in zip(people.blocks, assignment, strict=True):
        pairs = np.take_along_axis(block.cells, places[:, np.newaxis], axis=1)
        counts += np.bincount(pairs.ravel(), minlength=counts.size)
    return counts.reshape(shape)
