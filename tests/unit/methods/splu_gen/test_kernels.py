"""Drawing decoys: every shown value is one of the group's, and only the attribute itself matters."""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from sfumato.methods.splu_gen.kernels import draw_decoys, draw_on_counts
from sfumato.randomness.partitions import partition_rows
from sfumato.randomness.streams import NoiseSource

EXAMPLE = ["Hiv", "Flu", "Flu", "Fever", "Hiv", "Flu", "Fever", "Fever", "H5N1"]
NAMES = sorted(set(EXAMPLE))
CODES = np.array([NAMES.index(each) for each in EXAMPLE])
PUBLISHED = ["Flu", "Flu", "Fever", "Hiv", "Flu", "Hiv", "Fever", "Flu", "H5N1"]


def ordered_groups(codes, gamma):
    """Largest first, ties by name, smallest row first: the deterministic variant of the paper."""
    rows = {code: [int(row) for row in np.flatnonzero(codes == code)] for code in set(codes.tolist())}
    groups = np.full(len(codes), -1)
    for number in range(len(codes) // gamma):
        for code in heapq.nsmallest(gamma, rows, key=lambda each: (-len(rows[each]), each)):
            groups[rows[code].pop(0)] = number
    return groups


def test_the_paper_s_example_groups_and_the_table_it_published():
    """Rows {1,2,4}, {3,7,9}, {5,6,8}; every published value is in its row's group."""
    groups = ordered_groups(CODES, 3)
    members = {tuple(int(row) + 1 for row in np.flatnonzero(groups == number)) for number in range(3)}
    assert members == {(1, 2, 4), (3, 7, 9), (5, 6, 8)}
    for row, shown in enumerate(PUBLISHED):
        assert shown in {EXAMPLE[other] for other in np.flatnonzero(groups == groups[row])}


def test_every_place_draws_one_value_of_its_group():
    """In groups of all three values a row shows any of them; rows of a value show as many as there are."""
    counts = np.array([50, 50, 50])
    drawn = draw_on_counts(counts, 3, NoiseSource.seeded(1))
    assert np.bincount(drawn.values, weights=drawn.numbers).tolist() == counts.tolist()
    assert set(zip(drawn.values.tolist(), drawn.shown.tolist(), strict=True)) == set(
        itertools.product(range(3), repeat=2)
    )


def test_a_place_never_shows_what_its_group_lacks():
    """In pairs, a value that half of the rows hold is in every group, and the other two never meet."""
    drawn = draw_on_counts(np.array([2, 1, 1]), 2, NoiseSource.seeded(1))
    seen = set(zip(drawn.values.tolist(), drawn.shown.tolist(), strict=True))
    assert not seen & {(1, 2), (2, 1)}


def test_draws_are_shared_out_whole():
    """The portions' shares add up to the draws, and fit the rows of each portion."""
    counts = np.array([[30, 0, 10], [5, 25, 0], [0, 15, 35]])
    drawn = draw_on_counts(counts.sum(axis=0), 2, NoiseSource.seeded(1))
    shares = drawn.split(counts, NoiseSource.seeded(2))
    together = np.zeros((3, 3), int)
    for share, rows in zip(shares, counts, strict=True):
        assert np.bincount(share.values, weights=share.numbers, minlength=3).tolist() == rows.tolist()
        np.add.at(together, (share.values, share.shown), share.numbers)
    assert np.array_equal(together[drawn.values, drawn.shown], drawn.numbers)


def test_groups_hold_different_values_of_the_right_number():
    """Both partitions, on a skewed column at the largest gamma that fits."""
    codes = np.repeat(np.arange(6), [40, 40, 40, 30, 30, 20])
    for kind in ("mixed", "largest-first"):
        groups = partition_rows(codes, 6, 5, NoiseSource.seeded(2).stream(0), kind=kind)
        assert np.bincount(groups).tolist() == [5] * 40
        for number in range(40):
            assert len(set(codes[groups == number].tolist())) == 5


def test_the_draw_is_a_function_of_the_values_and_the_noise():
    """The same column and key give the same draw; another key another."""
    codes = np.arange(600) % 6
    first, again, other = (draw_decoys(codes, 6, 3, NoiseSource.seeded(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
