"""Beliefs about people in buckets, against all ways of giving the values."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sfumato.methods.anatomy.law.bucket_beliefs import bucket_beliefs
from sfumato.methods.anatomy.law.people import BucketedPeople

LIKELIHOODS = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])


def test_people_are_believed_what_all_assignments_say():
    """Two buckets, one with a value twice; people alike in both share one belief."""
    publics = np.array([0, 0, 1, 1, 0])
    buckets, places = np.array([1, 1, 1, 2, 2]), np.array([[0, 2, 2], [0, 1, -1]])
    people = BucketedPeople.arrange([publics], [2], buckets, places, 3, seed=5)
    total = np.zeros((2, 3))
    for number, values in ((1, (0, 2, 2)), (2, (0, 1))):
        inside = publics[buckets == number]
        ways = list(itertools.permutations(values))
        weights = [math.prod(LIKELIHOODS[x, v] for x, v in zip(inside, way, strict=True)) for way in ways]
        for way, weight in zip(ways, weights, strict=True):
            for x, v in zip(inside, way, strict=True):
                total[x, v] += weight / sum(weights)
    expected = total / total.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(bucket_beliefs(people, LIKELIHOODS), expected, rtol=1e-9)


def test_a_value_that_is_not_in_the_bucket_is_ruled_out():
    """Whatever was believed beforehand."""
    people = BucketedPeople.arrange([np.array([0, 1])], [2], np.array([1, 1]), np.array([[0, 1]]), 3, seed=0)
    assert bucket_beliefs(people, LIKELIHOODS)[:, 2].tolist() == [0, 0]
