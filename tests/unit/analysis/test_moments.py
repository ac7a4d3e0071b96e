"""Means, variances, quantiles and correlations through the law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from known_counts import KnownCounts, numbered_attribute
from published_rows import category_attribute
from sfumato.analysis.moments import correlation, mean, quantile, variance
from sfumato.errors import NoSolutionError, ParameterError, QueryError
from sfumato.schema import Attribute, Role

CLOSE = 1e-6
"""The digits to which the examples were written down."""
AGE = Attribute(name="age", role=Role.OTHER, bins=(0, 10, 20, 30, 40))
BINNED = KnownCounts((AGE, category_attribute("z", 2)), np.repeat([12, 30, 25, -3], 2) / 2, 4)
"""Example 8: the four bins have 12, 30, 25 and -3 rows, each with variance 8."""


def test_mean_of_a_binned_attribute():
    """Example 8, for both targets."""
    about_table, about_population = mean(BINNED, "age"), mean(BINNED, "age", target="population")
    np.testing.assert_allclose(about_table.estimate, 16.093750, atol=CLOSE)
    np.testing.assert_allclose(about_table.std_error, 1.046791, atol=CLOSE)
    np.testing.assert_allclose(about_population.std_error, 1.299012, atol=CLOSE)


def test_mean_is_bounded_by_what_bins_hide():
    """All values at the lower ends, or all at the upper ones: five less or more, and the noise on top."""
    found = mean(BINNED, "age")
    np.testing.assert_allclose((found.lowest, found.highest), (found.low - 5, found.high + 5))


def test_variance_of_a_binned_attribute():
    """Example 8: the square of a noisy mean is too large by its variance."""
    found = variance(BINNED, "age")
    np.testing.assert_allclose(found.estimate, 38.961983, atol=CLOSE)
    np.testing.assert_allclose(found.estimate - mean(BINNED, "age").std_error ** 2, 37.866211, atol=CLOSE)
    assert "would add 8" in found.notes[0]


def test_median_of_a_binned_attribute():
    """Example 9: every number that is not rejected; the bins that hold its ends bound what bins hide."""
    found = quantile(BINNED, "age", 0.5)
    expected = (16.666667, 15.066316, 18.384862)
    np.testing.assert_allclose((found.estimate, found.low, found.high), expected, atol=CLOSE)
    assert (found.lowest, found.highest) == (10, 20)
    assert math.isnan(found.std_error)


def test_quantile_of_exact_counts_is_a_point():
    """No noise about the table: 25 of 100 rows lie below 5."""
    found = quantile(KnownCounts((AGE,), [50, 20, 20, 10]), "age", 0.25)
    np.testing.assert_allclose((found.estimate, found.low, found.high), (5, 5, 5))
    assert (found.lowest, found.highest) == (0, 10)


def test_quantile_about_a_population_has_the_binomial_interval():
    """Without noise, those t whose share below is within z sqrt(q (1 - q)) of the share asked for, to first order."""
    rows = 100_000 * np.array([0.25, 0.25, 0.25, 0.25])
    found = quantile(KnownCounts((AGE,), rows), "age", 0.5, target="population")
    half = 1.959964 * 0.5 / math.sqrt(100_000) * 40
    np.testing.assert_allclose((found.low, found.high), (20 - half, 20 + half), rtol=1e-4)


CHILDREN = numbered_attribute("children", 4)


def test_quantile_of_whole_numbers_is_one_of_them():
    """The first number with at least that share of rows up to it."""
    release = KnownCounts((CHILDREN,), [30, 25, 30, 15], 4)
    found = quantile(release, "children", 0.5)
    assert (found.estimate, found.low, found.high, found.lowest) == (1, 1, 1, None)
    uncertain = quantile(KnownCounts((CHILDREN,), [30, 25, 30, 15], 121), "children", 0.5)
    assert (uncertain.low, uncertain.high) == (0, 2)


def test_correlation_of_scores():
    """Example 13, for both targets."""
    release = KnownCounts((numbered_attribute("a", 2), numbered_attribute("y", 3)), [20, 15, 5, 8, 14, 22], 4)
    found = correlation(release, "a", "y")
    np.testing.assert_allclose((found.estimate, found.std_error), (0.427887, 0.064855), atol=CLOSE)
    population = correlation(release, "a", "y", target="population")
    np.testing.assert_allclose(population.std_error, 0.113902, atol=CLOSE)


def test_rows_without_a_value_are_left_out():
    """They have no number."""
    age = Attribute(name="age", role=Role.OTHER, bins=(0, 10, 20), missing="category")
    release = KnownCounts((age, CHILDREN), np.outer([10, 30, 1000], [0.25] * 4), 0)
    assert mean(release, "age").estimate == 12.5
    assert correlation(release, "age", "children").estimate == pytest.approx(0, abs=1e-12)


def test_rows_can_be_restricted_and_scores_given():
    """Of the attribute itself too."""
    assert mean(KnownCounts((AGE,), [10, 30, 5, 5]), "age", where="age < 20").estimate == 12.5
    colour = Attribute(name="colour", role=Role.OTHER, categories=("red", "green"))
    assert mean(KnownCounts((colour,), [10, 30]), "colour", scores={"red": 0, "green": 1}).estimate == 0.75


def test_numbers_that_do_not_exist_are_refused():
    """With what to do instead."""
    colour = Attribute(name="colour", role=Role.OTHER, categories=("red", "green"))
    with pytest.raises(QueryError, match="not declared as ordered numbers, so it has no mean"):
        mean(KnownCounts((colour,), [10, 30]), "colour")
    with pytest.raises(QueryError, match="lack the category 'green'"):
        mean(KnownCounts((colour,), [10, 30]), "colour", scores={"red": 1})
    with pytest.raises(NoSolutionError, match=r"estimated as -5\.0 ± 1\.4"):
        mean(KnownCounts((CHILDREN,), [1, -6, 0, 0], 0.5), "children")
    with pytest.raises(ParameterError, match="strictly between 0 and 1, got 1"):
        quantile(BINNED, "age", 1)
    with pytest.raises(NoSolutionError, match="variance of y is estimated as not positive"):
        correlation(
            KnownCounts((numbered_attribute("a", 2), numbered_attribute("y", 3)), [20, 5, -12, 20, 5, -12]),
            "a",
            "y",
        )


@pytest.mark.parametrize("ask", [mean, variance, lambda *which, **how: quantile(*which, 0.5, **how)])
def test_misspelt_target_is_refused(ask):
    """It would be answered as the other one."""
    with pytest.raises(ParameterError, match="target must be one of table, population"):
        ask(BINNED, "age", target="tables")


def test_results_are_plain_data():
    """One line, a few lines, JSON and Arrow."""
    found = mean(BINNED, "age")
    assert repr(found) == "NumberEstimate(mean of age: 16.1 ± 1.0, 95 % interval 14.0 to 18.1)"
    assert "Wherever values lie within their bins: 9.0 to 23.1" in found.summary()
    assert found.to_dict().keys() >= {"estimate", "std_error", "low", "high", "confidence"}
    assert found.to_arrow().num_rows == 1
    assert "±" not in repr(quantile(BINNED, "age", 0.5))
    assert "std. error" not in str(quantile(BINNED, "age", 0.5))


def test_an_open_ended_bin_has_no_middle():
    """Top-coded values could lie anywhere above; scores say where they count."""
    income = Attribute(name="income", role=Role.OTHER, bins=(0, 10, 20, 30), top_code=20)
    release = KnownCounts((income,), [10, 20, 10])
    with pytest.raises(QueryError, match="has no end, and so no middle"):
        mean(release, "income")
    assert (
        mean(release, "income", scores=dict(zip(income.labels, (5, 15, 40), strict=True))).estimate == 18.75
    )
