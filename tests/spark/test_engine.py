"""Spark, held against DuckDB on this machine: counts, releases, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import engine_cases
from engine_cases import DESIGNS, digests, write_people
from samples import SCHEMA, people
from sfumato import METHODS, load_release, publish, read_table
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.data.distributed.spark import SparkEngine
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.errors import DataError, ParameterError


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_counts_are_those_of_one_machine(engine, tmp_path, form):
    """Every kind of count, and what an inspection says."""
    engine_cases.counts_are_those_of_one_machine(engine, tmp_path, form)


def test_misfits_are_told_alike(engine, tmp_path):
    """Added up over tasks."""
    engine_cases.misfits_are_told_alike(engine, tmp_path, "parquet")


def test_a_second_release_is_refused(engine, tmp_path):
    """By the ledger."""
    engine_cases.a_second_release_is_refused(engine, tmp_path)


def test_a_file_that_changes_is_refused(engine, tmp_path, monkeypatch):
    """Nothing is published."""
    engine_cases.a_file_that_changes_is_refused(engine, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", list(DESIGNS))
def test_every_file_is_that_of_the_local_runner(engine, tmp_path, name):
    """One key and one list of splits: equal checksums of every file, and equal manifests, for every method."""
    method, parameters = DESIGNS[name]
    path = write_people(tmp_path, "parquet")
    for place, each in (("there", engine), ("here", SplitEngine(LocalRunner()))):
        publish(
            read_table(path, SCHEMA, engine=each),
            METHODS.make(method, parameters),
            tmp_path / place,
            seed=3,
            accept=("singled-out",),
        )
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
    manifests = [(tmp_path / each / "datapackage.json").read_bytes() for each in ("there", "here")]
    assert manifests[0] == manifests[1]


def test_a_data_frame_is_published_in_its_session(session, tmp_path):
    """Given as it is, also after a join that may give its rows in another order every time."""
    frame = session.createDataFrame(people(900).to_pandas())
    known = session.createDataFrame([("North",), ("South",), ("East",)], ["region"])
    joined = frame.join(known, "region", "left").repartition(3)
    table = read_table(joined, SCHEMA)
    # By the protocol of Arrow, which frames speak too, all rows would come here.
    assert isinstance(table.engine, SparkEngine)
    assert table.number_of_rows == 900
    assert np.array_equal(
        table.count_by(["job"]).counts, read_table(people(900), SCHEMA).count_by(["job"]).counts
    )
    publish(table, METHODS.make("anatomy", {"l_value": 2}), tmp_path / "out", seed=1)
    table.close()
    # Anatomy publishes values and everything else as they are.
    released = load_release(tmp_path / "out")
    assert np.array_equal(
        released.counts("job").values, read_table(people(900), SCHEMA).count_by(["job"]).counts
    )


def test_misfits_of_a_data_frame_are_told_without_cells(session, tmp_path):
    """Numbers of rows over all partitions, in DuckDB's words."""
    spoiled = people(600).to_pydict()
    for place in (3, 300, 599):
        spoiled["job"][place] = "MARKER-OF-A-CELL"
    import pyarrow as pa

    table = pa.table(spoiled)
    sentences = []
    for data, engine in (
        (session.createDataFrame(table.to_pandas()).repartition(3), None),
        (table, DuckDBEngine()),
    ):
        with pytest.raises(DataError) as refused:
            design = METHODS.make("randomized-response", {"retention": 0.5})
            publish(read_table(data, SCHEMA, engine=engine), design, tmp_path / "out", seed=1)
        sentences.append(str(refused.value))
    assert sentences[0] == sentences[1]
    assert "MARKER" not in sentences[0]


def test_a_table_of_the_catalog_is_read_by_its_name(session, engine, tmp_path):
    """And one that is not there is said not to be."""
    session.createDataFrame(people(300).to_pandas()).createOrReplaceTempView("register")
    assert read_table("spark:register", SCHEMA, engine=engine).number_of_rows == 300
    with pytest.raises(DataError, match="catalog has no table"):
        read_table("spark:nothing_here", SCHEMA, engine=engine)


def test_a_frame_without_an_engine_there_is_refused(session):
    """DuckDB cannot read what is in Spark."""
    frame = session.createDataFrame(people(50).to_pandas())
    with pytest.raises(ParameterError, match="--engine spark"):
        read_table(frame, SCHEMA, engine=DuckDBEngine()).count_by(["job"])


def test_a_release_is_asked_on_spark(engine, tmp_path):
    """The same answers as by DuckDB."""
    path = write_people(tmp_path, "parquet")
    design = METHODS.make("randomized-response", {"retention": 0.5})
    publish(read_table(path, SCHEMA, engine=engine), design, tmp_path / "out", seed=2)
    there, here = load_release(tmp_path / "out", engine=engine), load_release(tmp_path / "out")
    assert np.array_equal(there.counts(["job", "sex"]).values, here.counts(["job", "sex"]).values)
