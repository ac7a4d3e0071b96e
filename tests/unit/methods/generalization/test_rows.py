"""Distinct rows as numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato.errors import TooLargeError
from sfumato.methods.generalization.kernels import rows as module
from sfumato.methods.generalization.kernels.rows import DistinctRows, MixedRadix


def test_digits_read_back_what_was_encoded():
    """Every attribute, every row."""
    radix = MixedRadix([5, 3, 7])
    draw = np.random.default_rng(1)
    columns = [draw.integers(0, size, 100) for size in radix.sizes]
    keys = radix.encode(columns)
    for place, column in enumerate(columns):
        assert np.array_equal(radix.digit(keys, place), column)


def test_counting_in_batches_is_counting(monkeypatch):
    """Also when batches are merged many times."""
    monkeypatch.setattr(module, "KEYS_WAITING", 50)
    keys = np.random.default_rng(2).integers(0, 30, 1_000)
    counted = DistinctRows.count(MixedRadix([30]), 1, np.split(keys, 50))
    assert dict(zip(counted.keys.tolist(), counted.counts.tolist(), strict=True)) == Counter(keys.tolist())


def test_too_many_combinations_are_refused():
    """A 64-bit number must tell them apart."""
    with pytest.raises(TooLargeError, match="Merge categories"):
        MixedRadix([100] * 10)
