"""Estimates, their intervals and linear maps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.estimates.estimates import Certainty, Estimates, normal_quantile

PAIR = Estimates.with_covariance(np.array([10.0, 20.0]), np.array([[4.0, -1.0], [-1.0, 9.0]]))


def test_a_difference_takes_the_covariance_twice():
    """var(b - a) = 4 + 9 + 2, by hand."""
    difference = PAIR.linear(np.array([[-1.0, 1.0]]))
    assert difference.values.tolist() == [10.0]
    assert difference.variances.tolist() == [15.0]


def test_a_ratio_has_the_delta_methods_variance():
    """(var a - 2 r cov + r^2 var b) / b^2 with r = 1/2: (4 + 1 + 9/4) / 400, by hand."""
    ratio = PAIR.ratio([1.0, 0.0], [0.0, 1.0])
    assert ratio.values.tolist() == [0.5]
    assert math.isclose(ratio.variances[0], 7.25 / 400, rel_tol=1e-12)


def test_a_ratio_with_an_estimated_denominator_of_zero_is_refused():
    """Rather than infinite."""
    zero = Estimates.with_covariance(np.array([1.0, 0.0]), np.eye(2))
    with pytest.raises(ParameterError, match="denominator"):
        zero.ratio([1.0, 0.0], [0.0, 1.0])


def test_an_interval_is_two_sided_normal():
    """1.96 standard errors to either side at 95 %."""
    low, high = PAIR.intervals(0.95)
    assert low.round(2).tolist() == [6.08, 14.12]
    assert high.round(2).tolist() == [13.92, 25.88]


@pytest.mark.parametrize("level", [0.0, 1.0, 95, math.nan])
def test_a_confidence_level_outside_zero_and_one_is_refused(level):
    """95 instead of 0.95 is the usual slip."""
    with pytest.raises(ParameterError, match="between 0 and 1"):
        normal_quantile(level)


def test_a_covariance_that_is_not_known_is_as_bad_as_it_can_be():
    """|cov| <= 2 * 3: the sum and the difference both get 4 + 9 + 2 * 6, never 4 + 9."""
    unknown = Estimates(
        np.array([10.0, 20.0]), np.array([4.0, 9.0]), np.array([[4.0, np.nan], [np.nan, 9.0]])
    )
    both = unknown.linear(np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0]]))
    assert both.variances.tolist() == [25.0, 25.0, 4.0]
    assert np.isnan(both.covariance[0, 2])
    assert both.covariance[2, 2] == 4.0


def test_combinations_of_many_are_sums_over_every_pair_of_terms():
    """By hand, pair after pair: a known covariance as it is, an unknown one as large as it can be."""
    draw = np.random.default_rng(3)
    factors, weights = draw.normal(size=(25, 40)), draw.integers(-2, 3, (30, 25)).astype(float)
    covariance = factors @ factors.T
    errors = np.sqrt(np.diagonal(covariance))
    unknown = np.triu(draw.random((25, 25)) < 0.1, 1)
    covariance[unknown | unknown.T] = np.nan
    found = Estimates(draw.normal(size=25), errors**2, covariance).linear(weights)
    for row, variance in zip(weights, found.variances, strict=True):
        by_hand = 0.0
        for i in range(25):
            for j in range(25):
                together = row[i] * row[j] * covariance[i, j]
                largest = abs(row[i] * row[j]) * errors[i] * errors[j]
                by_hand += largest if np.isnan(covariance[i, j]) else together
        if by_hand < 0:
            by_hand = float((np.abs(row) @ errors) ** 2)
        np.testing.assert_allclose(variance, by_hand, rtol=1e-9)


def test_a_combination_without_covariance_is_refused():
    """Variances alone do not give it."""
    with pytest.raises(ParameterError, match="variances only"):
        Estimates(np.zeros(2), np.ones(2)).linear(np.ones((1, 2)))


@pytest.mark.parametrize(
    ("values", "variances", "covariance"),
    [(np.zeros(2), np.zeros(3), None), (np.zeros(2), np.zeros(2), np.zeros((3, 3)))],
)
def test_parts_that_do_not_fit_are_refused(values, variances, covariance):
    """An object that exists is valid."""
    with pytest.raises(ValueError, match="must be"):
        Estimates(values, variances, covariance)


def test_a_negative_variance_of_a_combination_is_not_taken_for_certainty():
    """Standard errors 1 and 2 allow a difference to vary by 3 at most; a share of itself does not vary."""
    impossible = Estimates(np.array([1.0, 2.0]), np.array([1.0, 4.0]), np.array([[1.0, 3.0], [3.0, 4.0]]))
    assert impossible.linear(np.array([[1.0, -1.0]])).standard_errors.tolist() == [3.0]
    same = Estimates.with_covariance(np.array([7.0, 7.0]), np.full((2, 2), 4.0))
    # Rounding is left over, since nobody claimed that either is exact.
    assert 0 < same.ratio([1, 0], [0, 1]).standard_errors[0] < 1e-6


CLAIMS = Estimates(
    np.array([10.0, 20.0, 30.0]),
    np.array([0.0, 4.0, 9.0]),
    np.diag([0.0, 4.0, 9.0]),
    bounds=(np.array([10.0, 15.0, -np.inf]), np.array([10.0, 25.0, np.inf])),
    certainty=np.array([Certainty.EXACT, Certainty.BOUNDED, Certainty.ESTIMATED], np.int8),
)


def test_a_number_claims_nothing_by_itself():
    """No variance and no bounds are no claim."""
    assert Estimates(np.array([1.0]), np.array([0.0])).certainty.tolist() == [Certainty.ESTIMATED]


def test_an_interval_is_what_the_number_claims():
    """The number itself, its bounds at every level, or a normal interval."""
    low, high = CLAIMS.intervals(0.95)
    assert low.round(2).tolist() == [10.0, 15.0, 24.12]
    assert high.round(2).tolist() == [10.0, 25.0, 35.88]


def test_a_combination_claims_what_its_weakest_term_does():
    """Exact with bounded is bounded, with bounds by interval arithmetic; with an estimate it is one."""
    found = CLAIMS.linear(np.array([[1.0, -2.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    assert [Certainty(each).word for each in found.certainty] == ["bounded", "exact", "estimated", "exact"]
    assert found.bounds[0].tolist() == [10 - 50, 20, -np.inf, 0]
    assert found.bounds[1].tolist() == [10 - 30, 20, np.inf, 0]
    assert found.variances.tolist() == [16.0, 0.0, 9.0, 0.0]


def test_of_sums_of_what_nothing_is_certain_of_nothing_is_certain_but_the_empty_one():
    """By hand: 1 and -2 times an open number reach everywhere; no terms at all add up to exactly 0."""
    one = Estimates.with_covariance(np.array([5.0, 7.0]), np.diag([4.0, 9.0]))
    sums = one.linear(np.array([[1.0, -2.0], [0.0, 0.0]]))
    assert sums.certainty.tolist() == [Certainty.ESTIMATED, Certainty.EXACT]
    least, most = sums.ends()
    assert least.tolist() == [-np.inf, 0.0]
    assert most.tolist() == [np.inf, 0.0]
    assert sums.variances.tolist() == [40.0, 0.0]


def test_a_ratio_keeps_bounds_where_its_denominator_cannot_be_zero():
    """10 over 15 to 25; an estimate below gives none."""
    found = CLAIMS.ratios([[1, 0, 0], [1, 0, 0]], [[0, 1, 0], [0, 0, 1]])
    assert found.certainty.tolist() == [Certainty.BOUNDED, Certainty.ESTIMATED]
    assert found.bounds[0].tolist() == [10 / 25, -np.inf]
    assert found.bounds[1].tolist() == [10 / 15, np.inf]
    cut = found.within(0.0, 0.5)
    assert cut.bounds[1].tolist() == [0.5, np.inf]


def test_the_share_of_two_unbounded_counts_is_somewhere_between_none_and_all():
    """At least 3 of at least 7: between 0 and whatever is known beforehand."""
    counts = Estimates(
        np.array([3.0, 7.0]),
        np.array([1.0, 1.0]),
        np.eye(2),
        bounds=(np.array([3.0, 7.0]), np.array([np.inf, np.inf])),
        certainty=np.array([Certainty.BOUNDED] * 2, np.int8),
    )
    share = counts.ratio([1, 0], [0, 1]).within(0.0, 1.0)
    assert [float(each[0]) for each in share.intervals()] == [0.0, 1.0]


SKEWED = Estimates(
    np.array([10.0, 20.0]),
    np.array([10.0, 20.0]),
    np.diag([10.0, 20.0]),
    skews=lambda: np.array([10.0, 20.0]),
)


def test_the_interval_of_a_sum_leans_as_its_terms_do():
    """Two Poisson counts of 10 and 20 lean like one of 30: its third moment is 30 too, so ends are those of 30 with slope 1."""
    low, high = SKEWED.linear(np.array([[1.0, 1.0]])).intervals(0.95)
    for end in (low[0], high[0]):
        assert (30 - end) ** 2 == pytest.approx(1.959964**2 * (30 + (end - 30)), rel=1e-6)
    assert high[0] - 30 > 30 - low[0]


POISSON = Estimates(
    np.array([10.0, 10.0, 40.0]),
    np.array([10.0, 10.0, 40.0]),
    np.diag([10.0, 10.0, 40.0]),
    skews=lambda: np.array([10.0, 10.0, 40.0]),
)
"""Counts whose variance is the count: score intervals of 10 are 5.43 to 18.41 (Wilson's, by hand), and lean."""


def test_the_interval_of_a_difference_reaches_as_far_as_those_of_its_terms_together():
    """By hand: 10 reaches 4.57 down and 8.41 up, so 10 - 10 reaches sqrt(4.57^2 + 8.41^2) = 9.57 either way."""
    low, high = POISSON.linear(np.array([[1.0, -1.0, 0.0]])).intervals(0.95)
    assert high[0] == pytest.approx(-low[0])
    assert high[0] == pytest.approx(math.hypot(10 - 5.43, 18.41 - 10), abs=0.01)


def test_the_interval_of_a_difference_is_that_of_its_opposite_turned_round():
    """To the other side and as far, whatever its terms weigh."""
    low, high = POISSON.linear(np.array([[1.0, 0.0, -0.5], [-1.0, 0.0, 0.5]])).intervals(0.95)
    assert low[0] == pytest.approx(-high[1])
    assert high[0] == pytest.approx(-low[1])


def test_differences_whose_errors_go_together_are_surer_than_apart():
    """Two Poisson counts with a correlation of 0.6: 2 r l u less, by the same two reaches."""
    covariance = np.array([[10.0, 6.0], [6.0, 10.0]])
    tied = Estimates(np.full(2, 10.0), np.full(2, 10.0), covariance, skews=lambda: np.full(2, 10.0))
    _, high = tied.linear(np.array([[1.0, -1.0]])).intervals(0.95)
    reach, other = 10 - 5.43, 18.41 - 10
    assert high[0] == pytest.approx(math.sqrt(reach**2 + other**2 - 2 * 0.6 * reach * other), abs=0.01)


def test_a_term_that_says_its_own_interval_is_taken_at_its_word():
    """Counts whose law knows that they lie 1 below to 9 above: their difference 9.06 either way; one times 2 is 2 and 18."""
    told = Estimates(
        np.full(2, 10.0),
        np.full(2, 4.0),
        4 * np.eye(2),
        limits=lambda level: (np.full(2, 9.0), np.full(2, 19.0)) if level == 0.95 else None,
        skews=lambda: np.zeros(2),
    )
    low, high = told.linear(np.array([[1.0, -1.0], [2.0, 0.0]])).intervals(0.95)
    assert low == pytest.approx([-math.hypot(1, 9), 18])
    assert high == pytest.approx([math.hypot(9, 1), 38])
    # A sum is judged by its variance: two reaches to one side would be too far.
    assert told.linear(np.ones((1, 2))).intervals(0.95)[1] == pytest.approx([20 + 1.959964 * 8**0.5])


def test_a_difference_of_what_may_be_anything_may_be_anything():
    """An endless term leaves the difference endless, not without a number, however its errors go with the other's."""
    covariance = np.array([[4.0, 2.0], [2.0, 4.0]])
    told = Estimates(
        np.full(2, 10.0),
        np.full(2, 4.0),
        covariance,
        limits=lambda level: (np.full(2, 9.0), np.full(2, np.inf + 0 * level)),
        skews=lambda: np.zeros(2),
    )
    low, high = told.linear(np.array([[1.0, -1.0]])).intervals(0.95)
    assert (low[0], high[0]) == (-math.inf, math.inf)


LOOSE = Estimates(
    np.array([10.0, 20.0]),
    np.array([4.0, 9.0]),
    np.diag([4.0, 9.0]),
    leeway=(np.array([1.0, 0.0]), np.array([3.0, 2.0])),
)


def test_leeway_stands_beside_chance_and_combines_by_interval_arithmetic():
    """By hand: 10 may be 9 to 13 and 20 up to 22, so that 10 - 20 may be three less and three more."""
    low, high = LOOSE.intervals(0.95)
    assert low.round(2).tolist() == [5.08, 14.12]
    assert high.round(2).tolist() == [16.92, 27.88]
    difference = LOOSE.linear(np.array([[1.0, -1.0]]))
    assert [each.tolist() for each in difference.leeway] == [[3.0], [3.0]]
    half = 1.959964 * 13**0.5
    assert [each[0] for each in difference.intervals(0.95)] == pytest.approx([-13 - half, -7 + half])


def test_leeway_of_a_share_is_that_of_the_quotients():
    """Between 9 / 22 and 13 / 20, about 1 / 2; and never outside what shares can be."""
    share = LOOSE.ratio([1, 0], [0, 1])
    assert [each[0] for each in share.leeway] == pytest.approx([0.5 - 9 / 22, 13 / 20 - 0.5])
    assert [each[0] for each in share.within(0.45, 0.6).leeway] == pytest.approx([0.05, 0.1])


def test_what_lies_between_two_ends_that_are_one_number_is_that_number():
    """A bounded part that its whole does not leave: nothing of nobody."""
    nothing = Estimates(
        np.array([0.0, 5.0]),
        np.array([1.0, 1.0]),
        np.eye(2),
        bounds=(np.array([0.0, 4.0]), np.array([0.0, 6.0])),
        certainty=np.array([Certainty.BOUNDED] * 2, np.int8),
    )
    found = nothing.linear(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert found.certainty.tolist() == [Certainty.EXACT, Certainty.BOUNDED]
    assert found.variances[0] == 0
    assert nothing.ratio([1, 0], [0, 1]).certainty.tolist() == [Certainty.EXACT]


def test_heavy_tails_widen_an_interval_and_wear_off_in_sums():
    """Laplace noise of variance 2 has the fourth cumulant 12: z + 3 (z^3 - 3 z) / 24; of a sum of two the excess is 3/2."""
    heavy = Estimates(np.zeros(2), np.full(2, 2.0), 2 * np.eye(2), fourth_cumulants=np.full(2, 12.0))
    z = 1.959964
    wider = (z**3 - 3 * z) / 24
    assert heavy.intervals(0.95)[1][0] == pytest.approx((z + 3 * wider) * 2**0.5, rel=1e-6)
    both = heavy.linear(np.array([[1.0, -1.0]]))
    assert both.fourth_cumulants.tolist() == [24.0]
    assert both.intervals(0.95)[1][0] == pytest.approx((z + 1.5 * wider) * 2, rel=1e-6)
    # The exact interval of Laplace noise: 1 - exp(-2.166 sqrt(2)) is 95.3 %, of 1.96 standard errors 93.7 %.
    assert 1 - math.exp(-(z + 3 * wider) * 2**0.5) == pytest.approx(0.953, abs=5e-4)


def test_a_sum_of_cells_whose_errors_cancel_hardly_leans():
    """Two cells of variance 100 and slope 1 that add up to a total known to a variance of 2: its slope is 1 % of theirs.

    The variances apart add up to 200, of which 1 % is left; cubes that were added up undiminished would give a slope of 100.
    """
    covariance = np.array([[100.0, -99.0], [-99.0, 100.0]])
    cells = Estimates(
        np.array([50.0, 50.0]), np.array([100.0, 100.0]), covariance, skews=lambda: np.full(2, 100.0)
    )
    total = cells.linear(np.ones((1, 2)))
    low, high = total.intervals()
    z = normal_quantile(0.95)
    assert low + high - 200 == pytest.approx([z**2 * 0.01])


def test_all_and_nothing_of_a_group_are_exact_shares_of_it():
    """Whatever the group's size: nothing was estimated that the share hangs on."""
    counts = Estimates.with_covariance(np.array([30.0, 60.0]), np.diag([4.0, 9.0]))
    found = counts.ratios([[1, 1], [0, 0], [1, 0]], [[1, 1], [1, 1], [1, 1]])
    assert found.certainty.tolist() == [Certainty.EXACT, Certainty.EXACT, Certainty.ESTIMATED]
    assert found.values[:2].tolist() == [1, 0]
    assert (found.variances == 0).tolist() == [True, True, False]


def test_a_group_whose_other_cells_are_surely_empty_is_all_of_it():
    """What is left of the group is exactly nothing; an estimate of the same would have an error of 0."""
    counts = Estimates(
        np.array([30.0, 0.0]),
        np.array([4.0, 0.0]),
        np.diag([4.0, 0.0]),
        certainty=np.array([Certainty.ESTIMATED, Certainty.EXACT], np.int8),
    )
    found = counts.ratios([[1, 0]], [[1, 1]])
    assert found.is_exact.all()
    assert found.values.tolist() == [1]


def test_combinations_without_covariance_have_the_variance_that_had_to_be_raised():
    """A covariance of nothing and variances of 4 and 9: of the sum 13, of the difference 13; of an exact table 0, as by all its products."""
    raised = Estimates(np.array([3.0, 5.0]), np.array([4.0, 9.0]), np.zeros((2, 2)))
    found = raised.linear(np.array([[1.0, 1.0], [1.0, -1.0]]))
    assert found.variances.tolist() == pytest.approx([13.0, 13.0])
    exact = Estimates(np.array([3.0, 5.0]), np.zeros(2), np.zeros((2, 2)))
    nearly = Estimates(np.array([3.0, 5.0]), np.zeros(2), np.full((2, 2), 1e-300))
    weights = np.array([[1.0, 1.0], [2.0, -1.0]])
    for one in (exact.linear(weights), nearly.linear(weights)):
        assert one.values.tolist() == [8.0, 1.0]
        assert one.variances.tolist() == pytest.approx([0.0, 0.0], abs=1e-200)
        assert one.covariance is not None
        assert np.abs(one.covariance).max() < 1e-200
