"""A Spark session to work in: the caller's, one that is there, or one on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_VERSIONS = (17, 21)
"""Majors that Spark 4 runs on."""

ATTEMPTS = 4
"""Times that a task is tried; plain ``local[2]`` would try once."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Nothing listens beyond this machine.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.io.encryption.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "131072",
    # It quotes cells that a query fails on.
    "spark.log.level": "OFF",
}


def find_session(
    *, threads: int | None = None, memory: str | None = None, folder: Path | None = None
) -> SparkSession:
    """The session of this process, or a new one on this machine.

    Raises
    ------
    MissingExtraError
        When PySpark is not installed.
    ParameterError
        When Java or pandas is none that it works with.
    """
    require_parts()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - there is no public name for it
        # Made in another thread: with settings, this would change them in it.
        there: SparkSession = SparkSession.builder.getOrCreate()
        return there
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Workers are of the same Python, with the same packages, unless somebody says otherwise.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName("sfumato")
    settings = dict(SETTINGS)
    if memory is not None:
        settings["spark.driver.memory"] = _java_memory(memory)
    if folder is not None:
        settings["spark.local.dir"] = str(folder)
    if "MASTER" not in os.environ and "SPARK_REMOTE" not in os.environ:
        builder = builder.master(f"local[{'*' if threads is None else threads},{ATTEMPTS}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def require_parts() -> None:
    """Refuse to begin where something is missing that would fail in the middle."""
    try:
        import pyspark
    except ImportError:
        raise MissingExtraError("--engine spark", extra="spark") from None
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise ParameterError(
            f"PySpark {pyspark.__version__} is installed, and 4.1 or later is needed: pip install 'sfumato[spark]'",
            parameter="engine",
        )
    require_pandas()
    require_java()


def require_pandas() -> None:
    """Refuse a pandas that PySpark 4 does not work with; none at all is fine."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("pandas")
    except PackageNotFoundError:
        return
    if int(found.split(".")[0]) >= 3:
        raise ParameterError(
            f"pandas {found} is installed, and PySpark 4 works with pandas below 3: pip install 'pandas<3'",
            parameter="engine",
        )


def require_java() -> None:
    """Refuse to begin without a Java that Spark runs on."""
    wanted = " or ".join(map(str, JAVA_VERSIONS))
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME names {home}, where there is none" if home else "none is on the PATH"
        raise ParameterError(
            f"Spark needs Java {wanted}, and {where}. Install it, on Debian by apt install openjdk-17-jre-headless, or set "
            "JAVA_HOME.",
            parameter="engine",
        )
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    major = int(found[1]) if found else 0
    if major not in JAVA_VERSIONS:
        raise ParameterError(
            f"Spark needs Java {wanted}, and {java} is {f'Java {major}' if major else 'of no version that it says'}. Install "
            "one of them and set JAVA_HOME to it.",
            parameter="engine",
        )


def is_local(session: SparkSession) -> bool:
    """Whether all tasks run on this machine."""
    return str(session.sparkContext.master).startswith("local")


def require_privacy(session: SparkSession) -> None:
    """Refuse a cluster that would write or send what tasks are given in clear.

    Raises
    ------
    ParameterError
        Naming the settings.
    """
    conf = session.sparkContext.getConf()
    if is_local(session):
        return
    lacking = [
        name
        # Without the first, the last is without effect.
        for name in ("spark.authenticate", "spark.io.encryption.enabled", "spark.network.crypto.enabled")
        if conf.get(name, "false").lower() != "true"
    ]
    if lacking:
        raise ParameterError(
            f"the key of the noise would lie on the executors' disks or cross the network in clear. Set {' and '.join(lacking)} "
            "to true.",
            parameter="engine",
        )


def _java_memory(memory: str) -> str:
    """``1.5GB`` as Java writes it, in whole megabytes."""
    units = {"k": 2**-10, "m": 1, "g": 2**10, "t": 2**20}
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])i?b\s*", memory, re.IGNORECASE)
    if found is None:
        raise ParameterError(
            f"memory must be a number with a unit, such as 4GB or 500MB, got {memory!r}.", parameter="memory"
        )
    return f"{max(512, round(float(found[1]) * units[found[2].lower()]))}m"
