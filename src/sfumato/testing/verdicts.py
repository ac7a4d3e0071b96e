"""What many answers show of a law: bias, coverage, stated against real errors, false claims."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from sfumato.laws.base import Law, Target
from sfumato.testing.questions import KINDS, Kind
from sfumato.testing.report import Failure, gathered
from sfumato.testing.statistics import coverage_p_value, mean_p_value
from sfumato.testing.trials import TARGETS, Record, Trials
from sfumato.values.arrays import Booleans, Floats

LEAST_COVERAGE = 0.94
"""What 95 % intervals must hold; the point less is for counts being whole numbers."""

WIDEST = 1.5
"""How many times the real spread a stated standard error may be."""

WIDEST_OF_COMBINATIONS = 1.1
"""The same for sums and differences of cells, which are as wide as their covariance says."""

SMALLEST_MEAN_COUNT = 10.0
"""Smaller counts are left out where means are looked at: a rare event that never came would count as proof."""

NEGLIGIBLE = 1e-4
"""Errors below this share of the number, or of one row, are the last digits of floats."""


def judge(trials: Trials, law: type[Law], alpha: float) -> tuple[tuple[Failure, ...], int]:
    """Failures of the answers, one for each aspect, kind and target; and the number of random checks.

    Every p-value is held against ``alpha`` over their number (Bonferroni), so that an honest law fails any of
    them with probability ``alpha`` at most.
    """
    suspicions = [*_of_single_questions(trials, law), *_of_kinds(trials)]
    threshold = alpha / max(1, len(suspicions))
    unlikely = [each for each in suspicions if each.p_value <= threshold]
    return gathered([*_of_claims(trials), *unlikely]), len(suspicions)


def _of_claims(trials: Trials) -> Iterator[Failure]:
    """Numbers that were called exact, or bounds that were called certain, and were not."""
    for record in trials.records:
        wrong = np.nansum(record.false_claims, axis=0)
        for place in np.flatnonzero(wrong):
            yield Failure(
                "claims",
                record.kind,
                record.target,
                f"{record.labels[place]}: stated without error, or between certain bounds, and wrong in "
                f"{int(wrong[place])} of {_answered(record.errors[:, place])} releases, expected is never.",
            )


def _of_single_questions(trials: Trials, law: type[Law]) -> Iterator[Failure]:
    for record in filter(lambda each: each.is_answered, trials.records):
        for place, label in enumerate(record.labels):
            errors, covered = record.errors[:, place], record.covered[:, place]
            if np.isfinite(covered).any():
                p_value = coverage_p_value(covered, LEAST_COVERAGE)
                yield Failure(
                    "coverage",
                    record.kind,
                    record.target,
                    f"{label}: the 95 % interval held the truth in {int(np.nansum(covered))} of {_answered(covered)} "
                    f"releases, expected is {LEAST_COVERAGE:.0%} of them or more ({_probability(p_value)}).",
                    p_value,
                )
            if law.estimate_is == "unbiased" and record.kind != "share" and _is_large(record)[place]:
                p_value = min(1.0, 2 * min(mean_p_value(errors), mean_p_value(-errors)))
                yield Failure(
                    "bias",
                    record.kind,
                    record.target,
                    f"{label}: estimates are off by {np.nanmean(errors):+.3g} on average over {_answered(errors)} "
                    f"releases, expected is 0 ({_probability(p_value)}).",
                    p_value,
                )


def _of_kinds(trials: Trials) -> Iterator[Failure]:
    """All questions of a kind together, one number for each release: they see what single questions cannot."""
    for kind, target in itertools.product(KINDS, TARGETS):
        records = [each for each in trials.pooled(kind, target) if np.isfinite(each.covered).any()]
        if not records:
            continue
        covered = np.hstack([each.covered for each in records])
        p_value = mean_p_value(LEAST_COVERAGE - _mean(covered))
        yield Failure(
            "coverage",
            kind,
            target,
            f"the 95 % intervals of {covered.shape[1]} numbers held the truth in {np.nanmean(covered):.1%} of all cases, "
            f"expected is {LEAST_COVERAGE:.0%} or more ({_probability(p_value)}).",
            p_value,
        )
        yield from _of_errors(kind, target, records)


def _of_errors(kind: Kind, target: Target, records: list[Record]) -> Iterator[Failure]:
    """Stated standard errors against real errors: E(error^2) = E(stated variance) for an unbiased variance."""
    labels = np.array([label for each in records for label in each.labels])
    kept = np.hstack([_is_large(each) for each in records])
    stated = np.hstack([each.standard_errors for each in records]) ** 2
    real = np.where(np.isfinite(stated), np.hstack([each.errors for each in records]) ** 2, np.nan)
    sizes = _mean(np.abs(np.hstack([each.truths for each in records])), axis=0)
    # Each question counts alike: its squares are divided by their mean, stated and real together.
    scale = (_mean(real, axis=0) + _mean(stated, axis=0)) / 2
    kept &= scale > (NEGLIGIBLE * np.maximum(1, sizes)) ** 2
    if not kept.any():
        return
    real, stated, labels = real[:, kept] / scale[kept], stated[:, kept] / scale[kept], labels[kept]
    # A share has no rows.
    row = (kind != "share") / scale[kept]
    yield from _of_squares(kind, target, f"{len(labels)} numbers together", real, stated, row)
    for place, label in enumerate(labels):
        yield from _of_squares(kind, target, label, real[:, [place]], stated[:, [place]], row[[place]])


def _of_squares(
    kind: Kind, target: Target, what: str, real: Floats, stated: Floats, row: Floats
) -> Iterator[Failure]:
    """Whether squared errors exceed the stated variances, or these exceed them by too much and by more than a row's."""
    widest = WIDEST_OF_COMBINATIONS if kind in ("sum", "contrast") else WIDEST
    mean_square = float(np.nanmean(real))
    times = (
        f"{np.sqrt(np.nanmean(stated) / mean_square):.3g} times the real ones"
        if mean_square
        else "not 0, and there are no errors"
    )
    seen = f"{what}: stated standard errors are {times} over the releases"
    narrow = mean_p_value(_mean(real - stated))
    wide = mean_p_value(_mean(stated / widest**2 - real - row))
    yield Failure("spread", kind, target, f"{seen}, expected is 1 or more ({_probability(narrow)}).", narrow)
    yield Failure(
        "width", kind, target, f"{seen}, expected is {widest:g} or less ({_probability(wide)}).", wide
    )


def _is_large(record: Record) -> Booleans:
    """Which questions are about enough rows for means to say something; a contrast is about two large cells."""
    if record.kind in ("share", "contrast"):
        return np.ones(len(record.labels), dtype=np.bool_)
    return np.asarray(_mean(record.truths, axis=0) >= SMALLEST_MEAN_COUNT)


def _mean(values: Floats, axis: int = 1) -> Floats:
    """Means of what is there; no number where nothing is."""
    there = np.isfinite(values)
    number = there.sum(axis=axis)
    sums = np.where(there, values, 0).sum(axis=axis)
    return np.asarray(np.divide(sums, number, out=np.full(sums.shape, np.nan), where=number > 0))


def _answered(values: Floats) -> int:
    return int(np.isfinite(values).sum())


def _probability(p_value: float) -> str:
    return f"an honest law does so with probability {p_value:.1g}"
