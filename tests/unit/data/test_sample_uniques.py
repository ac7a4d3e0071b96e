"""Rows that are unique on a few attributes, against counting by hand."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest

from sfumato.data import sample_uniques as uniqueness
from sfumato.data.chunks import CodedBatch
from sfumato.data.sample_uniques import TELLING_SHARE, KeyCounter, UniqueRowCounter, telling_sets
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
    counter = UniqueRowCounter(attributes)
    rows = len(next(iter(codes.values())))
    for start in range(0, rows, rows_per_batch):
        part = slice(start, min(start + rows_per_batch, rows))
        counter.add(CodedBatch({name: each[part] for name, each in codes.items()}, part.stop - part.start))
    return counter.result()


def unique_by_hand(codes, names):
    """Rows that no other equals on some names."""
    rows = Counter(zip(*(codes[name].tolist() for name in names), strict=True))
    return sum(number == 1 for number in rows.values())


@pytest.mark.parametrize("most_cells", [0, 2**17], ids=["by keys", "by cells"])
@pytest.mark.parametrize(
    ("rows", "sizes"),
    [(4_000, (30, 20, 9, 4)), (500, (3, 3, 2, 2)), (2_500, (900, 4, 2, 2, 2)), (77, (5, 5, 5, 5, 5, 5))],
)
def test_counts_are_those_of_counting_by_hand(rows, sizes, most_cells, monkeypatch):
    """All attributes, and the worst triple, which is said only when it is telling."""
    monkeypatch.setattr(uniqueness, "MOST_CELLS", most_cells)
    codes = skewed(rows, sizes, rows)
    attributes = [attribute(name, size) for name, size in zip(codes, sizes, strict=True)]
    found = counted(codes, attributes)
    assert found.unique == unique_by_hand(codes, list(codes))
    worst = max(unique_by_hand(codes, each) for each in combinations(codes, 3))
    assert found.reveals == (worst >= TELLING_SHARE * rows)
    if found.reveals:
        assert found.found == worst == unique_by_hand(codes, found.found_by)
        assert set(found.revealed) == set(codes) - set(found.found_by)


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
    counter = UniqueRowCounter(attributes)
    summed = sum(counter._scattered[name][codes[name]] for name in codes)
    assert np.array_equal(sum(each.keys(codes) for each in counter._bundles), summed)
    assert sorted(each.name for bundle in counter._bundles for each in bundle.attributes) == sorted(codes)


def test_only_what_is_no_quasi_identifier_is_revealed():
    """Attackers of these methods know the quasi-identifiers; triples that leave nothing else are not looked at."""
    known = [attribute(name, 9, Role.QUASI_IDENTIFIER) for name in "abcd"]
    assert telling_sets(known) == ()
    secret = attribute("e", 2)
    assert set(telling_sets([*known, secret])) == set(combinations("abcd", 3))
    codes = {name: np.arange(81) // 9**place % 9 for place, name in enumerate("ab")}
    codes |= {name: np.zeros(81, int) for name in "cde"}
    assert counted(codes, [*known, secret]).revealed == ("e",)
    assert not counted(codes, known).reveals
    assert counted(codes, known).unique == 81


def test_fewer_attributes_are_known_where_only_so_many_leave_something():
    """A name in one column, an illness in the other."""
    attributes = [attribute("name", 50, Role.QUASI_IDENTIFIER), attribute("illness", 2)]
    found = counted({"name": np.arange(50), "illness": np.zeros(50, int)}, attributes)
    assert (found.found_by, found.found, found.revealed) == (("name",), 50, ("illness",))
    assert not counted({"name": np.arange(50)}, attributes[:1]).reveals


def test_some_hundred_triples_of_a_wide_table():
    """Those of the ten columns with the most categories."""
    wide = [attribute(f"c{place}", 2 + place) for place in range(60)]
    sets = telling_sets(wide)
    assert len(sets) == 120
    assert {name for each in sets for name in each} == {f"c{place}" for place in range(50, 60)}


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
    assert abs(found.unique - truth) < 5 * np.sqrt(truth * 2 * 60_000 / 500)
    assert abs(found.unique - truth) > 0


def test_one_combination_of_all_rows_needs_no_sample(monkeypatch):
    """Rows are let go only where different ones are too many."""
    monkeypatch.setattr(uniqueness, "MOST_KEYS", 10)
    found = counted({"a": np.zeros(50_000, int)}, [attribute("a", 3)])
    assert (found.unique, found.is_estimated) == (0, False)


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
    found = counted({"a": np.empty(0, int)}, [attribute("a", 3)])
    assert (found.unique, found.share, found.reveals) == (0, 0.0, False)


@pytest.mark.parametrize("most", [2**20, 64])
@pytest.mark.parametrize("cuts", [(0,), (7, 1_500), (1, 2, 2_999)])
def test_counters_of_parts_add_up_to_that_of_the_whole(monkeypatch, most, cuts):
    """However rows are divided, also where combinations are only sampled: the same keys are kept."""
    monkeypatch.setattr(uniqueness, "MOST_KEYS", most)
    monkeypatch.setattr(uniqueness, "MOST_KEYS_OF_SETS", most)
    monkeypatch.setattr(uniqueness, "MOST_CELLS", 500)
    rng = np.random.default_rng(5)
    attributes = [attribute(f"a{place}", size) for place, size in enumerate((3, 9, 40, 40, 60))]
    codes = {each.name: rng.integers(0, each.size, 3_000).astype(np.uint8) for each in attributes}
    whole = UniqueRowCounter(attributes)
    whole.add(CodedBatch(codes, 3_000))
    together = UniqueRowCounter(attributes)
    for start, end in pairwise([0, *cuts, 3_000]):
        part = UniqueRowCounter(attributes)
        part.add(CodedBatch({name: each[start:end] for name, each in codes.items()}, end - start))
        together.merge(part)
    assert together.result() == whole.result()
