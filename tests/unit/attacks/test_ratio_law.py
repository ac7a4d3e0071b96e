"""The law of the ratio of two noisy counts, against the paper's formula, quadrature and brute force."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from sfumato.attacks.ratio_law import (
    LARGEST_SUMMED_SCALE,
    _summed_closeness,
    approximate_moments,
    closeness_probability,
    find_disclosures,
    gaussian_closeness,
    ratio_cdf,
    ratio_quantiles,
    smallest_hiding_scale,
)
from sfumato.errors import ParameterError
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace, Laplace


def integrated_cdf(z, theta, phi, b):
    """P(Y <= zX, X > 0) + P(Y >= zX, X < 0) by quadrature over X, an independent derivation."""

    def density(x):
        return math.exp(-abs(x - phi) / b) / (2 * b)

    def below(y):
        return 0.5 * math.exp((y - theta) / b) if y < theta else 1 - 0.5 * math.exp(-(y - theta) / b)

    # exp(-45) is beyond a double; further out there is nothing of X.
    low, high = phi - 45 * b, phi + 45 * b
    kinks = {0.0, float(phi), *([theta / z] if z else [])}
    edges = [low, *sorted(kink for kink in kinks if low < kink < high), high]
    total = 0.0
    for low, high in itertools.pairwise(edges):
        if low == high:
            continue
        is_positive = (low + high) / 2 > 0
        part, _ = quad(
            lambda x, up=is_positive: density(x) * (below(z * x) if up else 1 - below(z * x)),
            low,
            high,
            epsabs=1e-13,
            epsrel=1e-12,
            limit=200,
        )
        total += part
    return total


@pytest.mark.parametrize(
    ("theta", "phi", "b", "z", "expected"),
    [
        (420, 501, 200, -1.5, 0.0315693),
        (420, 501, 200, -0.5, 0.0543714),
        (420, 501, 200, 0.3, 0.1790924),
        (420, 501, 200, 0.8, 0.5114414),
        (420, 501, 200, 1, 0.6373176),
        (420, 501, 200, 1.5, 0.8169936),
        (420, 501, 200, 3, 0.9473488),
        (420, 501, 20, 1, 0.97364866),
        (50, 100, 250, 1, 0.74765520),
        (50, 100, 250, 0, 0.47011958),
        (50, 100, 250, -1, 0.22539770),
        (100, 100, 30, 1, 0.51751884),
        (100, 100, 30, -1, 0.01751884),
    ],
)
def test_the_distribution_function_has_its_known_values(theta, phi, b, z, expected):
    """To the printed digits, and to 1e-10 against quadrature."""
    value = float(ratio_cdf(z, theta, phi, b))
    digits = len(str(expected)) - 2
    assert value == pytest.approx(expected, abs=0.51 * 10**-digits)
    assert value == pytest.approx(integrated_cdf(z, theta, phi, b), abs=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    phi=st.integers(1, 3000),
    share=st.floats(1e-3, 1),
    b=st.floats(0.2, 2000),
    z=st.one_of(
        st.floats(-20, 20),
        st.sampled_from([0.0, 1.0, -1.0]),
        st.floats(-1e-6, 1e-6).map(lambda each: 1 + each),
        st.floats(-1e-6, 1e-6).map(lambda each: -1 + each),
        st.floats(-1e-6, 1e-6),
    ),
)
def test_the_distribution_function_agrees_with_quadrature(phi, share, b, z):
    """Anywhere, the removable points and their neighbourhoods included."""
    theta = share * phi
    assert float(ratio_cdf(z, theta, phi, b)) == pytest.approx(integrated_cdf(z, theta, phi, b), abs=1e-9)


@pytest.mark.parametrize(
    ("theta", "phi", "b"), [(1, 1, 1e-3), (1, 1000, 1), (1000, 1000, 0.1), (5, 6, 1e6), (1e6, 1e7, 3)]
)
def test_the_distribution_function_is_finite_and_never_falls(theta, phi, b):
    """From one tail to the other, close around -1, 0 and 1, for tiny and for huge noise."""
    around = np.logspace(-15, 12, 400)
    z = np.sort(np.concatenate([-around, [0], around, 1 + around, 1 - around, -1 - around, -1 + around]))
    values = ratio_cdf(z, theta, phi, b)
    assert np.isfinite(values).all()
    # A sum of a handful of terms below 1 in size, each rounded.
    assert np.diff(values).min() > -1e-14
    assert 0 <= values[0] < 1e-6 < 1 - 1e-6 < values[-1] <= 1


def test_the_paper_s_formula_loses_digits_where_ours_does_not():
    """At z = 1 + 1e-13 the printed form is off by about 2e-5; ours is continuous there."""
    at_one, close = ratio_cdf([1.0, 1 + 1e-13], 420, 501, 20)
    assert abs(close - at_one) < 1e-12


@pytest.mark.parametrize(
    ("tau", "theta", "phi", "b", "expected"),
    [
        (0.2, 700, 1000, 50, 0.896715),
        (0.25, 80, 100, 10, 0.768967),
        (0.2, 5, 6, 1, 0.482252),
        (0.2, 420, 501, 200, 0.2241),
        (0.2, 420, 501, 20, 0.9637),
        (0.2, 420, 501, 4, 1.0000),
        (0.1, 420, 501, 200, 0.1138),
        (0.1, 420, 501, 20, 0.7810),
        (0.1, 420, 501, 4, 0.9999),
        (0.1, 7, 10, 50, 0.0255),
        (0.1, 70, 100, 50, 0.0829),
        (0.1, 700, 1000, 50, 0.6465),
        (0.1, 7000, 10000, 50, 0.999998),
    ],
)
def test_closeness_has_its_known_values(tau, theta, phi, b, expected):
    """Examples computed independently, two of which hit z = 1; to 1e-10 against quadrature."""
    value = float(closeness_probability(theta, phi, Laplace(scale=float(b)), tolerance=tau))
    digits = max(len(str(expected)) - 2, 4)
    assert value == pytest.approx(expected, abs=0.51 * 10**-digits)
    ends = [integrated_cdf((1 + sign * tau) * theta / phi, theta, phi, b) for sign in (-1, 1)]
    assert value == pytest.approx(ends[1] - ends[0], abs=1e-10)


GRID = """
.5 100  | .2562 .1320 .0676 .0256 .0223 | .4685 .2569 .1345 .0513 .0447 | .6276 .3702 .2000 .0773 .0675
.5 1000 | .9756 .8253 .5546 .1320 .0256 | .9995 .9752 .8244 .2569 .0513 | 1.0000 .9965 .9322 .3702 .0773
.5 2000 | .9995 .9756 .8253 .2562 .0334 | 1.0000 .9995 .9752 .4685 .0669 | 1.0000 1.0000 .9965 .6276 .1007
.7 100  | .3120 .1624 .0829 .0288 .0243 | .5550 .3131 .1647 .0579 .0489 | .7206 .4457 .2443 .0875 .0740
.7 1000 | .9929 .8979 .6465 .1624 .0288 | 1.0000 .9926 .8967 .3131 .0579 | 1.0000 .9994 .9704 .4457 .0875
.7 2000 | 1.0000 .9929 .8979 .3120 .0392 | 1.0000 1.0000 .9926 .5550 .0787 | 1.0000 1.0000 .9994 .7206 .1186
.9 100  | .3542 .1861 .0950 .0307 .0251 | .6149 .3558 .1883 .0617 .0505 | .7785 .5009 .2786 .0936 .0765
.9 1000 | .9974 .9338 .7071 .1861 .0307 | 1.0000 .9970 .9323 .3558 .0617 | 1.0000 .9998 .9841 .5009 .0936
.9 2000 | 1.0000 .9974 .9338 .3542 .0434 | 1.0000 1.0000 .9970 .6149 .0872 | 1.0000 1.0000 .9998 .7785 .1317
"""


def test_closeness_over_the_grid_of_table_3_4():
    """All 135 cells, to four digits computed independently; noise 25 / epsilon."""
    for line in GRID.strip().splitlines():
        head, *blocks = line.split("|")
        share, phi = map(float, head.split())
        for tau, block in zip((0.1, 0.2, 0.3), blocks, strict=True):
            for epsilon, expected in zip((2, 1, 0.5, 0.1, 0.01), map(float, block.split()), strict=True):
                noise = Laplace(scale=25 / epsilon)
                value = float(closeness_probability(share * phi, phi, noise, tolerance=tau))
                assert value == pytest.approx(expected, abs=5.1e-5)


def brute_force_closeness(theta, phi, noise, tolerance):
    """Every pair of integers, one by one."""
    reach = 45 * math.ceil(noise.scale)
    steps = np.arange(-reach, reach + 1)
    x, y = phi + steps[:, None], theta + steps[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        is_close = np.abs(y / x - theta / phi) <= tolerance * theta / phi * (1 + 1e-12)
    is_close &= x != 0
    return float(np.sum(np.outer(noise.probability(steps), noise.probability(steps))[is_close]))


@pytest.mark.parametrize("noise", [DiscreteLaplace(scale=3.0), DiscreteGaussian(scale=4.0)])
@pytest.mark.parametrize(("theta", "phi"), [(1, 1), (2, 7), (10, 12), (40, 40)])
def test_summed_closeness_is_what_brute_force_gives(noise, theta, phi):
    """For the discrete laws that are really published."""
    value = float(closeness_probability(theta, phi, noise, tolerance=0.2))
    assert value == pytest.approx(brute_force_closeness(theta, phi, noise, 0.2), abs=1e-12)


def test_discrete_closeness_approaches_the_continuous_one():
    """At a large scale the two laws agree; at scale 1 they do not."""
    large = [
        closeness_probability(7000, 9000, law(scale=500.0), tolerance=0.2)
        for law in (Laplace, DiscreteLaplace)
    ]
    assert abs(large[0] - large[1]) < 1e-4
    small = [closeness_probability(5, 6, law(scale=1.0), tolerance=0.2) for law in (Laplace, DiscreteLaplace)]
    assert abs(small[0] - small[1]) > 0.1


@pytest.mark.parametrize(("theta", "phi", "deviation"), [(420, 501, 300.0), (420, 501, 60.0), (9, 10, 40.0)])
def test_gaussian_closeness_by_quadrature_is_the_limit_of_the_sum(theta, phi, deviation):
    """Counts and noise a hundred times as large leave the continuous value and smooth the lattice."""
    value = float(gaussian_closeness(theta, phi, deviation, deviation, tolerance=0.2))
    finer = DiscreteGaussian(scale=100 * deviation)
    summed = _summed_closeness(np.array([100.0 * theta]), np.array([100.0 * phi]), finer, 0.2)[0]
    # What remains of the lattice: steps of one in counts whose noise spreads over thousands.
    assert value == pytest.approx(summed, abs=2e-4)


@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize(("theta", "phi"), [(5_000, 6_000), (8_000, 10_000), (300, 301)])
def test_beyond_the_largest_summed_scale_the_lattice_does_not_matter(law, theta, phi):
    """The first pair hits a ratio of 1 exactly, the worst case; the stated bound holds."""
    noise = law(scale=LARGEST_SUMMED_SCALE * 1.01)
    summed = _summed_closeness(np.array([theta]), np.array([phi]), noise, 0.2)[0]
    value = float(closeness_probability(theta, phi, noise, tolerance=0.2))
    assert abs(value - summed) < 1 / (2 * LARGEST_SUMMED_SCALE)


def test_the_series_of_lemma_1():
    """Item 5: 0.84100 and 0.00543 for 420 of 501 people at scale 20; the first cells of table 3.2 as its bias."""
    mean, variance = approximate_moments(420, 501, 2 * 20**2)
    assert (mean, variance) == (pytest.approx(0.84100, abs=5e-6), pytest.approx(0.00543, abs=5e-6))
    assert approximate_moments(1000, 1000, 2 * 10**2)[0] - 1 == pytest.approx(0.0002, rel=1e-9)


def test_closeness_rises_with_group_share_and_tolerance_and_falls_with_noise():
    """The closed form rises with epsilon, group, share and tolerance, as the thesis claims."""

    def close(theta, phi, b, tau):
        return float(closeness_probability(theta, phi, Laplace(scale=b), tolerance=tau))

    base = close(70, 100, 10.0, 0.2)
    assert close(140, 200, 10.0, 0.2) > base
    assert close(90, 100, 10.0, 0.2) > base
    assert close(70, 100, 10.0, 0.3) > base
    assert close(70, 100, 20.0, 0.2) < base


def test_quantiles_invert_the_distribution_function():
    """At levels in both tails and the middle."""
    levels = [0.001, 0.05, 0.5, 0.95, 0.999]
    quantiles = ratio_quantiles(levels, 420, 501, 200.0)
    assert ratio_cdf(quantiles, 420, 501, 200.0) == pytest.approx(levels, abs=1e-10)


def test_example_two_is_a_disclosure():
    """501 people of whom 420 earn more, where 24.78 % do overall: jump 3.38246."""
    prior = 11_208 / 45_222
    found = find_disclosures([[420, 81]], [501], [prior, 1 - prior], Laplace(scale=20.0))
    assert found.jump[0, 0] == pytest.approx(3.38246, abs=5e-6)
    assert found.is_disclosed.tolist() == [[True, False]]
    assert find_disclosures([[420, 81]], [501], [prior, 1 - prior], Laplace(scale=200.0)).number == 0


def test_empty_groups_and_parts_are_skipped_by_a_scan():
    """Theta = 0 and phi = 0 are nobody's: no error, no disclosure."""
    found = find_disclosures([[0, 0], [0, 900]], [0, 900], [0.01, 0.02], Laplace(scale=1.0))
    assert found.is_disclosed.tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize(("theta", "phi"), [(0, 5), (0, 0), (6, 5), (-1, 5)])
def test_counts_without_a_ratio_are_refused_when_asked_for_directly(theta, phi):
    """Three parts: how many pairs, what is allowed, what to do; no count is repeated."""
    with pytest.raises(ParameterError, match="1 of 1 pairs of counts have no ratio to learn"):
        closeness_probability(theta, phi, Laplace(scale=1.0), tolerance=0.2)


@pytest.mark.parametrize("tolerance", [0, 1, 1.5])
def test_a_tolerance_outside_its_range_is_refused(tolerance):
    """Between 0 and 1."""
    with pytest.raises(ParameterError, match="tolerance"):
        closeness_probability(1, 2, Laplace(scale=1.0), tolerance=tolerance)


def test_at_the_hiding_scale_nothing_is_left_and_just_below_something_is():
    """The largest epsilon without disclosure, from both sides."""
    parts, groups, priors = [[420, 81], [90, 10]], [501, 100], [0.2, 0.8]
    scale = smallest_hiding_scale(parts, groups, priors)
    assert find_disclosures(parts, groups, priors, Laplace(scale=scale)).number == 0
    assert find_disclosures(parts, groups, priors, Laplace(scale=scale * (1 - 1e-6))).number == 1


def test_nothing_to_hide_needs_no_noise():
    """Shares like everybody's jump nowhere."""
    assert smallest_hiding_scale([[20, 80]], [100], [0.2, 0.8]) == 0


@pytest.mark.parametrize("noise", [Laplace(scale=50.0), DiscreteLaplace(scale=48.0)])
def test_a_million_groups_of_two_values_are_scanned_quickly(noise):
    """A tenth of them here: half a second of processor, where the whole may take five."""
    generator = np.random.default_rng(0)
    groups = generator.integers(2, 2000, 100_000)
    first = (groups * generator.random(groups.size)).astype(int)
    started = time.process_time()
    find_disclosures(np.stack([first, groups - first], 1), groups, [0.5, 0.5], noise, smallest_jump=1e-9)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(("theta", "phi", "parts"), [(420, 501, 2), (100, 200, 14), (300, 1000, 3)])
def test_a_group_that_is_a_sum_of_cells_shares_the_noise_of_its_part(theta, phi, parts):
    """With Y and the other cells' sum W independent and X = Y + W, the probability is a plain double integral."""
    deviation, tolerance = 40.0, 0.2
    rest = deviation * math.sqrt(parts - 1)

    def below(bound):
        return 0.5 * math.erfc(-(bound - (phi - theta)) / (rest * math.sqrt(2)))

    def integrand(y):
        # Y / (Y + W) between the ends, for a Y above 0: W between two multiples of Y.
        low, high = (y * (1 / ((1 + sign * tolerance) * theta / phi) - 1) for sign in (1, -1))
        density = math.exp(-0.5 * ((y - theta) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
        return abs(below(high) - below(low)) * density

    expected = quad(integrand, theta - 9 * deviation, theta + 9 * deviation, points=[0.0], limit=200)[0]
    found = gaussian_closeness(
        theta, phi, deviation, deviation * math.sqrt(parts), tolerance=tolerance, covariance=deviation**2
    )
    assert float(found) == pytest.approx(expected, abs=1e-9)


def test_where_no_noise_hides_the_scale_is_infinite():
    """Two counts of pure noise are within 20 % by chance more often than once in a hundred."""
    assert smallest_hiding_scale([[420, 81]], [501], [0.2478, 0.7522], smallest_closeness=0.01) == math.inf


def test_a_ratio_next_to_zero_is_as_good_as_zero():
    """The smallest doubles overflow when divided by, and must not warn or give anything else."""
    found = ratio_cdf([-2.2e-313, -5e-324, 0.0, 5e-324, 2.2e-313], 50, 100, 250.0)
    assert found == pytest.approx([0.47011958] * 5, abs=1e-8)
