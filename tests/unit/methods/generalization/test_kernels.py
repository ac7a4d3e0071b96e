"""Distinct rows as numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sfumato.arrays import MixedRadix
from sfumato.methods.generalization import kernels as module
from sfumato.methods.generalization.kernels import DistinctRows


def test_counting_in_batches_is_counting(monkeypatch):
    """Also when batches are merged many times."""
    monkeypatch.setattr(module, "KEYS_WAITING", 50)
    keys = np.random.default_rng(2).integers(0, 30, 1_000)
    counted = DistinctRows.count(MixedRadix([30]), 1, np.split(keys, 50))
    assert dict(zip(counted.keys.tolist(), counted.counts.tolist(), strict=True)) == Counter(keys.tolist())
