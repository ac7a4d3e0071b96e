"""What rows tell of their people, by hand: beliefs from the others of a group, and the own row's factor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from published_rows import category_attribute
from sfumato.estimates.counts import OccupiedCounts
from sfumato.methods.splu_gen import law as telling
from sfumato.methods.splu_gen.law import PublicGroups, groupings, rarest_factors
from sfumato.query.text import write_condition
from sfumato.schema import Role

WARD, SEX, DISEASE = (
    category_attribute("ward", 3, Role.QUASI_IDENTIFIER),
    category_attribute("sex", 2, Role.QUASI_IDENTIFIER),
    category_attribute("disease", 3),
)


def groups_of(cells, attributes=(WARD, DISEASE)):
    """Counts by code."""
    codes = tuple(np.array(column) for column in zip(*cells, strict=True))
    return PublicGroups(OccupiedCounts(attributes, codes[:-1], codes[-1]))


# Ward 0: three of four have disease 0; ward 1: one alone, who has it; ward 2: five with the other two.
CELLS = [(0, 0, 3), (0, 1, 1), (1, 0, 1), (2, 1, 3), (2, 2, 2)]


def test_numbers_of_groups():
    """Rows of each cell's group, rows of each value, all rows."""
    groups = groups_of(CELLS)
    assert groups.names == ("ward",)
    assert groups.number == 3
    assert groups.sizes.tolist() == [4, 4, 1, 5, 5]
    assert groups.totals.tolist() == [4, 4, 2]
    assert groups.rows == 10
    assert groups.label(3) == write_condition(WARD, (2,))


def test_holders_are_told_by_the_others_of_their_group():
    """Two of three others, odds 2, times (10 - 4) / 4; alone: three of the nine others; nobody else: nothing."""
    before, after = groups_of(CELLS).told_by_others(2)
    assert before.tolist() == pytest.approx([2 / 3, 0, 3 / 9, 2 / 4, 1 / 4])
    odds = [2 * 6 / 4, 0, 0.5 * 6 / 4, 1 * 6 / 4, 1 / 3 * 8 / 2]
    assert after.tolist() == pytest.approx([each / (1 + each) for each in odds])


def test_showing_a_value_that_may_be_in_every_group_says_nothing():
    """Seven of ten rows show it in groups of two: the factor would be below one, and is one."""
    before, after = groups_of([(0, 0, 3), (0, 1, 1), (1, 0, 4), (1, 2, 2)]).told_by_others(2)
    assert after[0] == pytest.approx(before[0])


def believed(shown, others, total, rows, gamma, number, points=20_001):
    """The mean share by a fine integral: the table's share, or one group in so many is anything."""
    overall = total / rows
    decoy = total * (gamma - 1) / (gamma * (rows - total))
    shares = (np.arange(points) + 0.5) / points
    chances = decoy + shares * (1 / gamma - decoy)
    own = math.comb(others, shown) * chances**shown * (1 - chances) ** (others - shown)
    spike = math.comb(others, shown) * overall**shown * (1 - overall) ** (others - shown)
    slab = own.mean() / number
    weight = slab / (slab + spike * (1 - 1 / number))
    return weight * (own * shares).sum() / own.sum() + (1 - weight) * overall


def test_beliefs_from_shown_rows_by_a_fine_integral():
    """Every cell of a table of forty groups of ten, in groups of five; then the own row's factor."""
    draw = np.random.default_rng(4)
    ward = category_attribute("ward", 40, Role.QUASI_IDENTIFIER)
    disease = category_attribute("disease", 8)
    rows = np.stack([np.repeat(np.arange(40), 10), draw.choice(8, 400, p=[0.19] * 5 + [0.03, 0.01, 0.01])])
    rows[1, :3] = 7
    found, counts = np.unique(rows, axis=1, return_counts=True)
    groups = PublicGroups(OccupiedCounts((ward, disease), (found[0], found[1]), counts))
    before, after = groups.told_by_shown(5)
    for cell, (value, held) in enumerate(zip(found[1], counts, strict=True)):
        total = int(groups.totals[value])
        if total * 5 < 400:
            expected = believed(held - 1, 9, total, 400, 5, 40)
            assert before[cell] == pytest.approx(expected, rel=2e-3)
            odds = expected / (1 - expected) * (400 - total) / (4 * total)
            assert after[cell] == pytest.approx(odds / (1 + odds), rel=3e-3)
    # Three of a ward's ten rows show what one row in a hundred does: believed more than anything else.
    assert found[0][int(np.argmax(after))] == 0


def test_cells_are_looked_at_in_parts(monkeypatch):
    """However many at a time."""
    whole = groups_of(CELLS).told_by_shown(2)
    monkeypatch.setattr(telling, "CELLS_AT_ONCE", 2)
    parts = groups_of(CELLS).told_by_shown(2)
    # Sums may be added in another order.
    assert parts[0] == pytest.approx(whole[0], rel=1e-12)
    assert parts[1] == pytest.approx(whole[1], rel=1e-12)


def test_groups_of_two_attributes_are_named_by_both():
    """As a condition that can be asked."""
    groups = groups_of([(0, 1, 0, 2), (2, 0, 1, 3)], (WARD, SEX, DISEASE))
    assert groups.names == ("ward", "sex")
    assert groups.label(1).count("=") == 2
    assert " AND " in groups.label(1)


def test_by_which_attributes_people_are_grouped():
    """Each, pairs of eight at most, all together; every set once."""
    eight = [f"a{each}" for each in range(8)]
    assert len(list(groupings(eight))) == 8 + 28 + 1
    nine = [f"a{each}" for each in range(9)]
    assert list(groupings(nine)) == [*((each,) for each in nine), tuple(nine)]
    assert list(groupings(["a", "b"])) == [("a",), ("b",), ("a", "b")]
    assert list(groupings(["a"])) == [("a",)]


def test_factors_of_the_rarest_value():
    """Of 60 rows in pairs with 30 values of equal counts: 58 / 2 by either; of unequal ones the worst is larger."""
    rarest, factor, worst = rarest_factors(np.full(30, 2), 2)
    assert (rarest, factor) == (2, 29)
    assert worst == pytest.approx(29)
    counts = np.array([25, 15, 10, 10, 0])
    rarest, factor, worst = rarest_factors(counts, 2)
    assert (rarest, factor) == (10, 5)
    assert worst > 5
    # Of two values of equal counts in threes a row says nothing: the factor would be a half, and is one.
    assert rarest_factors(np.array([5, 5]), 3) == (5, 1, 1)


def believed_in_logs(shown, others, total, rows, gamma, number):
    """The same integral at the middles of 101 parts, for numbers that no double could multiply out."""
    overall = total / rows
    decoy = min(total * (gamma - 1) / (gamma * max(rows - total, 1)), 1 / gamma)
    shares = [(each + 0.5) / 101 for each in range(101)]
    spike = shown * math.log(overall)
    if others > shown:
        spike += (others - shown) * math.log(1 - overall)
    ratios = []
    for share in shares:
        chance = decoy + share * (1 / gamma - decoy)
        own = shown * math.log(chance) + (others - shown) * math.log(1 - chance)
        ratios.append(math.exp(min(max(own - spike, -700), 700)))
    slab = sum(ratios) / 101 / number
    weight = slab / (slab + 1 - 1 / number)
    mean = sum(each * share for each, share in zip(ratios, shares, strict=True)) / sum(ratios)
    return weight * mean + (1 - weight) * overall


@pytest.mark.parametrize(
    "cells",
    [
        # A large ward that is mostly of one disease beside one without it; three diseases in each.
        [(0, 0, 900), (0, 1, 50), (0, 2, 50), (1, 0, 1), (1, 1, 2_500), (1, 2, 2_500), (2, 1, 400)],
        # Only one ward: one group in two might be anything.
        [(0, 0, 3), (0, 1, 20), (0, 2, 17)],
        # A ward for each of two rows.
        [(0, 0, 1), (1, 1, 1)],
    ],
)
@pytest.mark.parametrize("gamma", [2, 4])
def test_beliefs_from_shown_rows_however_many_there_are(cells, gamma):
    """Every cell, where products of likelihoods would be zero, or as large as no double."""
    groups = groups_of(cells)
    before, after = groups.told_by_shown(gamma)
    for cell, (_, value, shown) in enumerate(cells):
        size, total = int(groups.sizes[cell]), int(groups.totals[value])
        expected = believed_in_logs(shown - 1, size - 1, total, groups.rows, gamma, max(groups.number, 2))
        assert before[cell] == pytest.approx(expected, rel=1e-9)
        factor = max((groups.rows - total) / ((gamma - 1) * total), 1)
        odds = expected / (1 - expected) * factor
        assert after[cell] == pytest.approx(odds / (1 + odds), rel=1e-9)


def test_a_value_that_everybody_has_and_values_that_nobody_has():
    """All of six rows, in pairs. Who knows the others is sure; who sees rows believes a ward of its own a little.

    A ward of its own shows it with one half whatever its share, so three others weigh 1/8 beside 1, and one 1/2: it is
    one of its own with 1/9 and 1/3, and of that half. The two diseases that nobody has are no trouble.
    """
    groups = groups_of([(0, 0, 4), (1, 0, 2)])
    assert groups.told_by_others(2)[0].tolist() == [1, 1]
    before, after = groups.told_by_shown(2)
    assert before == pytest.approx([8 / 9 + 1 / 18, 2 / 3 + 1 / 6])
    assert after == pytest.approx(before)


def test_a_table_of_one_row_or_none():
    """There are no others to know."""
    alone = groups_of([(0, 0, 1)])
    assert alone.told_by_others(2)[0].tolist() == [0]
    nobody = PublicGroups(
        OccupiedCounts((WARD, DISEASE), (np.zeros(0, int), np.zeros(0, int)), np.zeros(0, int))
    )
    assert nobody.number == nobody.rows == 0
    assert nobody.told_by_shown(2)[0].shape == (0,)
    two = groups_of([(0, 0, 1), (1, 0, 1)])
    assert two.told_by_others(2)[0].tolist() == [1, 1]


def test_a_value_that_one_person_holds():
    """Of ten rows in pairs: odds of one in nine of the others, times nine."""
    groups = groups_of([(0, 0, 1), (0, 1, 1), (1, 1, 8)])
    before, after = groups.told_by_shown(2)
    assert after[0] == pytest.approx(9 * before[0] / (1 + 8 * before[0]))


def test_values_that_nobody_has_are_counted_too():
    """The last of three diseases, of groups by two other attributes."""
    groups = groups_of([(0, 1, 0, 2), (2, 0, 1, 3)], (WARD, SEX, DISEASE))
    assert groups.totals.tolist() == [2, 3, 0]
    assert groups.values.tolist() == [0, 1]
    assert groups_of([(0, 0, 2)], (SEX, DISEASE)).totals.tolist() == [2, 0, 0]
