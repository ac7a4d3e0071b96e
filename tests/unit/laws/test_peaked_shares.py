"""Shares of groups that have a value of their own: by loops over every group, peak and value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.laws import shrinkage as peaks
from sfumato.laws.shrinkage import can_have_peaks, peaked_shares, published_values

TOWN = np.array([[0.8, 0.2], [0.3, 0.7]])
JOB = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
PUBLISHED = np.array([[12.0, 3.0, 5.0], [2.0, 9.0, 0.0]])
PRIOR = np.array([[6.0, 1.0, 4.0], [3.0, 8.0, 2.0]])
PEAKS = [0.1 * each for each in range(1, 11)]


def peaked_by_loops(link, prior, rounds=12, steps=5, job=JOB, least_move=1e-3):
    """Every peak at every value, and none; how many groups have which, and what is left, by expectation and maximization."""
    kinds = [(peak, value) for peak in range(10) for value in range(3)] + [(None, None)]
    heights = [0.0 if peak is None else PEAKS[peak] for peak, _ in kinds]
    overall = prior.sum(axis=0) / prior.sum()
    left, probabilities, current = list(overall), [1 / 11] * 11, prior
    for _ in range(rounds):
        shown = link(current).reshape(-1, 3)
        shares = [
            [(1 - height) * left[each] + height * (each == value) for each in range(3)]
            for height, (_, value) in zip(heights, kinds, strict=True)
        ]
        seen = [[sum(share[true] * job[true, w] for true in range(3)) for w in range(3)] for share in shares]
        logs = [[sum(rows[w] * math.log(each[w]) for w in range(3)) for each in seen] for rows in shown]
        for _ in range(steps):
            posterior = []
            for of_group in logs:
                weights = [
                    (probabilities[10] if peak is None else probabilities[peak] * overall[value])
                    * math.exp(log - max(of_group))
                    for (peak, value), log in zip(kinds, of_group, strict=True)
                ]
                posterior.append([each / sum(weights) for each in weights])
            occupied = [each for each, rows in zip(posterior, shown, strict=True) if sum(rows) > 0]
            probabilities = [
                sum(
                    each[kind]
                    for each in occupied
                    for kind in range(31)
                    if kinds[kind][0] == (None if peak == 10 else peak)
                )
                / len(occupied)
                for peak in range(11)
            ]
        expected = np.array(posterior) @ np.array(shares)
        rest = [
            sum(
                posterior[group][kind] * rows[w] * (1 - heights[kind]) * left[x] * job[x, w] / seen[kind][w]
                for group, rows in enumerate(shown)
                for kind in range(31)
                for w in range(3)
            )
            for x in range(3)
        ]
        before, left = left, [each / sum(rest) for each in rest]
        if sum(abs(new - old) for new, old in zip(left, before, strict=True)) <= least_move:
            break
        current = shown.sum(axis=1, keepdims=True) * expected
    return expected


def test_shares_to_expect_where_groups_have_peaks():
    """Of four groups, one without rows, which is like the others on average."""
    published = np.array([[30.0, 4.0, 0.0], [3.0, 25.0, 2.0], [10.0, 9.0, 6.0], [0.0, 0.0, 0.0]])
    found = peaked_shares(published, [None, JOB], published)
    np.testing.assert_allclose(found, peaked_by_loops(lambda _: published, published), rtol=1e-9)


@pytest.mark.parametrize("kept", [0.9, 0.97, 1 - 1e-6])
def test_rounds_end_when_what_is_left_moves_no_more(kept):
    """Groups that are nearly alike: a thousandth is moved before the twelfth round, and no round comes after."""
    published = np.array([[5.0, 3.0, 2.0], [50.0, 30.0, 20.0], [26.0, 14.0, 10.0]])
    job = kept * np.eye(3) + (1 - kept) / 3
    found = peaked_shares(published, [None, job], published)
    np.testing.assert_allclose(found, peaked_by_loops(lambda _: published, published, job=job), rtol=1e-9)
    # Where all rounds were made, it would be something else.
    whole = peaked_by_loops(lambda _: published, published, job=job, least_move=0.0)
    assert np.abs(found - whole).max() > 1e-5


def test_of_very_many_groups_a_part_says_what_is_left(monkeypatch):
    """Two hundred groups of three kinds: a fifth of them learns nearly what all of them do, and all are expected something."""
    kinds = np.array([[30.0, 4.0, 0.0], [3.0, 25.0, 2.0], [10.0, 9.0, 6.0]])
    published = kinds[np.random.default_rng(1).integers(0, 3, 200)]
    whole = peaked_shares(published, [None, JOB], published)
    monkeypatch.setattr(peaks, "LIKELIHOODS_TO_LEARN_FROM", 40 * 31)
    assert len(peaks._some(published)) == 40
    assert np.abs(peaked_shares(published, [None, JOB], published) - whole).max() < 0.05
    # Every group at most once, and the same ones every time.
    told_apart = np.arange(600.0).reshape(200, 3)
    assert len(np.unique(peaks._some(told_apart), axis=0)) == 40
    chosen = np.random.default_rng(0).choice(200, 40, replace=False)
    assert peaks._some(told_apart).tolist() == told_apart[chosen].tolist()
    # The same groups are expected the same.
    assert len(np.unique(peaked_shares(published, [None, JOB], published).round(9), axis=0)) == 3


@pytest.mark.parametrize("most", [10**6, 4 * 31])
def test_groups_by_two_attributes_have_the_peaks_of_groups_by_one(monkeypatch, most):
    """Two towns by three ages, none perturbed, or six groups in a row: all learned from, or four of them."""
    monkeypatch.setattr(peaks, "LIKELIHOODS_TO_LEARN_FROM", most)
    rows = np.array([[30.0, 4, 0], [3, 25, 2], [10, 9, 6], [1, 0, 7], [2, 2, 40], [5, 1, 1]])
    one = peaked_shares(rows, [None, JOB], rows)
    both = peaked_shares(rows.reshape(2, 3, 3), [None, None, JOB], rows.reshape(2, 3, 3))
    np.testing.assert_allclose(both.reshape(6, 3), one)


@pytest.mark.parametrize("relinks", [False, True])
def test_rows_that_are_linked_anew_are_those_of_all_groups(monkeypatch, relinks):
    """Of a part of the groups it is not known which rows are theirs; else a part may learn for all."""
    asked = []
    monkeypatch.setattr(peaks, "_some", lambda shown: asked.append(shown.shape) or shown)
    peaked_shares(PUBLISHED, [TOWN, JOB], PRIOR, relinks=relinks)
    assert asked == ([] if relinks else [(2, 3)])


def test_all_groups_are_judged_by_what_a_part_has_learned(monkeypatch):
    """Once, and without changing it: four of six groups learn, in steps of five; then all six are judged in one."""
    asked, own = [], peaks._posterior

    def posterior(shown, *given, steps=5):
        asked.append((len(shown), steps))
        return own(shown, *given, steps=steps)

    monkeypatch.setattr(peaks, "_posterior", posterior)
    monkeypatch.setattr(peaks, "LIKELIHOODS_TO_LEARN_FROM", 4 * 31)
    rows = np.array([[30.0, 4, 0], [3, 25, 2], [10, 9, 6], [1, 0, 7], [2, 2, 40], [5, 1, 1]])
    peaked_shares(rows, [None, JOB], rows)
    assert set(asked[:-1]) == {(4, 5)}
    assert asked[-1] == (6, 1)


def test_peaks_are_learned_from_a_million_likelihoods():
    """Ten values have a hundred peaks and none: 9,900 groups are learned from, and of one more not all."""
    shown = np.broadcast_to(np.ones(1), (9_901, 10))
    assert len(peaks._some(shown[1:])) == len(peaks._some(shown)) == 9_900


def test_what_is_left_is_not_what_peaks_make_of_it():
    """Six groups that have one value each, the first much larger: by hand, nobody has the first value but the first group.

    Of the first group's rows 100 in 110 have the first value and 10 the last one; of each other group 8 in 10 have the
    second and 2 the last one. Without the peaks all that is left is the last value. Were it the overall shares, two
    in three, the small groups would be expected to have the first value too.
    """
    published = np.array([[100.0, 0.0, 10.0]] + [[0.0, 8.0, 2.0]] * 5)
    found = peaked_shares(published, [None, None], published)
    assert found[1:, 0].max() < 0.02
    assert found[1:, 2].min() > 0.15


def test_groups_of_nobody_are_what_was_believed():
    """No rows at all: peaks are expected where values are frequent, so on average shares are the overall ones."""
    overall = np.array([5.0, 3.0, 2.0])
    found = peaked_shares(np.zeros((2, 3)), [None, JOB], np.array([overall, overall]))
    np.testing.assert_allclose(found, [overall / 10] * 2)


@pytest.mark.parametrize(
    ("groups", "values", "can"),
    [
        (5, 1, False),
        (5, 2, True),
        (5, 500, True),
        (5, 501, False),
        (3_998, 500, True),
        (4_000, 500, False),
        # One likelihood more than twenty million.
        (952_381, 2, False),
    ],
)
def test_where_every_peak_can_be_tried(groups, values, can):
    """Two to 500 values, with at most twenty million likelihoods: ten peaks of each value, and none."""
    assert can_have_peaks(groups, values) is can


@pytest.mark.parametrize("relinks", [False, True])
def test_rows_are_linked_by_the_prior_or_by_what_was_learned(relinks):
    """Once, or anew in every round; the values that have peaks are those of the prior."""

    def link(current):
        return published_values(PUBLISHED, [TOWN, JOB], current if relinks else PRIOR)

    found = peaked_shares(PUBLISHED, [TOWN, JOB], PRIOR, relinks=relinks)
    np.testing.assert_allclose(found, peaked_by_loops(link, PRIOR), rtol=1e-9)


def test_groups_by_two_attributes_of_which_one_is_true():
    """Two towns that were perturbed by two ages that were not, group by group."""
    published = np.stack([PUBLISHED, PUBLISHED[::-1] + 1], axis=1)
    prior = np.stack([PRIOR, 2 * PRIOR[:, ::-1]], axis=1)
    shown = published_values(published, [TOWN, None, JOB], prior)
    by_loops = peaked_by_loops(lambda _: shown, prior.reshape(4, 3)).reshape(2, 2, 3)
    np.testing.assert_allclose(peaked_shares(published, [TOWN, None, JOB], prior), by_loops, rtol=1e-9)
    # Nobody is believed to be anywhere: no share is divided by none.
    assert np.isfinite(peaked_shares(published, [TOWN, None, JOB], np.zeros((2, 2, 3)))).all()
