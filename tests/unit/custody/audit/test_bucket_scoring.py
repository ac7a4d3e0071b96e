"""Attacks on buckets, held against the truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import read_table
from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes, Inference
from sfumato.attacks.bucket_models import guess
from sfumato.custody.audit.calibration import BucketScore, arrange_with_truth, score_anatomy
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.anatomy.permutations import BucketedPeople
from sfumato.randomness.streams import NoiseSource


@pytest.fixture(scope="module")
def score():
    """A scored attack on pairs."""
    table = read_table(people(800), SCHEMA)
    return score_anatomy(table, Anatomy(l_value=2), AnatomyNaiveBayes(), NoiseSource.seeded(1))


def test_published_rows_are_lined_up_with_the_private_ones():
    """Every bucket's true values are the values published for it."""
    table = read_table(people(300), SCHEMA)
    arranged, truth = arrange_with_truth(table, Anatomy(l_value=2), NoiseSource.seeded(2))
    for block in arranged.blocks:
        assert np.array_equal(np.sort(truth[block.rows], axis=0), np.sort(block.values, axis=0))


def test_the_attack_beats_the_promise_on_dependent_data(score):
    """Sex tells much about the job here."""
    assert score.baseline == pytest.approx(0.5, abs=0.001)
    assert score.accuracy > 0.6
    assert "by chance" in repr(score)


def test_ties_are_averaged_over_people_alike():
    """Against enumeration of all orders of the people who are alike in a bucket."""
    places = np.array([[0, 1, 2, 3]])
    columns = [np.array([0, 0, 0, 1])]
    truth = np.array([2, 0, 1, 3])
    arranged = BucketedPeople.arrange(columns, [2], np.ones(4, int), places, 4, seed=5)
    likelihoods = np.array([[3.0, 2.0, 1.0, 2.0], [1.0, 1.0, 3.0, 1.0]])
    found = BucketScore(Inference("exact", guess(arranged, likelihoods)), truth)
    given_to_alike = found.guesses.values[:3]
    orders = list(itertools.permutations(given_to_alike))
    hits = np.mean([sum(np.array(order) == truth[:3]) for order in orders])
    hits += found.guesses.values[3] == truth[3]
    assert found.expected_accuracy == pytest.approx(hits / 4)


def test_exposure_counts_the_sure_and_the_right(score):
    """More demanding thresholds expose fewer people."""
    rows = score.exposure().rows
    numbers = [row[1] for row in rows]
    assert numbers == sorted(numbers, reverse=True)
    assert score.exposure().is_private


def test_eliminating_all_wrong_values_leaves_the_truth(score):
    """The last row is certainty, the first the attack without knowledge."""
    rows = score.elimination().rows
    assert rows[0][1] == pytest.approx(0.5)
    assert rows[-1][2] == pytest.approx(1)
    first = score.guesses.probabilities_of(score.truth).mean()
    assert rows[0][2] == pytest.approx(first, abs=0.01)


def test_row_averages_are_less_sure_than_the_product(score):
    """At most 2/g; with two people the cap is one, and the average is closer to a half."""
    assert score.row_averages.mean() < score.guesses.probabilities.mean()
