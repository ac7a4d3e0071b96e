"""Shrinkage of noisy counts: worked examples, quadrature, and a risk table computed independently."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from sfumato.analysis import shrinkage
from sfumato.analysis.shrinkage import fit_prior_rate, james_stein, posterior_mean, shrink
from sfumato.errors import ParameterError

COUNTS = [120, 30, 5, 0, 45]


@pytest.mark.parametrize(
    ("noise_rate", "prior_rate", "x", "expected"),
    [
        (1, 0.2, 3, 2.6695680),
        (1, 0.2, 0.3, 0.2505059),
        (1, 0.2, -2, -1.7376208),
        (2, 0.5, 1, 0.8396738),
        (1, 1.5, 2, 0.6901478),
        (1, 1, 2, 1.0),
    ],
)
def test_posterior_means_of_the_specification(noise_rate, prior_rate, x, expected):
    """U8: to the printed digits, and to 1e-10 against quadrature."""
    value = float(posterior_mean(x, 1 / noise_rate, prior_rate))
    assert value == pytest.approx(expected, abs=5.1e-8)
    assert value == pytest.approx(integrated_mean(x, 1 / noise_rate, prior_rate), abs=1e-10)


def integrated_mean(x, scale, prior_rate):
    """Posterior mean by quadrature, between the kinks at 0 and x."""

    def weight(theta):
        return math.exp(-abs(x - theta) / scale - prior_rate * abs(theta))

    reach = 45 / (1 / scale + prior_rate)
    low, high = min(0, x) - reach, max(0, x) + reach
    edges = sorted({low, 0.0, float(x), high})
    pieces = list(itertools.pairwise(edges))
    settings = {"epsabs": 0, "epsrel": 1e-13, "limit": 200}
    top = math.fsum(quad(lambda t: t * weight(t), *piece, **settings)[0] for piece in pieces)
    return top / math.fsum(quad(weight, *piece, **settings)[0] for piece in pieces)


@given(x=st.floats(-40, 40), scale=st.floats(0.2, 5), ratio=st.floats(1e-3, 20))
def test_the_posterior_mean_agrees_with_quadrature(x, scale, ratio):
    """For any rate, above and below that of the noise."""
    expected = integrated_mean(x, scale, ratio / scale)
    assert float(posterior_mean(x, scale, ratio / scale)) == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("step", [0, 1e-15, -1e-15, 1e-9, -1e-6, 1e-3])
def test_equal_rates_are_no_singularity(step):
    """At alpha = lambda the mean is x / 2, and it moves smoothly there."""
    assert float(posterior_mean(7.0, 1.0, 1 + step)) == pytest.approx(3.5, abs=abs(step) * 10 + 1e-12)


def test_far_values_and_strong_priors_do_not_overflow():
    """Exponents of thousands; the limits are 2 lambda / (alpha^2 - lambda^2) and x less 2 alpha / (lambda^2 - alpha^2)."""
    with np.errstate(all="raise", under="ignore"):
        assert float(posterior_mean(1e5, 1.0, 50.0)) == pytest.approx(2 / (50**2 - 1), rel=1e-6)
        assert float(posterior_mean(1e5, 1.0, 0.01)) == pytest.approx(1e5 - 0.02 / (1 - 1e-4), rel=1e-9)


def test_the_worked_example_of_shrinkage():
    """U9: shift 3.2, one cell cut at zero."""
    shrunken = shrink(COUNTS, 8.0)
    assert shrunken.values == pytest.approx([116.8, 26.8, 1.8, 0, 41.8])
    assert (shrunken.shift, shrunken.share_thresholded) == (pytest.approx(3.2), 0.2)
    assert shrink(COUNTS, 8.0, mode="printed").values[3] == pytest.approx(-3.2)


def test_james_stein_with_scale_and_with_variance():
    """U9: 0.988934 as printed, 0.977867 with the variance of Laplace noise."""
    for variance, factor in ((64, 0.988934), (128, 0.977867)):
        values = james_stein(COUNTS, variance)
        assert values == pytest.approx(np.array(COUNTS) * values[0] / 120)
        assert values[0] / 120 == pytest.approx(factor, abs=5.1e-7)


def test_modes_differ_in_sign_and_threshold():
    """By hand for x = (10, -4, 1), scale 1: shift 6 / 15 = 0.4."""
    x = [10.0, -4.0, 0.1]
    shift = 6 / 14.1
    assert shrink(x, 1.0, mode="printed").values == pytest.approx(np.array(x) - shift)
    assert shrink(x, 1.0, mode="signed").values == pytest.approx([10 - shift, -4 + shift, 0.1 - shift])
    assert shrink(x, 1.0, mode="threshold").values == pytest.approx([10 - shift, -4 + shift, 0])
    cut = 6 / 10.1
    assert shrink(x, 1.0, mode="counts").values == pytest.approx([10 - cut, 0, 0])


def test_nothing_but_zeros_stays_zero():
    """No division by the zero length."""
    assert shrink([0, 0, 0], 2.0).values.tolist() == [0, 0, 0]
    assert james_stein([0, 0, 0], 2.0).tolist() == [0, 0, 0]


def test_the_shape_is_kept():
    """Tables come back as tables."""
    assert shrink(np.ones((2, 3)), 1.0).values.shape == (2, 3)
    assert shrink(np.ones((2, 3)), 1.0, mode="exact").values.shape == (2, 3)


def test_the_fitted_rate_solves_the_mended_equation():
    """7.10 with a plus where the thesis prints a minus."""
    x = np.abs(
        np.random.default_rng(0).laplace(scale=20, size=400) + np.random.default_rng(1).laplace(size=400)
    )
    rate = float(fit_prior_rate(x, 1.0))
    left = x.size * (1 + rate**2) / (rate * (1 - rate**2))
    denominator = np.exp(-rate * x) - rate * np.exp(-x)
    right = [np.sum((x * np.exp(-rate * x) + sign * np.exp(-x)) / denominator) for sign in (1, -1)]
    # The likelihood is flat at its top, so the rate is known to about 1e-7 of itself.
    assert right[0] == pytest.approx(left, rel=1e-5)
    assert abs(right[1] - left) > 1e-3 * left


def test_a_diffuse_prior_has_the_simple_rate():
    """7.11: p over the sum of sizes, when the noise is small beside the counts."""
    x = np.random.default_rng(0).exponential(1000, 5000)
    assert float(fit_prior_rate(x, 1.0)) == pytest.approx(x.size / x.sum(), rel=0.01)


def test_caveats_say_when_it_is_a_rough_or_useless_thing():
    """Not diffuse; few cells near zero; as printed."""
    assert "not diffuse" in shrink([2.0, 1.0, 0.5], 1.0).caveats[0]
    assert "cannot help" in shrink([900.0, 800.0], 1.0).caveats[0]
    assert "never beats" in shrink([900.0, 0.0], 1.0, mode="printed").caveats[0]
    assert shrink([900.0, 0.0, 1.0, 500.0], 1.0).caveats == ()


def test_an_unknown_mode_is_refused():
    """With the ones there are."""
    with pytest.raises(ParameterError, match="mode must be one of counts"):
        shrink([1.0], 1.0, mode="soft")


# Computed independently: risk less that of the noisy counts, N1 = 1, N2 = 100, scale 1, 50,000 vectors.
RISKS = {
    3: {
        "printed": 0.48,
        "signed": -0.04,
        "threshold": -0.28,
        "counts": -0.08,
        "james-stein": -0.016,
        "exact": -0.18,
    },
    5: {
        "printed": 0.41,
        "signed": -0.44,
        "threshold": -0.57,
        "counts": -0.23,
        "james-stein": -0.043,
        "exact": -0.37,
    },
    10: {
        "printed": 0.62,
        "signed": -1.16,
        "threshold": -1.31,
        "counts": -0.59,
        "james-stein": -0.10,
        "exact": -0.83,
    },
    20: {
        "printed": 1.22,
        "signed": -2.60,
        "threshold": -2.88,
        "counts": -1.36,
        "james-stein": -0.19,
        "exact": -1.80,
    },
    50: {
        "printed": 3.08,
        "signed": -6.89,
        "threshold": -7.56,
        "counts": -3.66,
        "james-stein": -0.40,
        "exact": -4.31,
    },
}


def compare_risks(
    dimension,
    *,
    scale=1.0,
    small=1.0,
    large=100.0,
    vectors=50_000,
    seed=0,
):
    """Squared error of every estimator less that of the noisy counts themselves, by simulation.

    True vectors have a random number of entries, at least one and not all, uniform up to ``small``
    and the others uniform up to ``large`` (Mothali 2011, section 7.2, whose numbers are not given).

    Returns
    -------
    dict
        Estimator to mean difference and its standard error. ``counts`` is compared with noisy counts
        cut at zero, all others with the noisy counts as they are.

    """
    generator = np.random.default_rng(seed)
    number_small = generator.integers(1, dimension, size=(vectors, 1))
    is_small = np.arange(dimension) < number_small
    truth = generator.random((vectors, dimension)) * np.where(is_small, small, large)
    noisy = truth + generator.laplace(scale=scale, size=truth.shape)
    estimates = {
        mode: shift(noisy, shrinkage._shifts(noisy, scale))
        for mode, shift in shrinkage._SHIFTED.items()
        if mode != "counts"
    }
    estimates["james-stein"] = james_stein(noisy, scale**2)
    rates = fit_prior_rate(noisy, scale)
    estimates["exact"] = posterior_mean(noisy, scale, rates[:, None])
    baseline = np.sum((noisy - truth) ** 2, axis=1)
    differences = {name: np.sum((each - truth) ** 2, axis=1) - baseline for name, each in estimates.items()}
    cut = np.clip(noisy, 0, None)
    cut_error = np.sum((cut - truth) ** 2, axis=1)
    counts_error = np.sum(
        (shrinkage._SHIFTED["counts"](cut, shrinkage._shifts(cut, scale)) - truth) ** 2, axis=1
    )
    differences["counts"] = counts_error - cut_error
    root = np.sqrt(vectors)
    return {name: (float(each.mean()), float(each.std(ddof=1) / root)) for name, each in differences.items()}


def compare_with_specification(dimension, vectors):
    """Both tables are simulations: theirs of 50,000 vectors, rounded to two digits."""
    for name, (mean, error) in compare_risks(dimension, vectors=vectors).items():
        theirs = error * math.sqrt(vectors / 50_000)
        # Five standard errors of the difference: 30 comparisons on a fixed seed.
        assert abs(mean - RISKS[dimension][name]) < 5 * math.hypot(error, theirs) + 0.0051, name


@pytest.mark.parametrize("dimension", [5, 10])
def test_risks_are_those_of_the_specification(dimension):
    """On a tenth of the vectors."""
    compare_with_specification(dimension, 5_000)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", list(RISKS))
def test_risks_are_those_of_the_specification_on_all_vectors(dimension):
    """On as many vectors as the table was computed from."""
    compare_with_specification(dimension, 50_000)


def test_the_printed_estimator_loses_and_the_others_gain_where_cells_are_near_zero():
    """Claim 7: only signed, thresholded and exact forms beat the noisy counts."""
    risks = compare_risks(20, vectors=4_000)
    assert risks["printed"][0] > 5 * risks["printed"][1]
    for name in ("signed", "threshold", "exact", "counts", "james-stein"):
        assert risks[name][0] < -5 * risks[name][1]


def test_dense_counts_lose_by_the_predicted_amount():
    """All counts far from zero: 4 p^2 (p+2) s^4 / (sum)^2 at first order; here 8 cells about 1000."""
    generator = np.random.default_rng(2)
    truth = np.full(8, 60.0)
    noisy = truth + generator.laplace(size=(200_000, 8))
    shifted = noisy - shrinkage._shifts(noisy, 1.0)
    loss = np.sum((shifted - truth) ** 2, axis=1) - np.sum((noisy - truth) ** 2, axis=1)
    expected = 4 * 8**2 * (8 + 2) / truth.sum() ** 2
    assert loss.mean() == pytest.approx(expected, abs=5 * loss.std() / math.sqrt(loss.size))
