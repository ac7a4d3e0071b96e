"""A release whose files are replaced while it is read: every answer is of one version, or a refusal."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, load_release, publish, read_table
from sfumato.data.sources import base
from sfumato.errors import ReleaseDamagedError, SfumatoError

QUESTION = "job = 'Sales' AND age < 35"
QUICK, SLOW = 25, 1_000
"""Readings, in `make test` and in `make test-slow`."""

SWAPS = textwrap.dedent("""
    import ctypes, itertools, os, random, shutil, sys, time
    folder, how = sys.argv[1:]
    os.chdir(folder)
    names = os.listdir("0")
    exchange = ctypes.CDLL(None).renameat2
    content = {(v, n): open(f"{v}/{n}", "rb").read() for v in "01" for n in names}
    print("begun", flush=True)
    for turn in itertools.count():
        version = str(turn % 2)
        # By turns without a pause, and with one that a reading may fit into.
        time.sleep(random.random() * 0.1 if turn // 20 % 2 else 0)
        if how == "folder":
            # Both names at once: whoever opens the release finds one of them.
            exchange(-100, b"release", -100, b"1", 2)
        for name in names if how != "folder" else ():
            if how == "rename":
                shutil.copy2(f"{version}/{name}", "copy")
                os.replace("copy", f"release/{name}")
            else:
                with open(f"release/{name}", "r+b") as file:
                    file.write(content[version, name])
                    file.truncate()
                stamp = os.stat(f"0/{name}")
                os.utime(f"release/{name}", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
""")
"""Another process that swaps two versions of a release, and gives files the time of the first version where it can."""


@pytest.fixture(scope="module", params=["parquet", "csv"])
def versions(request, tmp_path_factory):
    """Two releases whose files have the same names, and what each answers."""
    folder = tmp_path_factory.mktemp("versions")
    answers = []
    for place in range(2):
        table = read_table(people(400 + 100 * place, seed=place), SCHEMA)
        design = RandomizedResponse(retention=0.5 + 0.2 * place)
        publish(table, design, folder / str(place), seed=place, format=request.param)
        answers.append(answer(folder / str(place)))
    assert answers[0] != answers[1]
    return folder, answers


def answer(folder):
    """What a release says: numbers that come from its rows and from its manifest."""
    with load_release(folder) as release:
        found = release.query(QUESTION)
        return release.number_of_rows, found.estimate, found.std_error


def read_while_replaced(versions, folder, how, number):
    """Answers and refusals of so many readings while another process swaps the files."""
    given, answers = versions
    for place in "01":
        shutil.copytree(given / place, folder / place)
    shutil.copytree(given / "0", folder / "release")
    process = subprocess.Popen([sys.executable, "-c", SWAPS, str(folder), how], stdout=subprocess.PIPE)
    refusals = []
    wrong = []
    try:
        assert process.stdout.readline() == b"begun\n"
        for _ in range(number):
            try:
                found = answer(folder / "release")
            except SfumatoError as refusal:
                refusals.append(str(refusal))
            else:
                wrong += [found] if found not in answers else []
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    assert wrong == [], f"{len(wrong)} of {number}"
    assert len(refusals) < number
    assert all("\n" not in each and len(each) < 300 for each in refusals)
    return refusals


@pytest.mark.parametrize("how", ["rename", "in place", "folder"])
def test_every_answer_is_of_one_version_or_a_refusal(versions, tmp_path, how):
    """Whether files are replaced by name, written over with their old times, or the folder is another one for a moment."""
    read_while_replaced(versions, tmp_path, how, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["rename", "in place", "folder"])
def test_many_answers_are_of_one_version_or_refusals(versions, tmp_path, how):
    """The same, more of them."""
    read_while_replaced(versions, tmp_path, how, SLOW)


@pytest.mark.parametrize("how", ["replaced", "written over"])
def test_another_file_is_refused_after_opening(versions, tmp_path, how):
    """Of the same size and time, and between opening and the first question; counts that were kept are still given."""
    given, _ = versions
    shutil.copytree(given / "0", folder := tmp_path / "release")
    (rows,) = folder.glob("rows.*")
    asked, unasked = load_release(folder), load_release(folder)
    before = asked.query(QUESTION)
    other = tmp_path / "other"
    # The same bytes in another order: as long, and another checksum.
    content = rows.read_bytes()
    other.write_bytes(content[:8] + content[8:][::-1])
    stamp = rows.stat()
    if how == "replaced":
        other.replace(rows)
    else:
        rows.write_bytes(other.read_bytes())
    base.os.utime(rows, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert asked.query(QUESTION) == before
    with pytest.raises(ReleaseDamagedError, match="not the file that was published"):
        unasked.query(QUESTION)


def test_the_same_content_is_read_on(versions, tmp_path):
    """A backup that makes links, or a copy put in its place, changes the file's state and not its checksum."""
    given, answers = versions
    shutil.copytree(given / "0", folder := tmp_path / "release")
    (rows,) = folder.glob("rows.*")
    release = load_release(folder)
    (tmp_path / "link").hardlink_to(rows)
    assert (release.query(QUESTION).estimate, release.number_of_rows) == (answers[0][1], answers[0][0])
    shutil.copy(rows, tmp_path / "copy")
    (tmp_path / "copy").replace(rows)
    assert np.asarray(release.count_by(["region"]).counts).sum() == answers[0][0]


def test_a_folder_that_is_gone_is_refused(versions, tmp_path):
    """After it was opened."""
    shutil.copytree(versions[0] / "0", folder := tmp_path / "release")
    release = load_release(folder)
    shutil.rmtree(folder)
    with pytest.raises(SfumatoError):
        release.query(QUESTION)


def test_a_file_written_just_now_is_looked_at_once_its_time_can_tell(tmp_path, monkeypatch):
    """Two writings within one tick of the file system's clock have the same time."""
    waited = []
    monkeypatch.setattr(base.time, "sleep", waited.append)
    path = tmp_path / "file"
    path.write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    with pytest.raises(ReleaseDamagedError, match="changed while"):
        for _ in range(base.TICKS_WAITED):
            path.touch()
            monkeypatch.setattr(base.time, "time", lambda: path.stat().st_ctime_ns / 1e9)
            base.CheckedFile(empty).require(path)
    assert len(waited) >= base.TICKS_WAITED
    monkeypatch.undo()
    base.CheckedFile(empty).require(path)
