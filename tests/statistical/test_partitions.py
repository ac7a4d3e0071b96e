"""Groups drawn from the conditional Poisson design: coin by coin, and by jumping from head to head."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.randomness import partitions as partition
from sfumato.randomness.streams import NoiseSource

COINS = np.array([0.5, 0.02, 0.3, 0.9, 0.15, 0.4, 0.07])
GROUPS = 400_000


def law(size):
    """By enumeration: the probability of every set of so many heads, given that so many are."""
    sets = list(itertools.combinations(range(len(COINS)), size))
    odds = COINS / (1 - COINS)
    weights = np.array([math.prod(odds[list(each)]) for each in sets])
    return sets, weights / weights.sum()


def counted(drawn, sizes, size):
    """How often each set was drawn by the groups of one size."""
    held = np.zeros((len(sizes), len(COINS)), np.int64)
    for place, groups in enumerate(drawn):
        held[groups, place] = 1
    assert np.array_equal(held.sum(axis=1), sizes)
    keys = held[sizes == size] @ (1 << np.arange(len(COINS)))
    sets, _ = law(size)
    return np.array([np.count_nonzero(keys == sum(1 << each for each in heads)) for heads in sets])


@pytest.mark.parametrize("draw", [partition._flip, partition._jump], ids=["flip", "jump"])
def test_every_set_is_drawn_as_often_as_the_design_says(alarm_budget, draw):
    """Null: a group of r holds a set with probability proportional to the product of its odds, by enumeration.

    Statistic: chi-square over all sets of two and of three among seven coins, rare ones pooled; asymptotic, n = 200,000 groups of each size, drawn together. Twin: the same coins with one of
    0.3 at 0.33, more than 12 standard errors off.
    """
    check = alarm_budget.draw("conditional Poisson draws by coins and by jumps", pieces=4)
    sizes = np.repeat([3, 2], GROUPS // 2)
    later = partition._numbers_of_heads(COINS[::-1], 3)[::-1]
    drawn = draw(COINS, sizes, later, NoiseSource.seeded(check.seed).stream(0))
    wrong = COINS.copy()
    wrong[2] = 0.33
    twin = draw(
        wrong,
        sizes,
        partition._numbers_of_heads(wrong[::-1], 3)[::-1],
        NoiseSource.seeded(check.seed).stream(1),
    )
    for size in (2, 3):
        expected = law(size)[1] * GROUPS / 2
        alarm_budget.assert_passes(
            alarm_budget.chi_square_p_value(counted(drawn, sizes, size), expected), check
        )
        alarm_budget.assert_rejects(
            alarm_budget.chi_square_p_value(counted(twin, sizes, size), expected), check
        )
