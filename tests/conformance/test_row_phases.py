"""What every method's row phase must do: travel, give the same rows there, and see nothing but rows."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from samples import SCHEMA, people
from sfumato import publish, read_table
from sfumato.data import chunks as portions
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SourceError
from sfumato.methods.base import METHODS
from sfumato.randomness.streams import NoiseSource, NoiseStream
from sfumato.release.publication import MadeRows, make_rows

MEMBERS = list(METHODS.members.items())
each_method = pytest.mark.parametrize(("name", "method"), MEMBERS, ids=[name for name, _ in MEMBERS])

ROWS = 700
OF_THE_TABLE = (
    "sfumato.data.private_table",
    "sfumato.data.duckdb_engine",
    "sfumato.data.sources",
    "sfumato.data.duckdb_connection",
)
"""Modules whose values stay where the private table is."""


@pytest.fixture
def small_portions(monkeypatch):
    """Portions of 128 rows, in two batches."""
    monkeypatch.setattr(portions, "ROWS_PER_BATCH", 64)
    monkeypatch.setattr(portions, "BATCHES_PER_PORTION", 2)


class Watcher(pickle.Pickler):
    """Pickles, and remembers the types of everything that was reached."""

    def __init__(self, file):
        super().__init__(file)
        self.types = set()

    def persistent_id(self, value):
        """Everything is pickled in the ordinary way."""
        self.types.add(type(value))


def made_rows(publication):
    """The tables whose rows are made from private ones."""
    return [each for each in publication.tables if isinstance(each.rows, MadeRows)]


def columns(rows, table, noise):
    """All rows that are made, column by column."""
    batches = list(make_rows(rows, table.scan, noise))
    return {name: np.concatenate([each.codes[name] for each in batches]) for name in batches[0].codes}


@each_method
def test_a_step_survives_pickling_and_gives_the_same_rows(name, method, small_portions):
    """In several portions; nothing of the table, the engine or the source travels with it, and no stream."""
    table, noise = read_table(people(ROWS), SCHEMA), NoiseSource.seeded(1)
    for each in made_rows(method.example(SCHEMA).publish(table, noise)):
        sent = io.BytesIO()
        watcher = Watcher(sent)
        watcher.dump(each.rows)
        assert not {kind for kind in watcher.types if kind.__module__.startswith(OF_THE_TABLE)}
        assert not watcher.types & {PrivateTable, DuckDBEngine, NoiseSource, NoiseStream, pa.Table}
        arrived = pickle.loads(sent.getvalue())
        here, there = columns(each.rows, table, noise), columns(arrived, table, noise)
        assert here.keys() == there.keys()
        assert all(np.array_equal(here[column], there[column]) for column in here)
        assert each.rows.shares is None or len(each.rows.shares) == -(-ROWS // 128)


@each_method
def test_a_step_makes_a_portion_again_as_it_was(name, method, small_portions):
    """A portion that is made twice, or alone, gives the same rows: nothing is remembered between portions."""
    table, noise = read_table(people(ROWS), SCHEMA), NoiseSource.seeded(1)
    for each in made_rows(method.example(SCHEMA).publish(table, noise)):
        rows = each.rows
        cut = [list(batches) for batches in portions.in_portions(table.scan(rows.reads))]

        def made(number, rows=rows, cut=cut):
            share = None if rows.shares is None else rows.shares[number]
            return list(rows.step(iter(cut[number]), portions.Portion(number, share), noise))

        last, first, again = made(len(cut) - 1), made(0), made(len(cut) - 1)
        assert first
        for one, other in zip(last, again, strict=True):
            assert all(np.array_equal(one.codes[column], other.codes[column]) for column in one.codes)


@each_method
def test_rows_that_are_not_those_counted_are_refused(name, method, small_portions):
    """A row gone, one more, or two that changed places between portions; where counts gave shares."""
    table, noise = read_table(people(ROWS), SCHEMA), NoiseSource.seeded(1)
    # The rows are sorted by job, so the first and the last differ in it.
    order = np.arange(ROWS)
    order[[0, -1]] = order[[-1, 0]]
    changed = {
        "gone": people(ROWS).slice(1),
        "more": pa.concat_tables([people(ROWS), people(ROWS).slice(0, 1)]),
        "moved": people(ROWS).take(order),
        "a portion more": pa.concat_tables([people(ROWS)] * 2),
        "a portion less": people(ROWS).slice(0, 128),
    }
    for each in made_rows(method.example(SCHEMA).publish(table, noise)):
        if each.rows.shares is None:
            continue
        for what, rows in changed.items():
            with pytest.raises(SourceError, match="changed between two readings"):
                columns(each.rows, read_table(rows, SCHEMA), noise)
                pytest.fail(what)


@each_method
def test_a_release_does_not_depend_on_how_its_rows_were_read(name, method, small_portions, tmp_path):
    """One seed, the same bytes: from files of another format or other row groups, by one thread, two or four."""
    rows = people(ROWS)
    pq.write_table(rows, tmp_path / "small.parquet", row_group_size=37)
    pq.write_table(rows, tmp_path / "large.parquet")
    pc.write_csv(rows, tmp_path / "rows.csv")
    read = [
        (tmp_path / "small.parquet", DuckDBEngine(threads=1)),
        (tmp_path / "small.parquet", DuckDBEngine(threads=2)),
        (tmp_path / "small.parquet", DuckDBEngine(threads=4)),
        (tmp_path / "large.parquet", DuckDBEngine(threads=2)),
        (tmp_path / "rows.csv", DuckDBEngine(threads=2)),
        (rows, DuckDBEngine(threads=1)),
    ]
    digests = set()
    for number, (data, engine) in enumerate(read):
        table = read_table(data, SCHEMA, engine=engine)
        release = publish(table, method.example(SCHEMA), tmp_path / str(number), seed=5)
        digests.add(tuple(each.sha256 for each in release.manifest.tables))
    assert len(digests) == 1
