"""Long work: progress, cancel, and the same release as by hand."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow import csv

import samples
from sfumato.studio.processes import (
    COMMAND_LINE,
    PLANNER,
    SECONDS_TO_END,
    Job,
    Jobs,
    ProcessEndedError,
    Worker,
)

MANY = 300_000
"""Rows whose publication takes long enough to be cancelled in the middle."""


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """More rows than are published at once."""
    folder = tmp_path_factory.mktemp("many")
    csv.write_csv(samples.people(MANY), folder / "people.csv")
    (folder / "schema.toml").write_text(samples.SCHEMA.to_toml(), encoding="utf-8")
    (folder / "design.toml").write_text('method = "randomized-response"\nretention = 0.5\n', encoding="utf-8")
    return folder


PUBLISH = (
    "publish",
    "people.csv",
    "--schema",
    "schema.toml",
    "--design",
    "design.toml",
    "--out",
    "release",
    "--json",
)


def content(folder):
    """Everything in a folder, hidden or not."""
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


def test_work_is_watched_and_cancelled_and_leaves_nothing(many):
    """Progress comes in; closing the input ends the process, and the folder is as it was."""
    before = content(many)

    async def run():
        jobs = Jobs(many)
        job = Job("Publishing", PUBLISH, "/publish", MANY)
        assert jobs.start(job, lambda _: None)
        assert not jobs.start(Job("Publishing", PUBLISH, "/publish"), lambda _: None)
        seen = set()
        while job.state == "running" and not (job.phase == "Publishing" and job.done):
            seen.add(job.phase)
            await asyncio.sleep(0.01)
        assert job.state == "running", job.outcome
        assert 0 < job.share <= 1
        began = time.monotonic()
        await jobs.cancel(job.number)
        await jobs.close()
        assert job.state == "cancelled"
        return time.monotonic() - began

    assert asyncio.run(run()) < SECONDS_TO_END
    assert content(many) == before


def test_a_result_that_cannot_be_kept_is_told(tmp_path):
    """Else every page would show the work as under way for ever."""

    async def run():
        jobs = Jobs(tmp_path)
        job = Job("Saying the version", ("--version",), "/")
        jobs.start(job, lambda outcome: outcome.data)
        await jobs._task
        return job

    job = asyncio.run(run())
    assert job.state == "refused"
    assert "could not be kept" in job.outcome.sentences[0]


def test_a_server_that_is_killed_leaves_no_work_behind(many):
    """Its processes find their input closed; what they had half written is gone with them."""
    before = content(many)
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from sfumato.studio.processes import Job, Jobs\n"
        "async def run():\n"
        "    jobs = Jobs(Path('.'))\n"
        f"    job = Job('Publishing', {PUBLISH!r}, '/publish')\n"
        "    jobs.start(job, lambda _: None)\n"
        "    while not job.done: await asyncio.sleep(0.01)\n"
        "    print(jobs._worker._process.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(run())\n"
    )
    server = subprocess.Popen([sys.executable, "-c", script], cwd=many, stdout=subprocess.PIPE, text=True)
    worker = int(server.stdout.readline())
    server.kill()
    server.communicate()
    deadline = time.monotonic() + 30
    while _is_alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_alive(worker)
    assert content(many) == before


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"


def test_work_with_processes_of_its_own_is_done_and_cancelled(many):
    """A comparison forks workers, which must neither wait for the thread that reads orders nor outlive a cancel."""
    schema = (
        "compare",
        "small.csv",
        "--schema",
        "schema.toml",
        "--designs",
        "designs.toml",
        "--sensitive",
        "job",
    )
    csv.write_csv(samples.people(200), many / "small.csv")
    (many / "designs.toml").write_text('[[design]]\nmethod = "distribution-resampling"\n')
    numbers = ("--repeats", "3", "--queries", "10", "--workers", "2", "--json")

    async def run():
        jobs = Jobs(many)
        job = Job("Comparing", (*schema, *numbers, "--out", "comparison"), "/compare")
        jobs.start(job, lambda _: None)
        await jobs._task
        assert job.state == "done", job.outcome
        job = Job("Comparing", (*schema, *numbers, "--out", "another"), "/compare")
        jobs.start(job, lambda _: None)
        while "designs" not in job.phase:  # noqa: ASYNC110 - what is told is looked at, as pages do
            await asyncio.sleep(0.01)
        group = jobs._worker._process.pid
        await jobs.cancel(job.number)
        await jobs.close()
        return group

    group = asyncio.run(run())
    # Killed processes are gone once somebody has taken notice of it.
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.killpg(group, 0)
            time.sleep(0.05)
    assert not (many / "another" / "comparison.json").exists()


def test_a_worker_that_is_killed_is_no_fault(tmp_path):
    """Whoever waits is told, and the next order starts another."""

    async def run():
        worker = Worker(COMMAND_LINE, tmp_path)
        assert (await worker.carry_out({"arguments": ["--version"]}))["result"].startswith("sfumato ")
        waiting = asyncio.create_task(worker.carry_out({"arguments": ["demo", "--out", "demo"]}))
        await asyncio.sleep(0.1)
        os.kill(worker._process.pid, signal.SIGKILL)
        with pytest.raises(ProcessEndedError):
            await waiting
        assert (await worker.carry_out({"arguments": ["nonsense"]}))["exit"] == 2
        await worker.close()

    asyncio.run(run())


def test_the_planner_refuses_in_sentences_and_never_quotes_a_cell(tmp_path):
    """Rows that do not fit, and an order that is a fault of ours."""
    (tmp_path / "people.csv").write_text("job\nSECRETCELL\n")
    schema = {"attributes": {"job": {"role": "sensitive", "categories": ["a", "b"]}}}

    async def run():
        worker = Worker(PLANNER, tmp_path)
        order = {"do": "count", "data": "people.csv", "options": {}, "schema": schema, "names": ["job"]}
        refused = await worker.carry_out(order)
        fault = await worker.carry_out({**order, "do": "SECRETCELL"})
        await worker.close()
        return refused, fault

    refused, fault = asyncio.run(run())
    assert refused["exit"] == 1
    assert "job" in refused["said"]
    assert fault["exit"] == 70
    assert "SECRETCELL" not in str((refused, fault))


def test_the_same_design_by_page_and_by_hand_gives_the_same_manifest(custodian, people, tmp_path):
    """With a seed: every byte of it, and of the published files."""
    custodian.post("/method/randomized-response", retention="0.5")
    custodian.post("/publish", name="seeded", seed="7")
    custodian.wait()
    made = custodian.project.root / "releases" / "seeded"
    command = [
        sys.executable,
        "-c",
        "from sfumato.cli import main; main()",
        "publish",
        str(people),
        "--seed",
        "7",
    ]
    schema, design = (str(custodian.project.root / name) for name in ("schema.toml", "design.toml"))
    subprocess.run(
        [*command, "--schema", schema, "--design", design, "--again", "--out", str(tmp_path / "seeded")],
        check=True,
        capture_output=True,
    )
    names = sorted(each.name for each in made.iterdir())
    assert "datapackage.json" in names
    for name in names:
        assert (made / name).read_bytes() == (tmp_path / "seeded" / name).read_bytes(), name
