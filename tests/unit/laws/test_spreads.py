"""Intervals judged by the variance that each end would have: ends that solve their own equation, of single counts and of sums."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.estimates.intervals import score_limits
from sfumato.laws.estimator import Formula, answer
from sfumato.query.selection import Selection, Tabulation

CELLS = tuple(Tabulation(where=Selection((("job", (code,)),))) for code in range(3))
VALUES = np.array([40.0, 50.0, 60.0])
SPREADS = ((3.0, 0.5), None, (9.0, -0.25))
"""Variances and slopes of the first and the last job; of the second only its variance, 2, is known."""
ROWS = 300.0
LEVEL = 0.5
Z = 0.6744897501960817


class Growing(Formula):
    """Three jobs that nobody has two of."""

    number_of_rows = ROWS

    def values(self, asked):
        """40, 50 and 60 rows; nobody has two jobs."""
        return np.array([VALUES[CELLS.index(asked)] if asked in CELLS else 0.0])

    def variances(self, asked):
        """All 2."""
        del asked
        return np.array([2.0])

    def covariance(self, one, other):
        """1 between different jobs."""
        return np.array([[2.0 if one is other else 1.0]])

    def spread(self, asked):
        """As stated."""
        found = SPREADS[CELLS.index(asked)]
        return None if found is None else tuple(np.array([each]) for each in found)


def assert_ends(found, place, value, variance, slope):
    """Both ends solve (value - x)^2 = z^2 (variance + slope (x - value)), one on either side."""
    low, high = (each[place] for each in found.intervals(LEVEL))
    for end in (low, high):
        assert (value - end) ** 2 == pytest.approx(Z**2 * (variance + slope * (end - value)))
    assert low < value < high


def test_every_question_has_the_spread_of_its_own():
    """The second, which states none, has a normal interval."""
    found = answer(Growing(), CELLS, "table")
    assert_ends(found, 0, 40, 3, 0.5)
    assert_ends(found, 1, 50, 2, 0)
    assert_ends(found, 2, 60, 9, -0.25)
    # An estimate goes with its own variance by its slope.
    assert found.skews() == pytest.approx([0.5 * 2, 0, -0.25 * 2])


def test_a_draw_adds_its_own_spread():
    """N p (1 - p) has the slope 1 - 2 p in N p."""
    found = answer(Growing(), CELLS, "population")
    for place, (value, spread) in enumerate(zip(VALUES, SPREADS, strict=True)):
        variance, slope = spread or (2.0, 0.0)
        drawn = (value - (value**2 - 2) / ROWS) * ROWS / (ROWS - 1)
        assert found.variances[place] == pytest.approx(2 + drawn)
        assert_ends(found, place, value, variance + drawn, slope + 1 - 2 * value / ROWS)


SUMS = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])


def test_sums_have_the_covariance_of_their_cells_and_the_mean_of_their_slopes():
    """40 + 50: 2 + 2 + 2 * 1, and one more for the first job's own spread; a row more is in either of its cells."""
    found = answer(Growing(), CELLS, "table", SUMS)
    assert found.values.tolist() == [90, 110]
    # Cov of a + b with b + c: cov(a, b) + cov(a, c) + var(b) + cov(b, c).
    assert found.covariance == pytest.approx(np.array([[6, 5], [5, 6]]))
    assert_ends(found, 0, 90, 6 + 1, 0.5 / 2)
    assert_ends(found, 1, 110, 6 + 7, -0.25 / 2)


def test_a_draw_of_sums_that_overlap_shares_the_rows_of_both():
    """50 rows are in both of the sums."""
    found = answer(Growing(), CELLS, "population", SUMS)
    values, own, both = (
        np.array([90.0, 110.0]),
        np.array([[6.0, 5.0], [5.0, 6.0]]),
        np.array([[90.0, 50.0], [50.0, 110.0]]),
    )
    drawing = (both - (np.outer(values, values) - own) / ROWS) * ROWS / (ROWS - 1)
    assert found.covariance == pytest.approx(own + drawing)


def test_near_zero_the_lower_end_is_not_above_the_normal_one():
    """1 with a variance of 4 and a slope of 1 ends at 1 - z 2 below, 10 at the root of its own equation."""
    z = 1.959963984540054
    low, high = score_limits(np.array([1.0, 10.0]), np.array([4.0, 4.0]), np.array([1.0, 1.0]), z)
    half = np.sqrt(z**4 / 4 + z**2 * 4)
    assert low == pytest.approx([1 - 2 * z, 10 + z**2 / 2 - half])
    assert high == pytest.approx([1 + z**2 / 2 + half, 10 + z**2 / 2 + half])
    # Where the score's own end is lower still, it stays.
    assert score_limits(np.array([1.0]), np.array([4.0]), np.array([-1.0]), z)[0][0] == pytest.approx(
        1 - z**2 / 2 - half
    )


class Spreadless(Growing):
    """A law that computes no spread for a count that it does not call exact."""

    def spread(self, asked):
        """Nothing, which is not the same as no error."""
        del asked
        return np.zeros(1), np.zeros(1)


def test_what_is_not_exact_has_an_interval_of_some_width():
    """The stated variance stands in."""
    found = answer(Spreadless(), CELLS[:1], "table")
    low, high = found.intervals(LEVEL)
    assert high[0] - low[0] == pytest.approx(2 * Z * found.standard_errors[0])


def test_a_spread_below_that_of_a_row_is_believed():
    """However small: only one of nothing gives way to the stated variance."""

    class Sharp(Growing):
        def spread(self, asked):
            del asked
            return np.array([0.25]), np.zeros(1)

    assert_ends(answer(Sharp(), CELLS[:1], "table"), 0, 40, 0.25, 0)
