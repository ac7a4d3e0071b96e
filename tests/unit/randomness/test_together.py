"""Groups whose members differ in each of several attributes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.randomness.partitions import compose_together, is_certain
from sfumato.randomness.streams import NoiseSource


def combinations_of(rows):
    """Labels of the different rows, ``(attributes, combinations)``, and how many rows each has."""
    found, counts = np.unique(rows, axis=0, return_counts=True)
    return found.T, counts


def groups_of(found, gamma):
    """The combinations of each group."""
    return found.values_by_group().reshape(-1, gamma)


def assert_valid(found, labels, counts, gamma):
    """Every combination as often as it has rows, and no value twice in a group."""
    groups = groups_of(found, gamma)
    assert np.bincount(groups.ravel(), minlength=len(counts)).tolist() == counts.tolist()
    for each in labels:
        assert all(len(set(each[group])) == gamma for group in groups)


def exists(rows, gamma):
    """Whether rows can be grouped, by trying all ways."""
    if not rows:
        return True
    first, rest = rows[0], rows[1:]
    for chosen in itertools.combinations(range(len(rest)), gamma - 1):
        group = [first, *(rest[each] for each in chosen)]
        differ = all(len(set(column)) == gamma for column in zip(*group, strict=True))
        if differ and exists([row for place, row in enumerate(rest) if place not in chosen], gamma):
            return True
    return False


def test_groups_exist_where_the_largest_shares_leave_room():
    """A hundred skewed tables of two and three attributes, of which the largest shares add up to less than 1/gamma."""
    draw = np.random.default_rng(1)
    certain = 0
    for trial in range(400):
        gamma, width, size = int(draw.integers(2, 5)), int(draw.integers(2, 4)), int(draw.integers(8, 30))
        shares = draw.dirichlet(np.full(size, 2.0))
        first = draw.choice(size, (int(draw.integers(4, 40)) * gamma, 1), p=shares)
        # Tied: another attribute is the first one, or now and then something else.
        others = np.where(
            draw.random((len(first), width - 1)) < 0.8, first, draw.integers(0, size, first.shape)
        )
        labels, counts = combinations_of(np.hstack([first, others]))
        if is_certain(counts, labels, gamma):
            certain += 1
            found = compose_together(counts, labels, gamma, NoiseSource.seeded(trial).stream(0))
            assert found is not None
            assert_valid(found, labels, counts, gamma)
    assert certain >= 100


def test_what_exists_is_found_in_tiny_tables():
    """Brute force: six rows of two attributes, in pairs and threes, however full; and nothing else is found."""
    draw = np.random.default_rng(2)
    outcomes = set()
    for trial in range(150):
        gamma = int(draw.integers(2, 4))
        rows = draw.integers(0, 4, (6, 2))
        labels, counts = combinations_of(rows)
        found = compose_together(counts, labels, gamma, NoiseSource.seeded(trial).stream(0))
        expected = exists([tuple(row) for row in rows.tolist()], gamma)
        outcomes.add(expected)
        assert (found is not None) == expected
        if found is not None:
            assert_valid(found, labels, counts, gamma)
    assert outcomes == {True, False}


def test_the_certainty_is_a_strict_bound():
    """Shares of 1/5 and 2/5 are more than one half together; two of 1/20 are less than 1/9 and no less than 1/10."""
    labels, counts = np.array([[0, 1, 2, 3, 4], [0, 1, 2, 3, 0]]), np.array([4, 4, 4, 4, 4])
    assert not is_certain(counts, labels, 2)
    assert is_certain(np.full(20, 5), np.stack([np.arange(20)] * 2), 9)
    assert not is_certain(np.full(20, 5), np.stack([np.arange(20)] * 2), 10)


def test_one_group_is_what_it_is():
    """As many rows as a group has: they differ or they do not."""
    stream = NoiseSource.seeded(1).stream(0)
    assert compose_together(np.ones(2, int), np.array([[0, 1], [0, 1]]), 2, stream) is not None
    assert compose_together(np.ones(2, int), np.array([[0, 1], [0, 0]]), 2, stream) is None


def test_rows_that_groups_do_not_divide_are_refused():
    """Seven rows in pairs."""
    with pytest.raises(ParameterError, match="multiple of 2"):
        compose_together(np.array([4, 3]), np.array([[0, 1], [0, 1]]), 2, NoiseSource.seeded(1).stream(0))


def test_groups_are_mixed():
    """Of four rows that can be paired in three ways, each comes up."""
    labels = np.stack([np.arange(4)] * 2)
    seen = {
        frozenset(frozenset(group) for group in groups_of(found, 2).tolist())
        for seed in range(30)
        for found in [compose_together(np.ones(4, int), labels, 2, NoiseSource.seeded(seed).stream(0))]
    }
    assert len(seen) == 3
