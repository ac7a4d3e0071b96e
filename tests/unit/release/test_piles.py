"""Piles of rows, in memory or on disk."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.randomness.streams import NoiseSource
from sfumato.release import publication as piles
from sfumato.release.publication import Piles


def deal(folder, number, cipher=None):
    """Three hundred rows in ten batches, dealt round about."""
    dealt = Piles(folder, number, cipher=cipher)
    for start in range(0, 300, 30):
        rows = np.arange(start, start + 30)
        dealt.deal({"row": rows, "letter": np.full(30, ord("S"), np.uint8)}, (rows % number).astype(np.uint8))
    return dealt


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("bytes_in_memory", [10**9, 500, 0])
def test_every_pile_holds_its_rows_in_order(tmp_path, monkeypatch, number, seed, bytes_in_memory):
    """Whether they waited in memory, on disk or both, veiled or not."""
    monkeypatch.setattr(piles, "BYTES_IN_MEMORY", bytes_in_memory)
    dealt = deal(tmp_path, number, None if seed is None else NoiseSource.seeded(seed))
    for pile in range(number):
        taken = dealt.take(pile)
        assert taken.codes["row"].tolist() == list(range(pile, 300, number))
        assert set(taken.codes["letter"].tolist()) == {ord("S")}
        assert dealt.take(pile).number_of_rows == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_veiled", [True, False])
def test_what_waits_on_disk_can_be_veiled(tmp_path, monkeypatch, is_veiled):
    """Three hundred equal letters: of random bytes, runs of eight do not come by chance."""
    monkeypatch.setattr(piles, "BYTES_IN_MEMORY", 0)
    deal(tmp_path, 3, NoiseSource.from_operating_system() if is_veiled else None)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert (b"S" * 8 in stored) is not is_veiled
