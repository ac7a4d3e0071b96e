"""Sorting by top bits first gives what sorting gives, however the numbers are spread."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.arrays import FEWEST, sorted_scattered

KINDS = {
    "spread evenly": lambda random, size: random.integers(0, 2**64, size, dtype=np.uint64),
    "all alike": lambda _random, size: np.full(size, 7, np.uint64),
    "the top bits alike": lambda random, size: random.integers(0, 2**48, size, dtype=np.uint64),
    "the low bits alike": lambda random, size: (
        random.integers(0, 2**16, size, dtype=np.uint64) << np.uint64(48)
    ),
    "many twice": lambda random, size: (
        random.integers(0, size // 2 + 1, size).astype(np.uint64) << np.uint64(50)
    ),
    "descending": lambda _random, size: np.arange(size, 0, -1, dtype=np.uint64) << np.uint64(44),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, 1, 2, FEWEST - 1, FEWEST, FEWEST + 1, 70_001])
def test_the_order_is_that_of_sorting(kind, size):
    """And what was given is left as it was."""
    given = KINDS[kind](np.random.default_rng(size), size)
    kept = given.copy()
    assert np.array_equal(sorted_scattered(given), np.sort(given))
    assert np.array_equal(given, kept)
