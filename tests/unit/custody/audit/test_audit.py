"""Audits of every method, the parts of their scores, and what they refute."""

from __future__ import annotations

import numpy as np
import pytest

from coded_tables import table_of, with_learned_lists
from sfumato import METHODS, ColumnizedCounts, Generalization, RandomizedResponse, audit
from sfumato.attacks.posterior import PosteriorBelief
from sfumato.custody.audit.attackers import LAW, beliefs_of, raw_release
from sfumato.custody.audit.law_checks import check_against_truth
from sfumato.custody.audit.people import largest_linkable, people_of
from sfumato.custody.audit.scores import (
    TOP,
    RareRecall,
    Side,
    Trial,
    bits,
    brier,
    clustered_error,
    hits,
    measure,
    over_releases,
    rare_recall,
    recalibrated,
    wilson,
)
from sfumato.data.engine import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Attribute, Schema
from sfumato.testing import release_in_memory, sample_table


@pytest.mark.parametrize("name", METHODS.members)
def test_every_method_is_audited_and_not_refuted(name):
    """Its law is tested against the truth, its people compared with others; nothing that holds is refuted."""
    table = sample_table(1_000)
    release = release_in_memory(table, METHODS.members[name].example(table.schema), seed=1)
    found = audit(release, table, repeats=3, seed=2)
    assert not found.is_refuted, found.verdict
    assert found.law_checks
    (job,) = found.attributes
    assert job.attribute == "job"
    assert job.control
    assert all(each.is_private for each in job.tables())


def other_rows(release, change, table="rows"):
    """The same release with the rows of a table changed, as if they had been published."""
    rows = release.sources[table]
    codes = {name: column.copy() for name, column in rows.codes.items()}
    change(codes)
    sources = {**release.sources, table: CodedRows(rows.schema, codes)}
    return type(release)(None, release.manifest, sources, release.engine)


def smallest(release, table):
    """The smallest p-value, for as many tests as there are."""
    found = check_against_truth(release, people_of(table, release, "job"), table)
    return min(each.p_value for each in found) * len(found)


def test_resampled_values_that_are_the_rows_own_margin_shifted_are_refuted():
    """A tenth of the rows show one value more than drawing would give."""
    table = sample_table(3_000)
    release = release_in_memory(table, METHODS.members["distribution-resampling"](), seed=1)
    assert smallest(release, table) > 1e-4

    def shift(codes):
        codes["job"][:600] = 0

    assert smallest(other_rows(release, shift), table) < 1e-4


def test_decoys_that_favour_a_value_are_refuted():
    """A value shown more often than any group of decoys would."""
    table = sample_table(3_000)
    release = release_in_memory(table, METHODS.members["splu-gen"](gamma=2), seed=1)
    assert smallest(release, table) > 1e-4

    def shift(codes):
        codes["job"][:600] = 3

    assert smallest(other_rows(release, shift), table) < 1e-4


def test_classes_with_rows_that_nobody_has_are_refuted():
    """A published row whose values stand for no true row of its sensitive value."""
    table = sample_table(600)
    release = release_in_memory(table, METHODS.members["generalization"].example(table.schema), seed=1)
    assert smallest(release, table) == 2

    def swap(codes):
        codes["job"][:] = 0

    assert smallest(other_rows(release, swap), table) == 0


def test_noisy_rows_that_should_not_be_there_are_refuted():
    """A row published although fewer than k people have it."""
    table = sample_table(2_000)
    release = release_in_memory(table, METHODS.members["columnized-counts"].example(table.schema), seed=1)
    assert smallest(release, table) > 1e-4
    name = release.law.columns[0].table
    rare = table.count_occupied(["sex", "age", "region", "job"])
    place = int(np.argmin(rare.counts))
    assert rare.counts[place] < release.law.matrix.k

    def put(codes):
        for attribute, column in zip(rare.attributes, rare.codes, strict=True):
            codes[attribute.name][0] = column[place]

    assert smallest(other_rows(release, put, name), table) == 0


def test_three_releases_are_worth_more_than_one():
    """Unique people, even values of four, kept with one half: one row is right with 5/8, the majority of three more.

    Three rows: at least two true with 0.6836, one true and all different with 0.1758, a third of which is guessed.
    """
    number, size = 3_000, 4
    generator = np.random.default_rng(1)
    table = table_of([number, size], [np.arange(number), generator.integers(0, size, number)])
    releases = [release_in_memory(table, RandomizedResponse(retention=0.5), seed=seed) for seed in (1, 2, 3)]
    people = people_of(table, releases[0], "s")
    one, three = (
        hits(beliefs_of(some, people, are_members=True)[LAW], people.truth).mean()
        for some in (releases[:1], releases)
    )
    # Five standard errors of a share of 3,000.
    assert abs(one - 0.625) < 0.045
    assert abs(three - (0.6836 + 0.1758 / 3)) < 0.045


def test_an_attribute_that_only_one_release_suppresses_is_refused():
    """All regions were merged in one of two releases: people who are told apart by region are unknown to it."""
    table = with_learned_lists(sample_table(400))
    whole, suppressed = (release_in_memory(table, Generalization(k=k), seed=1) for k in (2, 50))
    assert suppressed.schema.left_out == ("region",)
    assert "region" in whole.schema
    for pair in ((whole, suppressed), (suppressed, whole)):
        with pytest.raises(DataError, match="have not the same categories of region"):
            audit(pair, table, seed=1)


def test_a_release_without_public_attributes_is_audited_but_for_its_people():
    """All public values were merged: there is nothing to know people by."""
    table = with_learned_lists(sample_table(400))
    release = release_in_memory(table, Generalization(k=320), seed=1)
    assert release.schema.names == ("job",)
    assert "no public attributes" in audit(release, table, seed=1).summary()
    with pytest.raises(ParameterError, match="no public attribute"):
        PosteriorBelief().run(release)


def test_releases_of_other_categories_are_not_put_together():
    """Merged in one of them: beliefs about values that the other tells apart cannot be multiplied."""
    table = sample_table(600)
    jobs = table.schema["job"].labels
    plain = release_in_memory(table, RandomizedResponse(retention=0.5), seed=1)
    grouped = release_in_memory(
        table, ColumnizedCounts(k=2, epsilon=4.0, recoding={"job": (jobs[:2],)}), seed=1
    )
    for pair in ((plain, grouped), (grouped, plain)):
        with pytest.raises(DataError, match="have not the same categories of job"):
            audit(pair, table, seed=1)
    fewer = release_in_memory(
        table, ColumnizedCounts(k=2, epsilon=4.0, column_sets=(("sex", "job"),)), seed=1
    )
    one, other = (audit(pair, table, repeats=3, seed=1) for pair in ((plain, fewer), (fewer, plain)))
    assert one.attributes[0].of_this_release == other.attributes[0].of_this_release


def test_ties_are_right_by_chance():
    """Everybody believed alike: one in as many as there are values."""
    assert hits(np.full((6, 3), 1 / 3), np.array([0, 1, 2, 0, 1, 2])).tolist() == [1 / 3] * 6


def test_always_guessing_the_rare_value_finds_nobody():
    """Without people who stand out no precision is reached."""
    truth = np.array([1] * 3 + [0] * 97)
    assert rare_recall(np.full((100, 2), 0.5), truth, np.array([1]), 0.5) == RareRecall(0, 3, 0)


def test_bits_and_brier_by_hand():
    """Twice as likely as the margin says is one bit; half a belief in the truth is (1/2)^2 twice."""
    beliefs, truth = np.array([[0.5, 0.5]]), np.array([0])
    assert bits(beliefs, truth, np.array([0.25, 0.75])).tolist() == [1.0]
    assert brier(beliefs, truth).tolist() == [0.5]


def test_an_attacker_who_is_too_sure_is_taken_at_what_is_true():
    """Certain and right in one half: recalibrated beliefs are about one half."""
    generator = np.random.default_rng(2)
    truth = generator.integers(0, 2, 4_000)
    said = generator.integers(0, 2, 4_000)
    found = recalibrated(np.eye(2)[said] * 0.98 + 0.01, truth, np.array([0.5, 0.5]), generator)
    assert found.max() < 0.6


def test_an_attacker_who_is_right_as_stated_is_left_alone():
    """Beliefs that are the margin, of people drawn from it: a correction found on one half is chance, and no interval knows of it."""
    margin = np.array([0.8, 0.1, 0.05, 0.03, 0.02])
    changed = 0
    for seed in range(100):
        generator = np.random.default_rng(seed)
        truth = generator.choice(5, 900, p=margin)
        beliefs = np.tile(margin, (900, 1))
        changed += not np.allclose(recalibrated(beliefs, truth, margin, generator), beliefs)
    # Two halves, each changed in less than one of twenty: more than 25 of 100 has a probability below 1e-5.
    assert changed <= 25


def test_without_the_own_row_nobody_is_told_by_a_category_of_their_own():
    """Everybody has a public value that nobody shares: left out, they are guessed like anybody; with it they are not."""
    number, size = 3_000, 4
    generator = np.random.default_rng(3)
    table = table_of([number, size], [np.arange(number), generator.integers(0, size, number)])
    release = release_in_memory(table, RandomizedResponse(retention=0.8), seed=1)
    found = audit(release, table, seed=1).attributes[0].measured[TOP].difference
    # A quarter is right by chance; the standard error is 0.008.
    assert abs(found.absent - 0.25) < 0.04
    assert abs(found.present - 0.85) < 0.04


def test_people_alike_are_one_observation():
    """With each in a group of its own the error is the textbook one, with all alike it is as wide as can be."""
    numbers = np.array([1.0, 0.0] * 50)
    np.testing.assert_allclose(clustered_error(numbers, np.arange(100)), numbers.std(ddof=1) / 10, rtol=1e-12)
    assert clustered_error(np.repeat([1.0, 0.0], 50), np.repeat([0, 1], 50)) == 0.5


def test_intervals_over_releases_know_that_splits_overlap():
    """Three differences of 0, 1 and 2 points, a control person for four members: t(2) sqrt((1/3 + 1/4) 1)."""
    found = over_releases(np.array([0.0, 0.01, 0.02]), np.zeros(3), 0.25)
    np.testing.assert_allclose(found.high - found.excess, 4.302653 * np.sqrt(7 / 12) * 0.01, rtol=1e-5)


def side_of(right, kinds):
    """People of whom some are guessed right by their only attacker."""
    truth = np.where(right, 0, 1)
    table = table_of([len(kinds), 2], [np.asarray(kinds), truth])
    people = people_of(table, raw_release(table), "s")
    everybody = np.ones(len(truth), bool)
    return Side(people, {LAW: np.tile([0.8, 0.2], (len(truth), 1))}, everybody, everybody)


def test_nobody_right_is_no_certainty():
    """None of 46 on either side: two of fifty, whose error is sqrt(.04 .96 / 50), on both sides; not an interval from 0 to 0."""
    nobody = side_of(np.zeros(46, bool), np.arange(46))
    found = measure((Trial(nobody, nobody, is_paired=False),), np.array([0.5, 0.5]))[TOP].difference
    np.testing.assert_allclose(found.high, 2.014103 * np.sqrt(2 * 0.04 * 0.96 / 50), rtol=1e-5)
    agreed = over_releases(np.zeros(3), np.zeros(3), 0.25, people=(100.0, 32.0))
    expected = 1.959964 * np.hypot(*(np.sqrt(2 / n * (1 - 2 / n) / n) for n in (304, 100)))
    np.testing.assert_allclose([agreed.low, agreed.high], [-expected, expected], rtol=1e-5)


def test_few_kinds_of_people_know_their_spread_badly():
    """Three kinds of twenty, one of which is right: Student's t with two degrees of freedom, and no error below that of single people."""
    kinds = np.repeat([0, 1, 2], 20)
    sides = side_of(kinds == 0, kinds), side_of(kinds == 1, kinds)
    found = measure((Trial(*sides, is_paired=False),), np.array([0.5, 0.5]))[TOP].difference
    # Sums by kind: 20 - 20/3, twice -20/3; their squares add up to 800/3, times 3/2, over 60 squared.
    np.testing.assert_allclose(found.high, 4.302653 * np.sqrt(2 * 800 / 3 * 1.5) / 60, rtol=1e-5)
    numbers = np.array([1.0, 0.0] * 50)
    assert clustered_error(numbers, np.repeat([0, 1], 50)) == pytest.approx(numbers.std(ddof=1) / 10)


def test_a_share_of_none_shows_what_may_be():
    """Wilson's interval: z^2 / (n + z^2) for none among n."""
    low, high = wilson(0, 96)
    assert low == 0
    np.testing.assert_allclose(high, 1.959964**2 / (96 + 1.959964**2), rtol=1e-6)


def test_the_most_linkable_are_whole_sizes():
    """150 unique people are too few; those of pairs join them, all of them."""
    assert largest_linkable(np.array([1] * 150 + [2] * 400 + [50] * 1_000)) == 2
    assert largest_linkable(np.zeros(0, np.int64)) == 0


def test_what_cannot_give_an_interval_is_refused():
    """Two repeats, no release."""
    table = sample_table(200)
    release = release_in_memory(table, RandomizedResponse(retention=0.5), seed=1)
    with pytest.raises(ParameterError, match="3 or more"):
        audit(release, table, repeats=2)
    with pytest.raises(ParameterError, match="no release"):
        audit((), table)


def test_a_table_of_other_rows_is_refused_by_what_it_lacks():
    """One row less than was published."""
    table = sample_table(200)
    release = release_in_memory(table, RandomizedResponse(retention=0.5), seed=1)
    short = PrivateTable(table.source.take(np.arange(199)), table.schema, engine=table.engine)
    with pytest.raises(Exception, match="1 row whose sex, age, region"):
        audit(release, short)


def test_no_line_of_the_reliability_table_is_about_few_people():
    """Bins of fewer than ten people are left out: a share of three is nearly three rows."""
    table = sample_table(600)
    found = audit(release_in_memory(table, RandomizedResponse(retention=0.95), seed=1), table, seed=1)
    (job,) = found.attributes
    assert min(row[2] for row in job.reliability.rows) < 10
    shown = job.tables()[-1]
    assert shown.rows
    assert all(row[2] >= 10 for row in shown.rows)


def test_a_release_of_grouped_categories_is_audited_in_its_own():
    """Rows of groups that a custodian named are held against the rows in the same groups; more of them than there are is refuted."""
    table = sample_table(1_000)
    jobs, regions = (table.schema[name].labels for name in ("job", "region"))
    groups = {"job": (jobs[1:3],), "region": (regions[:2],)}
    design = ColumnizedCounts(k=2, epsilon=4.0, recoding=groups)
    release = release_in_memory(table, design, seed=1)
    assert release.schema["job"].size == len(jobs) - 1
    found = audit(release, table, repeats=3, seed=2)
    assert not found.is_refuted, found.verdict
    assert found.law_checks

    def more(codes):
        codes["count"] += 200

    assert smallest(other_rows(release, more), table) < 1e-6


@pytest.mark.parametrize("name", METHODS.members)
def test_categories_in_another_order_are_the_same_categories(name):
    """The order in a schema file is nobody's promise: a table whose schema lists them backwards is the table published from."""
    table = sample_table(1_000)
    release = release_in_memory(table, METHODS.members[name].example(table.schema), seed=1)
    turned = [each.name for each in table.schema.attributes if each.categories and each.missing == "error"]
    assert "job" in turned
    backwards = Schema(
        attributes=tuple(
            Attribute(name=each.name, role=each.role, categories=each.labels[::-1])
            if each.name in turned
            else each
            for each in table.schema.attributes
        )
    )
    codes = dict(table.source.codes)
    codes.update({each: backwards[each].size - 1 - codes[each] for each in turned})
    other = PrivateTable(CodedRows(backwards, codes), backwards, engine=table.engine)
    found = check_against_truth(release, people_of(other, release, "job"), other)
    assert found
    assert min(each.p_value for each in found) == smallest(release, table) / len(found)


@pytest.mark.parametrize("name", ["randomized-response", "splu-gen", "anatomy", "distribution-resampling"])
def test_a_table_with_more_rows_than_were_published_is_refused(name):
    """Somebody who came later is no member: taken for one, the attack on members would be scored on people it is not about."""
    table = sample_table(1_000)
    release = release_in_memory(table, METHODS.members[name].example(table.schema), seed=1)
    rows = table.source
    grown = rows.take(np.concatenate([np.arange(rows.number_of_rows), np.arange(40)]))
    with pytest.raises(DataError, match="the table holds 40 rows"):
        audit(release, PrivateTable(grown, table.schema, engine=table.engine), seed=1)


def test_rows_that_groups_of_decoys_do_not_divide_are_no_other_table():
    """Of 1,001 rows in pairs one was left out: the table is the right one, and one with ten more is not."""
    table = sample_table(1_001)
    release = release_in_memory(table, METHODS.members["splu-gen"](gamma=2), seed=1)
    assert release.number_of_rows == 1_000
    assert audit(release, table, repeats=3, seed=1).law_checks
    grown = table.source.take(np.concatenate([np.arange(1_001), np.arange(10)]))
    with pytest.raises(DataError, match=r"the table holds 11 rows .* leaves out 1 at most"):
        audit(release, PrivateTable(grown, table.schema, engine=table.engine), seed=1)
