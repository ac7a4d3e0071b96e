"""The practical matrix: release probabilities, noise, thresholds, certificate, draws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact.count_matrices import exact_release_probabilities
from sfumato.errors import ParameterError
from sfumato.methods.columnized_counts import noisy_counts as noisy_count_matrix
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix, _release_curve, certify_words
from sfumato.randomness.streams import NUMBER_OF_WORDS, NoiseSource

PAPER = NoisyCountMatrix(k=10, epsilon=1.0, delta=1e-5)


def test_release_probabilities_of_the_papers_example():
    """The sequence at epsilon 1, delta 1e-5, k 10; w_35 is .98002, not at least .99 as the paper says."""
    appears, _ = PAPER.release_probabilities(40)
    counts = [10, 20, 30, 31, 32, 33, 34, 35, 36, 40]
    expected = [
        1e-5,
        0.00148413,
        0.220265,
        0.363155,
        0.598741,
        0.852385,
        0.945696,
        0.980023,
        0.992651,
        0.999865,
    ]
    assert appears[counts] == pytest.approx(expected, rel=2e-6)


def test_what_is_left_out_keeps_its_digits():
    """Tracked directly, 1 - w_100 is 1.18e-30, long after w is 1.0."""
    appears, left_out = PAPER.release_probabilities(100)
    assert appears[69] == 1.0
    assert left_out[100] == pytest.approx(1.18e-30, rel=0.002)


def test_the_curve_goes_on_beyond_its_table():
    """Counts in the thousands are published surely and with a probability of absence that is no nonsense."""
    appears, left_out = PAPER.release_probabilities_of([5_000, 10**9])
    assert appears.tolist() == [1.0, 1.0]
    assert left_out.tolist() == [0.0, 0.0]


GRID = {
    # epsilon: by delta, counts at which w reaches .01, .5, .99 for k = 10
    1.0: {1e-3: (15, 23, 27), 1e-5: (24, 32, 36), 1e-7: (34, 41, 45)},
    math.log(5): {1e-3: (13, 18, 21), 1e-5: (19, 24, 26), 1e-7: (25, 30, 32)},
    math.log(10): {1e-3: (12, 16, 17), 1e-5: (16, 20, 21), 1e-7: (20, 24, 25)},
}


@pytest.mark.parametrize(("k", "shift"), [(3, -7), (10, 0), (20, 10)])
@pytest.mark.parametrize("epsilon", list(GRID))
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-7])
def test_release_thresholds_over_the_papers_grid(k, shift, epsilon, delta):
    """The whole grid of the paper's parameters; k shifts the curve by exactly its own change."""
    matrix = NoisyCountMatrix(k=k, epsilon=epsilon, delta=delta)
    found = tuple(matrix.threshold(share) - shift for share in (0.01, 0.5, 0.99))
    assert found == GRID[epsilon][delta]


COLUMN_GRID = {
    # column budget: thresholds at (epsilon 1, ln 5, ln 10; delta 1e-5), then large-count error at ln 5
    2: ((41, 57, 65), (29, 39, 44), (24, 30, 34), 2.42),
    3: ((59, 82, 94), (40, 55, 62), (31, 42, 47), 3.68),
    6: ((115, 162, 186), (75, 105, 120), (56, 76, 87), 7.43),
    4: ((77, 108, 124), (52, 71, 81), (39, 53, 60), 4.94),
    8: ((154, 217, 250), (100, 139, 159), (73, 100, 114), 9.92),
}


@pytest.mark.parametrize("budget", list(COLUMN_GRID))
def test_release_thresholds_of_the_papers_column_schemas(budget):
    """Epsilon and delta divided by the column budget push thresholds up to 250."""
    *expected, error = COLUMN_GRID[budget]
    for epsilon, thresholds in zip((1.0, math.log(5), math.log(10)), expected, strict=True):
        matrix = NoisyCountMatrix(k=10, epsilon=epsilon / budget, delta=1e-5 / budget)
        assert tuple(matrix.threshold(share) for share in (0.01, 0.5, 0.99)) == thresholds
    matrix = NoisyCountMatrix(k=10, epsilon=math.log(5) / budget, delta=1e-5 / budget)
    assert matrix.expected_noise([10**8])[0] * 10**8 == pytest.approx(error, abs=0.005)


def test_expected_noise_of_the_papers_example():
    """Closed form at counts around the threshold."""
    expected = [0.4372, 0.1972, 0.1077, 0.0737, 0.0384]
    assert PAPER.expected_noise([32, 33, 34, 35, 50]) == pytest.approx(expected, abs=5e-5)
    assert PAPER.expected_noise([1, 9]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("count", [10, 12, 25, 40])
def test_closed_forms_equal_sums_over_the_row(count):
    """Mean and noise level, summed cell by cell."""
    row = PAPER.row(count, 600)
    copies = np.arange(601)
    assert row.sum() == pytest.approx(1, abs=1e-12)
    assert PAPER.mean(count) == pytest.approx(row @ copies, rel=1e-10)
    assert PAPER.expected_noise([count])[0] == pytest.approx(row @ np.abs(copies - count) / count, rel=1e-10)


@pytest.mark.parametrize(("count", "expected", "printed"), [(3, 2 / 3, 0.61667), (5, 4.0667, 4.0167)])
def test_the_mean_has_the_exponent_of_a_cut_at_k(count, expected, printed):
    """The paper's i + 1 in place of i - k + 1 is off in the second digit."""
    matrix = NoisyCountMatrix(k=2, epsilon=math.log(4), delta=0.1)
    assert matrix.mean(count) == pytest.approx(expected, abs=5e-5)
    appears = float(matrix.release_probabilities_of([count])[0][0])
    assert appears * (count + 0.5 ** (count + 1) / 0.75) == pytest.approx(printed, abs=5e-5)


@pytest.mark.parametrize(
    ("epsilon", "error", "variance"),
    [(1.0, 1.919, 7.84), (math.log(5), 1.118, 2.93), (math.log(10), 0.703, 1.35)],
)
def test_large_counts_have_the_noise_of_the_two_sided_geometric_law(epsilon, error, variance):
    """2r / (1 - r^2) and 2r / (1 - r)^2."""
    matrix = NoisyCountMatrix(k=10, epsilon=epsilon, delta=1e-5)
    assert matrix.expected_noise([10**8])[0] * 10**8 == pytest.approx(error, abs=6e-4)
    assert matrix.noise.variance == pytest.approx(variance, abs=6e-3)


@pytest.mark.parametrize(
    ("exponent", "threshold", "error"), [(0.25, 29, 3.96), (0.5, 36, 1.92), (0.75, 59, 1.22)]
)
def test_the_exponent_trades_threshold_against_noise(exponent, threshold, error):
    """Less of epsilon for the counts makes rows appear sooner."""
    matrix = NoisyCountMatrix(k=10, epsilon=1.0, delta=1e-5, exponent=exponent)
    assert matrix.threshold(0.99) == threshold
    assert matrix.expected_noise([10**8])[0] * 10**8 == pytest.approx(error, abs=6e-3)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, math.log(10), 5.0])
@pytest.mark.parametrize("exponent", [0.25, 0.5, 0.75])
def test_the_words_that_are_drawn_pass_the_certificate(epsilon, exponent):
    """Three ratios a row, and the unsafe mass, hold exactly for whole numbers of words."""
    certificate = NoisyCountMatrix(k=4, epsilon=epsilon, delta=1e-4, exponent=exponent).certificate()
    assert certificate.holds
    assert certificate.worst_up <= epsilon * (1 + 1e-12)
    assert certificate.worst_left_out >= -epsilon * (1 + 1e-12)
    assert certificate.unsafe_mass <= 1e-4


@pytest.mark.parametrize(
    "change", ["one word more at k", "one word more later", "nothing left out", "shrinking"]
)
def test_the_certificate_rejects_words_that_break_a_bound(change):
    """A single word out of 2**64 beyond the bound is seen."""
    words = list(PAPER.words())
    if change == "one word more at k":
        words[0] += 1
        assert Fraction(words[0], NUMBER_OF_WORDS) > Fraction(1e-5)
    elif change == "one word more later":
        words[5] += 1
    elif change == "nothing left out":
        words[-1] = NUMBER_OF_WORDS
    else:
        words[3] = words[2] - 1
    assert not certify_words(words, 1.0, 1e-5).holds


def test_words_are_the_release_probabilities():
    """Within a few words in 2**64 of the curve."""
    appears, _ = PAPER.release_probabilities(60)
    words = PAPER.words()
    assert [each / NUMBER_OF_WORDS for each in words[:51]] == pytest.approx(
        appears[10:61].tolist(), rel=1e-12
    )


def test_floats_agree_with_fractions():
    """At epsilon ln 4 the exact sequence is rational."""
    exact = exact_release_probabilities(Fraction(4), Fraction(1, 2), Fraction(1, 10), 2, 20)
    matrix = NoisyCountMatrix(k=2, epsilon=math.log(4), delta=0.1)
    assert matrix.release_probabilities(20)[0] == pytest.approx([float(each) for each in exact], rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.05, 5), st.floats(1e-8, 0.02), st.integers(1, 20), st.floats(1.0, 2.0), st.floats(1.0, 2.0)
)
def test_more_budget_never_lowers_a_release_probability(epsilon, delta, k, more_epsilon, more_delta):
    """Larger epsilon or delta, or smaller k, releases at least as much; and the curve rises."""
    curve, left_out = NoisyCountMatrix(k=k, epsilon=epsilon, delta=delta).release_probabilities(200)
    rising = np.diff(curve[k:])[left_out[k:-1] > 1e-12]
    assert (rising > 0).all()
    for other in (
        {"epsilon": epsilon * more_epsilon, "delta": delta, "k": k},
        {"epsilon": epsilon, "delta": delta * more_delta, "k": k},
        {"epsilon": epsilon, "delta": delta, "k": max(k - 1, 1)},
    ):
        more, _ = NoisyCountMatrix(**other).release_probabilities(200)
        # Both curves are rounded at every step.
        assert (more >= curve * (1 - 1e-12)).all()


def test_drawn_counts_are_none_or_at_least_k():
    """And rows below k never appear."""
    counts = np.repeat([0, 1, 9, 10, 11, 30, 36, 100], 2_000)
    drawn = PAPER.draw(counts, NoiseSource.seeded(4))
    assert not drawn[counts < 10].any()
    assert ((drawn == 0) | (drawn >= 10)).all()
    assert drawn[counts == 100].all()


def test_unique_rows_are_published_by_sampling_and_never_by_the_matrix():
    """Both are (epsilon, delta)-private at delta 1e-3: that alone does not protect a unique row."""
    unique = np.ones(100_000, np.int64)
    noise = NoiseSource.seeded(6)
    sampled = noise.stream(0).bernoulli(unique.size, NUMBER_OF_WORDS // 1000)
    assert 50 < np.count_nonzero(sampled) < 150
    assert not NoisyCountMatrix(k=10, epsilon=1.0, delta=1e-3).draw(unique, noise.named("matrix")).any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 0}, "k should be greater than or equal to 1"),
        ({"delta": 0.7}, r"delta must be below 1 - exp\(-epsilon\) = 0.6321"),
        ({"epsilon": 1e-7, "delta": 1e-9}, "so small that no row could survive"),
        ({"epsilon": 0.001, "delta": 1e-19}, "so small that no row could survive"),
        ({"exponent": 1.0}, "exponent should be less than 1"),
    ],
)
def test_parameters_out_of_bounds_are_refused(change, words):
    """In a sentence that says what is allowed."""
    with pytest.raises(ParameterError, match=words):
        NoisyCountMatrix(**{"k": 10, "epsilon": 1.0, "delta": 1e-5, **change})


def test_a_tiny_epsilon_needs_a_curve_no_longer_than_a_double_can_see():
    """Beyond w = 1 the curve goes on in closed form: 46 / epsilon counts suffice besides the climb."""
    matrix = NoisyCountMatrix(k=10, epsilon=1e-3, delta=1e-5)
    assert _release_curve(1e-3, 1e-5, 10, 0.5)[0].size < 70_000
    _, left_out = matrix.release_probabilities_of([100_000, 101_000])
    assert left_out[1] / left_out[0] == pytest.approx(np.exp(-1))


@pytest.mark.parametrize(
    ("delta", "exponent", "refused", "allowed"),
    [
        # (ln(1/delta) / (1 - exponent) + ln 2^64) / epsilon is two million counts at 67.387 / 2e6.
        (1e-5, 0.5, 3.369e-5, 3.370e-5),
        # 90.413 / 2e6 with a quarter left for growing, 59.712 / 2e6 with three quarters.
        (1e-5, 0.75, 4.520e-5, 4.521e-5),
        (1e-5, 0.25, 2.985e-5, 2.986e-5),
        # Fewer than two words are added at first: 1.8447 (exp(epsilon / 2) - 1) = 2 at epsilon 1.46877.
        (1e-19, 0.5, 1.4687, 1.4688),
        (1e-19, 0.25, 0.9791, 0.9792),
    ],
)
def test_an_epsilon_too_small_for_any_row_is_refused(delta, exponent, refused, allowed):
    """By the length of the curve, or because a word out of 2**64 is too coarse."""
    with pytest.raises(ParameterError, match="so small that no row could survive"):
        NoisyCountMatrix(k=10, epsilon=refused, delta=delta, exponent=exponent)
    NoisyCountMatrix(k=10, epsilon=allowed, delta=delta, exponent=exponent)


def test_a_delta_of_one_minus_exp_minus_epsilon_is_refused():
    """At ln 2 a row of k copies would be published half of the time and more copies no oftener."""
    with pytest.raises(ParameterError, match="delta must be below"):
        NoisyCountMatrix(k=2, epsilon=math.log(2), delta=0.5)
    NoisyCountMatrix(k=2, epsilon=math.log(2), delta=0.4999)


@pytest.mark.parametrize(("exponent", "holds"), [(0.5, True), (1.0, True), (1.5, False)])
def test_noise_that_alone_spends_more_than_epsilon_is_not_certified(exponent, holds):
    """Even where a row never appears more often than at k copies."""
    assert certify_words([1], 1.0, 0.1, exponent).holds is holds


def test_a_first_row_that_appears_too_often_is_not_certified():
    """Left out with exp(-epsilon) or more: half at ln 2, whose double is 2e-17 short; the delta would allow more."""
    assert certify_words([2**63 - 1_000], math.log(2), 0.9).holds
    assert not certify_words([2**63 + 1], math.log(2), 0.9).holds


def test_a_released_row_may_be_published_exactly_k_times():
    """Three copies at k = 2, epsilon ln 4: of those released r / (1 + r) = 1/3 come out as 2, the least there is."""
    drawn = NoisyCountMatrix(k=2, epsilon=math.log(4), delta=0.1).draw(
        np.full(2_000, 3), NoiseSource.seeded(3)
    )
    released = drawn[drawn > 0]
    assert released.min() == 2
    # 400 rows are released on average; five standard errors of a share of a third among 300.
    assert abs(np.mean(released == 2) - 1 / 3) < 5 * math.sqrt(2 / 9 / 300)


def test_the_worst_ratios_of_a_certificate_by_hand():
    """Two rows, 1/16 and 1/8, noise of rate 1: ln 2 + 1 up, ln 2 - 1 down, ln(14/15) left out; then 1/8 and 5/32."""
    two = certify_words([2**60, 2**61], 2.0, 0.1)
    assert (two.worst_up, two.worst_down) == pytest.approx((math.log(2) + 1, math.log(2) - 1))
    assert two.worst_left_out == pytest.approx(math.log(14 / 15))
    assert (two.unsafe_mass, two.rows, two.holds) == (1 / 16, 2, True)
    three = certify_words([2**60, 2**61, 5 * 2**59], 2.0, 0.1)
    assert (three.worst_up, three.worst_down) == pytest.approx((math.log(2) + 1, math.log(5 / 4) - 1))
    assert three.worst_left_out == pytest.approx(math.log(14 / 15))


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(1.0, 0.9, 1), (0.5, 0.3, 2), (2.0, 1e-6, 3)])
def test_the_release_curve_step_by_step(epsilon, delta, k):
    """Nothing below k, delta at k, then whichever of absence and growth allows less; one minus it beside it."""
    appears, left_out = _release_curve(epsilon, delta, k, 0.5)
    assert appears[:k].tolist() == [0] * k
    assert left_out[:k].tolist() == [1] * k
    expected = delta
    for found, absent in zip(appears[k:], left_out[k:], strict=True):
        assert found == pytest.approx(expected, rel=1e-9)
        assert absent == pytest.approx(1 - expected, rel=1e-6, abs=1e-12)
        expected = min(1 - (1 - expected) * math.exp(-epsilon), math.exp(0.5 * epsilon) * expected)


def test_words_that_fall_to_nothing_are_no_matrix():
    """A row that occurs more often may not be published less often, and never not at all."""
    assert not certify_words([2**40, 0, 2**41], 1.0, 1e-5).holds
    assert not certify_words([0, 2**40], 1.0, 1e-5).holds


@pytest.mark.parametrize("more", [-1, 0, 1, 2])
def test_a_row_is_drawn_by_the_chance_of_its_count(more):
    """Below k never, at k by delta = 0.2, then by what growth of exp(1/2) and what is left out allow: 0.32974 and 0.54366.

    Four thousand draws of each, to five standard errors.
    """
    matrix = NoisyCountMatrix(k=3, epsilon=1.0, delta=0.2)
    chance = [0.0, 0.2, 0.2 * math.exp(0.5), 0.2 * math.exp(1)][more + 1]
    drawn = matrix.draw(np.full(4_000, 3 + more), NoiseSource.seeded(more + 5))
    assert abs((drawn > 0).mean() - chance) <= 5 * math.sqrt(chance * (1 - chance) / 4_000)
    assert drawn[drawn > 0].min(initial=3) >= 3


def test_the_threshold_is_where_half_of_the_rows_are_released():
    """0.2, 0.32974 and 0.54366 from k = 3 on."""
    matrix = NoisyCountMatrix(k=3, epsilon=1.0, delta=0.2)
    assert [matrix.threshold(each) for each in (0.1, 0.2, 0.21, 0.33, 0.5)] == [3, 3, 4, 5, 5]
    assert matrix.threshold() == 5


def test_a_count_beyond_the_curve_is_left_out_by_one_factor_a_step():
    """Far out 1 - w shrinks by exp(-epsilon), until w is 1 in a double."""
    matrix = NoisyCountMatrix(k=3, epsilon=0.5, delta=0.2)
    appears, left_out = matrix.release_probabilities_of([60, 61, 400, 401])
    assert left_out[1] / left_out[0] == pytest.approx(math.exp(-0.5))
    assert left_out[3] / left_out[2] == pytest.approx(math.exp(-0.5))
    assert appears.tolist() == pytest.approx((1 - left_out).tolist())
    assert 0 < left_out[3] < 1e-80


def test_kept_curves_cannot_be_changed():
    """One that somebody wrote into would be everybody's."""
    for each in noisy_count_matrix._release_curve(1.0, 1e-6, 5, 0.5):
        assert not each.flags.writeable
