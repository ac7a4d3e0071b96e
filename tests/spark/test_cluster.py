"""A cluster of two executors on this machine: attempts side by side, and a machine that is lost with what it held."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine_cases import digests, write_people
from on_a_cluster import KEY
from samples import SCHEMA
from sfumato import METHODS, publish, read_table
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.randomness.streams import NoiseSource

HERE = Path(__file__).parent

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("what", ["slow", "lost"])
def test_the_release_is_that_of_one_machine(tmp_path, monkeypatch, what):
    """Byte for byte, under the same key; and the key is in no file that Spark left, its log of events included."""
    monkeypatch.setattr(NoiseSource, "seeded", lambda _: NoiseSource(KEY, is_reproducible=True))
    path = write_people(tmp_path, "parquet")
    design = METHODS.make("anatomy", {"l_value": 2})
    publish(read_table(path, SCHEMA, engine=SplitEngine(LocalRunner())), design, tmp_path / "calm", seed=5)
    done = subprocess.run(
        [sys.executable, HERE.parent / "on_a_cluster.py", tmp_path, what],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path])},
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    # Without them the test would say nothing.
    if what == "slow":
        assert seen["speculative"] >= 2
    else:
        assert seen["lost"] >= 1
        assert seen["again"] >= 1
    assert seen["secrets"] == []
    assert digests(tmp_path / "out") == digests(tmp_path / "calm")
