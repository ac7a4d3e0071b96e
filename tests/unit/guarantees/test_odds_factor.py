"""The odds factor of decoys, and which draws can speak of one value."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sfumato.errors import ParameterError
from sfumato.guarantees.small_sum_privacy import (
    OddsFactor,
    SmallSumPrivacy,
    averaged_error_probability,
    error_probabilities,
    odds_factor,
)

THREE = {"drug": 10, "disease": 5, "ward": 4}


def test_the_factor_by_hand():
    """Eight of 4,000 in groups of ten: 3,992 others share 72 decoy places; in every group it is one."""
    assert odds_factor(8, 4_000, 10) == 3_992 / 72
    assert odds_factor(400, 4_000, 10) == 1
    assert odds_factor(1, 10, 2) == 9
    promise = OddsFactor(gamma_by_attribute={"disease": 10})
    assert promise.factor_on_average("disease", 8, 4_000) == 3_992 / 72
    assert promise.formula("disease") == "(N - 1) / 9"
    assert OddsFactor(gamma_by_attribute={"disease": 2}).formula("disease") == "(N - 1)"


def test_the_smallest_count_caps_it():
    """A hundred of 4,000, at the least: 3,900 / 900."""
    promise = OddsFactor(gamma_by_attribute={"disease": 10}, smallest_count=100)
    assert promise.largest("disease", 4_000) == 3_900 / 900
    assert promise.formula("disease") == "(N - 100) / 900"
    assert "100 people have it" in promise.plain_words
    # Of 10,000: 9,900 / 900.
    assert "up to 11 times" in promise.plain_words


def test_tied_attributes_multiply_their_factors():
    """Of 101 rows: 100/9 of the one, 100/4 of the other; alone where declared independent."""
    tied = OddsFactor(gamma_by_attribute={"drug": 10, "disease": 5})
    assert tied.largest("drug", 101) == tied.largest("disease", 101) == pytest.approx(100 / 9 * 100 / 4)
    assert "drug (N - 1) / 9 times (N - 1) / 4" in tied.sentence
    assert "may tell each other" in tied.sentence
    alone = tied.model_copy(update={"independent": ("drug", "disease")})
    assert alone.largest("drug", 101) == pytest.approx(100 / 9)
    assert (
        "if drug and disease are independent of the other sensitive attributes, as the custodian declares"
        in alone.sentence
    )
    assert "may tell each other" not in alone.sentence


@pytest.mark.parametrize(
    ("fields", "attribute", "expected"),
    [
        ({}, "drug", ("drug", "disease", "ward")),
        ({}, "ward", ("ward", "drug", "disease")),
        ({"independent": ("ward",)}, "ward", ("ward",)),
        ({"independent": ("ward",)}, "drug", ("drug", "disease")),
        ({"together": ("drug", "disease")}, "drug", ("drug", "ward")),
        ({"together": ("drug", "disease")}, "disease", ("disease", "ward")),
        ({"together": ("drug", "disease")}, "ward", ("ward", "drug")),
        ({"together": ("drug", "disease"), "independent": ("ward",)}, "disease", ("disease",)),
    ],
)
def test_which_draws_speak_of_a_value(fields, attribute, expected):
    """Every draw that is not declared independent, those drawn together once."""
    assert OddsFactor(gamma_by_attribute=THREE, **fields).tied_with(attribute) == expected


def test_one_declared_attribute_is_said_in_the_singular():
    """It is independent; the others may tell each other."""
    promise = OddsFactor(gamma_by_attribute=THREE, independent=("ward",))
    assert "if ward is independent" in promise.sentence
    assert "may tell each other" in promise.sentence


def test_a_promise_needs_groups_of_two_and_a_count_of_one():
    """Nothing is hidden in a group of one."""
    with pytest.raises(ParameterError):
        OddsFactor(gamma_by_attribute={"job": 1})
    with pytest.raises(ParameterError):
        OddsFactor(gamma_by_attribute={"job": 2}, smallest_count=0)


def brute_force(count, gammas, error, smallest):
    """Probability that the mean of binomial counts, raised to the smallest count, is wrong: in fractions."""
    sums = {0: Fraction(1)}
    for gamma in gammas:
        number = gamma * count
        chances = [
            math.comb(number, k) * Fraction(1, gamma) ** k * Fraction(gamma - 1, gamma) ** (number - k)
            for k in range(number + 1)
        ]
        sums = {
            total: sum(sums.get(total - k, 0) * p for k, p in enumerate(chances))
            for total in range(max(sums) + number + 1)
        }
    wrong = Fraction(0)
    for total, chance in sums.items():
        answer = Fraction(total, len(gammas))
        answer = max(answer, Fraction(smallest)) if smallest > 1 else answer
        wrong += chance * (abs(answer - count) > Fraction(str(error)) * count)
    return float(wrong)


@pytest.mark.parametrize("gammas", [(2,), (2, 5), (5, 5), (2, 3, 5)])
@pytest.mark.parametrize(("count", "smallest"), [(1, 1), (2, 1), (2, 2), (3, 2), (4, 3), (5, 2)])
@pytest.mark.parametrize("error", [0.3, 0.5])
def test_the_mean_over_tied_counts_by_brute_force(gammas, count, smallest, error):
    """Sums of binomial counts, and answers raised to a known smallest count."""
    expected = brute_force(count, gammas, error, smallest)
    assert averaged_error_probability(count, gammas, error, smallest) == pytest.approx(expected, abs=1e-12)
    if len(set(gammas)) == 1:
        found = error_probabilities([count], gammas[0], error, releases=len(gammas), smallest_count=smallest)
        assert float(found[0]) == pytest.approx(expected, abs=1e-12)


def test_a_promise_of_tied_attributes_is_that_of_the_best_answer():
    """Over every choice of the tied draws and every count from the smallest to the largest small one."""
    promise = SmallSumPrivacy(
        gamma_by_attribute={"drug": 3, "disease": 2},
        relative_error=0.3,
        largest_small_count=4,
        smallest_count=2,
    )
    best = min(brute_force(count, gammas, 0.3, 2) for count in (2, 3, 4) for gammas in ((2,), (3,), (2, 3)))
    assert promise.error_probability("drug") == promise.error_probability("disease") == pytest.approx(best)


def test_a_vacuous_promise_says_so_in_both_languages():
    """The sentence and the plain words; being wrong is then certain of no count."""
    promise = SmallSumPrivacy(
        gamma_by_attribute={"job": 5}, relative_error=0.3, largest_small_count=4, smallest_count=5
    )
    assert promise.is_vacuous
    assert promise.error_probability("job") == 1
    assert "vacuous" in promise.sentence
    assert "fewer than 5 people share are left out" in promise.plain_words
    kept = promise.model_copy(update={"smallest_count": 4})
    assert not kept.is_vacuous
    assert "held by 4 to 4 rows" in kept.sentence
    assert "at least 4 rows hold every published value" in kept.sentence
    assert kept.plain_words.startswith("If 4 to 4 people share")


def test_of_fewer_rows_than_the_smallest_count_all_hold_the_value():
    """Then nothing else is possible before or after, and the odds do not change."""
    promise = OddsFactor(gamma_by_attribute={"job": 3}, smallest_count=5)
    assert promise.largest("job", 3) == 0
    assert promise.largest("job", 15) == 1
