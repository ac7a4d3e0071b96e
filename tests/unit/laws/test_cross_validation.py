"""How far likeliest values are believed: by hand, by loops over every correction, and where nothing can be said."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.laws import cross_validation as judging
from sfumato.laws import cross_validation as surest
from sfumato.laws.cross_validation import (
    CERTAIN,
    TRIED,
    UNCHANGED,
    Corrections,
    fit_groups,
    judge_corrections,
    judge_strengths,
    some_groups,
)
from sfumato.laws.shrinkage import Leaning, leaning_counts, pooled_counts

KEPT = np.array([[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]])


def only(*numbers):
    """Corrections of which some count, all alike: triples of offset, slope and ceiling."""
    weights = np.zeros(len(TRIED))
    for each in numbers:
        (place,) = np.flatnonzero(np.isclose(TRIED, each).all(axis=1))
        weights[place] = 1 / len(numbers)
    return Corrections(weights)


def test_what_is_tried():
    """Offsets by quarters, slopes by thirds of a doubling, ceilings by twentieths; one of all changes nothing."""
    assert TRIED.shape == (9 * 8 * 7, 3)
    np.testing.assert_allclose(TRIED.min(axis=0), [-1, 0.5, 0.7])
    np.testing.assert_allclose(TRIED.max(axis=0), [1, 2 ** (4 / 3), 1])
    assert TRIED[UNCHANGED].tolist() == [0, 1, 1]


def test_a_correction_by_hand():
    """A share of .8, odds of 4: to the power of 1/2 they are 2, e^(1/2) times that a share of .7673; nine tenths of it are .6906.

    The other values had .2 of the rows and have .3094, in the same proportion; the group keeps its 40 rows.
    """
    share = 0.9 / (1 + 0.5 * math.exp(-0.5))
    found = only((0.5, 0.5, 0.9)).apply(np.array([[2.0, 32.0, 6.0]]))
    np.testing.assert_allclose(found, [[10 * (1 - share), 40 * share, 30 * (1 - share)]])


def test_corrections_are_averaged():
    """Two of which each counts a half: the mean of what either believes."""
    one, other = (0.25, 2.0, 0.8), (-0.5, 1.0, 1.0)
    shares = np.array([0.3, 0.9])
    expected = (only(one).believed(shares) + only(other).believed(shares)) / 2
    np.testing.assert_allclose(only(one, other).believed(shares), expected)


@pytest.mark.parametrize("at_once", [1, 5, 1_000])
def test_parts_are_all_of_it(monkeypatch, at_once):
    """However many numbers are worked on at a time, of groups and of rows held out."""
    fit = np.random.default_rng(5).random((4, 3)) + 0.1
    rows = np.random.default_rng(6).integers(0, 9, (4, 3)).astype(float)
    shares = np.linspace(0.2, 0.9, 6).reshape(2, 3)
    whole = judge_corrections([fit], [rows], [None, KEPT])
    monkeypatch.setattr(surest, "NUMBERS_AT_ONCE", at_once)
    found = judge_corrections([fit], [rows], [None, KEPT])
    np.testing.assert_allclose(found.weights, whole.weights)
    np.testing.assert_allclose(found.believed(shares), whole.believed(shares))
    assert found.believed(shares).shape == (2, 3)


def test_what_hardly_counts_is_left_out():
    """Below a ten-thousandth of the largest weight; the rest is scaled to one."""
    weights = np.zeros(len(TRIED))
    weights[UNCHANGED], weights[0] = 1 - 5e-5, 5e-5
    np.testing.assert_allclose(Corrections(weights).believed(np.array([0.8])), [0.8], rtol=1e-12)
    weights[UNCHANGED], weights[0] = 1 - 5e-4, 5e-4
    assert Corrections(weights).believed(np.array([0.8]))[0] < 0.7999


def test_no_correction_changes_nothing():
    """Nor does any where one value is all there is, or nobody is there."""
    counts = np.array([[2.0, 32.0, 6.0], [1.0, 1.0, 1.0]])
    np.testing.assert_allclose(Corrections.none().apply(counts), counts)
    certain = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    assert only((-1.0, 0.5, 0.7)).apply(certain).tolist() == certain.tolist()
    assert only((-1.0, 0.5, 0.7)).apply(np.array([[4.0], [0.0]])).tolist() == [[4.0], [0.0]]


def test_what_is_certain_stays_so():
    """From all but a billionth on, the end included; a little less is corrected."""
    sure = np.array([[CERTAIN, 1 - CERTAIN]])
    assert sure.sum() == 1
    assert only((1.0, 1.0, 1.0)).apply(sure).tolist() == sure.tolist()
    less = np.array([[1 - 1e-8, 1e-8]])
    found = only((1.0, 1.0, 1.0)).apply(less)
    np.testing.assert_allclose(found[0, 1], 1 / (1 + math.e * 1e8), rtol=1e-6)


def test_the_likeliest_value_stays_the_likeliest():
    """A belief is lowered to that in the second value at most: of .4, .35 and .25 both then have 35 of 95."""
    found = only((-1.0, 1.0, 0.7)).apply(np.array([[40.0, 35.0, 25.0]]))
    np.testing.assert_allclose(found, [[100 * 35 / 95, 100 * 35 / 95, 100 * 25 / 95]])


def test_groups_on_several_axes_are_corrected_one_by_one():
    """In the shape that they have."""
    counts = np.arange(1.0, 13.0).reshape(2, 2, 3)
    correction = only((0.5, 2.0, 0.9), (0.25, 1.0, 0.8))
    np.testing.assert_allclose(
        correction.apply(counts), correction.apply(counts.reshape(4, 3)).reshape(2, 2, 3)
    )


def log_weight(numbers, fits, parts, town):
    """The formula, cell by cell: log probability of rows held out, less squares in units of one half and tenths below one.

    Groups are on two axes, of which the second was distorted by ``town``.
    """
    offset, slope, ceiling = numbers
    total = -(offset**2 + math.log(slope) ** 2) / (2 * 0.5**2) - (1 - ceiling) / 0.1
    for fit, rows in zip(fits, parts, strict=True):
        corrected = np.zeros(fit.shape)
        for place in np.ndindex(fit.shape[:-1]):
            group, likeliest = fit[place], int(fit[place].argmax())
            share = group[likeliest] / group.sum()
            believed = ceiling / (1 + math.exp(-offset) * (share / (1 - share)) ** -slope)
            corrected[place] = group * (1 - believed) / (1 - share)
            corrected[(*place, likeliest)] = group.sum() * believed
        shown = np.einsum("gtv,ts,vw->gsw", corrected, town, KEPT) / fit.sum()
        total += float((rows * np.log(shown)).sum())
    return total


@pytest.mark.parametrize("is_perturbed", [False, True])
def test_weights_by_loops(is_perturbed):
    """Every correction tried, on two parts of four groups in two towns; shares are hundredths, so that levels are exact.

    Where towns were perturbed, rows of all towns count for all groups.
    """
    town = np.array([[0.8, 0.2], [0.3, 0.7]]) if is_perturbed else np.eye(2)
    generator = np.random.default_rng(4)
    fits = [
        np.array([[[60, 20, 20], [10, 70, 20]], [[40, 31, 29], [25, 25, 50]]], float),
        np.array([[[55, 25, 20], [12, 80, 8]], [[30, 34, 36], [0.5, 0.5, 99]]], float),
    ]
    parts = [generator.multinomial(30, [0.6, 0.3, 0.1], (2, 2)).astype(float) for _ in fits]
    found = judge_corrections(fits, parts, [None, town if is_perturbed else None, KEPT])
    expected = np.array([log_weight(each, fits, parts, town) for each in TRIED])
    weights = np.exp(expected - expected.max())
    np.testing.assert_allclose(found.weights, weights / weights.sum(), rtol=1e-6)
    # The mean probability over what is expected beforehand, of which the numbers above are the logarithm up to a factor.
    beforehand = np.exp([log_weight(each, [], [], town) for each in TRIED])
    evidence = expected.max() + math.log(weights.sum()) - math.log(beforehand.sum())
    assert found.evidence == pytest.approx(evidence)


@pytest.mark.parametrize("rows", [0, 2])
def test_few_rows_correct_little(rows):
    """A belief is the mean over all corrections, by what is expected beforehand times the chance that the rows show the value.

    Three in five believed, of rows that show their value with .7 and any other with .15: two rows move the belief by three points.
    """
    fit = np.array([[6.0, 2.0, 2.0]])
    found = judge_corrections([fit], [np.array([[float(rows), 0.0, 0.0]])], [None, KEPT])
    every = TRIED[:, 2] / (1 + np.exp(-TRIED[:, 0]) * 1.5 ** -TRIED[:, 1])
    weights = np.exp(-(TRIED[:, 0] ** 2 + np.log(TRIED[:, 1]) ** 2) / 0.5 - 10 * (1 - TRIED[:, 2]))
    weights *= (0.15 + 0.55 * every) ** rows
    expected = float(weights @ every / weights.sum())
    # Those below a ten-thousandth of the largest weight are left out.
    assert found.believed(np.array([0.6]))[0] == pytest.approx(expected, abs=1e-4)
    assert expected == pytest.approx({0: 0.566, 2: 0.598}[rows], abs=1e-3)


def test_a_plateau_is_found():
    """Groups believed from .4 to .95 of which none has more than .8: the purest are no longer believed more than others."""
    believed = np.array([0.4, 0.6, 0.7, 0.8, 0.9, 0.95])
    true = np.array([0.2, 0.6, 0.8, 0.8, 0.8, 0.8])
    fit = np.stack([believed, 1 - believed], axis=1) * 1_000
    rows = np.stack([true, 1 - true], axis=1) * 1_000
    judged = judge_corrections([fit], [rows], [None, None])
    found = judged.believed(believed)
    np.testing.assert_allclose(found[2:], 0.8, atol=0.05)
    assert found[5] - found[3] < 0.02
    # Those without a ceiling believe the purest groups most.
    without = np.where(TRIED[:, 2] == 1, judged.weights, 0.0)
    assert Corrections(without / without.sum()).believed(believed)[5] > 0.85


@pytest.mark.filterwarnings("error")
def test_groups_that_nobody_was_left_in_correct_nothing():
    """All their rows were held out: whatever is believed of nobody, the rows are as unlikely."""
    nobody = judge_corrections([np.zeros((1, 2))], [np.array([[2.0, 1.0]])], [None, None])
    nothing = judge_corrections([np.ones((1, 2))], [np.zeros((1, 2))], [None, None])
    np.testing.assert_allclose(nobody.weights, nothing.weights)


@pytest.mark.parametrize("cells", [100_000, 6])
def test_strengths_are_judged_by_fits_to_four_fifths(monkeypatch, cells):
    """With four fifths of the rows leant on beside them, from sixteen overall rows; of many groups by a part of them."""
    judged = []
    monkeypatch.setattr(judging, "judge_corrections", lambda *given: judged.append(given))
    monkeypatch.setattr(judging, "CELLS_OF_A_CORRECTION", cells)
    rows = np.random.default_rng(2).multinomial(30, [0.6, 0.3, 0.1], 6).astype(float)
    folds = np.random.default_rng(3).multinomial(1, [0.2] * 5, (6, 3)).transpose(2, 0, 1) * rows
    monkeypatch.setattr(judging, "_dealt", lambda *_: iter(folds))
    part = some_groups(rows, np.random.default_rng(0), cells)
    assert len(part) == min(6, cells // 3)
    judge_strengths(rows, [None, KEPT], [Leaning(5.0), Leaning(20.0)], np.random.default_rng(0))
    assert len(judged) == 2
    for strength, (fits, held_out, matrices) in zip((4.0, 16.0), judged, strict=True):
        assert [each is None for each in matrices] == [True, False]
        for fit, fold, found in zip(fits, folds, held_out, strict=True):
            start = pooled_counts(rows - fold, [None, KEPT], 16.0, steps=150)
            expected = pooled_counts(rows - fold, [None, KEPT], strength, start=start, steps=150)
            np.testing.assert_allclose(fit, expected[part], rtol=1e-9)
            np.testing.assert_array_equal(found, fold[part])


def test_too_few_rows_or_too_many_perturbed_groups_correct_nothing(monkeypatch):
    """Four rows cannot be held out in five parts; groups that share rows cannot be judged by some of them.

    What was chosen then counts alone.
    """
    tried = [Leaning(1.0), Leaning(4.0), Leaning(16.0)]
    few = judge_strengths(np.ones((2, 2)), [None, None], tried, np.random.default_rng(0))
    assert [each.weights[UNCHANGED] for each in few] == [1, 1, 1]
    assert [each.evidence for each in few] == [0, -math.inf, -math.inf]
    found = fit_groups(np.ones((2, 2)), [None, None], np.random.default_rng(0))
    np.testing.assert_allclose(found, leaning_counts(np.ones((2, 2)), [None, None], Leaning(4096.0)))
    monkeypatch.setattr(judging, "CELLS_OF_A_CORRECTION", 6)
    rows = np.full((4, 3), 9.0)
    town = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    for first, is_judged in ((None, True), (town, False)):
        found = judge_strengths(rows, [first, KEPT], [Leaning(1.0)], np.random.default_rng(0))
        assert (found[0].weights[UNCHANGED] == 1) != is_judged


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (64.0, [64, 256, 1024, 4096]),
        (1024.0, [1024, 4096]),
        (4096.0, [4096]),
        (5e3, [5e3]),
        (0.25, [0.25, 1, 4, 16]),
    ],
)
def test_which_strengths_are_believed(rows, expected):
    """The one that was chosen, and up to sixty-four times as strong ones."""
    assert judging._and_stronger(rows) == expected


def test_beliefs_are_the_mean_over_strengths(monkeypatch):
    """In proportion to the probability that each gives to rows held out; below a thousandth it is left out."""
    evidence = {16.0: math.log(0.6), 64.0: math.log(0.2), 256.0: math.log(1e-4)}
    twice = only((0.5, 1.0, 1.0))

    def judge(_published, _matrices, tried, _generator, *, codes):
        assert codes is None
        return [Corrections(twice.weights, evidence.get(each.rows, -1e3)) for each in tried]

    monkeypatch.setattr(judging, "choose_leaning", lambda *_, **__: Leaning(16.0))
    monkeypatch.setattr(judging, "judge_strengths", judge)
    rows = np.random.default_rng(2).multinomial(30, [0.6, 0.3, 0.1], 6).astype(float)
    one, other = (twice.apply(leaning_counts(rows, [None, KEPT], Leaning(each))) for each in (16.0, 64.0))
    found = fit_groups(rows, [None, KEPT], np.random.default_rng(0))
    np.testing.assert_allclose(found, 0.75 * one + 0.25 * other)


@pytest.mark.parametrize("groups", [100_000, 100_001])
def test_a_hundred_thousand_cells_judge_a_correction(monkeypatch, groups):
    """And not one more; nothing is fitted here."""
    judged = []
    monkeypatch.setattr(judging, "judge_corrections", lambda fits, *_: judged.append(len(fits[0])))
    monkeypatch.setattr(judging, "pooled_counts", lambda published, *_, **__: published)
    monkeypatch.setattr(judging, "leaning_counts", lambda published, *_, **__: published)
    rows = np.broadcast_to(np.ones(1), (groups, 1))
    monkeypatch.setattr(judging, "_dealt", lambda *_: iter([0 * rows]))
    judge_strengths(rows, [None, None], [Leaning(1.0)], np.random.default_rng(0))
    assert judged == [100_000]
