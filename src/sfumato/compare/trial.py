"""One design on one split of the rows: published in memory, attacked, queried; errors, coverage, distances, classifiers."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from sfumato.analysis.classifiers import grow_tree
from sfumato.analysis.measure_formulas import MEASURES
from sfumato.arrays import Booleans, Floats, Integers, MixedRadix
from sfumato.compare.grid import Candidate
from sfumato.compare.workload import Question, Workload, answer_from, true_answers, true_counts
from sfumato.custody.audit.attackers import (
    CLASSIFIER,
    SHARE_HELD_OUT,
    attack_absent,
    attack_present,
    raw_release,
    train_classifier,
)
from sfumato.custody.audit.people import EXACT_PUBLIC, People, people_of, recode
from sfumato.custody.audit.scores import (
    BRIER,
    LINKABLE,
    MEANINGS,
    TOP,
    Side,
    Trial,
    measure_rare,
    rare_values,
    score_side,
)
from sfumato.custody.publish import admitted, prepare
from sfumato.data.engine import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import MissingExtraError, ParameterError, SfumatoError
from sfumato.estimates.estimates import Estimates
from sfumato.laws.posterior import places_among
from sfumato.query.selection import Predicate, Selection, Tabulation
from sfumato.randomness.streams import NoiseSource
from sfumato.release import Release
from sfumato.release.loading import hold_release
from sfumato.schema import Role, Schema

# --------------------------------------------------------------------------------------------------
# How wrong a release's answers to a workload are, how honest their intervals, and what refusing costs.


SANITY_SHARE = 0.005
STRICTER_SHARE = 0.001
"""Shares of all rows below which a true count is not divided by itself: on the chart, and beside it."""

SANITY_DIFFERENCE = 0.05
STRICTER_DIFFERENCE = 0.01
"""The same of differences of shares: five points, and one."""

SHARE_EDGES = (0.001, 0.01)
SIZES = ("below 0.1 %", "0.1 to 1 %", "above 1 %")
"""True shares of the rows between which errors are averaged apart: most cells are small, and would hide the others."""

CONFIDENCE = 0.95
MISS_WEIGHT = 2 / (1 - CONFIDENCE)
"""What a miss costs for each row of its distance, by the interval score (Gneiting and Raftery 2007)."""

ERROR, STRICTER, RELATIVE, ABSOLUTE, REFUSED, COVERED, WIDTH, SCORE, STANDARD = (
    "error",
    "error at 0.1 %",
    "relative error",
    "absolute error",
    "refused",
    "covered",
    "width",
    "interval score",
    "largest standard error",
)
"""Names of what is measured of answers."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers to all questions of a workload.

    Parameters
    ----------
    values, low, high, errors
        ``(questions,)``: answers, ends of their intervals, stated standard errors; not numbers where refused.
    """

    values: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    errors: Floats = field(repr=False)

    @property
    def is_refused(self) -> Booleans:
        """Which were not answered, or not by a number."""
        return ~np.isfinite(self.values)


def ask(release: Release, questions: Sequence[Question | None], *, estimator: str = "") -> Answers:
    """Ask a release everything; what it refuses has no numbers, and neither has what cannot be asked (None).

    Another estimator of the law gives values alone: how far it is off nobody knows.
    """
    # A workload drawn from few categories holds many questions more than once.
    answers: dict[tuple[Predicate, ...], Floats] = {}
    none = np.full(4, np.nan)
    sets = (names for each in questions if each is not None for names in _names(each))
    with release.counting(sets):
        for each in questions:
            if each is not None and each.predicates not in answers:
                answers[each.predicates] = _answered(release, each, estimator)
    found = np.array([none if each is None else answers[each.predicates] for each in questions]).reshape(
        -1, 4
    )
    return Answers(*found.T)


def _names(question: Question) -> Iterator[tuple[str, ...]]:
    """The sets of attributes whose counts a question needs."""
    for group in question.groups or (None,):
        where = question.where if group is None else group & question.where
        yield from (part.names for part in where.parts)


def in_terms_of(release: Release, table: PrivateTable, asked: Sequence[Question]) -> list[Question | None]:
    """Questions in a table's categories as a release has them; None where it merged what a question tells apart."""
    names = dict.fromkeys(name for each in asked for part in each.predicates for name in part.names)
    codes = {name: recode(table, release.schema[name]) if name in release.schema else None for name in names}

    def translated(where: Predicate) -> Predicate | None:
        parts = []
        for part in where.parts:
            conditions = []
            for name, chosen in part.conditions:
                known = codes[name]
                if known is None or set(np.flatnonzero(np.isin(known, known[list(chosen)]))) != set(chosen):
                    return None
                conditions.append((name, tuple(sorted({int(known[code]) for code in chosen}))))
            parts.append(Selection(tuple(conditions)))
        return Predicate(tuple(parts))

    def asked_anew(question: Question) -> Question | None:
        where = translated(question.where)
        if question.groups is None:
            return None if where is None else Question(question.pool, where)
        first, second = map(translated, question.groups)
        if where is None or first is None or second is None:
            return None
        return Question(question.pool, where, (first, second))

    return [asked_anew(each) for each in asked]


def _answered(release: Release, asked: Question, estimator: str) -> Floats:
    """Value, interval and standard error. One at a time: together, every covariance between questions would be worked out."""
    estimate: Estimates
    try:
        if estimator:
            return np.array([answered_by(release, asked, estimator), *[np.nan] * 3])
        if asked.groups is None:
            estimate = release.law.estimate_predicates(release, [asked.where])
        else:
            estimate = release.law.compare(release, asked.where, *asked.groups)
    except SfumatoError:
        return np.full(4, np.nan)
    return np.concatenate([estimate.values, *estimate.intervals(CONFIDENCE), estimate.standard_errors])


def answered_by(release: Release, asked: Question, estimator: str) -> float:
    """What another estimator of the release's law says; of an empty group it says nothing."""

    def number(where: Predicate) -> float:
        answers = (
            release.law.estimate_by(estimator, release, Tabulation(where=part)).values for part in where.parts
        )
        return float(sum(each.sum() for each in answers))

    return answer_from(asked, number)


def measure_answers(
    release: Release, table: PrivateTable, workload: Workload, *, estimator: str = ""
) -> dict[str, float]:
    """Hold the answers of a release against the rows it was made from.

    Refusals are priced: an error of 1, the whole truth as absolute error, the widest interval.

    Returns
    -------
    dict
        ``error``: mean of ``min(1, |answer - truth| / max(truth, 0.5 % of the rows))``, every pool with equal weight.
        ``error at 0.1 %``: the same with that bound. ``relative error``: of questions that some row satisfies, without
        bound. ``absolute error``: in rows. ``refused``: share. ``covered``: share of intervals that hold the truth.
        ``width``: median, as a share of the rows. ``interval score``: width and 40 times the distance of a miss, as shares
        of the group that is asked about. ``largest standard error``: that any answer states, in rows; infinite where one is refused or
        states none. ``error, ...``: by size of the truth. Of a workload of differences of shares everything is in shares
        instead of rows, the bounds are five points and one, and intervals are shares of ``[-1, 1]``.
    """
    rows = table.source
    assert isinstance(rows, CodedRows)
    truth = true_answers(rows, workload.questions)
    answers = ask(release, in_terms_of(release, table, workload.questions), estimator=estimator)
    return _measured(answers, truth, _group_sizes(release, rows, workload), rows, workload)


def _measured(
    answers: Answers, truth: Floats, sizes: Floats, rows: CodedRows, workload: Workload
) -> dict[str, float]:
    refused, least = answers.is_refused, _least(rows, workload)
    # A difference of shares is a share as it stands, and lies between -1 and 1.
    number, shift = (1, 1.0) if workload.is_of_differences else (max(rows.number_of_rows, 1), 0.0)
    apart = np.where(refused, np.abs(truth), np.abs(answers.values - truth))
    low, high = (np.where(refused, np.nan, each) for each in (answers.low, answers.high))
    is_covered = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    bounded = _bounded(apart, truth, least[0], refused)
    place = np.searchsorted(SHARE_EDGES, np.abs(truth) / number)
    pools = np.array([each.pool for each in workload.questions])
    kinds = (
        [f"{pool}, {size}" for pool, size in zip(pools, place, strict=True)] if workload.is_by_size else pools
    )
    has_interval = ~np.isnan(low)
    # One row, or a point of share: of less than that there is no relative error to speak of.
    is_some = np.abs(truth) >= (STRICTER_DIFFERENCE if workload.is_of_differences else 1)
    found = {
        ERROR: _even_mean(bounded, np.asarray(kinds)),
        STRICTER: _even_mean(_bounded(apart, truth, least[1], refused), np.asarray(kinds)),
        RELATIVE: _mean(apart[is_some] / np.abs(truth[is_some])),
        ABSOLUTE: _mean(apart),
        REFUSED: float(refused.mean()),
        COVERED: _mean(is_covered[has_interval].astype(np.float64)),
        WIDTH: float(np.median((high - low)[has_interval])) / number if has_interval.any() else float("nan"),
        SCORE: _mean(interval_scores(low + shift, high + shift, truth + shift, sizes)[sizes > 0]),
        STANDARD: float(
            np.nan_to_num(np.where(refused, np.inf, answers.errors), nan=np.inf, posinf=np.inf).max(initial=0)
        ),
    }
    for index, name in enumerate(SIZES):
        found[f"{ERROR}, {name}"] = _mean(bounded[place == index])
    return found


def interval_scores(low: Floats, high: Floats, truth: Floats, sizes: Floats) -> Floats:
    """Width and 40 times the distance of a miss, as shares of ``[0, size]``, within which an interval is cut; 1 where there is none.

    Examples
    --------
    Of a group of 100, the interval from 10 to 30: the truth 20 lies inside, 35 is missed by 5.

    >>> ends = np.array([10.0, 10.0, np.nan]), np.array([30.0, 30.0, np.nan])
    >>> interval_scores(*ends, np.array([20.0, 35.0, 7.0]), np.full(3, 100.0)).round(3).tolist()
    [0.2, 2.2, 1.0]
    """
    size = np.maximum(sizes, 1)
    bottom, top = np.clip(low, 0, size), np.clip(high, 0, size)
    missed = np.maximum(bottom - truth, 0) + np.maximum(truth - top, 0)
    # A distance below rounding is no miss.
    missed = np.where(missed < 1e-9 * size, 0, missed)
    return np.where(np.isfinite(low), (top - bottom + MISS_WEIGHT * missed) / size, 1.0)


def _bounded(apart: Floats, truth: Floats, least: float, refused: Booleans) -> Floats:
    return np.where(refused, 1.0, np.minimum(1.0, apart / np.maximum(np.abs(truth), max(least, 1e-12))))


def _least(rows: CodedRows, workload: Workload) -> tuple[float, float]:
    """Truths below which an error is not divided by the truth: on the chart, and beside it."""
    if workload.is_of_differences:
        return SANITY_DIFFERENCE, STRICTER_DIFFERENCE
    return SANITY_SHARE * rows.number_of_rows, STRICTER_SHARE * rows.number_of_rows


def _group_sizes(release: Release, rows: CodedRows, workload: Workload) -> Floats:
    """How many rows satisfy the public part of each question: what anybody knows its answer to lie below; 2 of differences."""
    if workload.is_of_differences:
        return np.full(len(workload.questions), 2.0)
    sensitive = {each.name for each in release.schema.with_role(Role.SENSITIVE)}

    def public(part: Selection) -> Selection:
        return Selection(tuple(each for each in part.conditions if each[0] not in sensitive))

    asked = [
        Predicate((public(each.where.parts[0]),))
        if len(each.where.parts) == 1 and sensitive & set(each.where.names)
        else Predicate((Selection(),))
        for each in workload.questions
    ]
    return true_counts(rows, asked).astype(np.float64)


def _even_mean(numbers: Floats, kinds: np.ndarray) -> float:
    return float(np.mean([numbers[kinds == kind].mean() for kind in np.unique(kinds)]))


def _mean(numbers: Floats) -> float:
    return float(numbers.mean()) if numbers.size else float("nan")


# --------------------------------------------------------------------------------------------------
# How far a release's tables lie from the true ones: five distances of tables over one, two and three
# attributes.


MOST_TABLES = 6
"""Tables of each number of attributes, drawn by the seed where there are more."""

MOST_CELLS = 5_000
"""Cells of a table at most."""

MOST_CELLS_ASKED = 1_000_000
"""The same of tables that somebody names."""

UNCERTAINTY = "uncertainty"
"""Share of an attribute's entropy that another one takes away."""

DISTANCES = ("total variation", "Hellinger", "KL", "L2", "chi-square")
"""Names of the distances, as Guo (2010), section 5.4, has them; Hellinger besides."""


def distances(truth: Floats, estimate: Floats) -> dict[str, float]:
    """Distances of estimated from true counts, each taken as shares, ``(cells,)``.

    Kullback and Leibler's is computed with half a row added to every cell of both; chi-square is over cells that occur.

    Examples
    --------
    >>> found = distances(np.array([50.0, 50.0]), np.array([75.0, 25.0]))
    >>> {name: round(each, 4) for name, each in found.items()}
    {'total variation': 0.25, 'Hellinger': 0.1846, 'KL': 0.1406, 'L2': 0.3536, 'chi-square': 0.25}
    """
    true, other = _shares(truth), _shares(estimate)
    padded, padded_other = (
        _shares(truth + 0.5),
        _shares(estimate / max(estimate.sum(), 1e-300) * truth.sum() + 0.5),
    )
    occurs = true > 0
    return {
        "total variation": float(np.abs(true - other).sum() / 2),
        "Hellinger": float(np.sqrt(np.square(np.sqrt(true) - np.sqrt(other)).sum() / 2)),
        "KL": float((padded * np.log(padded / padded_other)).sum()),
        "L2": float(np.linalg.norm(true - other)),
        "chi-square": float(((true - other)[occurs] ** 2 / true[occurs]).sum()),
    }


def choose_tables(schema: Schema, seed: int) -> tuple[tuple[str, ...], ...]:
    """Sets of one to three attributes, some of each number, none too large.

    Examples
    --------
    >>> from sfumato.testing.queries import SAMPLE_SCHEMA
    >>> choose_tables(SAMPLE_SCHEMA, 1)[:4]
    (('sex',), ('age',), ('region',), ('job',))
    """
    generator = np.random.default_rng([seed, 1])
    attributes = schema.publishable.attributes
    found: list[tuple[str, ...]] = []
    for number in (1, 2, 3):
        # Of very wide tables not every set is listed: the first so many attributes, in an order drawn by the seed.
        few = [attributes[place] for place in sorted(generator.permutation(len(attributes))[:30].tolist())]
        sets = [
            tuple(each.name for each in some)
            for some in itertools.combinations(few, number)
            if math.prod(each.size for each in some) <= MOST_CELLS
        ]
        chosen = generator.permutation(len(sets))[: max(MOST_TABLES, len(few) if number == 1 else 0)]
        found += [sets[place] for place in sorted(chosen.tolist())]
    return tuple(found)


def asked_tables(schema: Schema, tables: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Tables that somebody names.

    Raises
    ------
    ParameterError
        With everything that is wrong with them.
    """
    known, problems = set(schema.publishable.names), []
    for names in map(tuple, tables):
        unknown = [name for name in names if name not in known]
        told = ", ".join(names)
        if unknown:
            problems.append(f"{told}: the schema publishes no {', '.join(map(repr, unknown))}.")
        elif not names or len(set(names)) < len(names):
            problems.append(f"{told}: a table is over different attributes, one or more.")
        elif math.prod(schema[name].size for name in names) > MOST_CELLS_ASKED:
            problems.append(f"{told}: more than {MOST_CELLS_ASKED:,} cells. Name fewer attributes.")
    if problems:
        raise ParameterError("tables: " + " ".join(problems), parameter="tables")
    return tuple(dict.fromkeys(map(tuple, tables)))


def uncertainty(counts: Floats) -> float:
    """How much of the second attribute's entropy the first takes away, of counts ``(first, second)``; 0 where there is none.

    Examples
    --------
    The second is told by the first, told half of the time, not at all:

    >>> [round(uncertainty(np.array(each)), 3) for each in ([[5.0, 0], [0, 5]], [[4.0, 0], [2, 2]], [[1.0, 1], [2, 2]])]
    [1.0, 0.384, 0.0]
    """
    kept = np.maximum(counts, 0.0)
    shares = kept[kept.sum(axis=1) > 0][:, kept.sum(axis=0) > 0] / max(float(kept.sum()), 1e-300)
    if shares.shape[1] < 2 or shares.shape[0] < 2:
        return 0.0
    return float(np.real(MEASURES["uncertainty-of-second"].formula(shares, kept.sum())))


def measure_distances(
    release: Release,
    table: PrivateTable,
    tables: Sequence[tuple[str, ...]],
    *,
    estimator: str = "",
    is_each_told: bool = False,
) -> dict[str, float]:
    """Mean distances by number of attributes, from counts that are not negative and add up.

    Another estimator of the law is taken as it is, negative counts as none. Where each is told, every table's distances follow by name, and
    of two attributes how much each tells of the other: Guo's uncertainty coefficient (section 5.3.2).

    A table that is refused is taken as the product of its attributes' own tables, uniform where even these are refused:
    refusing costs what knowing nothing costs.
    """
    rows = table.source
    assert isinstance(rows, CodedRows)
    found: dict[str, list[float]] = {}
    single: dict[str, Floats | None] = {}

    def alone(name: str) -> Floats:
        if name not in single:
            single[name] = _estimated(release, table, (name,), estimator)
        known = single[name]
        return np.full(table.schema[name].size, 1.0) if known is None else known

    for names in tables:
        estimate = _estimated(release, table, names, estimator)
        if estimate is None:
            estimate = reduce(np.multiply.outer, [_shares(alone(name)) for name in names]).ravel()
        for name, number in distances(_true(rows, table.schema, names), estimate).items():
            found.setdefault(f"{name}, {len(names)}-way", []).append(number)
            if is_each_told:
                found[f"{name} of {', '.join(names)}"] = [number]
        if is_each_told and len(names) == 2:
            square = estimate.reshape([table.schema[name].size for name in names])
            for (first, second), counts in ((names, square), (names[::-1], square.T)):
                found[f"{UNCERTAINTY} of {second} by {first}"] = [uncertainty(counts)]
    return {name: float(np.mean(numbers)) for name, numbers in found.items()}


def _estimated(release: Release, table: PrivateTable, names: Sequence[str], estimator: str) -> Floats | None:
    """Estimated counts in the table's own categories; None where refused. A merged category is spread evenly."""
    codes: dict[str, Integers] = {}
    for name in names:
        known = recode(table, release.schema[name]) if name in release.schema else None
        if known is None:
            return None
        codes[name] = known
    try:
        if estimator:
            counts = release.law.estimate_by(estimator, release, Tabulation(tuple(names))).values
        else:
            counts = release.law.consistent(release, Tabulation(tuple(names)))
    except SfumatoError:
        return None
    counts = np.asarray(counts, np.float64).reshape([release.schema[name].size for name in names])
    for axis, known in enumerate(codes.values()):
        spread = np.bincount(known)[known]
        shape = [-1 if place == axis else 1 for place in range(len(names))]
        counts = counts.take(known, axis=axis) / spread.reshape(shape)
    return counts.ravel()


def _true(rows: CodedRows, schema: Schema, names: Sequence[str]) -> Floats:
    sizes = [schema[name].size for name in names]
    cells = MixedRadix(sizes).encode([rows.codes[name].astype(np.int64) for name in names])
    return np.bincount(cells, minlength=math.prod(sizes)).astype(np.float64)


def _shares(counts: Floats) -> Floats:
    """Of counts that are not negative; uniform where all are zero."""
    kept = np.maximum(counts, 0.0)
    total = float(kept.sum())
    return kept / total if total > 0 else np.full(kept.shape, 1 / max(kept.size, 1))


# --------------------------------------------------------------------------------------------------
# Classifiers that an analyst would train on a release, judged on people who were not in the table.


TREE, BAYES = "tree right", "naive Bayes right"
"""Shares of people whose value is predicted rightly."""

DEPTH = 2
"""Splits of the tree: deeper ones ask about cells that most releases know little of."""


def measure_models(release: Release, members: People, outside: People) -> dict[str, float]:
    """How often models trained on a release predict the sensitive value of people outside it.

    Where a release refuses what a model needs, the most frequent value is all that is left to predict. Without
    scikit-learn there is no naive Bayes, and its number is none.
    """
    likeliest = int(members.margin().argmax())
    names = [each.name for each in members.public]

    def tree() -> Integers:
        grown = grow_tree(release, members.sensitive.name, names, depth=DEPTH)
        return grown.predict_codes(outside.rows)

    def bayes() -> Integers:
        from sfumato.analysis.naive_bayes import CountNaiveBayes

        model = CountNaiveBayes.from_release(release, members.sensitive.name, names)
        found: Integers = np.asarray(model.predict_proba(outside.rows)).argmax(axis=1)
        return found

    return {TREE: _right(tree, outside, likeliest), BAYES: _right(bayes, outside, likeliest)}


def _right(predict: Callable[[], Integers], outside: People, likeliest: int) -> float:
    try:
        predicted: Integers | Floats = predict()
    except MissingExtraError:
        return float("nan")
    except SfumatoError:
        predicted = np.full(outside.number, likeliest)
    return float((predicted == outside.truth).mean()) if outside.number else float("nan")


# --------------------------------------------------------------------------------------------------
# One design on one split of the rows: published in memory, attacked, asked.


RARE_WITH, RARE_WITHOUT = "rare found, with", "rare found, without"
SURE_RARE_WITH, SURE_RARE_WITHOUT = "rare found surely, with", "rare found surely, without"
"""Shares of holders of rare values found at a precision of one half, and of nine tenths."""

LINKABLE_WITH, LINKABLE_WITHOUT = "most linkable, with", "most linkable, without"
"""Numbers of people that the shares among the most linkable are of."""

PROVED_OUTSIDE = "proved outside"
"""Share of people held out whom the published public values prove to be outside."""


@dataclass(frozen=True)
class Task:
    """Which design on which split, and whether a classifier attacks it besides."""

    candidate: Candidate
    repeat: int
    seed: int
    has_classifier: bool = False


@dataclass(frozen=True)
class Asked:
    """What every design is asked.

    Parameters
    ----------
    sensitive
        The attribute attacked.
    workload
        Questions.
    tables
        Sets of attributes whose tables are held against the true ones.
    is_each_told
        Every table by itself, besides the means: somebody named them.
    """

    sensitive: str
    workload: Workload
    tables: tuple[tuple[str, ...], ...]
    is_each_told: bool = False


@dataclass(frozen=True)
class Outcome:
    """What was measured, or why nothing was.

    Parameters
    ----------
    label, repeat
        Design and split.
    refusal
        Why the design could not be published; empty where it was.
    present, absent
        By score, with the person in the table and without, by the attacker who does best at it.
    classifier
        The two scores of the classifier, with and without, where it was run.
    numbers
        Everything else, by name: answers, distances, models, rare values.
    seconds
        Of processor time.
    """

    label: str
    repeat: int
    refusal: str
    present: dict[str, float]
    absent: dict[str, float]
    classifier: dict[str, float]
    numbers: dict[str, float]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def run_task(task: Task, table: PrivateTable, asked: Asked) -> Outcome:
    """Publish, attack and ask one design on one split.

    Splits follow from the seed and the repeat alone: they are the same for every design, so that designs are compared on
    the same people.
    """
    started = time.process_time()
    estimator = task.candidate.estimator
    generator = np.random.default_rng([task.seed, task.repeat])
    kept, held_out = split_rows(table, generator)
    noise = NoiseSource.seeded(task.seed).named(f"{task.candidate.label}, split {task.repeat}")
    try:
        release = _published(kept, task.candidate, noise)
        if estimator and estimator not in release.law.estimators:
            # Refused with the names that there are.
            release.law.estimate_by(estimator, release, Tabulation())
        # Refused where all values of the sensitive attribute were merged into one.
        members, outside = (people_of(each, release, asked.sensitive) for each in (kept, held_out))
    except SfumatoError as error:
        spent = time.process_time() - started
        return Outcome(task.candidate.label, task.repeat, str(error), {}, {}, {}, {}, spent)
    trial = Trial(
        attack_present([release], members, generator),
        attack_absent([release], members, outside, generator),
        is_paired=False,
    )
    margin = members.margin()
    numbers = {
        **measure_answers(release, kept, asked.workload, estimator=estimator),
        **measure_distances(
            release, kept, asked.tables, estimator=estimator, is_each_told=asked.is_each_told
        ),
        **measure_models(release, members, outside),
        **_rare(trial, margin),
        LINKABLE_WITH: float(trial.present.is_linkable.sum()),
        LINKABLE_WITHOUT: float(trial.absent.is_linkable.sum()),
    }
    if release.manifest.law["law"] in EXACT_PUBLIC or not task.candidate.method:
        places = places_among(outside.rows, np.unique(members.rows, axis=0))
        numbers[PROVED_OUTSIDE] = float((places < 0).mean())
    return Outcome(
        task.candidate.label,
        task.repeat,
        "",
        _best(score_side(trial.present, margin, 0)),
        _best(score_side(trial.absent, margin, 0)),
        _classified(release, trial, margin, task) if task.has_classifier else {},
        numbers,
        time.process_time() - started,
    )


def split_rows(table: PrivateTable, generator: np.random.Generator) -> tuple[PrivateTable, PrivateTable]:
    """Rows that are published, and a fifth that is held out."""
    rows = table.source
    assert isinstance(rows, CodedRows)
    order = generator.permutation(rows.number_of_rows)
    cut = int(np.ceil(SHARE_HELD_OUT * len(order)))
    kept, held_out = (
        PrivateTable(rows.take(np.sort(part)), table.schema, engine=table.engine)
        for part in (order[cut:], order[:cut])
    )
    return kept, held_out


def _rare(trial: Trial, margin: Floats) -> dict[str, float]:
    """Shares of holders of rare values found; none where no value is rare."""
    found = measure_rare((trial,), rare_values(margin))
    names = ((RARE_WITH, RARE_WITHOUT), (SURE_RARE_WITH, SURE_RARE_WITHOUT))
    shares = [(each.present.recall, each.absent.recall) for each in found] or [(float("nan"),) * 2] * 2
    return dict(zip(sum(names, ()), sum(shares, ()), strict=True))


def _classified(release: Release, trial: Trial, margin: Floats, task: Task) -> dict[str, float]:
    """Scores of the classifier by itself; it sees both sides from one fit."""
    trained = train_classifier(release, trial.present.people, seed=task.seed + task.repeat)
    found = {}
    for name, side in (("with", trial.present), ("without", trial.absent)):
        beliefs = {CLASSIFIER: trained.beliefs(side.people)}
        scores = score_side(Side(side.people, beliefs, side.is_drawn, side.is_linkable), margin, 0)
        for score in (TOP, LINKABLE):
            found[f"{score}, {name}"] = scores[score][CLASSIFIER].mean
    return found


def _published(table: PrivateTable, candidate: Candidate, noise: NoiseSource) -> Release:
    if not candidate.method:
        return raw_release(table)
    publication, describe = prepare(table, admitted(table, candidate.design()), noise)
    return hold_release(publication.tables, describe, read=table.scan, noise=noise)


def _best(scores: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Each score of the attacker who does best at it."""
    found = {}
    for name in MEANINGS:
        means: Floats = np.array([each.mean for each in scores[name].values()])
        known = means[~np.isnan(means)]
        best = float(known.max()) if known.size else float("nan")
        found[name] = -best if name == BRIER else best
    return found
