"""The advice on gamma: smallest that fits, the gap it leaves, requests that cannot be met."""

from __future__ import annotations

import pytest

from sfumato.methods.splu_gen.plan import DecoyGoal, advise_gamma, poisson_error_probability


def test_the_paper_s_example_is_met_by_seven_and_more():
    """At least .6 for counts up to 3: gamma 5 gives .5904, gamma 10 gives .6126; 7 is the first above .6."""
    advice = advise_gamma(DecoyGoal(wanted_error_probability=0.6))
    assert advice.gamma == 7
    assert advice.table.rows[3][5] == "no"
    assert advice.table.rows[8][5] == "yes"


def test_the_gap_without_promise_is_shown():
    """Gamma 10: small up to 3, large from 41 on, nothing between 4 and 40."""
    advice = advise_gamma(DecoyGoal(wanted_error_probability=0.612))
    assert advice.gamma == 10
    assert "between 4 and 40" in advice.sentence


def test_more_privacy_than_any_group_gives_is_refused_with_the_limit():
    """Published counts become Poisson: 1 - 1/e for one row."""
    assert poisson_error_probability(1, 0.3) == pytest.approx(1 - 0.36787944, abs=1e-8)
    advice = advise_gamma(DecoyGoal(wanted_error_probability=0.7))
    assert advice.gamma is None
    assert "0.632" in advice.sentence


@pytest.mark.parametrize(
    ("goal", "eligible", "reason"),
    [
        (DecoyGoal(smallest_large_count=20), 20, "blurs counts"),
        (DecoyGoal(), 4, "private enough"),
        (DecoyGoal(), 1, "more than half"),
    ],
)
def test_other_requests_that_cannot_be_met_say_why(goal, eligible, reason):
    """Too much utility, too skewed a table, no groups at all."""
    advice = advise_gamma(goal, largest_eligible=eligible)
    assert advice.gamma is None
    assert reason in advice.sentence


def test_groups_who_all_share_a_value_are_warned_about():
    """At gamma 2 a public group of two is answered wrongly a quarter of the time only."""
    advice = advise_gamma(DecoyGoal(wanted_error_probability=0.5), largest_eligible=2)
    assert advice.gamma == 2
    assert "0.25 only" in advice.sentence
    assert "What each gamma gives" in str(advice)
