"""Similarities, columns, fragments and truncation, against the worked example of six users and four movies."""

from __future__ import annotations

import itertools
import sys
from collections import Counter

import numpy as np
import pytest

from sfumato.data.long_format import SparseUnits
from sfumato.errors import DataError, MissingExtraError, ParameterError, TooLargeError
from sfumato.methods.columnized_counts.kernels import (
    FragmentTally,
    WideColumn,
    choose_columns,
    columns_by_medoids,
    count_fragments,
    count_pairs,
    cut_into_fragments,
    keyed_words,
    noisy_pairs,
    overlapping_columns,
    pair_sensitivity,
    phi_squared,
    require_clustering,
    truncate,
)
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role

N = None
RATINGS = [[5, 5, N, N], [5, 5, N, 1], [4, 4, N, N], [N, N, 2, 2], [3, N, 2, 2], [N, 4, 1, 1]]
NOISE = NoiseSource.seeded(8)


def sparse(rows):
    """Units from a matrix with None where there is no value."""
    triples = [(u, i, v) for u, row in enumerate(rows) for i, v in enumerate(row) if v is not None]
    units, items, values = zip(*triples, strict=True)
    names = [f"user {number}" for number in range(len(rows))]
    return SparseUnits.from_triples(names, units, items, values, len(rows[0]), 6)


def random_units(units, items, values, density, seed=3):
    """Units with random entries."""
    draw = np.random.default_rng(seed)
    of_unit, item = np.nonzero(draw.random((units, items)) < density)
    value = draw.integers(0, values, of_unit.size)
    return SparseUnits.from_triples([str(u) for u in range(units)], of_unit, item, value, items, values)


@pytest.mark.parametrize(
    ("measure", "first", "second"),
    [("agreement", 3 / 5, 3 / 4), ("agreement-over-product", 0.1875, 0.25), ("cosine", 0.75, 0.866)],
)
def test_similarities_of_the_worked_example(measure, first, second):
    """Movies 1 and 2, movies 3 and 4; all other pairs never agree."""
    found = count_pairs(sparse(RATINGS)).similarity(measure)
    assert found[0, 1] == pytest.approx(first, abs=1e-6)
    assert found[2, 3] == pytest.approx(second, abs=1e-4)
    assert not found[:2, 2:].any()


def test_phi_squared_of_a_small_table():
    """[[3, 1], [1, 3]] gives a quarter."""
    assert phi_squared([[3, 1], [1, 3]]) == pytest.approx(0.25)
    assert phi_squared([[4, 0], [0, 4]]) == pytest.approx(1)
    assert phi_squared([[2, 2], [2, 2]]) == 0


def test_phi_squared_of_items_is_that_of_having_them():
    """The same number as from the two-by-two table of units."""
    units = sparse(RATINGS)
    has = np.array([[value is not None for value in row] for row in RATINGS])
    table = [[np.sum((has[:, 0] == a) & (has[:, 3] == b)) for b in (0, 1)] for a in (0, 1)]
    assert count_pairs(units).similarity("phi-squared")[0, 3] == pytest.approx(phi_squared(table), rel=1e-6)


def clustering_cost(similarity, groups):
    """Sum of distances to the best medoid of each column."""
    distances = 1 - np.asarray(similarity, np.float64)
    return float(sum(distances[np.ix_(each, each)].sum(axis=0).min() for each in groups))


def test_medoids_of_the_worked_example():
    """Two columns of two movies, at a cost of .65."""
    similarity = count_pairs(sparse(RATINGS)).similarity("agreement")
    columns = columns_by_medoids(similarity, 2)
    assert columns == ((0, 1), (2, 3))
    assert clustering_cost(similarity, columns) == pytest.approx(0.65, abs=1e-6)


def test_medoids_are_as_good_as_brute_force():
    """Of all pairs of medoids of eight items, none costs less."""
    draw = np.random.default_rng(11)
    half = draw.random((8, 8))
    similarity = (half + half.T) / 2
    np.fill_diagonal(similarity, 1)
    distances = 1 - similarity
    best = min(
        np.minimum(distances[:, one], distances[:, other]).sum()
        for one, other in itertools.combinations(range(8), 2)
    )
    assert clustering_cost(similarity, columns_by_medoids(similarity, 2)) == pytest.approx(best, abs=1e-6)


def test_loose_items_go_round_the_columns():
    """Items that nobody agrees on would all fall into the first column."""
    similarity = np.eye(9)
    similarity[0, 1] = similarity[1, 0] = similarity[2, 3] = similarity[3, 2] = 0.5
    spread, heaped = (columns_by_medoids(similarity, 2, spread_loose=each) for each in (True, False))
    assert sorted(map(len, spread)) == [4, 5]
    assert max(map(len, heaped)) >= 7


def test_any_similarities_can_be_cut():
    """Attributes alike in everything too: noise on few rows makes such, and must not decide whether a release exists."""
    for values in itertools.product([0.0, 0.5, 1.0], repeat=6):
        similarity = np.eye(4)
        similarity[np.triu_indices(4, 1)] = values
        similarity = np.maximum(similarity, similarity.T)
        for number in (2, 3):
            columns = columns_by_medoids(similarity, number)
            assert len(columns) == number
            assert all(columns)
            assert sorted(itertools.chain(*columns)) == [0, 1, 2, 3]


@pytest.mark.parametrize("number", [0, 5])
def test_an_impossible_number_of_columns_is_refused(number):
    """Between one and the number of attributes."""
    with pytest.raises(ParameterError, match="columns must be from 1 to the 4 attributes"):
        columns_by_medoids(np.eye(4), number)


def test_without_the_clustering_library_the_install_command_is_said(monkeypatch):
    """Before anything is counted, and only where clustering is needed."""
    monkeypatch.setitem(sys.modules, "kmedoids", None)
    with pytest.raises(MissingExtraError, match=r"column_sets .* pip install 'sfumato\[learning\]'"):
        require_clustering([1, 2], 4)
    require_clustering([1, 4], 4)


def test_overlapping_columns_keep_equal_ones():
    """Asked for twice, published twice."""
    similarity = count_pairs(sparse(RATINGS)).similarity("agreement")
    assert overlapping_columns(similarity, [2, 2]) == ((0, 1), (2, 3)) * 2


def test_fragments_of_the_worked_example():
    """Coverage 1, 2, 1, 1, 2, 2 and the counts of both columns."""
    units = sparse(RATINGS)
    cut = cut_into_fragments(units, [(0, 1), (2, 3)])
    assert np.bincount(cut.unit).tolist() == [1, 2, 1, 1, 2, 2]
    counted = count_fragments(cut, 6, NOISE)
    found = {}
    for column, start, end, count in zip(
        counted.fragments.column,
        counted.fragments.starts,
        counted.fragments.ends,
        counted.counts,
        strict=True,
    ):
        entries = zip(cut.items[start:end].tolist(), cut.values[start:end].tolist(), strict=True)
        found[int(column), tuple(entries)] = int(count)
    assert found == {
        (0, ((0, 5), (1, 5))): 2,
        (0, ((0, 4), (1, 4))): 1,
        (0, ((0, 3),)): 1,
        (0, ((1, 4),)): 1,
        (1, ((2, 2), (3, 2))): 2,
        (1, ((3, 1),)): 1,
        (1, ((2, 1), (3, 1))): 1,
    }


def test_fragment_counts_equal_brute_force_with_overlapping_columns():
    """Random units, three columns of which two share items, one item in none."""
    units = random_units(300, 7, 2, 0.4)
    columns = [(0, 1, 2), (3, 4), (1, 5)]
    counted = count_fragments(cut_into_fragments(units, columns), 2, NOISE)
    expected = Counter()
    for number, column in enumerate(columns):
        for start, end in itertools.pairwise(units.starts):
            pairs = tuple(
                (int(i), int(v))
                for i, v in zip(units.items[start:end], units.values[start:end], strict=True)
                if i in column
            )
            if pairs:
                expected[number, pairs] += 1
    fragments = counted.fragments
    found = {
        (int(c), tuple(zip(fragments.items[s:e].tolist(), fragments.values[s:e].tolist(), strict=True))): int(
            n
        )
        for c, s, e, n in zip(fragments.column, fragments.starts, fragments.ends, counted.counts, strict=True)
    }
    assert found == expected


@pytest.mark.parametrize("density", [0.02, 0.6])
def test_pair_counts_equal_brute_force_however_they_are_made(density):
    """Sparse products for few items a unit, dense ones for many."""
    units = random_units(500, 30, 3, density)
    matrix = np.full((500, 30), -1)
    matrix[units.units(), units.items] = units.values
    found = count_pairs(units)
    for one, other in ((0, 1), (3, 17), (29, 28)):
        both = (matrix[:, one] >= 0) & (matrix[:, other] >= 0)
        assert found.both[one, other] == both.sum()
        assert found.agreeing[one, other] == (both & (matrix[:, one] == matrix[:, other])).sum()
        assert found.both[other, one] == found.both[one, other]


def test_more_units_than_float32_can_count_are_refused(monkeypatch):
    """A rounded count would break the sensitivity that noise is scaled to."""
    monkeypatch.setattr("sfumato.methods.columnized_counts.kernels.LARGEST_EXACT", 6)
    with pytest.raises(TooLargeError, match="fewer than 6 units"):
        count_pairs(sparse(RATINGS))


@pytest.mark.parametrize("budget", [1, 2])
def test_truncation_keeps_everybody_to_the_budget(budget):
    """And takes nothing from those who are within it."""
    cut = cut_into_fragments(random_units(200, 6, 2, 0.5), [(0, 1), (2, 3), (4, 5)])
    kept = truncate(cut, budget, NOISE.stream(1).words(cut.column.size))
    before, after = (np.bincount(each.unit, minlength=200) for each in (cut, kept))
    assert (after == np.minimum(before, budget)).all()


def test_the_keyed_choice_depends_on_name_and_key_alone():
    """Another unit's entries, or one more unit, change nothing; another key does."""
    first = cut_into_fragments(random_units(50, 6, 2, 0.9), [(0, 1), (2, 3), (4, 5)])
    names = [f"user {number}" for number in range(50)]
    words = keyed_words(first, names, "2024")
    subset = first.keep(first.unit < 10)
    assert (keyed_words(subset, names[:10], "2024") == words[first.unit < 10]).all()
    assert (keyed_words(first, names, "2025") != words).all()
    assert len(set(words.tolist())) == words.size


def test_a_second_value_for_an_item_is_refused_without_naming_it():
    """Only the number of rows is said."""
    with pytest.raises(DataError, match="1 rows give a unit a second value") as caught:
        SparseUnits.from_triples(["secret"], [0, 0], [1, 1], [3, 4], 2, 5)
    assert "secret" not in str(caught.value)
    assert caught.value.number_of_rows == 1


def test_the_sensitivity_of_pair_counts_bounds_what_a_unit_changes():
    """A unit with ten items added to random others: the sum of all changes, by brute force."""
    few = random_units(30, 12, 2, 0.3)
    units = np.concatenate([few.units(), np.full(10, 30)])
    items = np.concatenate([few.items, np.arange(10)])
    values = np.concatenate([few.values, np.zeros(10, int)])
    bigger = SparseUnits.from_triples([str(u) for u in range(31)], units, items, values, 12, 2)
    one, other = count_pairs(few), count_pairs(bigger)
    upper = np.triu_indices(12, 1)
    agreeing, both = (
        np.abs(getattr(one, name)[upper] - getattr(other, name)[upper]).sum() for name in ("agreeing", "both")
    )
    supports = np.abs(one.supports - other.supports).sum()
    assert agreeing + both + supports == pair_sensitivity(10, "agreement")
    assert agreeing + supports == pair_sensitivity(10, "cosine")
    assert both + supports + 1 == pair_sensitivity(10, "phi-squared")


def test_noisy_similarities_find_strong_columns():
    """With a large epsilon they are nearly the exact ones."""
    draw = np.random.default_rng(4)
    units = np.repeat(np.arange(2_000), 2)
    side = draw.integers(0, 2, 2_000)
    items = (np.stack([side * 2, side * 2 + 1], axis=1)).ravel()
    people = SparseUnits.from_triples(
        [str(u) for u in range(2_000)], units, items, np.zeros(4_000, int), 4, 1
    )
    pairs = noisy_pairs(people, "agreement", 1.0, 4, NOISE)
    assert columns_by_medoids(pairs.similarity("agreement"), 2) == ((0, 1), (2, 3))


def test_rows_without_any_value_cover_no_column():
    """One known attribute is enough to cover it."""
    a, b = (Attribute(name=name, role=Role.OTHER, categories=("x", "y"), missing="category") for name in "ab")
    covered = WideColumn((a, b)).is_covered({"a": np.array([2, 0, 2]), "b": np.array([2, 2, 1])})
    assert covered.tolist() == [False, True, True]


def test_columns_are_chosen_uniformly_among_those_covered():
    """The smallest words win, and what is not covered is never chosen."""
    covered = np.array([[True, True, True], [False, True, True]])
    words = np.array([[3, 1, 2], [0, 9, 8]], np.uint64)
    assert choose_columns(covered, 1, words).tolist() == [[False, True, False], [False, False, True]]


def test_a_tally_merges_batches():
    """Equal rows of different batches are one."""
    tally = FragmentTally(1)
    tally.add(np.array([[1], [1], [0]]))
    tally.add(np.array([[1]]), np.array([5]))
    rows, counts = tally.result()
    assert rows.tolist() == [[0], [1]]
    assert counts.tolist() == [1, 7]
    assert FragmentTally(3).result()[0].shape == (0, 3)


def test_a_tally_does_not_grow_with_batches(monkeypatch):
    """Many batches of the same rows are merged on the way, and none is lost."""
    monkeypatch.setattr("sfumato.methods.columnized_counts.kernels.DISTINCT_HELD", 3)
    tally = FragmentTally(1)
    for _ in range(10):
        tally.add(np.array([[0], [1], [1]]))
    assert len(tally._counts) < 5
    assert tally.result()[1].tolist() == [10, 20]


def test_nobody_left_is_nothing_counted():
    """A cut in which no unit has an item."""
    units = random_units(20, 4, 2, 0.5)
    counted = count_fragments(cut_into_fragments(units.keep(units.items > 9), [(0, 1)]), 2, NOISE)
    assert counted.counts.size == 0


def test_similarities_that_are_no_numbers_are_refused():
    """The clustering library would go on with nonsense."""
    with pytest.raises(ParameterError, match="must be numbers"):
        columns_by_medoids(np.full((4, 4), np.nan), 2)
