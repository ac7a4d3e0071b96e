"""Quotas, positions and copies: what is drawn from every group."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from array_tables import ArrayTable
from sfumato.data import equivalence_classes as personal_groups
from sfumato.data.chunks import Portion
from sfumato.data.equivalence_classes import CellParts, PersonalGroups
from sfumato.errors import SourceError
from sfumato.guarantees.reconstruction_privacy import ReconstructionPrivacy
from sfumato.methods.sample_perturb_scale.kernels import (
    Copies,
    PortionSampler,
    fixed_size_quotas,
    independent_quotas,
    share_out,
    strict_group_sizes,
)
from sfumato.randomness.quotas import ChosenPositions, PositionReader
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role, Schema

PLACE = Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=tuple("abcd"))
AGE = Attribute(name="age", role=Role.QUASI_IDENTIFIER, categories=tuple("xyz"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("s", "t", "u"))
SCHEMA = Schema(attributes=(PLACE, AGE, JOB))


def example_5():
    """One group of twenty rows, five of one value and fifteen of another."""
    return PersonalGroups(counts=np.array([5, 15]), values=np.array([0, 1]), starts=np.array([0]), stages=())


def random_table(rows=3_000, seed=1):
    """Rows over all groups, unevenly."""
    draw = np.random.default_rng(seed)
    codes = {
        "place": draw.choice(4, rows, p=[0.6, 0.3, 0.08, 0.02]).astype(np.uint8),
        "age": draw.integers(0, 3, rows).astype(np.uint8),
        "job": draw.choice(3, rows, p=[0.7, 0.2, 0.1]).astype(np.uint8),
    }
    return ArrayTable(SCHEMA, codes, rows_per_batch=257)


def groups_of(table):
    """The personal groups of a table."""
    return PersonalGroups.of(table.count_occupied(("place", "age", "job")), (PLACE, AGE), JOB)


def test_example_5_by_independent_rounding():
    """Quotas 3 + Bern(.75) and 11 + Bern(.25); 14, 15 or 16 rows."""
    seen = {
        tuple(independent_quotas(example_5(), np.array([15.0]), NoiseSource.seeded(seed).stream(0)).tolist())
        for seed in range(200)
    }
    assert seen == {(3, 11), (4, 11), (3, 12), (4, 12)}


def test_example_5_with_a_fixed_total():
    """Each quota is rounded down or up, and the total is always 15."""
    seen = {
        tuple(fixed_size_quotas(example_5(), np.array([15]), NoiseSource.seeded(seed).stream(0)).tolist())
        for seed in range(200)
    }
    assert seen == {(3, 12), (4, 11)}


def test_quotas_of_a_fixed_total_are_unbiased_for_every_offset():
    """Over all twenty offsets, which are equally likely, the mean quota is c n / N exactly."""

    class Offsets:
        def __init__(self, value):
            self.value = value

        def integers_below(self, bounds):
            return np.full(len(bounds), self.value, dtype=np.uint64)

        def words(self, number):
            return np.arange(number, dtype=np.uint64)

    quotas = [fixed_size_quotas(example_5(), np.array([15]), Offsets(value)) for value in range(20)]
    np.testing.assert_allclose(np.mean(quotas, axis=0), [3.75, 11.25])


def test_a_group_that_would_empty_keeps_one_row():
    """Ten values of one row each at a cap of one row often round to nothing."""
    groups = PersonalGroups(np.ones(10, np.int64), np.arange(10), np.array([0]), ())
    for seed in range(100):
        quotas = independent_quotas(groups, np.array([1.0]), NoiseSource.seeded(seed).stream(0))
        assert quotas.sum() >= 1


def test_groups_up_to_the_cap_are_kept_whole():
    """Both ways of rounding."""
    groups = example_5()
    stream = NoiseSource.seeded(1).stream(0)
    assert independent_quotas(groups, np.array([20.0]), stream).tolist() == [5, 15]
    assert fixed_size_quotas(groups, np.array([20]), stream).tolist() == [5, 15]


@pytest.mark.parametrize("bound", ["chernoff", "exact"])
def test_strict_samples_pass_the_test_however_they_are_rounded(bound):
    """At the frequency of the most frequent value rounded up."""
    promise = ReconstructionPrivacy(
        sensitive="job", groups=("place",), retention=0.2, size=3,
        relative_error=0.3, error_probability=0.2, bound=bound,
    )  # fmt: skip
    draw = np.random.default_rng(1)
    counts = draw.integers(1, 5_000, 300)
    groups = PersonalGroups(counts, np.tile(np.arange(3), 100), np.arange(0, 300, 3), ())
    kept = strict_group_sizes(groups, promise)
    assert (kept >= promise.uniform_cap).all()
    assert (kept < groups.sizes).any()
    if bound == "chernoff":
        largest = np.maximum.reduceat(counts, groups.starts)
        rounded_up = np.ceil(kept * largest / groups.sizes) / kept
        is_cut = kept < groups.sizes
        assert (kept <= promise.caps_at(rounded_up))[is_cut].all()
        assert (kept <= promise.group_caps(counts, groups.starts)).all()


@pytest.mark.parametrize("quota", range(6))
def test_chosen_positions_have_the_size_of_their_quota(quota):
    """Also where the others are listed instead."""
    for seed in range(20):
        chosen = ChosenPositions.draw(
            np.array([5, 1, 5]), np.array([quota, 1, 5 - quota]), NoiseSource.seeded(seed).stream(0)
        )
        marked = PositionReader(chosen).mark(np.array([0] * 5 + [1] + [2] * 5))
        assert (marked[:5].sum(), marked[5], marked[6:].sum()) == (quota, True, 5 - quota)


def test_a_reader_gives_the_same_rows_however_they_are_batched():
    """Positions count on from batch to batch."""
    sizes = np.array([40, 7, 300])
    chosen = ChosenPositions.draw(sizes, np.array([11, 5, 80]), NoiseSource.seeded(4).stream(0))
    cells = np.repeat(np.arange(3), sizes)
    whole = PositionReader(chosen).mark(cells)
    reader = PositionReader(chosen)
    seen = {cell: [] for cell in range(3)}
    for batch in np.array_split(np.random.default_rng(1).permutation(cells), 13):
        ascending = np.sort(batch)
        for cell, is_chosen in zip(ascending, reader.mark(ascending), strict=True):
            seen[int(cell)].append(bool(is_chosen))
    assert reader.is_finished
    assert list(itertools.chain.from_iterable(seen.values())) == whole.tolist()


def in_thirds(table, groups, quotas, copies, noise):
    """Samplers of the three thirds of a table, with the rows of each, sorted by cell."""
    order, cells = groups.sort_rows(table.codes)
    third = order * 3 // table.number_of_rows
    parts = CellParts.of(cells, third, np.ones_like(cells))
    shares = share_out(groups, parts, quotas, copies, noise.named("shares"))
    return [
        (PortionSampler(groups, copies, Portion(number, share), noise), cells[third == number])
        for number, share in enumerate(shares)
    ]


@pytest.mark.parametrize("is_exact", [True, False])
def test_copies_scale_a_sample_to_its_group(is_exact):
    """Over all portions: the quotas exactly; the sizes exactly, or within one row for each row kept."""
    table = random_table()
    groups = groups_of(table)
    kept = np.minimum(groups.sizes, 50)
    noise = NoiseSource.seeded(2)
    quotas = fixed_size_quotas(groups, kept, noise.stream(0))
    sizes = np.zeros(kept.size, dtype=np.int64)
    rows = np.zeros(groups.counts.size, dtype=np.int64)
    made = Copies.of(groups, quotas, is_exact=is_exact)
    for sampler, cells in in_thirds(table, groups, quotas, made, noise):
        for number, batch in enumerate((cells[::2], cells[1::2])):
            is_kept, copies = sampler.take(batch, number)
            np.add.at(sizes, groups.group_of_cell[batch[is_kept]], copies)
            np.add.at(rows, batch[is_kept], 1)
        sampler.finish()
    assert rows.tolist() == quotas.tolist()
    if is_exact:
        assert sizes.tolist() == groups.sizes.tolist()
    else:
        assert (np.abs(sizes - groups.sizes) <= kept).all()


def test_a_table_that_changed_between_readings_is_refused():
    """A row too many, a row too few, a row of a cell that was elsewhere, a row of a group never counted."""
    table = random_table(200)
    groups = groups_of(table)
    copies = Copies.of(groups, groups.counts, is_exact=True)

    def fresh():
        return in_thirds(table, groups, groups.counts, copies, NoiseSource.seeded(1))[0]

    for change in (lambda cells: np.append(cells, cells[-1]), lambda cells: cells[:-1]):
        sampler, cells = fresh()
        sampler.take(change(cells), 0)
        with pytest.raises(SourceError, match="changed between two readings"):
            sampler.finish()
    sampler, cells = fresh()
    elsewhere = np.setdiff1d(np.arange(groups.counts.size), cells)[:1]
    with pytest.raises(SourceError, match="changed between two readings"):
        sampler.take(np.sort(np.append(cells, elsewhere)), 0)
    lone = PersonalGroups.of(
        ArrayTable(SCHEMA, {name: column[:1] for name, column in table.codes.items()}).count_occupied(
            ("place", "age", "job")
        ),
        (PLACE, AGE),
        JOB,
    )
    with pytest.raises(SourceError, match="changed between two readings"):
        lone.sort_rows(table.codes)


@pytest.mark.parametrize(("largest_key", "largest_direct"), [(20, 2**24), (2**62, 4), (20, 4)])
def test_groups_are_found_alike_whatever_the_size_of_their_keys(monkeypatch, largest_key, largest_direct):
    """Keys split in stages, and keys found by search, lead to the cells of a plain count."""
    monkeypatch.setattr(personal_groups, "LARGEST_KEY", largest_key)
    monkeypatch.setattr(personal_groups, "LARGEST_DIRECT", largest_direct)
    table = random_table()
    groups = groups_of(table)
    order, cells = groups.sort_rows(table.codes)
    assert np.array_equal(np.bincount(cells), groups.counts)
    assert np.array_equal(np.sort(order), np.arange(3_000))
    assert np.array_equal(groups.values[cells], table.codes["job"][order])
    expected = table.count_by(("place", "age")).counts
    assert np.array_equal(groups.sizes, expected[expected > 0])
    # Rows of one group are equal on both attributes.
    pairs = table.codes["place"][order].astype(int) * 3 + table.codes["age"][order]
    assert (
        len(set(zip(groups.group_of_cell[cells].tolist(), pairs.tolist(), strict=True))) == groups.starts.size
    )


def test_keys_too_large_to_pack_are_sorted_all_the_same():
    """A key and a row number must fit one word to be sorted together."""
    keys = np.array([2**62, 5, 2**62 - 1, 0])
    order, ascending = personal_groups._sort_keys(keys)
    assert ascending.tolist() == sorted(keys.tolist())
    assert keys[order].tolist() == ascending.tolist()
