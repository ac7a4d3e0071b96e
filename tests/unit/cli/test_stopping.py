"""Ctrl-C and progress where the engine is busy: every verb that reads rows can be stopped, and shows how far it is."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress

import duckdb
import pyarrow as pa
import pytest
from typer.core import TyperGroup

from sfumato.cli import run
from sfumato.data.duckdb_connection import PatientCursor
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.sources.columnar import ArrowData
from sfumato.errors import ParameterError
from sfumato.progress import steps, watched_by

ENDLESS = ("--query", "select data.* from data, range(10000000000)")
"""More rows than anybody could wait for."""

READING_VERBS = [
    ("schema", "infer", "people.csv", "--out", "guess.toml"),
    ("schema", "check", "people.csv", "schema.toml"),
    ("inspect", "people.csv", "--schema", "schema.toml"),
    (
        "plan",
        "people.csv",
        "--schema",
        "schema.toml",
        "--method",
        "randomized-response",
        "--set",
        "retention=0.5",
    ),
    ("report", "release", "--against", "people.csv", "--out", "report.html"),
    (
        *("publish", "people.csv", "--schema", "schema.toml", "--out", "other"),
        *("--method", "noisy-marginals", "--set", "epsilon=1"),
    ),
]


IGNORING = ("/bin/sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh")
"""Starts a command as ``nohup`` does, and shells do what runs in the background of a script."""


@pytest.fixture
def start(folder, signals_by_default):
    """Starts a verb in a process of its own; whatever becomes of the test, it does not outlive it."""
    del signals_by_default
    started = []

    def begin(arguments, stderr, before=()):
        process = subprocess.Popen(
            [*before, sys.executable, "-c", "from sfumato.cli import main; main()", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("verb", READING_VERBS, ids=lambda verb: " ".join(verb[:2]))
@pytest.mark.usefixtures("release")
def test_control_c_stops_every_verb_that_reads(folder, start, verb):
    """The engine is in the middle of a query; the verb ends at once, with one sentence, and writes nothing."""
    before = sorted(folder.iterdir())
    process = start([*verb, *ENDLESS], subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=4)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert stderr.decode().splitlines()[-1] == "Interrupted."
    assert b"fault" not in stderr
    assert stdout == b""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_what_stops_the_only_reading_is_no_fault(folder, start, number):
    """Rows that are read once, into the engine: it ends by the signal that it was sent, says no fault, and writes nothing."""
    before = sorted(folder.iterdir())
    verb = ("publish", "people.csv", "--schema", "schema.toml", "--out", "other", "--seed", "1")
    method = ("--method", "anatomy", "--set", "l_value=2", "--set", "attribute=job")
    process = start([*verb, *method, *ENDLESS], subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=4)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert b"fault" not in stderr
    assert process.returncode == 128 + number, stderr
    assert stdout == b""
    assert sorted(folder.iterdir()) == before


def test_control_c_stops_what_was_started_with_it_ignored(start):
    """As the studio's cancel does; a hang-up stays ignored, as ``nohup`` has it."""
    verb = ("inspect", "people.csv", "--schema", "schema.toml", *ENDLESS)
    process = start(verb, subprocess.PIPE, before=IGNORING)
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=3)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=0.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert process.returncode == 130
    assert stderr.decode().splitlines()[-1] == "Interrupted."


def test_a_terminal_is_shown_phase_and_time_left(start):
    """On a terminal's stderr the phase, its share and the time left are shown; stdout stays clean."""
    ours, theirs = pty.openpty()
    process = start(["inspect", "people.csv", "--schema", "schema.toml", *ENDLESS], theirs)
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 60
    while b"left:" not in shown and time.monotonic() < deadline:
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=30)
    os.close(ours)
    assert b"Reading" in shown
    assert b"%" in shown
    assert stdout == b""


class Recorder:
    """Keeps what it is shown."""

    def __init__(self):
        self.shown = []
        self.finished = 0

    def show(self, phase, done, total):
        """Keep it."""
        self.shown.append((phase, done, total))

    def finish(self):
        """Count it."""
        self.finished += 1

    def silent(self):
        """Nothing to take away."""
        return nullcontext()


def test_steps_are_told_and_finished():
    """Each item is told of before it is worked on, and the end is said."""
    recorder = Recorder()
    with watched_by(recorder):
        assert list(steps("Counting", "ab")) == ["a", "b"]
    assert recorder.shown == [("Counting", 0, 2), ("Counting", 1, 2)]
    assert recorder.finished == 1


def test_a_loop_that_is_left_early_is_finished_too():
    """What stopped looking for something is no longer under way."""
    recorder = Recorder()
    with watched_by(recorder):
        for item in steps("Searching", "abc"):
            if item == "b":
                break
    assert recorder.shown == [("Searching", 0, 3), ("Searching", 1, 3)]
    assert recorder.finished == 1


@pytest.mark.parametrize("place", ["make_context", "invoke"])
def test_control_c_while_the_command_is_parsed_is_said_too(monkeypatch, capsys, place):
    """Typer by itself would end with 130 and not a word."""

    def interrupt(*_arguments, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(TyperGroup, place, interrupt)
    monkeypatch.setattr(sys, "argv", ["sfumato", "methods"])
    with pytest.raises(SystemExit) as left:
        run()
    assert left.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


@pytest.mark.parametrize("error", [SyntaxError, ImportError, OSError, ParameterError])
def test_control_c_that_a_library_makes_another_error_of_is_no_fault(monkeypatch, capsys, error):
    """Modules interrupted while they are loaded raise errors of their own; a later run without Ctrl-C tells such errors."""

    def load(*_arguments, **_named):
        if is_pressed:
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(10)
        raise error("cannot load it")

    monkeypatch.setattr(TyperGroup, "invoke", load)
    monkeypatch.setattr(sys, "argv", ["sfumato", "methods"])
    codes = []
    for is_pressed in (True, False):
        with pytest.raises(SystemExit) as left:
            run()
        codes.append(left.value.code)
        assert (capsys.readouterr().err == "Interrupted.\n") is is_pressed
    assert codes[0] == 130
    assert codes[1] in (1, 70)


def test_a_long_query_tells_how_far_it_is():
    """Shares grow from 0 to 100; nothing of the data is in what is told."""
    recorder = Recorder()
    with (
        watched_by(recorder),
        DuckDBEngine().open(ArrowData(pa.table({"x": ["secret"]}))) as (cursor, relation),
    ):
        cursor.execute(
            f"select sum(a.range * b.range) from range(20000000) a, range(20) b, {relation}"
        ).fetchone()
    shares = [done for _, done, total in recorder.shown if total is not None]
    assert shares == sorted(shares)
    assert "secret" not in str(recorder.shown)
    assert recorder.finished >= 1


def test_queries_in_other_threads_just_run():
    """Signals reach the main thread only, so there is nothing to wait for elsewhere."""
    found = []

    def work():
        with DuckDBEngine().open(ArrowData(pa.table({"x": [1, 2]}))) as (cursor, relation):
            found.extend(cursor.execute(f"select sum(x) from {relation}").fetchall())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(3,)]


def query_threads():
    """Threads that run queries now."""
    return {each for each in threading.enumerate() if each.name == "sfumato-query"}


def test_all_batches_are_read_in_one_thread_that_ends(monkeypatch):
    """Ctrl-C may be lost while thread objects are deleted: there is not one for each batch."""
    started, before = [], query_threads()
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: (started.append(self.name), start(self)))
    with DuckDBEngine().open(ArrowData(pa.table({"x": [1]}))) as (cursor, _):
        reader = cursor.sql("select range from range(100000)").to_arrow_reader(1000)
        assert sum(batch.num_rows for batch in reader) == 100_000
        assert len(query_threads() - before) == 1
    assert started == ["sfumato-query"]
    assert query_threads() <= before


def test_a_closed_cursor_is_refused():
    """Its thread has ended, and nothing waits for it."""
    with DuckDBEngine().open(ArrowData(pa.table({"x": [1]}))) as (cursor, _):
        cursor.execute("select 1")
    with pytest.raises(duckdb.Error):
        cursor.execute("select 1")


@pytest.mark.parametrize("is_begun", [False, True])
def test_control_c_while_a_query_is_submitted_leaves_none_running(monkeypatch, is_begun):
    """A thread that still runs when the interpreter ends would abort the process."""
    submit, before = PatientCursor._submit, query_threads()

    def interrupted(self, job):
        if is_begun:
            submit(self, job)
        raise KeyboardInterrupt

    with DuckDBEngine().open(ArrowData(pa.table({"x": [1]}))) as (cursor, _):
        monkeypatch.setattr(PatientCursor, "_submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cursor.execute("select sum(a.range * b.range) from range(1000000000) a, range(1000) b")
    assert query_threads() <= before
