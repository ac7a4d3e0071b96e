"""Level by level: sets of items that are frequent, then the rules within them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sfumato.analysis.asking import Crossed
from sfumato.analysis.classification import Classification
from sfumato.analysis.differentiation import noise_bias
from sfumato.analysis.measures.declarations import MEASURES
from sfumato.analysis.measures.measuring import (
    Interval,
    MeasuredValue,
    half_width_of,
    refuse_unknown_interval,
    value_of,
)
from sfumato.analysis.measures.noise import covariance_about
from sfumato.analysis.rules.bits import ItemSet, joined
from sfumato.analysis.rules.items import Item
from sfumato.analysis.rules.result import FrequentSet, Rule
from sfumato.analysis.rules.share_ranges import ShareRanges
from sfumato.analysis.rules.supports import Supports
from sfumato.errors import ParameterError, TooLargeError
from sfumato.laws import Target, refuse_unknown_target
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates, normal_quantile
from sfumato.values.predicate import Predicate

DecideBy = Literal["estimate", "lower", "upper"]
"""What a threshold is held against: the estimate; the lower end of its interval, so that few false sets and rules pass; or
the upper end, so that few are missed."""

MOST_CANDIDATES = 2_000_000
"""Sets of one length that are counted."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is looked for.

    Parameters
    ----------
    minimum_support, minimum_confidence
        Thresholds, as shares.
    longest
        Items of the longest sets.
    decide_by
        What the thresholds are held against.
    longest_consequent
        Items that may follow from others at a time.
    interval
        Kind of the ranges of confidence and lift; those of supports are normal.
    confidence_level
        Of the ranges.
    simultaneous
        Whether the ranges hold for all rules that were considered together, by Bonferroni's inequality.
    target
        The private table's own rows, or the population behind them.
    """

    minimum_support: float = 0.01
    minimum_confidence: float = 0.5
    longest: int = 4
    decide_by: DecideBy = "estimate"
    longest_consequent: int = 1
    interval: Interval = "normal"
    confidence_level: float = 0.95
    simultaneous: bool = False
    target: Target = "table"

    def __post_init__(self) -> None:
        for name, share in (
            ("minimum_support", self.minimum_support),
            ("minimum_confidence", self.minimum_confidence),
        ):
            lowest_allowed = 0 if name == "minimum_confidence" else np.finfo(float).tiny
            if not lowest_allowed <= share <= 1:
                above = "from 0" if name == "minimum_confidence" else "above 0"
                raise ParameterError(
                    f"{name} is a share {above} and at most 1, got {share}. Use 0.01 for one row in a hundred.",
                    parameter=name,
                )
        for name, number in (("longest", self.longest), ("longest_consequent", self.longest_consequent)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ParameterError(
                    f"{name} is a whole number of items from 1 on, got {number!r}.", parameter=name
                )
        if self.decide_by not in get_args(DecideBy):
            raise ParameterError(
                f"decide_by must be one of {', '.join(get_args(DecideBy))}, got {self.decide_by!r}. Leave it out for the "
                "estimate.",
                parameter="decide_by",
            )
        refuse_unknown_interval(self.interval)
        refuse_unknown_target(self.target)
        normal_quantile(self.confidence_level)

    def decided(self, value: Floats | float, low: Floats | float, high: Floats | float) -> Floats | float:
        """What the threshold is held against."""
        return {"estimate": value, "lower": low, "upper": high}[self.decide_by]


@dataclass(frozen=True, eq=False)
class Mined:
    """What was found.

    Parameters
    ----------
    sets, rules
        Those that pass.
    sets_counted, rules_considered
        Of how many.
    """

    sets: tuple[FrequentSet, ...]
    rules: tuple[Rule, ...]
    sets_counted: int
    rules_considered: int


@dataclass(frozen=True, eq=False)
class _Level:
    """Sets of one length that pass, their supports, and what was looked at to find them."""

    sets: list[ItemSet]
    supports: ShareRanges
    counted: int
    considered: int


def mine(supports: Supports, settings: Settings, *, consequents: Sequence[Item] | None = None) -> Mined:
    """Frequent sets and the rules within them.

    Parameters
    ----------
    supports
        What answers for item sets.
    settings
        What is looked for.
    consequents
        Items that rules may be about; all when not given.

    Raises
    ------
    TooLargeError
        When there are too many sets to count.
    NotIdentifiableError
        When the release's law leaves the joint of some items open.
    """
    chosen = frozenset(supports.items if consequents is None else consequents)
    allowed = frozenset(place for place, item in enumerate(supports.items) if item in chosen)
    levels = list(_levels(supports, settings, allowed))
    considered = sum(each.considered for each in levels)
    ranges = _Ranges.of(settings, considered)
    sets = tuple(
        FrequentSet(
            tuple(supports.items[place].text for place in places),
            float(share),
            math.sqrt(variance),
            max(float(low), 0.0),
            min(float(high), 1.0),
            Certainty(int(claim)),
        )
        for level in levels
        for places, share, variance, low, high, claim in zip(
            level.sets,
            level.supports.shares.values,
            level.supports.shares.variances,
            *level.supports.reaching(ranges.support),
            level.supports.certainty,
            strict=True,
        )
    )
    found = (
        _rule(supports, both, second, settings, ranges)
        for level in levels[1:]
        for both in level.sets
        for second in _consequents(both, allowed, settings)
    )
    rules = [each for each in found if each is not None]
    rules.sort(key=_rank, reverse=True)
    return Mined(sets, tuple(rules), sum(each.counted for each in levels), considered)


def _rank(rule: Rule) -> tuple[bool, float, float]:
    """By the confidence; where noise makes it more than there can be, by what the interval leaves of it."""
    confidence = rule.confidence
    return not confidence.undefined, min(confidence.estimate, 1.0), confidence.low


def _levels(supports: Supports, settings: Settings, allowed: frozenset[int]) -> Iterator[_Level]:
    """One length after the other, until nothing is frequent any more."""
    candidates: list[ItemSet] = [(place,) for place in range(len(supports.items))]
    estimated, whole = supports.singles(), supports.whole()
    attributes = supports.attributes
    for length in range(1, settings.longest + 1):
        level = _passing(candidates, estimated, whole, settings, allowed)
        yield level
        if length == settings.longest or len(level.sets) < 2:
            return
        candidates = list(itertools.islice(joined(level.sets, attributes), MOST_CANDIDATES + 1))
        if len(candidates) > MOST_CANDIDATES:
            raise TooLargeError(
                f"{len(level.sets):,} sets of {length} are frequent, which gives more than {MOST_CANDIDATES:,} sets of "
                f"{length + 1} to count. Raise minimum_support, name fewer items, or decide by the lower end of the "
                "intervals: noise alone makes some sets look frequent, and more of them the longer they are."
            )
        if not candidates:
            return
        estimated = supports.of(candidates)


def _passing(
    candidates: list[ItemSet],
    estimated: Estimates,
    whole: Estimates,
    settings: Settings,
    allowed: frozenset[int],
) -> _Level:
    found = ShareRanges.of(estimated, whole, settings.target)
    low, high = found.reaching(normal_quantile(settings.confidence_level))
    decided = settings.decided(found.shares.values, low, high)
    kept = np.flatnonzero(decided >= settings.minimum_support)
    considered = sum(1 for each in candidates for _ in _consequents(each, allowed, settings))
    return _Level([candidates[place] for place in kept], found.keep(kept), len(candidates), considered)


def _consequents(both: ItemSet, allowed: frozenset[int], settings: Settings) -> Iterator[ItemSet]:
    """Parts of a set that may follow from the rest."""
    places = [place for place in both if place in allowed]
    for length in range(1, min(settings.longest_consequent, len(both) - 1) + 1):
        yield from itertools.combinations(places, length)


@dataclass(frozen=True)
class _Ranges:
    """Half-widths in standard errors: of supports, and of what is computed from them."""

    support: float
    derived: float

    @classmethod
    def of(cls, settings: Settings, considered: int) -> _Ranges:
        # Bonferroni: the probability of missing is split over all rules that were looked at, shown or not.
        number = max(considered, 1) if settings.simultaneous else 1
        level = 1 - (1 - settings.confidence_level) / number
        return cls(normal_quantile(level), half_width_of(settings.interval, level))


def _rule(
    supports: Supports, both: ItemSet, second: ItemSet, settings: Settings, ranges: _Ranges
) -> Rule | None:
    """The rule that a part of a set follows from the rest, where it passes."""
    first = tuple(place for place in both if place not in second)
    texts = [tuple(supports.items[place].text for place in each) for each in (first, second)]
    least, most = supports.whole().ends()
    crossed = Crossed(
        (_side(texts[0]), _side(texts[1])),
        supports.cells(both, first, second),
        rows=(float(least[0]), float(most[0])),
    )
    is_chebyshev = settings.interval == "chebyshev"
    confidence = _measured("confidence", crossed, ranges.derived, settings.target, is_chebyshev=is_chebyshev)
    decided = settings.decided(confidence.estimate, confidence.low, confidence.high)
    # No number passes a threshold that it cannot be held against.
    if not decided >= settings.minimum_confidence:
        return None
    bias = 0.0 if confidence.undefined else _confidence_bias(crossed, settings.target)
    support = _measured("support", crossed, ranges.support, settings.target)
    lift = _measured("lift", crossed, ranges.derived, settings.target, is_chebyshev=is_chebyshev)
    return Rule(texts[0], texts[1], support, confidence, lift, bias)


def _side(texts: tuple[str, ...]) -> Classification:
    text = " AND ".join(texts)
    return Classification(text, (f"not ({text})", text), _NOT_ASKED)


_NOT_ASKED = Predicate(())
"""Of a classification that only names things."""


def _measured(
    name: str, crossed: Crossed, half_width: float, target: Target, *, is_chebyshev: bool = False
) -> MeasuredValue:
    declared = MEASURES[name]
    cells = crossed.counts.values
    margins = {"support": cells.sum(), "confidence": cells[2] + cells[3]}
    divisor = min(cells[2] + cells[3], cells[1] + cells[3]) if name == "lift" else margins[name]
    if divisor > 0:
        found = value_of(declared, crossed, half_width, target, holds_for_any_law=is_chebyshev)
        if not found.undefined:
            return found
        reason = found.undefined
    else:
        reason = "rows that it divides by are not estimated as positive"
    # Nothing is known of it but where such a number can lie.
    return MeasuredValue(
        name, declared.title, declared.null, low=declared.lowest, high=declared.highest, undefined=reason
    )


def _confidence_bias(crossed: Crossed, target: Target) -> float:
    """What noise adds to a confidence on average (Guo 2010, eq. 3.4): half the trace of Hessian times covariance."""
    cells = crossed.counts.values[2:]
    covariance = covariance_about(crossed.counts, target)[2:, 2:]
    return noise_bias(lambda n: n[1] / n.sum(), cells, covariance)
