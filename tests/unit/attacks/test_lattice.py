"""The bound between discrete and continuous closeness, and the scans that rest on it, against sums over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks import ratio_law as lattice
from sfumato.attacks.ratio_law import (
    RESOLUTION,
    closeness_probability,
    find_disclosures,
    lattice_uncertainty,
    settle_closeness,
    surest_places,
)
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace, Laplace

SCALES = (0.05, 0.3, 1.0, 2.5, 7.0, 20.0, 48.0)


def random_pairs(seed, number, largest):
    """Whole parts of whole groups, small ones as often as large ones."""
    generator = np.random.default_rng(seed)
    group = np.ceil(largest ** generator.random(number))
    return np.ceil(group * generator.random(number)), group


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("tolerance", [0.01, 0.2, 0.25, 0.95])
def test_discrete_closeness_is_within_the_bound_of_the_continuous_one(scale, tolerance):
    """Random pairs, and pairs whose upper end is a ratio of exactly one, where the lattice matters most."""
    part, group = random_pairs(int(100 * scale), 300, 60 * scale + 20)
    whole = np.arange(1.0, 60.0)
    part = np.concatenate([part, 4 * whole, 5 * whole, whole])
    group = np.concatenate([group, 5 * whole, 6 * whole, whole])
    exact, smooth = (
        closeness_probability(part, group, law(scale=scale), tolerance=tolerance)
        for law in (DiscreteLaplace, Laplace)
    )
    bound = lattice_uncertainty(part, group, scale, tolerance=tolerance)
    assert np.all(np.abs(exact - smooth) <= bound)


def test_a_tenth_of_the_bound_would_not_hold():
    """The bound is of the right order: pairs that hit a ratio of one use up a good part of it."""
    whole = np.arange(4.0, 60.0)
    exact, smooth = (
        closeness_probability(4 * whole, 5 * whole, law(scale=20.0), tolerance=0.25)
        for law in (DiscreteLaplace, Laplace)
    )
    bound = lattice_uncertainty(4 * whole, 5 * whole, 20.0, tolerance=0.25)
    assert np.max(np.abs(exact - smooth) / bound) > 0.1


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("threshold", [0.05, 0.7, 0.99])
def test_a_scan_discloses_exactly_what_the_sums_over_all_pairs_do(scale, threshold):
    """Random tables of two sensitive values, pair by pair."""
    part, group = random_pairs(1 + int(100 * scale), 1500, 60 * scale + 20)
    parts = np.stack([part, group - part], axis=1)
    noise = DiscreteLaplace(scale=scale)
    found = find_disclosures(
        parts, group, [0.5, 0.5], noise, smallest_closeness=threshold, smallest_jump=1e-9
    )
    is_there = parts > 0
    exact = np.zeros(parts.shape)
    exact[is_there] = closeness_probability(
        parts[is_there], np.stack([group, group], axis=1)[is_there], noise, tolerance=0.2
    )
    assert np.array_equal(found.is_disclosed, exact >= threshold)
    error = np.abs(found.closeness - exact)[is_there]
    assert np.all(error <= found.uncertainty[is_there])


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_a_pair_at_or_next_to_the_threshold_is_decided_by_its_sum(scale):
    """The threshold is the pair's own value, and the doubles beside it."""
    part, group = random_pairs(3, 40, 60 * scale)
    noise = DiscreteLaplace(scale=scale)
    for theta, phi in zip(part, group, strict=True):
        exact = float(closeness_probability(theta, phi, noise, tolerance=0.2))
        for threshold in (exact, np.nextafter(exact, 0), np.nextafter(exact, 2)):
            values, uncertainty = settle_closeness([theta], [phi], noise, threshold, tolerance=0.2)
            assert (values[0], uncertainty[0]) == (exact, 0.0)


def test_without_the_bound_a_scan_would_go_wrong(monkeypatch):
    """The continuous law alone misjudges pairs near the threshold, so that the tests above can fail."""
    part, group = random_pairs(4, 3000, 400)
    noise = DiscreteLaplace(scale=5.0)
    right = find_disclosures(part[:, None], group, [1.0], noise, smallest_jump=1e-9)
    monkeypatch.setattr(lattice, "lattice_uncertainty", lambda part, *_, **__: np.zeros(part.shape))
    wrong = find_disclosures(part[:, None], group, [1.0], noise, smallest_jump=1e-9)
    assert right.number != wrong.number


def test_few_pairs_are_left_to_the_sum():
    """At scale 48, the scale of the speed that is promised, fewer than one in fifty."""
    generator = np.random.default_rng(5)
    group = generator.integers(2, 2000, 20_000).astype(float)
    part = np.ceil(group * generator.random(group.size))
    _, uncertainty = settle_closeness(part, group, DiscreteLaplace(scale=48.0), 0.7, tolerance=0.2)
    assert np.mean(uncertainty == 0) < 0.02


@pytest.mark.parametrize(
    "noise", [Laplace(scale=3.0), DiscreteGaussian(scale=3.0), DiscreteLaplace(scale=3e3)]
)
def test_other_laws_are_exact_at_once(noise):
    """There is nothing to settle where closeness is not a sum over the discrete Laplace law."""
    values, uncertainty = settle_closeness([5, 50], [9, 60], noise, 0.7, tolerance=0.2)
    assert np.array_equal(values, closeness_probability([5, 50], [9, 60], noise, tolerance=0.2))
    assert not uncertainty.any()


def test_counts_that_are_not_whole_are_never_settled_by_the_bound():
    """The bound is proven for whole counts only."""
    _, uncertainty = settle_closeness(
        [400.5, 400.0], [501.0, 501.5], DiscreteLaplace(scale=2.0), 0.7, tolerance=0.2
    )
    assert not uncertainty.any()


@pytest.mark.parametrize(("scale", "largest"), [(1.0, 30), (20.0, 600), (48.0, 1000)])
def test_the_surest_pairs_are_those_of_the_largest_sums(scale, largest):
    """Their values are the sums, in falling order, and no pair left out is surer."""
    part, group = random_pairs(6, 1000, largest)
    noise = DiscreteLaplace(scale=scale)
    settled = settle_closeness(part, group, noise, 0.7, tolerance=0.2)
    places, values = surest_places(part, group, noise, settled, 20, tolerance=0.2)
    exact = closeness_probability(part, group, noise, tolerance=0.2)
    assert np.array_equal(values, exact[places])
    # Ties are real, since small pairs repeat: the twenty values are compared, not the places.
    assert values == pytest.approx(np.sort(exact)[::-1][:20], abs=8 * RESOLUTION)


def test_of_many_certain_pairs_the_first_are_listed_without_summing_the_rest(monkeypatch):
    """Twenty sums, where a thousand pairs are as good as certain."""
    part, group = np.arange(90_000.0, 91_000.0), np.full(1000, 100_000.0)
    noise = DiscreteLaplace(scale=48.0)
    settled = settle_closeness(part, group, noise, 0.7, tolerance=0.2)
    summed = []

    def counted(theta, *rest, **options):
        summed.append(theta.size)
        return closeness_probability(theta, *rest, **options)

    monkeypatch.setattr(lattice, "closeness_probability", counted)
    places, _ = surest_places(part, group, noise, settled, 20, tolerance=0.2)
    assert (places.size, sum(summed)) == (20, 20)


def test_nothing_is_surest_of_nothing():
    """An empty table has no pair to list."""
    nothing = np.zeros(0)
    places, values = surest_places(
        nothing, nothing, Laplace(scale=1.0), (nothing, nothing), 20, tolerance=0.2
    )
    assert (places.size, values.size) == (0, 0)
