"""Classes are counted alike whether rows are packed into numbers or told apart column by column."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato.guarantees import class_counts
from sfumato.guarantees.class_counts import DoesNotFitError, count_any, count_dense, count_packed
from sfumato.values.batches import CodedBatch

NAMES = ["bucket", "place", "job"]
RADICES = [None, 5, 4]
WHOLE = slice(0, None, 1)


def batches(seed=1, *, buckets=6, number=4, rows=60):
    """Some rows in batches."""
    draw = np.random.default_rng(seed)
    sizes = dict(zip(NAMES, (buckets, 5, 4), strict=True))
    return [
        CodedBatch({name: draw.integers(0, size, rows) for name, size in sizes.items()}, rows)
        for _ in range(number)
    ]


def by_hand(parts, *, is_watched=True):
    """Counts of the watched values in every class, whatever the classes are called."""
    classes: dict[tuple[int, ...], Counter] = {}
    for part in parts:
        for *known, job in zip(*(part.codes[name].tolist() for name in NAMES), strict=True):
            key = tuple(known) if is_watched else (*known, job)
            classes.setdefault(key, Counter())[job if is_watched else 0] += 1
    return sorted(tuple(each[value] for value in range(4 if is_watched else 1)) for each in classes.values())


def dense(counts):
    """All classes of a count, in an order that does not depend on their numbers."""
    return sorted(tuple(row) for part in counts.parts() for row in part.tolist())


@pytest.mark.parametrize("waiting", [1, 7, 10**6])
@pytest.mark.parametrize("is_watched", [True, False])
def test_both_ways_count_as_one_does_by_hand(waiting, is_watched, monkeypatch):
    """However many combinations wait for each other."""
    monkeypatch.setattr(class_counts, "COMBINATIONS_WAITING", waiting)
    monkeypatch.setattr(class_counts, "KEYS_WAITING", waiting)
    size = 4 if is_watched else 1
    packed = count_packed(batches(), NAMES, RADICES, size, WHOLE)
    apart = count_any(batches(), NAMES, size, WHOLE, is_watched=is_watched)
    each_counted = count_dense(batches(), NAMES, RADICES, size, 240)
    assert dense(packed) == dense(apart) == dense(each_counted) == by_hand(batches(), is_watched=is_watched)
    assert packed.overall.tolist() == apart.overall.tolist() == each_counted.overall.tolist()
    assert packed.number_of_classes == each_counted.number_of_classes == len(dense(packed))


@pytest.mark.parametrize("at_once", [1, 9, 10**6])
@pytest.mark.parametrize("few", [0, 10**6], ids=["in a byte", "in four"])
def test_cells_that_each_have_a_count(at_once, few, monkeypatch):
    """In as many parts as memory allows, with room that grows; classes that no row has are none."""
    monkeypatch.setattr(class_counts, "CELLS_AT_ONCE", at_once)
    monkeypatch.setattr(class_counts, "FEW_DENSE", few)
    parts = [*batches(buckets=3), *batches(2, buckets=40, number=1)]
    found = count_dense(parts, NAMES, RADICES, 4, 10**6)
    assert dense(found) == by_hand(parts)
    assert found.overall.sum() == 300


@pytest.mark.parametrize("rows", [255, 256, 257, 512, 70_000])
@pytest.mark.parametrize("few", [0, 10**6], ids=["in a byte", "in four"])
def test_counts_beyond_a_byte_are_counted_otherwise(rows, few, monkeypatch):
    """Never as what is left of them: 256 rows would be none."""
    monkeypatch.setattr(class_counts, "FEW_DENSE", few)
    alike = CodedBatch({name: np.zeros(rows, np.int64) for name in NAMES}, rows)
    found = count_dense([alike], NAMES, RADICES, 4, rows)
    assert (found is None) == (few == 0 and rows > 255)
    if found is not None:
        assert dense(found) == [(rows, 0, 0, 0)]


def test_counts_that_outgrow_a_byte_as_the_room_grows():
    """Three hundred rows in four bytes, then so many classes that each has one byte: the three hundred are not cut."""
    few = CodedBatch({name: np.zeros(300, np.int64) for name in NAMES}, 300)
    many = CodedBatch({"bucket": np.array([10**6]), "place": np.array([0]), "job": np.array([0])}, 1)
    assert count_dense([few, many], NAMES, RADICES, 4, 10**8) is None


def test_cells_nearly_all_empty_are_not_counted_one_by_one(monkeypatch):
    """A bucket of a high number, or more cells than there is room for."""
    high = CodedBatch({"bucket": np.array([10**7]), "place": np.array([1]), "job": np.array([1])}, 1)
    assert count_dense([high], NAMES, RADICES, 4, 1_000) is None
    assert count_dense([high], NAMES, RADICES, 4, 10**9) is not None
    monkeypatch.setattr(class_counts, "MOST_DENSE", 10**6)
    assert count_dense([high], NAMES, RADICES, 4, 10**9) is None


def test_turns_share_the_classes_out():
    """Every class is in one turn, whole."""
    turns = [count_packed(batches(), NAMES, RADICES, 4, slice(turn, None, 3)) for turn in range(3)]
    assert all(each.number_of_classes > 0 for each in turns)
    assert sorted(row for each in turns for row in dense(each)) == by_hand(batches())


def test_too_many_combinations_are_not_held(monkeypatch):
    """All at once is given up; a turn never is."""
    monkeypatch.setattr(class_counts, "KEYS_WAITING", 5)
    monkeypatch.setattr(class_counts, "MOST_COMBINATIONS", 20)
    assert count_packed(batches(), NAMES, RADICES, 4, WHOLE) is None
    assert count_packed(batches(), NAMES, RADICES, 4, slice(0, None, 2)) is not None


def test_a_table_without_rows_has_no_class():
    """Nor has one whose only batch is empty."""
    for parts in ([], [CodedBatch({name: np.empty(0, np.int64) for name in NAMES}, 0)]):
        assert count_packed(parts, NAMES, RADICES, 4, WHOLE).number_of_classes == 0


@pytest.mark.parametrize(
    ("radices", "bucket"),
    [([None, 5, 4], 2**63 // 20), ([None, None, 4], 1), ([2**32, 2**31, 4], 1), ([None, 5, 4], -1)],
)
def test_what_does_not_fit_one_number_is_not_packed(radices, bucket):
    """Large numbers, several of them, many categories, and what is below nothing."""
    rows = CodedBatch({"bucket": np.array([bucket]), "place": np.array([1]), "job": np.array([1])}, 1)
    with pytest.raises(DoesNotFitError):
        count_packed([rows], NAMES, radices, 4, WHOLE)
    with pytest.raises(DoesNotFitError):
        count_dense([rows], NAMES, radices, 4, 1)


def test_the_largest_number_that_fits_is_packed():
    """And told from its neighbour."""
    largest = 2**63 // 20 - 1
    rows = CodedBatch(
        {"bucket": np.array([largest, largest - 1]), "place": np.array([4, 4]), "job": np.array([3, 3])}, 2
    )
    assert count_packed([rows], NAMES, RADICES, 4, WHOLE).number_of_classes == 2
