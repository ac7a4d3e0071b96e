"""Partial pooling: between every group by itself and all groups alike."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.estimates.counts import most_likely
from sfumato.laws import cross_validation as judging
from sfumato.laws.cross_validation import STRENGTHS, choose_leaning
from sfumato.laws.shrinkage import Leaning, leaning_counts, linked_counts, pooled_counts, shares_with_overall
from sfumato.randomness.distortion import contract, transposed, uniform_with_diagonal

MATRICES = [uniform_with_diagonal(0.7, 3).on_axis, uniform_with_diagonal(0.6, 2).on_axis]
TRUTH = np.array([[400.0, 100.0], [150.0, 150.0], [50.0, 350.0]])


def test_a_hand_worked_fixed_point_without_perturbation():
    """Rows 6 and 2 beside overall shares 1/2 and 1/2 with four rows: (6 + 2)/12 of eight."""
    found = pooled_counts(np.array([[6.0, 2.0], [2.0, 6.0]]), [None, None], 4.0)
    assert np.allclose(found, [[8 * 8 / 12, 8 * 4 / 12], [8 * 4 / 12, 8 * 8 / 12]])


def test_without_overall_rows_the_fit_is_the_most_likely_table():
    """Plain expectation-maximization, from the law's own routine."""
    published = contract(TRUTH, MATRICES)
    back = [transposed(each) for each in MATRICES]
    plain = most_likely(
        published,
        lambda x: contract(x, MATRICES),
        lambda y: contract(y, back),
        np.full(TRUTH.shape, TRUTH.sum() / TRUTH.size),
    )
    # Both stop when a step moves little; 1,200 rows and a tolerance of 1e-5 leave less than a row.
    assert np.allclose(pooled_counts(published, MATRICES, 1e-9, steps=5_000), plain, atol=1)


def test_with_very_many_overall_rows_all_groups_are_alike():
    """And the overall shares are those of the data: 600 of 1,200."""
    found = pooled_counts(contract(TRUTH, MATRICES), MATRICES, 1e9, steps=5_000)
    assert np.allclose(found[:, 0] / found.sum(axis=1), 0.5, atol=1e-3)


@pytest.mark.parametrize("overall_rows", [0.1, 10.0, 1_000.0])
def test_the_total_is_kept(overall_rows):
    """No row is lost or invented."""
    assert pooled_counts(TRUTH, MATRICES, overall_rows).sum() == pytest.approx(1_200)


def test_linking_the_expected_publication_returns_the_prior():
    """Bayes with the right prior changes nothing on average."""
    assert np.allclose(linked_counts(contract(TRUTH, MATRICES), MATRICES, TRUTH), TRUTH)


def test_groups_without_rows_get_the_overall_shares():
    """Which the many rows of the other group decide."""
    assert np.allclose(shares_with_overall(np.array([[0.0, 0.0], [30.0, 10.0]]), 1e-9)[0], [0.75, 0.25])


def test_too_few_rows_to_hold_any_out_lean_as_far_as_possible():
    """Nothing can be judged by nothing."""
    found = choose_leaning(np.zeros((2, 2)), [None, None], np.random.default_rng(0))
    assert found == Leaning(STRENGTHS[0])


@pytest.mark.parametrize("seed", range(3))
def test_five_rows_are_held_out_in_turn_and_four_are_not(seed):
    """Two groups of one value each: with a row for every fifth they lean on themselves, else on each other."""
    five, four = np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([[2.0, 0.0], [0.0, 2.0]])
    assert choose_leaning(five, [None, None], np.random.default_rng(seed)).rows < 1
    assert choose_leaning(four, [None, None], np.random.default_rng(seed)) == Leaning(STRENGTHS[0])


@pytest.mark.filterwarnings("error")
def test_a_part_that_has_every_row_judges_nothing(monkeypatch):
    """One time in 625 all of five rows are dealt to one part: nothing is left to fit, so that groups lean as far as possible."""
    five = np.array([[3.0, 0.0], [0.0, 2.0]])
    monkeypatch.setattr(judging, "_dealt", lambda *_: iter([0 * five, five, 0 * five, 0 * five, 0 * five]))
    found = choose_leaning(five, [None, None], np.random.default_rng(0))
    assert found == Leaning(STRENGTHS[0])


def test_the_choice_follows_what_published_rows_bear_out():
    """Groups alike lean on all, groups that differ by themselves; perturbed, 100 groups of 200 rows."""
    generator = np.random.default_rng(3)
    matrices = [None, uniform_with_diagonal(0.6, 2).on_axis]
    alike, different = np.full((100, 2), 100.0), np.array([[200.0, 0.0], [0.0, 200.0]] * 50)
    chosen = [
        choose_leaning(
            generator.poisson(contract(truth, matrices)).astype(float), matrices, np.random.default_rng(0)
        )
        for truth in (alike, different)
    ]
    assert chosen[0].rows >= 64
    assert chosen[1].has_peaks or chosen[1].rows <= 1


def test_a_group_with_a_value_of_its_own_leans_on_such_groups():
    """Twenty groups of 40 rows, each with a value that nine in ten have: shares by themselves are noise, by peaks not.

    Every value is somebody's peak, so that overall shares say nothing. Mean distance to the truth, half kept.
    """
    generator = np.random.default_rng(4)
    matrix = [None, uniform_with_diagonal(0.5, 5).on_axis]
    truth = np.full((20, 5), 1.0)
    truth[np.arange(20), np.arange(20) % 5] = 36.0
    published = generator.poisson(contract(truth, matrix)).astype(float)

    def distance(leaning):
        found = leaning_counts(published, matrix, leaning)
        return np.abs(found / found.sum(axis=1, keepdims=True) - truth / 40).sum(axis=1).mean()

    assert distance(Leaning(64.0, has_peaks=True)) < 0.5 * distance(Leaning(0.25))
    assert distance(Leaning(64.0, has_peaks=True)) < 0.5 * distance(Leaning(64.0))


def test_siblings_lean_on_each_other():
    """Forty towns with a value of their own that seven in ten have in each of six perturbed parts: parts lean on their town.

    Rows are linked to the part that shows their value most; leaning on peaks alone makes large parts purer, and small ones
    more mixed, than they are. Required: published rows choose the siblings, whose shares are then nearer to the truth.
    """
    generator = np.random.default_rng(5)
    matrices = [None, *(uniform_with_diagonal(0.5, size).on_axis for size in (6, 12))]
    parts = np.array([150.0, 30.0, 30.0, 30.0, 30.0, 30.0])
    shares = np.full((40, 12), 0.3 / 11)
    shares[np.arange(40), np.arange(40) % 12] = 0.7
    truth = parts[None, :, None] * shares[:, None, :]
    published = generator.poisson(contract(truth, matrices)).astype(float)
    chosen = choose_leaning(published, matrices, np.random.default_rng(0))
    assert chosen.siblings is not None

    def distance(leaning):
        found = shares_with_overall(leaning_counts(published, matrices, leaning), 1e-9)
        return np.abs(found - shares[:, None, :]).sum(axis=2).mean()

    assert distance(chosen) < 0.5 * distance(Leaning(256.0, has_peaks=True))


def test_without_anything_left_as_it_is_there_are_no_siblings():
    """All groups would be siblings, and the overall shares are theirs."""
    found = choose_leaning(np.round(contract(TRUTH, MATRICES)), MATRICES, np.random.default_rng(0))
    assert found.siblings is None


@pytest.mark.parametrize("rows", [4096.0, 1024.0, 256.0, 64.0, 16.0, 4.0, 1.0, 0.25, 0.0625])
def test_groups_lean_by_as_many_rows_as_they_are_scattered_by(rows):
    """Three hundred groups of four hundred rows whose shares are Dirichlet: every quarter of a strength is told from the next."""
    draw = np.random.default_rng(3)
    shares = draw.dirichlet(rows * np.array([0.5, 0.3, 0.2]), 300)
    counts = np.array([draw.multinomial(400, each) for each in shares]).astype(float)
    found = choose_leaning(counts, [None, None], np.random.default_rng(1))
    assert found == Leaning(rows)
