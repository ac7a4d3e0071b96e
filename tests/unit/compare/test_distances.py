"""Distances of tables by hand, and what refusing them costs."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import DistributionResampling, RandomizedResponse
from sfumato.compare.distances import DISTANCES, choose_tables, distances, measure_distances
from sfumato.compare.models import BAYES, TREE, measure_models
from sfumato.custody.audit.people import people_of
from sfumato.custody.audit.raw import raw_release
from sfumato.testing import release_in_memory, sample_table


def test_distances_by_hand():
    """Shares (.5, .3, .2, 0) against (.4, .4, .1, .1), of a thousand rows."""
    truth, estimate = np.array([500.0, 300, 200, 0]), np.array([40.0, 40, 10, 10])
    found = distances(truth, estimate)
    assert found["total variation"] == pytest.approx(0.2)
    assert found["L2"] == pytest.approx(0.2)
    assert found["chi-square"] == pytest.approx(0.01 / 0.5 + 0.01 / 0.3 + 0.01 / 0.2)
    affinity = np.sqrt(0.2) + np.sqrt(0.12) + np.sqrt(0.02)
    assert found["Hellinger"] == pytest.approx(np.sqrt(1 - affinity))
    p, q = (np.array(each) / 1002 for each in ([500.5, 300.5, 200.5, 0.5], [400.5, 400.5, 100.5, 100.5]))
    assert found["KL"] == pytest.approx((p * np.log(p / q)).sum())
    same = distances(truth, truth)
    assert all(abs(same[name]) < 1e-7 for name in DISTANCES)


def test_a_refused_table_costs_what_independence_costs():
    """Resampling refuses tables of public and sensitive attributes: the product of their own tables takes their place."""
    table = sample_table(600)
    release = release_in_memory(table, DistributionResampling(), seed=1)
    found = measure_distances(release, table, [("sex", "job")])["total variation, 2-way"]
    joint = np.zeros((2, 4))
    np.add.at(joint, (table.source.codes["sex"], table.source.codes["job"]), 1 / 600)
    shown = np.array(release.law.consistent(release, _alone("job")))
    product = np.outer(joint.sum(axis=1), shown / shown.sum())
    assert found == pytest.approx(np.abs(joint - product).sum() / 2)
    assert found > 0.1


def _alone(name):
    from sfumato.values.selection import Tabulation

    return Tabulation((name,))


def test_distances_fall_as_more_is_kept():
    """The table itself is at no distance; retention of .9 is nearer than .2."""
    table = sample_table(2_000)
    tables = choose_tables(table.schema, 1)
    assert {len(each) for each in tables} == {1, 2, 3}
    assert all(abs(each) < 1e-7 for each in measure_distances(raw_release(table), table, tables).values())
    near, far = (
        measure_distances(
            release_in_memory(table, RandomizedResponse(retention=retention), seed=1), table, tables
        )
        for retention in (0.9, 0.2)
    )
    for name in ("total variation, 2-way", "Hellinger, 3-way", "L2, 2-way"):
        assert near[name] < far[name]


def test_models_are_judged_on_people_outside():
    """Jobs go with sex in the sample: models of the table itself beat the most frequent value; of a release that refuses, they are it."""
    table = sample_table(2_000)
    raw = raw_release(table)
    people = people_of(table, raw, "job")
    found = measure_models(raw, people, people)
    most = people.margin().max()
    assert found[TREE] > most + 0.05
    assert found[BAYES] > most + 0.05
    resampled = release_in_memory(table, DistributionResampling(), seed=1)
    guessed = measure_models(resampled, people, people)
    assert guessed[TREE] == guessed[BAYES] == pytest.approx(most)
