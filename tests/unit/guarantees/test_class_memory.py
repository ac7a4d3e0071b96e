"""Classes of more cells than memory holds: read run by run, merged when enough waits, in room that grows."""

from __future__ import annotations

import numpy as np
import pytest

from classed_rows import NAMES, RADICES, WHOLE, batches, by_hand, dense, either_way
from sfumato.data.chunks import CodedBatch
from sfumato.guarantees import class_criteria as class_counts
from sfumato.guarantees.class_criteria import DenseClassCounts, classes_of, count_dense


@pytest.mark.parametrize("is_watched", [True, False])
@pytest.mark.parametrize("room", [4, 30, 47, 119])
@pytest.mark.parametrize("rows", [60, 400])
def test_cells_that_are_too_many_for_one_pass_are_counted_run_by_run(monkeypatch, is_watched, room, rows):
    """Each class once, whole, whatever the room; rows of which a byte cannot hold the counts are counted in quarters."""
    monkeypatch.setattr(class_counts, "DENSE_CELLS_AT_ONCE", room)
    monkeypatch.setattr(class_counts, "COMBINATIONS_AT_ONCE", 10)
    monkeypatch.setattr(class_counts, "KEYS_WAITING_AT_ONCE", 5)
    monkeypatch.setattr(class_counts, "WIDE_CELLS_AT_ONCE", 0)
    parts = batches(rows=rows)
    # One class that a byte cannot count where there are many rows.
    parts[0].codes.update({name: np.where(np.arange(rows) < 300, 2, parts[0].codes[name]) for name in NAMES})
    read = []

    def scan(names):
        read.append(names)
        return [CodedBatch({name: each.codes[name] for name in names}, rows) for each in parts]

    turns = list(classes_of(scan, NAMES, RADICES, watched=4 if is_watched else None, rows=4 * rows))
    assert len(turns) > 1
    assert all(isinstance(each, DenseClassCounts) for each, _ in turns)
    assert sorted(row for each, _ in turns for row in dense(each)) == by_hand(parts, is_watched=is_watched)
    jobs = np.bincount(np.concatenate([each.codes["job"] for each in parts]), minlength=4)
    assert all(overall.tolist() == (jobs.tolist() if is_watched else [4 * rows]) for _, overall in turns)
    if rows == 60:
        size = 4 if is_watched else 1
        # Six buckets of five places and four jobs, and no run beyond the last of them.
        assert len(turns) == -(-120 // (room // size * size))
        # Looked at in full, in vain and for its end; the watched values of all; then each run once.
        assert len(read) == 3 + is_watched + len(turns)


@pytest.mark.parametrize(("per_row", "is_run_by_run"), [(2, True), (1, False)])
def test_runs_of_cells_are_counted_where_few_are_empty(monkeypatch, per_row, is_run_by_run):
    """A hundred and twenty cells of sixty rows: two for each row are not too many."""
    monkeypatch.setattr(class_counts, "DENSE_CELLS_AT_ONCE", 40)
    monkeypatch.setattr(class_counts, "DENSE_PER_ROW", per_row)
    monkeypatch.setattr(class_counts, "COMBINATIONS_AT_ONCE", 10)
    monkeypatch.setattr(class_counts, "KEYS_WAITING_AT_ONCE", 5)
    parts = batches(number=4, rows=15)
    # The last cell of all is there.
    parts[0].codes.update(
        {name: np.append(parts[0].codes[name][1:], last) for name, last in zip(NAMES, (5, 4, 3), strict=True)}
    )

    def scan(names):
        return [CodedBatch({name: each.codes[name] for name in names}, 15) for each in parts]

    turns = [each for each, _ in classes_of(scan, NAMES, RADICES, watched=4, rows=60)]
    assert {isinstance(each, DenseClassCounts) for each in turns} == {is_run_by_run}
    assert sorted(row for each in turns for row in dense(each)) == by_hand(parts)


@pytest.mark.parametrize(("classes", "pieces"), [(48, 4), (50, 5), (4, 4), (3, 3)])
def test_a_run_that_one_byte_does_not_hold_is_read_in_quarters(monkeypatch, classes, pieces):
    """Four bytes a cell take the room of four times as many: 48 classes are read as four times twelve, a few one by one.

    A class behind the last of the run is not in any of them.
    """
    monkeypatch.setattr(class_counts, "WIDE_CELLS_AT_ONCE", 0)
    place = np.repeat([0, classes - 1, classes], 300)
    rows = CodedBatch({"bucket": place // 5, "place": place % 5, "job": np.repeat([1, 3, 2], 300)}, 900)
    read = []
    found = list(
        class_counts._counted_within(lambda: read.append(1) or [rows], NAMES, RADICES, 4, range(4 * classes))
    )
    assert len(read) == 1 + pieces
    assert [row for each in found for row in dense(each)] == [(0, 300, 0, 0), (0, 0, 0, 300)]


@pytest.mark.parametrize("is_packed", [True, False])
def test_what_waits_is_merged_when_it_is_as_much_as_was_merged_before(monkeypatch, is_packed):
    """Ten rows at a time, all different, and room for 25: merged when 30 wait, and whenever there are twice as many and more.

    So memory holds about twice what there is, and a row is merged only a few times.
    """
    for limit in ("KEYS_WAITING_AT_ONCE", "ROWS_WAITING_AT_ONCE"):
        monkeypatch.setattr(class_counts, limit, 25)
    merge = "_joined" if is_packed else "_merged"
    merged, original, read = [], getattr(class_counts, merge), []
    monkeypatch.setattr(class_counts, merge, lambda *given: merged.append(len(read)) or original(*given))

    def parts():
        for number in range(16):
            read.append(number)
            buckets = np.arange(10 * number, 10 * number + 10)
            yield CodedBatch({"bucket": buckets, "place": buckets % 5, "job": buckets % 4}, 10)

    assert either_way(parts(), WHOLE, is_packed=is_packed).number_of_classes == 160
    assert merged == [3, 7, 15, 16]


@pytest.mark.parametrize(("most", "room"), [(1_000, 81), (75, 75), (72, 72)])
def test_room_for_cells_grows_by_an_eighth(most, room):
    """Seventy-two cells in room for eighty-one, as far as there is room."""
    rows = CodedBatch({"bucket": np.array([71])}, 1)
    found = count_dense([rows], ["bucket"], [None], 1, 1, within=range(most))
    assert len(found._cells) == room
