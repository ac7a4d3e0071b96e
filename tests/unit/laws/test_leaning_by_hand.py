"""What groups lean on, at the ends: siblings of two matrices, a single row that is kept, as many cells as can be tried."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.laws import cross_validation as judging
from sfumato.laws.cross_validation import Corrections, some_groups
from sfumato.laws.shrinkage import Leaning, leaning_counts, pooled_counts, siblings_together, what_is_said

JOB = np.array([[0.7, 0.3], [0.1, 0.9]])


def test_siblings_together_are_distorted_in_the_last_attribute_alone():
    """Two towns, two kept ages and two jobs: rows of both towns are added, and only jobs are left to undo."""
    counts = np.arange(8.0).reshape(2, 2, 2)
    together, left = siblings_together(counts, [JOB.T, None, JOB])
    assert together.tolist() == [[[4.0, 6.0], [8.0, 10.0]]]
    assert left[:-1] == [None, None]
    assert left[-1] is JOB


def test_a_single_row_that_is_kept_foretells_the_others():
    """One row of six kept, and the others like it: each is held to be certain, whose logarithm is 0."""
    six, five = np.array([[6.0, 0.0]]), np.array([[5.0, 0.0]])
    assert judging._judged(six, [None, None], five, [Leaning(4.0)]).tolist() == pytest.approx([0.0], abs=1e-6)


def test_strengths_are_tried_in_quarters():
    """From groups that are all alike to groups by themselves, each a quarter of the one before."""
    assert {first / second for first, second in itertools.pairwise(judging.STRENGTHS)} == {4.0}
    assert judging.STRENGTHS[0] > 1_000
    assert judging.STRENGTHS[-1] < 0.1


def test_people_set_aside_are_tried_in_order():
    """From nobody up to less than half, in steps of a twentieth or two; the rest believes as much or half as much again."""
    steps = np.diff(judging.ASIDE)
    assert judging.ASIDE[0] == 0.0
    assert judging.ASIDE[-1] < 0.5
    assert np.isclose(steps[:, None], [0.05, 0.1]).any(axis=1).all()
    assert judging.POWERS[0] == 1.0
    assert max(judging.POWERS) < 2


@pytest.mark.parametrize(("groups", "taken"), [(1_000_000, 1_000_000), (1_000_001, 1_000_000)])
def test_a_million_cells_choose_for_all(groups, taken):
    """And not one more."""
    published = np.broadcast_to(np.ones(1), (groups, 1))
    assert len(some_groups(published, np.random.default_rng(0))) == taken


def test_steps_of_a_trial_are_shared_out_to_the_last_cell(monkeypatch):
    """Five hundred million cells: of half a million in five folds under ten leanings, twenty steps and not nineteen."""
    used = []
    monkeypatch.setattr(
        judging,
        "pooled_counts",
        lambda counts, *_, steps, **__: used.append(steps) or np.ones(counts.shape),
    )
    counts = np.broadcast_to(np.ones(1), (50_000, 10))
    judging._judged(counts, [None, None], np.broadcast_to(np.zeros(1), counts.shape), [Leaning(1.0)] * 10)
    assert set(used) == {20}


def test_groups_that_lean_on_attributes_lean_on_what_these_say():
    """With as many rows as is said: half of what a group of eight rows has, and half of what its categories say."""
    counts = np.array([[9.0, 1.0], [3.0, 3.0], [3.0, 3.0], [1.0, 9.0]])
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    by_itself = Leaning(1e-6)
    leans = Leaning(10.0, attributes=(by_itself, by_itself), aside=0.5)
    found = leaning_counts(counts, [None, None], leans, codes=codes)
    # The categories say nine in ten, and of half of the people nothing: 0.7. Ten rows of it beside the own nine in ten.
    np.testing.assert_allclose(found[0], 10 * np.array([(9 + 7) / 20, (1 + 3) / 20]), rtol=1e-4)


def test_a_fit_ends_after_three_hundred_steps():
    """Of values that were nearly drawn anew, which take longer."""
    nearly = np.array([[0.52, 0.48], [0.48, 0.52]])
    published = np.array([[55.0, 45.0], [47.0, 53.0]])
    fits = [pooled_counts(published, [None, nearly], 0.01, steps=steps) for steps in (299, 300, 301)]
    found = pooled_counts(published, [None, nearly], 0.01)
    assert [np.array_equal(found, each) for each in fits] == [False, True, False]


@pytest.mark.parametrize(
    ("shape", "has_peaks"),
    [((600, 2), True), ((2, 600, 2), True), ((2, 600), False), ((2, 2, 600), False), ((600, 1), False)],
)
def test_peaks_are_tried_of_few_values_in_however_many_groups(shape, has_peaks):
    """Every strength without them first, the strongest first, then every one with them."""
    tried = judging._leanings(np.ones(shape), relinks=True)
    plain = [Leaning(rows) for rows in judging.STRENGTHS]
    peaked = [Leaning(rows, has_peaks=True, relinks=True) for rows in judging.STRENGTHS]
    assert tried == (plain + peaked if has_peaks else plain)
    assert not any(each.relinks for each in judging._leanings(np.ones(shape), relinks=False))


@pytest.mark.parametrize("has_peaks", [False, True])
def test_siblings_of_too_many_groups_have_no_peaks_either(monkeypatch, has_peaks):
    """Where a part of the groups chose peaks, and all of them are too many to try every one."""
    chosen = Leaning(30.0, siblings=Leaning(9.0, has_peaks=True))
    monkeypatch.setattr(judging, "choose_leaning", lambda *_, **__: chosen)
    monkeypatch.setattr(judging, "judge_strengths", lambda *_, **__: [Corrections.none()])
    monkeypatch.setattr(judging, "_and_stronger", lambda rows: [rows])
    monkeypatch.setattr(
        judging, "can_have_peaks", lambda groups, values: (groups, values) == (6, 2) and has_peaks
    )
    published = np.array([[[9.0, 1], [8, 2], [5, 5]], [[1, 9], [3, 7], [0, 9]]])
    matrices = [None, 0.7 * np.eye(3) + 0.1, JOB]
    found = judging.fit_groups(published, matrices, np.random.default_rng(0))
    with_peaks, without = (
        leaning_counts(published, matrices, Leaning(30.0, siblings=each))
        for each in (Leaning(9.0, has_peaks=True), Leaning(9.0))
    )
    assert np.abs(with_peaks - without).max() > 0.01
    np.testing.assert_allclose(found, with_peaks if has_peaks else without)


def test_what_attributes_say_is_tried_with_256_rows_and_then_with_every_strength(monkeypatch):
    """First how far to believe it, by all powers and all shares set aside, then how many rows of it; after all other leanings."""
    asked = []

    def best(_published, _matrices, _folds, tried, _codes):
        asked.append(tried)
        return tried[-1]

    monkeypatch.setattr(judging, "_best", best)
    counts = np.array([[9.0, 1.0], [3.0, 3.0], [3.0, 3.0], [1.0, 9.0]])
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    found = judging.choose_leaning(counts, [None, None], np.random.default_rng(0), codes=codes)
    strengths = list(judging.STRENGTHS)
    # Both attributes by themselves, then the groups, then the groups as their attributes say.
    assert [len(each) for each in asked] == [18, 18, 18 + 16, 9]
    assert [each.rows for each in asked[2]] == 2 * strengths + 16 * [256.0]
    assert {(each.power, each.aside) for each in asked[2][18:]} == set(
        itertools.product(judging.POWERS, judging.ASIDE)
    )
    assert all(each.relinks for each in asked[0][9:])
    assert [each.rows for each in asked[3]] == strengths
    assert {(each.power, each.aside) for each in asked[3]} == {(1.5, 0.4)}
    assert found.rows == strengths[-1]


def test_overall_shares_are_read_through_the_matrix_of_the_last_attribute():
    """60 of the first job and 40 of the second show 60 * 0.7 + 40 * 0.1 = 46 rows of the first, whatever towns were drawn by."""
    published = np.array([[[10.0, 14], [13, 13]], [[11, 12], [12, 15]]])
    town = np.array([[0.5, 0.5], [0.4, 0.6]])
    overall, said = what_is_said(published, [None, town, JOB], (Leaning(1.0),), None)
    assert overall.shape == said.shape == published.shape
    np.testing.assert_allclose(overall, np.broadcast_to([0.6, 0.4], published.shape), atol=2e-3)
