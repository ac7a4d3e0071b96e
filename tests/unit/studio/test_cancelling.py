"""Cancel, at every moment: what is said is what is on the disk, and only the work that the button showed is stopped."""

from __future__ import annotations

import asyncio
import io
import json
import shutil

import pytest
from pyarrow import csv

import samples
from sfumato.cli.worker import Orders
from sfumato.studio.processes import COMMAND_LINE, Job, Jobs, ProcessEndedError, Worker
from unit.studio.test_jobs import PUBLISH, content


@pytest.fixture
def folder(tmp_path):
    """Rows, schema and design, ready to be published."""
    csv.write_csv(samples.people(20_000), tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(samples.SCHEMA.to_toml(), encoding="utf-8")
    (tmp_path / "design.toml").write_text('method = "randomized-response"\nretention = 0.5\n')
    return tmp_path


def publishing() -> Job:
    """The work of the tests below."""
    return Job("Publishing", PUBLISH, "/publish", makes="release")


def test_an_order_that_is_taken_back_before_it_began_is_not_carried_out():
    """Its line and the end of the input may arrive together, while the process is still loading."""
    orders = Orders(io.StringIO('{"number": 1}\n'))
    orders._thread.join()
    assert list(orders) == []


def test_work_that_is_cancelled_before_its_process_is_there_never_starts(folder):
    """The very moment after the button was pressed."""
    before = content(folder)

    async def run():
        jobs, finished = Jobs(folder), []
        job = publishing()
        jobs.start(job, finished.append)
        await jobs.cancel(job.number)
        await asyncio.wait_for(jobs._task, 30)
        assert jobs._worker._process is None
        return job, finished

    job, finished = asyncio.run(run())
    assert job.state == "cancelled"
    assert not finished
    assert content(folder) == before


@pytest.mark.parametrize("moment", [0.02, 0.4, "Publishing", "told"])
def test_what_is_said_of_cancelled_work_is_what_is_on_the_disk(folder, moment):
    """While its process starts, while it loads, while it writes, and when it is all but done."""
    before = content(folder)

    async def run():
        jobs, finished = Jobs(folder), []
        job = publishing()
        jobs.start(job, finished.append)
        if isinstance(moment, float):
            await asyncio.sleep(moment)
        elif moment == "told":
            while not (folder / "release").exists():  # noqa: ASYNC110 - the disk tells nobody
                await asyncio.sleep(0.002)
        else:
            while job.phase != moment:  # noqa: ASYNC110 - what is told is looked at, as pages do
                await asyncio.sleep(0.002)
        await jobs.cancel(job.number)
        await jobs.close()
        return job, finished

    job, finished = asyncio.run(run())
    if job.state == "cancelled" and not job.left:
        assert content(folder) == before
        assert not finished
    else:
        assert (folder / "release" / "datapackage.json").is_file()
        assert (job.state == "done") == bool(finished)
    if moment == "told":
        assert (folder / "release").exists()


def test_the_button_stops_the_work_that_it_showed(tmp_path):
    """Not what somebody began since, in another tab."""

    async def run():
        jobs = Jobs(tmp_path)
        first = Job("Saying the version", ("--version",), "/")
        jobs.start(first, lambda _: None)
        await jobs._task
        second = Job("Making a demonstration", ("demo", "--out", "demo"), "/", makes="demo")
        jobs.start(second, lambda _: None)
        assert first.number != second.number
        await jobs.cancel(first.number)
        assert second.state == "running"
        assert not second.is_stopping
        await jobs.cancel(second.number)
        await jobs.close()
        return second

    assert asyncio.run(run()).state == "cancelled"


def test_the_page_sends_the_number_of_the_work_that_it_shows(custodian):
    """By the plain routes: an older number stops nothing, the page's own does."""
    custodian.post("/compare", sensitive="job", repeats="3", queries="10")
    number = custodian.studio.jobs.job.number
    page = custodian.get("/compare")
    assert f'name="number" value="{number}"' in page
    custodian.post("/job/cancel", number=str(number - 1))
    assert custodian.studio.jobs.is_running
    custodian.post("/job/cancel")
    assert custodian.studio.jobs.is_running
    custodian.post("/job/cancel", number=str(number))
    assert custodian.studio.jobs.job.state == "cancelled"
    assert "was cancelled" in custodian.get("/compare")


def test_a_folder_that_is_gone_is_told_and_nothing_waits_for_ever(tmp_path):
    """No process can be started in it."""
    folder = tmp_path / "gone"
    folder.mkdir()

    async def run():
        jobs = Jobs(folder)
        shutil.rmtree(folder)
        job = Job("Saying the version", ("--version",), "/")
        jobs.start(job, lambda _: None)
        await asyncio.wait_for(jobs._task, 30)
        return job

    job = asyncio.run(run())
    assert job.state == "refused"
    assert job.outcome.sentences


def test_an_answer_that_is_longer_than_any_line_ends_the_process_and_not_the_wait(tmp_path, monkeypatch):
    """Whoever waits is told; the next order is answered by another process."""
    monkeypatch.setattr("sfumato.studio.processes.LONGEST_LINE", 400)

    async def run():
        worker = Worker(COMMAND_LINE, tmp_path)
        with pytest.raises(ProcessEndedError):
            await asyncio.wait_for(worker.carry_out({"arguments": ["methods", "--json"]}), 30)
        told = await asyncio.wait_for(worker.carry_out({"arguments": ["--version"]}), 30)
        await worker.close()
        return json.dumps(told)

    assert "sfumato" in asyncio.run(run())
