"""``sfumato compare``: the table, the files, the commands."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import time

import pytest

from sfumato import load_release, read_table
from sfumato.compare.grid import candidate, default_candidates
from sfumato.compare.run import THREADS
from sfumato.custody.publish import in_memory
from sfumato.methods.base import METHODS

DESIGNS = """
[[design]]
method = "randomized-response"
retention = 0.7

[[design]]
method = "distribution-resampling"
"""

ARGUMENTS = (
    "compare",
    "people.csv",
    "--schema",
    "schema.toml",
    "--designs",
    "designs.toml",
    "--queries",
    "12",
)
SMALL = (*ARGUMENTS, "--repeats", "3", "--workers", "1", "--seed", "1", "--out", "out")


def test_designs_are_shown_with_the_command_that_publishes_them(run, folder):
    """Terminal, JSON and Parquet; run again nothing is made anew and the same is said."""
    (folder / "designs.toml").write_text(DESIGNS, encoding="utf-8")
    outcome = run(*SMALL, "--cheapest", "0.9")
    assert outcome.exit_code == 0, outcome.stderr
    assert "the table itself" in outcome.stdout
    command = (
        "sfumato publish people.csv --schema schema.toml --method randomized-response --set retention=0.7"
    )
    assert command in outcome.stdout
    assert "Smallest error with a risk of at most 0.9" in outcome.stdout
    assert "not for publication" in outcome.stderr
    written = json.loads((folder / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert [each["design"] for each in written["designs"]] == [
        "the table itself",
        "randomized-response retention=0.7",
        "distribution-resampling",
    ]
    assert (folder / "out" / "comparison.parquet").is_file()
    page = (folder / "out" / "comparison.html").read_text(encoding="utf-8")
    assert command in page.replace("&#39;", "'")
    assert "a better attacker would find more" in page
    assert "distribution-resampling" in page
    again = run(*SMALL, "--cheapest", "0.9")
    assert again.stdout == outcome.stdout
    told = json.loads(run(*SMALL, "--json").stdout)
    assert told["designs"] == written["designs"]


def test_a_designs_file_with_faults_is_refused_before_anything_is_made(run, folder):
    """All faults in one sentence, exit 1, no folder."""
    (folder / "designs.toml").write_text('[[design]]\nmethod = "none"\n', encoding="utf-8")
    outcome = run(*SMALL)
    assert outcome.exit_code == 1
    assert "line 1:" in outcome.stderr
    assert not (folder / "out").exists()


def test_every_fault_of_every_design_is_named(run, folder):
    """Unknown methods, all unknown parameters of a design and values out of bounds, each with its line."""
    (folder / "designs.toml").write_text(
        '[[design]]\nmethod = "anatomyy"\n\n[[design]]\nmethod = "anatomy"\nl = 3\nm = 4\npartition = "none"\n',
        encoding="utf-8",
    )
    outcome = run(*SMALL)
    assert outcome.exit_code == 1
    for told in (
        "line 1: there is no method",
        "line 4:",
        "'l'",
        "'m'",
        "l_value is required",
        "partition should be",
    ):
        assert told in outcome.stderr


@pytest.mark.parametrize("risk", ["-1", "0", "nan", "1.5"])
def test_a_cheapest_design_below_no_risk_is_refused_before_anything_is_measured(run, folder, risk):
    """Minutes would pass before it is said that nothing keeps it."""
    (folder / "designs.toml").write_text(DESIGNS, encoding="utf-8")
    outcome = run(*SMALL, f"--cheapest={risk}")
    assert outcome.exit_code == 1
    assert "above 0 and at most 1" in outcome.stderr
    assert not (folder / "out").exists()


def test_every_command_publishes_the_design(run, folder):
    """Each command, run as it is printed, gives a release of that design: names with spaces, lists, parameters by attribute."""
    table = in_memory(read_table(folder / "people.csv", folder / "schema.toml"))
    (folder / "people.csv").rename(folder / "people and rows.csv")
    named = (
        candidate("randomized-response", {"retention": {"job": 0.5}}),
        candidate("randomized-response", {"attributes": ["job", "sex"], "epsilon": 2.0}),
        candidate("noisy-marginals", {"epsilon": 1.0, "marginals": [["sex", "job"], ["age"]]}),
    )
    every = {each.method: each for each in default_candidates(table)[1:]}
    assert set(every) == set(METHODS.members)
    for number, each in enumerate((*every.values(), *named)):
        words = shlex.split(each.command("people and rows.csv", "schema.toml"))
        assert words[0] == "sfumato"
        assert words[-1] == "release"
        done = run(*words[1:-1], f"release {number}", "--accept", "singled-out", "--again", "--seed", "1")
        assert done.exit_code == 0, done.stderr
        stored = dict(load_release(folder / f"release {number}").manifest.method)
        assert METHODS.make(stored.pop("method"), stored) == each.design()


def _killed_and_gone_on_with(folder, kills, workers, seed):
    """The files of a comparison that was killed so often at random moments, and of one that was left alone."""
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", *COMPARED, "--workers", workers]

    def start(out):
        return subprocess.Popen(
            [*command, "--out", out], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    assert start("alone").wait(timeout=300) == 0
    generator = random.Random(seed)
    results = folder / "killed" / "results"
    for place in range(kills):
        process = start("killed")
        # A little further each time, so that every kill strikes a run that has something left to do.
        while process.poll() is None and len([*results.glob("*.json")]) <= place:
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.3))
        process.kill()
        process.wait()
        for each in results.glob("*.json"):
            json.loads(each.read_text(encoding="utf-8"))
    assert start("killed").wait(timeout=300) == 0
    return [
        {
            name: (folder / out / name).read_bytes()
            for name in ("comparison.json", "comparison.parquet", "comparison.html")
        }
        for out in ("alone", "killed")
    ]


def test_one_worker_is_a_process_of_one_thread(folder):
    """As two are: numerical libraries read how many threads they may have when they are loaded, which the first process has done."""
    (folder / "designs.toml").write_text(DESIGNS, encoding="utf-8")
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", *SMALL]
    free = {name: value for name, value in os.environ.items() if name not in THREADS}
    started = subprocess.Popen(
        command, cwd=folder, env=free, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    limits = set()
    while started.poll() is None:
        for each in pathlib.Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split():
            with contextlib.suppress(OSError):
                if "spawn_main" in pathlib.Path(f"/proc/{each}/cmdline").read_text():
                    limits.add(_stated_threads(pathlib.Path(f"/proc/{each}/environ").read_bytes()))
        time.sleep(0.05)
    assert started.returncode == 0
    assert limits == {(b"1",) * len(THREADS)}


def _stated_threads(environment):
    """What a process was told about threads when it was started."""
    told = dict(each.split(b"=", 1) for each in environment.split(b"\0") if b"=" in each)
    return tuple(told.get(name.encode()) for name in THREADS)


COMPARED = (
    *("compare", "people.csv", "--schema", "schema.toml", "--designs", "designs.toml"),
    *("--sensitive", "job", "--queries", "12", "--repeats", "3", "--seed", "1"),
)


@pytest.mark.parametrize(
    ("kills", "workers", "seed"), [(2, "1", 1), pytest.param(10, "2", 2, marks=pytest.mark.slow)]
)
def test_a_comparison_killed_at_random_moments_gives_the_same_table(folder, kills, workers, seed):
    """SIGKILL, again and again: nothing is half-written, no worker stays, and the files are the same byte by byte."""
    designs = "".join(
        f'[[design]]\nmethod = "randomized-response"\nretention = {retention}\n\n'
        for retention in ((0.9, 0.7, 0.5, 0.3) if kills > 2 else (0.5,))
    )
    (folder / "designs.toml").write_text(designs, encoding="utf-8")
    alone, killed = _killed_and_gone_on_with(folder, kills, workers, seed)
    assert alone == killed
    assert not _processes_in(folder)


def _processes_in(folder):
    """Processes whose working folder it is; workers notice within moments that whoever started them is gone."""
    for _ in range(50):
        found = []
        for each in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (each / "cwd").resolve() == folder.resolve() and int(each.name) != os.getpid():
                    found.append(each.name)
        if not found:
            return []
        time.sleep(0.1)
    return found


def test_what_is_computed_from_private_rows_is_its_owners_alone(run, folder):
    """Files of compare, schema infer and calibrate with DATA under the most open umask; a design by formula is not private."""
    before = os.umask(0)
    try:
        (folder / "designs.toml").write_text(DESIGNS)
        (folder / "out").mkdir(mode=0o755)
        assert run(*SMALL).exit_code == 0
        assert run("schema", "infer", "people.csv", "--out", "inferred.toml").exit_code == 0
        goal = ("--schema", "schema.toml", "--goal", "epsilon=1", "--out")
        assert run("calibrate", "people.csv", *goal, "private.toml").exit_code == 0
        assert run("calibrate", *goal, "public.toml").exit_code == 0
    finally:
        os.umask(before)
    private = [each for each in (folder / "out").rglob("*") if each.is_file()]
    assert {"comparison.json", "comparison.parquet", "comparison.html", "run.json"} <= {
        each.name for each in private
    }
    for each in [*private, folder / "inferred.toml", folder / "private.toml"]:
        assert each.stat().st_mode & 0o077 == 0, each
    assert (folder / "public.toml").stat().st_mode & 0o044
