"""What must be there before Spark is started: each absence in one sentence with its remedy."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from sfumato.data.distributed import spark as spark_session
from sfumato.data.distributed.spark import require_java, require_pandas, require_parts, require_privacy
from sfumato.errors import MissingExtraError, ParameterError


def java_that_says(folder, words):
    """A folder with a Java that only states its version."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\n")
    program.chmod(0o755)
    return str(folder)


def test_without_pyspark_the_extra_is_named(monkeypatch):
    """As pip takes it."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[spark\]'"):
        require_parts()


def test_an_old_pyspark_is_refused(monkeypatch):
    """The major that has what is called."""
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(__version__="3.5.1"))
    with pytest.raises(ParameterError, match=r"PySpark 3\.5\.1"):
        require_parts()


def test_without_java_it_is_said_what_to_install(monkeypatch):
    """On the PATH, or where JAVA_HOME says."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ParameterError, match="Java 17 or 21, and none is on the PATH"):
        require_java()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(ParameterError, match="JAVA_HOME names /nowhere"):
        require_java()


@pytest.mark.parametrize(("words", "said"), [('openjdk version "11.0.2"', "Java 11"), ("?", "no version")])
def test_a_java_of_another_version_is_refused(monkeypatch, tmp_path, words, said):
    """With the version that it has."""
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, words))
    with pytest.raises(ParameterError, match=said):
        require_java()


@pytest.mark.parametrize("words", ['openjdk version "17.0.15"', 'java version "21.0.1"'])
def test_a_java_that_fits_is_accepted(monkeypatch, tmp_path, words):
    """Either of them."""
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, words))
    require_java()


def test_a_pandas_that_pyspark_does_not_work_with_is_refused(monkeypatch):
    """With what to install."""
    monkeypatch.setattr("importlib.metadata.version", lambda _: "3.0.1")
    with pytest.raises(ParameterError, match="pandas<3"):
        require_pandas()


def session_of(master, **settings):
    """A session with a master and settings, and nothing else."""
    context = SimpleNamespace(master=master, getConf=lambda: settings)
    return SimpleNamespace(sparkContext=context)


def test_a_cluster_that_writes_in_clear_is_refused():
    """What it lacks is named; on this machine alone nothing is required."""
    on = {
        "spark.authenticate": "true",
        "spark.io.encryption.enabled": "true",
        "spark.network.crypto.enabled": "true",
    }
    with pytest.raises(ParameterError, match=f"Set {' and '.join(on)} to true"):
        require_privacy(session_of("spark://somewhere:7077"))
    for name in on:
        with pytest.raises(ParameterError, match=f"Set {name} to true"):
            require_privacy(session_of("yarn", **{**on, name: "false"}))
    require_privacy(session_of("yarn", **on))
    require_privacy(session_of("local[2,4]"))


@pytest.mark.parametrize(("said", "java"), [("1GB", "1024m"), ("1.5 gb", "1536m"), ("300MB", "512m")])
def test_memory_is_said_as_java_takes_it(said, java):
    """Never less than Spark starts with."""
    assert spark_session._java_memory(said) == java
    with pytest.raises(ParameterError, match="unit"):
        spark_session._java_memory("lots")
