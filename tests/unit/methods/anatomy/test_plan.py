"""Buckets of several releases, intersected."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from sfumato.methods.anatomy.design import intersect_buckets
from sfumato.randomness.partitions import partition_rows
from sfumato.randomness.streams import NoiseSource


@pytest.mark.parametrize(
    ("l_value", "values", "releases"), [(2, 4, 2), (3, 5, 2), (3, 5, 3), (4, 6, 2), (3, 3, 4)]
)
def test_the_formula_is_what_all_sets_give(l_value, values, releases):
    """Every choice of the other values of every bucket, all alike."""
    buckets = [set(each) for each in itertools.combinations(range(values - 1), l_value - 1)]
    left = [len(set.intersection(*each)) for each in itertools.product(buckets, repeat=releases)]
    found = intersect_buckets([l_value] * releases, values)
    assert found.certain == pytest.approx(float(Fraction(left.count(0), len(left))))
    assert found.chance == pytest.approx(float(sum(Fraction(1, 1 + each) for each in left) / len(left)))


@pytest.mark.parametrize("l_value", [2, 4])
@pytest.mark.parametrize("releases", [2, 3])
def test_the_formula_is_what_publishing_gives(l_value, releases):
    """7,000 rows of 14 equally frequent values, by the code that makes buckets; 0.03 is more than five standard errors.

    The tolerance was written down before the numbers were seen. Rows of one bucket go together, so that fewer than 7,000 are
    independent: a quarter of them have a standard error below 0.006 each.
    """
    values = np.arange(7_000) % 14
    possible = np.ones((values.size, 14), bool)
    for seed in range(releases):
        groups = partition_rows(values, 14, l_value, NoiseSource.seeded(seed).stream(0))
        held = np.zeros((groups.max() + 1, 14), bool)
        held[groups, values] = True
        possible &= held[groups]
    left = possible.sum(axis=1)
    found = intersect_buckets([l_value] * releases, 14)
    assert (left == 1).mean() == pytest.approx(found.certain, abs=0.03)
    assert (1 / left).mean() == pytest.approx(found.chance, abs=0.03)
    # One release fewer would not pass.
    assert (1 / left).mean() != pytest.approx(
        intersect_buckets([l_value] * (releases - 1), 14).chance, abs=0.03
    )
