"""The attacker who needs no law: a classifier trained on whatever was released."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.custody.audit.people import People
from sfumato.errors import MissingExtraError
from sfumato.laws.believing import Targets
from sfumato.methods.anatomy.law.bucket_beliefs import read_people
from sfumato.methods.anatomy.law.bucketed_rows import BucketedRows
from sfumato.methods.generalization.law.class_beliefs import PublishedClasses
from sfumato.methods.generalization.law.generalized_rows import GeneralizedRows
from sfumato.release import Release
from sfumato.values.arrays import Floats, Integers

CLASSIFIER = "classifier"
"""Name of the attacker."""

ROUNDS = 30
LEAVES = 15
"""Rounds of boosting, and leaves of a tree."""

MOST_CATEGORIES = 255
"""Categories of an attribute beyond which trees take it as ordered."""

STEPS = 50
"""Steps by which predictions of published values become beliefs about true ones."""


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """Rows to train on.

    Parameters
    ----------
    public
        ``(rows, attributes)``.
    values
        ``(rows,)``: the sensitive value shown.
    channel
        ``matrix[true, published]`` where values were distorted.
    """

    public: Integers
    values: Integers
    channel: Floats | None = None


@dataclass(frozen=True, eq=False)
class TrainedClassifier:
    """A classifier of people by their public values."""

    model: Any = field(repr=False)
    channel: Floats | None = field(repr=False)
    number_of_values: int

    def beliefs(self, people: People) -> Floats:
        """Probability of every value for each person, ``(people, values)``; the same whether they are in the table or not."""
        targets = people.targets(are_members=True)
        found = np.zeros((len(targets.combinations), self.number_of_values))
        if len(found):
            with one_thread():
                found[:, self.model.classes_.astype(np.int64)] = self.model.predict_proba(
                    targets.combinations
                )
        if self.channel is not None:
            found = through(found, self.channel)
        return np.asarray(found[targets.index])


def train_classifier(release: Release, people: People, *, seed: int) -> TrainedClassifier:
    """Train gradient-boosted trees to predict the sensitive value shown from public values.

    Where rows do not show a joint of both, they are completed at random by what the release leaves open: a bucket's values
    in any order, a class's categories evenly, noisy tables by naive Bayes.

    Parameters
    ----------
    release
        What was published.
    people
        Whose public values the attacker knows: of the table, or like it.
    seed
        Repeats completions and trees.

    Raises
    ------
    MissingExtraError
        Without scikit-learn.
    """
    require_classifier()
    from sklearn.ensemble import HistGradientBoostingClassifier

    targets = people.targets(are_members=True)
    rows = released_rows(release, targets, np.random.default_rng(seed))
    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        max_leaf_nodes=LEAVES,
        early_stopping=False,
        categorical_features=[each.size <= MOST_CATEGORIES for each in targets.public],
        random_state=seed,
    )
    if len(np.unique(rows.values)) < 2:
        return TrainedClassifier(_Constant(rows.values[:1]), rows.channel, targets.sensitive.size)
    with one_thread():
        model.fit(rows.public, rows.values)
    return TrainedClassifier(model, rows.channel, targets.sensitive.size)


def one_thread() -> AbstractContextManager[Any]:
    """Trees use one thread inside the block: several processes at once would wait for each other's threads."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def require_classifier() -> None:
    """Refuse when scikit-learn is not installed, before anything is published.

    Raises
    ------
    MissingExtraError
        With the command that installs it.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError("the classifier that attacks a release", extra="learning") from None


def released_rows(release: Release, targets: Targets, generator: np.random.Generator) -> ReleasedRows:
    """What a release shows of public and sensitive values together, completed at random where it does not."""
    law = release.law
    grouped = law.grouped_rows(release, targets.names, targets.sensitive.name)
    if grouped is not None:
        # Row by row: trees stop at leaves of few rows, and a weight would be one row.
        group, value = _repeated(grouped.counts)
        return ReleasedRows(grouped.combinations[group], value, grouped.channel)
    if isinstance(law, BucketedRows):
        return _from_buckets(release, law, targets, generator)
    if isinstance(law, GeneralizedRows) and targets.sensitive.name not in law.covers:
        return _from_classes(law.classes(release, targets), generator)
    prior = law.prior(release, targets)
    beliefs = prior.at(targets.names, targets.combinations)
    cumulative = np.cumsum(beliefs, axis=1)[targets.index]
    drawn = (generator.random((len(targets.index), 1)) * cumulative[:, -1:] >= cumulative[:, :-1]).sum(axis=1)
    return ReleasedRows(targets.combinations[targets.index], drawn)


def through(predicted: Floats, channel: Floats) -> Floats:
    """True shares that best explain predicted shares of published values, each row by itself (expectation maximisation).

    Examples
    --------
    A value is kept with probability .75, and another one shown else.

    >>> through(np.array([[0.6, 0.4]]), np.array([[0.75, 0.25], [0.25, 0.75]])).round(2).tolist()
    [[0.7, 0.3]]
    """
    found = np.full_like(predicted, 1 / predicted.shape[1])
    for _ in range(STEPS):
        expected = np.maximum(found @ channel, 1e-300)
        found = found * ((predicted / expected) @ channel.T)
        found /= found.sum(axis=1, keepdims=True)
    return found


def _from_buckets(
    release: Release, law: BucketedRows, targets: Targets, generator: np.random.Generator
) -> ReleasedRows:
    """People of a bucket and its values stand in random order, and are put together in it."""
    people = read_people(
        release, law.composition(release), targets.names, seed=int(generator.integers(2**31))
    )
    rows = np.concatenate([block.rows.ravel() for block in people.blocks])
    values = np.concatenate([block.values.ravel() for block in people.blocks])
    return ReleasedRows(people.combinations[people.combination_of_row[rows]], values)


def _from_classes(classes: PublishedClasses, generator: np.random.Generator) -> ReleasedRows:
    group, value = _repeated(classes.counts)
    columns = []
    for possible in classes.possible:
        # The category whose running number among the possible ones was drawn.
        ranks = np.cumsum(possible, axis=1)
        drawn = generator.integers(1, ranks[group, -1] + 1)
        columns.append((ranks[group] < drawn[:, np.newaxis]).sum(axis=1))
    return ReleasedRows(np.stack(columns, axis=1), value)


def _repeated(counts: Floats) -> tuple[Integers, Integers]:
    """Group and value of every row, from ``(groups, values)`` counts."""
    group, value = np.nonzero(counts > 0)
    number = np.rint(counts[group, value]).astype(np.int64)
    return np.repeat(group, number), np.repeat(value, number)


class _Constant:
    """Predicts the only value that was seen."""

    def __init__(self, classes: Integers) -> None:
        self.classes_ = classes

    def predict_proba(self, rows: Integers) -> Floats:
        return np.ones((len(rows), len(self.classes_)))
