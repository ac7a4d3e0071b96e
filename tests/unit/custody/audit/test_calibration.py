"""Reliability, the Brier score, and calibration with and without the truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from sfumato.custody.audit.calibration import (
    IsotonicCalibration,
    brier_parts,
    reliability,
    row_average_marginals,
)
from sfumato.errors import ParameterError

STATED = (0.9, 0.9, 0.6, 0.6, 0.2)
HAPPENED = (1, 0, 1, 1, 0)
MATRIX_3 = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.4]])


def test_the_worked_brier_score_is_the_sum_of_its_parts():
    """U7: .236 = .136 + .1."""
    parts = brier_parts(STATED, HAPPENED)
    assert parts.brier == pytest.approx(0.236)
    assert parts.calibration == pytest.approx(0.136)
    assert parts.refinement == pytest.approx(0.1)
    assert parts.quantised == pytest.approx(parts.brier)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60),
    st.sampled_from(["equal-width", "equal-count"]),
)
def test_calibration_and_refinement_add_up_on_quantised_probabilities(events, bins):
    """The score of bin means, computed directly."""
    stated, happened = (np.array(each, float) for each in zip(*events, strict=True))
    parts = brier_parts(stated, happened, bins=bins)
    found = reliability(stated, happened, bins=bins)
    assert found.numbers.sum() == len(events)
    edges = np.append(found.low, found.high[-1])
    place = np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, len(found.low) - 1)
    direct = np.mean((happened - found.stated[place]) ** 2)
    assert parts.quantised == pytest.approx(direct, abs=1e-9)


def test_the_midpoint_stands_for_its_bin_when_asked_for():
    """Probabilities .9, .9 in the bin from .9 to 1 count as .95."""
    parts = brier_parts([0.9, 0.9], [1, 0], representative="midpoint")
    assert parts.calibration == pytest.approx((0.5 - 0.95) ** 2)


def test_refinement_of_evenly_filled_midpoints_is_the_thesis_baseline():
    """Mean of m(1 - m) over .05, .15, ..., .95 is .1675."""
    midpoints = np.arange(10) / 10 + 0.05
    stated = np.repeat(midpoints, 20)
    happened = np.concatenate([np.arange(20) < round(20 * m) for m in midpoints])
    assert brier_parts(stated, happened).refinement == pytest.approx(0.1675)


def test_equal_count_bins_hold_equal_numbers():
    """Ten of each hundred, whatever the scale."""
    stated = np.random.default_rng(1).random(1000) ** 4
    found = reliability(stated, stated > 0.5, bins="equal-count")
    assert found.numbers.tolist() == [100] * 10


def test_equal_probabilities_make_one_bin():
    """Equal-count edges that coincide are joined."""
    found = reliability([0.3] * 5, [1, 0, 0, 0, 0], bins="equal-count")
    assert found.numbers.tolist() == [5]
    assert found.observed.tolist() == [0.2]


def test_row_averages_match_the_worked_example():
    """U4: marginals after the calibration without ground truth."""
    expected = [
        [0.445833, 0.270833, 0.283333],
        [0.295833, 0.420833, 0.283333],
        [0.258333, 0.308333, 0.433333],
    ]
    assert np.allclose(row_average_marginals(MATRIX_3[:, :, None])[:, :, 0], expected, atol=5e-7)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_row_averages_equal_their_definition_over_permutations(size):
    """The closed form against enumeration, and the cap of 2/g."""
    matrix = np.random.default_rng(size).random((size, size)) ** 4
    shares = matrix / matrix.sum(axis=1, keepdims=True)
    expected = np.zeros((size, size))
    for order in itertools.permutations(range(size)):
        weight = sum(shares[person, value] for person, value in enumerate(order)) / math.factorial(size)
        for person, value in enumerate(order):
            expected[person, value] += weight
    found = row_average_marginals(matrix[:, :, None])[:, :, 0]
    assert np.allclose(found, expected, atol=1e-12)
    assert found.max() <= 2 / size


def test_a_bucket_of_one_is_certain():
    """There is nothing to average."""
    assert row_average_marginals(np.full((1, 1, 2), 0.3)).tolist() == [[[1.0, 1.0]]]


def test_isotonic_calibration_mends_overconfidence():
    """Fitted on one half, judged on the other."""
    draw = np.random.default_rng(2)
    stated = draw.random(4000)
    happened = draw.random(4000) < 0.5 + (stated - 0.5) / 2
    line = IsotonicCalibration.fit(stated[:2000], happened[:2000])
    before, after = (
        brier_parts(each, happened[2000:]).calibration for each in (stated[2000:], line.apply(stated[2000:]))
    )
    assert after < before / 5
    assert (np.diff(line.apply(np.linspace(0, 1, 50))) >= 0).all()


def test_isotonic_calibration_is_that_of_scikit_learn():
    """With ties among the stated probabilities, inside and outside their range."""
    draw = np.random.default_rng(3)
    stated = draw.integers(1, 40, size=500) / 50
    happened = draw.random(500) < stated**2
    reference = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(stated, happened)
    asked = np.linspace(0, 1, 201)
    # Both average the same few hundred zeros and ones; the order of summation differs.
    assert np.allclose(
        IsotonicCalibration.fit(stated, happened).apply(asked), reference.predict(asked), atol=1e-12
    )


def test_a_reliability_diagram_is_drawn_from_its_numbers():
    """Points with their events, against the diagonal."""
    figure = reliability(STATED, HAPPENED).figure()
    assert len(figure["layer"]) == 3
    assert figure["layer"][1]["data"]["values"][-1] == {"stated": 0.9, "observed": 0.5, "events": 2}
    assert reliability(STATED, HAPPENED).to_table().is_private


@pytest.mark.parametrize(("stated", "happened"), [([], []), ([0.5], [1, 0]), ([1.5], [1]), ([-0.2], [0])])
def test_what_is_no_probability_is_refused(stated, happened):
    """Or has no outcome."""
    with pytest.raises(ParameterError):
        brier_parts(stated, happened)
