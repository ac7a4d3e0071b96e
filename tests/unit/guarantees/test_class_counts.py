"""Classes are counted alike whether rows are packed into numbers or told apart column by column."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from classed_rows import NAMES, RADICES, WHOLE, batches, by_hand, dense, either_way
from sfumato.data.chunks import CodedBatch
from sfumato.guarantees import GUARANTEES
from sfumato.guarantees import class_criteria as class_counts
from sfumato.guarantees import class_criteria as class_tables
from sfumato.guarantees.class_criteria import (
    ClassCounts,
    DenseClassCounts,
    DoesNotFitError,
    classes_of,
    count_any,
    count_dense,
    count_packed,
)
from sfumato.guarantees.k_anonymity import LDiversity, TCloseness, Variant


@pytest.mark.parametrize("waiting", [1, 7, 10**6])
@pytest.mark.parametrize("is_watched", [True, False])
def test_both_ways_count_as_one_does_by_hand(waiting, is_watched, monkeypatch):
    """However many combinations wait for each other."""
    monkeypatch.setattr(class_counts, "ROWS_WAITING_AT_ONCE", waiting)
    monkeypatch.setattr(class_counts, "KEYS_WAITING_AT_ONCE", waiting)
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
    monkeypatch.setattr(class_tables, "CELLS_AT_ONCE", at_once)
    monkeypatch.setattr(class_counts, "WIDE_CELLS_AT_ONCE", few)
    parts = [*batches(buckets=3), *batches(2, buckets=40, number=1)]
    found = count_dense(parts, NAMES, RADICES, 4, 10**6)
    assert dense(found) == by_hand(parts)
    assert found.overall.sum() == 300


@pytest.mark.parametrize("rows", [255, 256, 257, 512, 70_000])
@pytest.mark.parametrize("few", [3, 4, 10**6], ids=["in a byte", "just in four", "in four"])
def test_counts_beyond_a_byte_are_counted_otherwise(rows, few, monkeypatch):
    """Never as what is left of them: 256 rows would be none. One class of four values has four cells."""
    monkeypatch.setattr(class_counts, "WIDE_CELLS_AT_ONCE", few)
    alike = CodedBatch({name: np.zeros(rows, np.int64) for name in NAMES}, rows)
    found = count_dense([alike], NAMES, RADICES, 4, rows)
    assert (found is None) == (few == 3 and rows > 255)
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
    monkeypatch.setattr(class_counts, "DENSE_CELLS_AT_ONCE", 10**6)
    assert count_dense([high], NAMES, RADICES, 4, 10**9) is None


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("number", [2, 3])
def test_turns_share_the_classes_out(is_packed, number):
    """Every class is in one turn, whole, and no turn has them all."""
    turns = [either_way(batches(), slice(turn, None, number), is_packed=is_packed) for turn in range(number)]
    shares = [each.number_of_classes for each in turns]
    assert sum(shares) == len(by_hand(batches()))
    assert min(shares) >= sum(shares) / number / 3
    assert sorted(row for each in turns for row in dense(each)) == by_hand(batches())


@pytest.mark.parametrize("is_packed", [True, False])
def test_too_many_combinations_are_not_held(monkeypatch, is_packed):
    """All at once is given up; a turn never is, nor what just fits."""
    monkeypatch.setattr(class_counts, "KEYS_WAITING_AT_ONCE", 5)
    monkeypatch.setattr(class_counts, "ROWS_WAITING_AT_ONCE", 5)
    # The same rows again and again: all combinations are there when they are merged.
    parts = [batches(number=1)[0]] * 8
    different = len({*zip(*(parts[0].codes[name].tolist() for name in NAMES), strict=True)})
    monkeypatch.setattr(class_counts, "COMBINATIONS_AT_ONCE", different - 1)
    assert either_way(parts, WHOLE, is_packed=is_packed) is None
    assert either_way(parts, slice(0, None, 2), is_packed=is_packed) is not None
    monkeypatch.setattr(class_counts, "COMBINATIONS_AT_ONCE", different)
    assert dense(either_way(parts, WHOLE, is_packed=is_packed)) == by_hand(parts)
    monkeypatch.setattr(class_counts, "COMBINATIONS_AT_ONCE", 1)
    assert either_way(parts, slice(0, None, 2), is_packed=is_packed).number_of_classes > 1


@pytest.mark.parametrize("radices", [RADICES, [None, None, 4]], ids=["packed", "column by column"])
@pytest.mark.parametrize("is_watched", [True, False])
def test_classes_that_are_too_many_come_in_turns_with_the_counts_of_all_rows(
    monkeypatch, radices, is_watched
):
    """Each class once, and in every turn the watched values of the whole table."""
    for limit in ("KEYS_WAITING_AT_ONCE", "ROWS_WAITING_AT_ONCE", "COMBINATIONS_AT_ONCE"):
        monkeypatch.setattr(class_counts, limit, 30)
    # So that nothing is counted cell by cell.
    monkeypatch.setattr(class_counts, "DENSE_CELLS_AT_ONCE", 0)
    monkeypatch.setattr(class_counts, "DENSE_PER_ROW", 0)

    def scan(names):
        return [CodedBatch({name: each.codes[name] for name in names}, 60) for each in batches()]

    turns = list(classes_of(scan, NAMES, radices, watched=4 if is_watched else None, rows=240))
    jobs = np.bincount(np.concatenate([each.codes["job"] for each in batches()]), minlength=4)
    # So many that each turn's share fits, with one to spare.
    assert len(turns) == 9
    assert sorted(row for each, _ in turns for row in dense(each)) == by_hand(
        batches(), is_watched=is_watched
    )
    assert all(overall.tolist() == (jobs.tolist() if is_watched else [240]) for _, overall in turns)


@pytest.mark.parametrize("order", [[2, 1, 0], [0, 2, 1], [1, 0, 2]])
def test_classes_may_come_in_any_order(order):
    """They are put in order before they are counted, with their values and counts."""
    some = ClassCounts(np.array(order), np.array(order) % 2, 10 * np.array(order) + 1, 2)
    (found,) = some.parts()
    assert found.tolist() == [[1, 0], [0, 11], [21, 0]]


def test_an_ordinary_table_is_read_once():
    """One count for each cell, and nothing sorted."""
    read = []
    ((found, overall),) = classes_of(
        lambda names: read.append(names) or batches(), NAMES, RADICES, watched=4, rows=240
    )
    assert isinstance(found, DenseClassCounts)
    assert (read, int(overall.sum())) == ([NAMES], 240)


@pytest.mark.parametrize(("last", "fits"), [(31, True), (32, False)])
def test_so_many_cells_for_a_row_are_counted_one_by_one(monkeypatch, last, fits):
    """Two rows and sixteen cells for each: thirty-two and not thirty-three."""
    monkeypatch.setattr(class_counts, "CELLS_AT_ONCE", 0)
    monkeypatch.setattr(class_counts, "DENSE_PER_ROW", 16)
    rows = CodedBatch({"bucket": np.array([0, last])}, 2)
    assert (count_dense([rows], ["bucket"], [None], 1, 2) is not None) == fits


def test_as_many_cells_as_there_is_room_for_are_counted_one_by_one(monkeypatch):
    """Twenty cells in room for twenty, and not in room for nineteen."""
    rows = CodedBatch({"bucket": np.array([0]), "place": np.array([4]), "job": np.array([3])}, 1)
    for room, fits in ((20, True), (19, False)):
        monkeypatch.setattr(class_counts, "DENSE_CELLS_AT_ONCE", room)
        assert (count_dense([rows], NAMES, RADICES, 4, 1) is not None) == fits


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_enormous_numbers_are_numbered_alike_when_they_are_equal(seed):
    """Whatever their digits: as many numbers as different rows, from 0 on."""
    draw = np.random.default_rng(seed)
    rows = draw.choice([0, 1, 2, 3, 5, 2**40], (60, 3))
    numbers = class_counts._numbered(rows).tolist()
    pairs = {*zip(map(tuple, rows.tolist()), numbers, strict=True)}
    different = {*map(tuple, rows.tolist())}
    assert len(pairs) == len(different) == len({*numbers}) == max(numbers) + 1


def test_rows_of_numbers_below_nothing_are_told_apart():
    """In whatever column they stand: one and minus three is not none and minus one."""
    rows = np.array([[1, -3], [0, -1], [1, -3], [-1, 1]])
    numbers = class_counts._numbered(rows).tolist()
    assert numbers[0] == numbers[2]
    assert sorted({*numbers}) == [0, 1, 2]
    different, counts = class_counts._distinct(rows, np.array([1, 2, 4, 8]))
    assert dict(zip(map(tuple, different.tolist()), counts.tolist(), strict=True)) == {
        (1, -3): 5,
        (0, -1): 2,
        (-1, 1): 8,
    }


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


def test_combinations_that_just_fit_a_number_are_packed():
    """2^63 of them: the last is the largest number there is."""
    last = CodedBatch(
        {
            "bucket": np.array([2**31 - 1, 2**31 - 1]),
            "place": np.array([2**31 - 1] * 2),
            "job": np.array([1, 0]),
        },
        2,
    )
    found = count_packed([last], NAMES, [2**31, 2**31, 2], 2, WHOLE)
    assert dense(found) == [(1, 1)]
    with pytest.raises(DoesNotFitError):
        count_packed([last], NAMES, [2**31, 2**31, 3], 3, WHOLE)


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_packed_classes_hold_what_the_dense_ones_hold(monkeypatch, at_once):
    """The same counts of the same classes in the same order, whichever values they are of; cut anywhere."""
    monkeypatch.setattr(class_tables, "CELLS_AT_ONCE", at_once)
    draw = np.random.default_rng(4)
    rows = np.unique(np.stack([draw.integers(0, 30, 200), draw.integers(0, 50, 200)], axis=1), axis=0)
    classes = np.unique(rows[:, 0], return_inverse=True)[1]
    some = ClassCounts(classes, rows[:, 1], draw.integers(1, 9, len(rows)), 50)
    packed = [sorted(filter(None, line)) for part in some.packed_parts() for line in part.tolist()]
    dense = [sorted(filter(None, line)) for part in some.parts() for line in part.tolist()]
    assert packed == dense
    assert max(part.shape[1] for part in some.packed_parts()) < 50


def test_only_promises_that_do_not_look_at_which_values_there_are_may_have_them_packed():
    """Every promise that says so gives the same verdict with the values of each class in another order, and zeros left out."""
    draw = np.random.default_rng(5)
    counts = draw.integers(0, 6, (200, 5)) + (np.arange(5) == 0)
    shuffled = draw.permuted(counts, axis=1)
    packed = np.array([sorted(line, reverse=True) for line in counts.tolist()])
    said = [
        LDiversity(attribute="job", l_value=1.8, variant=variant, c=1.5)
        if variant == "recursive"
        else LDiversity(attribute="job", l_value=1.8, variant=variant)
        for variant in get_args(Variant)
    ]
    for each in said:
        assert each.only_how_often
        verdict = each.classes_that_hold(counts, counts.sum(axis=0))
        assert 0 < verdict.sum() < len(verdict)
        for other in (shuffled, packed):
            assert (each.classes_that_hold(other, other.sum(axis=0)) == verdict).all()
    # One that compares with the table does not say so, and may not: its verdict changes.
    compared = TCloseness(attribute="job", t=0.3)
    assert not compared.only_how_often
    verdicts = [compared.classes_that_hold(each, counts.sum(axis=0)) for each in (counts, shuffled)]
    assert (verdicts[0] != verdicts[1]).any()
    assert {name for name, kind in GUARANTEES.members.items() if getattr(kind, "only_how_often", False)} == {
        "l-diversity"
    }
