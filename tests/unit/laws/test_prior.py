"""What a release's two-way tables say of a person, with and without the person's row."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import METHODS, RandomizedResponse
from sfumato.custody.audit.attackers import LAW, TABLES, beliefs_of
from sfumato.custody.audit.people import people_of
from sfumato.custody.audit.scores import bits
from sfumato.laws.posterior import PSEUDO_COUNT
from sfumato.testing import release_in_memory, sample_table


def released(design=None):
    """A release, the people in it as targets, and its prior."""
    table = sample_table(800)
    release = release_in_memory(table, design or RandomizedResponse(retention=0.6), seed=1)
    targets = people_of(table, release, "job").targets(are_members=True)
    return release, targets, release.law.prior(release, targets)


@pytest.mark.parametrize("only_outliers", [False, True])
def test_nothing_taken_out_changes_nothing(only_outliers):
    """The prior without no row at all is the prior."""
    release, targets, _ = released()
    prior = release.law.prior(release, targets, only_outliers=only_outliers)
    nothing = np.zeros((len(targets.combinations), 4))
    left = prior.without_rows(targets.names, targets.combinations, nothing)
    np.testing.assert_allclose(left, prior.at(targets.names, targets.combinations), rtol=1e-9)


def test_a_row_taken_out_lowers_what_it_shows_by_hand():
    """One attribute: P(v) (n_xv - added + 5 q_x) / (N_v + 5), to the power and normalised."""
    release, targets, prior = released()
    added = np.zeros((1, 4))
    added[0, 2] = 1.5
    counts = release.counts(["sex", "job"]).estimates.values.reshape(2, 4)
    cells = counts[0] - added[0] + PSEUDO_COUNT * prior.shares["sex"][0]
    weights = prior.margin * (cells / (counts.sum(axis=0) + PSEUDO_COUNT)) ** prior.temper
    found = prior.without_rows(("sex",), np.array([[0]]), added)
    np.testing.assert_allclose(found[0], weights / weights.sum(), rtol=1e-9)
    assert found[0, 2] < prior.at(("sex",), np.array([[0]]))[0, 2]
    del targets


def test_categories_of_few_are_left_out_when_asked():
    """Where every category is too small, only the margin is left."""
    _, targets, prior = released()
    crowd = prior.at(targets.names, targets.combinations, fewest_rows=1e9)
    np.testing.assert_allclose(crowd, np.tile(prior.margin, (len(crowd), 1)), rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["randomized-response", "sample-perturb-scale", "splu-gen", "anatomy", "generalization"]
)
def test_who_uses_the_law_knows_no_less_than_who_reads_tables(name):
    """About members, in bits: the law adds the own group to what two-way tables say.

    A law's attacker below the one without a law would be broken. Room of 0.02 bits for what noise does to 3,000 people.
    """
    table = sample_table(3_000)
    release = release_in_memory(table, METHODS.members[name].example(table.schema), seed=2)
    people = people_of(table, release, "job")
    found = beliefs_of([release], people, are_members=True)
    by_law, by_tables = (bits(found[each], people.truth, people.margin()).mean() for each in (LAW, TABLES))
    assert by_law > by_tables - 0.02
