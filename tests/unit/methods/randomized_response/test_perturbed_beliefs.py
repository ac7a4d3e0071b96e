"""What a law of perturbed rows believes of people: without their own row, and where linking is too large."""

from __future__ import annotations

import numpy as np

from array_tables import ArrayTable
from believed_cells import AGE, JOB, PRIOR, SEX
from sfumato.laws import shrinkage as group_pooling
from sfumato.laws.posterior import Targets
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.randomness.distortion import UniformDistortion
from sfumato.schema import Schema

WOMEN = ArrayTable(
    Schema(attributes=(SEX, JOB)),
    {"sex": np.zeros(9, np.uint8), "job": np.array([0, 0, 0, 0, 0, 1, 1, 2, 0], np.uint8)},
)
"""Nine women, of whom six show the first job."""
PEOPLE = Targets.of((SEX,), JOB, {"sex": np.array([0, 1])}, are_members=True)
BEFORE = PRIOR.at(PEOPLE.names, PEOPLE.combinations)[PEOPLE.index]


def test_people_of_a_group_are_believed_by_its_others_and_strangers_by_the_prior():
    """A woman is in the only group there is; of a man no row is published."""
    law = PerturbedRows(distortions={"job": UniformDistortion(retention=0.9, size=3)})
    found, before = law.posterior_without(WOMEN, PEOPLE, np.array([1, 1]), PRIOR, np.random.default_rng(1))
    # No table says what a row of hers added to it, so that without it she is believed what everybody is; one group moves that little.
    np.testing.assert_allclose(before.of_targets()[0], PRIOR.margin)
    np.testing.assert_allclose(found.of_targets()[0], PRIOR.margin, atol=0.01)
    assert not np.allclose(BEFORE[0], PRIOR.margin, atol=0.05)
    np.testing.assert_allclose(found.of_targets()[1], BEFORE[1])
    np.testing.assert_allclose(before.of_targets()[1], BEFORE[1])
    np.testing.assert_allclose(found.of_targets().sum(axis=1), 1)


def test_where_linking_is_too_large_the_prior_is_all_there_is(monkeypatch):
    """Two sexes by three jobs are six cells."""
    distortion = UniformDistortion(retention=0.5, size=2)
    law = PerturbedRows(distortions={"sex": distortion, "job": UniformDistortion(retention=0.9, size=3)})
    linked = law.posterior(WOMEN, PEOPLE, PRIOR).of_targets()
    assert not np.allclose(linked, BEFORE)
    monkeypatch.setattr(group_pooling, "LARGEST_LINKED", 5)
    np.testing.assert_allclose(law.posterior(WOMEN, PEOPLE, PRIOR).of_targets(), BEFORE)
    monkeypatch.setattr(group_pooling, "LARGEST_LINKED", 6)
    np.testing.assert_allclose(law.posterior(WOMEN, PEOPLE, PRIOR).of_targets(), linked)


def test_rows_are_grouped_only_by_values_that_were_published_as_they_are():
    """One of two public values that was perturbed is enough: nobody knows whose group a row is in."""
    job = UniformDistortion(retention=0.9, size=3)
    by_age = Schema(attributes=(SEX, AGE, JOB))
    rows = ArrayTable(by_age, {name: np.array([0, 1], np.uint8) for name in by_age.names})
    exact = PerturbedRows(distortions={"job": job}).grouped_rows(rows, ("sex", "age"), "job")
    assert exact.combinations.tolist() == [[0, 0], [1, 1]]
    assert exact.counts.tolist() == [[1, 0, 0], [0, 1, 0]]
    np.testing.assert_allclose(exact.channel, job.dense())
    mixed = PerturbedRows(distortions={"age": job, "job": job})
    assert mixed.grouped_rows(rows, ("sex", "age"), "job") is None
    # Jobs that were published as they are show themselves.
    plain = PerturbedRows(distortions={}).grouped_rows(rows, ("sex",), "job")
    assert plain.channel.tolist() == np.eye(3).tolist()
