"""Data frames that are not ours: whatever their names, queries and order, the right rows or a sentence without them."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import METHODS, load_release, publish, read_table
from sfumato.custody.ledger import Ledger
from sfumato.data.distributed.spark import SparkEngine, find_session
from sfumato.errors import DataError, SourceError
from sfumato.schema import Schema


def schema_of(**bins):
    """Numbers in bins."""
    text = "\n".join(
        f'[attributes."{name}"]\nrole = "sensitive"\nbins = {edges}' for name, edges in bins.items()
    )
    return Schema.from_toml(text)


def test_one_frame_under_two_schemas_is_coded_twice(session, engine):
    """Codes of the one mean other bins in the other: in one engine, under the same names."""
    frame = session.range(90).selectExpr("cast(id % 3 as int) as v")
    first = read_table(frame, schema_of(v=[0, 1, 3]), engine=engine)
    second = read_table(frame, schema_of(v=[0, 2, 3]), engine=engine)
    assert first.count_by(["v"]).counts.tolist() == [30, 60]
    assert second.count_by(["v"]).counts.tolist() == [60, 30]
    assert first.count_by(["v"]).counts.tolist() == [30, 60]


def test_a_frame_is_coded_once_for_the_same_question(session, engine, monkeypatch):
    """A second question of the same columns reads what is on disk; after closing it is coded anew."""
    jobs = []
    run = engine.spark.map_frame
    monkeypatch.setattr(engine.spark, "map_frame", lambda *given: jobs.append(1) or run(*given))
    frame = session.range(90).selectExpr("cast(id % 3 as int) as v")
    table = read_table(frame, schema_of(v=[0, 1, 3]), engine=engine)
    for _ in range(2):
        assert table.count_by(["v"]).counts.tolist() == [30, 60]
    assert len(jobs) == 1
    engine.close()
    assert table.count_by(["v"]).counts.tolist() == [30, 60]
    assert len(jobs) == 2


@pytest.mark.parametrize("name", ["a.b", "a`b", "größe in m", 'say "a"'])
def test_a_column_may_have_any_name(session, name):
    """A dot would be a part of a column to Spark, a backtick the end of a name."""
    frame = session.range(90).selectExpr("cast(id % 3 as int) as v").toDF(name)
    schema = Schema.from_dict({"attributes": {name: {"role": "sensitive", "bins": [0, 1, 3]}}})
    assert read_table(frame, schema).count_by([name]).counts.tolist() == [30, 60]


def spoken(error):
    """What an error says, with all that it was made from."""
    return f"{error} {error.__cause__} {error.__context__}"


@pytest.mark.parametrize("ask", ["rows", "counts", "publish"])
def test_what_a_query_fails_on_is_not_repeated(session, tmp_path, capfd, ask):
    """Spark quotes the cell that it cannot cast, in its exception and by a logger of its own."""
    frame = session.range(9).selectExpr("concat('MARKER', id) as a").selectExpr("cast(a as int) as v")
    table = read_table(frame.where("v > 0"), schema_of(v=[0, 1, 3]))
    capfd.readouterr()
    with pytest.raises(SourceError, match="Spark gave the job up") as refused:
        if ask == "rows":
            table.number_of_rows  # noqa: B018 - asking is what fails
        elif ask == "counts":
            table.count_by(["v"])
        else:
            publish(table, METHODS.make("randomized-response", {"retention": 0.5}), tmp_path / "out", seed=1)
    assert "MARKER" not in spoken(refused.value)
    assert "MARKER" not in "".join(capfd.readouterr())
    assert not (tmp_path / "out").exists()
    assert not logging.getLogger("SQLQueryContextLogger").disabled


def test_rows_that_differ_at_every_reading_are_read_once(session, tmp_path):
    """A query that draws anew and sorts at random: bucket sizes and values are those of one reading."""
    from pyspark.sql import functions

    drawn = session.range(1_000, numPartitions=4).selectExpr("cast(rand() * 3 as int) as v", "'a' as other")
    schema = Schema.from_toml(
        '[attributes.v]\nrole = "sensitive"\nbins = [0, 1, 2, 3]\n'
        '[attributes.other]\nrole = "other"\ncategories = ["a", "b"]'
    )
    table = read_table(drawn.orderBy(functions.rand()), schema)
    publish(table, METHODS.make("anatomy", {"l_value": 2}), tmp_path / "out", seed=1)
    table.close()
    assert load_release(tmp_path / "out").counts("v").values.sum() == 1_000


def test_partitions_without_rows_find_nothing(session, tmp_path):
    """Most of twenty partitions are empty, and a table without any row is refused."""
    frame = session.createDataFrame(people(60).to_pandas()).repartition(20)
    rows = read_table(frame.where("job = 'Tech'"), SCHEMA)
    truth = read_table(people(60), SCHEMA).count_by(["job"]).counts
    assert rows.count_by(["job"]).counts.tolist() == [0, truth[1], 0, 0]
    design = METHODS.make("randomized-response", {"retention": 0.5})
    with pytest.raises(DataError, match="no rows"):
        publish(read_table(frame.where("1 = 0"), SCHEMA), design, tmp_path / "out", seed=1)


def test_columns_outside_the_schema_may_be_of_any_type(session, tmp_path):
    """Also for the ledger, which looks at all of them."""
    frame = session.range(300).selectExpr(
        "cast(id % 3 as int) as v",
        "map(id, 1) as m",
        "parse_json('{}') as j",
        "make_interval(1) as i",
        "cast(null as void) as n",
    )
    table = read_table(frame, schema_of(v=[0, 1, 2, 3]))
    ledger = Ledger(tmp_path / "ledger.json")
    design = METHODS.make("randomized-response", {"retention": 0.5})
    release = publish(table, design, tmp_path / "out", ledger=ledger, say=lambda _: None)
    assert release.number_of_rows == 300


def test_the_session_of_a_caller_is_left_as_it_was(session, tmp_path):
    """Found in another thread too, where it is not the active one: settings, views and what is kept in memory."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(name)
    session.conf.set(name, "777")
    try:
        found = []
        thread = threading.Thread(target=lambda: found.append(find_session()))
        thread.start()
        thread.join()
        frame = session.createDataFrame(people(300).to_pandas())
        for place in ("one", "two"):
            # A second publication in the same session.
            table = read_table(frame, SCHEMA, engine=SparkEngine(found[0]))
            design = METHODS.make("randomized-response", {"retention": 0.5})
            publish(table, design, tmp_path / place, seed=1)
            table.close()
        assert session.conf.get(name) == "777"
        assert session.sparkContext._jsc.getPersistentRDDs().size() == 0
        assert [each.name for each in session.catalog.listTables() if "sfumato" in each.name] == []
    finally:
        session.conf.set(name, before)
    counts = [load_release(tmp_path / place).counts("job").values for place in ("one", "two")]
    assert np.array_equal(*counts)
