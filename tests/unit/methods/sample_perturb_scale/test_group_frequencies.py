"""Largest frequencies of groups of different sizes, group by group."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.methods.sample_perturb_scale.law import largest_frequencies

ESTIMATES = [[70.0, 20.0, 10.0], [3.0, 5.0, 12.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [9.0, 15.0, 6.0]]
VARIANCES = [[30.0, 10.0, 20.0], [2.0, 1.0, 3.0], [0.1, 0.0, 0.2], [0.0, 0.0, 0.0], [4.0, 1.0, 2.0]]
SIZES = [100.0, 20.0, 1.0, 0.0, 30.0]
"""Five groups of three values, of which one has a single row and one has none."""


def by_loops(estimates, variances, sizes):
    """``F + sqrt(A / (A + S)) (f - F)`` of every group, as it is written."""
    everyone = [sum(column) / sum(sizes) for column in zip(*estimates, strict=True)]
    shares = [[each / max(size, 1) for each in group] for group, size in zip(estimates, sizes, strict=True)]
    noise = [sum(group) / max(size, 1) ** 2 for group, size in zip(variances, sizes, strict=True)]
    apart = [sum((f - g) ** 2 for f, g in zip(group, everyone, strict=True)) for group in shares]
    differing = sum(
        size / sum(sizes) * (square - chance)
        for size, square, chance in zip(sizes, apart, noise, strict=True)
    )
    found = []
    for group, chance in zip(shares, noise, strict=True):
        kept = math.sqrt(differing / (differing + chance))
        found.append(max(g + kept * (f - g) for f, g in zip(group, everyone, strict=True)))
    return found


def test_groups_of_different_sizes_are_drawn_in_as_it_is_written():
    """Each by its own noise, beside what groups differ by when the larger count for more."""
    found = largest_frequencies(*map(np.array, (ESTIMATES, VARIANCES, SIZES)))
    assert found.tolist() == pytest.approx(by_loops(ESTIMATES, VARIANCES, SIZES))


def test_one_row_is_of_one_value_and_no_row_of_none():
    """Nothing is divided by nothing."""
    alone = largest_frequencies(np.array([[0.0, 1.0]]), np.zeros((1, 2)), np.ones(1))
    assert alone.tolist() == [1.0]
    # However unsure it is: there is no other row to lean on.
    unsure = largest_frequencies(np.array([[0.0, 1.0]]), np.full((1, 2), 0.25), np.ones(1))
    assert unsure.tolist() == [1.0]
    alike = np.array([[2.0, 2.0], [3.0, 3.0], [0.0, 0.0]])
    assert largest_frequencies(alike, np.zeros((3, 2)), np.array([4.0, 6.0, 0.0])).tolist() == [0.5, 0.5, 0]
    assert largest_frequencies(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(2)).tolist() == [0, 0]
    assert largest_frequencies(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0)).tolist() == []
