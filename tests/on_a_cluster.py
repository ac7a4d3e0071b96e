"""Publishes on a cluster of two workers and says what happened: ``python on_a_cluster.py FOLDER slow|lost``.

A process of its own, since a process has one Spark at a time. ``slow``: the first attempt of a task in every stage sleeps,
until Spark starts a second one elsewhere. ``lost``: a machine is lost, with all that its tasks had dealt, when rows meet.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

SLEEP = 60.0
"""Seconds that a slow attempt takes unless another one makes it superfluous."""

KEY = b"\x07a key that can be looked for..\x07"


class Slow:
    """A worker whose first attempt sleeps in one task."""

    def __init__(self, worker):
        self.worker = worker

    def __call__(self, batches):
        """What the worker gives, late."""
        from pyspark import TaskContext

        context = TaskContext.get()
        if context.partitionId() == 0 and context.attemptNumber() == 0:
            time.sleep(SLEEP)
        yield from self.worker(batches)


class Lost:
    """A worker that takes its machine with it, once."""

    def __init__(self, worker, mark):
        self.worker, self.mark = worker, mark

    def __call__(self, batches):
        """What the worker gives; the first one of all ends the Java that it runs under."""
        given = list(batches)
        try:
            Path(self.mark).touch(exist_ok=False)
        except FileExistsError:
            yield from self.worker(iter(given))
            return
        daemon = os.getppid()
        java = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
        os.kill(java, signal.SIGKILL)
        time.sleep(SLEEP)


@contextmanager
def cluster(folder, settings):
    """A master and two workers under names of their own: Spark starts no second attempt on the machine of the first."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    properties = folder / "spark.conf"
    properties.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    properties.chmod(0o600)
    start = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    deploy, address = "org.apache.spark.deploy", f"spark://127.0.0.1:{port}"
    own = ["--webui-port", "0", "--properties-file", str(properties)]
    commands = [[f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), *own]]
    for number in (2, 3):
        place = ["--host", f"127.0.0.{number}", "--work-dir", str(folder / "work")]
        commands.append([f"{deploy}.worker.Worker", "-c", "1", "-m", "1g", *place, *own, address])
    processes = []
    try:
        for command in commands:
            name = command[0].rsplit(".", 1)[1]
            # Each machine is called by the name that it listens to.
            environment = {**os.environ, "SPARK_LOCAL_IP": command[command.index("--host") + 1]}
            log = (folder / f"{name}-{len(processes)}.log").open("wb")
            processes.append(
                subprocess.Popen([*start, *command], env=environment, stdout=log, stderr=subprocess.STDOUT)
            )
        yield address
    finally:
        for each in processes:
            each.terminate()
        for each in processes:
            each.wait(timeout=60)


def settings_in(folder):
    """Encrypted, speculating, with a log of what is done."""
    os.environ |= {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        # What tasks import, which a cluster would have installed.
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    for name in ("local", "events", "shared", "work"):
        (folder / name).mkdir()
    return {
        "spark.ui.enabled": "false",
        "spark.io.encryption.enabled": "true",
        "spark.network.crypto.enabled": "true",
        "spark.authenticate": "true",
        "spark.authenticate.secret": os.urandom(16).hex(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": f"file://{folder / 'events'}",
        "spark.executor.memory": "512m",
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.minTaskRuntime": "500ms",
    }


def session_of(address, settings):
    """A session whose driver is the third machine."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(address)
    own = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for name, value in {**settings, **own}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(folder, what):
    """Publish, and print what was seen."""
    settings = settings_in(folder)
    with cluster(folder, settings) as address:
        publish_there(folder, what, session_of(address, settings))
    events = b"".join(each.read_bytes() for each in (folder / "events").iterdir())
    needles = (KEY, KEY.hex().encode(), base64.b64encode(KEY))
    kept = [each for name in ("local", "work", "events", "shared") for each in (folder / name).rglob("*")]
    found = {
        "speculative": events.count(b'"Speculative":true'),
        "lost": events.count(b"SparkListenerExecutorRemoved"),
        "again": events.count(b"FetchFailed"),
        "secrets": [
            each.name
            for each in kept
            if each.is_file() and any(needle in each.read_bytes() for needle in needles)
        ],
    }
    sys.stdout.write(json.dumps(found) + "\n")


def publish_there(folder, what, session):
    """Publish under a known key, with workers that sleep, or die."""
    from samples import SCHEMA
    from sfumato import METHODS, publish, read_table
    from sfumato.data.distributed import spark as spark_runner
    from sfumato.data.distributed import splits
    from sfumato.data.distributed import splits as resting
    from sfumato.data.distributed.spark import SparkEngine
    from sfumato.randomness.streams import NoiseSource
    from sfumato.release import distributed as parts

    for module in (splits, resting):
        module.ROWS_PER_SPLIT = 300
    parts.ROWS_PER_FILE = 400
    mark = str(folder / "mark")
    broken = {"slow": Slow, "lost": lambda worker: Lost(worker, mark)}[what]
    for name in {"slow": ("DealWorker", "MeetingWorker"), "lost": ("MeetingWorker",)}[what]:
        plain = getattr(spark_runner, name)
        setattr(spark_runner, name, lambda *given, plain=plain: broken(plain(*given)))
    noise = NoiseSource(KEY, is_reproducible=True)
    NoiseSource.seeded = lambda _: noise
    engine = SparkEngine(session, temporary_folder=folder / "shared")
    design = METHODS.make("anatomy", {"l_value": 2})
    publish(read_table(folder / "people.parquet", SCHEMA, engine=engine), design, folder / "out", seed=5)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
