"""What is believed of people in buckets: whose the values of a bucket are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.laws.base import Published
from sfumato.laws.believing import Posterior, SharedPrior, Targets
from sfumato.laws.believing.targets import places_among
from sfumato.methods.anatomy.law.composition import BUCKET, ROWS, BucketComposition
from sfumato.methods.anatomy.law.people import BucketedPeople
from sfumato.methods.anatomy.law.permutations import (
    LARGEST_EXACT,
    balanced_marginals,
    permutation_marginals,
)
from sfumato.values.arrays import Floats

AFFORDABLE_STEPS = 5e8
"""Steps of exact sums over permutations, some seconds; balanced ones, which are close, take their place beyond."""


def read_people(
    published: Published, buckets: BucketComposition, public: Sequence[str], *, seed: int
) -> BucketedPeople:
    """Everybody in a release, by the public attributes named."""
    batches = list(published.scan(ROWS, [*public, BUCKET]))
    return BucketedPeople.arrange(
        [np.concatenate([batch.codes[name] for batch in batches]) for name in public],
        [published.schema[name].size for name in public],
        np.concatenate([batch.codes[BUCKET] for batch in batches]),
        buckets.places,
        buckets.number_of_values,
        seed=seed,
    )


def bucket_beliefs(people: BucketedPeople, likelihoods: Floats) -> Floats:
    """Probability of every value for people of each combination, ``(combinations, values)``.

    Over all ways of giving each bucket's values to its people, weighed by how likely each person is to have the value
    given; people alike are averaged, since which of them is the target is not known.

    Parameters
    ----------
    people
        The buckets.
    likelihoods
        ``(combinations, values)``: how likely somebody with a value has these public values, up to a factor for each
        value and each combination.

    Examples
    --------
    One bucket of two people: what is true of one decides the other.

    >>> people = BucketedPeople.arrange([np.array([0, 1])], [2], np.array([1, 1]), np.array([[0, 1]]), 2, seed=0)
    >>> bucket_beliefs(people, np.array([[0.6, 0.2], [0.3, 0.4]])).round(6).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    steps = sum(float(block.rows.size) * 2**block.size for block in people.blocks)
    is_exact = people.largest_bucket <= LARGEST_EXACT and steps <= AFFORDABLE_STEPS
    flat = likelihoods.ravel()
    total = np.zeros(flat.size)
    for block in people.blocks:
        marginals, _ = (permutation_marginals if is_exact else balanced_marginals)(flat[block.cells])
        total += np.bincount(block.cells.ravel(), marginals.ravel(), minlength=flat.size)
    found = total.reshape(likelihoods.shape)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def bucketed_posterior(
    published: Published, buckets: BucketComposition, targets: Targets, prior: SharedPrior
) -> Posterior:
    """Of members by their bucket and the others in it; of anybody else the shared prior."""
    found = prior.at(targets.names, targets.combinations)
    if not targets.are_members:
        return Posterior(found, targets.index)
    people = read_people(published, buckets, targets.names, seed=0)
    # Beliefs are likelihoods times the shares of values: a factor for each value, which every way of giving them has alike.
    beliefs = bucket_beliefs(people, prior.at(targets.names, people.combinations))
    places = places_among(targets.combinations, people.combinations)
    known = places >= 0
    found[known] = beliefs[places[known]]
    return Posterior(found, targets.index)
