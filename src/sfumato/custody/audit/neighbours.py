"""Telling two neighbouring tables apart from what is published of them, more often than a promise allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.methods.columnized_counts.law.columns import COUNT_COLUMN, read_table
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.methods.noisy_marginals.law.marginals import read_marginal
from sfumato.methods.noisy_marginals.law.noisy_counts import NoisyCounts
from sfumato.release import Release
from sfumato.values.arrays import Floats

LEAST_PROBABILITY = 1e-300


@dataclass(frozen=True)
class Distinguished:
    """An event that one table makes likelier than its neighbour, and by how much at least.

    Parameters
    ----------
    often, seldom
        Times that it happened on either table, in the half of the trials that did not choose it.
    trials
        Of that half, for each table.
    allowed
        What the promise makes of the smaller probability at most, at its upper limit.
    lower
        Lower limit of the larger probability.
    p_level
        Level at which both limits hold.
    """

    often: int
    seldom: int
    trials: int
    allowed: float
    lower: float
    p_level: float

    @property
    def is_refuted(self) -> bool:
        """The promise allows less than was seen."""
        return self.lower > self.allowed


def distinguish(one: Floats, other: Floats, growth: float, delta: float, level: float) -> Distinguished:
    """Whether some threshold of a statistic tells two tables apart better than a promise allows.

    The threshold is chosen on the first half of the trials and judged on the second, so that choosing costs nothing.

    Parameters
    ----------
    one, other
        ``(trials,)``: the statistic on either table, large where the first is likelier.
    growth, delta
        The promise: ``p <= growth q + delta``.
    level
        Probability of refuting what holds.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> far, near = generator.normal(2, 1, 4_000), generator.normal(0, 1, 4_000)
    >>> distinguish(far, near, 2.0, 0.0, 1e-4).is_refuted, distinguish(near, near, 2.0, 0.0, 1e-4).is_refuted
    (True, False)
    """
    half = len(one) // 2
    chosen = _best_threshold(one[:half], other[:half], growth, delta, level)
    often = int((one[half:] >= chosen).sum())
    seldom = int((other[half:] >= chosen).sum())
    trials = len(one) - half
    lower = _limit(often, trials, level / 2, is_upper=False)
    upper = _limit(seldom, trials, level / 2, is_upper=True)
    return Distinguished(often, seldom, trials, growth * upper + delta, lower, level)


def _best_threshold(one: Floats, other: Floats, growth: float, delta: float, level: float) -> float:
    candidates = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0.01, 0.995, 100)))
    gains = [
        _limit(int((one >= each).sum()), len(one), level / 2, is_upper=False)
        - growth * _limit(int((other >= each).sum()), len(other), level / 2, is_upper=True)
        - delta
        for each in candidates
    ]
    return float(candidates[int(np.argmax(gains))])


def _limit(successes: int, trials: int, level: float, *, is_upper: bool) -> float:
    """One-sided exact limit of a probability (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    if is_upper:
        return 1.0 if successes >= trials else float(betaincinv(successes + 1, trials - successes, 1 - level))
    return 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, level))


def statistic_between(release: Release, one: PrivateTable, other: PrivateTable) -> Callable[[Release], float]:
    """How much likelier a release is of one table than of its neighbour, by the law that it states.

    Raises
    ------
    ParameterError
        When no such statistic is known for the law.
    """
    law = release.law
    if isinstance(law, NoisyCounts):
        return _between_counts(law, one, other)
    if isinstance(law, NoisyRows) and law.columns:
        return _between_rows(law, one, other)
    raise ParameterError(
        f"neighbouring tables are told apart by noisy counts, and releases of {release.method} have none.",
        parameter="method",
    )


def _between_counts(law: NoisyCounts, one: PrivateTable, other: PrivateTable) -> Callable[[Release], float]:
    tables = []
    for marginal in law.marginals:
        names = list(marginal.attributes)
        first, second = one.count_by(names).counts, other.count_by(names).counts
        differ = np.nonzero(first != second)
        tables.append((marginal, differ, first[differ], second[differ]))

    def statistic(release: Release) -> float:
        total = 0.0
        for marginal, differ, first, second in tables:
            shown = read_marginal(release, marginal).counts[differ]
            for sign, counts in ((1, first), (-1, second)):
                chance = marginal.noise.probability(np.round(shown - counts).astype(np.int64))
                total += sign * float(np.log(np.maximum(chance, LEAST_PROBABILITY)).sum())
        return total

    return statistic


def _between_rows(law: NoisyRows, one: PrivateTable, other: PrivateTable) -> Callable[[Release], float]:
    changed = []
    for column in law.columns:
        names = list(column.attributes)
        first, second = one.count_by(names).counts, other.count_by(names).counts
        for place in np.argwhere(first != second):
            key = tuple(int(each) for each in place)
            changed.append((column.table, names, key, int(first[key]), int(second[key])))

    def statistic(release: Release) -> float:
        total = 0.0
        for table, names, key, first, second in changed:
            codes, (counts,) = read_table(release, table, names, (COUNT_COLUMN,))
            found = np.ones(len(counts), bool)
            for name, code in zip(names, key, strict=True):
                found &= codes[name] == code
            shown = int(counts[found].sum())
            largest = max(shown, 1)
            one_chance, other_chance = (law.matrix.row(each, largest)[shown] for each in (first, second))
            total += math.log(max(one_chance, LEAST_PROBABILITY)) - math.log(
                max(other_chance, LEAST_PROBABILITY)
            )
        return total

    return statistic


def row_with_copies(table: PrivateTable, least: int) -> int:
    """A row whose combination has the smallest number of copies from ``least`` on, or the most there are."""
    rows = table.source
    assert isinstance(rows, CodedRows)
    columns = np.stack([rows.codes[name] for name in table.schema.names], axis=1)
    _, index, counts = np.unique(columns, axis=0, return_inverse=True, return_counts=True)
    copies = counts[index.ravel()]
    enough = copies[copies >= least]
    wanted = int(enough.min()) if enough.size else int(copies.max())
    return int(np.flatnonzero(copies == wanted)[0])
