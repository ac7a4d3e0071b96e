"""An entry of the matrix: what the answers of one kind, about one target and of one size, came to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Key(NamedTuple):
    """Where an entry stands."""

    kind: str
    target: str
    size: str


@dataclass(frozen=True)
class Entry:
    """What many answers came to.

    Parameters
    ----------
    answers
        All of them.
    certain
        Those that were called exact or bounded.
    wrong
        Claims that were not so.
    intervals
        Estimates with an interval.
    coverage, coverage_error
        Share of them that held the truth, and its standard error: answers of one release hang together.
    below, above
        Shares of truths below and above the interval.
    cut
        Share of intervals that end at a certain bound.
    spread, spread_error
        Stated standard errors over real ones, and the standard error of that; no number where nothing can be said.
    """

    answers: int
    certain: int
    wrong: int
    intervals: int
    coverage: float
    coverage_error: float
    below: float
    above: float
    cut: float
    spread: float
    spread_error: float

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Entry:
        """As read from a file."""
        return cls(**{name: math.nan if value is None else value for name, value in plain.items()})

    def to_dict(self) -> dict[str, Any]:
        """For a file; five digits are more than any of it is known to."""
        return {
            name: None if value != value else round(value, 5) if isinstance(value, float) else value  # noqa: PLR0124
            for name, value in vars(self).items()
        }


def entry_of(arrays: Mapping[str, npt.NDArray[np.float64]], place: int, never_too_wide: float = 0.0) -> Entry:
    """The entry of one size class, from ``(releases, questions)`` of each.

    Parameters
    ----------
    never_too_wide
        A stated standard error that is not held to be too large, however small the real one is.
    """
    is_here = arrays["places"] == place
    misses = np.where(is_here, arrays["misses"], np.nan)
    has_interval = np.isfinite(misses)
    number = int(has_interval.sum())
    coverage, error = _ratio((has_interval & (misses == 0)).sum(axis=1), has_interval.sum(axis=1))
    spread, spread_error = _spread(
        np.where(is_here, arrays["errors"] ** 2, np.nan),
        np.where(is_here, arrays["variances"], np.nan),
        never_too_wide,
    )
    return Entry(
        answers=int(is_here.sum()),
        certain=int((is_here & (arrays["certain"] == 1)).sum()),
        wrong=int((is_here & (arrays["wrong"] == 1)).sum()),
        intervals=number,
        coverage=coverage,
        coverage_error=error,
        below=float((misses == -1).sum() / number) if number else math.nan,
        above=float((misses == 1).sum() / number) if number else math.nan,
        cut=float((has_interval & (arrays["is_cut"] == 1)).sum() / number) if number else math.nan,
        spread=spread,
        spread_error=spread_error,
    )


def combined(entries: Sequence[Entry]) -> Entry:
    """Of several runs with different seeds: each weighs as its number of intervals."""
    if len(entries) == 1:
        return entries[0]
    intervals = np.array([each.intervals for each in entries], float)

    def weighted(name: str) -> npt.NDArray[np.float64]:
        values = np.array([getattr(each, name) for each in entries], float)
        # A run with few answers says nothing of the spread, and has no weight in it.
        weights = np.where(np.isfinite(values), intervals, 0.0)
        return np.asarray(weights * values / weights.sum() if weights.any() else np.full(1, math.nan))

    def mean(name: str) -> float:
        return float(np.nansum(found)) if np.isfinite(found := weighted(name)).any() else math.nan

    def error(name: str) -> float:
        return math.sqrt(np.nansum(found**2)) if np.isfinite(found := weighted(name)).any() else math.nan

    return Entry(
        answers=sum(each.answers for each in entries),
        certain=sum(each.certain for each in entries),
        wrong=sum(each.wrong for each in entries),
        intervals=sum(each.intervals for each in entries),
        coverage=mean("coverage"),
        coverage_error=error("coverage_error"),
        below=mean("below"),
        above=mean("above"),
        cut=mean("cut"),
        spread=mean("spread"),
        spread_error=error("spread_error"),
    )


def _ratio(held: npt.NDArray[Any], asked: npt.NDArray[Any]) -> tuple[float, float]:
    """Share held, and its standard error from release to release."""
    total = asked.sum()
    if not total:
        return math.nan, math.nan
    share = held.sum() / total
    scatter = float(np.sum((held - share * asked) ** 2))
    releases = np.count_nonzero(asked)
    # Nothing missed is not nothing to miss: no standard error is below that of half a miss.
    least = math.sqrt(0.5) / total
    error = math.sqrt(scatter * releases / max(releases - 1, 1)) / total
    return float(share), max(error, least)


def _spread(real: npt.NDArray[Any], stated: npt.NDArray[Any], never_too_wide: float) -> tuple[float, float]:
    """Root of stated over real mean squares, every question counting alike; and its standard error.

    A question that is in the class in few releases says nothing by itself and is left out. One that states an error
    that is never too wide, and is no worse than that, counts as just right; one that is worse counts as it is.
    """
    has_both = np.isfinite(real) & np.isfinite(stated)
    kept = has_both.sum(axis=0) >= FEWEST_RELEASES
    if not kept.any():
        return math.nan, math.nan
    real, stated = (np.where(has_both, each, 0.0)[:, kept] for each in (real, stated))
    number = has_both[:, kept].sum(axis=0)
    is_small = stated.sum(axis=0) <= number * never_too_wide**2
    real = np.where(is_small & (real.sum(axis=0) < stated.sum(axis=0)), stated, real)
    scale = (real.sum(axis=0) + stated.sum(axis=0)) / 2 / number
    is_free = scale > 0
    if not is_free.any():
        return math.nan, math.nan
    real, stated = (each[:, is_free] / (scale * number)[is_free] for each in (real, stated))
    mean_real, mean_stated = real.sum(), stated.sum()
    if not mean_real or not mean_stated:
        return (0.0 if mean_real else BEYOND_ANY), 0.0
    ratio = mean_stated / mean_real
    by_release = stated.sum(axis=1) - ratio * real.sum(axis=1)
    error = math.sqrt(float(np.sum(by_release**2))) / mean_real
    return math.sqrt(ratio), error / (2 * math.sqrt(ratio))


FEWEST_RELEASES = 30
"""Answers of a question below which its mean square is not looked at."""

BEYOND_ANY = 1000.0
"""Stated over real spread of numbers that never erred though they state an error."""
