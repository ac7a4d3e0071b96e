"""Rows that were left out, and values that no published row shows: by every way in which they can fall."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute, selection
from rows_left_out import added_by_rows_left_out
from sfumato.methods.splu_gen.law.decoy_rows import DecoyRows
from sfumato.methods.splu_gen.law.left_out import UnseenValues, left_out_products, left_out_squares
from sfumato.values.schema import Role
from sfumato.values.selection import Selection, Tabulation

SHARES = np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("most", [0, 1, 2, 4])
def test_mean_products_are_those_of_every_way_rows_can_fall(most):
    """Of so many rows each is in the first cell, in the second or in neither; a third question asks for either cell."""
    cells = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0]])
    expected = np.zeros((3, 3))
    for places in itertools.product(range(3), repeat=most):
        missing = cells[:, list(places)].sum(axis=1)
        expected += np.prod(SHARES[list(places)]) * np.outer(missing, missing)
    shares, both = cells @ SHARES, (cells * SHARES) @ cells.T
    np.testing.assert_allclose(left_out_products(shares, shares, both, most), expected)
    np.testing.assert_allclose(left_out_squares(shares, most), np.diagonal(expected))


UNSEEN = UnseenValues(np.array([60.0, 30.0, 0.0, 10.0, 0.0]), 3, 1)
"""Two values that no row shows."""


def test_all_others_err_as_a_value_that_nobody_shows():
    """Of sums by loops over the two values: what a sum has of a row of theirs, less what it should have."""
    sums = np.array([[0, 0, 1, 0, 0], [1, 1, 0, 1, 1], [1, 1, 0, 1, 0], [1, 1, 1, 1, 1], [0, 1, 0, 0, 0]]).T
    (variance,) = set(UNSEEN.variances[[2, 4]].tolist())
    expected = np.zeros((5, 5))
    for value in (2, 4):
        misses = sums[value] - np.array([0.0, 1.0, 1.0, 1.0, 0.3])
        expected += variance * np.outer(misses, misses)
    found = UNSEEN.products(sums.astype(float), sums.astype(float))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[0, 0] == pytest.approx(found[1, 1])
    assert found[3, 3] == pytest.approx(0, abs=1e-12)


def test_rows_left_out_with_their_value_are_missed_and_nothing_else():
    """Values that fewer than thirty rows have are not published: others have none of their rows."""
    rare = UnseenValues(UNSEEN.counts, 3, 30)
    sums = np.array([[0, 0, 1, 0, 0], [1, 1, 0, 1, 1], [1, 1, 0, 1, 0]], dtype=float).T
    expected = np.diag((29 / 1.959963984540054) ** 2 * np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(rare.products(sums, sums), expected)


JOBS = np.repeat(np.arange(6), [260, 250, 240, 150, 95, 5])
ROWS = PublishedRows(
    (category_attribute("area", 2, Role.OTHER), category_attribute("job", 6)),
    {"area": np.arange(1000) % 2, "job": JOBS},
)
LAW = DecoyRows(gamma_by_attribute={"job": 3})


def test_all_but_a_rare_value_knows_of_the_rows_left_out():
    """995 of 1,000 rows: the error of the five others, 5 * 2/3, and two rows left out at the most."""
    asked = Tabulation(where=selection(job=tuple(range(5))))
    (variance,) = LAW.formula(ROWS, (asked,)).variances(asked)
    assert variance == pytest.approx(5 * 2 / 3 + added_by_rows_left_out(0.995, 2))
    (low,), (high,) = LAW.estimate(ROWS, asked).intervals(0.95)
    assert low < 995
    assert high > 997


def test_a_share_of_nearly_everybody_knows_that_both_counts_miss_the_same_rows():
    """995 of 1,000: rows left out change the share by less than a hundredth of its error."""
    counts = LAW.estimate_selections(ROWS, (selection(job=tuple(range(5))), Selection()))
    variance = counts.covariance[0, 0] - 2 * 0.995 * counts.covariance[0, 1]
    variance += 0.995**2 * float(added_by_rows_left_out(1.0, 2))
    assert variance == pytest.approx(5 * 2 / 3, rel=0.01)


def test_intervals_reach_the_rows_of_a_group_where_normal_ones_do():
    """All but a job that hardly anybody has in an area: near all its rows intervals lean away from them, and end no earlier than a normal one."""
    asked = Tabulation(where=selection(area=(1,), job=tuple(range(5))))
    formula = LAW.formula(ROWS, (asked,))
    assert formula.wholes(asked).tolist() == [500]
    found = LAW.estimate(ROWS, asked)
    (start,), (slope,) = formula.spread(asked)
    (high,) = found.intervals(0.95)[1]
    assert slope < 0
    assert high == pytest.approx(found.values[0] + 1.959963984540054 * np.sqrt(start))
    assert formula.wholes(Tabulation(by=("area",))) is None
    assert formula.wholes(Tabulation(by=("job",))) is None


def test_wholes_stand_where_their_cells_do():
    """In the order of the question, whichever it is."""
    for by in (("area", "job"), ("job", "area")):
        asked = Tabulation(by=by, where=selection(area=(1,), job=(0, 2, 4)))
        assert LAW.formula(ROWS, (asked,)).wholes(asked).tolist() == [500] * 3
    rows = PublishedRows(ROWS.schema.attributes, {"area": (JOBS > 0).astype(int), "job": JOBS})
    for by in (("area", "job"), ("job", "area")):
        asked = Tabulation(by=by)
        shape = [{"area": 2, "job": 6}[name] for name in by]
        wholes = LAW.formula(rows, (asked,)).wholes(asked).reshape(shape)
        np.testing.assert_array_equal(
            wholes if by[0] == "area" else wholes.T, np.repeat([[260.0], [740.0]], 6, axis=1)
        )
