"""Which published row is a person's own: groups of whom only some are asked about, and a draw at the very end of the range."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.laws.posterior import GroupBeliefs, GroupedRows

CHANNEL = np.array([[0.9, 0.1], [0.1, 0.9]])


class Steady:
    """Draws the same number, whatever is asked."""

    def __init__(self, number):
        self.number = number

    def random(self, size):
        """So much of the whole."""
        return np.full(size, self.number)


class Lowest:
    """Draws the smallest number there is, whatever is asked."""

    def random(self, size):
        """Nothing but 0."""
        return np.zeros(size)


def beliefs(counts, kept, channel=CHANNEL):
    """Of groups whose rows are as many of each value, so that half of their people have each."""
    rows = GroupedRows(np.arange(len(counts))[:, None], counts, channel, kept)
    return GroupBeliefs(rows, np.full(counts.shape, 1 / counts.shape[1]), 1.0)


def test_people_of_the_group_who_are_not_asked_about_are_like_it():
    """Two rows of twenty people are published, one in ten; six are asked about, all of the first value.

    Fourteen are left, half and half: beside one of the six stand 12 of the first value and 7 of the second, who show the first by
    0.9 * 12 + 0.1 * 7 = 11.5 and the second by 7.5. The own row shows the first with odds of 0.9 / 11.5 to 0.1 / 7.5. Required:
    the drawn shares within five standard errors of that, and one in ten of the rows published.
    """
    groups = 3_000
    some = beliefs(np.ones((groups, 2)), np.full(groups, 0.1))
    place = np.repeat(np.arange(groups), 6)
    shown = some._own_rows(np.arange(groups), place, np.zeros(len(place), np.int64), np.random.default_rng(3))
    is_in = shown >= 0
    assert set(shown[~is_in].tolist()) == {-1}
    assert abs(is_in.mean() - 0.1) < 5 * np.sqrt(0.1 * 0.9 / len(place))
    first = 0.9 / 11.5 / (0.9 / 11.5 + 0.1 / 7.5)
    assert abs((shown[is_in] == 0).mean() - first) < 5 * np.sqrt(first * (1 - first) / is_in.sum())


@pytest.mark.parametrize("values", [0, 1])
def test_a_draw_of_nothing_is_still_a_row_that_there_is(values):
    """The second value alone is published: the own row shows it, even where the number drawn is 0."""
    some = beliefs(np.array([[0.0, 3.0]]), np.ones(1))
    shown = some._own_rows(np.array([0]), np.array([0]), np.array([values]), Lowest())
    assert shown.tolist() == [1]


UNEVEN = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
"""The first value shows itself alone, and so does the last."""


@pytest.mark.parametrize(("drawn", "shown"), [(0.0, 1), (0.37, 1), (0.38, 2), (0.99, 2)])
def test_what_none_of_the_others_can_show_is_the_own_row(drawn, shown):
    """Four have the first value, and one the second, which alone shows the second and the third: by 0.3 and 0.5, 3 in 8 and 5 in 8."""
    some = beliefs(np.array([[3.0, 1.0, 1.0]]), np.ones(1), UNEVEN)
    values = np.array([0, 0, 0, 0, 1])
    found = some._own_rows(np.array([0]), np.zeros(5, np.int64), values, Steady(drawn))
    assert found.tolist() == [0, 0, 0, 0, shown]


@pytest.mark.parametrize(("drawn", "shown"), [(0.0, 0), (0.74, 0), (0.76, 1), (0.99, 1)])
def test_a_person_whose_value_no_row_shows_may_have_any(drawn, shown):
    """Nobody shows the third value, which shows itself alone: three rows in four show the first value, one the second."""
    some = beliefs(np.array([[3.0, 1.0, 0.0]]), np.ones(1), UNEVEN)
    found = some._own_rows(np.array([0]), np.zeros(4, np.int64), np.array([0, 0, 0, 2]), Steady(drawn))
    assert found.tolist() == [0, 0, 0, shown]
