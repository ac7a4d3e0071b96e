"""The attackers whose beliefs an audit scores: from who knows the margin only to who uses the law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.attacks.anatomy_naive_bayes.attack import AnatomyNaiveBayes
from sfumato.custody.audit.people import People
from sfumato.laws.believing import Posterior, SharedPrior, Targets
from sfumato.laws.believing.targets import places_among
from sfumato.methods.anatomy.law.bucket_beliefs import read_people
from sfumato.methods.anatomy.law.bucketed_rows import BucketedRows
from sfumato.release import Release
from sfumato.values.arrays import Floats

MARGIN, TABLES, OUTLIERS, LAW, BUCKETS = (
    "margin only",
    "two-way tables",
    "outliers",
    "law",
    "anatomy-naive-bayes",
)
"""Names of the attackers."""

CROWD = 100
"""Rows of a category from which on a single one does not decide what is believed of it."""

LEAST_BELIEF = 1e-9
"""What no belief is below when those of several releases are multiplied: none of them is a proof."""


def beliefs_of(releases: Sequence[Release], people: People, *, are_members: bool) -> dict[str, Floats]:
    """What every attacker believes of people, by name, each ``(people, values)``.

    Parameters
    ----------
    releases
        One, or several of the same table, which are then used together.
    people
        Whom to attack.
    are_members
        They are in the table; else they are people like those in it.
    """
    targets = people.targets(are_members=are_members)
    priors = [each.law.prior(each, targets) for each in releases]
    posteriors = [
        release.law.posterior(release, targets, prior)
        for release, prior in zip(releases, priors, strict=True)
    ]
    found = _with_prior(releases, targets, priors)
    found[LAW] = together([_of(each) for each in posteriors], _crowd(targets, priors))
    if are_members and len(releases) == 1 and isinstance(releases[0].law, BucketedRows):
        found[BUCKETS] = _of(_learned_from_buckets(releases[0], targets))
    return found


def beliefs_without(
    releases: Sequence[Release], people: People, generator: np.random.Generator
) -> dict[str, Floats]:
    """What every attacker would believe of members had their own row not been published; which it is is drawn.

    Raises
    ------
    NotIdentifiableError
        When a single row cannot be taken out of one of the releases.
    """
    targets = people.targets(are_members=True)
    priors = [each.law.prior(each, targets) for each in releases]
    found = _with_prior(releases, targets, priors)

    def without(release: Release, prior: SharedPrior) -> tuple[Floats, Floats]:
        by_law, by_prior = release.law.posterior_without(release, targets, people.truth, prior, generator)
        return _of(by_law), _of(by_prior)

    left_out = [without(release, prior) for release, prior in zip(releases, priors, strict=True)]
    place = _most_answered(priors)
    spiked = releases[place].law.prior(releases[place], targets, only_outliers=True)
    found[TABLES] = left_out[place][1]
    found[OUTLIERS] = without(releases[place], spiked)[1]
    found[LAW] = together([each for each, _ in left_out], _crowd(targets, priors))
    return found


def together(beliefs: Sequence[Floats], prior: Floats) -> Floats:
    """Beliefs from several releases of one table, each with noise of its own, as one.

    What each release adds to what is believed anyway is multiplied.

    Examples
    --------
    Two releases that each raise an even belief to 0.8: four to one, twice.

    >>> together([np.array([[0.8, 0.2]])] * 2, np.array([[0.5, 0.5]])).round(4).tolist()
    [[0.9412, 0.0588]]
    """
    if len(beliefs) == 1:
        return beliefs[0]
    before = np.log(np.maximum(prior, LEAST_BELIEF))
    logs = before + sum(np.log(np.maximum(each, LEAST_BELIEF)) - before for each in beliefs)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _with_prior(
    releases: Sequence[Release], targets: Targets, priors: Sequence[SharedPrior]
) -> dict[str, Floats]:
    """Of those who use no law: the margin, and the two-way tables of the release that answers most of them."""
    place = _most_answered(priors)
    best, release = priors[place], releases[place]
    spiked = release.law.prior(release, targets, only_outliers=True)
    return {
        MARGIN: np.tile(best.margin, (len(targets.index), 1)),
        TABLES: best.at(targets.names, targets.combinations)[targets.index],
        OUTLIERS: spiked.at(targets.names, targets.combinations)[targets.index],
    }


def _most_answered(priors: Sequence[SharedPrior]) -> int:
    """Place of the release that leaves the fewest two-way tables open."""
    return min(range(len(priors)), key=lambda place: len(priors[place].refused))


def _crowd(targets: Targets, priors: Sequence[SharedPrior]) -> Floats:
    """What is believed of people from categories of many: what each release says besides must not be taken out with it."""
    best = priors[_most_answered(priors)]
    return best.at(targets.names, targets.combinations, fewest_rows=CROWD)[targets.index]


def _of(posterior: Posterior) -> Floats:
    return posterior.of_targets()


def _learned_from_buckets(release: Release, targets: Targets) -> Posterior:
    """The specific attack on buckets, whose model is learned from them; people alike are averaged."""
    law = release.law
    assert isinstance(law, BucketedRows)
    people = read_people(release, law.composition(release), targets.names, seed=0)
    guesses = AnatomyNaiveBayes().infer(people).guesses
    shape = (len(people.combinations), people.number_of_values)
    total = np.zeros(shape[0] * shape[1])
    for block, marginals in zip(people.blocks, guesses.marginals, strict=True):
        total += np.bincount(block.cells.ravel(), marginals.ravel(), minlength=total.size)
    beliefs = total.reshape(shape)
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    places = places_among(targets.combinations, people.combinations)
    # Members are in some bucket; who is not keeps the shares of all.
    overall = people.rows_of_value / people.rows_of_value.sum()
    found = np.where((places >= 0)[:, np.newaxis], beliefs[np.maximum(places, 0)], overall)
    return Posterior(found, targets.index)
