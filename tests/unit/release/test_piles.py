"""Piles of rows, in memory or on disk."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.release import publication as piles
from sfumato.release.publication import Piles


def deal(folder, number):
    """Three hundred rows in ten batches, dealt round about."""
    dealt = Piles(folder, number)
    for start in range(0, 300, 30):
        rows = np.arange(start, start + 30)
        dealt.deal({"row": rows, "letter": np.full(30, ord("S"), np.uint8)}, (rows % number).astype(np.uint8))
    return dealt


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("bytes_in_memory", [10**9, 500, 0])
def test_every_pile_holds_its_rows_in_order(tmp_path, monkeypatch, number, bytes_in_memory):
    """Whether they waited in memory, on disk or both."""
    monkeypatch.setattr(piles, "BYTES_IN_MEMORY", bytes_in_memory)
    dealt = deal(tmp_path, number)
    for pile in range(number):
        taken = dealt.take(pile)
        assert taken.codes["row"].tolist() == list(range(pile, 300, number))
        assert set(taken.codes["letter"].tolist()) == {ord("S")}
        assert dealt.take(pile).number_of_rows == 0
    assert list(tmp_path.iterdir()) == []


def test_spilled_rows_are_encrypted(tmp_path, monkeypatch):
    """Three hundred equal letters: random bytes have no runs of eight; files are for this user alone."""
    monkeypatch.setattr(piles, "BYTES_IN_MEMORY", 0)
    dealt = deal(tmp_path, 3)
    files = list(tmp_path.iterdir())
    assert len(files) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert not any(b"S" * 8 in path.read_bytes() for path in files)
    # Negative control: the rows themselves have such runs.
    assert b"S" * 8 in dealt.take(0).codes["letter"].tobytes()


def test_spilled_rows_that_were_changed_are_refused(tmp_path, monkeypatch):
    """Rows of another pile, or one flipped bit, fail authentication."""
    monkeypatch.setattr(piles, "BYTES_IN_MEMORY", 0)
    dealt = deal(tmp_path, 3)
    (tmp_path / "0").write_bytes((tmp_path / "1").read_bytes())
    flipped = bytearray((tmp_path / "2").read_bytes())
    flipped[100] ^= 1
    (tmp_path / "2").write_bytes(flipped)
    for pile in (0, 2):
        with pytest.raises(DataError, match="was changed"):
            dealt.take(pile)
