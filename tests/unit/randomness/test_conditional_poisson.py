"""Groups of different categories, against enumeration of every group."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.randomness.conditional_poisson import ConditionalPoisson

# The weights are found to a relative 1e-13, and a moment is a sum of some ten terms of them.
RTOL = 1e-11


def enumerated(weights, size):
    """Every group as a row of indicators, and its probability."""
    groups = list(itertools.combinations(range(len(weights)), size))
    members = np.zeros((len(groups), len(weights)))
    for row, group in enumerate(groups):
        members[row, list(group)] = 1
    chances = np.array([np.prod(weights[list(group)]) for group in groups])
    return members, chances / chances.sum()


@pytest.fixture
def seven():
    """Seven categories, three in a group, with the law worked out by enumeration."""
    weights = np.array([0.1, 0.3, 0.5, 1.0, 1.5, 2.5, 4.0])
    members, chances = enumerated(weights, 3)
    return members, chances, ConditionalPoisson(chances @ members, 3)


def test_weights_are_those_the_inclusion_came_from(seven):
    """Up to a common factor, which changes no probability."""
    weights = seven[2].weights
    assert np.allclose(weights / weights[0], np.array([1, 3, 5, 10, 15, 25, 40]), rtol=1e-10)


def test_pairs_agree_with_enumeration(seven):
    """The diagonal is the inclusion itself."""
    members, chances, law = seven
    assert np.allclose(law.pairs, (members.T * chances) @ members, rtol=RTOL)


def test_conditional_inclusion_agrees_with_enumeration(seven):
    """Pairs over the inclusion of the first."""
    members, chances, law = seven
    pairs = (members.T * chances) @ members
    assert np.allclose(law.given, pairs / np.diagonal(pairs)[:, None], rtol=RTOL)


@pytest.mark.parametrize("power", [1, 2])
def test_moments_of_a_score_agree_with_enumeration(seven, power):
    """Total score, and its square, times the indicator of two categories."""
    members, chances, law = seven
    scores = np.array([0.2, 0.9, 0.0, 1.0, 0.4, 0.6, 0.1])
    expected = (members.T * (chances * (members @ scores) ** power)) @ members
    found = law.total_pairs(scores) if power == 1 else law.squared_total_pairs(scores)
    assert np.allclose(found, expected, rtol=RTOL)


def test_a_category_that_never_occurs_changes_nothing_and_is_still_conditioned_on():
    """Its row is the limit of a vanishing weight: the other places are a group one smaller."""
    with_it = ConditionalPoisson(np.array([0.0, 0.5, 0.5, 0.5, 0.5]), 2)
    assert np.allclose(with_it.pairs[0], 0)
    assert np.allclose(with_it.given[0], [1, 0.25, 0.25, 0.25, 0.25], rtol=RTOL)


def test_a_category_in_nearly_every_group_is_found():
    """The search for weights converges at an inclusion of 0.9999."""
    inclusion = np.array([0.9999, *[3.0001 / 13] * 13])
    pairs = ConditionalPoisson(inclusion, 4).pairs
    assert np.allclose(pairs.sum(axis=1), 4 * inclusion, rtol=1e-10)


def test_a_constant_score_gives_multiples_of_pairs_at_many_categories():
    """1,346 categories, nine in a group: fewer points of the circle than categories lose nothing."""
    draw = np.random.default_rng(5)
    inclusion = draw.pareto(1.5, 1346) + 0.05
    inclusion = 9 * np.minimum(inclusion / inclusion.sum(), 0.05)
    inclusion *= 9 / inclusion.sum()
    law = ConditionalPoisson(inclusion, 9)
    score = np.full(1346, 0.3)
    assert np.allclose(law.pairs.sum(axis=1), 9 * inclusion, rtol=1e-10)
    assert np.allclose(law.total_pairs(score), 2.7 * law.pairs, rtol=1e-9, atol=1e-13)
    assert np.allclose(law.squared_total_pairs(score), 2.7**2 * law.pairs, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize(
    ("inclusion", "size"),
    [([0.5, 0.5, 1.0], 2), ([0.5, 0.5, 0.5], 2), ([1.0, 1.0], 2), ([-0.1, 1.1, 1.0, 1.0], 3)],
)
def test_impossible_inclusions_are_refused(inclusion, size):
    """A certain category, a wrong sum, no choice at all, a negative one."""
    with pytest.raises(ParameterError):
        ConditionalPoisson(np.array(inclusion), size)
