"""Distances of tables by hand, and what refusing them costs."""

from __future__ import annotations

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import DistributionResampling, RandomizedResponse, compare_designs
from sfumato.compare.grid import RAW, candidate, read_candidates
from sfumato.compare.trial import (
    BAYES,
    DISTANCES,
    TREE,
    asked_tables,
    choose_tables,
    distances,
    measure_distances,
    measure_models,
    uncertainty,
)
from sfumato.custody.audit.attackers import raw_release
from sfumato.custody.audit.people import people_of
from sfumato.errors import ParameterError
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
    from sfumato.query.selection import Tabulation

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


def test_named_tables_are_told_each_by_itself(tmp_path):
    """The table itself is at no distance and has the true association; Xiao and Tao's answer loses most of it, exact margins none."""
    generator = np.random.default_rng(3)
    public = generator.integers(3, size=1_500)
    secret = np.where(generator.random(1_500) < 0.7, public, generator.integers(3, size=1_500))
    table = table_of([3, 2, 3], [public, generator.integers(2, size=1_500), secret])
    designs = (
        RAW,
        candidate("anatomy", {"l_value": 2}, estimator="xiao-tao"),
        candidate("anatomy", {"l_value": 2}),
    )
    found = compare_designs(
        table, tmp_path / "out", candidates=designs, queries=12, repeats=3, seed=1, workers=0,
        tables=[["x0", "s"], ["x0", "x1"], ["x0", "x1", "s"]],
    )  # fmt: skip
    raw, paper, own = (each.numbers for each in found.points)
    assert raw["total variation of x0, s"] == raw["L2 of x0, x1, s"] == 0
    truth = uncertainty(np.asarray(table.count_by(["x0", "s"]).counts, float))
    assert raw["uncertainty of s by x0"] == pytest.approx(truth, abs=0.03)
    assert paper["uncertainty of s by x0"] < 0.5 * truth
    assert own["uncertainty of s by x0"] == pytest.approx(truth, rel=0.3)
    assert paper["uncertainty of x1 by x0"] == pytest.approx(raw["uncertainty of x1 by x0"])
    assert paper["total variation of x0, s"] > 2 * own["total variation of x0, s"]
    assert raw["total variation, 2-way"] == 0
    assert len(found.named_tables().rows) == 9
    assert "x0, x1, s" in found.summary()


def test_tables_that_cannot_be_are_told_together():
    """Unknown attributes and one attribute twice, all at once."""
    with pytest.raises(ParameterError) as refused:
        asked_tables(sample_table(200).schema, [["sex", "height"], ["sex", "sex"], []])
    assert "no 'height'" in str(refused.value)
    assert "sex, sex: a table is over different attributes" in str(refused.value)


def test_an_estimator_of_another_law_is_a_refusal_and_an_unknown_one_a_fault(tmp_path):
    """Randomized response has no xiao-tao: the design is a row with its sentence; a name that nothing has is told with its line."""
    path = tmp_path / "designs.toml"
    one = '[[design]]\nmethod = "randomized-response"\nretention = 0.8\nestimator = "{}"\n'
    path.write_text(one.format("xiao-tao"), encoding="utf-8")
    designs = read_candidates(path)
    assert designs[1].label == "randomized-response retention=0.8 by xiao-tao"
    found = compare_designs(
        sample_table(300), tmp_path / "out", candidates=designs, queries=12, repeats=3, seed=1, workers=0
    )
    assert "no estimator 'xiao-tao'" in found.points[1].refusal
    path.write_text(one.format("xiao"), encoding="utf-8")
    with pytest.raises(ParameterError, match="line 1: no release has an estimator 'xiao'"):
        read_candidates(path)
