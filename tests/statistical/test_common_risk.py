"""One risk for every method: each acceptance of its definition, with a broken twin that must fail.

Expectations and distances were written down before the tests were run, from the definition and by hand; where a bound
had to be set from what a prototype found it says so.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import (
    METHODS,
    Anatomy,
    DistributionResampling,
    NoisyMarginals,
    RandomizedResponse,
    SamplePerturbScale,
    SPLUGen,
    audit,
)
from sfumato.chance.noise import DiscreteLaplace
from sfumato.chance.randomness import NoiseSource
from sfumato.custody.audit.attackers import LAW, MARGIN, OUTLIERS, TABLES, beliefs_of, beliefs_without
from sfumato.custody.audit.controls import _published_again, attack_absent, attack_present
from sfumato.custody.audit.measuring import LINKABLE, MEANINGS, TOP, Trial, measure, measure_rare
from sfumato.custody.audit.people import people_of
from sfumato.custody.audit.raw import raw_release
from sfumato.custody.audit.scores import hits, rare_values
from sfumato.custody.audit.truth_checks import check_against_truth
from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.testing import release_in_memory, sample_table


def skewed_table(generator, rows=4_000, *, shuffled=False):
    """Two public attributes, many of whose combinations one person has, and a value that goes with the first."""
    first = generator.choice(40, rows, p=_falling(40))
    second = generator.choice(40, rows, p=_falling(40))
    value = (first // 10 + generator.choice(4, rows, p=[0.6, 0.2, 0.1, 0.1])) % 4
    if shuffled:
        value = generator.permutation(value)
    return table_of([40, 40, 4], [first, second, value])


def _falling(size):
    weights = 1 / np.arange(1, size + 1)
    return weights / weights.sum()


def held_out(design, table, generator, repeats=3):
    """Trials of a design published again without a fifth of the people."""
    release = release_in_memory(table, design, seed=1)
    people = people_of(table, release, "s")
    seeded = NoiseSource.seeded(int(generator.integers(2**31)))
    return people, tuple(_published_again([release], table, people, repeats, generator, seeded))


def test_the_raw_table_is_read_off():
    """Right of everybody: the sum of the largest counts of the groups, over all rows; of unique people: always.

    Twin: the own row ignored, which unique people survive.
    """
    table = skewed_table(np.random.default_rng(11))
    people = people_of(table, raw_release(table), "s")
    counts = table.count_by(["x0", "x1", "s"]).counts.reshape(-1, 4)
    expected = counts.max(axis=1).sum() / counts.sum()
    unique = people.sizes_among(people, are_members=True) == 1
    assert unique.sum() > 100
    right = hits(beliefs_of([raw_release(table)], people, are_members=True)[LAW], people.truth)
    assert abs(right.mean() - expected) < 0.015
    assert right[unique].mean() > 0.98
    without = beliefs_without([raw_release(table)], people, np.random.default_rng(1))
    ignored = hits(without[LAW], people.truth)
    assert ignored[unique].mean() < 0.9
    assert abs(ignored.mean() - expected) > 0.015


def test_resampling_costs_nobody_anything():
    """The own row is not in what is published: with and without are the same, person by person."""
    table = skewed_table(np.random.default_rng(12))
    found = audit(release_in_memory(table, DistributionResampling(), seed=3), table, seed=4)
    for each in found.attributes[0].measured.values():
        assert each.difference is not None
        assert each.difference.low <= 0 <= each.difference.high


def test_on_a_shuffled_table_only_the_own_row_tells():
    """Nothing goes with anything: who is held out is guessed like anybody, who is in the table is not.

    Statistic: share of unique held-out people guessed right against the margin's largest share; the standard error
    is at most 0.5 / sqrt(people). Five of them are less than one alarm in a million.
    Twin: control people left in the table, and attacked as who they are.
    """
    generator = np.random.default_rng(13)
    table = skewed_table(generator, shuffled=True)
    people, trials = held_out(RandomizedResponse(retention=0.8), table, generator)
    before = people.margin().max()
    linkable = [each.absent.is_linkable for each in trials]
    number = sum(each.sum() for each in linkable)
    guessed = np.concatenate(
        [
            hits(each.absent.beliefs[LAW], each.absent.people.truth)[chosen]
            for each, chosen in zip(trials, linkable, strict=True)
        ]
    )
    room = 5 * 0.5 / np.sqrt(number)
    assert abs(guessed.mean() - before) < room
    found = measure(trials, people.margin())[LINKABLE].difference
    assert found is not None
    # Four values kept with 0.8: 0.85 of those who are alone on their public values, fewer of those who are not.
    assert found.present > before + 0.2
    assert found.low > 0
    left_in = [
        hits(each.present.beliefs[LAW], each.present.people.truth)[each.present.is_linkable]
        for each in trials
    ]
    assert np.concatenate(left_in).mean() > before + room


@pytest.mark.parametrize("retention", [0.4, 0.7])
def test_unique_people_are_read_as_often_as_the_matrix_keeps_them(alarm_budget, retention):
    """Null: right with probability p + (1-p)/m, everybody alone and values even. Exact binomial, n = 6,000.

    Twin: a retention 30 % smaller, 20 standard errors off and more.
    """
    check = alarm_budget.draw("unique people are read as often as kept", pieces=2)
    size, number = 5, 6_000
    generator = np.random.default_rng(int(1000 * retention))
    values = np.repeat(np.arange(size), number // size)
    table = table_of([number, size], [np.arange(number), generator.permutation(values)])

    def right(kept):
        release = release_in_memory(table, RandomizedResponse(retention=kept), seed=5)
        people = people_of(table, release, "s")
        return round(float(hits(beliefs_of([release], people, are_members=True)[LAW], people.truth).sum()))

    expected = retention + (1 - retention) / size
    alarm_budget.assert_passes(alarm_budget.binomial_p_value(right(retention), number, expected), check)
    alarm_budget.assert_rejects(
        alarm_budget.binomial_p_value(right(0.7 * retention), number, expected), check
    )


def test_more_protection_is_less_risk():
    """The headline falls with the retention, beyond its intervals. Twin: the order turned round."""
    table = skewed_table(np.random.default_rng(14))
    headlines = []
    for retention in (0.9, 0.6, 0.2):
        release = release_in_memory(table, RandomizedResponse(retention=retention), seed=6)
        found = audit(release, table, seed=7).attributes[0].measured[LINKABLE].difference
        assert found is not None
        headlines.append(found)
    for more, less in itertools.pairwise(headlines):
        assert more.low > less.high
        assert not less.low > more.high


MILD_AND_STRONG = {
    "sample-perturb-scale": ({"retention": 0.9}, {"retention": 0.2}),
    "splu-gen": ({"gamma": 2}, {"gamma": 5}),
    "anatomy": ({"l_value": 2}, {"l_value": 5}),
    "generalization": ({"k": 2}, {"k": 40}),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", MILD_AND_STRONG)
def test_more_protection_is_less_risk_by_every_method_that_publishes_rows(method):
    """The headline falls from the mildest parameter to a strong one on each of the same five splits, once in 32 by luck.

    A first version asked for a mean beyond an interval at 99 %, which the 6 points of generalization did not reach on five splits; the
    others did. Noisy tables and columns cost nothing measurable on this table at any epsilon, and are not here. Twin: the order turned round.
    """
    generator = np.random.default_rng(22)
    first, second = (generator.choice(60, 3_000, p=_falling(60)) for _ in range(2))
    table = table_of([60, 60, 8], [first, second, (first + generator.integers(0, 6, 3_000)) % 8])
    excess = []
    for parameters in MILD_AND_STRONG[method]:
        design = METHODS.make(method, dict(parameters))
        people, trials = held_out(design, table, np.random.default_rng(23), repeats=5)
        each = [measure((trial,), people.margin())[LINKABLE].difference.excess for trial in trials]
        excess.append(np.array(each))
    falls = excess[0] - excess[1]
    assert (falls > 0).all()
    assert not (-falls > 0).all()


def planted(generator, wards=2_000, holders=8, clusters=20):
    """Wards of ten; one value is held by eight of ten in some wards, and by nobody else."""
    rows = 10 * wards
    ward = np.repeat(np.arange(wards), 10)
    value = generator.choice(9, rows, p=[0.14, 0.13, 0.13, 0.12, 0.11, 0.11, 0.1, 0.08, 0.08])
    for cluster in generator.choice(wards, clusters, replace=False):
        value[10 * cluster + generator.permutation(10)[:holders]] = 9
    return table_of([wards, 10], [ward, value])


def test_planted_wards_are_found_although_the_average_says_nothing():
    """Decoys of 5: average excess near 0, and holders of the rare value found with and without their own row.

    The recall is that of the definition; its one point for the average is two here, of which one is the standard error of
    4,000 control people. Twins: the two-way tables taken away, after which they are
    not found; and a report of averages only, which does not show them.
    """
    generator = np.random.default_rng(15)
    table = planted(generator)
    people, trials = held_out(SPLUGen(gamma=5), table, generator)
    average = measure(trials, people.margin())[TOP].difference
    assert average is not None
    assert abs(average.excess) < 0.02
    rare = rare_values(people.margin())
    assert rare.tolist() == [9]
    half = measure_rare(trials, rare)[0]
    assert half.present.recall > 0.2
    assert half.absent.recall > 0.2
    blind = tuple(
        Trial(
            dataclasses.replace(each.present, beliefs={MARGIN: each.present.beliefs[MARGIN]}),
            dataclasses.replace(each.absent, beliefs={MARGIN: each.absent.beliefs[MARGIN]}),
            each.is_paired,
        )
        for each in trials
    )
    assert measure_rare(blind, rare)[0].present.recall < 0.2
    assert all("rare" not in name for name in measure(trials, people.margin()))


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
    value = (first + generator.choice(6, rows, p=_falling(6))) % 6
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


def smallest_p_value(release, table, sensitive="job"):
    """Over everything that the law says, corrected for how much that is."""
    found = check_against_truth(release, people_of(table, release, sensitive), table)
    assert found
    return min(1.0, min(each.p_value for each in found) * len(found))


def with_law(release, **changes):
    """The same files under a law that says something else."""
    law = release.law.model_copy(update=changes)
    manifest = release.manifest.model_copy(update={"law": law.model_dump(mode="json")})
    return type(release)(None, manifest, release.sources, release.engine)


def test_noise_of_half_the_scale_is_refuted(alarm_budget):
    """Null: noise of the stated scale. Exact binomials of how many counts lie within stated distances.

    Three two-way tables with the sensitive attribute have 52 cells, too few; the table of all attributes has 96.
    Twin: the law states twice the scale that was drawn.
    """
    check = alarm_budget.draw("noise of half the scale is refuted")
    table = sample_table(3_000)
    design = NoisyMarginals(
        epsilon=1.0, marginals=(("sex", "age", "region", "job"), ("age", "region", "job"))
    )
    release = release_in_memory(table, design, seed=9)
    alarm_budget.assert_passes(smallest_p_value(release, table), check)
    doubled = tuple(
        each.model_copy(update={"noise": DiscreteLaplace(scale=4 * each.noise.scale)})
        for each in release.law.marginals
    )
    alarm_budget.assert_rejects(smallest_p_value(with_law(release, marginals=doubled), table), check)


@pytest.mark.parametrize("stated", [0.35, 0.65])
def test_a_matrix_that_was_not_drawn_from_is_refuted(alarm_budget, stated):
    """Null: values drawn by the stated matrix. Bernstein's bound of margins and of agreement within groups.

    Twin: a law that states 30 % less or more than the retention of 0.5, at 20,000 rows.
    """
    check = alarm_budget.draw("a matrix that was not drawn from is refuted", pieces=2)
    table = sample_table(20_000)
    release = release_in_memory(table, RandomizedResponse(retention=0.5), seed=10)
    alarm_budget.assert_passes(smallest_p_value(release, table), check)
    other = release_in_memory(table, RandomizedResponse(retention=stated), seed=10).law
    wrong = with_law(release, distortions=other.distortions)
    alarm_budget.assert_rejects(smallest_p_value(wrong, table), check)


def test_buckets_in_a_telling_order_are_refuted(alarm_budget):
    """Null: the order of rows and values in the files says nothing. Bernstein's bound of the permutation statistic.

    Twin: within every bucket the values stand in the order of their own rows.
    """
    check = alarm_budget.draw("buckets in a telling order are refuted")
    generator = np.random.default_rng(17)
    number = 3_000
    table = table_of([number, 4], [np.arange(number), generator.integers(0, 4, number)])
    release = release_in_memory(table, Anatomy(l_value=2), seed=11)
    alarm_budget.assert_passes(smallest_p_value(release, table, "s"), check)
    rows, values = release.sources["rows"], release.sources["sensitive"]
    own = table.source.codes["s"][rows.codes["x0"].astype(np.int64)]
    order = np.lexsort((np.arange(number), rows.codes["bucket"]))
    told = CodedRows(values.schema, {"bucket": rows.codes["bucket"][order], "s": own[order]})
    telling = type(release)(None, release.manifest, {**release.sources, "sensitive": told}, release.engine)
    alarm_budget.assert_rejects(smallest_p_value(telling, table, "s"), check)


def test_a_report_holds_no_person(tmp_path):
    """Summary and plain data of an audit name public categories of 30 people and more; single people stand in the file."""
    table = skewed_table(np.random.default_rng(18))
    found = audit(raw_release_as_published(table), table, seed=1)
    text = found.summary() + str(found.to_dict())
    assert found.write_people(tmp_path / "people.csv") > 0
    people = people_of(table, raw_release(table), "s")
    alone = people.rows[people.sizes_among(people, are_members=True) == 1]
    few = {code for code in range(40) if (people.codes["x0"] == code).sum() < 30}
    assert few
    assert not any(f"x0-{code} " in text for code in few)
    first, second = alone[0]
    assert f"x0-{first},x1-{second}" in (tmp_path / "people.csv").read_text(encoding="utf-8")
    assert f"x0-{first},x1-{second}" not in text


def raw_release_as_published(table):
    """Rows hardly distorted, with a design that an audit can read."""
    return release_in_memory(table, RandomizedResponse(retention=0.999), seed=2)
