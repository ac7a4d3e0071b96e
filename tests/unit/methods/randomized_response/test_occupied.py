"""Estimates of the combinations that occur are those of the whole table, cell by cell and summed."""

from __future__ import annotations

import numpy as np
import pytest

from counted import Counted
from sfumato.estimates.counts import OccupiedCounts
from sfumato.methods.randomized_response import law as perturbed_rows
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import UniformDistortion, warner
from sfumato.schema import Attribute, Role, Schema

AGE, SEX, JOB = (
    Attribute(name=name, role=Role.SENSITIVE, categories=tuple("abcd")[:size])
    for name, size in (("age", 4), ("sex", 2), ("job", 3))
)
LAW = PerturbedRows(distortions={"sex": warner(0.9), "job": UniformDistortion(retention=0.6, size=3)})
NAMES = ("sex", "age", "job")


class Published(Counted):
    """Counts that are also told by what occurs, in an order that means nothing."""

    def count_occupied(self, names):
        """Cells with rows."""
        table = self.count_by(names, Tabulation().where)
        places = np.random.default_rng(1).permutation(np.flatnonzero(table.counts))
        codes = np.unravel_index(places, table.counts.shape)
        return OccupiedCounts(table.attributes, codes, table.counts.ravel()[places])


def published():
    """Nobody is of the third age."""
    counts = np.random.default_rng(2).integers(0, 30, (4, 2, 3))
    counts[2] = 0
    return Published((AGE, SEX, JOB), counts)


@pytest.mark.parametrize("names", [NAMES, ("job", "age"), ("age",), ("job", "sex")])
def test_cells_that_occur_have_the_estimates_of_the_table(names):
    """Values, errors and covariances of sums."""
    release = published()
    whole = LAW.estimate(release, Tabulation(by=names))
    found = LAW.estimate_occupied(release, names)
    sizes = [release.schema[name].size for name in names]
    places = np.ravel_multi_index([found.codes[name] for name in names], sizes)
    assert len(set(places.tolist())) == len(places)
    missing = np.setdiff1d(np.arange(whole.values.size), places)
    assert whole.values[missing] == pytest.approx(np.zeros(len(missing)))
    assert found.estimates.values == pytest.approx(whole.values[places])
    if whole.covariance is not None and names != ("age",):
        weights = np.random.default_rng(3).normal(size=(2, len(places)))
        expected = weights @ whole.covariance[np.ix_(places, places)] @ weights.T
        assert found.estimates.linear(weights).covariance == pytest.approx(expected)


def test_more_cells_than_fit_are_not_estimated(monkeypatch):
    """Three ages that occur, of six cells each; the limit itself still fits."""
    release = published()
    monkeypatch.setattr(perturbed_rows, "LARGEST_OCCUPIED", 18)
    monkeypatch.setattr(perturbed_rows, "LARGEST_PRODUCT", 6)
    assert LAW.estimate_occupied(release, NAMES) is not None
    monkeypatch.setattr(perturbed_rows, "LARGEST_OCCUPIED", 17)
    assert LAW.estimate_occupied(release, NAMES) is None
    monkeypatch.setattr(perturbed_rows, "LARGEST_OCCUPIED", 18)
    monkeypatch.setattr(perturbed_rows, "LARGEST_PRODUCT", 5)
    assert LAW.estimate_occupied(release, NAMES) is None


def size_of_estimates(monkeypatch, combinations, categories):
    """Combinations and categories that are estimated together; None where they are too many."""
    monkeypatch.setattr(
        perturbed_rows.OccupiedEstimates, "of", lambda published, _inverse: published.shape, raising=True
    )
    names = {"town": 200, "street": 200, "job": categories}
    attributes = [
        Attribute(name=name, role=Role.SENSITIVE, categories=tuple(f"{place}" for place in range(size)))
        for name, size in names.items()
    ]

    class Release:
        """One row of each combination."""

        schema = Schema(attributes=tuple(attributes))

        def count_occupied(self, some):
            town, street = np.divmod(np.arange(combinations), 200)
            codes = {"town": town, "street": street, "job": np.zeros(combinations, np.int64)}
            attributes = self.schema.select(some)
            return OccupiedCounts(
                attributes, tuple(codes[name] for name in some), np.ones(combinations, np.int64)
            )

    law = PerturbedRows(distortions={"job": UniformDistortion(retention=0.5, size=categories)})
    found = law.estimate_occupied(Release(), ("town", "street", "job"))
    return None if found is None else found.estimates


@pytest.mark.parametrize(
    ("combinations", "categories", "fits"),
    [(1, 1_000, True), (1, 1_001, False), (10_000, 500, True), (35_461, 141, False)],
)
def test_a_thousand_categories_and_five_million_cells_fit(monkeypatch, combinations, categories, fits):
    """One category or one cell more does not: 35,461 times 141 are 5,000,001."""
    expected = (combinations, categories) if fits else None
    assert size_of_estimates(monkeypatch, combinations, categories) == expected
