"""The alarm budget is kept, and its p-values are right."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest


def test_no_more_checks_are_drawn_than_the_budget_holds(alarm_budget):
    """The alphas of all checks in the sources sum to no more than the alarm of a run."""
    assert len(alarm_budget.registered_checks()) <= alarm_budget.MAXIMUM_CHECKS
    assert math.isclose(alarm_budget.ALPHA, 5e-7)


def test_every_check_is_drawn_in_one_place(alarm_budget):
    """A name stands for one check, so no two calls draw the same one."""
    names = Counter(check.name for check in alarm_budget.registered_checks())
    assert [name for name, times in names.items() if times > 1] == []


def test_the_scan_reads_names_and_pieces(alarm_budget):
    """Draws are found wherever they stand in a source text."""
    source = "def test(alarm_budget):\n    check = alarm_budget.draw('a b', pieces=3)\n"
    (found,) = alarm_budget.find_draws(source, "test_x.py")
    assert (found.name, found.pieces, found.place) == ("a b", 3, "test_x.py:2")


@pytest.mark.parametrize("call", ["draw(name)", "draw('a', pieces=n)", "draw(f'{a}')"])
def test_the_scan_refuses_what_it_cannot_count(alarm_budget, call):
    """A name or number of pieces that is only known when running is refused."""
    with pytest.raises(AssertionError, match="must be written out"):
        list(alarm_budget.find_draws(f"alarm_budget.{call}", "test_x.py"))


def test_a_check_cannot_be_drawn_more_often_than_declared(alarm_budget, monkeypatch):
    """The second draw of a check that declares one piece fails."""
    declared = (alarm_budget.RegisteredCheck("example", 1, "test_x.py:1"),)
    monkeypatch.setattr(alarm_budget, "registered_checks", lambda: declared)
    monkeypatch.setattr(alarm_budget, "_times_drawn", Counter())
    draw = alarm_budget.draw
    assert draw("example").alpha == alarm_budget.ALPHA
    with pytest.raises(AssertionError, match="drawn 2 times"):
        draw("example")
    with pytest.raises(AssertionError, match="not in the sources with pieces=2"):
        draw("example", pieces=2)


def test_seeds_are_fixed_unless_fresh_ones_are_asked_for(alarm_budget, monkeypatch):
    """The seed follows from the name; fresh entropy changes it and can be repeated."""
    declared = (alarm_budget.RegisteredCheck("example", 9, "test_x.py:1"),)
    monkeypatch.setattr(alarm_budget, "registered_checks", lambda: declared)
    monkeypatch.setattr(alarm_budget, "_times_drawn", Counter())
    draw = alarm_budget.draw

    monkeypatch.delenv(alarm_budget.FRESH_SEED_VARIABLE, raising=False)
    fixed = draw("example", pieces=9).seed
    assert draw("example", pieces=9).seed == fixed
    monkeypatch.setenv(alarm_budget.FRESH_SEED_VARIABLE, "1")
    fresh = draw("example", pieces=9).seed
    assert fresh != fixed
    # The drawn entropy now stands in the environment, where worker processes find it.
    repeated = alarm_budget.entropy()
    assert repeated > 1
    assert str(repeated) in alarm_budget.entropy_message()
    assert draw("example", pieces=9).seed == fresh


def test_binomial_p_values_are_twice_the_smaller_tail(alarm_budget):
    """Three heads in four fair throws: 2 * 5/16, by hand."""
    assert alarm_budget.binomial_p_value(3, 4, 0.5) == pytest.approx(10 / 16, rel=1e-12)
    assert alarm_budget.binomial_p_value(2, 4, 0.5) == 1.0


@pytest.mark.parametrize(
    ("replicates", "lowest", "highest"), [(2000, 0.9245, 0.9720), (5000, 0.9342, 0.9644)]
)
def test_coverage_is_accepted_in_the_published_intervals(alarm_budget, replicates, lowest, highest):
    """The limits for 95 % intervals at alarm 1e-6 agree with a separate calculation."""
    limits = alarm_budget.coverage_acceptance(replicates, 0.95, alpha=1e-6)
    assert limits == (pytest.approx(lowest, abs=5e-5), pytest.approx(highest, abs=5e-5))
    for limit, beyond in zip(limits, (-1, 1), strict=True):
        covered = round(limit * replicates)
        assert alarm_budget.coverage_p_value(covered, replicates, 0.95) > 1e-6
        assert alarm_budget.coverage_p_value(covered + beyond, replicates, 0.95) <= 1e-6


def test_chi_square_is_pearsons_over_groups_with_small_cells_pooled(alarm_budget):
    """One group of two cells and one whose two small cells are pooled: two degrees, by hand."""
    observed = [[5100, 4900, 0], [600, 700, 8700]]
    expected = [[5000, 5000, 0], [500, 700, 8800]]
    # 2 * 100**2 / 5000 = 4 in the first group; in the second 100**2 / 1200 + 100**2 / 8800.
    statistic = 4 + 100**2 / 1200 + 100**2 / 8800
    # With two degrees of freedom the tail is exp(-statistic / 2).
    p_value = alarm_budget.chi_square_p_value(observed, expected)
    assert p_value == pytest.approx(math.exp(-statistic / 2), rel=1e-12)


def test_chi_square_refuses_samples_it_cannot_judge(alarm_budget):
    """Different totals and samples that pool to one cell are mistakes of the test."""
    with pytest.raises(AssertionError, match="different sums"):
        alarm_budget.chi_square_p_value([1, 2], [2, 2])
    with pytest.raises(AssertionError, match="larger sample"):
        alarm_budget.chi_square_p_value([3, 7], [5, 5])


def test_mean_p_value_is_that_of_the_z_score(alarm_budget):
    """A mean 1.96 standard errors off has p = 0.05; the sample's own deviation is the default."""
    values = np.array([0.0, 0.0, 1.0, 1.0]) + 1.959964 / 2
    p_value = alarm_budget.mean_p_value(values, 0.5, standard_deviation=1.0)
    assert p_value == pytest.approx(0.05, rel=1e-6)
    # The deviation of two zeros and two ones is sqrt(1/3), up to the rounding of the sums.
    known = alarm_budget.mean_p_value(values, 0.5, standard_deviation=math.sqrt(1 / 3))
    assert alarm_budget.mean_p_value(values, 0.5) == pytest.approx(known, rel=1e-12)


def test_assertions_agree_with_alpha(alarm_budget):
    """At alpha a check rejects; above it passes; a p-value that is no number does neither."""
    check = alarm_budget.Check("example", alpha=1e-6, seed=0)
    alarm_budget.assert_passes(1.1e-6, check)
    alarm_budget.assert_rejects(1e-6, check)
    for wrong in (1e-6, math.nan):
        with pytest.raises(AssertionError, match="is rejected"):
            alarm_budget.assert_passes(wrong, check)
    for wrong in (1.1e-6, math.nan):
        with pytest.raises(AssertionError, match="broken twin"):
            alarm_budget.assert_rejects(wrong, check)
