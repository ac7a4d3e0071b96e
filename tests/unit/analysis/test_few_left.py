"""Numbers of a population that rest on few rows, by hand."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, Schema, read_table
from sfumato.analysis.equations import carry, leaning
from sfumato.analysis.rules import ShareRanges
from sfumato.estimates.estimates import Certainty, Estimates, all_claim
from sfumato.testing import release_in_memory

HALF = 1.959964
REACH = HALF**2 / 2 + math.sqrt(HALF**4 / 4 + HALF**2)
"""How far an interval reaches to the side to which the draw of one row leans, in rows: the larger root of x^2 = z^2 (1 + x)."""

SCHEMA = Schema.from_toml("""
[attributes.region]
role = "quasi-identifier"
categories = ["north", "south"]
[attributes.age]
role = "quasi-identifier"
bins = [0, 10, 20]
[attributes.job]
role = "sensitive"
categories = ["a", "b"]
""")


@pytest.fixture(scope="module")
def release():
    """Fifty of the north are young, all hundred of the south are old."""
    columns = {
        "region": ["north"] * 100 + ["south"] * 100,
        "age": [5, 15] * 50 + [15] * 100,
        "job": ["a", "b"] * 100,
    }
    return release_in_memory(read_table(pa.table(columns), SCHEMA), RandomizedResponse(retention=0.5), seed=1)


def test_a_share_of_all_that_were_drawn_has_the_error_of_one_row():
    """A hundred of a hundred, known exactly of the table; its gradient is 0 for them and -1/100 for any other."""
    counts = Estimates.with_covariance(np.array([0.0, 100.0]), np.zeros((2, 2)))
    gradient = np.array([[-0.01, 0.0]])
    found = carry(np.ones(1), gradient, counts, "population")
    assert found.standard_errors == pytest.approx([0.01])
    assert carry(np.ones(1), gradient, counts, "table").standard_errors == [0]
    (low,), (high,) = leaning(found, gradient, counts, "population")(0.95)
    assert (low, high) == pytest.approx((1 - REACH / 100, 1 + HALF / 100), abs=1e-6)


def test_a_draw_of_many_rows_stays_as_it_is():
    """Forty of a hundred: the binomial variance, and its third moment over it."""
    counts = Estimates.with_covariance(np.array([60.0, 40.0]), np.zeros((2, 2)))
    gradient = np.array([[-0.004, 0.006]])
    found = carry(np.array([0.4]), gradient, counts, "population")
    assert found.variances == pytest.approx([0.0024])
    assert leaning(found, gradient, counts, "population").slopes == pytest.approx([(1 - 2 * 0.4) / 100])
    assert leaning(found, gradient, counts, "table").slopes == [0]


def test_a_rule_that_all_rows_keep_is_not_sure_to_be_everybody_s(release):
    """One row of the hundred of the south; of a set that all rows have, one of two hundred."""
    south = release.measures("region = 'south'", "age >= 10", only=["confidence"], target="population")
    assert south["confidence"].std_error == pytest.approx(0.01)
    ends = south["confidence"].low, south["confidence"].high
    assert ends == pytest.approx((1 - REACH / 100, 1.0), abs=1e-6)
    whole = Estimates(np.array([200.0]), np.zeros(1), certainty=all_claim(Certainty.EXACT, 1))
    shares = ShareRanges.of(Estimates(np.array([200.0, 80.0]), np.zeros(2)), whole, "population").shares
    assert np.sqrt(shares.variances) == pytest.approx([1 / 200, math.sqrt(0.24 / 200)])
    assert shares.reaching(HALF)[0][0] == pytest.approx(1 - REACH / 200, abs=1e-6)
    assert shares.slopes == pytest.approx([-1 / 200, 0.2 / 200])
    assert ShareRanges.of(Estimates(np.array([200.0]), np.zeros(1)), whole, "table").shares.variances == [0]


def test_a_mean_of_values_that_are_all_alike_is_not_sure_to_be_the_population_s(release):
    """One row of the other bin moves it by a hundredth of ten; the table's own is known."""
    found = release.mean("age", where="region = 'south'", target="population")
    assert (found.estimate, found.std_error) == pytest.approx((15, 0.1))
    assert found.low == pytest.approx(15 - REACH / 10, abs=1e-5)
    assert release.mean("age", where="region = 'south'").std_error == 0


def test_a_prediction_that_varies_with_nothing_says_so(release):
    """Of the south all are alike; of the north half are."""
    fit = release.regression("age ~ region", family="linear", target="population")
    south = fit.predict({"region": "south"})
    assert (south.low, south.high) == (-math.inf, math.inf)
    assert "are alike" in south.notes[-1]
    assert math.isfinite(fit.predict({"region": "north"}).low)
    assert fit.predict({"region": "north"}).notes == fit.notes
