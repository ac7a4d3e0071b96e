"""Random order: the same rows, an order that says nothing, memory or disk alike."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.chunks import CodedBatch
from sfumato.randomness.streams import NoiseSource
from sfumato.release import publication as piles
from sfumato.release import publication as random_order
from sfumato.release.publication import in_random_order

COLUMNS = {"a": np.dtype(np.uint8), "n": None}


def batches(sizes):
    """Batches whose column n numbers the rows and whose column a is a function of n."""
    start = 0
    for size in sizes:
        numbers = np.arange(start, start + size)
        start += size
        yield CodedBatch({"a": (numbers % 251).astype(np.uint8), "n": numbers}, size)


def shuffled(sizes, tmp_path, seed=1):
    """Both columns of the rows in their new order."""
    given = list(in_random_order(batches(sizes), COLUMNS, NoiseSource.seeded(seed), tmp_path))
    if not given:
        return np.empty(0), np.empty(0)
    return tuple(np.concatenate([batch.codes[name] for batch in given]) for name in ("a", "n"))


@pytest.mark.parametrize("sizes", [(1,), (5, 0, 7), (1_000, 999), (200_000, 150_000)])
def test_rows_are_kept_whole_and_each_once(tmp_path, sizes):
    """Every row comes out once, its columns still together."""
    a, n = shuffled(sizes, tmp_path)
    assert np.array_equal(np.sort(n), np.arange(sum(sizes)))
    assert np.array_equal(a, n % 251)


def test_nothing_in_gives_nothing_out(tmp_path):
    """No batch is made of no rows."""
    assert list(in_random_order(iter(()), COLUMNS, NoiseSource.seeded(1), tmp_path)) == []


def test_rows_on_disk_are_shuffled_like_rows_in_memory(tmp_path, monkeypatch):
    """Spilling changes where rows wait, not where they end, and leaves no file behind."""
    in_memory = shuffled((3_000, 2_000, 1_000), tmp_path)
    monkeypatch.setattr(piles, "BYTES_IN_MEMORY", 10_000)
    on_disk = shuffled((3_000, 2_000, 1_000), tmp_path)
    assert all(np.array_equal(one, other) for one, other in zip(in_memory, on_disk, strict=True))
    assert list(tmp_path.iterdir()) == []


def test_batches_given_out_are_not_tiny(tmp_path):
    """Piles are joined until they make a row group."""
    sizes = [
        batch.number_of_rows
        for batch in in_random_order(batches((400_000,)), COLUMNS, NoiseSource.seeded(1), tmp_path)
    ]
    assert all(size >= random_order.ROWS_PER_SHUFFLED_BATCH for size in sizes[:-1])


def test_batches_given_out_do_not_grow_with_the_piles(tmp_path, monkeypatch):
    """What is done with a batch takes as much memory at a billion rows as at ten million; the order stays."""
    as_piles = shuffled((60_000, 40_000), tmp_path)
    monkeypatch.setattr(random_order, "ROWS_PER_SHUFFLED_BATCH", 300)
    given = list(in_random_order(batches((60_000, 40_000)), COLUMNS, NoiseSource.seeded(1), tmp_path))
    # A pile has some 1,560 rows: five batches of nearly as many each.
    assert all(300 <= batch.number_of_rows <= 375 for batch in given)
    cut = [np.concatenate([batch.codes[name] for batch in given]) for name in ("a", "n")]
    assert all(np.array_equal(one, other) for one, other in zip(as_piles, cut, strict=True))


def test_another_source_gives_another_order(tmp_path):
    """The order comes from the noise and from nothing else."""
    first, second = shuffled((1_000,), tmp_path, seed=1)[1], shuffled((1_000,), tmp_path, seed=2)[1]
    assert not np.array_equal(first, second)
    assert np.array_equal(first, shuffled((1_000,), tmp_path, seed=1)[1])
