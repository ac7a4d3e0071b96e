"""The attack that every release can be held to."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import METHODS, RandomizedResponse, Schema
from sfumato.attacks.base import knowledge_from
from sfumato.attacks.posterior import PosteriorBelief, believe
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.laws.posterior import Targets
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.testing import release_in_memory, sample_table

SCHEMA = Schema.from_toml("""
[attributes.place]
role = "quasi-identifier"
categories = ["a", "b", "c", "d"]
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]
[attributes.job]
role = "sensitive"
categories = ["x", "y", "z"]
""")


def table_of(place, sex, job):
    """A table in memory by its codes."""
    codes = {
        "place": np.asarray(place, np.uint8),
        "sex": np.asarray(sex, np.uint8),
        "job": np.asarray(job, np.uint8),
    }
    return PrivateTable(CodedRows(SCHEMA, codes), SCHEMA, engine=ArrayEngine())


def everybody(table, *, are_members=True):
    """All people of a table as targets."""
    public, (sensitive,) = table.schema.attributes[:-1], table.schema.attributes[-1:]
    return Targets.of(public, sensitive, table.source.codes, are_members=are_members)


@pytest.mark.parametrize("name", METHODS.members)
@pytest.mark.parametrize("are_members", [True, False])
def test_every_law_says_how_likely_each_value_is(name, are_members):
    """Probabilities for everybody, in the table and not, that sum to one."""
    table = sample_table(600)
    release = release_in_memory(table, METHODS.members[name].example(table.schema), seed=1)
    _, posterior = believe(release, everybody(table, are_members=are_members))
    beliefs = posterior.of_targets()
    assert beliefs.shape == (600, 4)
    np.testing.assert_allclose(beliefs.sum(axis=1), 1, rtol=1e-9)
    assert (beliefs >= 0).all()


def test_rows_that_nothing_distorted_are_read_off():
    """A law without any matrix: a member's belief is the share of the value among the person's own group."""
    table = table_of([0, 0, 0, 1, 2, 2], [0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 1, 0])
    release = release_in_memory(table, RandomizedResponse(retention=0.5), seed=1)
    kept = release.manifest.model_copy(update={"law": PerturbedRows(distortions={}).model_dump(mode="json")})
    raw = type(release)(None, kept, release.sources, release.engine)
    shown = raw.count_by(("place", "sex", "job")).counts
    _, posterior = believe(raw, everybody(table))
    codes = table.source.codes
    groups = shown[codes["place"].astype(int), codes["sex"].astype(int)]
    np.testing.assert_allclose(posterior.of_targets(), groups / groups.sum(axis=1, keepdims=True), atol=1e-9)


def test_a_resampled_value_says_nothing_of_its_row():
    """Beliefs are the published margin, whoever is asked about."""
    table = sample_table(600)
    release = release_in_memory(table, METHODS.members["distribution-resampling"](), seed=1)
    prior, posterior = believe(release, everybody(table))
    margin = release.count_by(("job",)).counts / 600
    np.testing.assert_allclose(posterior.of_targets(), np.tile(margin, (600, 1)), atol=1e-9)
    assert prior.refused == ("sex", "age", "region")


def test_perturbed_public_values_are_linked_by_bayes():
    """One public attribute, perturbed like the sensitive one: with equal groups the belief is that of the joint table."""
    generator = np.random.default_rng(2)
    place = generator.integers(0, 2, 4_000)
    job = np.where(generator.random(4_000) < 0.9, place, 1 - place)
    table = table_of(place, np.zeros(4_000), job)
    design = RandomizedResponse(retention=0.6, attributes=("place", "job"))
    _, posterior = believe(release_in_memory(table, design, seed=4), everybody(table))
    hits = (posterior.of_targets().argmax(axis=1) == job).mean()
    # Nine in ten have the value that goes with their place; 4,000 rows leave an error well below 0.02.
    assert abs(hits - 0.9) < 0.02


def test_partial_knowledge_is_used_as_far_as_it_goes():
    """Records of one public attribute: the belief is about people known by that attribute alone."""
    table = sample_table(600)
    release = release_in_memory(table, RandomizedResponse(retention=0.8), seed=1)
    only = CodedRows(Schema(attributes=table.schema.select(["sex"])), {"sex": np.array([0, 1], np.uint8)})
    result = PosteriorBelief().run(release, knowledge_from(only, release.schema, engine=ArrayEngine()))
    assert result.findings["targets"] == 2
    assert result.people is not None
    assert list(result.people.columns) == ["sex", "records", "guessed job", "probability"]
    assert "columns sex were used" in " ".join(result.caveats)


def test_a_release_without_rows_asks_whom_to_attack():
    """Noisy tables do not say who is in the table."""
    table = sample_table(600)
    release = release_in_memory(table, METHODS.members["noisy-marginals"].example(table.schema), seed=1)
    with pytest.raises(ParameterError, match="does not say whom to attack"):
        PosteriorBelief().run(release)
