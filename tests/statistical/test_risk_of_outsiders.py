"""People who are not in the table have no advantage, by any score of any method; each with a broken twin."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import METHODS, RandomizedResponse, SamplePerturbScale, SPLUGen
from sfumato.custody.audit.attackers import (
    LAW,
    OUTLIERS,
    TABLES,
    attack_absent,
    attack_present,
    beliefs_of,
    beliefs_without,
)
from sfumato.custody.audit.people import people_of
from sfumato.custody.audit.scores import LINKABLE, MEANINGS, TOP, Trial, hits, measure
from sfumato.data.private_table import PrivateTable
from sfumato.testing import release_in_memory
from skewed_tables import falling, skewed_table


def test_members_against_members_is_nothing():
    """The code compares like with like: control people who are members attacked as members have no excess.

    Twin: the true control, which has one.
    """
    table = skewed_table(np.random.default_rng(16))
    release = release_in_memory(table, RandomizedResponse(retention=0.8), seed=8)
    people = people_of(table, release, "s")
    present = attack_present([release], people, np.random.default_rng(1))
    same = measure((Trial(present, present, is_paired=True),), people.margin())
    for each in same.values():
        assert each.difference is not None
        assert each.difference.excess == 0
    without = dataclasses.replace(
        present, beliefs=beliefs_without([release], present.people, np.random.default_rng(2))
    )
    true = measure((Trial(present, without, is_paired=True),), people.margin())[LINKABLE].difference
    assert true is not None
    assert true.low > 0


def test_people_who_are_not_in_the_table_have_no_advantage():
    """Null: a release that does not depend on a person.

    40 tables of their own, each with a fifth that is left out and a fifth that is called the table: neither is in what is
    published, so the excess is 0. At 95 % each, 40 intervals miss 0 more than 9 times with probability 3e-5 (binomial).

    Twin: the second fifth is in the table, and nearly all intervals miss.
    """
    missed = {"outside": 0, "inside": 0}
    for number in range(40):
        generator = np.random.default_rng(1_000 + number)
        table = skewed_table(generator, rows=1_000, shuffled=True)
        rows = table.source
        parts = np.array_split(generator.permutation(1_000), 5)
        rest = np.concatenate(parts[2:])
        for name, published in (("outside", rest), ("inside", np.concatenate([parts[1], rest]))):
            kept = PrivateTable(rows.take(published), table.schema, engine=table.engine)
            release = release_in_memory(kept, RandomizedResponse(retention=0.9), seed=number)
            everyone = people_of(table, release, "s")
            sides = []
            for part in parts[:2]:
                chosen = everyone.take(part)
                beliefs = beliefs_of([release], chosen, are_members=name == "inside" and part is parts[1])
                present = attack_present([release], chosen, generator)
                sides.append(
                    dataclasses.replace(
                        present,
                        beliefs={LAW: beliefs[LAW]},
                        is_linkable=np.ones(len(part), bool),
                        is_drawn=np.ones(len(part), bool),
                    )
                )
            trial = Trial(sides[1], sides[0], is_paired=False)
            found = measure((trial,), everyone.margin())[TOP].difference
            assert found is not None
            missed[name] += not found.low <= 0 <= found.high
    assert missed["outside"] <= 9
    assert missed["inside"] > 30


def few_kinds(generator, rows=400):
    """Fifteen kinds of people, who share much of what is believed of them."""
    first, second = generator.choice(3, rows), generator.choice(5, rows)
    value = (first + generator.choice(6, rows, p=falling(6))) % 6
    return table_of([3, 5, 6], [first, second, value])


EVERY = {
    "randomized-response": {"retention": 0.8},
    "sample-perturb-scale": {"retention": 0.5},
    "splu-gen": {"gamma": 2},
    "anatomy": {"l_value": 2},
    "generalization": {"k": 5},
    "noisy-marginals": {"epsilon": 3.0},
    "columnized-counts": {"k": 5, "epsilon": 4.0, "delta": 1e-5},
    "distribution-resampling": {},
}


@pytest.mark.parametrize("method", EVERY)
def test_nobody_outside_has_an_advantage_by_any_score_of_any_method(method):
    """Null: neither side is in what is published, by every method and every score, with few people of few kinds.

    40 tables of 400: a fifth is published, two fifths are called the table, a fifth is the control. Each score's interval misses 0
    with 5 %, more than 9 of 40 times with probability 3e-5 (binomial); seven scores of eight methods: 2e-3 of them all together.
    Twin: the test above, where who is called the table is published, and intervals miss.
    """
    design = METHODS.make(method, dict(EVERY[method]))
    assert set(EVERY) == set(METHODS.members)
    missed = dict.fromkeys(MEANINGS, 0)
    for number in range(40):
        generator = np.random.default_rng(2_000 + number)
        table = few_kinds(generator)
        parts = np.array_split(generator.permutation(400), 5)
        places = np.concatenate(parts[:2]), np.concatenate(parts[2:4]), parts[4]
        published, called, control = (
            PrivateTable(table.source.take(each), table.schema, engine=table.engine) for each in places
        )
        release = release_in_memory(published, design, seed=number)
        people, members, outside = (people_of(each, release, "s") for each in (published, called, control))
        sides = [attack_absent([release], people, each, generator) for each in (members, outside)]
        for name, each in measure((Trial(*sides, is_paired=False),), members.margin()).items():
            if each.difference is not None:
                missed[name] += not each.difference.low <= 0 <= each.difference.high
                assert each.difference.low < each.difference.high
    assert max(missed.values()) <= 9, missed


PAIRED = [
    (RandomizedResponse(retention=0.8), 1),
    (RandomizedResponse(retention=0.8), 2),
    (RandomizedResponse(retention=0.3), 5),
    (SPLUGen(gamma=2), 2),
    (SPLUGen(gamma=2), 5),
    (SamplePerturbScale(retention=0.5), 10),
]


@pytest.mark.parametrize(("design", "size"), PAIRED)
def test_people_left_out_of_their_own_release_are_guessed_like_anybody(design, size):
    """Null: values that go with nothing. Whoever's own row is left out is guessed as often as chance does it, in groups of any size.

    Eight even values, 6,000 people: five standard errors are 0.022, and which row is the own one is drawn. The group's others and the
    person have different values in a table, which moves a guess among n by less than 1/n: 0.01 at most is left for it.
    Twin: the beliefs with the own row, which are right more often.
    """
    generator = np.random.default_rng(21)
    groups, values = 6_000 // size, 8
    table = table_of(
        [groups, values], [np.repeat(np.arange(groups), size), generator.integers(0, values, groups * size)]
    )
    release = release_in_memory(table, design, seed=12)
    people = people_of(table, release, "s")
    room = 5 * np.sqrt(1 / 8 * 7 / 8 / people.number) + 0.01
    without = beliefs_without([release], people, generator)
    for attacker in (LAW, TABLES, OUTLIERS):
        assert abs(hits(without[attacker], people.truth).mean() - 1 / 8) < room, attacker
    present = beliefs_of([release], people, are_members=True)
    assert hits(present[LAW], people.truth).mean() > 1 / 8 + room
