"""Fits to the cells that occur: the same numbers as from whole tables, and tables of any width."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import category_attribute
from samples import SCHEMA, people
from sfumato import RandomizedResponse, read_table
from sfumato.analysis import counts as asking
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NoSolutionError, TooLargeError
from sfumato.schema import Role, Schema
from sfumato.testing import in_memory, release_in_memory

TABLE = in_memory(read_table(people(4_000), SCHEMA))
PERTURBED = {"response": ("job",), "both sides": ("job", "sex"), "nothing asked about": ("region",)}
RELEASES = {
    name: release_in_memory(TABLE, RandomizedResponse(retention=0.6, attributes=each), seed=5)
    for name, each in PERTURBED.items()
}


@pytest.mark.parametrize("case", list(RELEASES))
@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize(
    ("formula", "where"),
    [
        ("job = 'Care' ~ sex + age", ""),
        ("job = 'Care' ~ sex*score(age)", "region != 'North'"),
        ("job ~ sex", "sex = 'Male' OR age < 35"),
        ("score(age) ~ job", "job != 'Other'"),
    ],
)
def test_cells_that_occur_give_what_the_whole_table_gives(case, target, formula, where, monkeypatch):
    """To 1e-9: coefficients, covariance, strength."""
    release = RELEASES[case]

    def ask():
        try:
            return release.regression(formula, where=where, target=target)
        except NoSolutionError as refusal:
            return refusal.reason

    dense = ask()
    monkeypatch.setattr(asking, "LARGEST_COVARIANCE", 0)
    sparse = ask()
    if isinstance(dense, str):
        assert sparse == dense
        return
    np.testing.assert_allclose(sparse.estimates.values, dense.estimates.values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sparse.covariance, dense.covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sparse.strength, dense.strength, rtol=1e-6)
    assert (sparse.method, sparse.law) == (dense.method, dense.law)


def wide(attributes=12, categories=4, rows=3_000):
    """A table whose product of categories is far beyond memory."""
    schema = Schema(
        attributes=(
            *(category_attribute(f"x{place}", categories, Role.OTHER) for place in range(attributes)),
            category_attribute("y", 2),
        )
    )
    draw = np.random.default_rng(1)
    codes = {f"x{place}": draw.integers(0, categories, rows) for place in range(attributes)}
    chance = 1 / (1 + np.exp(-(-0.5 + 0.8 * (codes["x0"] == 1))))
    codes["y"] = (draw.random(rows) < chance).astype(np.int64)
    return PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())


def test_a_formula_of_many_attributes_is_fitted():
    """Four to the twelfth cells, of which 3,000 occur; score intervals too."""
    release = release_in_memory(wide(), RandomizedResponse(retention=0.9), seed=1)
    found = release.regression("y ~ " + " + ".join(f"x{place}" for place in range(12)), target="population")
    assert len(found.coefficients) == 37
    own = found["x0 = '1'"]
    assert abs(own.estimate - 0.8) < 4 * own.std_error
    scored = release.regression("y ~ x0 + x1 + x2 + x3 + x4", interval="score", target="population")
    assert scored["x0 = '1'"].low < 0.8 < scored["x0 = '1'"].high


def test_a_product_of_perturbed_attributes_that_is_too_large_is_refused():
    """As before: the covariance of that many cells is not written out."""
    table = wide(attributes=6, rows=500)
    design = RandomizedResponse(retention=0.9, attributes=tuple(f"x{place}" for place in range(6)))
    release = release_in_memory(table, design, seed=1)
    with pytest.raises(TooLargeError):
        release.regression("y ~ " + " + ".join(f"x{place}" for place in range(6)))
