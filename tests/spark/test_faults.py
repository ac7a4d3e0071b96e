"""Tasks that die, and are tried again: the same release, or none. And nothing secret on any disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine_cases import digests, write_people
from samples import SCHEMA, people
from sfumato import METHODS, publish, read_table
from sfumato.custody.checks import Unperturbed
from sfumato.data.distributed import spark as spark_runner
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.errors import DataError, SourceError
from sfumato.randomness.streams import NoiseSource


@pytest.fixture(autouse=True)
def workers_know_this_file(session):
    """Tasks run in other processes, which cannot import tests: what is declared here travels with them."""
    from pyspark import cloudpickle

    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


def attempt_number() -> int:
    """How often the task that this runs in was tried before."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.attemptNumber()


class Dying:
    """A worker that dies once in each of some tasks: in the middle of what it gives, or after it has written."""

    def __init__(self, worker, folder, *, kill):
        self.worker, self.folder, self.kill = worker, folder, kill

    def __call__(self, batches):
        """What the worker gives, unless this is the first attempt of a task that dies."""
        from pyspark import TaskContext

        context = TaskContext.get()
        dies = attempt_number() == 0 and context.partitionId() % 3 != 2
        for number, each in enumerate(self.worker(batches)):
            yield each
            if dies and number == 0:
                Path(self.folder, f"died-{os.getpid()}-{context.partitionId()}").touch()
                if self.kill:
                    os._exit(1)
                raise RuntimeError("MARKER: a worker broke")


@pytest.mark.parametrize("kill", [False, True], ids=["raises", "is killed"])
@pytest.mark.parametrize("method", [("randomized-response", {"retention": 0.5}), ("anatomy", {"l_value": 2})])
def test_tasks_that_die_leave_the_same_release(engine, tmp_path, monkeypatch, kill, method):
    """In the middle of dealing, and after a file took its name."""
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    path = write_people(tmp_path, "parquet")
    design = METHODS.make(*method)
    publish(read_table(path, SCHEMA, engine=SplitEngine(LocalRunner())), design, tmp_path / "calm", seed=5)
    for name in ("DealWorker", "MeetingWorker"):
        worker = getattr(spark_runner, name)
        monkeypatch.setattr(
            spark_runner, name, lambda *given, worker=worker: Dying(worker(*given), str(deaths), kill=kill)
        )
    publish(read_table(path, SCHEMA, engine=engine), design, tmp_path / "disturbed", seed=5)
    # Two of three splits or piles in every stage; without deaths the test would say nothing.
    assert len(list(deaths.iterdir())) >= 4
    assert digests(tmp_path / "disturbed") == digests(tmp_path / "calm")
    left = [each.name for each in (tmp_path / "disturbed").rglob("*") if each.name.startswith(".")]
    assert not left


def test_a_task_that_always_dies_leaves_nothing(engine, tmp_path, monkeypatch):
    """And Spark's words, which quote what broke, are not passed on."""

    class Broken:
        def __call__(self, _):
            raise RuntimeError("MARKER: a cell")
            yield

    path = write_people(tmp_path, "parquet")
    monkeypatch.setattr(spark_runner, "MeetingWorker", lambda *_: Broken())
    design = METHODS.make("randomized-response", {"retention": 0.5})
    with pytest.raises(SourceError) as refused:
        publish(read_table(path, SCHEMA, engine=engine), design, tmp_path / "out", seed=5)
    assert "MARKER" not in str(refused.value)
    assert refused.value.__context__ is None or "MARKER" not in str(refused.value.__context__)
    assert [each.name for each in tmp_path.iterdir()] == ["people.parquet"]


class Doubled:
    """A worker that does everything twice, as speculation would: the first time for nothing."""

    def __init__(self, worker):
        self.worker = worker

    def __call__(self, batches):
        """What the second time gives."""
        given = list(batches)
        list(self.worker(iter(given)))
        yield from self.worker(iter(given))


def test_tasks_done_twice_change_nothing(engine, tmp_path, monkeypatch):
    """Two attempts of a task write the same bytes, and the second takes the name from the first."""
    path = write_people(tmp_path, "parquet")
    design = METHODS.make("anatomy", {"l_value": 2})
    publish(read_table(path, SCHEMA, engine=SplitEngine(LocalRunner())), design, tmp_path / "calm", seed=5)
    for name in ("MapWorker", "DealWorker", "MeetingWorker"):
        worker = getattr(spark_runner, name)
        monkeypatch.setattr(spark_runner, name, lambda *given, worker=worker: Doubled(worker(*given)))
    publish(read_table(path, SCHEMA, engine=engine), design, tmp_path / "doubled", seed=5)
    assert digests(tmp_path / "doubled") == digests(tmp_path / "calm")
    assert len(list((tmp_path / "doubled" / "rows").iterdir())) == 3


def test_the_key_is_on_no_disk(session, engine, tmp_path, monkeypatch):
    """Not in Spark's own folder, nor in the one that tasks share: looked for after every job, before it is cleared."""
    key = b"\x07a key that can be looked for..\x07"
    assert len(key) == 32
    noise = NoiseSource(key, is_reproducible=False)
    monkeypatch.setattr(NoiseSource, "from_operating_system", lambda: noise)
    local = Path(session.sparkContext.getConf().get("spark.local.dir"))
    looked, found = [], []
    collected = spark_runner._collected

    def looking(rows):
        result = collected(rows)
        for place in (local, tmp_path):
            for each in place.rglob("*"):
                if each.is_file():
                    looked.append(each)
                    if key in each.read_bytes():
                        found.append(each.name)
        return result

    monkeypatch.setattr(spark_runner, "_collected", looking)
    engine.spark.temporary_folder = tmp_path / "shared"
    engine.spark.temporary_folder.mkdir()
    path = write_people(tmp_path, "csv")
    publish(
        read_table(path, SCHEMA, engine=engine), METHODS.make("anatomy", {"l_value": 2}), tmp_path / "out"
    )
    assert any("split-" in each.name for each in looked)
    assert not found


class Watched:
    """A worker that leaves a mark for every attempt."""

    def __init__(self, worker, folder):
        self.worker, self.folder = worker, folder

    def __call__(self, batches):
        """What the worker gives."""
        from pyspark import TaskContext

        context = TaskContext.get()
        Path(self.folder, f"{context.partitionId()}-{context.attemptNumber()}").touch()
        yield from self.worker(batches)


def test_misfits_do_not_make_spark_try_again(engine, tmp_path, monkeypatch):
    """A task says what does not fit; it does not raise, which would be tried four times and printed into logs."""
    marks = tmp_path / "marks"
    marks.mkdir()
    spoiled = people(1_200).to_pydict()
    spoiled["job"][700] = "MARKER-OF-A-CELL"
    pq.write_table(pa.table(spoiled), tmp_path / "spoiled.parquet", row_group_size=100)
    worker = spark_runner.DealWorker
    monkeypatch.setattr(spark_runner, "DealWorker", lambda *given: Watched(worker(*given), str(marks)))
    # The pass before publication would find it first.
    monkeypatch.setattr("sfumato.custody.publish.check_unperturbed", lambda *_: Unperturbed())
    design = METHODS.make("randomized-response", {"retention": 0.5})
    with pytest.raises(DataError, match="1 row"):
        publish(
            read_table(tmp_path / "spoiled.parquet", SCHEMA, engine=engine), design, tmp_path / "out", seed=1
        )
    assert sorted(each.name for each in marks.iterdir()) == ["0-0", "1-0", "2-0", "3-0"]
    assert not (tmp_path / "out").exists()
