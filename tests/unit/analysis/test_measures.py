"""Measures of two attributes through the law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counted import Counted
from known_counts import KnownCounts
from published_rows import category_attribute
from sfumato import Anatomy, RandomizedResponse
from sfumato.analysis.equations import differentiate
from sfumato.analysis.measure_formulas import MEASURES
from sfumato.analysis.measures import measure
from sfumato.errors import NoSolutionError, NotIdentifiableError, ParameterError, QueryError, TooLargeError
from sfumato.estimates.estimates import Estimates
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import UniformDistortion
from sfumato.testing import release_in_memory, sample_table

A, Y = category_attribute("a", 2), category_attribute("y", 2)
CLOSE = 1e-6
"""The digits to which the examples were written down."""


def published(counts, law):
    """A release of a and y as its law estimates it."""
    table = np.array(counts).reshape(2, 2)
    estimates = law.estimate(Counted((A, Y), table), Tabulation(by=("a", "y")))
    return KnownCounts((A, Y), estimates.values, estimates.covariance)


EXAMPLE_1 = published(
    [60, 40, 35, 65], PerturbedRows(distortions={"y": UniformDistortion(retention=0.6, size=2)})
)


def assert_measure(found, estimate, error, *, on_log_scale=False):
    """Value and standard error, as stated or of the logarithm."""
    value = math.log(found.estimate) if on_log_scale else found.estimate
    std_error = found.std_error / found.estimate if on_log_scale else found.std_error
    np.testing.assert_allclose((value, std_error), (estimate, error), atol=CLOSE)


def test_log_odds_ratio():
    """Example 2, for both targets."""
    assert_measure(measure(EXAMPLE_1, "a", "y")["odds-ratio"], 1.791759, 0.465209, on_log_scale=True)
    about = measure(EXAMPLE_1, "a", "y", target="population")
    assert_measure(about["odds-ratio"], 1.791759, 0.561029, on_log_scale=True)


def test_risk_difference_and_ratio():
    """Example 4, for both targets."""
    table = measure(EXAMPLE_1, "a", "y")
    assert_measure(table["risk-difference"], 0.416667, 0.094281)
    assert_measure(table["risk-ratio"], 0.810930, 0.218864, on_log_scale=True)
    population = measure(EXAMPLE_1, "a", "y", target="population")
    assert_measure(population["risk-difference"], 0.416667, 0.113957)
    assert_measure(population["risk-ratio"], 0.810930, 0.266898, on_log_scale=True)


def test_noise_is_taken_out_of_quadratic_measures():
    """Example 6: what noise adds on average, and what is left."""
    found = measure(EXAMPLE_1, "a", "y")
    np.testing.assert_allclose(found["phi-squared"].noise_bias, 0.010560, atol=CLOSE)
    np.testing.assert_allclose(found["phi-squared"].estimate, 0.164265, atol=CLOSE)
    np.testing.assert_allclose(found["cramers-v"].estimate, 0.405297, atol=CLOSE)
    np.testing.assert_allclose(found["mutual-information"].noise_bias, 0.006450, atol=CLOSE)
    assert_measure(found["mutual-information"], 0.083796, 0.042266)
    np.testing.assert_allclose(found["gini-decrease"].estimate, 0.082361, atol=CLOSE)
    raw = found["gini-decrease"].estimate + found["gini-decrease"].noise_bias
    np.testing.assert_allclose(raw, 0.086806, atol=CLOSE)


def test_rule_with_simultaneous_intervals():
    """Example 16: four rules are considered, so each interval has level 1 - 0.05 / 4."""
    found = measure(EXAMPLE_1, "a", "y", confidence_level=1 - 0.05 / 4)
    for name, expected in {
        "support": (0.375, 0.291743, 0.458257),
        "confidence": (0.75, 0.583486, 0.916514),
        "lift": (1.384615, 1.170253, 1.638243),
    }.items():
        each = found[name]
        np.testing.assert_allclose((each.estimate, each.low, each.high), expected, atol=CLOSE)


def test_phi_squared_of_a_larger_table():
    """Example 13."""
    release = KnownCounts((A, category_attribute("y", 3)), [20, 15, 5, 8, 14, 22], 4)
    found = measure(release, "a", "y")["phi-squared"]
    np.testing.assert_allclose(found.estimate + found.noise_bias, 0.187217, atol=CLOSE)
    np.testing.assert_allclose(found.noise_bias, 0.010800, atol=CLOSE)
    assert {each.name for each in measure(release, "a", "y").values} == {
        name for name, each in MEASURES.items() if not each.is_binary
    }


@pytest.mark.parametrize("name", list(MEASURES))
def test_gradients_agree_with_differences(name):
    """A second way to differentiate every declaration."""
    place = np.array([30.0, 21.0, 17.0, 44.0])

    def formula(numbers):
        rows = numbers.sum()
        return MEASURES[name].formula((numbers / rows).reshape(2, 2), rows)

    step = 1e-4
    differences = [(formula(place + step * e) - formula(place - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(differentiate(formula, place), differences, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", [name for name, each in MEASURES.items() if each.null is not None])
def test_null_is_the_value_of_independent_attributes(name):
    """Of any margins."""
    independent = 1000 * np.outer([0.3, 0.7], [0.6, 0.4])
    found = measure(KnownCounts((A, Y), independent), "a", "y")[name]
    np.testing.assert_allclose(found.estimate, MEASURES[name].null, atol=2e-8)


def test_chebyshev_ranges_are_wider_by_the_stated_factor():
    """4.472 standard errors at 95 %, where a normal range has 1.960."""
    normal = measure(EXAMPLE_1, "a", "y")["added-value"]
    wide = measure(EXAMPLE_1, "a", "y", interval="chebyshev")["added-value"]
    np.testing.assert_allclose(
        (wide.high - wide.low) / (normal.high - normal.low), 4.472136 / 1.959964, rtol=1e-6
    )


def test_ranges_stay_within_the_measure():
    """A share is not above one, whatever the noise."""
    release = KnownCounts((A, Y), [30, 5, 4, 20], 400)
    for each in measure(release, "a", "y", interval="chebyshev").values:
        if not each.undefined:
            assert MEASURES[each.name].lowest <= each.low <= each.high <= MEASURES[each.name].highest


def test_measures_that_a_negative_cell_leaves_undefined_say_so():
    """The others are still there."""
    found = measure(KnownCounts((A, Y), [30, 20, -4, 40], 25), "a", "y")
    assert found["odds-ratio"].undefined == "rows with a = '1' and y = '0' are estimated as -4.0 ± 5.0"
    assert math.isnan(found["mutual-information"].estimate)
    assert found["phi"].undefined == ""
    assert "odds-ratio is undefined" in found.summary()


def test_a_margin_that_is_not_positive_is_named():
    """Every measure divides by it."""
    with pytest.raises(NoSolutionError, match=r"rows with a = '1' are estimated as -2.0 ± 7.1"):
        measure(KnownCounts((A, Y), [30, 20, -4, 2], 25), "a", "y")


def test_a_cell_known_to_be_empty_adds_nothing_to_information():
    """Zero times the logarithm of zero is zero; a ratio is still undefined."""
    found = measure(KnownCounts((A, Y), [30, 0, 10, 40]), "a", "y")
    p = np.array([[30, 0], [10, 40]]) / 80
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    by_hand = sum(p[i, j] * math.log(p[i, j] / expected[i, j]) for i, j in ((0, 0), (1, 0), (1, 1)))
    np.testing.assert_allclose(found["mutual-information"].estimate, by_hand)
    assert found["odds-ratio"].undefined


def test_conditions_classify_rows_by_whether_they_hold():
    """The same as a table merged by hand."""
    release = KnownCounts((A, category_attribute("y", 3)), [20, 15, 5, 8, 14, 22], 4)
    merged = KnownCounts((A, Y), [20, 20, 8, 36], np.diag([4, 8, 4, 8]))
    found, by_hand = measure(release, "a", "y != '0'"), measure(merged, "a", "y")
    for one, other in zip(found.values, by_hand.values, strict=True):
        np.testing.assert_allclose((one.estimate, one.std_error), (other.estimate, other.std_error))
    assert found.of == ("a", "y != '0'")


def test_rows_can_be_restricted():
    """Only what satisfies the conditions is counted."""
    cube = KnownCounts((A, Y, category_attribute("z", 2)), np.arange(1, 9), 1)
    found = measure(cube, "a", "y", where="z = '1'")["odds-ratio"]
    np.testing.assert_allclose(found.estimate, 2 * 8 / (4 * 6))


def test_bad_questions_are_refused():
    """With what is allowed."""
    with pytest.raises(QueryError, match="no attribute 'b'"):
        measure(EXAMPLE_1, "a", "b")
    with pytest.raises(ParameterError, match="interval must be one of normal, chebyshev"):
        measure(EXAMPLE_1, "a", "y", interval="exact")


def test_some_measures_can_be_asked_for():
    """Those that there are, of tables that they are defined for."""
    found = measure(EXAMPLE_1, "a", "y", only=["phi", "lift"])
    assert [each.name for each in found.values] == ["phi", "lift"]
    with pytest.raises(ParameterError, match="no measure 'lfit'; did you mean 'lift'"):
        measure(EXAMPLE_1, "a", "y", only=["lfit"])
    wide = KnownCounts((A, category_attribute("y", 3)), [20, 15, 5, 8, 14, 22], 4)
    with pytest.raises(ParameterError, match="two by two categories, and these have 2 by 3"):
        measure(wide, "a", "y", only=["lift"])


def test_a_table_without_covariance_is_refused():
    """Unless its counts are exact."""
    release = KnownCounts((A, Y), [30, 20, 10, 40], 4)
    whole = release.counts

    def bare(by, **settings):
        table = whole(by, **settings)
        without = Estimates(table.estimates.values, table.estimates.variances)
        return table.__class__(table.attributes, table.codes, without, 0.95, "m", "l", "table")

    release.counts = bare
    with pytest.raises(TooLargeError, match="Name fewer attributes"):
        measure(release, "a", "y")
    release.covariance = np.zeros((4, 4))
    assert measure(release, "a", "y")["phi"].std_error == 0


def test_counts_that_are_not_unbiased_are_marked():
    """The law's own sentence is repeated."""
    release = KnownCounts((A, Y), [30, 20, 10, 40], 4, estimator="assumes even spread")
    assert "not unbiased: assumes even spread" in measure(release, "a", "y").notes[0]


def test_results_are_plain_data():
    """One line, a table, JSON and Arrow."""
    found = measure(EXAMPLE_1, "a", "y")
    assert repr(found) == f"Measures(a with y: {len(MEASURES)} of {len(MEASURES)} defined)"
    assert str(found).startswith("Measures of a with y, 95 % normal intervals (about the table)")
    assert found.to_dict()["measures"][0].keys() >= {"measure", "estimate", "std_error", "low", "high"}
    assert found.to_arrow().num_rows == len(MEASURES)
    with pytest.raises(KeyError):
        found["unknown"]


@pytest.mark.parametrize(
    ("cells", "name", "limit"),
    [
        ((30, 0, 20, 50), "odds-ratio", math.inf),
        ((30, 10, 60, 0), "odds-ratio", 0.0),
        ((30, 10, 0, 60), "conviction", math.inf),
        ((30, 10, 60, 0), "lift", 0.0),
        ((30, 0, 20, 50), "risk-ratio", math.inf),
    ],
)
def test_a_measure_that_an_empty_cell_leaves_undefined_has_a_limit(cells, name, limit):
    """By hand: what it divides by, or multiplies with, goes to zero."""
    found = measure(KnownCounts((A, Y), cells), "a", "y")
    assert found[name].undefined
    assert found[name].limit == limit
    assert "as that cell empties it tends to" in found.summary()


def test_noise_that_leaves_a_measure_undefined_has_no_limit():
    """Nothing is known to be empty."""
    found = measure(KnownCounts((A, Y), (30, -1, 20, 50), 4.0), "a", "y")["odds-ratio"]
    assert found.undefined
    assert found.limit is None


def test_rows_drawn_anew_give_ranges_like_normal_ones():
    """About the population, of 40,000 rows: ends within a third of a standard error; the estimate is the same."""
    release = release_in_memory(sample_table(40_000), RandomizedResponse(retention=0.6), seed=1)
    wanted = ["odds-ratio", "phi", "chi-square", "lift", "confidence"]
    for where in ("", "region = 'North'"):
        asked = {"only": wanted, "target": "population", "where": where}
        normal = release.measures("sex", "job = 'Care'", **asked)
        drawn = release.measures("sex", "job = 'Care'", interval="bootstrap", **asked)
        for one, other in zip(normal.values, drawn.values, strict=True):
            assert other.estimate == one.estimate
            # A thousand draws know a standard error to 2 % and an end to a tenth of one; skewness adds to it.
            assert other.std_error == pytest.approx(one.std_error, rel=0.15)
            assert abs(other.low - one.low) < 0.35 * one.std_error
            assert abs(other.high - one.high) < 0.35 * one.std_error
    again = release.measures("sex", "job = 'Care'", interval="bootstrap", only=["phi"], target="population")
    first = release.measures("sex", "job = 'Care'", interval="bootstrap", only=["phi"], target="population")
    assert again == first


def test_rows_are_not_drawn_anew_where_that_shows_nothing():
    """About the table, and where rows of a bucket depend on each other."""
    release = release_in_memory(sample_table(), RandomizedResponse(retention=0.6), seed=1)
    with pytest.raises(ParameterError, match="not the noise of publishing"):
        release.measures("sex", "job", interval="bootstrap")
    buckets = release_in_memory(sample_table(), Anatomy(l_value=2), seed=1)
    with pytest.raises(NotIdentifiableError, match="depend on each other"):
        buckets.measures("sex", "job", interval="bootstrap", target="population")


def test_a_range_that_draws_leave_open_is_the_whole_one():
    """Few rows with both: many draws have none, and the logarithm of none is nothing."""
    release = release_in_memory(sample_table(60), RandomizedResponse(retention=0.3), seed=3)
    found = release.measures(
        "sex", "job = 'Care'", interval="bootstrap", target="population", only=["odds-ratio"]
    )["odds-ratio"]
    assert found.undefined or (found.low, found.high) == (0, math.inf)
