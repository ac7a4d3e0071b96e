"""Shares behind the errors of decoys: the nearest that fit the rows of cells and of values."""

from __future__ import annotations

import numpy as np
import pytest

from nearest_rows import nearest
from published_rows import PublishedRows, category_attribute
from sfumato.methods.splu_gen import decoy_counts
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Role

LAW = DecoyRows(gamma_by_attribute={"job": 3, "pay": 2})


@pytest.mark.parametrize(("places", "adds_up"), [(128, True), (129, False)])
def test_tables_up_to_a_limit_are_laid_out(places, adds_up):
    """128 by 128 places by eight jobs are 2^17 numbers, whose shares add up to one to the last digit; of more they do so about."""
    draw = np.random.default_rng(5)
    columns = {
        "one": draw.integers(0, 128, 4_000),
        "two": draw.integers(0, places, 4_000),
        "job": draw.integers(0, 8, 4_000),
    }
    attributes = (
        category_attribute("one", 128, Role.OTHER),
        category_attribute("two", places, Role.OTHER),
        category_attribute("job", 8),
    )
    asked = Tabulation(by=("one", "two", "job"))
    formula = DecoyRows(gamma_by_attribute={"job": 3}).formula(PublishedRows(attributes, columns), (asked,))
    sums = formula.shares(Tabulation(by=("one", "two"))).sum(axis=0)
    assert (np.abs(sums - 1) < 1e-9).all() == adds_up


@pytest.mark.parametrize(("largest", "adds_up"), [(80, True), (79, False)])
def test_shares_of_tables_that_fit_add_up_to_one(wide, monkeypatch, largest, adds_up):
    """Five areas by two sexes by eight jobs are eighty numbers; of one more each cell has its own rows alone."""
    monkeypatch.setattr(decoy_counts, "LARGEST_SPREAD", largest)
    public = Tabulation(by=("sex", "area"))
    asked = Tabulation(by=("sex", "area", "job"))
    found = LAW.formula(wide, (asked,)).shares(public)
    counts = wide.count_by(("sex", "area", "job"), Selection()).counts.reshape(10, 8)
    margin = counts.sum(axis=0)
    model = DecoyRows(gamma_by_attribute={"job": 3})._model(wide, "job")
    rows = counts.sum(axis=1)
    variances = np.maximum(
        [sum(margin * model.inverse[:, each] ** 2) / margin.sum() for each in range(8)], 1e-9
    )
    cells = np.array([nearest(*each, variances) for each in zip(counts @ model.inverse, rows, strict=True)])
    if adds_up:
        np.testing.assert_allclose(found[:, :7].sum(axis=0), 1)
        errors = np.maximum(rows, 1e-9)[:, None] * variances
        steps = errors / (1 + (counts @ model.inverse) ** 2 / errors)
        for turn in range(11):
            # Those of values, of which noise gives way most, and those of cells by turns; of values last.
            cells = (
                np.array([nearest(*each, variances) for each in zip(cells, rows, strict=True)])
                if turn % 2
                else np.array([nearest(*each) for each in zip(cells.T, margin, steps.T, strict=True)]).T
            )
        expected = cells / np.maximum(margin, 1)
    else:
        expected = np.clip(cells / np.maximum(margin, 1), 0, 1)
        assert not np.allclose(expected[:, :7].sum(axis=0), 1)
    np.testing.assert_allclose(found[:, :7], expected[:, :7], atol=1e-9)


def test_everyone_has_every_value(wide):
    """No public attribute: all of a value's rows."""
    assert LAW.formula(wide, (Tabulation(by=("job",)),)).shares(Tabulation()).tolist() == [[1] * 8]
