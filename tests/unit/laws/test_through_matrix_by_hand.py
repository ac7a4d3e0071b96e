"""Compositions of groups and the own row in them: the same formulas with loops, on groups of unequal sizes."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest

from sfumato.laws import posterior as through_matrix
from sfumato.laws.posterior import (
    CONCENTRATIONS,
    GroupBeliefs,
    GroupedRows,
    SharedPrior,
    Targets,
    choose_concentration,
    compositions,
    places_among,
)

CHANNEL = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
COUNTS = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 1.0, 4.0], [5.0, 3.0, 0.0]])
PRIOR = np.array([[0.5, 0.2, 0.3], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2]])
KEPT = np.array([1.0, 0.25, 0.5, 0.75])
CONCENTRATION = 2.0


def one_step(shares, counts, prior, concentration):
    """The step ``p <- (a q + sum over y of n_y p T[., y] / (pT)_y) / (a + n)``, one number at a time."""
    found = []
    for value in range(3):
        linked = 0.0
        for shown in range(3):
            chance = sum(shares[true] * CHANNEL[true, shown] for true in range(3))
            linked += counts[shown] * shares[value] * CHANNEL[value, shown] / chance
        found.append((concentration * prior[value] + linked) / (concentration + sum(counts)))
    return [each / sum(found) for each in found]


def composition(counts, prior, concentration, steps=400):
    """Many such steps; the prior where there are no rows."""
    return np.array(_composition(tuple(counts), tuple(prior), concentration, steps))


@cache
def _composition(counts, prior, concentration, steps):
    shares = list(prior)
    if sum(counts) > 0:
        for _ in range(steps):
            shares = one_step(shares, counts, prior, concentration)
    return shares


def test_one_step_of_a_fit():
    """From the prior and from a given start, of groups with and without rows."""
    start = np.array([[0.2, 0.3, 0.5]] * 2)
    counts = np.array([[3.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    found = compositions(counts, CHANNEL, PRIOR[:2], 2.0, steps=1)
    np.testing.assert_allclose(found, [one_step(PRIOR[0], counts[0], PRIOR[0], 2.0), PRIOR[1]])
    found = compositions(counts, CHANNEL, PRIOR[:2], 2.0, start=start, steps=1)
    np.testing.assert_allclose(found, [one_step(start[0], counts[0], PRIOR[0], 2.0), PRIOR[1]])
    assert start.tolist() == [[0.2, 0.3, 0.5]] * 2


def test_each_group_stops_by_itself():
    """Groups that converge at once and slowly, together: every one as if it were alone."""
    found = compositions(COUNTS, CHANNEL, PRIOR, CONCENTRATION)
    for group in range(4):
        alone = compositions(COUNTS[[group]], CHANNEL, PRIOR[[group]], CONCENTRATION)
        np.testing.assert_allclose(found[group], alone[0], rtol=1e-12)
        # A step of at most 1e-6 is left.
        np.testing.assert_allclose(
            found[group], composition(COUNTS[group], PRIOR[group], CONCENTRATION), atol=1e-4
        )


def test_impossible_values_stay_so_and_a_fit_of_them_is_a_number():
    """A value that the prior rules out, published by a matrix that changes nothing."""
    found = compositions(np.array([[0.0, 4.0]]), np.eye(2), np.array([[1.0, 0.0]]), 1.0)
    assert found.tolist() == [[1, 0]]


@pytest.mark.parametrize("seed", [7, 17, 42])
def test_the_concentration_is_chosen_by_one_half_of_the_rows_for_the_other(seed):
    """With the same halves, dealt by the same generator, and loops; groups of fewer than two rows are left out.

    By the last two seeds either half alone would choose another one, the first less or the first more.
    """
    generator = np.random.default_rng(12)
    truths = generator.dirichlet([1.5, 1.0, 0.5], 40)
    counts = np.array(
        [generator.multinomial(each % 7, share @ CHANNEL) for each, share in enumerate(truths)], float
    )
    prior = np.tile([0.5, 0.3, 0.2], (40, 1))
    useful = counts[counts.sum(axis=1) >= 2].astype(np.int64)
    half = np.random.default_rng(seed).binomial(useful, 0.5)
    fits = {}
    for concentration in (1e4, 1e3, 250.0, 60.0, 15.0, 4.0, 1.0, 0.3):
        fits[concentration] = 0.0
        for kept, held_out in ((half, useful - half), (useful - half, half)):
            for group in range(len(useful)):
                shares = composition(kept[group], prior[0], concentration / 2, steps=200)
                fits[concentration] += sum(
                    held_out[group][shown] * math.log(shares @ CHANNEL[:, shown]) for shown in range(3)
                )
    found = choose_concentration(counts, CHANNEL, prior, np.random.default_rng(seed))
    assert found == max(fits, key=fits.get)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # Rounded these are groups of two rows of one kind; cut off, of one row, which says nothing of another.
        ([[1.9, 0.1], [0.1, 1.9]] * 50, 0.3),
        ([[1.0, 0.0], [0.0, 1.0]] * 50, 1e4),
        ([[1.0, 1.0], [1.0, 1.0]] * 50, 1e4),
    ],
)
def test_what_groups_of_two_rows_say_of_the_concentration(counts, expected):
    """All alike within a group: the group decides. All different, or alone: the prior."""
    prior = np.full((100, 2), 0.5)
    assert choose_concentration(np.array(counts), np.eye(2), prior, np.random.default_rng(1)) == expected


def test_a_value_that_nobody_shows_or_is_believed_to_have_says_nothing():
    """Groups of one value each, and a third value that is impossible: they are believed by themselves, as without it."""
    counts = np.array([[20.0, 0.0, 0.0], [0.0, 20.0, 0.0]] * 30)
    prior = np.tile([0.5, 0.5, 0.0], (60, 1))
    assert choose_concentration(counts, np.eye(3), prior, np.random.default_rng(1)) == 0.3


def test_rows_are_dealt_into_the_same_halves_every_time(monkeypatch):
    """Who asks again finds the same beliefs."""
    drawn = []

    def choose(counts, channel, before, generator):
        drawn.append(generator.random())
        assert (counts.shape, channel.shape, before.shape) == ((4, 3), (3, 3), (4, 3))
        return 60.0

    monkeypatch.setattr(through_matrix, "choose_concentration", choose)
    prior = SharedPrior(np.array([0.5, 0.3, 0.2]), {}, {}, 100.0, 1.0)
    assert [GroupBeliefs.fitted(rows(), prior, ("town",)).concentration for _ in range(2)] == [60.0, 60.0]
    assert drawn == [np.random.default_rng(0).random()] * 2


def test_concentrations_are_tried_about_in_quarters():
    """From ten thousand, which is as good as any more, to a thousand, and then by factors of four, give or take a sixth."""
    ratios = [first / second for first, second in itertools.pairwise(CONCENTRATIONS)]
    assert ratios[0] == 10
    assert ratios[1:] == pytest.approx([4] * 6, rel=0.17)
    assert (CONCENTRATIONS[0], CONCENTRATIONS[-1]) == (10_000, 0.3)


def rows(kept=KEPT):
    """Four public groups."""
    return GroupedRows(np.arange(4)[:, None], COUNTS, CHANNEL, kept)


def without(groups, shown):
    """A prior that depends on the row left out, written so that every pair has its own."""
    found = PRIOR[groups].copy()
    found[np.arange(len(shown)), shown] *= 0.5
    return found / found.sum(axis=1, keepdims=True)


def of_rows(group, prior_without):
    """For each published value of a group: its share of the rows, the prior and the others without it, the belief."""
    for shown in range(3):
        if COUNTS[group][shown] > 0:
            others = COUNTS[group].copy()
            others[shown] -= 1
            before = prior_without(np.array([group]), np.array([shown]))[0]
            shares = composition(others, before, CONCENTRATION)
            evidence = shares * CHANNEL[:, shown]
            yield COUNTS[group][shown] / COUNTS[group].sum(), before, shares, evidence / evidence.sum()


@pytest.mark.parametrize("prior_without", [without, None])
@pytest.mark.parametrize("at_once", [1, 10, 10**6])
def test_members(monkeypatch, prior_without, at_once):
    """Rows averaged, and the composition for those outside of the sample; however many groups at a time."""
    monkeypatch.setattr(through_matrix, "CELLS_AT_ONCE", at_once)
    beliefs = GroupBeliefs(rows(), PRIOR, CONCENTRATION, prior_without)
    asked = np.array([2, 0, 3, 1, 2])
    expected = []
    for group in asked:
        own = sum(
            weight * believed
            for weight, _, _, believed in of_rows(group, prior_without or (lambda g, _: PRIOR[g]))
        )
        of_group = composition(COUNTS[group], PRIOR[group], CONCENTRATION)
        expected.append(KEPT[group] * own + (1 - KEPT[group]) * of_group)
    np.testing.assert_allclose(beliefs.of_members(asked), expected, atol=1e-4)


@pytest.mark.parametrize("at_once", [1, 10, 10**6])
def test_people_whose_row_is_left_out(monkeypatch, at_once):
    """Own rows are drawn by ``n_w T[v, w] / (c T)[w]``, c the values of the group's others; outside of the sample nothing is left out.

    Everybody of the four groups many times over: means of what is left lie within five standard errors of what loops give.
    """
    monkeypatch.setattr(through_matrix, "CELLS_AT_ONCE", at_once)
    people = {
        0: (0, 0, 1, 2),
        1: (1, 1, 0, 1, 2, 1, 1, 0),
        2: (0, 1, 2, 2, 2, 2, 2, 1, 2, 0, 2, 2),
        3: (0, 0, 0, 1, 1, 0, 2, 0, 1, 1),
    }
    groups = np.array([group for group, values in people.items() for _ in values])
    values = np.array([value for each in people.values() for value in each])
    generator = np.random.default_rng(5)
    beliefs = GroupBeliefs(rows(), PRIOR, CONCENTRATION, without)
    repeats = 4_000 if at_once == 10**6 else 200
    drawn = np.array([beliefs.left_out(groups, values, generator) for _ in range(repeats)])
    expected = np.array(
        [_left(group, value, people[group]) for group, value in zip(groups, values, strict=True)]
    )
    error = drawn.std(axis=0) / np.sqrt(repeats)
    # The fits themselves stop within 1e-4 of their ends.
    assert (np.abs(drawn.mean(axis=0) - expected.transpose(1, 0, 2)) < 5 * error + 2e-4).all()


def _left(group, value, people):
    """Composition and prior without the own row, averaged over which it is."""
    others = list(people)
    others.remove(value)
    # Who is not asked about is like the group: 2 of the last group's ten and two thirds.
    missing = max(COUNTS[group].sum() / KEPT[group] - len(people), 0)
    of_group = composition(COUNTS[group], PRIOR[group], CONCENTRATION)
    counts = np.bincount(others, minlength=3) + missing * of_group
    shown = [
        COUNTS[group][w] * CHANNEL[value, w] / (counts @ CHANNEL[:, w])
        for w in range(3)
        if COUNTS[group][w] > 0
    ]
    cells = list(of_rows(group, without))
    return [
        KEPT[group]
        * sum(weight * cell[place] for weight, cell in zip(shown, cells, strict=True))
        / sum(shown)
        + (1 - KEPT[group]) * other
        for place, other in ((2, of_group), (1, PRIOR[group]))
    ]


def test_a_value_that_no_published_row_can_hide():
    """Three rows as they are, one and two of a kind; somebody of a third kind may be behind any of them."""
    published = GroupedRows(np.array([[0]]), np.array([[1.0, 2.0, 0.0]]), np.eye(3), np.ones(1))
    beliefs = GroupBeliefs(published, np.full((1, 3), 1 / 3), 3.0)
    draw = np.random.default_rng(1)
    found = np.array([beliefs.left_out(np.array([0]), np.array([2]), draw)[0][0] for _ in range(600)])
    # Without the first (0, 2, 0) and three prior rows: 1, 3, 1 of 5; without a second (1, 1, 0): 2, 2, 1 of 5.
    first, second = (
        np.isclose(found, np.array(each) / 5, atol=1e-6).all(axis=1) for each in ([1, 3, 1], [2, 2, 1])
    )
    assert (first | second).all()
    assert abs(first.mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 600)


def test_a_fit_takes_the_own_row_out_of_the_tables_too():
    """The inverse of the matrix says what a row added to an estimate, once for every row that it stands for."""
    tables = {"town": (np.array([[40.0, 5.0, 3.0], [2.0, 30.0, 8.0]]), np.ones((2, 3)))}
    prior = SharedPrior(
        np.array([0.4, 0.4, 0.2]),
        {"town": np.array([[0.9, 0.2, 0.3], [0.1, 0.8, 0.7]])},
        {"town": np.array([0.55, 0.45])},
        88.0,
        0.85,
        estimates=tables,
    )
    published = GroupedRows(np.array([[0], [1]]), COUNTS[[0, 2]], CHANNEL, np.array([0.5, 1.0]))
    beliefs = GroupBeliefs.fitted(published, prior, ("town",))
    np.testing.assert_allclose(beliefs.prior, prior.at(("town",), published.combinations))
    expected = choose_concentration(published.counts, CHANNEL, beliefs.prior, np.random.default_rng(0))
    assert beliefs.concentration == expected
    assert beliefs.without is not None
    added = np.linalg.inv(CHANNEL)[[2, 0]] / [[0.5], [1.0]]
    found = beliefs.without(np.array([0, 1]), np.array([2, 0]))
    np.testing.assert_allclose(found, prior.without_rows(("town",), np.array([[0], [1]]), added))
    assert beliefs.places(np.array([[1], [3], [0]])).tolist() == [1, -1, 0]


def test_places_among_nothing_known():
    """Nowhere; and each at its own place among shuffled ones."""
    assert places_among(np.array([[2, 0], [1, 1]]), np.zeros((0, 2), np.int64)).tolist() == [-1, -1]
    known = np.array([[3, 1], [0, 2], [2, 2], [0, 0]])
    assert places_among(known[[2, 0, 3, 1]], known).tolist() == [2, 0, 3, 1]
    assert places_among(np.array([[1, 3], [3, 1]]), known).tolist() == [-1, 0]


def test_people_who_are_alike_are_one_combination():
    """By all attributes, in the order given."""
    from sfumato.schema import Attribute, Role

    sex, town = (
        Attribute(name=name, role=Role.QUASI_IDENTIFIER, categories=("a", "b", "c"))
        for name in ("sex", "town")
    )
    job = Attribute(name="job", role=Role.SENSITIVE, categories=("x", "y"))
    codes = {"town": np.array([2, 0, 2, 1]), "sex": np.array([1, 1, 1, 0])}
    people = Targets.of((sex, town), job, codes, are_members=False)
    assert people.combinations.tolist() == [[0, 1], [1, 0], [1, 2]]
    assert people.index.tolist() == [2, 1, 2, 0]
    assert people.codes_of("town").tolist() == [1, 0, 2]
    assert people.names == ("sex", "town")
    assert not people.are_members
