"""The odds and the sums that decoys leave, over all valid partitions of tiny tables."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from exact.enumeration import largest_ratio, valid_groups
from exact.holding import (
    TooStrongError,
    channel_of_decoys,
    hold,
    mechanism,
    published_counts,
    true_error_probability,
    true_odds_factor,
)
from exact.tiny_tables import schema_of
from sfumato.guarantees.small_sum_privacy import OddsFactor, SmallSumPrivacy
from sfumato.methods.splu_gen.design import SPLUGen

VALUES = [
    ((0, 0, 1, 2), 2),
    ((0, 0, 1, 1, 2, 2), 2),
    ((0, 0, 0, 1, 1, 2), 2),
    ((0, 0, 1, 1, 2, 3), 3),
    ((0, 0, 1, 2, 3, 4), 3),
    ((0, 0, 0, 1, 1, 1, 2, 3), 2),
    ((0, 0, 1, 1, 2, 2, 3, 4, 5), 3),
]


def stated_odds(values, gamma, y, **fields):
    """What the promise says of one value."""
    promise = OddsFactor(gamma_by_attribute={"job": gamma}, **fields)
    return Fraction(len(values) - values.count(y), values.count(y) * (promise.gamma_by_attribute["job"] - 1))


@pytest.mark.parametrize(("values", "gamma"), VALUES)
def test_the_odds_factor_is_exact_for_every_value(values, gamma):
    """Over all valid partitions: stated and true are the same fraction, and the largest is that of the smallest count."""
    for y in set(values):
        true = true_odds_factor(values, gamma, y)
        assert stated_odds(values, gamma, y) == true
        promise = OddsFactor(gamma_by_attribute={"job": gamma})
        assert promise.factor_on_average("job", values.count(y), len(values)) == pytest.approx(float(true))
        hold(Fraction(promise.largest("job", len(values))), true, "odds factor")
    rarest = min(set(values), key=values.count)
    with pytest.raises(TooStrongError):
        hold(stated_odds(values, gamma + 1, rarest), true_odds_factor(values, gamma, rarest), "odds factor")


def test_the_odds_factor_of_attributes_drawn_together():
    """Over all groups whose members differ in both: each value's average channel is what it is alone, and its count too."""
    pairs = ((0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 3))
    gamma = 2
    partitions = [
        groups
        for groups in valid_groups(tuple(a for a, _ in pairs), gamma)
        if all(len({pairs[row][1] for row in group}) == gamma for group in groups)
    ]
    assert len(partitions) >= 3
    for place, values in enumerate(zip(*pairs, strict=True)):
        for y in set(values):
            shown = [
                [
                    Fraction(sum(pairs[other][place] == y for other in group), gamma)
                    for group in groups
                    for _ in group
                ]
                for groups in partitions
            ]
            rows = [[row for group in groups for row in group] for groups in partitions]
            others = [
                chance
                for chances, of_rows in zip(shown, rows, strict=True)
                for chance, row in zip(chances, of_rows, strict=True)
                if values[row] != y
            ]
            true = Fraction(1, gamma) / (sum(others) / len(others))
            assert true == stated_odds(values, gamma, y)
            # As many places can show the value as alone: gamma for each row that holds it.
            assert {sum(chances) for chances in shown} == {values.count(y)}


def test_the_factor_is_that_of_the_code_that_publishes():
    """The channel of one row by running the publication itself over all its decisions; the others are as in the table."""
    schema = schema_of(jobs=3, people=4)
    values = (0, 0, 1, 2)
    outputs = mechanism(SPLUGen(gamma=2), schema)(tuple(enumerate(values)))
    shows = channel_of_decoys(values, 2)
    for who, held in enumerate(values):
        for shown in range(3):
            chance = sum(p for (_, (rows,)), p in outputs.items() if (who, shown) in rows)
            assert chance == shows.get((held, shown), 0)


def test_against_one_known_other_value_there_is_no_bound():
    """What the promise does not claim, and says so: a row of b never shows c where a is in every group."""
    shows = channel_of_decoys((0, 0, 1, 2), 2)
    assert (1, 2) not in shows
    assert shows[2, 2] == Fraction(1, 2)


def test_nor_against_someone_who_knows_everybody_else():
    """Whole releases of two tables that differ in who holds a value: some output comes from one of them alone."""
    schema = schema_of(jobs=3, people=4)
    outputs = mechanism(SPLUGen(gamma=2), schema)
    one, other = (tuple(enumerate(values)) for values in ((0, 0, 1, 2), (0, 0, 2, 1)))
    assert largest_ratio(outputs(one), outputs(other)) == math.inf
    assert "knows" in OddsFactor.__doc__


@pytest.mark.parametrize(("values", "gamma"), [each for each in VALUES if len(each[0]) <= 8])
@pytest.mark.parametrize("tied", [1, 2])
@pytest.mark.parametrize("smallest", [1, 2])
def test_small_sums_are_wrong_as_often_as_stated(values, gamma, tied, smallest):
    """By all partitions and all draws; the best of what one or two tied attributes give, raised to a known smallest count."""
    names = [f"attribute{each}" for each in range(tied)]
    for y in set(values):
        count = values.count(y)
        if count < smallest:
            continue
        drawn = published_counts(values, gamma, y)
        true = min(
            true_error_probability([drawn] * used, count, 0.3, smallest) for used in range(1, tied + 1)
        )
        promise = SmallSumPrivacy(
            gamma_by_attribute=dict.fromkeys(names, gamma),
            relative_error=0.3,
            largest_small_count=count,
            smallest_count=smallest,
        )
        # A stated probability of being wrong must not exceed the true one.
        stated = Fraction(promise.error_probability(names[0]))
        assert float(stated) <= float(true) * (1 + 1e-12)


def test_statements_that_forget_ties_or_the_threshold_are_caught():
    """Sabotage: two tied attributes stated as one, and a count known to be two or more stated as if it were not."""
    values, gamma, count = (0, 0, 1, 1, 2, 2), 2, 2
    drawn = published_counts(values, gamma, 0)
    alone = Fraction(
        SmallSumPrivacy(
            gamma_by_attribute={"job": gamma}, relative_error=0.3, largest_small_count=count
        ).error_probability("job")
    )
    tied = min(true_error_probability([drawn] * used, count, 0.3, 1) for used in (1, 2))
    raised = true_error_probability([drawn], count, 0.3, 2)
    assert float(tied) < float(alone)
    assert float(raised) < float(alone)
