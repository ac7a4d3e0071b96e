"""Sparse linking: raters are found in raw ratings, and crowds in published ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import Schema, publish, read_table
from sfumato.attacks.base import read_knowledge
from sfumato.attacks.itemsets import SparseLinking, match_records
from sfumato.data.long_format import SparseUnits
from sfumato.errors import DataError, ParameterError
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.columnized_counts.law import SparseRecords

ITEMS = [f"m{number}" for number in range(12)]
RATINGS = Schema.from_dict(
    {
        "long": {"unit": "user", "item": "movie", "value": "stars"},
        "attributes": {
            "user": {"role": "identifier"},
            "movie": {"role": "other", "categories": ITEMS},
            "stars": {"role": "sensitive", "categories": ["1", "2", "3", "4", "5"]},
        },
    }
)


def ratings(users=2_000, seed=3):
    """Frequent movies for everybody, and a rare one for some; units as arrays and as a table."""
    draw = np.random.default_rng(seed)
    share = np.linspace(0.7, 0.02, len(ITEMS))
    user, movie = np.nonzero(draw.random((users, len(ITEMS))) < share)
    stars = draw.integers(3, 5, user.size)
    units = SparseUnits.from_triples([f"u{u}" for u in range(users)], user, movie, stars, len(ITEMS), 5)
    table = pa.table(
        {
            "user": [f"u{u}" for u in user],
            "movie": [ITEMS[m] for m in movie],
            "stars": [str(s + 1) for s in stars],
        }
    )
    return units, table


def first_entries(units, targets, number):
    """The last few (rarest) ratings of some units, as an attacker may know them."""
    rows = [
        (place, int(units.items[e]), int(units.values[e]))
        for place, target in enumerate(targets)
        for e in range(max(units.starts[target], units.starts[target + 1] - number), units.starts[target + 1])
    ]
    of_target, item, value = zip(*rows, strict=True)
    names = [str(target) for target in targets]
    return SparseUnits.from_triples(names, of_target, item, value, units.number_of_items, 5)


def test_a_rater_with_unusual_ratings_is_found_in_raw_data():
    """The rare pair decides, whatever the frequent ones say."""
    raters = SparseUnits.from_triples(
        ["a", "b", "c"], [0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 0, 1], [4, 4, 4, 0, 4, 3], 3, 5
    )
    known = SparseUnits.from_triples(["t"], [0, 0], [0, 2], [4, 0], 3, 5)
    found = match_records(known, SparseRecords.raw(raters))
    assert found.best.tolist() == [1]
    assert found.is_claimed.tolist() == [True]
    assert found.right_if_there.tolist() == [1.0]


def test_two_equal_raters_cannot_be_told_apart():
    """No lead, no claim."""
    raters = SparseUnits.from_triples(["a", "b", "c"], [0, 1, 2], [0, 0, 1], [4, 4, 4], 2, 5)
    known = SparseUnits.from_triples(["t"], [0], [0], [4], 2, 5)
    assert match_records(known, SparseRecords.raw(raters)).is_claimed.tolist() == [False]


def test_a_tolerance_forgives_a_star():
    """Known as four stars, given as five."""
    raters = SparseUnits.from_triples(["a", "b", "c"], [0, 1, 2], [0, 1, 1], [4, 4, 4], 2, 5)
    known = SparseUnits.from_triples(["t"], [0], [0], [3], 2, 5)
    records = SparseRecords.raw(raters)
    assert not match_records(known, records).is_claimed[0]
    assert match_records(known, records, value_tolerance=1, lead=1.0).is_claimed[0]


def test_most_raters_are_unique_in_raw_data_and_none_in_noisy_counts(tmp_path):
    """Raw: the claimed record is the person's own. Published: a crowd of at least k, so one in k at best."""
    units, table = ratings()
    targets = [u for u in range(units.number_of_units) if units.starts[u + 1] - units.starts[u] >= 7][:200]
    known = first_entries(units, targets, 5)
    raw = match_records(known, SparseRecords.raw(units), lead=0.5)
    assert raw.is_claimed.mean() > 0.5
    assert (raw.best == targets)[raw.is_claimed].mean() > 0.9

    release = publish(
        read_table(table, RATINGS),
        ColumnizedCounts(k=5, epsilon=3.0, delta=1e-4, columns=4, column_budget=4, schema_share=0.0),
        tmp_path / "r",
        seed=1,
    )
    outside = pa.table(
        {
            "target": [known.names[u] for u in known.units()],
            "movie": [ITEMS[i] for i in known.items],
            "stars": [str(v + 1) for v in known.values],
        }
    )
    result = SparseLinking(lead=0.5).run(release, read_knowledge(outside, release.schema))
    assert result.findings["targets"] == len(targets) > 100
    assert result.findings["highest chance of the right person"] <= 1 / 5
    assert result.findings["expected share of targets found, at best"] < 0.1
    assert len(result.tables[0].rows) == 4


def test_it_says_what_it_needs(tmp_path):
    """Outside records with a target column; unit-item-value data."""
    _, table = ratings()
    design = ColumnizedCounts(k=5, epsilon=3.0, delta=1e-4, columns=4, schema_share=0.0)
    release = publish(read_table(table, RATINGS), design, tmp_path / "r", seed=1)
    with pytest.raises(ParameterError, match="columns target, movie, stars"):
        SparseLinking().run(release)
    nameless = read_knowledge(pa.table({"movie": ["m1"], "stars": ["5"]}), release.schema)
    with pytest.raises(DataError, match="no column 'target'"):
        SparseLinking().run(release, nameless)
    rows = publish(
        read_table(people(2_000), SCHEMA), ColumnizedCounts.example(SCHEMA), tmp_path / "w", seed=1
    )
    with pytest.raises(ParameterError, match="unit-item-value data"):
        SparseLinking().run(rows)
