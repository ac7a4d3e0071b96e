"""People arranged by bucket, and parts of them: everything counted again from the published columns."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato.methods.anatomy.permutations import BucketedPeople

# Five buckets: two of two rows, two of three, one of four; values 0 to 4, of which 3 nobody has.
PLACES = np.array([[0, 1, -1, -1], [2, -1, 0, 1], [1, 0, -1, -1], [-1, 4, 0, 4], [1, 2, 0, 4]])
BUCKETS = np.array([2, 5, 1, 4, 2, 5, 3, 4, 1, 5, 2, 3, 4, 5])
SEX = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0])
TOWN = np.array([2, 0, 2, 1, 0, 2, 2, 1, 2, 0, 0, 1, 1, 2])


def people(seed=3):
    """All of them."""
    return BucketedPeople.arrange([SEX, TOWN], [2, 3], BUCKETS, PLACES, 5, seed=seed)


def assert_cells(found):
    """Each cell is the pair of its person's combination and its value."""
    for block in found.blocks:
        for person, value, bucket in np.ndindex(block.cells.shape):
            combination = found.combination_of_row[block.rows[person, bucket]]
            assert block.cells[person, value, bucket] == 5 * combination + block.values[value, bucket]


def test_everybody_is_in_the_bucket_that_was_published():
    """By size; each bucket with its own rows and its own values, in an order that means nothing."""
    found = people()
    assert [block.size for block in found.blocks] == [2, 3, 4]
    seen = []
    for block in found.blocks:
        assert block.values.shape == block.rows.shape == block.cells.shape[1:]
        for bucket in range(block.rows.shape[1]):
            (number,) = set(BUCKETS[block.rows[:, bucket]])
            values = [each for each in PLACES[number - 1] if each >= 0]
            assert sorted(block.values[:, bucket]) == sorted(values)
            seen.append(number)
    assert sorted(seen) == [1, 2, 3, 4, 5]
    assert sorted(np.concatenate([block.rows.ravel() for block in found.blocks])) == list(range(14))
    assert_cells(found)


def test_combinations_are_those_that_occur():
    """Each once, with every row's own."""
    found = people()
    assert found.combinations[found.combination_of_row].tolist() == np.stack([SEX, TOWN], axis=1).tolist()
    assert len(found.combinations) == len({*zip(SEX.tolist(), TOWN.tolist(), strict=True)})
    counted = Counter(zip(SEX.tolist(), TOWN.tolist(), strict=True))
    assert found.rows_of_combination.tolist() == [
        counted[tuple(each)] for each in found.combinations.tolist()
    ]


def test_the_order_inside_buckets_is_random():
    """Of people and of values, by the seed."""
    orders = {tuple(people(seed).blocks[2].rows.ravel()) for seed in range(20)}
    values = {tuple(people(seed).blocks[2].values.ravel()) for seed in range(20)}
    assert len(orders) > 5
    assert len(values) > 5


def test_what_buckets_say_together():
    """Rows of each value; different sets of values: two buckets have the same two; a guess in 14."""
    found = people()
    assert found.rows_of_value.tolist() == [5, 4, 2, 0, 3]
    assert (found.number_of_rows, found.number_of_buckets, found.largest_bucket) == (14, 5, 4)
    assert found.number_of_value_sets == 4
    # Values all different are guessed once in a bucket; of 0, 4, 4 there are (1 + 4) / 3.
    assert found.chance_of_random_guess == pytest.approx((1 + 1 + 1 + 5 / 3 + 1) / 14)


def chosen(*blocks):
    """Which buckets of each block."""
    return [np.array(each, bool) for each in blocks]


def identity(found):
    """Buckets as pairs of the public values of their people and of their values, both without order."""
    pairs = []
    for block in found.blocks:
        for bucket in range(block.rows.shape[1]):
            of_people = found.combinations[found.combination_of_row[block.rows[:, bucket]]].tolist()
            pairs.append((sorted(map(tuple, of_people)), sorted(block.values[:, bucket].tolist())))
    return pairs


def test_some_buckets_with_their_people():
    """Rows are numbered again, in the order of the buckets; a block of which none is chosen is gone."""
    whole = people()
    part = whole.only(chosen([0, 1], [0, 0], [1]), most=100, generator=np.random.default_rng(0))
    assert [block.size for block in part.blocks] == [2, 4]
    assert part.number_of_rows == 6
    assert sorted(np.concatenate([block.rows.ravel() for block in part.blocks])) == list(range(6))
    everything = identity(whole)
    assert identity(part) == [everything[1], everything[4]]
    assert_cells(part)
    assert part.rows_of_value.sum() == 6


@pytest.mark.parametrize(
    ("most", "buckets"), [(14, [2, 2, 1]), (13, [2, 2, 1]), (7, [1, 1, 1]), (1, [1, 1, 1])]
)
def test_a_random_part_of_too_many_people(most, buckets):
    """The same share of every size, rounded up: 7 of 14 people are half of 2, 2 and 1 buckets."""
    everybody = chosen([1, 1], [1, 1], [1])
    part = people().only(everybody, most=most, generator=np.random.default_rng(0))
    assert [block.rows.shape[1] for block in part.blocks] == buckets
    kept = {
        str(identity(people().only(everybody, most=7, generator=np.random.default_rng(each))))
        for each in range(20)
    }
    assert len(kept) == 4


def test_nobody():
    """No bucket chosen leaves no person."""
    part = people().only(chosen([0, 0], [0, 0], [0]), most=5, generator=np.random.default_rng(0))
    assert part.number_of_rows == part.number_of_buckets == 0
