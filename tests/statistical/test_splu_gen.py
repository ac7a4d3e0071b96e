"""What SPLU-Gen publishes follows the law that its promise is computed from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from sfumato.methods.splu_gen.kernels import draw_in_groups
from sfumato.randomness.partitions import compose_together, partition_rows
from sfumato.randomness.streams import NoiseSource

pytestmark = pytest.mark.statistical

GAMMA, COUNT, RELEASES = 5, 4, 100_000


def releases_of_one_value(seed):
    """Twenty rows in groups of five, the first value in four of them, and a hundred thousand draws."""
    noise = NoiseSource.seeded(seed)
    codes = np.repeat(np.arange(6), [COUNT, 4, 4, 3, 3, 2])
    groups = partition_rows(codes, 6, GAMMA, noise.named("groups").stream(0))
    copies = np.repeat(np.arange(RELEASES), len(codes))
    return np.tile(codes, RELEASES), np.tile(groups, RELEASES) + copies * 4, copies, noise


def draw_from_groups(codes, groups, noise):
    """What each row shows."""
    members = np.argsort(groups, kind="stable").reshape(-1, GAMMA)
    drawn = np.empty_like(codes)
    drawn[members] = draw_in_groups(codes[members], noise.stream(0))
    return drawn


def test_a_value_s_published_count_is_binomial(alarm_budget):
    """Null: Binomial(gamma f, 1/gamma), hence unbiased with variance f (1 - 1/gamma).

    Statistic: chi-square of the counts of one value held by four rows, over 100,000 draws from the same
    groups, which are independent. Twin: a draw among the other members only, Binomial(4 f, 1/4), whose
    variance is 6 % smaller: 14 standard errors of a variance.
    """
    check = alarm_budget.draw("published count of a value is binomial")
    codes, groups, copies, noise = releases_of_one_value(check.seed)
    expected = RELEASES * binom.pmf(np.arange(GAMMA * COUNT + 1), GAMMA * COUNT, 1 / GAMMA)

    def p_value(drawn):
        shown = np.bincount(copies[drawn == 0], minlength=RELEASES)
        observed = np.bincount(shown, minlength=len(expected))
        return alarm_budget.chi_square_p_value(observed, expected)

    alarm_budget.assert_passes(p_value(draw_from_groups(codes, groups, noise)), check)

    members = np.argsort(groups, kind="stable").reshape(-1, GAMMA)
    # Places 1 to 4 after one's own, around the group: a decoy always, never the true value.
    steps = 1 + noise.stream(1).uniform_codes(members.size, GAMMA - 1).reshape(members.shape)
    places = (np.arange(GAMMA) + steps) % GAMMA
    twin = np.empty_like(codes)
    twin[members] = np.take_along_axis(codes[members], places.astype(np.intp), axis=1)
    alarm_budget.assert_rejects(p_value(twin), check)


def test_a_row_keeps_its_own_value_once_in_gamma(alarm_budget):
    """Null: a row shows its own value with probability 1/5. Statistic: exact binomial, n = 2,000,000.

    Twin: the value kept with probability 0.205 and drawn otherwise, 17 standard errors off.
    """
    check = alarm_budget.draw("own value is shown once in gamma")
    codes, groups, _, noise = releases_of_one_value(check.seed)
    drawn = draw_from_groups(codes, groups, noise)
    kept = int(np.count_nonzero(drawn == codes))
    alarm_budget.assert_passes(alarm_budget.binomial_p_value(kept, codes.size, 1 / GAMMA), check)

    # Keep with (0.205 - 0.2) / 0.8, else draw: own value with probability 0.205 in all.
    keeps = noise.stream(1).bernoulli(codes.size, int(0.00625 * 2**64))
    twin = int(np.count_nonzero(np.where(keeps, codes, drawn) == codes))
    alarm_budget.assert_rejects(alarm_budget.binomial_p_value(twin, codes.size, 1 / GAMMA), check)


def test_counts_of_values_drawn_together_are_binomial(alarm_budget):
    """Null: of attributes drawn together each value's published count is Binomial(gamma f, 1/gamma) as well.

    Statistic: chi-square of the counts of one value of the second attribute, held by four rows of different
    combinations, over 100,000 draws from groups whose members differ in both attributes. Twin: a draw among the other
    members only, as above.
    """
    check = alarm_budget.draw("published count of a value drawn together is binomial")
    noise = NoiseSource.seeded(check.seed)
    first = np.repeat(np.arange(10), 2)
    second = np.array([0, 1, 2, 0, 1, 3, 4, 0, 5, 6, 0, 7, 8, 1, 9, 2, 3, 4, 5, 6])
    found, counts = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    composition = compose_together(counts, found, GAMMA, noise.named("groups").stream(0))
    members = np.tile(found[1][composition.values_by_group().reshape(-1, GAMMA)], (RELEASES, 1))
    expected = RELEASES * binom.pmf(np.arange(GAMMA * COUNT + 1), GAMMA * COUNT, 1 / GAMMA)

    def p_value(drawn):
        shown = (drawn == 0).reshape(RELEASES, -1).sum(axis=1)
        return alarm_budget.chi_square_p_value(np.bincount(shown, minlength=len(expected)), expected)

    alarm_budget.assert_passes(p_value(draw_in_groups(members, noise.stream(0))), check)
    steps = 1 + noise.stream(1).uniform_codes(members.size, GAMMA - 1).reshape(members.shape)
    places = (np.arange(GAMMA) + steps) % GAMMA
    alarm_budget.assert_rejects(p_value(np.take_along_axis(members, places.astype(np.intp), axis=1)), check)
