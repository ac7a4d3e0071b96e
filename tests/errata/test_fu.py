"""Counterexamples to what Fu et al. (2014) print, in the order of docs/errata.md."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from sfumato.guarantees.small_sum_privacy import (
    accurate_window,
    chebyshev_bound,
    error_probabilities,
    exact_threshold,
    homogeneous_error_probability,
    misprinted_lemma_1_threshold,
    misprinted_theorem_3_bound,
    smallest_error_probability,
)
from sfumato.methods.splu_gen.law import iterate, pairwise_count, paper_fixed_point, show_probability
from sfumato.randomness.partitions import compose_groups
from sfumato.randomness.streams import NoiseSource

STATES = np.array([560.0, 40.0, 340.0, 60.0])
"""Outside and inside the condition, without and with the value; 1,000 rows, gamma 5."""


def expected_states(transition):
    """What is published on average by the given matrix."""
    chance = float(show_probability(np.array(100.0), 1000, 5, transition=transition))
    block = np.array([[1 - chance, chance], [0.8, 0.2]])
    return np.concatenate([STATES[:2] @ block, STATES[2:] @ block])


def test_the_bound_of_theorem_3_is_below_the_probability_that_it_bounds():
    """Count 5, gamma 10, within 30 %: at most .0444, while Example 1 itself has .48."""
    error = 1 - binom.cdf(6, 50, 0.1) + binom.cdf(3, 50, 0.1)
    assert error == pytest.approx(0.4801, abs=5e-5)
    assert misprinted_theorem_3_bound(5, 10, 0.3) == pytest.approx(0.0444, abs=5e-5)
    assert misprinted_theorem_3_bound(5, 10, 0.3) < error <= chebyshev_bound(5, 10, 0.3)


@pytest.mark.parametrize(
    ("gamma", "error", "printed", "exact"), [(10, 0.3, 4.71, 41), (10, 0.1, 14.14, 351), (5, 0.2, 10.0, 81)]
)
def test_large_sums_begin_much_later_than_lemma_1_says(gamma, error, printed, exact):
    """At the printed threshold the answer is wrong far more often than one time in twenty."""
    assert misprinted_lemma_1_threshold(gamma, error, 0.05) == pytest.approx(printed, abs=0.005)
    assert exact_threshold(gamma, error, 0.05) == exact
    count = int(np.ceil(printed))
    assert error_probabilities([count], gamma, error, boundary="wrong")[0] > 0.3


def test_the_published_count_is_likeliest_at_the_true_count_that_equals_it():
    """Theorem 2 holds, but its proof differentiates in the published count; the likelihood is a function of the true one."""
    for gamma, shown in itertools.product((2, 5, 10), (1, 3, 17, 60)):
        candidates = np.arange(1, 4 * shown)
        assert candidates[binom.pmf(shown, gamma * candidates, 1 / gamma).argmax()] == shown
    # In the published count, at a true count of 5, the largest chance is not where the proof puts its root.
    assert binom.pmf(np.arange(51), 50, 0.1).argmax() == 5


def test_the_matrix_of_figure_6_publishes_more_of_a_value_than_there_is():
    """110 rows instead of 100 of 1,000: it takes the chance that any group holds the value for that of the others'."""
    assert expected_states("paper")[[1, 3]].sum() == pytest.approx(110)
    assert expected_states("corrected")[[1, 3]].sum() == pytest.approx(100)
    assert show_probability(np.array(100.0), 1000, 5) == pytest.approx(100 * 4 / (5 * 900))


def test_the_printed_matrix_shrinks_an_estimate_where_the_corrected_one_does_not():
    """From the true expectation it leads to 56.3 of 60."""
    shown = expected_states("corrected")
    count, selected = shown[[1, 3]].sum(), shown[2:].sum()
    assert paper_fixed_point(shown[3], selected, count, 1000, 5) == pytest.approx(56.259, abs=5e-4)
    assert pairwise_count(shown[3], selected, count, 1000, 5) == pytest.approx(60)


def test_the_one_percent_rule_stops_after_one_step():
    """At 42.45, beside the published 42.22, where the iteration leads to 60."""
    published = expected_states("corrected").reshape(1, 2, 2)
    stopped, rounds = iterate(published, [5], transition="corrected")
    assert rounds.tolist() == [1]
    assert stopped[0, 1, 1] == pytest.approx(42.45, abs=0.01)
    converged, _ = iterate(published, [5], transition="corrected", tolerance=1e-12, maximum_rounds=100_000)
    assert converged[0, 1, 1] == pytest.approx(60, abs=1e-3)


def test_the_stop_test_must_look_at_every_state():
    """Two sensitive attributes have eight states; the first four may stand still while the others move."""
    published = np.array([[[[700.0, 0], [0, 0]], [[60, 40], [45, 155]]]])
    after, _ = iterate(published, [4, 4], transition="corrected", tolerance=1e-12, maximum_rounds=1)
    moved = np.abs(after - published) / np.maximum(published, 1)
    assert moved[0, 0].max() < 0.01 < moved[0, 1].max()


def test_largest_first_groups_are_no_uniform_decoys():
    """Two frequent values share five in six groups, where the model of section 5 has them share two in three."""
    counts = [600, 600, *[200] * 6]
    model = 600 * 2 / (2_400 - 600)

    def shared(kind):
        groups = compose_groups(counts, 3, NoiseSource.seeded(1).stream(0), kind=kind).members
        return len(np.intersect1d(groups[0], groups[1])) / 600

    assert shared("largest-first") > model + 0.15
    assert abs(shared("mixed") - model) < 0.06


def test_the_value_alone_protects_better_than_a_condition_that_all_of_them_meet():
    """Lemma 3 at gamma 10: three people who share a rare value and whose number is public, .729 below .764."""
    alone = error_probabilities([3], 10, 0.3)[0]
    together = homogeneous_error_probability(3, 10, 0.3)
    assert (together, alone) == pytest.approx((0.729, 0.7639), abs=5e-5)


@pytest.mark.parametrize(("gamma", "group"), [(2, 2), (2, 5), (5, 3), (5, 5), (5, 6)])
def test_theorem_4_fails_for_public_groups_who_share_a_value(gamma, group):
    """The size of the group is exact in the release and cuts every answer."""
    assert homogeneous_error_probability(group, gamma, 0.3) < smallest_error_probability(group, gamma, 0.3)


def test_an_answer_at_the_edge_is_an_error_by_definition_and_accurate_in_the_lemma():
    """Definition 2 counts an error of exactly 30 %; Lemma 2's sum leaves it out: .404 against .241 at count 10."""
    assert accurate_window(10, 0.3) == (7, 13)
    assert accurate_window(10, 0.3, boundary="wrong") == (8, 12)
    found = [error_probabilities([10], 10, 0.3, boundary=each)[0] for each in ("accurate", "wrong")]
    assert found == pytest.approx([0.2410, 0.4042], abs=5e-5)


def test_the_window_of_lemma_2_begins_at_the_number_above():
    """At count 5 it is 4 to 6, as Example 2 has it; from 3 on the probability of Example 1 would be .66."""
    assert accurate_window(5, 0.3) == (4, 6)
    assert binom.pmf([4, 5, 6], 50, 0.1).sum() == pytest.approx(0.52, abs=0.005)
    assert binom.pmf([3, 4, 5, 6], 50, 0.1).sum() == pytest.approx(0.66, abs=0.005)


def test_the_smallest_gamma_does_matter():
    """Error probabilities of counts up to 10: .115 at gamma 2, .214 at 5, .241 at 10."""
    found = [smallest_error_probability(10, gamma, 0.3) for gamma in (2, 5, 10)]
    assert found == pytest.approx([0.1153, 0.2140, 0.2410], abs=5e-5)
    assert found[0] < 0.5 * found[2]


def test_a_value_as_frequent_as_there_are_groups_cannot_be_related_to_anything():
    """Then every row shows it with the same chance, whatever it holds, and the estimator divides by 0."""
    chance = float(show_probability(np.array(200.0), 1000, 5))
    assert chance == pytest.approx(1 / 5)


def test_a_count_of_zero_is_promised_nothing():
    """An error of 0 or more is certain there, so definition 2 is about counts of 1 and above."""
    from sfumato.errors import ParameterError

    with pytest.raises(ParameterError, match="1 or more"):
        error_probabilities([0], 10, 0.3)
