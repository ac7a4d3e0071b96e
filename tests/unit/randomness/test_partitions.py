"""Groups of rows with different values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.randomness import partitions as partition
from sfumato.randomness.conditional_poisson import fit_weights
from sfumato.randomness.partitions import group_sizes, largest_group_size, partition_rows
from sfumato.randomness.streams import NoiseSource, NoiseStream

KINDS = ("mixed", "largest-first")


def stream(seed=0):
    """Bits that a seed decides."""
    return NoiseSource.seeded(seed).stream(0)


def holds_different_values(codes, groups):
    """No value twice in a group."""
    return len(set(zip(groups.tolist(), codes.tolist(), strict=True))) == len(codes)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=40), st.integers(0, 1000), st.sampled_from(KINDS))
def test_every_eligible_size_gives_groups_of_different_values(values, seed, kind):
    """Every row has a group, no group holds a value twice, and no group is smaller than asked for."""
    codes = np.array(values)
    for size in range(2, largest_group_size(np.bincount(codes)) + 1):
        groups = partition_rows(codes, 6, size, stream(seed), kind=kind)
        assert holds_different_values(codes, groups)
        assert np.bincount(groups).min() >= size


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_that_does_not_divide_the_rows_makes_a_few_larger_groups(kind):
    """Adult's 30,162 rows at size 4 make 7,538 groups of 4 and 2 of 5."""
    codes = np.arange(30_162) % 14
    sizes = np.bincount(partition_rows(codes, 14, 4, stream(), kind=kind))
    assert np.bincount(sizes).tolist() == [0, 0, 0, 0, 7538, 2]


def test_a_value_that_is_too_frequent_is_refused_without_its_name():
    """The message says the largest size that works."""
    codes = np.array([3, 3, 3, 1, 2, 0])
    with pytest.raises(ParameterError, match="largest group size that works is 2") as caught:
        partition_rows(codes, 4, 3, stream())
    assert "value 3" not in str(caught.value)


def test_group_numbers_are_all_used_from_zero():
    """As an index of groups."""
    groups = partition_rows(np.arange(40) % 5, 5, 4, stream())
    assert sorted(set(groups.tolist())) == list(range(10))


def test_the_same_stream_gives_the_same_groups_and_another_gives_others():
    """Nothing but the codes and the bits decides."""
    codes = np.arange(60) % 7
    first = partition_rows(codes, 7, 3, stream(1))
    assert np.array_equal(first, partition_rows(codes, 7, 3, stream(1)))
    assert not np.array_equal(first, partition_rows(codes, 7, 3, stream(2)))


def test_largest_first_takes_the_most_frequent_values_first():
    """Counts 3, 3, 2, 1 at size 3: the two frequent values are in every group (T1 of the decoy examples)."""
    codes = np.array([0, 1, 1, 2, 0, 1, 2, 2, 3])
    for seed in range(20):
        groups = partition_rows(codes, 4, 3, stream(seed), kind="largest-first")
        for value in (1, 2):
            assert sorted(groups[codes == value].tolist()) == [0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_ties_do_not_cost_rank(kind):
    """Fourteen equal values in pairs: ordered ties would give rank 7, random ones give 14."""
    codes = np.arange(1_400) % 14
    groups = partition_rows(codes, 14, 2, stream(), kind=kind)
    incidence = np.zeros((700, 14))
    incidence[groups, codes] = 1
    assert np.linalg.matrix_rank(incidence) == 14


def test_a_value_in_every_group_is_placed_in_every_group():
    """Saturation: its count is the number of groups."""
    codes = np.repeat([0, 1, 2, 3], [30, 20, 25, 15])
    groups = partition_rows(codes, 4, 3, stream())
    assert holds_different_values(codes, groups)
    assert len(set(groups[codes == 0].tolist())) == 30


def test_many_groups_are_drawn_without_swaps(monkeypatch):
    """Where swaps are left out, the drawn and repaired groups are valid by themselves."""
    monkeypatch.setattr(partition, "MOST_GROUPS_TO_SWAP", 0)
    codes = np.repeat(np.arange(6), [990, 989, 700, 600, 500, 221])
    groups = partition_rows(codes, 6, 4, stream())
    assert holds_different_values(codes, groups)


def test_a_draw_that_cannot_be_repaired_falls_back(monkeypatch):
    """Groups are then made largest-first and mixed by swaps."""
    monkeypatch.setattr(partition, "_repair", lambda *_: False)
    codes = np.arange(60) % 5
    assert holds_different_values(codes, partition_rows(codes, 5, 3, stream()))


def test_left_over_rows_never_make_a_group_two_larger():
    """Five values in nearly every group and two rows left over: sizes stay 8 and 9."""
    counts = [3, 4, 10, 10, 6, 10, 4, 10, 10, 3, 5, 10]
    codes = np.repeat(np.arange(12), counts)
    for seed in range(20):
        groups = partition_rows(codes, 12, 8, stream(seed), kind="largest-first")
        assert holds_different_values(codes, groups)
        assert set(np.bincount(groups).tolist()) == {8, 9}


def test_many_groups_that_fell_back_are_mixed_too(monkeypatch):
    """Groups that had to be made largest first are far from random, however many there are."""
    monkeypatch.setattr(partition, "_repair", lambda *_: False)
    monkeypatch.setattr(partition, "MOST_GROUPS_TO_SWAP", 0)
    swapped = []
    swap = partition._swap
    monkeypatch.setattr(partition, "_swap", lambda *args: swapped.append(args[-1]) or swap(*args))
    partition_rows(np.arange(140) % 14, 14, 2, stream())
    assert swapped == [partition.SWAP_ROUNDS_FROM_LARGEST_FIRST]


def test_fitted_weights_give_the_wanted_shares():
    """Against enumeration of all sets of three of seven values."""
    shares = np.array([0.9, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    odds, is_found = fit_weights(shares, np.full(10, 3))
    assert is_found
    sets = list(itertools.combinations(range(7), 3))
    weights = np.array([odds[list(each)].prod() for each in sets])
    given_shares = [weights[[value in each for each in sets]].sum() / weights.sum() for value in range(7)]
    # 1e-12 is where the fit stops.
    assert np.allclose(given_shares, shares, atol=1e-10)


def test_group_sizes_are_as_equal_as_they_can_be():
    """Eleven rows at size 4 leave two groups, of 5 and 6."""
    assert group_sizes(11, 4).tolist() == [6, 5]
    assert group_sizes(12, 4).tolist() == [4, 4, 4]


def test_many_values_cost_bits_for_places_and_not_for_their_product_with_groups(monkeypatch):
    """5,000 values in 4,000 groups of 5: far fewer words than the twenty million coins there are."""
    drawn = 0
    words = NoiseStream.words

    def counting(self, number, *rest):
        nonlocal drawn
        drawn += number
        return words(self, number, *rest)

    monkeypatch.setattr(NoiseStream, "words", counting)
    counts = np.full(5_000, 4)
    composition = partition.compose_groups(counts, 5, NoiseSource.seeded(1).stream(0))
    assert composition.counts.tolist() == counts.tolist()
    values = composition.values_by_group().reshape(-1, 5)
    assert all(len(set(each)) == 5 for each in values.tolist())
    # Swaps of few groups take three words for each pair of groups and round.
    assert drawn < 20 * counts.sum() + 3 * partition.SWAP_ROUNDS * 4_000
