"""Sums of cells and least squares over marginals, against dense linear algebra."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.methods.noisy_marginals.law import NoisyTable, combine_tables, sum_cells

SIZES = {"a": 2, "b": 3, "c": 4}
MARGINALS = [(("a", "b"), 1.0), (("b", "c"), 5.0), (("a", "c"), 2.5), (("b",), 0.7), (("a", "b", "c"), 9.0)]


def tables_of(marginals, seed=0):
    """Noisy tables with any numbers in them."""
    generator = np.random.default_rng(seed)
    return [
        NoisyTable(names, generator.normal(size=[SIZES[name] for name in names]) * 10 + 50, variance)
        for names, variance in marginals
    ]


def summing_matrix(names):
    """Which cells of the full table add up to each cell over some attributes, ``(cells, full)``."""
    full = list(itertools.product(*(range(size) for size in SIZES.values())))
    cells = list(itertools.product(*(range(SIZES[name]) for name in names)))
    places = [list(SIZES).index(name) for name in names]
    return np.array(
        [[tuple(row[place] for place in places) == cell for row in full] for cell in cells], float
    )


def dense_least_squares(tables, names):
    """The same by a pseudo-inverse over all cells of the full table."""
    design = np.concatenate([summing_matrix(each.names) for each in tables])
    values = np.concatenate([each.counts.ravel() for each in tables])
    precision = np.concatenate([np.full(each.counts.size, 1 / each.variance) for each in tables])
    information = design.T @ (precision[:, None] * design)
    inverse = np.linalg.pinv(information)
    wanted = summing_matrix(names)
    return wanted @ inverse @ design.T @ (precision * values), wanted @ inverse @ wanted.T


@pytest.mark.parametrize("names", [(), ("b",), ("a", "b"), ("c", "a"), ("b", "c", "a")])
@pytest.mark.parametrize("number", [3, 5])
def test_least_squares_is_that_of_dense_linear_algebra(names, number):
    """Values and whole covariance, for totals, margins and full tables, in any order of axes."""
    tables = tables_of(MARGINALS[-number:])
    estimates = combine_tables(tables, {name: np.eye(SIZES[name]) for name in names})
    values, covariance = dense_least_squares(tables, names)
    assert estimates.values == pytest.approx(values, abs=1e-9)
    assert estimates.covariance == pytest.approx(covariance, abs=1e-9)


def test_marginals_agree_after_combining():
    """The margin of one combined table is the combined margin."""
    tables = tables_of(MARGINALS)
    whole = combine_tables(tables, {"a": np.eye(2), "b": np.eye(3)}).values.reshape(2, 3)
    assert whole.sum(axis=0) == pytest.approx(combine_tables(tables, {"b": np.eye(3)}).values)


def test_combining_never_has_a_larger_variance_than_one_table():
    """Cell by cell, for every table and every margin of it."""
    tables = tables_of(MARGINALS)
    for table in tables:
        for number in range(len(table.names) + 1):
            for names in itertools.combinations(table.names, number):
                weights = {name: np.eye(SIZES[name]) for name in names}
                alone, together = sum_cells(table, weights), combine_tables(tables, weights)
                assert (together.variances <= alone.variances + 1e-9).all()


def test_sums_of_cells_add_their_variances():
    """Chosen categories of one axis, the other summed over: cells times the variance."""
    table = NoisyTable(("a", "b"), np.arange(6.0).reshape(2, 3), 2.0)
    sums = sum_cells(table, {"b": np.array([[1.0, 0.0, 1.0]])})
    assert sums.values.tolist() == [0 + 2 + 3 + 5]
    assert sums.variances.tolist() == [4 * 2.0]


def test_large_tables_carry_variances_only(monkeypatch):
    """The same numbers as the diagonal of the whole covariance."""
    tables = tables_of(MARGINALS)
    weights = {name: np.eye(size) for name, size in SIZES.items()}
    whole = combine_tables(tables, weights)
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_COVARIANCE", 5)
    large = combine_tables(tables, weights)
    assert large.covariance is None
    assert large.variances == pytest.approx(whole.variances)


def test_noise_that_is_surely_zero_wins():
    """A table without noise decides what it measures."""
    exact = NoisyTable(("a",), np.array([3.0, 4.0]), 0.0)
    other = NoisyTable(("a",), np.array([9.0, 9.0]), 1.0)
    assert combine_tables([exact, other], {"a": np.eye(2)}).values == pytest.approx([3.0, 4.0])


def test_sums_of_some_categories_are_sums_of_the_combined_cells():
    """Weights that are no square matrix: the first of a, and the first and last of c, against dense algebra."""
    tables = tables_of(MARGINALS)
    weights = {"a": np.array([[1.0, 0.0]]), "c": np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]])}
    found = combine_tables(tables, weights)
    values, covariance = dense_least_squares(tables, ("a", "c"))
    whole = np.kron(weights["a"], weights["c"])
    assert found.values == pytest.approx(whole @ values, abs=1e-9)
    assert found.covariance == pytest.approx(whole @ covariance @ whole.T, abs=1e-9)


def test_a_table_of_the_largest_size_still_has_its_covariance(monkeypatch):
    """Six cells with a limit of six, and none with a limit of five; the variances are the same."""
    tables, weights = tables_of(MARGINALS), {"a": np.eye(2), "b": np.eye(3)}
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_COVARIANCE", 6)
    whole = combine_tables(tables, weights)
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_COVARIANCE", 5)
    large = combine_tables(tables, weights)
    assert whole.covariance is not None
    assert large.covariance is None
    assert large.variances == pytest.approx(whole.variances)
