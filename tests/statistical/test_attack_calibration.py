"""Attack probabilities are what they say, on tables without signal, with a strong one, and with a long tail.

What is required, whatever comes out: in every bin of ten with at least 200 guesses the share that is right lies
within 5 points of the mean stated probability, as far as chance allows. Expected beforehand: without association
everybody is given 1/l; beliefs from the model's own buckets fail there and in the long tail.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.attacked_tables import attacked_buckets, bins_beyond, linked_people, linking_guesses, told_people

from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes
from sfumato.attacks.group_reconstruction import likeliest_sample_size
from sfumato.laws import cross_validation as judging
from sfumato.laws import shrinkage as peaked_shares
from sfumato.laws.cross_validation import Corrections, judge_corrections

pytestmark = pytest.mark.statistical


def calibration_p_value(alarm_budget, stated, is_right):
    """Of the worst bin: exact binomial at the nearest probability within 5 points, times the number of bins."""
    bins = bins_beyond(stated, is_right)
    return min(
        1.0,
        len(bins)
        * min(alarm_budget.binomial_p_value(right, number, nearest) for nearest, right, number, _ in bins),
    )


def one_of_each_bucket(inference, truth):
    """Stated probability and success of one guess from each bucket: those of one bucket hang together."""
    rows = np.concatenate([block.rows[0] for block in inference.guesses.people.blocks])
    return inference.guesses.probabilities[rows], (inference.guesses.values == truth)[rows]


@pytest.mark.parametrize("bucket_size", [2, 3])
@pytest.mark.parametrize("kind", ["no association", "strong associations", "long tail"])
def test_beliefs_about_buckets_are_calibrated(alarm_budget, kind, bucket_size):
    """Null: in every bin guesses are right within 5 points of what is stated. n = 4,000 buckets, a guess of each.

    Statistic: exact binomial at the nearest allowed probability, Bonferroni over bins. Twin: beliefs from a model of the same buckets, on the table without association.
    """
    check = alarm_budget.draw("beliefs about buckets are calibrated", pieces=6)
    truth, people = attacked_buckets(kind, 4_000 * bucket_size, bucket_size, check.seed % 2**32)
    attack = AnatomyNaiveBayes(starts=1)
    stated, is_right = one_of_each_bucket(attack.infer(people), truth)
    alarm_budget.assert_passes(calibration_p_value(alarm_budget, stated, is_right), check)
    if kind == "no association":
        assert np.allclose(stated, 1 / bucket_size, atol=0.05)
        twin = AnatomyNaiveBayes(starts=1, beliefs="in-sample", tolerance=1e-8).infer(people)
        alarm_budget.assert_rejects(
            calibration_p_value(alarm_budget, *one_of_each_bucket(twin, truth)), check
        )


def one_of_each_group(kind, seed, perturbed=("value",), tables=None, guesses=1, **settings):
    """Stated probability and success of one guess, or some, from each group of some tables of 12,000 people, drawn from the group.

    Strong associations spread over all bins and leave many groups empty, so that they take more tables.
    """
    stated, is_right = [], []
    for number in range(tables or (16 if kind == "strong associations" else 4)):
        people = (
            told_people(6_000, (seed + number) % 2**32)
            if kind == "told by one"
            else linked_people(kind, 12_000, (seed + number) % 2**32)
        )
        beliefs, right, groups = linking_guesses(people, 0.5, list(perturbed), number, **settings)
        order = np.random.default_rng(seed + number).permutation(groups.size)
        order = order[np.argsort(groups[order], kind="stable")]
        _, first, sizes = np.unique(groups[order], return_index=True, return_counts=True)
        order = order[np.arange(order.size) - np.repeat(first, sizes) < guesses]
        stated.append(beliefs[order])
        is_right.append(right[order])
    return np.concatenate(stated), np.concatenate(is_right)


@pytest.mark.parametrize("kind", ["no association", "strong associations", "long tail"])
def test_beliefs_of_linking_are_calibrated(alarm_budget, kind):
    """Null: in every bin guesses are right within 5 points of what is stated. n = 900 to 3,000 groups, a guess of each.

    Statistic: exact binomial at the nearest allowed probability, Bonferroni over bins. Twin: every group leaning on the
    overall shares only, on the table with strong associations.
    """
    check = alarm_budget.draw("beliefs of linking are calibrated", pieces=3)
    found = one_of_each_group(kind, check.seed)
    alarm_budget.assert_passes(calibration_p_value(alarm_budget, *found), check)
    if kind == "strong associations":
        twin = one_of_each_group(kind, check.seed, smoothing=256.0)
        alarm_budget.assert_rejects(calibration_p_value(alarm_budget, *twin), check)


@pytest.mark.parametrize(
    ("kind", "tables", "guesses"),
    [
        ("strong associations", 4, 1),
        pytest.param("strong associations", 16, 1, marks=pytest.mark.slow),
        pytest.param("long tail", 30, 6, marks=pytest.mark.slow),
    ],
)
def test_beliefs_of_linking_are_calibrated_where_public_values_are_perturbed_too(
    alarm_budget, kind, tables, guesses
):
    """Null: in every bin guesses are right within 5 points of what is stated. n = some 200 groups a table, a guess of each, or six.

    Statistic: exact binomial at the nearest allowed probability, Bonferroni over bins. Twin: every group leaning on the
    overall shares only; in the long tail .23 stated is then right in .37, of which thirty tables have some 3,000 guesses. Groups that
    only the perturbed attribute tells apart share what is believed of them, so that the binomial is an approximation.
    """
    check = alarm_budget.draw("beliefs of linking are calibrated, public values perturbed", pieces=3)
    found = one_of_each_group(kind, check.seed, ("value", "two"), tables, guesses)
    alarm_budget.assert_passes(calibration_p_value(alarm_budget, *found), check)
    twin = one_of_each_group(kind, check.seed, ("value", "two"), tables, guesses, smoothing=256.0)
    alarm_budget.assert_rejects(calibration_p_value(alarm_budget, *twin), check)


@pytest.mark.slow
def test_beliefs_of_linking_are_calibrated_in_a_tail_that_one_attribute_tells(alarm_budget, monkeypatch):
    """Null: in every bin guesses are right within 5 points of what is stated. n = 24 tables of some 360 groups, six guesses of each.

    Statistic: exact binomial at the nearest allowed probability, Bonferroni over bins; guesses of one group have a little in common, so
    that the binomial is an approximation. Twin: people of rare values are
    expected to have what all people have, and nothing is corrected; .55 and .65 are then right in .67 and .81.
    """
    check = alarm_budget.draw("beliefs of linking are calibrated, one attribute tells")
    found = one_of_each_group("told by one", check.seed, tables=24, guesses=6)
    alarm_budget.assert_passes(calibration_p_value(alarm_budget, *found), check)
    monkeypatch.setattr(judging, "judge_corrections", lambda *_: Corrections.none())
    monkeypatch.setattr(judging, "_and_stronger", lambda rows: [rows])
    monkeypatch.setattr(peaked_shares, "_left", lambda *given: given[-1])
    twin = one_of_each_group("told by one", check.seed, tables=24, guesses=6)
    alarm_budget.assert_rejects(calibration_p_value(alarm_budget, *twin), check)


@pytest.mark.parametrize("slope", [0.55, 1.8])
def test_corrected_beliefs_are_calibrated(alarm_budget, slope):
    """Null: in every bin guesses are right within 5 points of what is stated. n = 20,000 groups, a guess of each.

    Beliefs were too sure, or too modest, by a slope between those tried, and are corrected by six rows of each group of which a half
    shows any of five values. Statistic: exact binomial at the nearest allowed probability, Bonferroni over bins. Twin: beliefs as they were.
    """
    check = alarm_budget.draw("corrected beliefs are calibrated", pieces=2)
    generator = np.random.default_rng(check.seed)
    stated = generator.uniform(0.5, 0.95, 20_000)
    odds = (stated / (1 - stated)) ** slope
    fit, true = (np.stack([each, *[(1 - each) / 4] * 4], axis=1) for each in (stated, odds / (1 + odds)))
    kept = 0.5 * np.eye(5) + 0.1
    rows = generator.multinomial(6, true @ kept).astype(float)
    corrected = judge_corrections([fit], [rows], [None, kept]).apply(fit)
    is_right = generator.random(20_000) < true[:, 0]
    alarm_budget.assert_passes(calibration_p_value(alarm_budget, corrected[:, 0], is_right), check)
    alarm_budget.assert_rejects(calibration_p_value(alarm_budget, stated, is_right), check)


def cut_group(generator):
    """Rows of a sample between 40 and 400, and the counts of ten values after scaling it to 1,000 to 20,000 rows."""
    size = int(generator.integers(40, 401))
    total = int(np.exp(generator.uniform(np.log(1_000), np.log(20_000))))
    frequency = generator.uniform(0.25, 0.9)
    shares = np.array([frequency, *generator.dirichlet(np.full(9, 5.0)) * (1 - frequency)])
    rows = generator.multinomial(size, 0.5 * shares + 0.05)
    # Every row is repeated floor(N / n) times, and a random part of them once more.
    copies = rows * (total // size) + generator.multivariate_hypergeometric(rows, total % size)
    return size, copies.astype(float)


def test_sample_sizes_are_as_probable_as_stated(alarm_budget):
    """Null: in every bin sizes are right within 5 points of what is stated. n = 2,500 groups.

    Statistic: exact binomial at the nearest allowed probability, Bonferroni over bins. Twin: the same sizes, each
    taken as certain.
    """
    check = alarm_budget.draw("sample sizes are as probable as stated")
    generator = np.random.default_rng(check.seed)
    stated, is_right = np.empty(2_500), np.empty(2_500, bool)
    for number in range(2_500):
        size, counts = cut_group(generator)
        found, stated[number] = likeliest_sample_size(counts, 40, 400)
        is_right[number] = found == size
    alarm_budget.assert_passes(calibration_p_value(alarm_budget, stated, is_right), check)
    twin = calibration_p_value(alarm_budget, np.ones(2_500), is_right)
    alarm_budget.assert_rejects(twin, check)
