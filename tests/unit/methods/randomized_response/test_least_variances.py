"""Standard errors in cells of a handful of rows: never below what publishing must have left."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from counted import Counted
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.methods.randomized_response.variances import _least_second_moments, least_variances
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion, columns_of, contract
from sfumato.schema import Attribute, Role

JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
PAY = Attribute(name="pay", role=Role.SENSITIVE, categories=("x", "y"))
UNIFORM = UniformDistortion(retention=0.8, size=3)
DENSE = DenseDistortion(rows=((0.9, 0.1), (0.3, 0.7)))
LAW = PerturbedRows(distortions={"job": UNIFORM, "pay": DENSE})
ALL_OUTSIDE = Counted((JOB, PAY), np.array([[3, 0], [0, 0], [0, 0]]))
"""Every published row is (a, x): the unbiased variance of the cell (b, y) is negative."""


@pytest.mark.parametrize("restricted", [None, (0, 1), (0, 1, 2)])
def test_the_bound_is_the_least_variance_over_all_true_tables(restricted):
    """By going through every true category of the one row there is."""
    inverses = [UNIFORM.inverse(), DENSE.inverse()]
    if restricted is not None:
        inverses[0] = inverses[0][:, list(restricted)].sum(axis=1, keepdims=True)
    matrices = [UNIFORM.dense(), DENSE.dense()]
    by_truth = []
    for true in itertools.product(range(3), range(2)):
        one = np.zeros((3, 2))
        one[true] = 1
        chances = contract(one, matrices)
        by_truth.append(contract(chances, [each**2 for each in inverses]) - contract(chances, inverses) ** 2)
    bound = least_variances(np.array([[0, 0], [0, 0], [0, 1.0]]), list(zip(matrices, inverses, strict=True)))
    assert np.allclose(bound, np.min(by_truth, axis=0), atol=1e-12)


def test_the_closed_form_of_uniform_matrices_is_the_general_one():
    """Two-valued matrices take a short cut."""
    counts = np.array([5.0, 1.0, 2.0])
    short = least_variances(counts, [(UNIFORM.on_axis, UNIFORM.inverse_on_axis)])
    whole = least_variances(counts, [(UNIFORM.dense(), UNIFORM.inverse())])
    half = least_variances(counts, [(UNIFORM.dense(), UNIFORM.inverse_on_axis)])
    assert np.allclose(short, whole, rtol=1e-12)
    assert np.allclose(half, whole, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_over_three_attributes_is_the_least_over_all_true_tables(seed):
    """Any matrices, cells and sums of cells; the middle attribute was published as it is in every other case."""
    draw = np.random.default_rng(seed)
    matrices = [0.4 * np.eye(size) + 0.6 * draw.dirichlet(np.ones(size), size) for size in (2, 3, 2)]
    weights = [np.linalg.inv(each) for each in matrices]
    if seed % 2:
        matrices[1], weights[1] = np.eye(3), np.eye(3)[:, [0, 2]]
    if seed > 2:
        weights[1] = weights[1][:, :2].sum(axis=1, keepdims=True)
    variances = np.full([2, weights[1].shape[1], 2], np.inf)
    for true in itertools.product(range(2), range(1) if seed % 2 else range(3), range(2)):
        one = np.zeros((2, 3, 2))
        one[true] = 1
        chances = contract(one, matrices)
        spread = contract(chances, [each**2 for each in weights]) - contract(chances, weights) ** 2
        variances = np.minimum(variances, spread)
    axes = list(zip(matrices, weights, strict=True))
    if seed % 2:
        # All the rows there are have the first category; no other cell has a row that could be moved.
        axes[1] = (None, weights[1])
        variances = variances * (weights[1][0] > 0)[:, np.newaxis]
    bound = least_variances(np.ones((2, 3, 2)) * [[[1], [0], [0]]] / 4, axes)
    assert np.allclose(bound, variances, atol=1e-12)


@pytest.mark.parametrize("size", [2, 5])
def test_both_second_moments_of_uniform_matrices_are_those_of_the_general_form(size):
    """Of a true category inside a cell and of one outside it, for all cells and for some."""
    uniform = UniformDistortion(retention=0.3, size=size)
    for codes in (None, (1,)):
        short = _least_second_moments(uniform.on_axis, columns_of(uniform.inverse_on_axis, codes), size)
        inverse = uniform.inverse() if codes is None else uniform.inverse()[:, list(codes)]
        whole = _least_second_moments(uniform.dense(), inverse, size)
        assert short[0] == pytest.approx(whole[0])
        assert short[1] == pytest.approx(whole[1])


def test_unperturbed_attributes_leave_no_variance_and_split_the_rows():
    """What is published as it is has no error; a group's bound counts the group's rows alone."""
    counts = np.array([[3.0, 0.0], [1.0, 1.0]])
    assert np.array_equal(least_variances(counts, [(None, None), (None, None)]), np.zeros((2, 2)))
    one_row = least_variances(np.array([0.0, 1.0]), [(DENSE.dense(), DENSE.inverse())])
    split = least_variances(counts, [(None, None), (DENSE.dense(), DENSE.inverse())])
    assert np.allclose(split, np.outer([3, 2], one_row), rtol=1e-12)


@pytest.mark.parametrize("target", ["table", "population"])
def test_no_perturbed_cell_is_called_certain(target):
    """A negative estimate of a variance must not become the claim that the count is exact."""
    by = Tabulation(by=("job", "pay"))
    found = LAW.estimate(ALL_OUTSIDE, by, target=target)
    assert found.covariance[3, 3] <= 0
    assert np.all(found.standard_errors > 0)
    selection = Selection((("job", (1,)), ("pay", (1,))))
    selected = LAW.estimate_selections(ALL_OUTSIDE, (selection, Selection()), target=target)
    assert selected.standard_errors[0] == pytest.approx(found.standard_errors[3], rel=1e-9)
    # A share of all rows, whose number is known: the same error, divided by it.
    share = selected.ratio([1, 0], [0, 1])
    assert share.standard_errors[0] >= selected.standard_errors[0] / 3 * (1 - 1e-9)


def test_rounding_makes_no_bound_negative():
    """A sum over all categories is certain; what is left of its variance by rounding is nothing, and no less than that."""
    draw = np.random.default_rng(2)
    for size in (3, 5, 7) * 20:
        matrix = 0.3 * np.eye(size) + 0.7 * draw.dirichlet(np.ones(size), size)
        everything = np.linalg.inv(matrix).sum(axis=1, keepdims=True)
        bound = least_variances(np.full(size, 1e6), [(matrix, everything)])
        assert bound.shape == (1,)
        assert 0 <= bound[0] < 1e-6
