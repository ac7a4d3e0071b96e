"""The second-order covariance of decoys from moments that are counted over all groups there can be."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from nearest_rows import nearest
from sfumato.methods.splu_gen.decoy_model import DecoyModel, JointCells, covariance

VALUES, ROWS_EACH = 5, 100.0


class CountedGroups:
    """Equally frequent values: a group is any set of gamma different ones, each as likely as another."""

    def __init__(self, gamma):
        self.gamma = gamma
        self.groups = VALUES * ROWS_EACH / gamma
        sets = list(itertools.combinations(range(VALUES), gamma))
        self.holds = np.array([[float(value in each) for value in range(VALUES)] for each in sets])
        self.inclusion = self.mean(np.ones(len(sets))).diagonal()
        self.pairs = self.mean(np.ones(len(sets)))
        # A row of value k shows each of the gamma values of its group with the same probability.
        self.distortion = self.pairs / (gamma * self.inclusion[:, None])
        self.inverse = np.linalg.inv(self.distortion)

    def mean(self, weights):
        """``E[weight 1' 1]``, ``(values, values)``."""
        return np.einsum("s,sk,sl->kl", weights, self.holds, self.holds) / len(self.holds)

    def scored(self, *shares):
        """``E[(theta . 1) ... 1' 1]`` for one or two predicates."""
        return self.mean(np.prod([self.holds @ each for each in shares], axis=0))

    def draws(self, shares):
        """Covariance of the draws of a group's rows that satisfy a predicate."""
        scored = self.scored(shares)
        return np.diag(scored.diagonal()) / self.gamma - scored / self.gamma**2

    def derivative(self, shares, weights):
        """``D weights`` with ``D = ((Q - q' pi) Sigma^+)' / g - diag(theta) T``."""
        scored = self.scored(shares)
        spread = np.linalg.pinv(self.pairs - np.outer(self.inclusion, self.inclusion))
        moved = scored.T - np.outer(self.inclusion, scored.diagonal())
        return spread @ moved @ weights / self.gamma - shares[:, None] * (self.distortion @ weights)

    def covariance(self, first, second, both, left, right):
        """Draws, which rows sit where, which values meet: per group, times the groups."""
        a, b = self.inverse @ left, self.inverse @ right
        moved_a, moved_b = self.derivative(first, a), self.derivative(second, b)
        of_draws = (
            a.T @ self.draws(both) @ b
            - a.T @ self.draws(first) @ moved_b
            - moved_a.T @ self.draws(second) @ b
            + moved_a.T @ self.draws(np.ones(VALUES)) @ moved_b
        )
        psi = both - first * second
        seats = self.scored(psi) - self.pairs.T @ np.diag(psi / self.inclusion) @ self.pairs
        meet = self.scored(first, second) - self.scored(first) @ np.linalg.pinv(self.pairs) @ self.scored(
            second
        )
        return self.groups * (of_draws + a.T @ (seats + meet) @ b / self.gamma**2)


FIRST = np.array([0.5, 0.2, 0.0, 1.0, 0.3])
SECOND = np.array([0.1, 0.9, 0.4, 0.0, 0.6])


@pytest.mark.parametrize("gamma", [2, 3])
@pytest.mark.parametrize("is_same", [True, False])
def test_the_covariance_is_that_of_all_groups_there_can_be(gamma, is_same):
    """Of every value's estimate under one predicate, and under two that share rows."""
    counted, model = CountedGroups(gamma), DecoyModel(np.full(VALUES, ROWS_EACH), gamma)
    assert model.distortion == pytest.approx(counted.distortion)
    second = FIRST if is_same else SECOND
    both = FIRST if is_same else np.array([0.05, 0.2, 0.0, 0.0, 0.25])
    left = np.eye(VALUES)
    right = left if is_same else np.array([[1.0, 0], [0, 1], [1, 1], [0, 0], [0, 2]])
    one = model.predicate(FIRST)
    found = covariance(one, one if is_same else model.predicate(second), both, left, right)
    assert found == pytest.approx(counted.covariance(FIRST, second, both, left, right), rel=1e-7, abs=1e-6)


def test_what_a_row_that_shows_a_value_says_at_most():
    """Of five equal values in groups of two another shows it with probability 1/4 * 1/2: a factor of 4; all in one group say nothing.

    Where a value is not published nothing is said of it.
    """
    assert DecoyModel(np.full(5, ROWS_EACH), 2).largest_factors == pytest.approx(np.full(5, 4.0))
    assert DecoyModel(np.full(2, ROWS_EACH), 2).largest_factors.tolist() == [1.0, 1.0]
    unseen = DecoyModel(np.array([ROWS_EACH] * 3 + [0.0]), 2).largest_factors
    assert unseen[:3] == pytest.approx(np.full(3, 2.0))
    assert np.isnan(unseen[3])


def test_no_value_is_called_rare_unless_it_is_said():
    """A value that nobody shows may be that of one row, and of no more than its draws leave."""
    counts = np.array([40.0, 30.0, 30.0, 0.0])
    found, same, rare = (
        each.unseen.squares(np.ones(1), np.zeros(1), np.ones(1)).item()
        for each in (DecoyModel(counts, 2), DecoyModel(counts, 2, 1), DecoyModel(counts, 2, 9))
    )
    assert found == same
    assert rare == pytest.approx(found + 8**2)


def _joint_cells():
    """Two public combinations by three values of one drawn attribute and four of another, with some estimates below nothing."""
    models = {
        "one": DecoyModel(np.array([60.0, 45.0, 15.0]), 2),
        "two": DecoyModel(np.array([40.0, 40.0, 30.0, 10.0]), 2),
    }
    draw = np.random.default_rng(2)
    true = draw.multinomial(60, draw.dirichlet(np.ones(12)), 2).reshape(2, 3, 4).astype(float)
    estimates = true + draw.normal(0, 9, true.shape) * [[[2], [2], [1]]]
    estimates *= (60 / estimates.sum(axis=(1, 2)))[:, None, None]
    totals = {"one": true.sum(axis=2), "two": true.sum(axis=1)}
    return JointCells(
        models, estimates, totals, {name: np.eye(len(each.counts)) for name, each in models.items()}
    )


def _turned(rows, totals, steps, axis):
    """Every value of an attribute by itself: the nearest rows of the others' values that have its total."""
    made = np.array(
        [nearest(each, total, steps) for each, total in zip(np.moveaxis(rows, axis, 0), totals, strict=True)]
    )
    return np.moveaxis(made, 0, axis)


def test_rows_of_two_drawn_attributes_fit_their_combination_and_the_rows_of_every_value():
    """By halving: the nearest rows in units of both attributes' errors, then five rounds of those that fit either attribute's rows."""
    cells = _joint_cells()
    one, two = (
        np.array([each.counts @ each.inverse[:, v] ** 2 for v in range(len(each.counts))]) / 120
        for each in cells.models.values()
    )
    assert cells.estimates.min() < 0
    for place in range(2):
        made = nearest(cells.estimates[place].ravel(), 60, np.outer(one, two).ravel()).reshape(3, 4)
        assert made.min() == 0
        for _ in range(5):
            made = _turned(made, cells.totals["one"][place], two, 0)
            made = _turned(made, cells.totals["two"][place], one, 1)
        np.testing.assert_allclose(cells._rows[place], made, atol=1e-9)


def test_shares_of_two_drawn_attributes_add_up_to_the_rows_of_each_value():
    """Whatever few rounds of fitting leave: the rows of an attribute's own values are fitted last, by halving."""
    cells = _joint_cells()
    one, two = (each.counts @ each.inverse**2 for each in cells.models.values())
    for name, axis, steps in (("one", 0, two), ("two", 1, one)):
        counts = cells.models[name].counts
        for place in range(2):
            made = _turned(cells._rows[place], cells.totals[name][place], steps, axis)
            np.testing.assert_allclose(
                cells.shares(name)[place], np.moveaxis(made, axis, 1) / counts, atol=1e-9
            )
        np.testing.assert_allclose(cells.shares(name).sum(axis=1) * counts, cells.totals[name])


def test_rows_of_two_drawn_attributes_are_the_same_in_either_order():
    """Few rounds of fitting end elsewhere when the attributes take turns in another order; the question's order is not theirs."""
    cells = _joint_cells()
    turned = JointCells(
        dict(reversed(cells.models.items())), cells.estimates.transpose(0, 2, 1), cells.totals, cells.weights
    )
    np.testing.assert_allclose(turned._rows, cells._rows.transpose(0, 2, 1))


def _three_attributes():
    """One combination of 60 rows by three drawn attributes, two sums over each."""
    models = {
        "one": DecoyModel(np.array([60.0, 45.0, 15.0]), 2),
        "two": DecoyModel(np.array([40.0, 40.0, 30.0, 10.0]), 2),
        "three": DecoyModel(np.array([50.0, 40.0, 30.0]), 2),
    }
    draw = np.random.default_rng(3)
    true = draw.multinomial(120, draw.dirichlet(np.ones(36))).reshape(1, 3, 4, 3).astype(float)
    totals = {name: true.sum(axis=tuple({1, 2, 3} - {axis})) for axis, name in enumerate(models, start=1)}
    weights = {
        "one": np.array([[1.0, 0], [1, 0], [0, 1]]),
        "two": np.array([[1.0, 0], [0, 1], [0, 0], [1, 0]]),
        "three": np.array([[0.0, 1], [1, 1], [0, 0]]),
    }
    return JointCells(models, true, totals, weights)


def test_products_of_errors_of_three_drawn_attributes_are_summed_row_by_row():
    """A row of true values u, w, z adds (e + a)(e + b)(e + c): everything but no error and single errors, by loops."""
    cells = _three_attributes()
    expected = np.zeros((2, 2, 2))
    for place in itertools.product(range(2), repeat=3):
        for true in itertools.product(range(3), range(4), range(3)):
            squares, truths = [], []
            for model, weights, value, at in zip(
                cells.models.values(), cells.weights.values(), true, place, strict=True
            ):
                counted = [
                    sum(model.inverse[v, each] * weights[each, at] for each in range(len(weights)))
                    for v in range(len(weights))
                ]
                squares.append(sum(model.distortion[value, v] * counted[v] ** 2 for v in range(len(weights))))
                truths.append(weights[value, at])
            errors = [one - other for one, other in zip(squares, truths, strict=True)]
            several = math.prod(squares) - math.prod(truths)
            for single in range(3):
                several -= errors[single] * math.prod(truths[:single] + truths[single + 1 :])
            expected[place] += cells.estimates[(0, *true)] * several
    found = cells.products(cells.weights, cells.weights)[0]
    np.testing.assert_allclose(np.einsum("abcabc->abc", found), expected, rtol=1e-7)


def test_variances_of_sums_over_three_drawn_attributes_are_those_of_their_covariance():
    """The one without the other's pairs."""
    cells = _three_attributes()
    whole = cells.covariance().reshape(8, 8)
    np.testing.assert_allclose(cells.variances().ravel(), np.diagonal(whole), rtol=1e-9)
    np.testing.assert_allclose(whole, whole.T, rtol=1e-9)


def test_shares_of_values_of_one_row_and_of_none():
    """All of the one row is shared out; of a value that no published row shows there is nothing."""
    models = {
        "one": DecoyModel(np.array([29.0, 30.0, 1.0, 0.0]), 2),
        "two": DecoyModel(np.array([20.0, 20.0, 20.0]), 2),
    }
    true = np.array([[[9.0, 10, 10], [10, 10, 10], [1, 0, 0], [0, 0, 0]]])
    totals = {"one": true.sum(axis=2), "two": true.sum(axis=1)}
    weights = {name: np.eye(len(each.counts)) for name, each in models.items()}
    found = JointCells(models, true, totals, weights).shares("one")[0]
    np.testing.assert_allclose(found[:, 2], [1, 0, 0], atol=1e-6)
    assert (found[:, 3] == 0).all()
