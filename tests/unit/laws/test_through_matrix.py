"""Beliefs by groups through a matrix, against every true table that a tiny group may have."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.laws.posterior import GroupBeliefs, GroupedRows, choose_concentration, compositions

CHANNEL = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
SURE_OF_PRIOR = 1e12
"""Rows of prior belief beside which published ones say nothing of the composition: then Bayes can be written out."""


def group(counts, kept=1.0, channel=CHANNEL):
    """One public group whose rows show these values."""
    return GroupedRows(np.array([[0]]), np.array([counts], float), channel, np.array([kept]))


def by_enumeration(prior, published):
    """Belief about a row picked at random, over all true values that all rows may have."""
    shown = [value for value, number in enumerate(published) for _ in range(number)]
    total = np.zeros(len(prior))
    for true in itertools.product(range(len(prior)), repeat=len(shown)):
        weight = math.prod(prior[t] * CHANNEL[t, w] for t, w in zip(true, shown, strict=True))
        for value in true:
            total[value] += weight / len(shown)
    return total / total.sum()


@pytest.mark.parametrize("published", [(1, 0, 0), (0, 2, 1), (1, 1, 1), (3, 0, 1)])
def test_a_member_of_a_group_is_believed_what_all_true_tables_say(published):
    """With a known composition the belief is the average over the rows, each by Bayes."""
    prior = np.array([0.5, 0.2, 0.3])
    beliefs = GroupBeliefs(group(published), prior[np.newaxis], SURE_OF_PRIOR).of_members(np.array([0]))
    np.testing.assert_allclose(beliefs[0], by_enumeration(prior, published), rtol=1e-6)


def test_a_unique_row_that_nothing_distorted_is_read_off():
    """However unlikely it was believed to be."""
    rows = group((0, 0, 1), channel=np.eye(3))
    beliefs = GroupBeliefs(rows, np.array([[1.0, 0.0, 0.0]]), 1.0).of_members(np.array([0]))
    assert beliefs[0].tolist() == [0, 0, 1]
    # Beside a group whose row was believed possible: each is judged by itself.
    two = GroupedRows(np.array([[0], [1]]), np.array([[0.0, 0, 1]] * 2), np.eye(3), np.ones(2))
    prior = np.array([[1.0, 0, 0], [0.2, 0.4, 0.4]])
    assert GroupBeliefs(two, prior, 1.0).of_members(np.arange(2)).tolist() == [[0, 0, 1]] * 2


def test_a_value_that_cannot_show_what_is_shown_leaves_the_others_as_likely_as_they_were():
    """Two of three values show the middle one as often as each other, and were believed two to one; the last shows itself alone."""
    channel = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    rows = GroupedRows(np.array([[0]]), np.array([[0.0, 1.0, 0.0]]), channel, np.ones(1))
    beliefs = GroupBeliefs(rows, np.array([[0.6, 0.3, 0.1]]), SURE_OF_PRIOR).of_members(np.array([0]))
    np.testing.assert_allclose(beliefs, [[2 / 3, 1 / 3, 0]], atol=1e-9)


def test_undistorted_rows_of_a_group_are_its_shares():
    """The own row left out of the composition and put back as evidence: neither counted twice nor lost."""
    rows = group((3, 1, 0), channel=np.eye(3))
    beliefs = GroupBeliefs(rows, np.full((1, 3), 1 / 3), 4.0).of_members(np.array([0]))
    np.testing.assert_allclose(beliefs[0], [0.75, 0.25, 0], atol=1e-12)


def test_somebody_who_may_be_outside_the_sample_is_half_like_the_group():
    """Belief of a member of whose group half was drawn: half of what its rows say, half of the composition."""
    prior, published = np.array([0.5, 0.2, 0.3]), (0, 2, 1)
    beliefs = GroupBeliefs(group(published, kept=0.5), prior[np.newaxis], SURE_OF_PRIOR)
    expected = 0.5 * by_enumeration(prior, published) + 0.5 * prior
    np.testing.assert_allclose(beliefs.of_members(np.array([0]))[0], expected, rtol=1e-6)


def test_without_the_own_row_the_others_are_what_is_left():
    """Two undistorted rows, one of each value: without the first there is the second, and one row of prior belief."""
    rows = group((1, 1), channel=np.eye(2))
    beliefs = GroupBeliefs(rows, np.array([[0.5, 0.5]]), 1.0)
    left, _ = beliefs.left_out(np.array([0, 0]), np.array([0, 1]), np.random.default_rng(1))
    np.testing.assert_allclose(left, [[0.25, 0.75], [0.75, 0.25]])


def test_which_row_is_the_own_one_is_drawn_as_often_as_the_matrix_says():
    """Two people with values 0 and 1, rows shown as 0 and 1: the first row is the first person's with odds 9 to 1 squared, 81 to 1.

    A third of them without the row of 1 would be a belief that nobody has; each is one of the two that somebody could have.
    """
    channel, prior = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0.5, 0.5])
    number = 20_000
    rows = GroupedRows(np.arange(number)[:, None], np.ones((number, 2)), channel, np.ones(number))
    without = [
        compositions(np.array([[0.0, 1.0]]), channel, prior[None], 2.0)[0],
        compositions(np.array([[1.0, 0.0]]), channel, prior[None], 2.0)[0],
    ]
    everybody = np.repeat(np.arange(number), 2), np.tile([0, 1], number)
    beliefs = GroupBeliefs(rows, np.tile(prior, (number, 1)), 2.0)
    left, before = beliefs.left_out(*everybody, np.random.default_rng(1))
    of_first = left[everybody[1] == 0]
    is_first_row = np.isclose(of_first, without[0]).all(axis=1)
    assert (is_first_row | np.isclose(of_first, without[1]).all(axis=1)).all()
    # Five standard errors of a share of 20,000.
    assert abs(is_first_row.mean() - 81 / 82) < 5 * np.sqrt(81 / 82 / 82 / number)
    np.testing.assert_allclose(before, np.tile(prior, (2 * number, 1)))


def test_a_row_that_none_of_the_others_can_show_is_the_own_one():
    """A matrix that keeps two values as they are: whose value is 0 shows 0, among others who cannot."""
    channel = np.array([[1.0, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    rows = group((1, 2, 1), channel=channel)
    beliefs = GroupBeliefs(rows, np.full((1, 3), 1 / 3), 1.0)
    left, _ = beliefs.left_out(np.zeros(4, int), np.array([0, 1, 1, 2]), np.random.default_rng(1))
    np.testing.assert_allclose(
        left[0], compositions(np.array([[0.0, 2, 1]]), channel, np.full((1, 3), 1 / 3), 1.0)[0]
    )


def test_somebody_outside_the_sample_leaves_the_group_as_it_is():
    """Of a group of whose rows half were drawn, half of the people have no row to leave out."""
    rows = group((3, 3, 0), kept=0.5)
    prior = np.full((1, 3), 1 / 3)
    beliefs = GroupBeliefs(rows, prior, 1.0)
    values = np.tile([0, 1], 2_000)
    left, _ = beliefs.left_out(np.zeros(4_000, int), values, np.random.default_rng(1))
    untouched = np.isclose(left, beliefs.compositions[0]).all(axis=1)
    assert abs(untouched.mean() - 0.5) < 5 * 0.5 / np.sqrt(4_000)


def test_groups_asked_for_again_are_answered_again():
    """People of one group share its cells; the order and number in which they are asked for do not matter."""
    generator = np.random.default_rng(3)
    counts = generator.integers(0, 4, (5, 3)).astype(float)
    counts[:, 0] += 1
    rows = GroupedRows(np.arange(5)[:, None], counts, CHANNEL, np.ones(5))
    beliefs = GroupBeliefs(rows, np.full((5, 3), 1 / 3), 2.0)
    once = beliefs.of_members(np.arange(5))
    for asked in ([4, 1, 4, 0], [4, 3, 2, 1, 0]):
        np.testing.assert_allclose(beliefs.of_members(np.array(asked)), once[asked])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any),
    st.floats(0.3, 1e4),
    st.lists(st.floats(0.05, 1), min_size=3, max_size=3),
)
def test_compositions_are_the_mode_of_the_posterior(counts, concentration, weights):
    """No small move from the fit to any corner raises the logarithm of the posterior by more than rounding."""
    prior = np.array(weights) / sum(weights)
    y = np.array(counts, float)

    def height(p):
        return float(y @ np.log(p @ CHANNEL) + concentration * (prior @ np.log(p)))

    found = compositions(y[None], CHANNEL, prior[None], concentration, steps=20_000)[0]
    np.testing.assert_allclose(found.sum(), 1)
    for corner in np.eye(3):
        # The stop at TOLERANCE leaves slopes of about the number of rows times it.
        moved = 0.999 * found + 0.001 * corner
        assert height(moved) <= height(found) + 1e-4 * (concentration + y.sum())


@pytest.mark.parametrize("true", [1.0, 10.0, 100.0, 300.0])
def test_the_concentration_is_that_of_the_groups(true):
    """Two thousand groups of thirty rows whose shares are Dirichlet around the prior: found within a factor of four.

    Nearly alike is not alike: at a hundred, counts of thirty rows vary by 1 + 29/101 times what chance does, which two thousand
    groups show.
    """
    generator = np.random.default_rng(5)
    prior = np.tile([0.5, 0.3, 0.2], (2_000, 1))
    shares = generator.dirichlet(true * prior[0], 2_000)
    counts = np.array([generator.multinomial(30, each) for each in shares]).astype(float)
    found = choose_concentration(counts, np.eye(3), prior, generator)
    assert true / 4 <= found <= true * 4


@pytest.mark.parametrize("chosen", [1e4, 1e3, 250.0, 60.0, 15.0, 4.0, 1.0, 0.3])
def test_every_concentration_is_chosen_where_it_fits(chosen):
    """Half of it is laid beside half of the rows, so that groups scattered by half of it are fitted best."""
    draw = np.random.default_rng(4)
    prior = np.array([0.5, 0.3, 0.2])
    shares = draw.dirichlet(chosen / 2 * prior, 400)
    counts = np.array([draw.multinomial(400, each) for each in shares]).astype(float)
    found = choose_concentration(counts, np.eye(3), np.tile(prior, (400, 1)), np.random.default_rng(2))
    assert found == chosen
