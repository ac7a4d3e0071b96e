"""Partial correlation through the law."""

from __future__ import annotations

import numpy as np
import pytest

from known_counts import KnownCounts
from published_rows import category_attribute
from sfumato.analysis.moments import partial_correlation
from sfumato.errors import NoSolutionError, QueryError

A, B, C = (category_attribute(name, 2) for name in "abc")
WIDE = category_attribute("b", 3)
TABLE = np.array([60, 25, 15, 30, 20, 35, 18, 70])


def by_residuals(counts):
    """A second way: the correlation of what regressions on c leave of a and b, row by row."""
    a, b, c = np.repeat(np.indices((2, 2, 2)).reshape(3, -1), counts, axis=1).astype(float)
    design = np.column_stack([np.ones(c.size), c])
    left = [each - design @ np.linalg.lstsq(design, each)[0] for each in (a, b)]
    return float(np.corrcoef(*left)[0, 1])


def test_it_is_the_correlation_of_what_the_third_leaves():
    """Without noise, to the last digits; the table's own number has no error."""
    found = partial_correlation(KnownCounts((A, B, C), TABLE), "a", "b", given="c")
    np.testing.assert_allclose(found.estimate, by_residuals(TABLE), rtol=1e-10)
    assert found.std_error == 0


def test_its_error_is_the_delta_methods():
    """Gradient by differences, covariance of the counts."""
    draw = np.random.default_rng(1)
    factor = draw.normal(size=(8, 8))
    covariance = factor @ factor.T
    found = partial_correlation(KnownCounts((A, B, C), TABLE, covariance), "a", "b", given="c")

    def value(counts):
        return partial_correlation(KnownCounts((A, B, C), counts), "a", "b", given="c").estimate

    gradient = np.array([(value(TABLE + step) - value(TABLE - step)) / 2e-3 for step in 1e-3 * np.eye(8)])
    np.testing.assert_allclose(found.std_error, np.sqrt(gradient @ covariance @ gradient), rtol=1e-5)
    drawn = partial_correlation(KnownCounts((A, B, C), TABLE), "a", "b", given="c", target="population")
    expected = gradient @ (np.diag(TABLE) - np.outer(TABLE, TABLE) / TABLE.sum()) @ gradient
    np.testing.assert_allclose(drawn.std_error, np.sqrt(expected), rtol=1e-5)


def test_conditions_make_two_classes():
    """Of an attribute with more categories."""
    release = KnownCounts((A, WIDE, C), [60, 25, 15, 30, 20, 35, 18, 70, 40, 33, 12, 9])
    found = partial_correlation(release, "a", "b != '0'", given="c")
    assert -1 < found.low <= found.estimate <= found.high < 1
    with pytest.raises(QueryError, match="two categories, and 'b' has 3"):
        partial_correlation(release, "a", "b", given="c")
    with pytest.raises(QueryError, match="named once"):
        partial_correlation(release, "a", "c", given="c = '1'")


def test_what_is_not_defined_is_refused_and_what_is_not_told_is_shown_as_such():
    """A margin below zero; attributes that are one; an interval from -1 to 1."""
    with pytest.raises(NoSolutionError, match="not defined"):
        partial_correlation(KnownCounts((A, B, C), [10, 5, 4, 3, -20, 2, 1, 3], 4), "a", "b", given="c")
    same = np.zeros((2, 2, 2))
    same[0, :, 0], same[1, :, 1] = 20, 30
    with pytest.raises(NoSolutionError, match="determines"):
        partial_correlation(KnownCounts((A, B, C), same), "a", "b", given="c")
    vague = partial_correlation(KnownCounts((A, B, C), TABLE, 40_000), "a", "b", given="c")
    assert (vague.low, vague.high) == (-1, 1)
    assert any("whole range" in each for each in vague.notes)
