"""Beliefs about people in buckets, against all ways of giving the values."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from believed_cells import AGE, JOB, PRIOR, SEX, people
from noisy_rows import Given
from sfumato.estimates.estimates import Certainty
from sfumato.laws.posterior import SharedPrior, Targets
from sfumato.methods.anatomy import law as beliefs
from sfumato.methods.anatomy.law import BucketedRows, bucket_beliefs
from sfumato.methods.anatomy.permutations import BucketedPeople
from sfumato.query.selection import Selection, Tabulation

LIKELIHOODS = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])


def test_people_are_believed_what_all_assignments_say():
    """Two buckets, one with a value twice; people alike in both share one belief."""
    publics = np.array([0, 0, 1, 1, 0])
    buckets, places = np.array([1, 1, 1, 2, 2]), np.array([[0, 2, 2], [0, 1, -1]])
    people = BucketedPeople.arrange([publics], [2], buckets, places, 3, seed=5)
    total = np.zeros((2, 3))
    for number, values in ((1, (0, 2, 2)), (2, (0, 1))):
        inside = publics[buckets == number]
        ways = list(itertools.permutations(values))
        weights = [math.prod(LIKELIHOODS[x, v] for x, v in zip(inside, way, strict=True)) for way in ways]
        for way, weight in zip(ways, weights, strict=True):
            for x, v in zip(inside, way, strict=True):
                total[x, v] += weight / sum(weights)
    expected = total / total.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(bucket_beliefs(people, LIKELIHOODS), expected, rtol=1e-9)


def test_a_value_that_is_not_in_the_bucket_is_ruled_out():
    """Whatever was believed beforehand."""
    people = BucketedPeople.arrange([np.array([0, 1])], [2], np.array([1, 1]), np.array([[0, 1]]), 3, seed=0)
    assert bucket_beliefs(people, LIKELIHOODS)[:, 2].tolist() == [0, 0]


@pytest.mark.parametrize("are_members", [True, False])
def test_members_are_believed_by_their_bucket_and_others_by_the_prior(are_members):
    """Three buckets over two attributes; somebody who is in none is believed what was believed anyway."""
    rows = {"sex": [0, 1, 0, 1, 1, 0], "age": [0, 2, 1, 2, 0, 0], "bucket": [1, 1, 2, 2, 3, 3]}
    values = {"bucket": [1, 1, 2, 2, 3, 3], "job": [0, 1, 1, 2, 2, 0], "count": [1] * 6}
    release = Given((SEX, AGE, JOB), rows=rows, sensitive=values)
    law = BucketedRows(sensitive="job", l_value=2)
    found = law.posterior(release, people(are_members=are_members), PRIOR).of_targets()
    likely = {sex: PRIOR.given_value["sex"][sex] for sex in (0, 1)}
    prior = {sex: PRIOR.margin * each / (PRIOR.margin * each).sum() for sex, each in likely.items()}
    total = {}
    for number in (1, 2, 3):
        inside = [(s, a) for s, a, b in zip(*rows.values(), strict=True) if b == number]
        own = [job for b, job in zip(values["bucket"], values["job"], strict=True) if b == number]
        ways = [
            (way, math.prod(likely[s][v] for (s, _), v in zip(inside, way, strict=True)))
            for way in itertools.permutations(own)
        ]
        for way, weight in ways:
            for person, value in zip(inside, way, strict=True):
                total.setdefault(person, np.zeros(3))[value] += weight / sum(each for _, each in ways)
    for target, person in enumerate(((1, 2), (0, 1), (1, 2), (0, 0))):
        expected = total[person] / total[person].sum() if are_members else prior[person[0]]
        np.testing.assert_allclose(found[target], expected, rtol=1e-9)
    stranger = Targets.of((SEX, AGE), JOB, {"sex": np.array([1]), "age": np.array([1])}, are_members=True)
    np.testing.assert_allclose(law.posterior(release, stranger, PRIOR).of_targets()[0], prior[1])


def test_buckets_say_nothing_of_what_they_do_not_hold():
    """Of an age, which is published as it is, and of people whose job is known: what was believed anyway."""
    rows = {"sex": [0, 1, 0, 1], "age": [0, 2, 1, 2], "bucket": [1, 1, 2, 2]}
    values = {"bucket": [1, 1, 2, 2], "job": [0, 1, 1, 2], "count": [1] * 4}
    release = Given((SEX, AGE, JOB), rows=rows, sensitive=values)
    law = BucketedRows(sensitive="job", l_value=2)
    ages = SharedPrior(np.array([0.2, 0.3, 0.5]), {}, {"sex": np.array([0.6, 0.4])}, 200.0, 1.0)
    women = Targets.of((SEX,), AGE, {"sex": np.array([0])}, are_members=True)
    np.testing.assert_allclose(law.posterior(release, women, ages).of_targets()[0], [0.2, 0.3, 0.5])
    tailors = Targets.of((JOB,), AGE, {"job": np.array([1])}, are_members=True)
    of_jobs = replace(ages, shares={"job": np.array([0.5, 0.3, 0.2])})
    np.testing.assert_allclose(law.posterior(release, tailors, of_jobs).of_targets()[0], [0.2, 0.3, 0.5])


def test_nothing_is_claimed_where_no_row_has_the_public_values():
    """Nobody is a man: three cells of none, whatever the buckets say of women."""
    rows = {"sex": [0] * 6, "age": [0, 1, 2, 0, 1, 2], "bucket": [1, 1, 2, 2, 3, 3]}
    values = {"bucket": [1, 1, 2, 2, 3, 3], "job": [0, 1, 1, 2, 0, 2], "count": [1] * 6}
    release = Given((SEX, AGE, JOB), rows=rows, sensitive=values)
    release.number_of_rows = 6
    law, asked = BucketedRows(sensitive="job", l_value=2), Tabulation(by=("sex", "job"))
    claims = law.formula(release, [asked]).certainty(asked, 6)
    assert (claims == Certainty.EXACT).tolist() == [False] * 3 + [True] * 3
    for sex, is_exact in ((0, False), (1, True)):
        among = Tabulation(where=Selection((("sex", (sex,)),)))
        found = law.formula(release, [asked]).weighted(among, np.array([[1.0, 0.0, 0.0]]))
        assert found.is_exact.tolist() == [is_exact]


@pytest.mark.parametrize(
    ("affordable", "largest", "expected"),
    [
        # Two people by 2^2 subsets are 8 steps. Exactly 0.24 : 0.06; balanced the root of these odds, 2 : 1.
        (8, 2, 0.8),
        (7, 2, 2 / 3),
        (8, 1, 2 / 3),
    ],
)
def test_buckets_are_balanced_where_sums_over_permutations_are_too_many(
    monkeypatch, affordable, largest, expected
):
    """In all, or of the largest bucket."""
    monkeypatch.setattr(beliefs, "AFFORDABLE_STEPS", affordable)
    monkeypatch.setattr(beliefs, "LARGEST_EXACT", largest)
    two = BucketedPeople.arrange([np.array([0, 1])], [2], np.array([1, 1]), np.array([[0, 1]]), 2, seed=0)
    found = bucket_beliefs(two, np.array([[0.6, 0.2], [0.3, 0.4]]))
    np.testing.assert_allclose(found, [[expected, 1 - expected], [1 - expected, expected]], atol=1e-6)


@pytest.mark.parametrize(
    ("affordable", "way"), [(2 * 24 + 8, "permutation_marginals"), (2 * 24 + 7, "balanced_marginals")]
)
def test_steps_of_all_buckets_are_added_up(monkeypatch, affordable, way):
    """Two buckets of three people by 2^3 subsets, and one of two by 2^2."""
    monkeypatch.setattr(beliefs, "AFFORDABLE_STEPS", affordable)
    taken = []
    for name in ("permutation_marginals", "balanced_marginals"):
        monkeypatch.setattr(beliefs, name, lambda cells, name=name: taken.append(name) or (cells, None))
    places = np.array([[0, 1, 2], [0, 1, 2], [0, 1, -1]])
    crowd = BucketedPeople.arrange(
        [np.zeros(8, int)], [1], np.array([1, 1, 1, 2, 2, 2, 3, 3]), places, 3, seed=0
    )
    bucket_beliefs(crowd, np.ones((1, 3)))
    assert set(taken) == {way}


@pytest.mark.parametrize("size", [12, 13])
def test_buckets_of_twelve_are_exact_and_larger_ones_balanced(size):
    """Half of the people go with half of the values by odds of 9; by counting how many do, and by balancing."""
    half = size // 2
    publics, places = np.arange(size) >= half, (np.arange(size) >= half)[None].astype(np.int32)
    crowd = BucketedPeople.arrange(
        [publics.astype(np.int64)], [2], np.ones(size, np.int64), places, 2, seed=0
    )
    found = bucket_beliefs(crowd, np.array([[3.0, 1.0], [1.0, 3.0]]))[0, 0]
    # Ways in which k of the first people have the first value, each of whom is 9 times as likely as without.
    ways = [math.comb(half, k) * math.comb(size - half, half - k) * 9**k for k in range(half + 1)]
    counted = sum(k * way for k, way in enumerate(ways)) / sum(ways) / half
    # Balanced: of the six first people a have the first value where a (1 + a) / (6 - a)^2 = 9, so 8 a^2 - 109 a + 324 = 0.
    balanced = (109 - math.sqrt(109**2 - 4 * 8 * 324)) / 16 / 6
    assert found == pytest.approx(counted if size == 12 else balanced, rel=1e-6)
