"""Counterexamples to what Guo (2010) prints, in the order of docs/errata.md."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from sfumato.analysis.measure_formulas import MEASURES
from sfumato.guarantees.amplification import gamma_of_beliefs, largest_posterior
from sfumato.guarantees.k_anonymity import LDiversity, diversity
from sfumato.guarantees.reconstruction_risk import reconstruction_risks, recovery_probabilities
from sfumato.randomness.distortion import TwoValued, asymmetric_binary, warner

PAIR = np.array([[0.415, 0.043], [0.183, 0.359]])
"""Items G and H of section 3.2.2, first item in the rows."""
ROWS = 5_822
DISEASES = np.array([[8, 16, 48], [12, 14, 2]])
"""Table 2.5(b): men and women by cancer and two other diseases."""


def measured(name, table, rows=ROWS):
    """A measure of the product, on its own scale."""
    declared = MEASURES[name]
    return float(declared.shown(declared.formula(np.asarray(table, float), rows)))


def randomized(table, first, second=1.0):
    """Expected published shares when values are kept with these probabilities."""
    return kept_with(first) @ np.asarray(table) @ kept_with(second)


def kept_with(kept):
    """Warner's matrix, also where it erases."""
    return np.array([[kept, 1 - kept], [1 - kept, kept]])


def two_parts(kept):
    """Variances of the four estimates from sampling (S1) and from randomization (S2), times the rows."""
    matrix = np.kron(warner(kept).dense(), warner(kept).dense())
    inverse, shares = np.linalg.inv(matrix), PAIR.ravel()
    published = shares @ matrix
    drawing = np.diag(published) - matrix.T @ np.diag(shares) @ matrix
    return shares * (1 - shares), np.diag(inverse.T @ drawing @ inverse)


def test_the_sampling_part_of_the_dispersion_is_not_negligible():
    """Both parts fall with the same power of the rows; at 0.9 the neglected one is the larger."""
    sampling, drawing = two_parts(0.9)
    assert (sampling / ROWS)[0] == pytest.approx(4.17e-5, abs=1e-7)
    assert sampling[0] > drawing[0]


def test_the_sum_of_both_parts_covers_too_much_for_the_table_and_one_part_too_little_for_a_population():
    """95 % becomes 99.8 % in the one case and 78.5 % in the other, for the last cell at 0.9."""
    sampling, drawing = two_parts(0.9)
    ratio = math.sqrt((sampling[3] + drawing[3]) / drawing[3])
    normal = 1.959964
    assert 2 * ndtr(normal * ratio) - 1 == pytest.approx(0.998, abs=1e-3)
    assert 2 * ndtr(normal / ratio) - 1 == pytest.approx(0.785, abs=5e-3)


def test_rows_of_a_distortion_matrix_are_true_values():
    """Read the other way round an asymmetric matrix publishes other shares, which do not even sum to 1."""
    matrix = asymmetric_binary(0.9, 0.6).dense()
    assert matrix.sum(axis=1) == pytest.approx([1, 1])
    shares = np.array([0.7, 0.3])
    assert (shares @ matrix).sum() == pytest.approx(1)
    assert (matrix @ shares).sum() != pytest.approx(1)


def gradient(*, squared):
    """G1 to G4 as printed, or with the shared margin of the subtracted terms squared."""
    first, second = PAIR.sum(axis=1), PAIR.sum(axis=0)
    power = 2 if squared else 1
    found = []
    for i, j in itertools.product((0, 1), (0, 1)):
        here, beside, below = PAIR[i, j], PAIR[i, 1 - j], PAIR[1 - i, j]
        kept = (here**2 * (beside + below) + 2 * here * beside * below) / (first[i] ** 2 * second[j] ** 2)
        left_out = beside**2 / (first[i] ** power * second[1 - j])
        found.append(ROWS * (kept - left_out - below**2 / (second[j] ** power * first[1 - i])))
    return np.array(found)


def test_the_printed_gradient_of_chi_square_is_not_its_gradient():
    """Differences of the statistic itself agree with the squared margins only."""
    step, by_difference = 1e-6, []
    for place in itertools.product((0, 1), (0, 1)):
        bump = np.zeros((2, 2))
        bump[place] = step
        above, below = (chi_square(PAIR + sign * bump) for sign in (1, -1))
        by_difference.append((above - below) / (2 * step))
    assert gradient(squared=True) == pytest.approx(by_difference, rel=1e-5)
    assert gradient(squared=True) == pytest.approx([2394.27, -14113.77, -8017.41, 3009.63], abs=0.01)
    assert gradient(squared=False) == pytest.approx([2867.85, -4658.46, -2646.27, 3604.93], abs=0.01)


def chi_square(table):
    """N times (the sum of squared shares by their margins, less 1), of shares that need not sum to 1."""
    return ROWS * ((table**2 / np.outer(table.sum(axis=1), table.sum(axis=0))).sum() - 1)


def test_phi_has_a_product_of_margins_under_its_root():
    """With a minus sign there the root of this table is not even real."""
    rows, columns = PAIR.sum(axis=1), PAIR.sum(axis=0)
    assert measured("phi", PAIR) == pytest.approx(0.57767, abs=5e-6)
    assert measured("phi", PAIR) ** 2 * ROWS == pytest.approx(measured("chi-square", PAIR))
    assert rows[1] * columns[1] - rows[0] * columns[0] < 1e-3


def test_the_certainty_factor_starts_from_the_confidence():
    """With the support in its place independent items get a certainty that is not 0."""
    independent = np.outer([0.7, 0.3], [0.6, 0.4])
    printed = (independent[1, 1] - 0.4) / (1 - 0.4)
    assert measured("certainty", independent) == pytest.approx(0)
    assert printed == pytest.approx(-0.46667, abs=1e-5)
    assert measured("certainty", PAIR) == pytest.approx(0.43539, abs=5e-6)


def test_the_order_of_added_values_turns_when_the_antecedent_is_randomized():
    """.246 below .400 becomes .163 above .092; with the antecedent untouched every value shrinks by one factor."""
    one, other = np.array([[0.30, 0.05], [0.10, 0.55]]), np.array([[0.05, 0.85], [0.05, 0.05]])
    before = [abs(measured("added-value", table)) for table in (one, other)]
    after = [abs(measured("added-value", randomized(table, 0.8))) for table in (one, other)]
    kept = [abs(measured("added-value", randomized(table, 1.0, 0.8))) for table in (one, other)]
    assert before == pytest.approx([0.246, 0.400], abs=5e-4)
    assert after == pytest.approx([0.163, 0.092], abs=5e-4)
    assert np.array(kept) / before == pytest.approx(0.6)


def test_a_margin_is_recovered_without_mixing_the_retentions():
    """At retentions .9 of zeros and .7 of ones the printed line gives .06 for .3."""
    zeros, ones, share = 0.9, 0.7, 0.3
    published = (1 - zeros) * (1 - share) + ones * share
    assert (published + zeros - 1) / (zeros + ones - 1) == pytest.approx(share)
    printed = (ones - 1 + (1 + zeros - ones) * published) / (zeros + ones - 1)
    assert printed == pytest.approx(0.06)


def test_the_threshold_of_the_added_value_proof_depends_on_the_second_variable_alone():
    """The bound changes sign where both retentions of the second variable stand in the denominator."""
    zeros_u, ones_u, zeros_v, ones_v = 0.3, 0.4, 0.2, 0.35
    span = zeros_v + ones_v - 1

    def bound(margin):
        return span * (ones_u - 1) * (1 - margin) + (span * zeros_u - 1) * margin

    slope = 1 + zeros_u - ones_u
    right = span * (ones_u - 1) / (1 - span * slope)
    printed = span * (ones_u - 1) / (1 - (zeros_u + ones_v - 1) * slope)
    assert bound(right) == pytest.approx(0)
    assert abs(bound(printed)) > 0.01


def test_of_the_two_interests_the_ratio_is_one_at_independence():
    """Piatetsky-Shapiro's difference is 0 there."""
    independent = np.outer([0.7, 0.3], [0.6, 0.4])
    assert measured("lift", independent) == pytest.approx(1)
    assert measured("leverage", independent) == pytest.approx(0, abs=1e-15)


def test_the_order_of_leverages_is_lost_where_a_matrix_erases():
    """With retentions that sum to 1 both are 0, and 'at least' holds in both directions."""
    strong, weak = PAIR, np.array([[0.3, 0.2], [0.25, 0.25]])
    assert measured("leverage", strong) > measured("leverage", weak)
    erased = [measured("leverage", randomized(table, 0.5, 0.8)) for table in (strong, weak)]
    assert erased == pytest.approx([0, 0], abs=1e-15)


MERGED = np.array([[0.4, 0.1], [0.05, 0.2], [0.05, 0.2]])
NEAR_MERGER = np.array([[1, 0, 0], [0, 0.95, 0.05], [0, 0.85, 0.15]])


@pytest.mark.parametrize(
    ("name", "table", "before", "after"),
    [
        ("uncertainty-of-first", MERGED, 0.1854, 0.2253),
        ("uncertainty-of-second", MERGED.T, 0.1854, 0.2253),
        ("concentration", MERGED.T, 0.2160, 0.3006),
    ],
)
def test_normalized_measures_of_three_categories_can_rise(name, table, before, after):
    """An invertible matrix that nearly merges two like categories lowers the normaliser more than the information."""
    published = NEAR_MERGER.T @ table if table is MERGED else table @ NEAR_MERGER
    assert abs(np.linalg.det(NEAR_MERGER)) > 0.05
    assert measured(name, table) == pytest.approx(before, abs=5e-5)
    assert measured(name, published) == pytest.approx(after, abs=5e-5)


def test_a_randomized_table_can_have_the_larger_chi_square():
    """One draw: a table without any association gets one, so the inequality is about expectations."""
    even = np.full((2, 2), 25.0)
    drawn = even + np.array([[3, -3], [-3, 3]])
    assert chi_square(even / 100) == pytest.approx(0)
    assert chi_square(drawn / 100) > 0


def test_g_square_counts_the_rows():
    """Table 4.1 leaves the number of rows out, and without it nothing has a chi-square law."""
    assert measured("g-square", PAIR) == pytest.approx(2149.36, abs=0.01)
    assert measured("g-square", PAIR) == pytest.approx(ROWS * measured("g-square", PAIR, 1))


def test_an_uncertainty_coefficient_is_never_negative():
    """Section 5.3.3 gives it the range -1 to 1; mutual information is at least 0."""
    tables = np.random.default_rng(1).dirichlet(np.ones(4), 500).reshape(-1, 2, 2)
    assert min(measured("uncertainty-of-second", table) for table in tables) >= 0
    assert MEASURES["uncertainty-of-second"].lowest == 0


def test_dots_of_loglinear_effects_mean_averages():
    """Sums would make the first effect eight times the eighth of the logarithm that the next line prints."""
    logarithms = np.log(np.arange(1, 9).reshape(2, 2, 2) / 36)
    printed = (logarithms[0].sum() - logarithms[1].sum()) / 8
    assert logarithms.mean() == pytest.approx(-2.25794, abs=5e-6)
    assert logarithms[0].mean() - logarithms.mean() == pytest.approx(printed)
    assert printed == pytest.approx(-0.53106, abs=5e-6)
    assert logarithms[0].sum() - logarithms.sum() != pytest.approx(printed)


def test_posteriors_of_the_naive_bayes_example_are_normalized_over_the_classes():
    """Divided by the joint share, as written, the two would sum to 1.014."""
    table = np.array([0.1884, 0.0232, 0.0802, 0.1788, 0.2264, 0.0199, 0.1031, 0.1800]).reshape(2, 2, 2)
    table = table / table.sum()
    by_class = table.sum(axis=(0, 1))
    joint = table.sum(axis=1)[0] * table.sum(axis=0)[1] / by_class
    assert joint / joint.sum() == pytest.approx([0.3134, 0.6866], abs=2e-4)
    as_written = joint / table[0, 1].sum()
    assert as_written == pytest.approx([0.318, 0.696], abs=1e-3)


def test_the_largest_p_value_belongs_to_a_model_that_was_not_tried():
    """Example 3 calls (AD, G) best at .66; (AD, AG), with one parameter more, has .92."""
    counts = np.array([0.0610, 0.0764, 0.1506, 0.1826, 0.1384, 0.1597, 0.1079, 0.1233]).reshape(2, 2, 2)
    counts = counts * ROWS / counts.sum()
    smaller = counts.sum(axis=2)[:, :, None] * counts.sum(axis=(0, 1)) / ROWS
    larger = (
        counts.sum(axis=2)[:, :, None] * counts.sum(axis=1)[:, None] / counts.sum(axis=(1, 2))[:, None, None]
    )
    p_values = [chi2.sf(((counts - fit) ** 2 / fit).sum(), df) for fit, df in ((smaller, 3), (larger, 2))]
    assert p_values == pytest.approx([0.66, 0.917], abs=0.02)


def test_the_true_support_of_the_second_rule_is_the_smaller_of_the_two_swapped_numbers():
    """Section 3.2.2 gives the same pair a support of .359; .363 is the estimate of rule 6."""
    assert PAIR[1, 1] == 0.359


def test_confidence_ranges_of_table_3_2_are_not_centred_where_their_formula_says():
    """The bias of (3.4) at .65 is .0004; the printed ranges are off by .014 and .037."""
    matrix = np.kron(warner(0.65).dense(), warner(0.65).dense())
    inverse, shares = np.linalg.inv(matrix), PAIR.ravel()
    covariance = (inverse.T @ np.diag(shares @ matrix) @ inverse - np.outer(shares, shares)) / (ROWS - 1)
    with_both, with_first = shares[3], shares[2] + shares[3]
    bias = with_both * covariance[2, 2] - shares[2] * covariance[3, 3]
    bias += (with_both - shares[2]) * covariance[3, 2]
    assert abs(bias / with_first**3) < 0.001
    for (low, high), estimate in (((31.3, 95.3), 64.7), ((26.6, 90.4), 62.2)):
        assert abs((low + high) / 2 - estimate) > 1.3


def test_merging_the_other_categories_lowers_the_reconstruction_probability():
    """Women at retention .6: .5332 with three diseases, .5245 with the other two merged."""
    women = DISEASES[1].astype(float)
    kept, other = 0.6, 0.2
    assert recovery_probabilities(women, [TwoValued(kept, other)])[0] == pytest.approx(0.53324, abs=5e-6)
    # Merged, a value outside the category is published as it with probability .2 still.
    merged = np.array([12.0, 16.0])
    matrix = np.array([[0.6, 0.4], [0.2, 0.8]])
    lower = merged[0] / 28 * (matrix[0] ** 2 / (merged / 28 @ matrix)).sum()
    assert lower == pytest.approx(0.5245, abs=5e-5)


def test_reconstruction_risk_understates_what_the_reconstructed_distribution_tells():
    """At full randomization of the disease the formula says .18; whoever draws from the estimate is right with .43."""
    risks = reconstruction_risks(DISEASES, [TwoValued(1.0, 0.0), TwoValued(1 / 3, 1 / 3)])
    assert risks[1, 0] == pytest.approx(0.1837, abs=5e-5)
    assert DISEASES[1, 0] / DISEASES[1].sum() == pytest.approx(0.4286, abs=5e-5)


def test_reconstruction_probability_is_given_the_true_value():
    """Printed as joint; with nothing randomized it is 1 for every value, and joint probabilities would sum to 1."""
    found = recovery_probabilities(DISEASES[1].astype(float), [TwoValued(1.0, 0.0)])
    assert found == pytest.approx([1, 1, 1])


def test_no_retention_of_the_sensitive_attribute_helps_a_group_of_one_value():
    """Its risk is 1 at each of the four printed retentions, so the bounds 1/2 to 1/5 cannot be kept."""
    groups = np.array([[0, 5, 0, 0, 0, 0, 0], [3, 2, 4, 1, 5, 2, 3]])
    for kept in (0.650, 0.267, 0.217, 0.167):
        risks = reconstruction_risks(groups, [TwoValued(1.0, 0.0), TwoValued(kept, (1 - kept) / 6)])
        assert risks.max() == pytest.approx(1)


def test_entropy_diversity_bounds_no_belief_by_one_over_l():
    """Six of ten share a value in a group with an entropy above ln 3."""
    group = np.array([[6, 1, 1, 1, 1]])
    assert diversity(group, "entropy")[0] >= 3
    assert group.max() / group.sum() > 1 / 3


def test_the_two_diverse_table_has_two_values_and_no_more():
    """Three of four have flu: entropy .5623 is below ln 2, and the likeliest value is believed with 3/4."""
    group = np.array([[3, 1]])
    assert np.log(diversity(group, "entropy")[0]) == pytest.approx(0.5623, abs=5e-5)
    assert LDiversity(l_value=2, attribute="disease", variant="distinct").classes_that_hold(group, group[0])[
        0
    ]
    assert not LDiversity(l_value=2, attribute="disease", variant="entropy").classes_that_hold(
        group, group[0]
    )[0]


def test_amplification_bounds_a_breach_below_a_ratio_of_odds():
    """Definition 6 names the amplification without the bound: belief .1 stays below .5 as long as it is under 9."""
    assert gamma_of_beliefs(0.1, 0.5) == pytest.approx(9)
    assert largest_posterior(0.1, 9) == pytest.approx(0.5)
    assert largest_posterior(0.1, 8.9) < 0.5


def partial(table):
    """Partial correlation of the first two of three binary variables given the third."""

    def phi(pair):
        return measured("phi", pair)

    ab, ac, bc = phi(table.sum(axis=2)), phi(table.sum(axis=1)), phi(table.sum(axis=0))
    return (ab - ac * bc) / math.sqrt((1 - ac**2) * (1 - bc**2))


def test_a_partial_correlation_may_shrink_when_the_third_variable_is_randomized_too():
    """So 'only if untouched' is a statement about what is guaranteed; another table shows that it can grow."""
    chain = np.einsum("c,ac,bc->abc", [0.4, 0.6], [[0.8, 0.3], [0.2, 0.7]], [[0.7, 0.2], [0.3, 0.8]])
    unrelated = np.einsum("ab,c->abc", PAIR, [0.5, 0.5])
    kept = warner(0.8).dense()
    assert abs(partial(chain)) < 0.01 < abs(partial(chain @ kept))
    all_three = np.einsum("abc,ax,by,cz->xyz", unrelated, kept, kept, kept)
    assert abs(partial(all_three)) < abs(partial(unrelated))
