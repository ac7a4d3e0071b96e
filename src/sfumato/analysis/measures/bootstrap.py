"""Ranges by drawing published rows anew: right where rows are independent, about the population, and nowhere else."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from sfumato.analysis.asking import Countable, TwoWay
from sfumato.analysis.measures.declarations import MEASURES, Measure
from sfumato.chance.randomness import NoiseSource, NoiseStream
from sfumato.errors import NotIdentifiableError, ParameterError, TooLargeError
from sfumato.laws import Target
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedCounts
from sfumato.release.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.predicate import Predicate
from sfumato.values.selection import Tabulation

REPLICATES = 1_000
"""Times that the rows are drawn anew; the ends of a 95 % range are then off by about a tenth of a standard error."""

LARGEST_TABLE = 5_000
"""Published cells that occur which are drawn anew."""

MOST_UNDEFINED = 0.01
"""Share of replicates without a value from which on there is no range."""


def refuse_unfit(release: Countable, target: Target) -> None:
    """Refuse a bootstrap where it would not show the errors.

    Raises
    ------
    ParameterError
        About the table: rows drawn anew vary as those of a population do, which is not the noise of publishing.
    NotIdentifiableError
        Where published rows depend on each other.
    """
    if target != "population":
        raise ParameterError(
            "drawing rows anew shows how far a draw from the population can be off, not the noise of publishing a given table. "
            "Ask about the population (target), or for normal ranges.",
            parameter="interval",
        )
    law = cast("Release", release).law
    if not law.rows_are_independent:
        raise NotIdentifiableError(
            f"published rows of this law ({cast('Release', release).manifest.law['law']}) depend on each other, so that drawing "
            "them anew does not show the errors. Ask for normal or Chebyshev ranges, which follow from the law."
        )


def resampled(release: Release, table: TwoWay, where: str) -> Floats:
    """Estimated cells of a two-way table for rows drawn anew, ``(replicates, cells)``."""
    among = Predicate.parse(where, release.schema)
    names = tuple(dict.fromkeys((*(name for side in table.sides for name in side.names), *among.names)))
    asked = Tabulation(names)
    formula = release.law.formula(release, (asked,))
    assert isinstance(formula, PerturbedCounts)
    occupied = int(np.count_nonzero(formula.counts))
    if occupied > LARGEST_TABLE:
        raise TooLargeError(
            f"{occupied:,} published combinations of {', '.join(names)} occur; at most {LARGEST_TABLE:,} are drawn anew. "
            "Ask about fewer attributes, or for normal ranges."
        )
    grid = np.indices(formula.counts.shape).reshape(len(names), -1)
    codes = dict(zip(names, grid, strict=True))
    columns = len(table.sides[1].labels)
    classes = table.sides[0].classes(codes) * columns + table.sides[1].classes(codes)
    every = np.ones(grid.shape[1], dtype=np.bool_)
    ways = [
        np.logical_and.reduce([every, *(np.isin(codes[name], chosen) for name, chosen in part.conditions)])
        for part in among.parts
    ]
    weights = (classes[None, :] == np.arange(table.counts.values.size)[:, None]) & np.logical_or.reduce(ways)
    stream = NoiseSource.seeded(0).named("rows drawn anew").stream(0)
    return np.array(
        [
            weights @ dataclasses.replace(formula, counts=drawn.reshape(formula.counts.shape)).values(asked)
            for drawn in _drawn_anew(formula.counts.ravel(), stream)
        ]
    )


def _drawn_anew(counts: Floats, stream: NoiseStream) -> Floats:
    """Counts of as many rows drawn with replacement, ``(replicates, cells)``: one binomial after the other.

    The numbers are the same every time: nothing is protected by them, and an answer must not change when asked again.
    """
    from scipy.stats import binom

    drawn = np.zeros((REPLICATES, counts.size))
    left = np.full(REPLICATES, counts.sum())
    rest = float(counts.sum())
    for cell in np.flatnonzero(counts):
        uniform = stream.words(REPLICATES) / 2.0**64
        drawn[:, cell] = left if counts[cell] >= rest else binom.ppf(uniform, left, counts[cell] / rest)
        left -= drawn[:, cell]
        rest -= float(counts[cell])
    return drawn


def reflected_range(
    declared: Measure, cells: Floats, shape: tuple[int, int], raw: float, confidence_level: float
) -> tuple[float, float, float]:
    """Standard error and ends of a range on the measure's scale, from cells of rows drawn anew.

    The quantiles are reflected at the estimate: a measure that noise makes larger is larger again by as much when
    rows are drawn anew, which the reflection takes out.

    Returns
    -------
    tuple
        Not numbers where too many replicates leave the measure undefined.
    """
    with np.errstate(all="ignore"):
        values = np.array([_value(declared, each.reshape(shape)) for each in cells])
    known = values[np.isfinite(values)]
    if known.size < (1 - MOST_UNDEFINED) * values.size:
        return math.nan, math.nan, math.nan
    missed = (1 - confidence_level) / 2
    low, high = np.quantile(known, [missed, 1 - missed])
    return float(known.std(ddof=1)), 2 * raw - float(high), 2 * raw - float(low)


def _value(declared: Measure, cells: Floats) -> float:
    rows = cells.sum()
    shares = cells / rows
    needed: Sequence[tuple[int, int]] = (
        tuple(np.ndindex(*shares.shape)) if declared.positive == "all" else declared.positive
    )
    margins = min(shares.sum(axis=0).min(), shares.sum(axis=1).min())
    if margins <= 0 or any(shares[place] <= 0 for place in needed):
        return math.nan
    return float(np.real(MEASURES[declared.name].formula(shares, rows)))
