"""What is said of decoys with a retention other than 1/gamma, by every partition of a tiny table."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

VALUES = "aabbcd"
GAMMA = 3


def partitions(rows, gamma=GAMMA):
    """Every way to put rows into groups of so many that hold different values."""
    if not rows:
        yield []
        return
    first, *rest = rows
    for others in itertools.combinations(rest, gamma - 1):
        group = (first, *others)
        if len({VALUES[row] for row in group}) == gamma:
            yield from (
                [group, *found] for found in partitions([row for row in rest if row not in others], gamma)
            )


PARTITIONS = list(partitions(list(range(len(VALUES)))))


def shown(retention, partition):
    """Probabilities of what each row shows, given its group."""
    other = (1 - retention) / (len(partition[0]) - 1)
    group_of = {row: group for group in partition for row in group}
    return [
        {VALUES[member]: retention if member == row else other for member in group_of[row]}
        for row in range(len(VALUES))
    ]


def matrix(retention):
    """Probability that a row of one value shows another, over all partitions and rows of that value."""
    found = {}
    for one, two in itertools.product("abcd", repeat=2):
        rows = [row for row, value in enumerate(VALUES) if value == one]
        chances = [
            shown(retention, partition)[row].get(two, Fraction(0)) for partition in PARTITIONS for row in rows
        ]
        found[one, two] = sum(chances, Fraction(0)) / len(chances)
    return found


@pytest.mark.parametrize("retention", [Fraction(1, 2), Fraction(1, 5), Fraction(9, 10), Fraction(1, 3)])
def test_the_matrix_follows_from_that_of_the_uniform_draw(retention):
    """``T_p = p I + (1 - p) gamma / (gamma - 1) (T - I / gamma)``."""
    uniform = matrix(Fraction(1, GAMMA))
    for (one, two), chance in matrix(retention).items():
        same = Fraction(int(one == two))
        moved = (1 - retention) * GAMMA / (GAMMA - 1) * (uniform[one, two] - same / GAMMA)
        assert chance == retention * same + moved


@pytest.mark.parametrize("retention", [Fraction(1, 2), Fraction(1, 5), Fraction(1, 3)])
def test_published_counts_stay_unbiased_with_the_stated_variance(retention):
    """Rows draw by themselves given the groups, and both hold for every partition."""
    other = (1 - retention) / (GAMMA - 1)
    for partition, value in itertools.product(PARTITIONS, "abcd"):
        chances = [each.get(value, Fraction(0)) for each in shown(retention, partition)]
        count = VALUES.count(value)
        assert sum(chances) == count
        stated = count * (retention * (1 - retention) + (1 - retention) * (1 - other))
        assert sum(chance * (1 - chance) for chance in chances) == stated


@pytest.mark.parametrize("retention", [Fraction(1, 2), Fraction(1, 5)])
def test_the_odds_factor_of_a_row_grows_by_the_retention_over_that_of_another_member(retention):
    """By ``p (gamma - 1) / (1 - p)`` against the uniform draw."""

    def factor(found, value):
        others = [(VALUES.count(each), found[each, value]) for each in "abcd" if each != value]
        elsewhere = sum(number * chance for number, chance in others) / sum(number for number, _ in others)
        return found[value, value] / elsewhere

    grown = retention * (GAMMA - 1) / (1 - retention)
    for value in "abcd":
        assert factor(matrix(retention), value) == grown * factor(matrix(Fraction(1, GAMMA)), value)


@pytest.mark.parametrize("gamma", [2, 3])
@pytest.mark.parametrize("retention", [Fraction(1, 2), Fraction(1, 5)])
def test_whether_a_value_is_shown_does_not_depend_on_the_size_of_groups(gamma, retention):
    """By a row that holds it with p, by any other with ``f (1 - p) / (N - f)``, in every partition."""
    everybody = range(len(VALUES))
    for partition, value in itertools.product(partitions(list(everybody), gamma), "abcd"):
        chances = [each.get(value, Fraction(0)) for each in shown(retention, partition)]
        others = [chances[row] for row in everybody if VALUES[row] != value]
        holders = VALUES.count(value)
        assert {chances[row] for row in everybody if VALUES[row] == value} == {retention}
        assert sum(others) / len(others) == holders * (1 - retention) / (len(VALUES) - holders)
