"""Rows in memory are counted as DuckDB counts them."""

from __future__ import annotations

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import read_table
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.query.selection import Selection
from sfumato.schema import Schema
from sfumato.testing import in_memory

ENGINES = (ArrayEngine(rows_per_batch=130), DuckDBEngine())


@pytest.fixture(scope="module")
def both():
    """One source behind either engine."""
    rows = in_memory(read_table(people(500), SCHEMA)).source
    return [PrivateTable(rows, SCHEMA, engine=engine) for engine in ENGINES]


def occupied(counts):
    """Combination to count."""
    return dict(zip(zip(*(each.tolist() for each in counts.codes), strict=True), counts.counts, strict=True))


@pytest.mark.parametrize("names", [(), ("sex",), ("job", "age"), ("region", "sex", "job")])
def test_counts_are_those_of_duckdb(both, names):
    """Over no, one and several attributes, with and without conditions."""
    for where in (Selection(), Selection((("age", (0, 2)), ("sex", (1,)))), Selection((("job", ()),))):
        ours, theirs = (each.count_by(names, where) for each in both)
        assert np.array_equal(ours.counts, theirs.counts)


def test_occupied_counts_and_group_sizes_are_those_of_duckdb(both):
    """What occurs, how many groups of each size, and how many values they hold."""
    names = ("sex", "age", "region")
    ours, theirs = both
    assert occupied(ours.count_occupied(names)) == occupied(theirs.count_occupied(names))
    assert ours.group_sizes(names) == theirs.group_sizes(names)
    assert ours.group_diversity(names, "job") == theirs.group_diversity(names, "job")
    assert ours.group_diversity((), "job") == theirs.group_diversity((), "job")
    assert ours.number_of_rows == theirs.number_of_rows


def test_a_scan_gives_the_rows_in_their_order(both):
    """In batches of the size asked for."""
    ours, theirs = ([*each.scan()] for each in both)
    assert [each.number_of_rows for each in ours] == [130, 130, 130, 110]
    for name in ("sex", "age", "region", "job"):
        columns = [np.concatenate([each.codes[name] for each in some]) for some in (ours, theirs)]
        assert np.array_equal(*columns)


def test_combinations_beyond_64_bits_are_told_apart():
    """Thirty attributes of ten categories: keys are numbered anew before they outgrow a word."""
    attributes = {f"a{place}": {"role": "other", "categories": [*"0123456789"]} for place in range(30)}
    schema = Schema.from_dict({"attributes": attributes})
    codes = {name: np.array([0, 9, 9], dtype=np.uint8) for name in schema.names}
    codes["a0"] = np.array([0, 1, 1], dtype=np.uint8)
    table = PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())
    assert sorted(table.count_occupied(schema.names).counts) == [1, 2]


def test_weights_are_summed():
    """An integer column in the place of the number of rows."""
    schema = Schema.from_toml('[attributes.sex]\nrole = "other"\ncategories = ["F", "M"]')
    codes = {"sex": np.array([0, 1, 1], dtype=np.uint8), "count": np.array([5, 2, 4])}
    for engine in ENGINES:
        counted = engine.count_occupied(CodedRows(schema, codes), schema.attributes, weight="count")
        assert occupied(counted) == {(0,): 5, (1,): 6}


def test_another_source_is_refused():
    """With what to do instead."""
    with pytest.raises(ParameterError, match="DuckDB"):
        PrivateTable(read_table(people(5), SCHEMA).source, SCHEMA, engine=ArrayEngine()).count_by(())


def test_the_repr_shows_no_values(both):
    """Columns only."""
    assert repr(both[0].source) == "CodedRows(sex, age, region, job)"
