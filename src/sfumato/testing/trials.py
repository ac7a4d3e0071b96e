"""Many releases of tables from a known population; bias, coverage and stated errors tested; findings in sentences."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from sfumato.arrays import Booleans, Floats
from sfumato.custody.publish import in_memory, prepare
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.estimates.estimates import Certainty
from sfumato.laws.base import Law
from sfumato.laws.estimator import Target
from sfumato.methods.base import Design
from sfumato.randomness.streams import NoiseSource
from sfumato.release.loading import hold_release
from sfumato.release.release import Release
from sfumato.testing.queries import KINDS, Answers, Asked, Block, Kind, as_asked, blocks_of, redrawn

# --------------------------------------------------------------------------------------------------
# What a check of a method found, in sentences.


Aspect = Literal[
    "bias",
    "coverage",
    "spread",
    "width",
    "claims",
    "doors",
    "answers",
    "attacks",
    "pickling",
    "manifest",
    "documentation",
]
"""What can be wrong: estimates off on average; intervals that do not cover; standard errors smaller than the real
spread, or much larger; numbers called exact or bounds called certain that are not; ways to ask that disagree;
questions refused or broken without a declared reason; attacks that do not run; steps that cannot be sent to workers;
a manifest that does not give the design and the law back; what the method does not say about itself."""


@dataclass(frozen=True)
class Failure:
    """One thing that is not as it should be.

    Parameters
    ----------
    aspect
        What is wrong.
    kind, target
        Of which kind of answer, about what; empty where it concerns the method as a whole.
    sentence
        What was expected, what was seen, and how unlikely that is.
    p_value
        Probability of seeing it by chance; 0 where chance has no part in it.
    """

    aspect: Aspect
    kind: str
    target: str
    sentence: str
    p_value: float = 0.0

    @property
    def identity(self) -> tuple[str, str, str]:
        """Aspect, kind and target: what a register of known failures names."""
        return self.aspect, self.kind, self.target

    def __str__(self) -> str:
        where = f" of {self.kind} answers about the {self.target}" if self.kind else ""
        return f"{self.aspect}{where}: {self.sentence}"


def gathered(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """One failure for each identity: the least likely, with how many more there are.

    Examples
    --------
    >>> both = [Failure("bias", "sum", "table", "off by 3.", 1e-9), Failure("bias", "sum", "table", "off by 9.", 1e-20)]
    >>> [str(each) for each in gathered(both)]
    ['bias of sum answers about the table: off by 9. So it is with 1 more.']
    """
    by_identity: dict[tuple[str, str, str], list[Failure]] = {}
    for each in failures:
        by_identity.setdefault(each.identity, []).append(each)
    return tuple(_worst(same) for same in by_identity.values())


def _worst(failures: list[Failure]) -> Failure:
    worst = min(failures, key=lambda each: each.p_value)
    more = f" So it is with {len(failures) - 1} more." if len(failures) > 1 else ""
    return dataclasses.replace(worst, sentence=worst.sentence + more)


@dataclass(frozen=True)
class HonestyReport:
    """Everything a check of a method found.

    It speaks of true counts: it is as private as the table that the method was tried on.

    Parameters
    ----------
    method
        Public name.
    releases
        How many were made.
    alpha
        Probability that a method without fault fails any of the random checks.
    random_checks
        Over how many it was split.
    failures
        What is wrong; empty when nothing was found.
    refusals
        By kind and target, what the law says when it leaves all questions of a kind open.
    """

    method: str
    releases: int
    alpha: float
    random_checks: int
    failures: tuple[Failure, ...]
    refusals: dict[tuple[str, str], str]

    @property
    def is_honest(self) -> bool:
        """Whether nothing was found, in this many releases at this alarm rate."""
        return not self.failures

    def __repr__(self) -> str:
        return f"HonestyReport({self.method}: {len(self.failures)} failures in {self.releases} releases)"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The failures, one a line, and what was tried."""
        tried = (
            f"{self.method}: {len(self.failures)} failures in {self.releases} releases; "
            f"{self.random_checks} random checks, alarm rate {self.alpha:.2g} for all of them together"
        )
        return "\n".join([tried, *(f"- {each}" for each in self.failures)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "releases": self.releases,
            "alpha": self.alpha,
            "random_checks": self.random_checks,
            "failures": [vars(each) for each in self.failures],
            "refusals": [
                {"kind": kind, "target": target, "sentence": sentence}
                for (kind, target), sentence in self.refusals.items()
            ],
        }

    def raise_for_failures(self) -> None:
        """Raise AssertionError with the summary unless nothing was found, for use in a test."""
        if self.failures:
            raise AssertionError(self.summary())


# --------------------------------------------------------------------------------------------------
# How unlikely a run of answers would be, if the law were honest.


FEWEST_VALUES = 30
"""Below this many values the law of a mean is not known well enough to say anything."""


def mean_p_value(values: Floats) -> float:
    r"""Probability that the mean of independent values comes out this far above zero, if it is zero or less.

    The larger of Student's and the one after Hall's correction for skewness, so that a few large values do
    not raise an alarm by themselves. Asymptotic.

    Notes
    -----
    With T Student's statistic, n values and sample skewness g, Hall's transformation is
    T + g T\ :sup:`2` / (3 \sqrt n) + g\ :sup:`2` T\ :sup:`3` / (27 n) + g / (6 \sqrt n).

    References
    ----------
    Hall, P. (1992). On the removal of skewness by transformation. JRSS B 54, 221-228.

    Examples
    --------
    >>> mean_p_value(np.zeros(40))
    1.0
    >>> mean_p_value(np.ones(40))
    0.0
    """
    from scipy.special import stdtr

    sample = values[np.isfinite(values)]
    if sample.size < FEWEST_VALUES or sample.mean() <= 0:
        return 1.0
    spread = float(sample.std(ddof=1))
    if spread <= np.finfo(np.float64).eps * abs(float(sample.mean())):
        return 0.0
    root = math.sqrt(sample.size)
    student = float(sample.mean()) * root / spread
    skew = float(np.mean((sample - sample.mean()) ** 3)) / spread**3 / root
    corrected = student + skew * student**2 / 3 + skew**2 * student**3 / 27 + skew / 6
    return float(stdtr(sample.size - 1, -min(student, corrected)))


def coverage_p_value(covered: Floats, least: float) -> float:
    """Probability that so few intervals hold the truth, if each does with the least probability; exact binomial.

    Examples
    --------
    >>> round(coverage_p_value(np.zeros(10), 0.9), 12)
    1e-10
    """
    from scipy.special import bdtr

    asked = covered[np.isfinite(covered)]
    return float(bdtr(asked.sum(), asked.size, least)) if asked.size else 1.0


# --------------------------------------------------------------------------------------------------
# Many releases of tables redrawn from a known population, and what each of them answered.


TARGETS: tuple[Target, ...] = get_args(Target)

ROUNDING = 1e-6
"""How far a number may be from the truth, as a share of it, and still be called the truth."""


@dataclass(frozen=True, eq=False)
class Record:
    """What became of some questions about one target, release by release.

    Every array is ``(releases, questions)``; where a release refused, it holds no number.

    Parameters
    ----------
    kind, target, labels
        What was asked.
    truths, errors, standard_errors
        True numbers, estimates less true numbers, and what was stated.
    covered
        1 where the 95 % interval held the truth, 0 where it did not.
    false_claims
        1 where a number that is called exact was not the truth, where the truth lay outside bounds that are called
        certain, or where an error of 0 was stated of a number that is not called exact; 0 elsewhere.
    refusal
        What the release said when it refused; empty when none did.
    """

    kind: Kind
    target: Target
    labels: tuple[str, ...]
    truths: Floats
    errors: Floats
    standard_errors: Floats
    covered: Floats
    false_claims: Floats
    refusal: str = ""

    @property
    def is_answered(self) -> bool:
        """Whether some release answered."""
        return bool(np.isfinite(self.errors).any())


@dataclass(frozen=True, eq=False)
class Trials:
    """What many releases of one design answered.

    Parameters
    ----------
    releases
        How many were made.
    records
        What was answered.
    faults
        What a law raised instead of answering or refusing, in sentences.
    unpublished
        Why tables were not published, for each that was not.
    """

    releases: int
    records: tuple[Record, ...]
    faults: tuple[str, ...] = ()
    unpublished: tuple[str, ...] = ()

    def pooled(self, kind: Kind, target: Target) -> list[Record]:
        """The records of one kind about one target."""
        return [each for each in self.records if (each.kind, each.target) == (kind, target)]


Make = Callable[[PrivateTable, Design, NoiseSource], Release]
"""Publishes a table in memory by a design, and opens what was published."""


def made_in_memory(table: PrivateTable, design: Design, noise: NoiseSource) -> Release:
    """A release that is never written."""
    publication, describe = prepare(table, design, noise)
    return hold_release(publication.tables, describe, read=table.scan, noise=noise)


def run_trials(
    design: Design, table: PrivateTable, *, releases: int, seed: int, make: Make = made_in_memory
) -> Trials:
    """Draw tables from the rows of a table, publish each, and ask every release the same questions.

    The table is the population: its counts are what answers about the population are held against, and the
    counts of the redrawn tables what answers about the table are.
    """
    population = in_memory(table)
    noise = NoiseSource.seeded(seed)
    gathered: dict[tuple[int, Target], _Gathering] = {}
    blocks: tuple[Block, ...] = ()
    unpublished: list[str] = []
    faults: dict[str, None] = {}
    for number in range(releases):
        fresh = noise.named(f"release {number}")
        drawn = redrawn(population, fresh)
        try:
            release = make(drawn, design, fresh)
        except SfumatoError as refusal:
            unpublished.append(str(refusal))
            continue
        truths = {
            "table": as_asked(drawn, release.schema),
            "population": as_asked(population, release.schema),
        }
        blocks = blocks or blocks_of(release.schema, truths["population"])
        for target in TARGETS:
            asked = Asked(release, target)
            for place, block in enumerate(blocks):
                # By its place: a block is hashed by all that its schema holds.
                if (place, target) not in gathered:
                    gathered[place, target] = _Gathering(releases, block, target)
                found = gathered[place, target]
                try:
                    found.take(number, block.ask(asked), found.truth(truths[target]))
                except SfumatoError as refusal:
                    found.refusal = str(refusal)
                except Exception as fault:  # noqa: BLE001 - whatever a stranger's law raises is a finding
                    faults[f"{block.labels[0]}: {type(fault).__name__}: {fault}"] = None
    return Trials(
        releases,
        tuple(each.record() for each in gathered.values()),
        tuple(faults),
        tuple(unpublished),
    )


class _Gathering:
    """Answers as they come in, a row of every array for each release."""

    def __init__(self, releases: int, block: Block, target: Target) -> None:
        self.block = block
        self.target = target
        self.refusal = ""
        self.arrays = np.full((5, releases, len(block.labels)), np.nan)
        self._told: tuple[PrivateTable, Floats] | None = None

    def truth(self, table: PrivateTable) -> Floats:
        """The true numbers of a table; those of the population, which every release is held against, are counted once."""
        if self._told is None or self._told[0] is not table:
            self._told = table, self.block.truth(table)
        return self._told[1]

    def take(self, release: int, answers: Answers, truth: Floats) -> None:
        slack = ROUNDING * np.maximum(1, np.abs(truth))
        is_inside = (answers.low - slack <= truth) & (truth <= answers.high + slack)
        # What is exact lies between itself and itself.
        is_false = (truth < answers.least - slack) | (answers.most + slack < truth)
        is_false |= (answers.standard_errors == 0) & (answers.certainty < Certainty.EXACT)
        # Without a standard error there is no interval either.
        covered = np.where(np.isfinite(answers.standard_errors), is_inside, np.nan)
        # The error of an assumption is no chance error, and a standard error says nothing about its size.
        is_assumed = answers.is_assumed | (answers.certainty == Certainty.OPEN)
        stated = np.where(is_assumed, np.nan, answers.standard_errors)
        errors = answers.values - truth
        # The last digits of floats are no bias.
        errors[np.abs(errors) <= slack] = 0
        self.arrays[:, release] = (truth, errors, stated, covered, is_false)
        # A share of an empty group is no number, and nothing can be held against it.
        self.arrays[1:, release, ~np.isfinite(truth)] = np.nan

    def record(self) -> Record:
        truths, errors, standard_errors, covered, false_claims = self.arrays
        return Record(
            self.block.kind,
            self.target,
            self.block.labels,
            truths,
            errors,
            standard_errors,
            covered,
            false_claims,
            self.refusal,
        )


# --------------------------------------------------------------------------------------------------
# What many answers show of a law: bias, coverage, stated against real errors, false claims.


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
