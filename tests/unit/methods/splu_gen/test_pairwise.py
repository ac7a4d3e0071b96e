"""Reconstruction one value at a time: the worked examples of the paper, corrected and as printed."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.splu_gen.law import iterate, pairwise_count, paper_fixed_point, show_probability

HIV = np.array([[[4.0, 1.0], [3.0, 1.0]]])
"""Nine rows in groups of three; outside and inside P, without and with the value. The truth is 1."""

TRUE_STATES = np.array([560.0, 40.0, 340.0, 60.0])
"""A thousand rows in groups of five: outside P without and with the value, inside P likewise."""


def closed_form(shown, selected, count, rows, gamma):
    """The corrected closed form on plain numbers."""
    return float(pairwise_count(np.array(shown), np.array(selected), np.array(count), rows, gamma))


def test_the_corrected_closed_form_on_the_published_example():
    """Chance .190476 and 5/3 rows inside P with the value."""
    assert float(show_probability(np.array(2.0), 9, 3)) == pytest.approx(0.190476, abs=1e-6)
    assert closed_form(1.0, 4.0, 2.0, 9, 3) == pytest.approx(1.66667, abs=1e-5)


def test_the_paper_s_matrix_ends_at_its_own_fixed_point():
    """1.58579, and the tight iteration finds the same four states."""
    assert paper_fixed_point(1, 4, 2, 9, 3) == pytest.approx(1.58579, abs=1e-5)
    states, _ = iterate(HIV, [3], tolerance=1e-12)
    assert np.allclose(states.ravel(), [4.82843, 0.17157, 2.41421, 1.58579], atol=1e-5)


def test_the_one_percent_stop_halts_the_paper_s_iteration_early():
    """1.26114 after 45 rounds."""
    states, rounds = iterate(HIV, [3])
    assert states[0, 1, 1] == pytest.approx(1.26114, abs=1e-5)
    assert rounds.tolist() == [45]


def test_the_tight_corrected_iteration_is_the_closed_form():
    """Where all states are positive: (4.66667, .33333, 2.33333, 1.66667)."""
    states, _ = iterate(HIV, [3], transition="corrected", tolerance=1e-13)
    assert np.allclose(states.ravel(), [4.66667, 0.33333, 2.33333, 1.66667], atol=1e-5)


@pytest.mark.parametrize(
    ("transition", "expected", "total"),
    [("paper", (536, 64, 354, 46), 110), ("corrected", (542.222, 57.778, 357.778, 42.222), 100)],
)
def test_expected_published_counts(transition, expected, total):
    """The printed matrix makes 110 of 100 rows show the value; the corrected one 100."""
    chance = float(show_probability(np.array(100.0), 1000, 5, transition=transition))
    block = np.array([[1 - chance, chance], [0.8, 0.2]])
    published = (TRUE_STATES.reshape(2, 2) @ block).ravel()
    assert np.allclose(published, expected, atol=5.1e-4)
    assert published[[1, 3]].sum() == pytest.approx(total)


def test_each_form_inverts_its_own_expectation():
    """60 rows both ways; the paper's form on the true expectation gives 56.259."""
    assert closed_form(42.2222222, 400.0, 100.0, 1000, 5) == pytest.approx(60, abs=1e-5)
    assert paper_fixed_point(46, 400, 110, 1000, 5) == pytest.approx(60, abs=1e-9)
    assert paper_fixed_point(42.2222222, 400, 100, 1000, 5) == pytest.approx(56.259, abs=5e-4)


def test_whole_published_counts():
    """(542, 58, 358, 42): 58.000 corrected, 54.2373 as printed."""
    assert closed_form(42.0, 400.0, 100.0, 1000, 5) == pytest.approx(58.0)
    assert paper_fixed_point(42, 400, 100, 1000, 5) == pytest.approx(54.2373, abs=5e-5)


def test_the_one_percent_stop_returns_nearly_the_published_count():
    """On the exact mean of the mechanism it halts after one round at 42.45, where the truth is 60."""
    published = np.array([[[542.2222222, 57.7777778], [357.7777778, 42.2222222]]])
    states, rounds = iterate(published, [5], transition="corrected")
    assert states[0, 1, 1] == pytest.approx(42.45, abs=5e-3)
    assert rounds.tolist() == [1]


def test_two_attributes_are_a_product_of_matrices():
    """Independent states of a second attribute leave the first one's answer as it was."""
    second = np.array([0.7, 0.3])
    joint = HIV[..., None] * second
    states, _ = iterate(joint, [3, 2], transition="corrected", tolerance=1e-12)
    alone, _ = iterate(HIV, [3], transition="corrected", tolerance=1e-12)
    assert np.allclose(states.sum(axis=-1), alone, rtol=1e-6)


def test_an_empty_state_stays_empty_and_does_not_stop_the_others():
    """No row shows the value inside P, so the answer is 0."""
    states, _ = iterate(np.array([[[5.0, 2.0], [3.0, 0.0]]]), [3])
    assert states[0, 1, 1] == 0
    assert np.isfinite(states).all()


def test_many_queries_at_once_are_answered_like_each_alone():
    """Two attributes, three queries: each goes by its own matrices and stops by itself."""
    published = (
        np.array([[5.0, 2.0], [3.0, 1.0]])[None, ..., None]
        * np.array([[4, 6], [7, 2], [5, 5]])[:, None, None]
    )
    together, rounds = iterate(published, [3, 2])
    for place, alone in enumerate(published):
        states, number = iterate(alone[None], [3, 2])
        assert np.allclose(together[place], states[0], rtol=1e-12)
        assert rounds[place] == number[0]
