"""The attacker without a law: trained on whatever is released, and inverted where values were distorted."""

from __future__ import annotations

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import Anatomy, ColumnizedCounts, Generalization, NoisyMarginals, RandomizedResponse, SPLUGen
from sfumato.custody.audit.attackers import raw_release, released_rows, through, train_classifier
from sfumato.custody.audit.people import people_of
from sfumato.custody.audit.scores import hits
from sfumato.testing import release_in_memory


def dependent_table(rows=6_000, *, shuffled=False):
    """A value that follows from two public attributes together and from neither alone, nine times in ten."""
    generator = np.random.default_rng(8)
    first, second = generator.integers(4, size=rows), generator.integers(4, size=rows)
    value = np.where(generator.random(rows) < 0.9, (first + second) % 4, generator.integers(4, size=rows))
    return table_of([4, 4, 4], [first, second, generator.permutation(value) if shuffled else value])


DESIGNS = [
    RandomizedResponse(retention=0.5),
    SPLUGen(gamma=2),
    Anatomy(l_value=2),
    Generalization(k=5),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda each: each.method)
def test_an_interaction_is_learned_from_rows_and_not_from_a_shuffled_table(design):
    """Right far more often than one in four where values follow from public ones, and as often where they do not."""
    for table, least, most in ((dependent_table(), 0.6, 1.0), (dependent_table(shuffled=True), 0.2, 0.3)):
        release = release_in_memory(table, design, seed=3)
        people = people_of(table, release, "s")
        beliefs = train_classifier(release, people, seed=1).beliefs(people)
        assert beliefs.shape == (6_000, 4)
        assert np.allclose(beliefs.sum(axis=1), 1)
        assert least < hits(beliefs, people.truth).mean() <= most


@pytest.mark.parametrize(
    "design",
    [NoisyMarginals(epsilon=1.0), ColumnizedCounts(k=2, epsilon=2.0, delta=1e-5)],
    ids=lambda each: each.method,
)
def test_tables_without_rows_are_completed_by_what_they_say(design):
    """There are no rows to train on: known people are given values by naive Bayes."""
    table = dependent_table(2_000)
    release = release_in_memory(table, design, seed=3)
    people = people_of(table, release, "s")
    rows = released_rows(release, people.targets(are_members=True), np.random.default_rng(1))
    assert len(rows.values) == 2_000
    assert rows.values.max() < 4
    assert train_classifier(release, people, seed=1).beliefs(people).shape == (2_000, 4)


def test_predictions_of_published_values_are_inverted():
    """Without the matrix a retention of .5 leaves the beliefs half as sure as they could be."""
    channel = np.full((4, 4), 0.125) + 0.5 * np.eye(4)
    truth = np.array([[0.91, 0.03, 0.03, 0.03]])
    assert through(truth @ channel, channel) == pytest.approx(truth, abs=0.02)
    release = release_in_memory(dependent_table(), RandomizedResponse(retention=0.5), seed=3)
    people = people_of(dependent_table(), release, "s")
    trained = train_classifier(release, people, seed=1)
    inverted = trained.beliefs(people).max(axis=1).mean()
    raw = type(trained)(trained.model, None, 4).beliefs(people).max(axis=1).mean()
    assert inverted > raw + 0.15


def test_one_value_alone_is_predicted():
    """Trees need two classes; a release that shows one says so of everybody."""
    table = table_of([3, 4], [np.arange(300) % 3, np.full(300, 2)])
    release = raw_release(table)
    people = people_of(table, release, "s")
    assert train_classifier(release, people, seed=1).beliefs(people).argmax(axis=1).tolist() == [2] * 300
