"""Half widths of sums of noise, against convolutions of every outcome."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from sfumato.estimates.exact_intervals import half_width_of_sum, half_widths_of_sums
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace


def smallest_half_width(noise, cells, confidence_level):
    """The smallest whole number that holds the level, by adding up cell after cell."""
    reach = math.ceil(45 * noise.scale)
    single = noise.probability(np.arange(-reach, reach + 1))
    sums = single
    for _ in range(cells - 1):
        sums = np.convolve(sums, single)
    magnitude = np.abs(np.arange(sums.size) - sums.size // 2)
    inside = np.bincount(magnitude, weights=sums).cumsum()
    return int(np.flatnonzero(inside >= confidence_level)[0])


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
@pytest.mark.parametrize("cells", [1, 2, 3, 9])
@pytest.mark.parametrize("confidence_level", [0.5, 0.9, 0.999])
def test_a_sum_of_laplace_noise_has_the_width_of_its_own_law(scale, cells, confidence_level):
    """Not that of the normal law, which misses the tails of few cells."""
    noise = DiscreteLaplace(scale=scale)
    assert half_width_of_sum(noise, cells, confidence_level) == smallest_half_width(
        noise, cells, confidence_level
    )


@pytest.mark.parametrize(("scale", "step"), [(64.0, 1.0), (96.0, 1.5), (640.0, 10.0)])
def test_wide_noise_is_added_on_a_coarser_grid(scale, step):
    """A whole number of steps, within two of the width of the sum itself."""
    noise = DiscreteLaplace(scale=scale)
    found = half_width_of_sum(noise, 2, 0.95)
    assert found % step == 0
    assert found == pytest.approx(smallest_half_width(noise, 2, 0.95), abs=2 * step - 1)


def test_a_sum_of_many_cells_is_normal():
    """From 257 on by the normal law itself, 256 nearly so."""
    noise = DiscreteLaplace(scale=3.0)
    normal = NormalDist().inv_cdf(0.975)
    assert half_width_of_sum(noise, 257, 0.95) == pytest.approx(
        normal * math.sqrt(257 * noise.variance), rel=1e-12
    )
    exact = half_width_of_sum(noise, 256, 0.95)
    assert exact == int(exact) == pytest.approx(normal * math.sqrt(256 * noise.variance), rel=0.01)


def test_a_sum_of_gaussian_noise_is_normal_and_a_single_one_whole():
    """Sums of discrete Gaussians are, to all digits that matter."""
    noise = DiscreteGaussian(scale=4.0)
    assert half_width_of_sum(noise, 1, 0.95) == noise.half_width(0.95)
    assert half_width_of_sum(noise, 9, 0.95) == pytest.approx(NormalDist().inv_cdf(0.975) * 12, rel=1e-12)


def test_a_level_beyond_the_digits_of_a_transform_is_held_by_twice_the_normal_width():
    """Where the summed probabilities never reach the level; at most that, and at least the normal width."""
    noise = DiscreteLaplace(scale=64.0)
    normal = NormalDist().inv_cdf(1 - 2**-52) * math.sqrt(200 * noise.variance)
    assert normal <= half_width_of_sum(noise, 200, 1 - 2**-51) <= 2 * normal * (1 + 1e-12)


def test_many_sums_are_looked_up_in_their_places():
    """Each by its own number of cells."""
    noise = DiscreteLaplace(scale=1.0)
    found = half_widths_of_sums(noise, [3, 1, 3, 2], 0.9)
    assert found.tolist() == [smallest_half_width(noise, cells, 0.9) for cells in (3, 1, 3, 2)]
