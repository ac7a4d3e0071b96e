"""What is half written is gone when the process is, or when the next one comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from sfumato.atomic_files import PARTIAL, HeldFolder, remove_abandoned, write_whole

WRITES = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from sfumato.atomic_files import write_whole
    with write_whole(Path("out.txt"), parameter="out") as (temporary,):
        temporary.write_text("half")
        print("begun", flush=True)
        time.sleep(60)
""")


@pytest.fixture
def half_written(tmp_path, signals_by_default):
    """A process in the middle of writing a file, by a library without a command line around it."""
    del signals_by_default
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout.readline() == b"begun\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
def test_signals_that_can_be_caught_leave_nothing(half_written, tmp_path, number):
    """Also in a program that never heard of signals; it ends with the shells' number."""
    half_written.send_signal(number)
    assert half_written.wait(timeout=30) == 128 + number
    assert not list(tmp_path.iterdir())


def test_a_killed_process_leaves_what_the_next_one_removes(half_written, tmp_path):
    """Only once it is gone: a folder that is held stays."""
    (held,) = tmp_path.iterdir()
    remove_abandoned(tmp_path, PARTIAL)
    assert held.exists()
    half_written.kill()
    half_written.wait(timeout=30)
    assert held.exists()
    with write_whole(tmp_path / "other.txt", parameter="out") as (temporary,):
        temporary.write_text("whole")
    assert [each.name for each in tmp_path.iterdir()] == ["other.txt"]


def test_what_others_named_is_left_alone(tmp_path):
    """A name that only resembles ours, a link, a file."""
    (tmp_path / f"my-{PARTIAL}notes").mkdir()
    (tmp_path / f".x.{PARTIAL}abcdefgh").write_text("a file")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f".y.{PARTIAL}abcdefgh").symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.iterdir())
    remove_abandoned(tmp_path, PARTIAL)
    assert sorted(tmp_path.iterdir()) == before


def test_folders_are_their_owners_alone(tmp_path):
    """Whatever the mask of the process is."""
    before = os.umask(0)
    try:
        held = HeldFolder(tmp_path, prefix=f".a.{PARTIAL}", kind=PARTIAL)
    finally:
        os.umask(before)
    assert held.path.stat().st_mode & 0o777 == 0o700
    held.close()
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_locks_is_written_to(tmp_path, monkeypatch):
    """Nothing is removed there, since nothing tells the living from the dead."""
    monkeypatch.setattr("sfumato.atomic_files._locked", lambda _: None)
    with write_whole(tmp_path / "a.txt", parameter="out") as (temporary,):
        temporary.write_text("whole")
    assert (tmp_path / "a.txt").read_text() == "whole"
    assert len(list(tmp_path.iterdir())) == 1


def test_signals_that_somebody_ignores_stay_ignored(tmp_path):
    """As nohup has it."""
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + WRITES.replace("60", "2")
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    assert process.wait(timeout=30) == 0
    assert (tmp_path / "out.txt").exists()
    process.communicate()
