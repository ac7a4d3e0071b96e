"""The attackers an audit scores, a classifier among them, and the control releases they are compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfumato._version import __version__
from sfumato.arrays import Floats, Integers
from sfumato.attacks.anatomy_naive_bayes import AnatomyNaiveBayes
from sfumato.custody.audit.people import People, largest_linkable, people_of
from sfumato.custody.audit.scores import Side, Trial, choose_targets
from sfumato.custody.publish import admitted, in_memory, prepare
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import MissingExtraError, NotIdentifiableError, ParameterError, SfumatoError
from sfumato.laws.posterior import Posterior, SharedPrior, Targets, places_among
from sfumato.methods.anatomy.law import BucketedRows, read_people
from sfumato.methods.base import METHODS, Design
from sfumato.methods.generalization.law import GeneralizedRows, PublishedClasses
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.randomness.streams import NoiseSource
from sfumato.release import Release
from sfumato.release.loading import hold_release
from sfumato.release.manifest import Manifest, TableEntry

# --------------------------------------------------------------------------------------------------
# The attacker who needs no law: a classifier trained on whatever was released.


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
    from sklearn.dummy import DummyClassifier
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
    if not targets.public:
        # Without public attributes the shares of the values are all there is to learn.
        model = DummyClassifier(strategy="prior")
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
    public = np.stack(columns, axis=1) if columns else np.zeros((len(value), 0), np.int64)
    return ReleasedRows(public, value)


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


# --------------------------------------------------------------------------------------------------
# The attackers whose beliefs an audit scores: from who knows the margin only to who uses the law.


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


# --------------------------------------------------------------------------------------------------
# Who an audit compares people with: what would be believed of them were they not in the table.


SHARE_HELD_OUT = 0.2
"""Share of the rows that are held out when a design is published again."""

GIVEN = "people who are not in the table, as given"
PAIRED = "the same people, their own row left out"
DESIGN = "people held out of the design published again"
"""What the three controls are called."""


@dataclass(frozen=True, eq=False)
class Controlled:
    """Trials, and by what control."""

    control: str
    trials: tuple[Trial, ...]

    @property
    def is_of_release(self) -> bool:
        """The figures are about the release itself, not about its design."""
        return self.control != DESIGN


def attack_present(releases: Sequence[Release], people: People, generator: np.random.Generator) -> Side:
    """Everybody in the table, or many drawn from them."""
    sizes = people.sizes_among(people, are_members=True)
    chosen, is_drawn, is_linkable = choose_targets(sizes, largest_linkable(sizes), generator)
    targets = people.take(chosen)
    return Side(targets, beliefs_of(releases, targets, are_members=True), is_drawn, is_linkable)


def attack_absent(
    releases: Sequence[Release], people: People, outside: People, generator: np.random.Generator
) -> Side:
    """People outside the table, those whom few share their public values with by the same measure."""
    limit = largest_linkable(people.sizes_among(people, are_members=True))
    sizes = outside.sizes_among(people, are_members=False)
    chosen, is_drawn, is_linkable = choose_targets(sizes, limit, generator)
    targets = outside.take(chosen)
    return Side(targets, beliefs_of(releases, targets, are_members=False), is_drawn, is_linkable)


def control_trials(
    releases: Sequence[Release],
    table: PrivateTable,
    people: People,
    present: Side,
    outside: People | None,
    *,
    repeats: int,
    generator: np.random.Generator,
    noise: NoiseSource,
    has_classifier: bool = False,
) -> Controlled:
    """The first control that can be had: people given, own rows left out, the design published again.

    Parameters
    ----------
    releases, table, people
        What was published, from what, about whom.
    present
        Everybody in the table, attacked.
    outside
        People who are known not to be in the table.
    repeats
        Releases of the design, where it is published again.
    generator
        Splits the rows and draws whom to attack.
    noise
        For publishing again.
    has_classifier
        A classifier attacks as well, where it need not be trained again for every person.
    """
    if outside is not None:
        absent = attack_absent(releases, people, outside, generator)
        trial = Trial(present, absent, is_paired=False)
        return Controlled(GIVEN, (with_classifier(trial, releases) if has_classifier else trial,))
    try:
        without = beliefs_without(releases, present.people, generator)
    except NotIdentifiableError:
        again = _published_again(
            releases, table, people, repeats, generator, noise, has_classifier=has_classifier
        )
        trials = tuple(again)
        return Controlled(DESIGN, trials)
    absent = Side(present.people, without, present.is_drawn, present.is_linkable)
    return Controlled(PAIRED, (Trial(present, absent, is_paired=True),))


def _published_again(
    releases: Sequence[Release],
    table: PrivateTable,
    people: People,
    repeats: int,
    generator: np.random.Generator,
    noise: NoiseSource,
    *,
    has_classifier: bool = False,
) -> Iterator[Trial]:
    designs = [design_of(each) for each in releases]
    whole = in_memory(table)
    rows = whole.source
    assert isinstance(rows, CodedRows)
    sensitive = people.sensitive.name
    for number in range(repeats):
        order = generator.permutation(rows.number_of_rows)
        cut = int(np.ceil(SHARE_HELD_OUT * len(order)))
        kept, held_out = (
            PrivateTable(rows.take(np.sort(part)), table.schema, engine=whole.engine)
            for part in (order[cut:], order[:cut])
        )
        made = [
            _publish(kept, design, noise.named(f"release {number} of design {place}"))
            for place, design in enumerate(designs)
        ]
        members, outside = (people_of(each, made[0], sensitive) for each in (kept, held_out))
        present = attack_present(made, members, generator)
        trial = Trial(present, attack_absent(made, members, outside, generator), is_paired=False)
        yield with_classifier(trial, made) if has_classifier else trial


def with_classifier(trial: Trial, releases: Sequence[Release]) -> Trial:
    """The same trial, attacked by a classifier besides: trained on the first of the releases."""
    trained = train_classifier(releases[0], trial.present.people, seed=0)
    present, absent = (
        replace(side, beliefs={**side.beliefs, CLASSIFIER: trained.beliefs(side.people)})
        for side in (trial.present, trial.absent)
    )
    return Trial(present, absent, trial.is_paired)


def _publish(table: PrivateTable, design: Design, noise: NoiseSource) -> Release:
    try:
        publication, describe = prepare(table, admitted(table, design), noise)
        return hold_release(publication.tables, describe, read=table.scan, noise=noise)
    except SfumatoError as error:
        raise ParameterError(
            f"the design cannot be published again on four fifths of the rows ({error}), so there is nobody to compare with. "
            "Give people who are not in the table as control.",
            parameter="control",
        ) from error


def design_of(release: Release) -> Design:
    """The design that a release's manifest states.

    Raises
    ------
    ParameterError
        When its method is not installed, or its parameters are withheld with its law.
    """
    if release.law.is_withheld:
        raise ParameterError(
            "the release withholds its law, and with it the parameters that an audit publishes again by. Audit a release of the same "
            "design that has its law, which need not leave the house: the risk is no smaller there.",
            parameter="release",
        )
    stored = dict(release.manifest.method)
    name = str(stored.pop(METHODS.tag))
    return METHODS.make(name, stored)


# --------------------------------------------------------------------------------------------------
# The table itself as if it were a release: what risk and use are held against. In memory only.


def raw_release(table: PrivateTable) -> Release:
    """Every row as it is, under a law by which nothing was distorted. It has no folder and no promise.

    Examples
    --------
    >>> from sfumato.testing import sample_table
    >>> raw = raw_release(sample_table(100))
    >>> raw, raw.guarantees
    (Release(nothing done: sex, age, region, job; 100 rows), ())
    """
    schema = table.schema.publishable
    rows = in_memory(table).source
    assert isinstance(rows, CodedRows)
    entry = TableEntry(
        name="rows",
        path="rows.parquet",
        format="parquet",
        sha256="0" * 64,
        number_of_rows=rows.number_of_rows,
        attributes=schema.to_dict()["attributes"],
    )
    manifest = Manifest(
        software=f"sfumato {__version__}",
        method={"method": "nothing done"},
        guarantees=(),
        law=PerturbedRows(distortions={}).model_dump(mode="json"),
        tables=(entry,),
        privacy="not private: the rows themselves",
    )
    shown = CodedRows(schema, {name: rows.codes[name] for name in schema.names})
    return Release(None, manifest, {"rows": shown}, ArrayEngine())
