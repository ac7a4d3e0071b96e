"""Codes of several attributes as one number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.arrays import LARGEST_KEY, MixedRadix
from sfumato.errors import TooLargeError

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=5)


@given(SIZES, st.integers(0, 2**32))
def test_numbers_are_those_of_numpy_and_read_back(sizes, seed):
    """A key is the place of a cell in an array of the same shape; every digit is the code it was."""
    radix = MixedRadix(sizes)
    columns = [np.random.default_rng(seed).integers(0, size, 20).astype(np.uint8) for size in sizes]
    keys = radix.encode(columns)
    assert keys.dtype == np.int64
    assert np.array_equal(keys, np.ravel_multi_index(columns, sizes))
    for place, (code, column) in enumerate(zip(radix.decode(keys), columns, strict=True)):
        assert np.array_equal(code, column)
        assert np.array_equal(radix.digit(keys, place), column)


def test_small_code_types_do_not_wrap():
    """Codes of 8 bits make keys of 64."""
    columns = [np.full(1, 199, np.uint8)] * 3
    assert MixedRadix([200, 200, 200]).encode(columns).tolist() == [200**3 - 1]


def test_a_table_of_weights_is_their_sums():
    """Against one addition after another."""
    columns = [np.array([[0, 1], [1, 0]]), np.array([[2, 0], [0, 2]])]
    weights = np.array([1.5, 2.0, 4.0, 8.0])
    assert MixedRadix([2, 3]).tabulate(columns, weights).tolist() == [[0, 0, 9.5], [6, 0, 0]]


def test_too_many_combinations_are_refused():
    """A 64-bit number must tell them apart; as many as that are still fine."""
    assert MixedRadix([2] * 62).combinations == LARGEST_KEY
    with pytest.raises(TooLargeError, match="Merge categories"):
        MixedRadix([100] * 10)
