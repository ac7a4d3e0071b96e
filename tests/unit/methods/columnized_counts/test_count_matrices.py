"""The three matrices of count publishing, against worked examples in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from exact.count_matrices import (
    exact_release_probabilities,
    geometric_matrix,
    geometric_mean,
    sampling_delta,
    sampling_matrix,
)
from sfumato.methods.columnized_counts.noisy_counts import matrix_row

F = Fraction
HALF = F(1, 2)
APPEARS = exact_release_probabilities(F(4), HALF, F(1, 10), 2, 9)


def row(count, largest=7):
    """A row of the practical matrix at epsilon = ln 4, delta = 1/10, k = 2."""
    return matrix_row(count, largest, 2, HALF, APPEARS[count], 1 - APPEARS[count])


def fractions(text):
    """Fractions from text."""
    return [F(each) for each in text.split()]


@pytest.mark.parametrize(
    ("count", "expected", "mean"),
    [
        (0, "2/3 1/6 1/12 1/24", "2/3"),
        (1, "1/3 1/3 1/6 1/12", "4/3"),
        (2, "1/6 1/6 1/3 1/6", "13/6"),
        (3, "1/12 1/12 1/6 1/3", "37/12"),
    ],
)
def test_the_private_matrix_at_ratio_one_half(count, expected, mean):
    """Rows and means worked out by hand, as fractions."""
    assert geometric_matrix(HALF, count, 3) == fractions(expected)
    assert geometric_mean(HALF, count) == F(mean)


def test_release_probabilities_at_epsilon_ln_4():
    """Doubling while the growth bound holds, then a quarter of what is left out at each step."""
    expected = fractions("0 0 1/10 1/5 2/5 4/5 19/20 79/80 319/320 1279/1280")
    assert exact_release_probabilities(F(4), HALF, F(1, 10), 2, 9) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "1 0 0 0 0 0 0 0"),
        (1, "1 0 0 0 0 0 0 0"),
        (2, "9/10 0 1/15 1/60 1/120 1/240 1/480 1/960"),
        (3, "4/5 0 1/15 1/15 1/30 1/60 1/120 1/240"),
        (4, "3/5 0 1/15 1/15 2/15 1/15 1/30 1/60"),
        (5, "1/5 0 1/15 1/15 2/15 4/15 2/15 1/15"),
        (6, "1/20 0 19/480 19/480 19/240 19/120 19/60 19/120"),
    ],
)
def test_the_practical_matrix_at_epsilon_ln_4(count, expected):
    """Every cell of the worked table."""
    assert row(count) == fractions(expected)


@pytest.mark.parametrize("count", range(2, 10))
def test_rows_of_the_practical_matrix_sum_to_one(count):
    """Beyond the last column a geometric tail is left, which is added in closed form."""
    cells = row(count, 12)
    assert sum(cells) + cells[-1] * HALF / (1 - HALF) == 1


def test_the_exponent_as_printed_is_no_probability():
    """With r^(i-j) instead of r^|i-j| the cell (3, 10) is above 8, which proves the misprint."""
    printed = (1 - HALF) / (1 + HALF) * HALF ** (3 - 10) * APPEARS[3]
    assert float(printed) == pytest.approx(8.53, abs=0.005)


def test_only_the_first_released_row_breaks_the_ratio():
    """Within a factor of four everywhere but between the counts 1 and 2, where a tenth of the mass is unsafe."""
    rows = [row(count, 30) for count in range(10)]
    for before in range(9):
        pairs = list(zip(rows[before], rows[before + 1], strict=True))
        unsafe = [after for first, after in pairs if after > 4 * first or first > 4 * after]
        if before == 1:
            # What lies beyond the last column is a tail with the same ratios.
            assert sum(unsafe) + unsafe[-1] == F(1, 10)
        else:
            assert not unsafe


def test_sampling_needs_a_delta_that_falls_with_the_count():
    """The figures of the digest: 0.1, 0.01, 4.6e-4, 9.12e-6, 2.16e-10 at rate 0.1 and epsilon 1."""
    found = [sampling_delta(0.1, count, 1.0) for count in (1, 2, 5, 10, 20)]
    assert found == pytest.approx([0.1, 0.01, 4.6e-4, 9.12e-6, 2.16e-10], rel=0.002)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_delta_of_sampling_is_the_mass_of_unsafe_outputs(count):
    """By brute force: outputs whose probability without one row differs by more than exp(epsilon)."""
    rate, growth = 0.1, math.e
    with_row, without = (sampling_matrix(rate, each, count) for each in (count, count - 1))
    unsafe = sum(p for p, q in zip(with_row, without, strict=True) if p > growth * q or q > growth * p)
    assert sampling_delta(rate, count, 1.0) == pytest.approx(unsafe, rel=1e-9)


def test_a_high_sampling_rate_has_no_delta_below_one():
    """When 1 - rate is below exp(-epsilon), even publishing nothing is unsafe."""
    assert sampling_delta(0.9, 3, 1.0) == 1.0


def test_a_small_delta_still_publishes_rows_verbatim():
    """Ten million rows kept with probability 1e-5 each: 100 expected, and at least one for certain."""
    assert pytest.approx(100) == 1e7 * 1e-5
    assert -math.expm1(1e7 * math.log1p(-1e-5)) == 1.0


def test_an_output_on_the_edge_is_safe_however_floats_round():
    """Rate 1/3, epsilon ln 4, 18 copies: 18 (1 - 2/3 / 4) is 15, which a float puts just below."""
    above = sum(math.comb(18, j) * F(1, 3) ** j * F(2, 3) ** (18 - j) for j in range(16, 19))
    assert sampling_delta(1 / 3, 18, math.log(4)) == pytest.approx(float(above), rel=1e-9)
