"""Published rows by public group: counted once each, with the chance that a row of the table is among them."""

from __future__ import annotations

import numpy as np

from array_tables import ArrayTable
from sampled_rows import DISTORTION, SCHEMA, law
from sfumato.laws.posterior import GroupBeliefs, GroupedRows, compositions
from sfumato.methods.splu_gen.law import DecoyRows

# Ten women and thirty men in place a, thirty men in place b, by job.
BLOCKS = [(0, 0, (4, 3, 2, 1)), (0, 1, (12, 6, 6, 6)), (1, 1, (30, 0, 0, 0))]


def table():
    """The rows of the blocks; the note is the job but for the last, which is the first again."""
    counts = np.concatenate([each[2] for each in BLOCKS])
    codes = {
        "place": np.repeat(np.repeat([each[0] for each in BLOCKS], 4), counts),
        "sex": np.repeat(np.repeat([each[1] for each in BLOCKS], 4), counts),
        "note": np.repeat(np.tile([0, 1, 2, 0], 3), counts),
        "job": np.repeat(np.tile(np.arange(4), 3), counts),
    }
    return ArrayTable(SCHEMA, {name: each.astype(np.uint8) for name, each in codes.items()})


def test_rows_of_cut_groups_are_counted_as_those_that_were_drawn():
    """Cut to ten: the women as they are, each man for three; in place a 20 of 40 rows were drawn."""
    found = law(rows_per_group=10.0).grouped_rows(table(), ("place",), "job")
    assert found.combinations.tolist() == [[0], [1]]
    np.testing.assert_allclose(found.counts, [[4 + 4, 3 + 2, 2 + 2, 1 + 2], [10, 0, 0, 0]])
    np.testing.assert_allclose(found.kept, [20 / 40, 10 / 30])
    np.testing.assert_allclose(found.channel, DISTORTION.dense())


def test_without_public_attributes_all_rows_are_one_group():
    """Of a single combination of nothing."""
    found = GroupedRows.of(table().count_occupied(["job"]), (), "job", np.eye(4))
    assert found.combinations.shape == (1, 0)
    assert found.counts.tolist() == [[46, 9, 8, 7]]
    assert found.kept.tolist() == [1]


def test_values_that_were_not_perturbed_are_seen_as_they_are():
    """The note of the same drawn rows, whatever their job; by sex, women first."""
    found = law(rows_per_group=10.0).grouped_rows(table(), ("sex",), "note")
    assert found.combinations.tolist() == [[0], [1]]
    np.testing.assert_allclose(found.counts, [[5, 3, 2], [6 + 10, 2, 2]])
    np.testing.assert_allclose(found.kept, [1, 1 / 3])
    np.testing.assert_allclose(found.channel, np.eye(3))


def test_perturbed_public_values_and_groups_as_secrets_leave_no_such_rows():
    """Neither is a secret seen through one matrix by true public values."""
    assert law().grouped_rows(table(), ("job",), "note") is None
    assert law().grouped_rows(table(), ("note",), "sex") is None
    decoys = DecoyRows(gamma_by_attribute={"job": 2})
    assert decoys.grouped_rows(table(), ("place", "job"), "note") is None


def test_decoys_are_seen_through_the_matrix_of_the_published_margin():
    """All rows are there; what was not drawn is seen as it is."""
    decoys = DecoyRows(gamma_by_attribute={"job": 2})
    found = decoys.grouped_rows(table(), ("place",), "note")
    np.testing.assert_allclose(found.counts, [[16 + 7, 9, 8], [30, 0, 0]])
    np.testing.assert_allclose(found.channel, np.eye(3))
    assert found.kept.tolist() == [1, 1]
    even = {"place": [0, 1] * 600, "sex": [0] * 1200, "note": [0] * 1200, "job": [0, 1, 2, 3] * 300}
    rows = ArrayTable(SCHEMA, {name: np.array(each, np.uint8) for name, each in even.items()})
    found = decoys.grouped_rows(rows, ("place",), "job")
    assert found.counts.tolist() == [[300, 0, 300, 0], [0, 300, 0, 300]]
    # Groups of two: half of the rows show their own value, the others one of the three others.
    np.testing.assert_allclose(found.channel, np.full((4, 4), 1 / 6) + np.eye(4) * (1 / 2 - 1 / 6))


CHANNEL = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]])
"""The second value shows as the first or as the third."""


def left_out(counts, people, *, seed):
    """What is believed of people of one group with these values, without their own rows."""
    rows = GroupedRows(np.array([[0]]), np.array([counts], float), CHANNEL, np.ones(1))
    beliefs = GroupBeliefs(rows, np.array([[0.5, 0.3, 0.2]]), 2.0)
    generator = np.random.default_rng(seed)
    return beliefs.left_out(np.zeros(len(people), int), np.array(people), generator)[0]


def of_others(*counts):
    """The composition of a group of these published rows."""
    return compositions(np.array([counts], float), CHANNEL, np.array([[0.5, 0.3, 0.2]]), 2.0)[0]


def test_what_none_of_the_others_can_show_is_the_own_row():
    """Two people of the first value and one of the second; the third is published once, and only the last can show it."""
    for seed in range(30):
        found = left_out((2, 0, 1), (0, 0, 1), seed=seed)
        np.testing.assert_allclose(found[2], of_others(2, 0, 0))
        np.testing.assert_allclose(found[:2], [of_others(1, 0, 1)] * 2)


def test_where_few_are_asked_about_the_rest_is_like_the_group():
    """One person of the second value among three rows: by odds T / (c T), with c the composition of the group."""
    shown = of_others(2, 0, 1) @ CHANNEL
    odds = np.array([2 * 0.5 / shown[0], 1 * 0.5 / shown[2]])
    taken = [np.allclose(left_out((2, 0, 1), (1,), seed=seed)[0], of_others(1, 0, 1)) for seed in range(600)]
    chance = odds[0] / odds.sum()
    # Five standard errors of 600 draws.
    assert abs(np.mean(taken) - chance) < 5 * np.sqrt(chance * (1 - chance) / 600)
    assert abs(chance - 2 / 3) > 0.1
