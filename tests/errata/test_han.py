"""Counterexamples to what Han (2016) prints, in the order of docs/errata.md."""

from __future__ import annotations

import itertools
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.attacks.group_reconstruction import likeliest_sample_size
from sfumato.attacks.ratio_law import approximate_moments, closeness_probability, ratio_cdf
from sfumato.guarantees.reconstruction_privacy import chernoff_cap, exact_tails
from sfumato.methods.sample_perturb_scale.kernels import chi_square_statistics, merge_values
from sfumato.randomness.noise import Laplace

REPRODUCTION = Path(__file__).resolve().parents[2] / "reproductions" / "han"


def test_noise_of_scale_10_stays_within_30_with_probability_95_percent():
    """Example 1 has about .9 for one answer and .81 for both; both stay with .90."""
    within = 1 - Laplace(scale=10.0).tail(30)
    assert within == pytest.approx(0.950213, abs=5e-7)
    assert within**2 == pytest.approx(0.902905, abs=5e-7)


def test_both_answers_within_30_do_not_imply_nine_in_ten():
    """910 of 1030 are 88.35 %, so the event that Example 1 counts is not inside the one that it claims."""
    share = 910 / 1030
    assert share == pytest.approx(0.8835, abs=5e-5)
    assert 890 / 950 > 0.9


def test_a_standard_error_of_absolute_errors_cannot_exceed_their_mean():
    """Table 3.1 has .983959 beside a mean of .570118; the largest ratio possible in ten trials is 1."""
    worst = np.zeros(10)
    worst[0] = 1.0
    standard_error = worst.std(ddof=1) / math.sqrt(10)
    assert standard_error == pytest.approx(worst.mean())
    printed = tomllib.loads((REPRODUCTION / "claims.toml").read_text(encoding="utf-8"))["table_3_1"]
    assert printed["standard_error_of_part"][0] > printed["mean_error_of_part"][0]


def test_a_mean_error_of_table_3_1_is_out_of_reach_of_its_noise():
    """.07 of 420 at scale 4 is a mean of 29.4; ten such noises exceed it with probability 2e-21."""
    from scipy.special import gammaincc

    mean = 0.069974 * 420
    assert mean == pytest.approx(29.39, abs=0.01)
    # Absolute Laplace noise is exponential, so a sum of ten is gamma distributed.
    assert gammaincc(10, 10 * mean / 4) < 1e-20


def test_the_ratio_of_two_noisy_counts_has_no_mean():
    """Its tail falls like 1/z: z times the probability beyond z tends to a positive number."""
    beyond = [
        z * (1 - ratio_cdf([z], 420, 501, 200)[0] + ratio_cdf([-z], 420, 501, 200)[0])
        for z in (1e4, 1e5, 1e6)
    ]
    assert beyond == pytest.approx([beyond[0]] * 3, rel=1e-2)
    assert beyond[0] > 0.05


def test_corollary_2_bounds_the_approximation_and_not_the_variance():
    """All 500 rows of a group, scale 25: the bound .01 is exceeded even when errors are cut at 1."""
    places = np.linspace(0, 1, 20_001)[1:]
    beyond = 1 - ratio_cdf(1 + places, 500, 500, 25) + ratio_cdf(1 - places, 500, 500, 25)
    cut_variance = float(np.sum(2 * places * beyond) * (places[1] - places[0]))
    bound = 4 * (25 / 500) ** 2
    assert bound == pytest.approx(0.01)
    assert cut_variance > bound * 1.03
    assert approximate_moments(500, 500, 2 * 25**2)[1] <= bound


@pytest.mark.parametrize(("part", "group", "scale", "at", "expected"), [
    (420, 501, 20, 1, 0.97364866), (50, 100, 250, 0, 0.47011958), (50, 100, 250, -1, 0.22539770),
])  # fmt: skip
def test_the_three_excluded_points_have_ordinary_values(part, group, scale, at, expected):
    """0, 1 and -1 are removable; 1 is met as soon as a share of 4/5 is asked about within a quarter."""
    assert ratio_cdf([at], part, group, scale)[0] == pytest.approx(expected, abs=5e-9)
    near = ratio_cdf([at - 1e-7, at + 1e-7], part, group, scale)
    assert near == pytest.approx([expected, expected], abs=1e-5)
    assert closeness_probability(80, 100, Laplace(scale=10.0), tolerance=0.25) == pytest.approx(
        0.768967, abs=5e-7
    )


def test_the_printed_formula_loses_its_digits_beside_the_excluded_point():
    """Within 1e-13 of 1 two large terms cancel and five digits remain."""
    part, group, scale = 420.0, 501.0, 20.0
    z = 1 + 1e-13
    beyond = (part - z * group) / scale
    printed = z**2 / (2 * (1 - z**2)) * math.exp(beyond / z) + 1 + math.exp(-group / scale) / 2
    printed -= math.exp(-(part + group) / scale) / (2 * (z + 1)) + math.exp(beyond) / (2 * (1 - z**2))
    exact = ratio_cdf([1.0], part, group, scale)[0]
    assert abs(printed - exact) > 1e-7
    assert ratio_cdf([z], part, group, scale)[0] == pytest.approx(exact, abs=1e-12)


def test_merging_takes_one_degree_of_freedom_less_than_there_are_values():
    """Two occupations that table 4.3 keeps apart would be merged at m; a test at m rejects 1.4 % instead of 5 %."""
    service, household = [4612, 196], [229, 3]
    statistic = chi_square_statistics(np.array([service, household]))[0, 1]
    assert statistic == pytest.approx(4.5212, abs=5e-5)
    assert chi2.isf(0.05, 1) < statistic < chi2.isf(0.05, 2)
    assert chi2.sf(chi2.isf(0.05, 2), 1) == pytest.approx(0.0144, abs=5e-5)


def test_values_merged_along_a_chain_need_not_be_alike():
    """A rare value that resembles everybody joins a half to a seventh (section 4.1.4)."""
    chain = np.array([[520, 480], [10, 4], [860, 140]])
    assert merge_values(chain, linkage="components").classes == ((0, 1, 2),)
    assert chi_square_statistics(chain)[0, 2] > 100
    assert merge_values(chain, linkage="complete-linkage").classes != ((0, 1, 2),)


@pytest.mark.parametrize(("frequency", "size", "lower"), [(0.5, 2, 0.0045), (0.1, 50, 0.015)])
def test_chernoffs_bound_is_not_the_smallest(frequency, size, lower):
    """At the cap for .3 the tails are .0045 and .015: anybody can compute them, no coin toss is needed."""
    cap = chernoff_cap([frequency], retention=0.5, size=size, relative_error=0.3, error_probability=0.3)[0]
    rows = int(cap)
    tails = exact_tails(rows, round(rows * frequency), retention=0.5, size=size, relative_error=0.3)
    assert tails.lower == pytest.approx(lower, rel=0.15)
    assert tails.lower < 0.3 / 10


def test_seventy_percent_for_one_side_is_not_seventy_percent_within():
    """A violation bounds one tail; what lies between both ends is another number, here below it."""
    tails = exact_tails(9, 5, retention=0.5, size=2, relative_error=0.3)
    assert tails.lower < 0.3
    assert tails.within < 1 - tails.lower
    assert tails.within < 0.7


def test_copies_give_the_size_of_the_sample_away():
    """Counts that are 17ths of a whole: the cap of the group follows, and from it its largest frequency."""
    assert likeliest_sample_size(np.array([602.0, 1084.0, 361.0]), 2, 40)[0] == 17


def sample_sizes():
    """Sizes of the sample of Example 5 with their probabilities: 3.75 and 11.25 rows, rounded at random."""
    found = {}
    for first, second in itertools.product((0, 1), (0, 1)):
        chance = (0.75 if first else 0.25) * (0.25 if second else 0.75)
        found[14 + first + second] = found.get(14 + first + second, 0) + chance
    return found


def test_a_sample_may_exceed_its_cap():
    """Example 5, cap 15: 16 rows with probability .1875."""
    assert sample_sizes() == pytest.approx({14: 0.1875, 15: 0.625, 16: 0.1875})


def test_counts_of_public_attributes_are_not_exact_after_scaling():
    """Each of 14 rows is copied once and again with probability 6/14, so that 20 rows become 14 to 28."""
    variance = sum(
        chance * size * (20 / size % 1) * (1 - 20 / size % 1) for size, chance in sample_sizes().items()
    )
    assert variance > 3


def test_the_average_group_of_table_4_4_is_that_of_another_sample():
    """331 are 500,000 rows by 1,512 groups; the table is about 300,000."""
    assert round(500_000 / 1512) == 331
    assert round(300_000 / 1512) == 198


def test_possible_groups_are_not_the_groups_there_are():
    """Table 4.3 divides by 7 x 4 x 2 x 2 = 112; 89 of them hold rows, 508 each."""
    assert (7 * 4 * 2 * 2, round(45_222 / 112)) == (112, 404)
    assert round(45_222 / 89) == 508


def test_the_joint_density_of_n_noises_has_n_normalizers():
    """With one factor 1/(2b) for two noises of scale 3 it integrates to 6."""
    places = np.linspace(-60, 60, 2_001)
    one = np.exp(-np.abs(places) / 3).sum() * (places[1] - places[0])
    assert one**2 / (2 * 3) ** 2 == pytest.approx(1, abs=1e-3)
    assert one**2 / (2 * 3) == pytest.approx(6, abs=0.01)


def test_counting_queries_have_sensitivity_2_between_tables_of_one_size():
    """Definition 1 exchanges a row; 1, as the example has it, is for adding or leaving out."""
    ages, exchanged, without = [20, 30, 30], [20, 20, 30], [20, 30]

    def answers(rows):
        return np.array([rows.count(20), rows.count(30)])

    assert np.abs(answers(ages) - answers(exchanged)).sum() == 2
    assert np.abs(answers(ages) - answers(without)).sum() == 1


def test_closeness_depends_on_how_close():
    """.65, .90, .97 at tolerances .1, .2, .3: the tolerance does affect it much."""
    noise = Laplace(scale=25 / 0.5)
    found = [float(closeness_probability(700, 1000, noise, tolerance=each)) for each in (0.1, 0.2, 0.3)]
    assert found == pytest.approx([0.6465, 0.8967, 0.9704], abs=5e-5)


def test_an_error_of_400_percent_cannot_be_a_mean_over_all_cells():
    """12 marginals of 14,010 cells over 500,000 rows err by 502 % at least, by Jensen's inequality."""
    cells, rows, scale = 14_010, 500_000, 4 * 6 / 0.01
    # The mean of max(answer, 50) is at most the mean answer plus 50.
    assert scale / (12 * rows / cells + 50) == pytest.approx(5.02, abs=0.005)


def test_an_error_of_2200_percent_leaves_eleven_at_two():
    """By the sum of the noise's tails on a grid: a cell of 50 rows is off by Delta / epsilon on average, whatever Delta is."""

    def mean_error(epsilon, sensitivity=52):
        places = np.arange(0, 60 * sensitivity / epsilon, sensitivity / epsilon / 1_000)
        return np.exp(-places * epsilon / sensitivity).sum() * (places[1] - places[0]) / 50

    left = mean_error(2.0) / mean_error(0.01)
    assert 22.0 * left == pytest.approx(0.11, abs=1e-6)
    assert 22.0 * mean_error(2.2) / mean_error(0.01) == pytest.approx(0.10, abs=1e-6)
    assert 4.0 * mean_error(0.5) / mean_error(0.01) == pytest.approx(0.08, abs=1e-6)
