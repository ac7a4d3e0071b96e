"""Disks that are lost while a table is published: nothing half-written is called a release, and nothing is left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine_cases import write_people
from samples import SCHEMA
from sfumato import METHODS, publish, read_table
from sfumato.data.distributed import splits
from sfumato.data.distributed import splits as resting
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.errors import DataError, SfumatoError
from sfumato.release import distributed as parts


@pytest.fixture(autouse=True)
def small_splits(monkeypatch):
    """Splits of 300 rows, files of 400."""
    for module in (splits, resting):
        monkeypatch.setattr(module, "ROWS_PER_SPLIT", 300)
    monkeypatch.setattr(parts, "ROWS_PER_FILE", 400)


def published(folder, form):
    """Publish people by a method whose rows must meet."""
    engine = SplitEngine(LocalRunner(folder))
    table = read_table(write_people(folder, form), SCHEMA, engine=engine)
    return publish(table, METHODS.make("anatomy", {"l_value": 2}), folder / "out", seed=1)


def left(folder):
    """Everything but what was there before."""
    return [each.name for each in folder.iterdir() if not each.name.startswith("people")]


@pytest.mark.parametrize("lost", ["gone", "cut", "empty"])
def test_a_part_that_is_lost_after_it_was_written(tmp_path, monkeypatch, lost):
    """Its task had answered already: the disk was another one, or broke."""
    write = parts.WritePart.__call__

    def lose(self, pile, blobs):
        found = write(self, pile, blobs)
        path = self.folder / found.path
        if pile == 1 and lost == "gone":
            path.unlink()
        elif pile == 1:
            path.write_bytes(path.read_bytes()[:-9] if lost == "cut" else b"")
        return found

    monkeypatch.setattr(parts.WritePart, "__call__", lose)
    with pytest.raises(DataError, match="one file system"):
        published(tmp_path, "parquet")
    assert left(tmp_path) == []


def test_coded_rows_that_are_lost_before_they_are_read(tmp_path, monkeypatch):
    """Rows of a text file, which waited on disk."""
    write = splits.CodedRun.write.__func__

    def lose(cls, path, *given):
        found = write(cls, path, *given)
        path.unlink()
        return found

    monkeypatch.setattr(splits.CodedRun, "write", classmethod(lose))
    with pytest.raises(SfumatoError, match="could not read or write a file: No such file"):
        published(tmp_path, "csv")
    assert left(tmp_path) == []


def test_a_folder_that_tasks_do_not_see(tmp_path, monkeypatch):
    """They run where the release's folder is not mounted."""
    write = parts.WritePart.__call__
    monkeypatch.setattr(
        parts.WritePart,
        "__call__",
        lambda self, *given: write(replace(self, folder=tmp_path / "not mounted"), *given),
    )
    with pytest.raises(SfumatoError, match="must be seen by all of them"):
        published(tmp_path, "parquet")
    assert left(tmp_path) == []


def test_coded_rows_that_are_cut(tmp_path, monkeypatch):
    """A file that ends too early is not taken for fewer rows."""
    write = splits.CodedRun.write.__func__

    def cut(cls, path, *given):
        found = write(cls, path, *given)
        path.write_bytes(path.read_bytes()[:-5])
        return found

    monkeypatch.setattr(splits.CodedRun, "write", classmethod(cut))
    with pytest.raises(SfumatoError):
        published(tmp_path, "csv")
    assert left(tmp_path) == []
