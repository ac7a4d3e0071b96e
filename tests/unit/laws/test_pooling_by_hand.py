"""Pooling and peaks, number by number: the formulas with loops, on two groups and three values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.laws import cross_validation as judging
from sfumato.laws.cross_validation import Corrections, choose_leaning, fit_groups, some_groups
from sfumato.laws.shrinkage import (
    Leaning,
    attribute_shares,
    leaning_counts,
    linked_counts,
    peaked_shares,
    pooled_counts,
    published_values,
)
from sfumato.randomness.distortion import contract, uniform_with_diagonal

TOWN = np.array([[0.8, 0.2], [0.3, 0.7]])
JOB = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
PUBLISHED = np.array([[12.0, 3.0, 5.0], [2.0, 9.0, 0.0]])
PRIOR = np.array([[6.0, 1.0, 4.0], [3.0, 8.0, 2.0]])
CELLS = [(town, job) for town in range(2) for job in range(3)]


def chance(true, shown):
    """Of showing one cell, being another."""
    return TOWN[true[0], shown[0]] * JOB[true[1], shown[1]]


def linked(prior, published=PUBLISHED):
    """Published rows by true cell, each by Bayes."""
    found = np.zeros((2, 3))
    for shown in CELLS:
        total = sum(prior[each] * chance(each, shown) for each in CELLS)
        for true in CELLS:
            found[true] += published[shown] * prior[true] * chance(true, shown) / total
    return found


def test_rows_are_linked_by_bayes():
    """Two attributes, both distorted."""
    np.testing.assert_allclose(linked_counts(PUBLISHED, [TOWN, JOB], PRIOR), linked(PRIOR))


def test_cells_that_nothing_can_show_link_nothing():
    """A prior of nobody: no row, and no warning."""
    empty = np.array([[0.0, 0.0], [3.0, 5.0]])
    assert linked_counts(np.array([[2.0, 0.0], [1.0, 1.0]]), [None, None], empty).tolist() == [[0, 0], [1, 1]]
    assert published_values(np.array([[2.0, 0.0], [1.0, 1.0]]), [None, None], empty).tolist() == [
        [0, 0],
        [1, 1],
    ]


def test_published_values_of_the_rows_of_a_true_group():
    """The town by Bayes, the job as it was published."""
    found = np.zeros((2, 3))
    for shown in CELLS:
        total = sum(PRIOR[each] * chance(each, shown) for each in CELLS)
        for true in CELLS:
            found[true[0], shown[1]] += PUBLISHED[shown] * PRIOR[true] * chance(true, shown) / total
    np.testing.assert_allclose(published_values(PUBLISHED, [TOWN, JOB], PRIOR), found)


def test_groups_by_two_perturbed_attributes():
    """Rows of every town, age and job shown, by Bayes to every one that they may be: linked, and with the job as shown."""
    age = np.array([[0.6, 0.4], [0.1, 0.9]])
    generator = np.random.default_rng(1)
    published, prior = generator.integers(0, 9, (2, 2, 3)).astype(float), generator.random((2, 2, 3))
    linked, shown_values = np.zeros((2, 2, 3)), np.zeros((2, 2, 3))
    for shown in np.ndindex(2, 2, 3):
        weights = {
            true: prior[true] * TOWN[true[0], shown[0]] * age[true[1], shown[1]] * JOB[true[2], shown[2]]
            for true in np.ndindex(2, 2, 3)
        }
        for true, weight in weights.items():
            rows = published[shown] * weight / sum(weights.values())
            linked[true] += rows
            shown_values[true[0], true[1], shown[2]] += rows
    matrices = [TOWN, age, JOB]
    np.testing.assert_allclose(linked_counts(published, matrices, prior), linked)
    np.testing.assert_allclose(published_values(published, matrices, prior), shown_values)


def test_groups_by_two_attributes_of_which_one_is_true():
    """Each category of the true one is a table of its own."""
    published = np.stack([PUBLISHED, PUBLISHED[::-1] + 1], axis=1)
    prior = np.stack([PRIOR, 2 * PRIOR[:, ::-1]], axis=1)
    found = published_values(published, [TOWN, None, JOB], prior)
    for place in range(2):
        alone = published_values(published[:, place], [TOWN, JOB], prior[:, place])
        np.testing.assert_allclose(found[:, place], alone)


@pytest.mark.parametrize("is_toward", [False, True])
def test_one_step_of_a_pooled_fit(is_toward):
    """Seven rows of the overall shares, or of what each group leans on, beside those linked to it."""
    toward = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    start = linked(PRIOR)
    shares = toward if is_toward else start.sum(axis=0) / start.sum()
    groups = start.sum(axis=1, keepdims=True)
    expected = groups * (start + 7 * shares) / (groups + 7)
    options = {"toward": toward} if is_toward else {}
    found = pooled_counts(PUBLISHED, [TOWN, JOB], 7.0, start=PRIOR, steps=1, **options)
    np.testing.assert_allclose(found, expected)
    # Without a start all cells are alike, with the rows that there are.
    even = pooled_counts(PUBLISHED, [TOWN, JOB], 7.0, steps=1, **options)
    np.testing.assert_allclose(
        even, pooled_counts(PUBLISHED, [TOWN, JOB], 7.0, start=np.full((2, 3), 31 / 6), steps=1, **options)
    )


def test_a_fit_stops_where_a_step_moves_a_hundred_thousandth_of_the_rows():
    """It goes on where the last step moved more: the result moves by less, and an earlier one by more."""
    found = pooled_counts(PUBLISHED, [TOWN, JOB], 4.0)
    number = next(
        each
        for each in range(1, 300)
        if np.array_equal(pooled_counts(PUBLISHED, [TOWN, JOB], 4.0, steps=each), found)
    )
    path = [pooled_counts(PUBLISHED, [TOWN, JOB], 4.0, steps=each) for each in range(number - 2, number + 1)]
    moves = [np.abs(after - before).sum() for before, after in itertools.pairwise(path)]
    assert moves[1] <= 1e-5 * PUBLISHED.sum() < moves[0]


def test_a_leaning_with_peaks_is_worked_out_twice_from_sixteen_rows():
    """From the fit without peaks, then from the fit with them."""
    matrices = [None, JOB]
    current = pooled_counts(PUBLISHED, matrices, 16.0)
    for _ in range(2):
        toward = peaked_shares(PUBLISHED, matrices, current)
        current = pooled_counts(PUBLISHED, matrices, 30.0, toward=toward, start=current)
    found = leaning_counts(PUBLISHED, matrices, Leaning(30.0, has_peaks=True))
    np.testing.assert_allclose(found, current)
    once = pooled_counts(
        PUBLISHED,
        matrices,
        30.0,
        toward=peaked_shares(PUBLISHED, matrices, pooled_counts(PUBLISHED, matrices, 16.0)),
    )
    assert np.abs(once - current).max() > 1e-3


@pytest.mark.parametrize("steps", [150, 3])
def test_a_leaning_is_chosen_by_the_rows_held_out(monkeypatch, steps):
    """With the same fifths, dealt by the same generator: log probability of each fifth under the fit to the others.

    After few steps a fit still shows what it started from: nothing, the fit before peaks, or that of the strength before.
    """
    monkeypatch.setattr(judging, "STEPS_OF_A_TRIAL", steps)
    published = np.array([[9.0, 1.0, 0.0], [1.0, 8.0, 2.0], [3.0, 3.0, 6.0], [7.0, 0.0, 1.0]])
    matrices = [None, JOB]
    generator, left = np.random.default_rng(3), published.astype(int)
    folds = []
    for remaining in (5, 4, 3, 2, 1):
        part = generator.binomial(left, 1 / remaining)
        left = left - part
        folds.append(part)
    strengths = (4096.0, 1024.0, 256.0, 64.0, 16.0, 4.0, 1.0, 0.25, 0.0625)
    fits = {}
    for held_out in folds:
        kept = published - held_out
        before = pooled_counts(kept, matrices, 16.0, steps=steps)
        toward = peaked_shares(kept, matrices, before)
        for has_peaks in (False, True):
            current = before if has_peaks else None
            for strength in strengths:
                current = pooled_counts(
                    kept,
                    matrices,
                    0.8 * strength,
                    toward=toward if has_peaks else None,
                    start=current,
                    steps=steps,
                )
                shown = current @ JOB / kept.sum()
                fits.setdefault(Leaning(strength, has_peaks), []).append(
                    sum(held_out[cell] * math.log(shown[cell]) for cell in np.ndindex(4, 3) if held_out[cell])
                )
    totals = {tried: sum(each) for tried, each in fits.items()}
    chosen = choose_leaning(published, matrices, np.random.default_rng(3))
    assert chosen == max(totals, key=totals.get)
    tried = list(totals)
    judged = judging._judged(published, matrices, folds[1].astype(float), tried)
    np.testing.assert_allclose(judged, [fits[each][1] for each in tried])


@pytest.mark.parametrize(("size", "steps"), [(10, 150), (10**6, 11), (2 * 10**6, 10), (8 * 10**4, 138)])
def test_large_tables_get_fewer_steps(monkeypatch, size, steps):
    """Five hundred million cells over all trials of nine leanings in five folds, between 10 and 150 steps each."""
    used = []
    monkeypatch.setattr(
        judging,
        "pooled_counts",
        lambda counts, *_, steps, **__: used.append(steps) or np.ones(counts.shape),
    )
    counts = np.broadcast_to(np.ones(1), (size // 10, 10))
    held_out = np.broadcast_to(np.zeros(1), counts.shape)
    judging._judged(counts, [None, None], held_out, [Leaning(1.0)] * 9)
    assert set(used) == {steps}


def test_a_part_of_very_many_groups_decides(monkeypatch):
    """So many that a million cells hold them, at random and each at most once; all where they are fewer."""
    published = np.arange(12.0).reshape(6, 2)
    assert some_groups(published, np.random.default_rng(0)).tolist() == list(range(6))
    monkeypatch.setattr(judging, "CELLS_OF_A_CHOICE", 12)
    assert some_groups(published, np.random.default_rng(0)).tolist() == list(range(6))
    monkeypatch.setattr(judging, "CELLS_OF_A_CHOICE", 7)
    found = some_groups(published, np.random.default_rng(0)).tolist()
    assert len(set(found) & set(range(6))) == len(found) == 3
    monkeypatch.setattr(judging, "CELLS_OF_A_CHOICE", 1)
    assert some_groups(published, np.random.default_rng(0)).shape == (1,)


def test_groups_are_fitted_with_the_leaning_that_a_part_of_them_chose(monkeypatch):
    """With its peaks where all groups are few enough to have any, without them else; the part with its own categories."""
    asked = []

    def choose(published, _matrices, _generator, *, codes):
        asked.append((published, codes))
        return Leaning(30.0, has_peaks=True)

    def judge(published, _matrices, tried, _generator, *, codes):
        asked.append((published, codes))
        return [Corrections.none() for _ in tried]

    monkeypatch.setattr(judging, "choose_leaning", choose)
    monkeypatch.setattr(judging, "judge_strengths", judge)
    monkeypatch.setattr(judging, "_and_stronger", lambda rows: [rows])
    monkeypatch.setattr(judging, "CELLS_OF_A_CHOICE", 3)
    matrices, codes = [None, JOB], np.array([[7, 1], [8, 2]])
    found = fit_groups(PUBLISHED, matrices, np.random.default_rng(0), codes=codes)
    assert len(asked) == 2
    for published, known in asked:
        place = int(known[0, 0]) - 7
        assert (published == PUBLISHED[[place]]).all()
        assert (known == codes[[place]]).all()
    np.testing.assert_allclose(found, leaning_counts(PUBLISHED, matrices, Leaning(30.0, has_peaks=True)))
    monkeypatch.setattr(judging, "can_have_peaks", lambda groups, values: (groups, values) != (2, 3))
    found = fit_groups(PUBLISHED, matrices, np.random.default_rng(0))
    np.testing.assert_allclose(found, leaning_counts(PUBLISHED, matrices, Leaning(30.0)))


def test_what_categories_say_of_values_is_multiplied():
    """By hand, nothing distorted: 8 and 4 rows; one attribute that was not perturbed and one with an axis of its own.

    Among the 8 of the first value 6 have the first category of one attribute, and 2 of the other; of the 4 of the
    second value, 1 and 3. In the first group of both: 2/3 * 6/8 * 2/8 against 1/3 * 1/4 * 3/4, which is 2 to 1.
    """
    published = np.array([[[1.0, 1.0], [5.0, 0.0]], [[1.0, 2.0], [1.0, 1.0]]])
    by_itself = Leaning(1e-9)
    plain = Leaning(4.0, attributes=(by_itself, by_itself))
    codes, matrices = np.array([[5], [9]]), [None, np.eye(2), np.eye(2)]
    found = attribute_shares(published, matrices, plain, codes=codes)
    odds = 2 / 3 * 6 / 8 * 2 / 8, 1 / 3 * 1 / 4 * 3 / 4
    np.testing.assert_allclose(found[0, 0], np.array(odds) / sum(odds), rtol=1e-6)
    np.testing.assert_allclose(found.sum(axis=-1), 1.0)
    # The evidence squared, a quarter of the people aside.
    careful = attribute_shares(published, matrices, plain._replace(power=2.0, aside=0.25), codes=codes)
    sharper = np.array([2 / 3 * (6 / 8 * 2 / 8) ** 2, 1 / 3 * (1 / 4 * 3 / 4) ** 2])
    np.testing.assert_allclose(
        careful[0, 0], 0.75 * sharper / sharper.sum() + 0.25 * np.array([2 / 3, 1 / 3]), rtol=1e-6
    )
    # Of the other category 6 in 8 and 1 in 4: squared, what both say is 9^2 times as strong for the first value, not 9 times.
    squared = np.array([2 / 3 * (6 / 8 * 6 / 8) ** 2, 1 / 3 * (1 / 4 * 1 / 4) ** 2])
    np.testing.assert_allclose(
        careful[0, 1], 0.75 * squared / squared.sum() + 0.25 * np.array([2 / 3, 1 / 3]), rtol=1e-6
    )
    # Groups lean on it with as many rows as is said, here with none of their own: 4 of 4 rows.
    empty = published * np.array([0.0, 1.0]).reshape(2, 1, 1)
    np.testing.assert_allclose(leaning_counts(empty, matrices, plain, codes=codes)[0].sum(), 0.0, atol=1e-6)


@pytest.mark.parametrize("perturbed", [False, True])
def test_groups_lean_on_their_categories_where_published_rows_bear_it_out(perturbed):
    """Values whose categories are independent of each other, 60 groups of a few rows each; and where they are not."""
    generator = np.random.default_rng(5)
    values = generator.integers(0, 4, 3_000)
    codes = [
        np.where(generator.random(3_000) < 0.6, values, generator.integers(0, size, 3_000))
        for size in (6, 10)
    ]
    counts = np.zeros((6, 10, 4))
    np.add.at(counts, (*codes, values), 1.0)
    if perturbed:
        matrices = [None, uniform_with_diagonal(0.8, 10).on_axis, uniform_with_diagonal(0.8, 4).on_axis]
        published = generator.poisson(contract(counts, matrices)).astype(float)
        found = choose_leaning(published, matrices, generator, codes=np.arange(6)[:, None])
    else:
        groups = np.indices((6, 10)).reshape(2, -1).T
        found = choose_leaning(counts.reshape(60, 4), [None, None], generator, codes=groups)
    assert len(found.attributes) == 2
    # Six in ten of a value have its own category of either attribute, which rows are linked by anew.
    assert all(each.has_peaks and each.relinks for each in found.attributes)
    # Which value two categories go with together says nothing of each alone.
    either = np.zeros((6, 10, 4))
    np.add.at(either, (codes[0], codes[1], (codes[0] + codes[1]) % 4), 1.0)
    groups = np.indices((6, 10)).reshape(2, -1).T
    assert not choose_leaning(either.reshape(60, 4), [None, None], generator, codes=groups).attributes
