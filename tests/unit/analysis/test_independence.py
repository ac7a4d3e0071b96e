"""Tests of independence through the law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from known_counts import KnownCounts
from published_rows import category_attribute
from sfumato.analysis.independence import independence
from sfumato.errors import NoSolutionError

CLOSE = 1e-6
"""The digits to which the examples were written down."""
A, Y, WIDE = category_attribute("a", 2), category_attribute("y", 2), category_attribute("y", 3)
WITHIN = 400 / 9 * np.array([[1, -1], [-1, 1]])
EXAMPLE_1 = KnownCounts((A, Y), [200 / 3, 100 / 3, 25, 75], np.kron(np.eye(2), WITHIN))


def test_two_by_two():
    """Example 5: on one degree the corrected test is the Wald test."""
    found = independence(EXAMPLE_1, "a", "y")
    np.testing.assert_allclose(found.pearson, 34.965035, atol=CLOSE)
    np.testing.assert_allclose(found.design_effect, 2.615385, atol=CLOSE)
    np.testing.assert_allclose((found.wald, found.statistic), (13.368984, 13.368984), atol=CLOSE)
    np.testing.assert_allclose((found.p_value, found.wald_p_value), (0.000256, 0.000256), atol=CLOSE)


def test_two_by_three():
    """Example 13: degrees are a fraction."""
    found = independence(KnownCounts((A, WIDE), [20, 15, 5, 8, 14, 22], 4), "a", "y")
    np.testing.assert_allclose(found.pearson, 15.726228, atol=CLOSE)
    np.testing.assert_allclose((found.degrees, found.p_value), (1.984945, 0.001412), atol=CLOSE)
    np.testing.assert_allclose((found.wald, found.wald_p_value), (14.408295, 0.000743), atol=CLOSE)


def test_without_noise_the_plain_statistic_is_pearsons():
    """And near independence the correction does nothing."""
    table = [[200, 310, 490], [205, 305, 490]]
    found = independence(KnownCounts((A, WIDE), table), "a", "y")
    plain = chi2_contingency(np.array(table), correction=False)
    np.testing.assert_allclose(found.pearson, plain.statistic)
    np.testing.assert_allclose(found.p_value, plain.pvalue, rtol=1e-3)
    np.testing.assert_allclose((found.degrees, found.design_effect), (2, 1), rtol=1e-3)


def test_conditions_can_be_tested():
    """By whether they hold."""
    release = KnownCounts((A, WIDE), [20, 15, 5, 8, 14, 22], 4)
    assert independence(release, "a", "y != '0'").wald_degrees == 1


def test_a_margin_that_is_not_positive_is_refused():
    """By name."""
    with pytest.raises(NoSolutionError, match=r"there is no test of independence: rows with a = '1'"):
        independence(KnownCounts((A, Y), [30, 20, -4, 2], 25), "a", "y")


def test_results_are_plain_data():
    """One line, a few lines, JSON and Arrow."""
    found = independence(EXAMPLE_1, "a", "y")
    assert repr(found) == "IndependenceTest(a with y: p = 0.000256)"
    assert "Design effect 2.615: without noise, 0.3824 of the rows tell as much" in str(found)
    assert found.to_dict()["of"] == ["a", "y"]
    assert found.to_arrow().num_rows == 1
