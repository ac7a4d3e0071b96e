"""Moments of sampled, perturbed and copied rows: by hand, and by counting every outcome of a row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.chance.distortion import UniformDistortion
from sfumato.methods.sample_perturb_scale.law.sampling import Sampling

RETENTION, SIZE = 0.5, 4


def sampling(factor, *, has_exact_sizes=True, rows_per_group=10.0):
    """Groups that were cut to one row in so many."""
    return Sampling(
        distortion=UniformDistortion(retention=RETENTION, size=SIZE),
        scale_factors=lambda sizes: np.full(sizes.shape, float(factor)),
        rows_per_group=rows_per_group,
        is_smallest=False,
        has_exact_sizes=has_exact_sizes,
    )


def test_the_moments_of_a_row_inside_a_sum():
    """One value of four: published inside with probability 5/8, worth 7/4 there and -1/4 elsewhere; two values: 3/4, 3/2, -1/2."""
    selector = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    second, third = sampling(1).moments(selector)
    assert second.tolist() == pytest.approx([5 / 8 * 49 / 16 + 3 / 8 / 16, 3 / 4 * 9 / 4 + 1 / 4 / 4])
    assert third.tolist() == pytest.approx([5 / 8 * 343 / 64 - 3 / 8 / 64, 3 / 4 * 27 / 8 - 1 / 4 / 8])


@pytest.mark.parametrize(("factor", "adds_drawing"), [(1, False), (3, False), (1, True), (3, True)])
@pytest.mark.parametrize("chosen", [(0,), (0, 2), (1, 2, 3)])
def test_the_covariance_of_an_estimate_with_its_variance_by_counting(factor, adds_drawing, chosen):
    """A row is kept with probability 1/w where rows are drawn, perturbed, and published w times.

    It adds w h to the estimate and w (w h^2 - u h) to the estimated variance, u = 1 where rows are drawn and w elsewhere.
    """
    formula = sampling(factor)
    matrix = RETENTION * np.eye(SIZE) + (1 - RETENTION) / SIZE
    selector = np.zeros((SIZE, 1))
    selector[list(chosen)] = 1
    kernel = np.linalg.inv(matrix) @ selector
    kept = 1 / factor if adds_drawing else 1.0
    each = 1 if adds_drawing else factor
    for true in range(SIZE):
        stated = estimate = variance = product = 0.0
        for published, is_kept in itertools.product(range(SIZE), (True, False)):
            chance = matrix[true, published] * (kept if is_kept else 1 - kept)
            rows = np.zeros((1, SIZE))
            rows[0, published] = factor if is_kept else 0
            found = formula.covariances_with_variances(
                rows, np.array([100.0]), np.array([0]), 1, (selector, kernel), adds_drawing=adds_drawing
            )
            h = float(kernel[published, 0])
            own = factor * h if is_kept else 0.0
            spread = factor * (factor * h**2 - each * h) if is_kept else 0.0
            stated += chance * found.item()
            estimate, variance, product = (
                estimate + chance * own,
                variance + chance * spread,
                product + chance * own * spread,
            )
        assert stated == pytest.approx(product - estimate * variance, abs=1e-9)


def test_a_group_that_was_cut_by_one_row_can_look_whole():
    """Of ten rows kept at most, a group of ten may have had eleven: a factor of 1.1 at least; nine were never cut."""
    sizes = np.array([9.0, 10.0, 30.0])
    assert sampling(1, has_exact_sizes=False).factors_at_most(sizes).tolist() == pytest.approx(
        [1.0, 1.1, 1.1]
    )
    assert sampling(3, has_exact_sizes=False).factors_at_most(sizes).tolist() == [3.0, 3.0, 3.0]
    assert sampling(1).factors_at_most(sizes).tolist() == [1.0, 1.0, 1.0]
