"""Combinations that occur as one axis of groups, and how many there may be."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import category_attribute
from sfumato.errors import TooLargeError
from sfumato.estimates.counts import OccupiedCounts
from sfumato.laws.shrinkage import occupied_groups
from sfumato.schema import Role


def attributes(*sizes):
    """Public attributes and a last one."""
    return tuple(
        category_attribute(f"a{place}", size, Role.QUASI_IDENTIFIER) for place, size in enumerate(sizes)
    )


def test_occupied_combinations_become_one_axis():
    """Of the attributes that were not distorted; those that were keep all their categories."""
    codes = (np.array([2, 0, 2, 2]), np.array([1, 1, 1, 1]), np.array([0, 1, 1, 2]))
    occupied = OccupiedCounts(attributes(3, 2, 3), codes, np.array([4, 5, 6, 7]))
    exact, counts = occupied_groups(occupied, 2)
    assert exact.tolist() == [[0, 1], [2, 1]]
    assert counts.tolist() == [[0, 5, 0], [4, 6, 7]]
    exact, counts = occupied_groups(occupied, 0)
    assert exact is None
    assert counts.shape == (3, 2, 3)
    assert (counts[2, 1, 2], counts[0, 1, 1], counts.sum()) == (7, 5, 22)


def test_more_cells_than_fit_are_refused():
    """Fifty million and no more; the combinations that occur count, not those that might."""
    two = (np.array([0, 4_999]), np.array([0, 4_999]))
    largest = OccupiedCounts(attributes(5_000, 10_001), two, np.ones(2, int))
    with pytest.raises(TooLargeError, match=r"50,005,000 cells, and at most 50,000,000 fit.*a0"):
        occupied_groups(largest, 0)
    assert occupied_groups(largest, 1)[1].shape == (2, 10_001)
    four = OccupiedCounts(attributes(2, 5_000, 30, 10_001), (np.array([1]),) * 4, np.ones(1, int))
    with pytest.raises(TooLargeError, match=r"1,500,150,000 cells.*perturbed attributes \(a1, a2\) out of"):
        occupied_groups(four, 1)
    many = (np.arange(5_000), np.zeros(5_000, int))
    with pytest.raises(TooLargeError, match=r"perturbed attributes \(none\) out of"):
        occupied_groups(OccupiedCounts(attributes(5_000, 10_001), many, np.ones(5_000, int)), 1)
