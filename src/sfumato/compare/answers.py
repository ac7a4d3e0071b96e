"""How wrong a release's answers to a workload are, how honest their intervals, and what refusing costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.compare.questions import Question, Workload, answer_from, true_answers, true_counts
from sfumato.custody.audit.people import recode
from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.release import Release
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.estimates import Estimates
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Role
from sfumato.values.selection import Selection, Tabulation

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
