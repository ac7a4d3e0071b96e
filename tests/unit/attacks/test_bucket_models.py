"""Beliefs from other buckets: what they are made of, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.arrays import Booleans
from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes
from sfumato.attacks.bucket_models import NOTHING_LEARNED, PARTS, NaiveBayes, Trust, fit, learn_from_others
from sfumato.methods.anatomy.permutations import BucketedPeople

SHARES = np.array([0.5, 0.25, 0.25])


def pairs_of_two_values(*, follows: bool, buckets=400):
    """Two of three values in each bucket; the public category is the value, or has nothing to do with it."""
    draw = np.random.default_rng(1)
    places = np.array([draw.choice(3, 2, replace=False) for _ in range(buckets)])
    column = places.ravel() if follows else draw.integers(0, 3, places.size)
    numbers = np.repeat(np.arange(1, buckets + 1), 2)
    return BucketedPeople.arrange([column], [3], numbers, places, 3, seed=1), places.ravel()


def learned(people, allowed: Booleans | None = None, learn_from=10_000):
    """One uniform start."""
    seen = []

    def fits_to(some):
        seen.append(some)
        return (fit(some, NaiveBayes.uniform(some), allowed=allowed),)

    found = learn_from_others(
        people, fits_to, np.random.default_rng(2), learn_from=learn_from, allowed=allowed
    )
    return found, seen


@pytest.mark.parametrize("power", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("doubt", [0.0, 0.3])
def test_ratios_are_probabilities_over_shares(power, doubt):
    """Whatever the trust, a person's probabilities add up to one."""
    evidence = np.log(np.random.default_rng(1).random((4, 3)))
    ratios = Trust(power, 1.0, doubt).ratios(evidence, SHARES)
    assert np.allclose(ratios @ SHARES, 1)


def test_without_power_everybody_is_as_likely_to_hold_anything():
    """A ratio of one: the public values say nothing."""
    assert np.allclose(NOTHING_LEARNED.ratios(np.log([[5.0, 1.0, 1.0]]), SHARES), 1)


def test_what_is_ruled_out_stays_ruled_out_under_doubt():
    """Shares .5 and .25 are left: ratios 4/3 for both."""
    allowed = np.array([[True, True, False]])
    ratios = Trust(0.0, 1.0, 0.3).ratios(np.zeros((1, 3)), SHARES, allowed)
    assert np.allclose(ratios, [[4 / 3, 4 / 3, 0]])


def test_a_value_that_shows_is_learned_from_other_buckets():
    """The category is the value: nearly certain, and the gain is near ln 1.5, since two of three values fit."""
    people, truth = pairs_of_two_values(follows=True)
    found, _ = learned(people)
    guesses = AnatomyNaiveBayes().infer(people).guesses
    assert (guesses.values == truth).all()
    assert guesses.probabilities.min() > 0.95
    assert found.gain == pytest.approx(np.log(1.5), abs=0.02)


def test_noise_is_not_learned():
    """A category that has nothing to do with the value leaves one in two."""
    people, _ = pairs_of_two_values(follows=False)
    found, _ = learned(people)
    assert found.trust == NOTHING_LEARNED
    assert np.allclose(AnatomyNaiveBayes().infer(people).guesses.probabilities, 0.5)


def test_a_model_never_sees_the_buckets_it_is_asked_about():
    """Every part's model is fitted to all others, and nothing of its own part."""
    people, _ = pairs_of_two_values(follows=True, buckets=50)
    found, seen = learned(people)
    assert [each.number_of_rows for each in seen] == [80] * PARTS
    assert np.bincount(found.parts[0]).tolist() == [10] * PARTS
    for part, others in enumerate(seen):
        rest = people.rows_of_value - others.rows_of_value
        own = np.bincount(people.blocks[0].values[:, found.parts[0] == part].ravel(), minlength=3)
        assert rest.tolist() == own.tolist()


def test_models_are_fitted_to_no_more_people_than_asked():
    """Buckets are drawn at random from those of the other parts."""
    people, _ = pairs_of_two_values(follows=True)
    _, seen = learned(people, learn_from=100)
    assert [each.number_of_rows for each in seen] == [100] * PARTS


def test_a_part_of_the_people_keeps_their_pairs():
    """Cells name the same combination and value after rows were renumbered."""
    people, _ = pairs_of_two_values(follows=True, buckets=20)
    chosen = [np.arange(20) % 2 == 0]
    some = people.only(chosen, most=1_000, generator=np.random.default_rng(1))
    assert some.number_of_rows == 20
    block = some.blocks[0]
    combinations = some.combination_of_row[block.rows]
    expected = combinations[:, np.newaxis] * 3 + block.values[np.newaxis]
    assert np.array_equal(block.cells, expected)


def test_a_single_bucket_has_no_others_to_learn_from():
    """One in two, without complaint."""
    people = BucketedPeople.arrange([np.array([0, 1])], [2], np.array([1, 1]), np.array([[0, 1]]), 2, seed=1)
    assert np.allclose(AnatomyNaiveBayes().infer(people).guesses.probabilities, 0.5)
