"""A source that gives other rows at every reading: what is published is whole and true, or nothing is."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

from samples import LONG_SCHEMA, SCHEMA, people, ratings
from sfumato import METHODS, load_release, publish, read_table
from sfumato.data.private_table import PrivateTable
from sfumato.data.sources.base import Source
from sfumato.data.sources.columnar import ArrowData
from sfumato.errors import DataError, SfumatoError
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.generalization.design import Generalization
from sfumato.schema import Schema

DESIGNS = {
    **{name: method.example(SCHEMA) for name, method in METHODS.members.items()},
    "recoded by Mondrian": Generalization(k=5, l_value=1.2, search="mondrian"),
}
UNITS = Schema.from_toml(SCHEMA.to_toml().replace('role = "identifier"', 'role = "unit"\nrows_per_unit = 3'))
QUICK, SLOW = 20, 50
"""Sources that change, in `make test` and in `make test-slow`."""


class Restless(Source):
    """Other rows at every reading, and a count of the readings."""

    kind = "restless"
    reads = "nothing twice"

    def __init__(self, tables):
        self.tables = tables
        self.readings = 0

    @classmethod
    def recognise(cls, asked):
        """Nothing."""
        del asked

    @property
    def description(self):
        """For messages."""
        return "the restless table"

    def columns(self):
        """Those of all tables."""
        return tuple(self.tables[0].column_names)

    @contextmanager
    def relation(self, cursor):
        """The next table; the last is given for ever."""
        table = self.tables[min(self.readings, len(self.tables) - 1)]
        self.readings += 1
        with ArrowData(table).relation(cursor) as name:
            yield name


def restless(tables, schema=SCHEMA):
    """A private table of such a source."""
    return PrivateTable(Restless(tables), schema)


def assert_whole_and_true(release, rows):
    """Every promise that tables can keep is kept by these, and they are of so many rows."""
    for promise in release.guarantees:
        judgement = promise.judge(release)
        assert judgement is None or judgement.holds, promise
    for table in release.tables:
        scanned = sum(
            batch.number_of_rows
            for batch in release.scan(table.name, (*table.schema_of_attributes.names, *table.integers))
        )
        assert scanned == table.number_of_rows
    if release.method == "anatomy":
        sizes = [
            np.bincount(np.concatenate([batch.codes["bucket"] for batch in release.scan(name, ["bucket"])]))
            for name in ("rows", "sensitive")
        ]
        assert np.array_equal(*sizes)
    if release.method in ("anatomy", "randomized-response", "distribution-resampling"):
        assert release.number_of_rows == rows


@pytest.mark.parametrize("name", [name for name in DESIGNS if name != "randomized-response"])
def test_a_publication_reads_its_source_once(name, tmp_path):
    """However many counts a method needs."""
    table = restless([people(600, seed) for seed in range(40)])
    publish(table, DESIGNS[name], tmp_path / "release", seed=1)
    assert table.source.readings == 1


def test_rows_of_units_are_checked_on_the_rows_that_are_published(tmp_path):
    """Whoever has at most three rows at the first reading may have more at the second."""
    calm, crowded = (
        people(600).set_column(0, "person", [[f"person-{number // rows}" for number in range(600)]])
        for rows in (3, 100)
    )
    table = restless([calm, crowded], UNITS)
    publish(table, DESIGNS["randomized-response"], tmp_path / "release", seed=1)
    assert table.source.readings == 1


def test_one_pass_is_one_reading(tmp_path):
    """A method that draws row by row needs no copy of the rows."""
    table = restless([people(600, seed) for seed in range(40)])
    publish(table, DESIGNS["randomized-response"], tmp_path / "release", seed=1)
    assert table.source.readings == 1


def test_ratings_are_read_once(tmp_path):
    """Rows gathered by unit are another way of reading."""
    table = restless([ratings(seed=seed) for seed in range(40)], LONG_SCHEMA)
    publish(table, ColumnizedCounts(k=2, epsilon=8.0, columns=(2,)), tmp_path / "release", seed=1)
    assert table.source.readings == 1


DRAWN, OF_A_JOB = 600, 300
"""Rows that a query draws, and rows of each job that it draws them from. No draw has a job that more than half of its rows
hold: of such rows no buckets of two different jobs can be made, and Anatomy and SPLU-Gen refuse them, rightly. Among
people as they come, 1,802 of 4,000 of one job, one draw in 270 is such a one (hypergeometric)."""


def evenly_employed(seed=7):
    """As many people of each job."""
    table = people(4_000, seed)
    jobs = np.asarray(table["job"].to_pylist())
    return table.take(np.concatenate([np.flatnonzero(jobs == job)[:OF_A_JOB] for job in np.unique(jobs)]))


def database(folder):
    """An address of a database with people in it."""
    path = folder / "people.sqlite"
    if not path.exists():
        rows = evenly_employed()
        with sqlite3.connect(path) as connection:
            connection.execute("create table people (person, sex, age, region, job)")
            connection.executemany(
                "insert into people values (?, ?, ?, ?, ?)", zip(*rows.to_pydict().values(), strict=True)
            )
    return f"sqlite:///{path}"


def published_from_a_restless_query(number, folder):
    """One publication of people drawn anew at every reading, by the designs in turn."""
    name = list(DESIGNS)[number % len(DESIGNS)]
    if number % 2:
        query = f"select * from data order by random() limit {DRAWN}"
        table = read_table(evenly_employed(number), SCHEMA, query=query)
    else:
        pytest.importorskip("adbc_driver_sqlite")
        query = f"select * from people order by random() limit {DRAWN}"
        table = read_table(database(folder), SCHEMA, query=query)
    out = folder / f"release-{number}"
    try:
        publish(table, DESIGNS[name], out, seed=number)
    except SfumatoError as refusal:
        assert not out.exists()
        return str(refusal)
    assert_whole_and_true(load_release(out), DRAWN)
    return None


def assert_published_whole(number, folder):
    """Nothing is refused: the rows were read once, and these are published. What is refused all the same is shown."""
    refusals = [
        said for each in range(number) if (said := published_from_a_restless_query(each, folder)) is not None
    ]
    assert refusals == []


def test_no_draw_can_fail_to_fit_a_design():
    """So that a refusal in the tests below is never the luck of the draw."""
    for seed in range(QUICK):
        counts = np.unique(evenly_employed(seed)["job"].to_pylist(), return_counts=True)[1]
        assert counts.tolist() == [OF_A_JOB] * 4
    assert 2 * OF_A_JOB <= DRAWN


def test_a_query_in_random_order_is_published_whole(tmp_path):
    """Rows that differ at every reading, by the designs in turn."""
    assert_published_whole(QUICK, tmp_path)


@pytest.mark.slow
def test_many_queries_in_random_order_are_published_whole(tmp_path):
    """The same, more of them."""
    assert_published_whole(SLOW, tmp_path)


@pytest.mark.parametrize("name", list(DESIGNS))
def test_a_file_that_is_replaced_meanwhile_harms_nothing(name, tmp_path, monkeypatch):
    """Other people stand in it as soon as it was read once."""
    import pyarrow.parquet as pq

    from sfumato.data.sources.columnar import ParquetFile

    path = tmp_path / "people.parquet"
    pq.write_table(people(600, 1), path)
    given = ParquetFile.relation

    @contextmanager
    def replaced_afterwards(self, cursor):
        with given(self, cursor) as relation:
            yield relation
        if self.path == path:
            pq.write_table(pa.concat_tables([people(300, 2), people(300, 3)]), path)

    monkeypatch.setattr(ParquetFile, "relation", replaced_afterwards)
    out = tmp_path / "release"
    publish(read_table(path, SCHEMA), DESIGNS[name], out, seed=1)
    release = load_release(out)
    assert_whole_and_true(release, 600)
    if name in ("generalization", "recoded by Mondrian"):
        assert release.law.suppressed_rows + release.number_of_rows == 600


def test_a_promise_is_held_against_what_was_written(tmp_path, monkeypatch):
    """Whatever went wrong on the way, a folder whose tables break its promise does not take its name."""
    promised = Generalization.guarantees
    monkeypatch.setattr(
        Generalization,
        "guarantees",
        lambda self, schema: (promised(self, schema)[0].model_copy(update={"k": 200}),),
    )
    with pytest.raises(DataError, match="classes of published rows break the promise"):
        publish(read_table(people(600), SCHEMA), DESIGNS["generalization"], tmp_path / "release", seed=1)
    assert not list(tmp_path.iterdir())
