"""Rows that were left out: by every way in which they can fall, and what every question knows of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute, selection
from rows_left_out import added_by_rows_left_out
from sfumato.methods.splu_gen.decoy_counts import left_out_products, left_out_squares
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Role

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
    formula = LAW.formula(ROWS, (asked, Tabulation(by=("area",)), Tabulation(by=("job",))))
    assert formula.wholes(asked).tolist() == [500]
    found = LAW.estimate(ROWS, asked)
    (start,), (slope,) = formula.spread(asked)
    (high,) = found.intervals(0.95)[1]
    assert slope < 0
    assert high == pytest.approx(found.values[0] + 1.959963984540054 * np.sqrt(start))
    assert formula.wholes(Tabulation(by=("area",))) is None
    assert formula.wholes(Tabulation(by=("job",))).tolist() == [1000] * 6


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


RARE = PublishedRows(
    (category_attribute("job", 8), category_attribute("ill", 7)),
    {"job": np.repeat(np.arange(6), 200), "ill": np.tile(np.arange(4), 300)},
)
"""Of jobs two are shown by nobody, of illnesses three."""


def test_rows_of_values_called_rare_are_missing_from_counts_of_the_other_attribute():
    """Of three illnesses that nobody shows nine rows each at the most, and five that groups do not divide: 32 of which a sixth has each job."""
    law = DecoyRows(gamma_by_attribute={"job": 3, "ill": 2}, suppress_rarer_than=10)
    job = Tabulation(where=selection(job=(0,)))
    plain, rare = (
        each.formula(RARE, (job,)).variances(job).item()
        for each in (DecoyRows(gamma_by_attribute={"job": 3, "ill": 2}), law)
    )
    added = added_by_rows_left_out(1 / 6, 5 + 27) - added_by_rows_left_out(1 / 6, 5)
    assert rare - plain == pytest.approx(added)
    # Of both attributes together which values miss rows is known, so none is left that may have any.
    both = Tabulation(where=selection(job=(0, 1, 2), ill=(0, 1)))
    plain, rare = (
        each.formula(RARE, (both,)).variances(both).item()
        for each in (DecoyRows(gamma_by_attribute={"job": 3, "ill": 2}), law)
    )
    assert rare == pytest.approx(plain)
    assert law.most_left_out(RARE) == 5 + 27 + 18


def test_selections_of_different_attributes_share_rows_left_out_as_if_they_had_nothing_to_do_with_each_other():
    """Five rows, a sixth of which has the job and a quarter the illness; of both together the table of both says it."""
    law = DecoyRows(gamma_by_attribute={"job": 3, "ill": 2})
    job, ill, both = (
        Tabulation(where=each)
        for each in (selection(job=(0,)), selection(ill=(0,)), selection(job=(0,), ill=(0,)))
    )
    formula = law.formula(RARE, (job, ill, both))
    assert formula.covariance(job, ill).item() == pytest.approx(5 * 5 / 24)
    left_out = formula._between_rows_left_out(job, both).item()
    share = formula._shares_of_rows(both).item()
    assert left_out == pytest.approx(5 * share + 20 * share / 6)
