"""Proved caps beside measured risks, membership, the classifier in an audit, and releases of one table together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import Anatomy, DistributionResampling, NoisyMarginals, RandomizedResponse, audit
from sfumato.custody.audit.attackers import CLASSIFIER, DESIGN, GIVEN, PAIRED, raw_release
from sfumato.custody.audit.people import People, people_of
from sfumato.custody.audit.result import check_caps, proved_cap
from sfumato.custody.audit.scores import (
    LINKABLE,
    TOP,
    Side,
    Trial,
    likelihood_ratios,
    measure,
    measure_membership,
)
from sfumato.errors import MissingExtraError
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, LocalDifferentialPrivacy
from sfumato.testing import release_in_memory


def skewed(rows=2_000, seed=4):
    """Two public attributes of thirty values, and a value that goes with the first."""
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 31)
    first, second = (generator.choice(30, rows, p=shares / shares.sum()) for _ in range(2))
    return table_of([30, 30, 4], [first, second, (first // 8 + generator.integers(2, size=rows)) % 4])


def test_caps_by_hand():
    """E of .2 is .5437; odds of one to four grow to e to four; the smaller of two caps holds; l-diversity caps nothing."""
    whole, local = DifferentialPrivacy(epsilon=1.0), LocalDifferentialPrivacy(epsilon_by_attribute={"s": 1.0})
    assert proved_cap([whole], 0.2) == pytest.approx(0.2 * math.e)
    assert proved_cap([local], 0.2) == pytest.approx(math.e / (math.e + 4))
    assert proved_cap([whole, local], 0.2) == proved_cap([local], 0.2)
    assert proved_cap([DifferentialPrivacy(epsilon=1.0, delta=0.1)], 0.2) == pytest.approx(0.2 * math.e + 0.1)
    assert proved_cap([whole], 0.9) == 1.0
    assert proved_cap(Anatomy(l_value=2).guarantees(skewed(50).schema), 0.2) is None
    unbounded = LocalDifferentialPrivacy(epsilon_by_attribute={"s": 1.0}, unbounded=("t",))
    assert proved_cap([unbounded], 0.2) == pytest.approx(1.0)


def test_no_more_is_found_than_the_promise_allows_and_a_smaller_promise_is_refuted():
    """Retention of .7 keeps its own epsilon; one of a tenth, stated of the same rows, is refuted by the most linkable."""
    table = skewed(8_000)
    release = release_in_memory(table, RandomizedResponse(retention=0.7), seed=2)
    found = audit(release, table, seed=1)
    caps = {each.about: each.p_value for each in found.law_checks if "cap" in each.about}
    assert set(caps) == {f"proved cap of {TOP}", f"proved cap of {LINKABLE}"}
    assert not found.is_refuted
    assert found.attributes[0].control == PAIRED
    present, absent = _sides(table, release)
    measured = measure((Trial(present, absent, is_paired=False),), people_of(table, release, "s").margin())
    trial, margin = (Trial(present, absent, is_paired=False),), people_of(table, release, "s").margin()
    wrong = (LocalDifferentialPrivacy(epsilon_by_attribute={"s": 0.1}),)
    refuted = {each.about: each.p_value for each in check_caps(wrong, measured, trial, margin)}
    assert refuted[f"proved cap of {LINKABLE}"] < 1e-6
    kept = check_caps(release.guarantees, measured, trial, margin)
    assert all(each.p_value > 0.01 for each in kept)


def _sides(table, release):
    from sfumato.custody.audit.attackers import attack_absent, attack_present

    generator = np.random.default_rng(1)
    people, others = (
        people_of(table, release, "s"),
        people_of(skewed(table.source.number_of_rows, seed=9), release, "s"),
    )
    return attack_present([release], people, generator), attack_absent([release], people, others, generator)


def test_membership_by_hand():
    """Ten people of two kinds: nobody has the third kind, so who does is proved outside."""
    schema = table_of([3, 2], [[0], [0]]).schema
    public, sensitive = (schema["x0"],), schema["s"]

    def people(kinds):
        codes = np.array(kinds)
        return People(public, sensitive, {"x0": codes, "s": np.zeros(len(codes), np.int64)})

    def side(kinds):
        everybody = np.ones(len(kinds), bool)
        return Side(people(kinds), {}, everybody, everybody)

    members = people([0] * 6 + [1] * 4)
    assert likelihood_ratios(members, people([0, 1, 2])).tolist() == [1.0, 1.0, 0.0]
    found = measure_membership(members, side([0] * 6 + [1] * 4), side([2] * 3 + [0]))
    assert (found.proved_outside, found.found) == (0.75, 0.0)
    nobody_inside = measure_membership(members, side([0, 1]), side([2] * 4))
    assert (nobody_inside.proved_outside, nobody_inside.found) == (1.0, 1.0)


def test_the_classifier_is_scored_where_people_outside_are_at_hand_and_named_where_not(monkeypatch):
    """Given people, and a design published again; with the own row left out it would have to be trained for everybody."""
    table, others = skewed(), skewed(seed=9)
    perturbed = release_in_memory(table, RandomizedResponse(retention=0.7), seed=2)
    given = audit(perturbed, table, control=others, classifier=True, seed=1)
    assert given.attributes[0].control == GIVEN
    assert given.attributes[0].membership is not None
    assert 0 < given.attributes[0].membership.proved_outside < 1
    assert not any(each.what == "classifier" for each in given.skipped)
    paired = audit(perturbed, table, classifier=True, seed=1)
    assert any(each.what == "classifier" and "trained again" in each.reason for each in paired.skipped)
    assert any(each.what == "membership" for each in paired.skipped)
    bucketed = release_in_memory(table, Anatomy(l_value=2), seed=2)
    again = audit(bucketed, table, classifier=True, repeats=3, seed=1)
    assert again.attributes[0].control == DESIGN
    import sys

    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"sfumato\[learning\]"):
        audit(perturbed, table, classifier=True)


def test_a_classifier_that_knows_better_wins():
    """It is one of the attackers: a score names it where nobody does better."""
    table = skewed()
    release = raw_release(table)
    present, absent = _sides(table, release)
    perfect = np.eye(4)[present.people.truth]
    sides = [
        Side(each.people, {**each.beliefs, CLASSIFIER: beliefs}, each.is_drawn, each.is_linkable)
        for each, beliefs in ((present, perfect), (absent, np.full((absent.people.number, 4), 0.25)))
    ]
    found = measure((Trial(*sides, is_paired=False),), people_of(table, release, "s").margin())
    assert found[TOP].attackers[0] == CLASSIFIER


@pytest.mark.parametrize(
    "designs",
    [
        (Anatomy(l_value=2), Anatomy(l_value=2)),
        (RandomizedResponse(retention=0.5),) * 3,
        (RandomizedResponse(retention=0.5), Anatomy(l_value=2), NoisyMarginals(epsilon=1.0)),
    ],
    ids=["buckets", "rows", "mixed"],
)
def test_releases_of_one_table_tell_more_together(designs):
    """Intersection of buckets, averaging of rows, and any mixture: the most linkable are read more often than from the best alone."""
    table, others = skewed(), skewed(seed=9)
    releases = [release_in_memory(table, design, seed=place) for place, design in enumerate(designs)]
    together = audit(releases, table, control=others, seed=1)
    alone = [audit(each, table, control=others, seed=1) for each in releases]
    right = [each.attributes[0].measured[LINKABLE].difference.present for each in (together, *alone)]
    assert right[0] > max(right[1:])
    assert any(each.what == "proved caps" for each in together.skipped)


def test_a_release_that_tells_nothing_tells_nothing_twice():
    """The twin: two resamplings together are as good as none."""
    table, others = skewed(), skewed(seed=9)
    releases = [release_in_memory(table, DistributionResampling(), seed=place) for place in (1, 2)]
    found = audit(releases, table, control=others, seed=1).attributes[0].measured[LINKABLE].difference
    assert found.low <= 0 <= found.high


def test_releases_that_happen_to_agree_refute_nothing():
    """Three releases in which 3 of 40 are right with their row and 1 of 40 without, by luck the same each time: no certainty.

    An epsilon of .1 allows 1.1 of 40. One person more or less in 120 is far within an error of two of 124.
    """
    kinds = np.arange(40)

    def side(right):
        truth = np.where(kinds < right, 0, 1)
        table = table_of([40, 2], [kinds, truth])
        people = people_of(table, raw_release(table), "s")
        everybody = np.ones(40, bool)
        return Side(people, {"only": np.tile([0.8, 0.2], (40, 1))}, everybody, everybody)

    trials = [Trial(side(3), side(1), is_paired=False)] * 3
    margin = np.array([0.5, 0.5])
    found = check_caps([DifferentialPrivacy(epsilon=0.1)], measure(trials, margin), trials, margin)
    assert found
    assert all(each.p_value > 1e-3 for each in found)
    # Twenty of forty, three times: beyond luck.
    trials = [Trial(side(20), side(1), is_paired=False)] * 3
    found = check_caps([DifferentialPrivacy(epsilon=0.1)], measure(trials, margin), trials, margin)
    assert max(each.p_value for each in found) < 0.01
