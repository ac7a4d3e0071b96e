"""How far likeliest values are believed: by hand, by trying every correction, and where nothing can be said."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.laws.believing import judging
from sfumato.laws.believing.group_pooling import pooled_counts
from sfumato.laws.believing.judging import choose_leaning, some_groups
from sfumato.laws.believing.leaning import Leaning, leaning_counts
from sfumato.laws.believing.surest import CERTAIN, Correction, choose_correction

KEPT = np.array([[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]])


def test_a_correction_by_hand():
    """A share of .8, odds of 4: to the power of 1/2 they are 2, times e^log(3/2) they are 3, a share of .75.

    The other values had .2 of the rows and have .25, in the same proportion; the group keeps its 40 rows.
    """
    found = Correction(offset=math.log(1.5), slope=0.5).apply(np.array([[2.0, 32.0, 6.0]]))
    np.testing.assert_allclose(found, [[2.5, 30.0, 7.5]])


def test_no_correction_changes_nothing():
    """Nor does any where one value is all there is, or nobody is there."""
    counts = np.array([[2.0, 32.0, 6.0], [1.0, 1.0, 1.0]])
    np.testing.assert_allclose(Correction().apply(counts), counts)
    certain = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    assert Correction(offset=-1.0, slope=0.3).apply(certain).tolist() == certain.tolist()


def test_what_is_certain_stays_so():
    """From all but a billionth on, the end included; a little less is corrected."""
    sure = np.array([[CERTAIN, 1 - CERTAIN]])
    assert sure.sum() == 1
    assert Correction(1.0, 1.0).apply(sure).tolist() == sure.tolist()
    less = np.array([[1 - 1e-8, 1e-8]])
    np.testing.assert_allclose(Correction(1.0, 1.0).apply(less)[0, 1], 1 / (1 + math.e * 1e8), rtol=1e-6)


def test_groups_on_several_axes_are_corrected_one_by_one():
    """In the shape that they have."""
    counts = np.arange(1.0, 13.0).reshape(2, 2, 3)
    correction = Correction(0.4, 1.3)
    np.testing.assert_allclose(
        correction.apply(counts), correction.apply(counts.reshape(4, 3)).reshape(2, 2, 3)
    )


def unlikely(correction, fits, parts):
    """The formula, cell by cell: log probability of rows held out, less the squares in units of one half."""
    total = (correction.offset**2 + (correction.slope - 1) ** 2) / (2 * 0.5**2)
    for fit, rows in zip(fits, parts, strict=True):
        corrected = correction.apply(fit)
        for group, shown in np.ndindex(rows.shape):
            chance = sum(corrected[group, true] * KEPT[true, shown] for true in range(3)) / fit.sum()
            total -= rows[group, shown] * math.log(chance)
    return total


def test_no_other_correction_is_likelier():
    """All of a grid of 31 by 31 are tried, on two parts of four groups that are purer than they were fitted."""
    fits = [
        np.array([[6.0, 2.0, 2.0], [1.0, 7.0, 2.0], [4.0, 3.0, 3.0], [2.0, 2.0, 5.0]]),
        np.array([[5.0, 3.0, 2.0], [2.0, 7.0, 1.0], [3.0, 4.0, 3.0], [1.0, 2.0, 6.0]]),
    ]
    generator = np.random.default_rng(4)
    true = np.array([[0.8, 0.1, 0.1], [0.1, 0.9, 0.0], [0.4, 0.3, 0.3], [0.1, 0.1, 0.8]])
    parts = [np.array([generator.multinomial(30, each) for each in true @ KEPT], float) for _ in fits]
    found = choose_correction(fits, parts, [None, KEPT])
    grid = [
        unlikely(Correction(offset, slope), fits, parts)
        for offset in np.linspace(-1.5, 1.5, 31)
        for slope in np.linspace(0.0, 3.0, 31)
    ]
    assert unlikely(found, fits, parts) <= min(grid) + 0.01
    assert found.apply(fits[0])[1, 1] > fits[0][1, 1]


def test_few_rows_correct_little():
    """Two rows cannot move a belief far: a correction of one half is one standard deviation of what is expected."""
    fit = np.array([[6.0, 2.0, 2.0]])
    found = choose_correction([fit], [np.array([[2.0, 0.0, 0.0]])], [None, KEPT])
    assert 0 < found.offset < 0.2
    assert abs(found.slope - 1) < 0.1


def test_a_correction_weighs_rows_against_what_is_expected():
    """Two in three were believed; nine of ten rows held out show it, in two groups of ten.

    With x = offset + slope ln 2 the rows gain 18 - 20 p(x) for each step of x, which costs 4 offset, or 4 (slope - 1) / ln 2:
    so offset = t and slope = 1 + t ln 2 where 4 t = 18 - 20 p(ln 2 + t (1 + ln^2 2)), found by halving.
    """
    fit, rows = np.array([[20.0, 10.0], [10.0, 20.0]]), np.array([[9.0, 1.0], [1.0, 9.0]])
    low, high = 0.0, 2.0
    for _ in range(50):
        middle = (low + high) / 2
        share = 1 / (1 + math.exp(-math.log(2) - middle * (1 + math.log(2) ** 2)))
        low, high = (middle, high) if 18 - 20 * share > 4 * middle else (low, middle)
    found = choose_correction([fit], [rows], [None, None])
    assert found == pytest.approx((low, 1 + low * math.log(2)), abs=0.02)


@pytest.mark.filterwarnings("error")
def test_groups_that_nobody_was_left_in_correct_nothing():
    """All their rows were held out: whatever is believed of nobody, the rows are as unlikely."""
    found = choose_correction([np.zeros((1, 2))], [np.array([[2.0, 1.0]])], [None, None])
    assert found == pytest.approx((0, 1), abs=0.02)


def test_a_correction_is_looked_for_around_none(monkeypatch):
    """From none, and from half of what is expected in either number; sixty trials at most, to a hundredth."""
    asked = []

    def minimize(_loss, start, *, method, options):
        asked.append((tuple(start), method, options))
        return SimpleNamespace(x=np.array([0.125, 1.5]))

    monkeypatch.setattr("scipy.optimize.minimize", minimize)
    found = choose_correction([np.ones((1, 2))], [np.ones((1, 2))], [None, None])
    assert found == Correction(0.125, 1.5)
    ((start, method, options),) = asked
    assert (start, method) == ((0, 1), "Nelder-Mead")
    assert [tuple(each) for each in options["initial_simplex"]] == [(0, 1), (0.25, 1), (0, 1.25)]
    assert (options["maxfev"], options["xatol"], options["fatol"]) == (60, 0.01, 0.01)


def test_beliefs_are_corrected_where_groups_are_known(monkeypatch):
    """Of groups that were perturbed it is not known whose rows they are; their siblings together are corrected."""
    judged = []

    def choose(fits, held_out, matrices):
        judged.append((len(fits), fits[0].shape, [each is None for each in matrices]))
        assert sum(each.sum() for each in held_out) == rows.sum()
        return Correction(0.25, 1.5)

    monkeypatch.setattr(judging, "choose_correction", choose)
    rows = np.random.default_rng(2).multinomial(30, [0.6, 0.3, 0.1], (6, 2)).astype(float)
    town, codes = np.array([[0.8, 0.2], [0.2, 0.8]]), np.arange(6)[:, np.newaxis]
    both = choose_leaning(rows, [None, town, KEPT], np.random.default_rng(0), codes=codes)
    assert both.correction == Correction()
    assert judged == [(5, (6, 1, 3), [True, True, False])]
    alone = choose_leaning(rows.sum(axis=1), [None, KEPT], np.random.default_rng(0), codes=codes)
    assert alone.correction == Correction(0.25, 1.5)


@pytest.mark.parametrize("cells", [100_000, 6])
def test_a_correction_is_judged_by_fits_to_four_fifths(monkeypatch, cells):
    """With four fifths of the rows leant on beside them, from sixteen overall rows; of many groups by a part of them."""
    judged = []
    monkeypatch.setattr(judging, "choose_correction", lambda *given: judged.append(given))
    monkeypatch.setattr(judging, "CELLS_OF_A_CORRECTION", cells)
    rows = np.random.default_rng(2).multinomial(30, [0.6, 0.3, 0.1], 6).astype(float)
    folds = np.random.default_rng(3).multinomial(1, [0.2] * 5, (6, 3)).transpose(2, 0, 1) * rows
    part = some_groups(rows, np.random.default_rng(0), cells)
    assert len(part) == min(6, cells // 3)
    judging._correction(rows, [None, KEPT], list(folds), Leaning(5.0), None)
    ((fits, held_out, matrices),) = judged
    assert [each is None for each in matrices] == [True, False]
    for fit, fold, found in zip(fits, folds, held_out, strict=True):
        start = pooled_counts(rows - fold, [None, KEPT], 16.0, steps=150)
        expected = pooled_counts(rows - fold, [None, KEPT], 4.0, start=start, steps=150)
        np.testing.assert_allclose(fit, expected[part], rtol=1e-9)
        np.testing.assert_array_equal(found, fold[part])


@pytest.mark.parametrize("groups", [100_000, 100_001])
def test_a_hundred_thousand_cells_judge_a_correction(monkeypatch, groups):
    """And not one more; nothing is fitted here."""
    judged = []
    monkeypatch.setattr(judging, "choose_correction", lambda fits, *_: judged.append(len(fits[0])))
    monkeypatch.setattr(judging, "pooled_counts", lambda published, *_, **__: published)
    monkeypatch.setattr(judging, "leaning_counts", lambda published, *_, **__: published)
    rows = np.broadcast_to(np.ones(1), (groups, 1))
    judging._correction(rows, [None, None], [0 * rows], Leaning(1.0), None)
    assert judged == [100_000]


@pytest.mark.parametrize("has_peaks", [False, True])
def test_a_fit_is_corrected_at_its_end(has_peaks):
    """The same fit, corrected once."""
    published = np.array([[9.0, 1.0, 0.0], [1.0, 8.0, 2.0], [3.0, 3.0, 6.0]])
    plain = Leaning(16.0, has_peaks)
    found = leaning_counts(published, [None, KEPT], plain._replace(correction=Correction(0.3, 1.2)))
    np.testing.assert_allclose(
        found, Correction(0.3, 1.2).apply(leaning_counts(published, [None, KEPT], plain))
    )
