"""Many tables of counts from few passes over the rows."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest

from array_tables import ArrayTable
from samples import SCHEMA
from sfumato import Schema, publish, read_table
from sfumato.data import engine as counting
from sfumato.data.engine import CountsInTurns, attributes_of, count_tables, covering_sets
from sfumato.errors import DataError
from sfumato.methods.columnized_counts.count_phase import attribute_similarities
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role

SIZES = (2, 3, 5, 7, 4, 90)


def table_of(sizes=SIZES, rows=700, seed=1):
    """A skewed table of many attributes, the first of which follows the second."""
    draw = np.random.default_rng(seed)
    schema = Schema(
        attributes=tuple(
            Attribute(name=f"a{place}", role=Role.OTHER, categories=tuple(f"v{v}" for v in range(size)))
            for place, size in enumerate(sizes)
        )
    )
    codes = {
        each.name: (each.size * draw.random(rows) ** 3).astype(each.code_type) for each in schema.attributes
    }
    codes["a0"] = (codes["a1"] % sizes[0]).astype(codes["a0"].dtype)
    return ArrayTable(schema, codes, rows_per_batch=256)


class Scans:
    """Counts how often rows are read."""

    def __init__(self, table):
        self.table, self.number = table, 0

    def __call__(self, sets):
        """Tables of some sets."""
        self.number += 1
        return count_tables(self.table.scan([each.name for each in attributes_of(sets)]), sets)


@pytest.mark.parametrize(
    ("at_once", "merged"), [(2**25, 2**15), (2**25, 1), (300, 40), (1, 2**15), (2**25, 2**40)]
)
def test_every_table_is_that_of_its_own_pass(monkeypatch, at_once, merged):
    """Whatever is merged and in however many turns: as if each table were counted alone, axes as asked for."""
    monkeypatch.setattr(counting, "CELLS_AT_ONCE", at_once)
    monkeypatch.setattr(counting, "MERGED_FOR_MANY", merged)
    table = table_of()
    sets = [
        *itertools.permutations(table.schema.names, 2),
        ("a2",),
        *itertools.combinations(table.schema.names, 3),
    ]
    counts = CountsInTurns(table.schema, Scans(table), sets)
    # Asked for backwards too: a turn that is over can come again.
    for place in (*range(len(sets)), *range(len(sets) - 1, -1, -7)):
        expected = table.count_by(sets[place])
        assert counts[place].names == expected.names
        assert np.array_equal(counts[place].counts, expected.counts)


def test_a_table_far_larger_than_a_batch_is_counted(monkeypatch):
    """Cells are added one by one where there are more of them than rows of a batch."""
    monkeypatch.setattr(counting, "ROWS_PER_BATCH", 4)
    table = table_of()
    counts = CountsInTurns(table.schema, Scans(table), [("a3", "a5")])
    assert np.array_equal(counts[0].counts, table.count_by(("a3", "a5")).counts)


def test_all_tables_that_fit_memory_are_counted_in_one_pass():
    """1,485 tables of 55 attributes: the rows are read once."""
    table = table_of((2,) * 55, rows=300)
    scan = Scans(table)
    sets = list(itertools.combinations(table.schema.names, 2))
    counts = CountsInTurns(table.schema, scan, sets)
    assert scan.number == 1
    assert sum(int(counts[place].counts.sum()) for place in range(len(sets))) == 300 * 1_485
    assert scan.number == 1


def test_what_does_not_fit_waits_for_its_own_pass(monkeypatch):
    """Tables are counted in turns, and asking in order makes one pass for each."""
    monkeypatch.setattr(counting, "CELLS_AT_ONCE", 1)
    table = table_of()
    scan = Scans(table)
    counts = CountsInTurns(table.schema, scan, [("a0",), ("a1",), ("a2", "a3")])
    assert [counts[place].counts.size for place in range(3)] == [2, 3, 35]
    assert scan.number == 3


def test_pairs_of_many_attributes_are_covered_by_few_unions():
    """55 attributes of four categories: less than a fifth as many tables as pairs, none too large, all covered."""
    table = table_of((4,) * 55, rows=1)
    pairs = [frozenset(pair) for pair in itertools.combinations(table.schema.names, 2)]
    found = covering_sets(pairs, table.schema, most_cells=2**15)
    assert len(found) < len(pairs) / 5
    assert all(4 ** len(each) <= 2**15 for each in found)
    assert all(any(pair <= each for each in found) for pair in pairs)


class Counted(ArrayTable):
    """Says how often its rows were read."""

    scans = 0

    def __init__(self, schema, codes):
        super().__init__(schema, codes)
        scan = self.engine.scan

        def counting(*arguments, **named):
            self.scans += 1
            return scan(*arguments, **named)

        self.engine.scan = counting

    def count_by(self, names, where=None):
        """Counts, which are a pass over the rows; how many there are is known without one."""
        self.scans += bool(names)
        return super().count_by(names, where)


def test_noisy_marginals_read_the_rows_once(tmp_path):
    """However many tables are published."""
    given = table_of((3,) * 12)
    counted = Counted(given.schema, given.codes)
    counted.at_rest = lambda: nullcontext(counted)
    release = publish(counted, NoisyMarginals(epsilon=1e6), tmp_path / "release", seed=1)
    assert counted.scans == 1
    assert len(release.manifest.tables) == 66
    # With hardly any noise each table is the true one.
    for pair in (("a0", "a1"), ("a7", "a11")):
        assert np.array_equal(release.counts(list(pair)).values.round(), given.count_by(pair).counts)


def test_similarities_of_attributes_are_counted_in_one_pass():
    """Phi-squared of every pair: one where an attribute decides the other, and the rows are read once."""
    given = table_of((3, 3, 2, 5))
    counted = Counted(given.schema, given.codes)
    found = attribute_similarities(counted, None, None)
    assert counted.scans == 1
    assert found[0, 1] == pytest.approx(1)
    assert found[2, 3] < 0.1


def test_cells_of_one_category_are_counted_together_before_few_are_left_out():
    """Two ways to write that nothing is known, three rows each: six of the category, which five or more have."""
    table = read_table(
        pa.table({"region": ["?", None, "North"] * 3, "job": ["Tech"] * 9}),
        Schema(attributes=SCHEMA.select(["region", "job"])),
    )
    counted = table.count_occupied(["region", "job"], fewest=5)
    assert counted.counts.tolist() == [6]


def test_combinations_of_too_few_rows_are_left_out_by_every_engine():
    """What is kept is what the whole count says, and the rest is not there."""
    given = table_of((3, 4, 5), rows=200)
    labels = {
        each.name: [each.labels[code] for code in given.codes[each.name]] for each in given.schema.attributes
    }
    for table in (given, read_table(pa.table(labels), given.schema)):
        for fewest in (1, 2, 7, 1_000):
            whole, kept = (
                table.count_occupied(["a1", "a2"]),
                table.count_occupied(["a1", "a2"], fewest=fewest),
            )
            rows = [
                {(one, other): number for one, other, number in zip(*each.codes, each.counts, strict=True)}
                for each in (whole, kept)
            ]
            assert rows[1] == {key: number for key, number in rows[0].items() if number >= fewest}


def test_a_single_row_outside_the_schema_is_refused_although_it_would_be_left_out():
    """Few rows without a code are not dropped in silence."""
    schema = Schema.from_toml('[attributes.job]\nrole = "other"\ncategories = ["a", "b"]')
    table = read_table(pa.table({"job": ["a"] * 20 + ["elsewhere"]}), schema)
    with pytest.raises(DataError, match="1 row"):
        table.count_occupied(["job"], fewest=10)


def test_columnized_counts_hold_no_fragment_that_cannot_be_published():
    """Rows that fewer than k share are left out by the engine; grouped categories are counted together first."""
    schema = Schema.from_toml('[attributes.job]\nrole = "other"\ncategories = ["a", "b", "c", "d"]')
    table = read_table(pa.table({"job": ["a"] * 40 + ["b"] * 6 + ["c"] * 6 + ["d"] * 3}), schema)
    noise = NoiseSource.seeded(1)
    plain = ColumnizedCounts(k=10, epsilon=2.0)
    assert [each.tolist() for each in plain._counting(table, noise, fewest=10).counts()] == [[40]]
    assert [each.tolist() for each in plain._counting(table, noise).counts()] == [[40, 6, 6, 3]]
    grouped = ColumnizedCounts(k=10, epsilon=2.0, recoding={"job": [["b", "c"]]})
    assert [each.tolist() for each in grouped._counting(table, noise, fewest=10).counts()] == [[40, 12, 3]]
