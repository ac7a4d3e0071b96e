"""Rows that are unique on a few attributes, against counting by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sfumato import Schema, read_table
from sfumato.custody.publish import in_memory
from sfumato.data import sample_uniques as uniqueness
from sfumato.data.chunks import CodedBatch
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.data.sample_uniques import KeyCounter, UniquesCounter, count_persons
from sfumato.schema import Attribute, Role


def attribute(name, size, role=Role.OTHER):
    """An attribute of so many categories."""
    return Attribute(name=name, role=role, categories=tuple(map(str, range(size))))


def skewed(rows, sizes, seed):
    """Codes of rows, small ones more often."""
    draw = np.random.default_rng(seed)
    return {f"c{place}": (draw.random(rows) ** 3 * size).astype(int) for place, size in enumerate(sizes)}


def counted(codes, attributes, *, rows_per_batch=1_000):
    """What the counter says of rows that come in batches."""
    counter = UniquesCounter(attributes)
    rows = len(next(iter(codes.values())))
    for start in range(0, rows, rows_per_batch):
        part = slice(start, min(start + rows_per_batch, rows))
        counter.add(CodedBatch({name: each[part] for name, each in codes.items()}, part.stop - part.start))
    return counter


def unique_by_hand(codes, names):
    """Rows that no other equals on some names."""
    rows = Counter(zip(*(codes[name].tolist() for name in names), strict=True))
    return sum(number == 1 for number in rows.values())


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [(4_000, (30, 20, 9, 4)), (500, (3, 3, 2, 2)), (2_500, (900, 4, 2, 2, 2)), (77, (5, 5, 5, 5, 5, 5))],
)
def test_counts_are_those_of_counting_by_hand(rows, sizes):
    """On all attributes."""
    codes = skewed(rows, sizes, rows)
    attributes = [attribute(name, size) for name, size in zip(codes, sizes, strict=True)]
    assert counted(codes, attributes).unique() == unique_by_hand(codes, list(codes))


def persons_alone_by_hand(codes, names, person):
    """Persons with a row whose combination no other person has."""
    holders = defaultdict(set)
    for whose, *combination in zip(person.tolist(), *(codes[name].tolist() for name in names), strict=True):
        holders[tuple(combination)].add(whose)
    return len(set().union(*(each for each in holders.values() if len(each) == 1)))


@pytest.mark.parametrize("rows", [40, 3_000])
@pytest.mark.parametrize("where", ["arrow", "csv", "parquet", "memory", "split csv", "split parquet"])
def test_persons_are_counted_over_all_their_rows(rows, where, tmp_path):
    """Distinct units per combination and per category, by hand, wherever rows are read."""
    draw = np.random.default_rng(rows)
    person = draw.integers(0, rows // 6, rows)
    codes = skewed(rows, (25, 12, 4), rows)
    schema = Schema.from_dict(
        {
            "attributes": {"who": {"role": "unit"}}
            | {
                name: {"role": "quasi-identifier", "categories": list(map(str, range(size)))}
                for name, size in zip(codes, (25, 12, 4), strict=True)
            }
        }
    )
    data = pa.table(
        {"who": [f"p{each}" for each in person], **{name: each.astype(str) for name, each in codes.items()}}
    )
    csv.write_csv(data, tmp_path / "rows.csv")
    parquet.write_table(data, tmp_path / "rows.parquet", row_group_size=max(rows // 7, 1))
    known = {"arrow": data, "memory": data}.get(where, tmp_path / f"rows.{where.split()[-1]}")
    engine = SplitEngine(LocalRunner()) if where.startswith("split") else None
    table = read_table(known, schema, engine=engine)
    table = in_memory(table) if where == "memory" else table
    with table.at_rest() as resting:
        found = count_persons(resting, [tuple(codes), ("c0", "c1"), ()], names=["c2"])
    assert found.persons == len(set(person.tolist()))
    assert found.uniques(0).unique == persons_alone_by_hand(codes, list(codes), person)
    assert found.uniques(1).unique == persons_alone_by_hand(codes, ["c0", "c1"], person)
    assert found.uniques(2).unique == 0
    for name in codes:
        holders = [len(set(person[codes[name] == code].tolist())) for code in range(schema[name].size)]
        assert np.minimum(found.holders(name), 10).tolist() == np.minimum(holders, 10).tolist()
        assert found.rows(name).tolist() == np.bincount(codes[name], minlength=schema[name].size).tolist()


@pytest.mark.parametrize("most", [8, 64, 2**20])
def test_owners_are_counted_as_by_hand_up_to_the_bound(most):
    """Also where combinations were let go: persons of those that were kept, times what was let go."""
    draw = np.random.default_rng(most)
    keys = draw.integers(0, 2**64, 120, np.uint64, endpoint=False)[draw.integers(0, 120, 500)]
    owners = draw.integers(0, 90, 500).astype(np.uint64)
    counters = [uniqueness.OwnerCounter(most) for _ in range(3)]
    for place, start in enumerate(range(0, 500, 50)):
        counters[place % 3].add(keys[start : start + 50], owners[start : start + 50])
    counters[0].merge(counters[1])
    counters[0].merge(counters[2])
    found = counters[0].unique()
    kept = (
        keys < np.uint64(1 << (64 - counters[0]._halvings)) if counters[0]._halvings else np.ones(500, bool)
    )
    holders = defaultdict(set)
    for key, owner in zip(keys[kept].tolist(), owners[kept].tolist(), strict=True):
        holders[key].add(owner)
    alone = set().union(*(each for each in holders.values() if len(each) == 1))
    assert found == len(alone) << counters[0]._halvings
    assert counters[0].is_sample == (most < 120)


def test_coarser_labels_are_counted_as_they_are_published():
    """Merged values count together; labels that cannot be read are counted as they were."""
    private = attribute("a", 4)
    merged = Attribute(name="a", role=Role.OTHER, categories=("0 | 2", "1", "3"))
    assert uniqueness.recoded(private, merged).tolist() == [0, 1, 0, 2]
    assert uniqueness.recoded(private, private) is None
    assert uniqueness.recoded(private, Attribute(name="a", role=Role.OTHER, categories=("low", "3"))) is None


@pytest.mark.parametrize(
    "sizes", [(70_000, 2, 300, 256, 3), (256, 256, 2), (65_536, 2, 32_768), (2,) * 40], ids=str
)
def test_keys_that_are_looked_up_together_are_those_of_each(sizes):
    """However many categories an attribute has: up to a bundle's whole room, and beyond it."""
    draw = np.random.default_rng(9)
    codes = {
        f"c{place}": draw.integers(0, size, 3_000).astype(np.min_scalar_type(size - 1))
        for place, size in enumerate(sizes)
    }
    attributes = [attribute(name, size) for name, size in zip(codes, sizes, strict=True)]
    counter = UniquesCounter(attributes)
    summed = sum(counter._scattered[name][codes[name]] for name in codes)
    assert np.array_equal(sum(each.keys(codes) for each in counter._bundles), summed)
    assert sorted(each.name for bundle in counter._bundles for each in bundle.attributes) == sorted(codes)


def test_many_combinations_are_counted_by_a_sample(monkeypatch):
    """Memory is bounded, and the estimate is within five of its standard errors.

    Of u unique combinations each is kept with probability p, so that the estimate's variance is u (1 - p) / p.
    """
    monkeypatch.setattr(uniqueness, "MOST_KEYS", 2_000)
    codes = skewed(60_000, (600, 600, 600), 3)
    found = counted(codes, [attribute(name, 600) for name in codes])
    truth = unique_by_hand(codes, list(codes))
    assert found.is_estimated
    assert truth > 20_000
    # At least a quarter of the bound is kept after a halving, shared by once and again.
    assert abs(found.unique() - truth) < 5 * np.sqrt(truth * 2 * 60_000 / 500)
    assert abs(found.unique() - truth) > 0


def test_one_combination_of_all_rows_needs_no_sample(monkeypatch):
    """Rows are let go only where different ones are too many."""
    monkeypatch.setattr(uniqueness, "MOST_KEYS", 10)
    found = counted({"a": np.zeros(50_000, int)}, [attribute("a", 3)])
    assert (found.unique(), found.is_estimated) == (0, False)


@pytest.mark.parametrize("most", [4, 20, 100_000])
def test_keys_that_come_again_and_again_are_counted_as_by_hand(most):
    """Whatever was remembered of earlier batches, at both ends of the range of keys too."""
    draw = np.random.default_rng(most)
    largest = np.iinfo(np.uint64).max
    ends = np.array([0, 1, largest - 1, largest, 2**44, 2**63], np.uint64)
    known = draw.integers(0, largest, 60, np.uint64)
    # Some come often, and some once or never; of the ends, half come once and half twice.
    often = known[np.minimum(draw.geometric(0.08, 400), known.size) - 1]
    chosen = np.concatenate([often, ends, ends[1::2]])
    counter = KeyCounter(most, left=max(most // 2, 2))
    for start in range(0, chosen.size, 7):
        counter.add(chosen[start : start + 7])
    unique = counter.unique()
    bound = 2 ** (64 - counter._halvings)
    by_hand = sum(number == 1 for key, number in Counter(chosen.tolist()).items() if key < bound)
    assert unique == by_hand << counter._halvings
    assert counter.is_sample == (most < 60)


def test_no_rows_are_no_share():
    """An empty table has nobody to find."""
    assert counted({"a": np.empty(0, int)}, [attribute("a", 3)]).unique() == 0
    assert uniqueness.SampleUniques(("a",), 0, 0).share == 0.0


@pytest.mark.parametrize("most", [2**20, 64])
@pytest.mark.parametrize("cuts", [(0,), (7, 1_500), (1, 2, 2_999)])
def test_counters_of_parts_add_up_to_that_of_the_whole(monkeypatch, most, cuts):
    """However rows are divided, also where combinations are only sampled: the same keys are kept."""
    monkeypatch.setattr(uniqueness, "MOST_KEYS", most)
    rng = np.random.default_rng(5)
    attributes = [attribute(f"a{place}", size) for place, size in enumerate((3, 9, 40, 40, 60))]
    codes = {each.name: rng.integers(0, each.size, 3_000).astype(np.uint8) for each in attributes}
    whole = UniquesCounter(attributes)
    whole.add(CodedBatch(codes, 3_000))
    together = UniquesCounter(attributes)
    for start, end in pairwise([0, *cuts, 3_000]):
        part = UniquesCounter(attributes)
        part.add(CodedBatch({name: each[start:end] for name, each in codes.items()}, end - start))
        together.merge(part)
    assert together.unique() == whole.unique()
    assert together.is_estimated == whole.is_estimated
