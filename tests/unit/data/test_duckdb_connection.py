"""One connection for an engine's life: shared, thread-safe, given back, never sent along."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from samples import SCHEMA, people
from sfumato import RandomizedResponse, load_release, publish, read_table
from sfumato.atomic_files import spill_folder
from sfumato.cli.app import app
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.sources.columnar import rows_of_files
from sfumato.errors import ParameterError, SourceError

pytestmark = pytest.mark.usefixtures("databases_of_their_own")


@pytest.fixture
def opened(monkeypatch):
    """The list of connections that were opened."""
    made = []
    original = duckdb.connect

    def connect(*arguments, **options):
        made.append(original(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(duckdb, "connect", connect)
    return made


def test_a_table_opens_one_connection(opened):
    """Opening takes far longer than a small pass."""
    table = read_table(people(), SCHEMA)
    for _ in range(3):
        table.count_by(["job"])
        list(table.scan())
        table.count_occupied(["sex", "job"])
    assert len(opened) == 1
    table.close()


def test_a_release_opens_one_connection(tmp_path, opened):
    """However many questions it is asked."""
    publish(read_table(people(), SCHEMA), RandomizedResponse(retention=0.5), tmp_path / "release")
    before = len(opened)
    release = load_release(tmp_path / "release")
    for question in ("job = 'Sales'", "sex = 'Male'", "job = 'Sales' AND age < 35"):
        release.query(question)
    assert len(opened) == before + 1
    release.close()


def test_what_files_say_of_themselves_is_asked_of_one_connection(tmp_path, opened):
    """Also after a file was replaced by another of the same name, and in a process that was forked."""
    path = tmp_path / "people.parquet"
    for rows in (40, 50):
        parquet.write_table(people(rows), path)
        assert rows_of_files([path]) == [rows]
    assert len(opened) <= 1
    child = os.fork()
    if child == 0:
        os._exit(0 if rows_of_files([path]) == [50] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_file_that_is_none_is_refused_and_the_next_is_read(tmp_path):
    """A refusal does not spoil the connection that is kept."""
    (tmp_path / "none.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(SourceError, match=r"none\.parquet is not a whole Parquet file"):
        rows_of_files([tmp_path / "none.parquet"])
    parquet.write_table(people(40), tmp_path / "people.parquet")
    assert rows_of_files([tmp_path / "people.parquet"]) == [40]


def spill_folders(engine: DuckDBEngine) -> Path:
    """Where the engine's connection would put what does not fit in memory."""
    with engine._connection.cursor() as cursor:
        return Path(cursor.sql("select current_setting('temp_directory')").fetchall()[0][0])


def test_closing_gives_back_and_asking_opens_anew():
    """A table that was closed can still be read."""
    with read_table(people(), SCHEMA) as table:
        first = table.count_by(["job"]).counts
        folder = spill_folders(table.engine)
        assert folder.is_dir()
    assert not folder.exists()
    assert np.array_equal(table.count_by(["job"]).counts, first)
    table.close()


def test_an_engine_that_nobody_holds_is_closed():
    """Without a word from its user."""
    engine = DuckDBEngine()
    folder = spill_folders(engine)
    del engine
    gc.collect()
    assert not folder.exists()


def test_threads_share_the_connection(opened):
    """Each pass has a cursor of its own."""
    table = read_table(people(5_000), SCHEMA)
    expected = table.count_by(["sex", "job"]).counts
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(table.count_by(["sex", "job"]).counts)) for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 8
    assert all(np.array_equal(each, expected) for each in found)
    assert len(opened) == 1
    table.close()


def test_two_passes_may_be_open_at_once():
    """A scan that is read slowly does not hinder a count."""
    table = read_table(people(400_000), SCHEMA)
    batches = table.scan()
    first = next(batches)
    assert table.count_by(["job"]).total == 400_000
    assert first.number_of_rows + sum(each.number_of_rows for each in batches) == 400_000
    table.close()


def test_a_pickled_table_and_release_leave_the_connection_behind(tmp_path):
    """What arrives opens its own."""
    table = read_table(people(), SCHEMA)
    release = publish(table, RandomizedResponse(retention=0.5), tmp_path / "release")
    asked = release.query("job = 'Sales'")
    assert pickle.loads(pickle.dumps(release)).query("job = 'Sales'") == asked
    again = pickle.loads(pickle.dumps(table))
    assert np.array_equal(again.count_by(["job"]).counts, table.count_by(["job"]).counts)
    for each in (table, release, again):
        each.close()


def test_a_forked_process_opens_its_own():
    """DuckDB's threads do not survive a fork."""
    table = read_table(people(), SCHEMA)
    expected = table.count_by(["job"]).counts.tolist()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(table.count_by(["job"]).counts.tolist()))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert queue.get() == expected
    table.close()


LEFT_OPEN = """
import sys
from sfumato import load_release
release = load_release(sys.argv[1])
release.query("job = 'Sales'")
batches = release.scan("rows", ["job"])
next(batches)
sys.kept = release
release.itself = release
"""


def test_nothing_is_said_at_exit(tmp_path):
    """Releases and half-read scans that nobody closed leave no words of the engine's on stderr."""
    publish(read_table(people(300_000), SCHEMA), RandomizedResponse(retention=0.5), tmp_path / "release")
    done = subprocess.run(
        [sys.executable, "-c", LEFT_OPEN, str(tmp_path / "release")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_an_engine_is_told_its_limits(tmp_path):
    """Threads, memory and folder arrive in DuckDB."""
    with (
        DuckDBEngine(threads=1, memory_limit="500MB", temporary_folder=tmp_path) as engine,
        engine._connection.cursor() as cursor,
    ):
        names = ("threads", "memory_limit", "temp_directory")
        said = cursor.sql(f"select {', '.join(f'current_setting({name!r})' for name in names)}").fetchall()[0]
    assert said[0] == 1
    assert said[1] == "476.8 MiB"
    assert Path(said[2]).parent == tmp_path


@pytest.mark.parametrize(
    "settings",
    [
        {"threads": 0},
        {"threads": 10**9},
        {"memory_limit": "much"},
        {"memory_limit": "-1GB"},
        {"temporary_folder": "nowhere"},
    ],
)
def test_limits_that_make_no_sense_are_refused(settings):
    """Before anything is opened."""
    with pytest.raises(ParameterError):
        DuckDBEngine(**settings)


def test_two_database_files_on_one_engine_are_told_apart(tmp_path):
    """An engine may serve several tables; a file is let go after each pass, so that others can write to it."""
    engine = DuckDBEngine()
    tables = []
    for name, rows in (("one", 3), ("two", 5)):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as connection:
            connection.register("rows", pa.table({"job": ["Sales"] * rows}))
            connection.execute("create table people as from rows")
        schema = SCHEMA.from_dict({"attributes": {"job": SCHEMA.to_dict()["attributes"]["job"]}})
        tables.append(read_table(f"{tmp_path / f'{name}.duckdb'}::people", schema, engine=engine))
    assert [each.number_of_rows for each in tables] == [3, 5]
    with duckdb.connect(str(tmp_path / "one.duckdb")) as connection:
        connection.execute("insert into people values ('Sales')")
    assert tables[0].count_by([]).total == 4
    engine.close()


def spilled(engine):
    """The files that an engine has put on disk, by their content."""
    return {each.name: each.read_bytes() for each in spill_folders(engine).rglob("*") if each.is_file()}


@pytest.mark.parametrize("is_enciphered", [True, False], ids=["enciphered", "as DuckDB would by itself"])
def test_what_exceeds_memory_is_enciphered(tmp_path, monkeypatch, is_enciphered):
    """No cell stands on the disk; the check finds them where nothing is enciphered."""
    if not is_enciphered:
        monkeypatch.setattr("sfumato.data.duckdb_connection.ENCIPHERED", {})
    with (
        DuckDBEngine(threads=1, memory_limit="60MB", temporary_folder=tmp_path) as engine,
        engine._connection.cursor() as cursor,
    ):
        cursor.execute(
            "create table rows as select 'Quetzalcoatl' || range % 100000 as name, hash(range) as h from range(4000000)"
        )
        found = spilled(engine)
        assert sum(map(len, found.values())) > 10_000_000
        assert any(b"Quetzalcoatl" in content for content in found.values()) != is_enciphered
        assert spill_folders(engine).stat().st_mode & 0o777 == 0o700
        assert {each.stat().st_mode & 0o777 for each in spill_folders(engine).iterdir()} == {0o600}
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_spilled_is_removed_by_the_next(tmp_path):
    """In the same folder for such things."""
    code = (
        "import os, signal, sys; from sfumato.data.duckdb_engine import DuckDBEngine\n"
        "engine = DuckDBEngine(temporary_folder=sys.argv[1]); cursor = engine._connection.cursor()\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    with DuckDBEngine(temporary_folder=tmp_path) as engine:
        assert spill_folders(engine).is_dir()
        assert not left.exists()


SPILLS = """
import os, signal, sys, time
from pathlib import Path
from sfumato.atomic_files import spill_folder
with spill_folder(Path(sys.argv[1])) as folder:
    (folder / "rows").write_text("private")
    print("spilled", flush=True)
    time.sleep(60)
"""
"""A process in the middle of something that exceeds memory."""


@pytest.mark.parametrize("verb", ["query", "show", "verify"])
def test_any_verb_removes_what_a_killed_process_spilled(tmp_path, verb):
    """And leaves alone what a living one holds, what another user's process may have, and what is named otherwise."""
    release = tmp_path / "release"
    publish(read_table(people(), SCHEMA), RandomizedResponse(retention=0.5), release, seed=1)
    spill = tmp_path / "spill"
    (spill / "sfumato-spill-notes").mkdir(parents=True)
    command = [sys.executable, "-c", SPILLS, str(spill)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as killed,
        subprocess.Popen(command, stdout=subprocess.PIPE) as alive,
    ):
        for each in (killed, alive):
            assert each.stdout.readline() == b"spilled\n"
        killed.kill()
        killed.wait()
        assert len(list(spill.iterdir())) == 3
        arguments = [verb, str(release), *(["sex = 'Male'"] if verb == "query" else [])]
        done = CliRunner().invoke(app, [*arguments, "--temp-dir", str(spill)])
        assert done.exit_code == 0, done.output
        assert len(list(spill.iterdir())) == 2
        assert (spill / "sfumato-spill-notes").is_dir()
        assert [each.read_text() for each in spill.rglob("rows")] == ["private"]
        alive.kill()


@pytest.mark.parametrize("place", ["duckdb.connect", "sfumato.data.duckdb_connection.make_files_private"])
def test_an_interrupt_while_a_connection_is_opened_leaves_no_folder(tmp_path, monkeypatch, place):
    """Between making the folder and opening the database nobody had seen to its end."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    with pytest.raises(KeyboardInterrupt):
        DuckDBEngine(temporary_folder=tmp_path)._connection.cursor()
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_forked_process_leaves_its_parents_folder_alone(tmp_path):
    """Though it runs what was to be done at the end."""
    with spill_folder(tmp_path) as folder:
        child = os.fork()
        if child == 0:
            weakref.finalize._exitfunc()
            os._exit(0)
        os.waitpid(child, 0)
        assert folder.is_dir()
    assert not folder.exists()
