"""Large-sum utility: the corrected thresholds, and the printed ones under their names."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.guarantees import small_sum_privacy as large_sum_utility
from sfumato.guarantees.small_sum_privacy import (
    LargeSumUtility,
    chebyshev_bound,
    chebyshev_threshold,
    chernoff_threshold,
    error_probabilities,
    exact_threshold,
    misprinted_lemma_1_threshold,
    misprinted_theorem_3_bound,
)

BOUNDS = [
    # gamma, relative error, count, as printed, corrected, exact
    (10, 0.3, 5, 0.0444, 2.0, 0.48007),
    (10, 0.1, 100, 0.001, 0.9, 0.3165),
    (10, 0.1, 500, 4e-5, 0.18, 0.0196),
    (10, 0.1, 900, 1.23e-5, 0.10, 0.00167),
    (10, 0.3, 50, 4.4e-4, 0.2, 0.0303),
    (5, 0.1, 500, 8e-5, 0.16, 0.0133),
    (5, 0.2, 100, 5e-4, 0.2, 0.0291),
]
THRESHOLDS = [
    # gamma, relative error, error probability, as printed, Chebyshev, Chernoff, exact
    (10, 0.3, 0.05, 4.71, 200.0, 123.0, 41),
    (10, 0.2, 0.05, 7.07, 450.0, 276.7, 91),
    (10, 0.1, 0.05, 14.14, 1800.0, 1106.7, 351),
    (5, 0.3, 0.05, 6.67, 177.8, 123.0, 34),
    (5, 0.2, 0.05, 10.0, 400.0, 276.7, 81),
    (5, 0.1, 0.10, 14.14, 800.0, 898.7, 221),
]


@pytest.mark.parametrize(("gamma", "error", "count", "printed", "corrected", "exact"), BOUNDS)
def test_bounds_on_the_error_probability(gamma, error, count, printed, corrected, exact):
    """The printed bound is below the truth; the corrected one above it."""
    truth = error_probabilities([count], gamma, error, boundary="wrong")[0]
    # Printed to three significant digits, one with two.
    assert misprinted_theorem_3_bound(count, gamma, error) == pytest.approx(printed, rel=0.011)
    assert chebyshev_bound(count, gamma, error) == pytest.approx(corrected, rel=1e-9)
    assert truth == pytest.approx(exact, abs=5.1e-5)
    assert misprinted_theorem_3_bound(count, gamma, error) < truth <= chebyshev_bound(count, gamma, error)


@pytest.mark.parametrize(
    ("gamma", "error", "allowed", "printed", "chebyshev", "chernoff", "exact"), THRESHOLDS
)
def test_thresholds(gamma, error, allowed, printed, chebyshev, chernoff, exact):
    """To the digits of the table."""
    assert misprinted_lemma_1_threshold(gamma, error, allowed) == pytest.approx(printed, abs=0.0051)
    assert chebyshev_threshold(gamma, error, allowed) == pytest.approx(chebyshev, abs=0.051)
    assert chernoff_threshold(error, allowed) == pytest.approx(chernoff, abs=0.051)
    assert exact_threshold(gamma, error, allowed) == exact


@pytest.mark.parametrize(
    ("gamma", "error", "allowed"),
    [(10, 0.3, 0.05), (5, 0.1, 0.10), (2, 0.5, 0.01), (1_000, 2.0, 1e-250), (100, 5.0, 1e-9)],
)
def test_the_exact_threshold_is_the_last_violation_plus_one(gamma, error, allowed):
    """Checked by scanning far beyond it."""
    threshold = exact_threshold(gamma, error, allowed)
    beyond = error_probabilities(range(threshold, threshold + 3_000), gamma, error, boundary="wrong")
    assert (beyond <= allowed).all()
    assert threshold == 1 or error_probabilities([threshold - 1], gamma, error, boundary="wrong")[0] > allowed


def test_the_error_of_large_counts_at_gamma_10():
    """Counts 100, 300, 500, 700, 900 (Fig. 4 of the paper), as computed for the corrected paper."""
    expected = {
        0.05: [0.635, 0.378, 0.248, 0.169, 0.118],
        0.1: [0.317, 0.073, 0.020, 0.0056, 0.0017],
        0.2: [0.040, 0.0003],
    }
    for error, values in expected.items():
        found = error_probabilities([100, 300, 500, 700, 900][: len(values)], 10, error, boundary="wrong")
        # Three decimals, or two significant digits of the small ones.
        tolerance = [0.51e-3 if each >= 0.01 else 0.51e-4 for each in values]
        assert (np.abs(found - values) <= tolerance).all()


def test_the_promise_states_its_threshold():
    """The sentence carries the exact threshold."""
    promise = LargeSumUtility(gamma_by_attribute={"job": 10}, relative_error=0.3, error_probability=0.05)
    assert "job 41" in promise.sentence
    assert "41 people" in promise.plain_words


def test_an_error_as_probable_as_allowed_is_no_violation():
    """Gamma 2: one row comes out as 0 or 2 with probability 1/2, two rows as 0 or 4 with 1/8."""
    assert error_probabilities([1, 2], 2, 0.9, boundary="wrong") == pytest.approx([1 / 2, 1 / 8])
    assert exact_threshold(2, 0.9, 0.5) == 1
    assert exact_threshold(2, 0.9, 0.49) == 2


def test_no_count_may_violate():
    """Then the promise begins with one row."""
    assert exact_threshold(2, 0.9, 0.99) == 1


def test_a_relative_error_above_one_is_bounded_too():
    """With the relative error instead of its square: gamma 5, a published count above 2.5 times the true one."""
    threshold = exact_threshold(5, 1.5, 0.01)
    beyond = error_probabilities(range(threshold, threshold + 500), 5, 1.5, boundary="wrong")
    assert (beyond <= 0.01).all()
    assert error_probabilities([threshold - 1], 5, 1.5, boundary="wrong")[0] > 0.01


def test_thresholds_need_a_group():
    """A group of one hides nothing, whichever formula is asked."""
    for call in (chebyshev_bound, misprinted_theorem_3_bound):
        with pytest.raises(ParameterError, match="gamma"):
            call(10, 1, 0.3)
    with pytest.raises(ParameterError, match="gamma"):
        misprinted_lemma_1_threshold(1, 0.3, 0.05)


def test_each_attribute_has_its_own_threshold():
    """The words name the larger one."""
    promise = LargeSumUtility(
        gamma_by_attribute={"job": 10, "sex": 5}, relative_error=0.3, error_probability=0.05
    )
    assert (promise.smallest_large_count("job"), promise.smallest_large_count("sex")) == (41, 34)
    assert "41 people" in promise.plain_words


@pytest.mark.parametrize("gamma", [2, 5, 1_000])
@pytest.mark.parametrize(
    ("relative_error", "error_probability"), [(0.0071, 0.2), (0.02, 0.05), (0.0333, 0.5)]
)
def test_the_tips_of_the_teeth_tell_the_threshold(monkeypatch, gamma, relative_error, error_probability):
    """The same as looking at every count, of which there may be a hundred million."""
    every = exact_threshold(gamma, relative_error, error_probability)
    monkeypatch.setattr(large_sum_utility, "MOST_COUNTS", 0)
    assert exact_threshold(gamma, relative_error, error_probability) == every


def test_a_threshold_of_millions_of_rows_is_found_at_once():
    """By the normal approximation (1.96 / 0.0003)^2 / 2, a little more for the teeth."""
    assert exact_threshold(2, 0.0003, 0.05) == pytest.approx((1.95996 / 0.0003) ** 2 / 2, rel=0.001)


def tips_by_hand(relative_error, last):
    """Counts up to the last beyond which the smallest wrong answer is off by one more, looked for in fractions."""
    share = Fraction(relative_error)
    return {
        count for count in range(1, last + 1) if math.ceil(share * (count + 1)) > math.ceil(share * count)
    }


@pytest.mark.parametrize(("relative_error", "last"), [("0.3", 40), ("0.5", 21), ("0.9", 10)])
def test_tips_are_where_answers_must_be_off_by_one_more_to_be_wrong(relative_error, last):
    """With both neighbours of each, as far as counts go."""
    near = {count + step for count in tips_by_hand(relative_error, last) for step in (-1, 0, 1)}
    assert large_sum_utility._tips(float(relative_error), last).tolist() == sorted(
        near & {*range(1, last + 1)}
    )


def test_no_tip_is_lost_to_rounding():
    """7 / 0.07 is a little less than 100 in floats."""
    assert tips_by_hand("0.07", 200) <= {*large_sum_utility._tips(0.07, 200).tolist()}
