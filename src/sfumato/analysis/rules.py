"""Association rules: mined level by level from a release or from rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from sfumato.analysis.counts import Classification, Crossed, as_columns
from sfumato.analysis.equations import Leaning, noise_bias
from sfumato.analysis.identified_sets import are_loose, shares_between
from sfumato.analysis.itemsets import (
    BitColumns,
    BitSupports,
    CountedSupports,
    Distorted,
    Item,
    ItemSet,
    Supports,
    items_of,
    joined,
)
from sfumato.analysis.measure_formulas import MEASURES, covariance_about
from sfumato.analysis.measures import (
    Interval,
    MeasuredValue,
    half_width_of,
    refuse_unknown_interval,
    value_of,
)
from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import NotIdentifiableError, ParameterError, TooLargeError
from sfumato.estimates.answers import show_end
from sfumato.estimates.estimates import Certainties, Certainty, Estimates, normal_quantile
from sfumato.laws import Target, refuse_target, refuse_unknown_target
from sfumato.methods.randomized_response.law import PerturbedItems, PerturbedRows
from sfumato.query.selection import Predicate
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion
from sfumato.release.release import Release
from sfumato.results import Charted, ResultTable, scatter_chart
from sfumato.text import counted, percent, percent_as_stated, show

# --------------------------------------------------------------------------------------------------
# Shares of rows that have all items of sets, with ranges.


@dataclass(frozen=True, eq=False)
class ShareRanges:
    """Supports of sets, and what their ranges need.

    Parameters
    ----------
    shares
        By chance alone.
    ends
        The least and the most that supports may be where counts lie within bounds only, with what chance adds to each.
    loose
        Which these are, ``(sets,)``.
    certainty
        What each support claims, ``(sets,)``.
    """

    shares: Leaning
    ends: tuple[Leaning, Leaning]
    loose: Booleans
    certainty: Certainties

    @classmethod
    def of(cls, counts: Estimates, whole: Estimates, target: Target) -> ShareRanges:
        """From numbers of rows about the table, and the number of all rows.

        Where a count, or the number of rows, is known within bounds only, the estimate rests on an assumption and its error does too:
        the range then is from the least share that the bounds allow to the most, about a population with the draw of the rows.
        """
        rows = float(whole.values[0])
        shares = _drawn(counts.values / rows, counts.variances / rows**2, rows, target)
        loose = are_loose(counts) | (are_loose(whole) & (counts.certainty >= Certainty.BOUNDED))
        least, most = (float(each[0]) for each in whole.ends())
        low, high = counts.ends()
        # Rows without the set: all but those that have it.
        rest = np.maximum(least - high, 0.0), np.maximum(most - low, 0.0)
        nothing = np.zeros(loose.size)
        ends = [
            _drawn(np.where(loose, each, shares.values), nothing, max(least, 1.0), target)
            for each in shares_between((low, high), rest)
        ]
        claims = np.minimum(counts.certainty, whole.certainty[0])
        if target == "population":
            claims = np.minimum(claims, np.int8(Certainty.ESTIMATED))
        return cls(shares, (ends[0], ends[1]), loose, claims)

    def reaching(self, half_width: float) -> tuple[Floats, Floats]:
        """Ends of ranges of so many standard errors; what is certain holds at every level."""
        low, high = self.shares.reaching(half_width)
        least, most = self.ends[0].reaching(half_width)[0], self.ends[1].reaching(half_width)[1]
        return np.where(self.loose, least, low), np.where(self.loose, most, high)

    def keep(self, places: Integers) -> ShareRanges:
        """Of some sets."""
        shares, least, most = (
            Leaning(each.values[places], each.variances[places], each.slopes[places])
            for each in (self.shares, *self.ends)
        )
        return ShareRanges(shares, (least, most), self.loose[places], self.certainty[places])


def _drawn(shares: Floats, variances: Floats, rows: float, target: Target) -> Leaning:
    """Shares of so many rows, with the variance of their draw about a population."""
    variances, skews = variances * rows**2, np.zeros(shares.size)
    if target == "population":
        # Drawing rows from a population: the variance of a share among so many, and no less than the draw of one row.
        drawn = np.clip(shares * (1 - shares), 1 / rows, None) * rows
        variances, skews = variances + drawn, drawn * (1 - 2 * np.clip(shares, 0, 1))
    slopes = np.divide(skews, variances, out=np.zeros_like(skews), where=variances > 0)
    return Leaning(shares, variances / rows**2, slopes / rows)


# --------------------------------------------------------------------------------------------------
# Rules as they are shown, exported and compared.


MOST_SHOWN = 40
"""Rules, or sets, that a summary lists; all of them are in the exports."""


@dataclass(frozen=True)
class FrequentSet:
    """Items that many rows have together.

    Parameters
    ----------
    items
        As text.
    support, std_error, low, high
        Share of the rows that have them all.
    certainty
        What the support claims: one that is bounded lies between low and high for certain, and its estimate rests on an assumption.
    """

    items: tuple[str, ...]
    support: float
    std_error: float
    low: float
    high: float
    certainty: Certainty = Certainty.ESTIMATED

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "items": list(self.items),
            "support": self.support,
            "std_error": self.std_error,
            "low": self.low,
            "high": self.high,
            "certainty": self.certainty.word,
        }


@dataclass(frozen=True)
class Rule:
    """Rows that have the antecedent have the consequent as well, so often.

    Parameters
    ----------
    antecedent, consequent
        Items as text.
    support, confidence, lift
        With errors and ranges.
    confidence_bias
        What noise adds to the confidence on average; it is not taken out.
    """

    antecedent: tuple[str, ...]
    consequent: tuple[str, ...]
    support: MeasuredValue
    confidence: MeasuredValue
    lift: MeasuredValue
    confidence_bias: float

    def __str__(self) -> str:
        return f"{', '.join(self.antecedent)} => {', '.join(self.consequent)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        numbers = {
            f"{name}{suffix}": number if math.isfinite(number) else None
            for name in ("support", "confidence", "lift")
            for suffix, number in _numbers(getattr(self, name))
        }
        return {
            "antecedent": list(self.antecedent),
            "consequent": list(self.consequent),
            **numbers,
            "certainty": self.support.certainty.word,
            "confidence_bias": self.confidence_bias,
        }


def _numbers(measured: MeasuredValue) -> tuple[tuple[str, float], ...]:
    return (
        ("", measured.estimate),
        ("_std_error", measured.std_error),
        ("_low", measured.low),
        ("_high", measured.high),
    )


@dataclass(frozen=True)
class Rules(Charted):
    """Rules of a release, or of rows, with the sets they come from.

    Parameters
    ----------
    rules
        Those of the largest confidence first.
    sets
        By length.
    settings
        What was looked for.
    sets_counted, rules_considered
        What the rules were chosen from.
    method, law
        Of the release; empty for rows.
    notes
        What a reader must know.
    is_private
        Computed from private rows: not for publication.
    """

    rules: tuple[Rule, ...]
    sets: tuple[FrequentSet, ...]
    settings: Settings
    sets_counted: int
    rules_considered: int
    method: str = ""
    law: str = ""
    notes: tuple[str, ...] = ()
    is_private: bool = False

    def __repr__(self) -> str:
        return f"Rules({len(self.rules)} rules of {self.rules_considered}, {len(self.sets)} frequent sets)"

    def __str__(self) -> str:
        return self.summary()

    def __len__(self) -> int:
        return len(self.rules)

    def conflicts(self, of: Literal["support", "confidence"] = "support") -> Iterator[tuple[Any, Any]]:
        """Pairs whose order the noise leaves in doubt: the second is larger by its estimate, yet only the first surely passes.

        Of sets by their support, or of rules by their confidence. Choosing by estimates prefers the second.

        References
        ----------
        Guo (2010), section 3.4.1: the pairs s-p and c-p, in which the second does not pass in truth.
        """
        threshold = self.settings.minimum_support if of == "support" else self.settings.minimum_confidence
        ends: list[tuple[Any, float, float]] = (
            [(each, each.support, each.low) for each in self.sets]
            if of == "support"
            else [(each, each.confidence.estimate, each.confidence.low) for each in self.rules]
        )
        sure = [(each, value) for each, value, low in ends if low >= threshold]
        doubtful = [(each, value) for each, value, low in ends if low < threshold]
        for (one, value), (other, larger) in itertools.product(sure, doubtful):
            if value < larger:
                yield one, other

    def summary(self) -> str:
        """A table for people, the first rules, and how many more there are."""
        settings = self.settings
        together = " for all rules considered together" if settings.simultaneous else ""
        title = (
            f"Rules with support from {percent(settings.minimum_support, decimals=2)} and confidence from "
            f"{percent(settings.minimum_confidence, decimals=1)} on, by the {_DECIDED[settings.decide_by]}; "
            f"{percent_as_stated(settings.confidence_level)} intervals{together} (about the {settings.target})"
        )
        columns = (
            "Antecedent",
            "Consequent",
            "Support",
            "Low",
            "High",
            "Confidence",
            "Low",
            "High",
            "Lift",
            "Low",
            "High",
        )
        rows = tuple(
            (
                ", ".join(each.antecedent),
                ", ".join(each.consequent),
                *itertools.chain.from_iterable(_shown(m) for m in (each.support, each.confidence, each.lift)),
            )
            for each in self.rules[:MOST_SHOWN]
        )
        more = len(self.rules) - len(rows)
        by_length = [
            f"{len(list(group)):,} of {length}"
            for length, group in itertools.groupby(self.sets, key=lambda each: len(each.items))
        ]
        return "\n".join(
            [
                ResultTable(title, columns, rows, is_private=self.is_private).to_text(),
                *([f"… and {more:,} rules more"] if more > 0 else []),
                (
                    f"Frequent sets by number of items: {', '.join(by_length) or 'none'}; {self.sets_counted:,} were counted, "
                    f"{self.rules_considered:,} rules considered."
                ),
                *self._untold(),
                *(f"Note: {each}" for each in self.notes),
            ]
        )

    def _untold(self) -> list[str]:
        number = sum(each.confidence.low <= 0 and each.confidence.high >= 1 for each in self.rules)
        told = "it" if number == 1 else "them"
        about = f"the interval of the confidence of {counted(number, 'rule')} is the whole range 0 to 1"
        return [f"Note: {about}: the release does not tell {told}"] if number else []

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``rules --json`` prints it."""
        settings = self.settings
        return {
            "minimum_support": settings.minimum_support,
            "minimum_confidence": settings.minimum_confidence,
            "longest": settings.longest,
            "decide_by": settings.decide_by,
            "interval": settings.interval,
            "confidence": settings.confidence_level,
            "simultaneous": settings.simultaneous,
            "target": settings.target,
            "method": self.method or None,
            "law": self.law or None,
            "private": self.is_private,
            "sets_counted": self.sets_counted,
            "rules_considered": self.rules_considered,
            "rules": [each.to_dict() for each in self.rules],
            "sets": [each.to_dict() for each in self.sets],
            "notes": list(self.notes),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each rule."""
        return _arrow([each.to_dict() for each in self.rules], _EMPTY_RULES)

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the rules by support, confidence and lift, as plain data."""
        points = [
            {
                "label": str(each),
                **{name: getattr(each, name).estimate for name in ("support", "confidence", "lift")},
            }
            for each in self.rules
        ]
        return scatter_chart(points, across="support", up="confidence", colour="lift")

    def sets_to_arrow(self) -> Any:
        """A pyarrow table with a row for each frequent set."""
        return _arrow([each.to_dict() for each in self.sets], _EMPTY_SETS)


_DECIDED = {
    "estimate": "estimate",
    "lower": "lower end of the interval",
    "upper": "upper end of the interval",
}
_EMPTY_SETS = ("items", "support", "std_error", "low", "high", "certainty")
_EMPTY_RULES = ("antecedent", "consequent", "support", "confidence", "lift", "certainty", "confidence_bias")


def _arrow(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.table(as_columns(rows) if rows else {name: [] for name in names})


def _shown(measured: MeasuredValue) -> tuple[str, str, str]:
    """Estimate and ends, to the digits that the error supports; an undefined one has its whole range."""
    if measured.undefined:
        return "undefined", f"{measured.low:g}", f"{measured.high:g}"
    low, high = (show_end(each, measured.std_error) for each in (measured.low, measured.high))
    return show(measured.estimate, measured.std_error), low, high


# --------------------------------------------------------------------------------------------------
# Level by level: sets of items that are frequent, then the rules within them.


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


# --------------------------------------------------------------------------------------------------
# Rules of a release: which way its law lets item sets be counted.


MOST_BITS = 8 * 2**30
"""Bits of columns of items that are held at once, a gigabyte; above, tables are counted one by one."""


WITHIN_BOUNDS = (
    "some counts are known within bounds only: ranges hold every value that the bounds allow, and which sets and rules pass by the "
    "estimate rests on an assumption, by the lower or the upper end on none"
)


def mine_release(
    release: Release,
    settings: Settings,
    *,
    among: Sequence[str] | None = None,
    category: str | None = None,
    consequents: Sequence[str] | None = None,
) -> Rules:
    """Frequent item sets and association rules of a release, through its law.

    Parameters
    ----------
    release
        Of rows, whose items are the categories of attributes, or of units and items.
    settings
        What is looked for.
    among
        Attributes or conditions that give the items; all when not given.
    category
        Only this category of every attribute is an item.
    consequents
        Attributes or conditions that rules may be about.

    Raises
    ------
    NotIdentifiableError
        When the release's law leaves the joint of some items open.
    """
    refuse_target(release, settings.target)
    are_present = isinstance(release.law, PerturbedItems)
    items = items_of(release.schema, are_present=are_present, among=among, category=category)
    about = (
        None
        if consequents is None
        else items_of(release.schema, are_present=are_present, among=consequents, category=category)
    )
    supports = supports_of(release, items)
    mined = mine(supports, settings, consequents=about)
    notes = (
        ()
        if release.law.estimate_is.startswith("unbiased")
        else (f"the counts behind them are not unbiased: {release.law.estimate_is}",)
    )
    if any(are_loose(each).any() for each in (supports.whole(), supports.singles())):
        notes = (*notes, WITHIN_BOUNDS)
    return Rules(
        mined.rules,
        mined.sets,
        settings,
        mined.sets_counted,
        mined.rules_considered,
        release.method,
        str(release.manifest.law["law"]),
        notes,
    )


def supports_of(release: Release, items: tuple[Item, ...]) -> Supports:
    """The quickest way to count that the law allows: bits where each item was distorted by itself, else tables."""
    law = release.law
    if isinstance(law, PerturbedItems) and _counts_alike(law.distortion):
        return _of_units(release, law, items)
    if (
        isinstance(law, PerturbedRows)
        and release.number_of_rows * len(items) <= MOST_BITS
        and all(map(_counts_alike, law.distortions.values()))
    ):
        return _of_rows(release, law, items)
    if release.query().certainty == Certainty.OPEN:
        raise NotIdentifiableError(
            "rows were left out of the release, and which they are is not known: which sets are frequent cannot be told. "
            "Ask for counts and shares, whose intervals hold them."
        )
    return CountedSupports(release, items)


def _counts_alike(distortion: UniformDistortion | DenseDistortion) -> bool:
    """Whether all categories but the item's own count the same toward it."""
    return isinstance(distortion, UniformDistortion) or distortion.size == 2


def _distorted(items: Sequence[Item], distortion_of: Any) -> Distorted:
    found = []
    known: dict[Any, tuple[float, float, float, float]] = {}
    for item in items:
        distortion = distortion_of(item.attribute)
        key = (id(distortion), item.code if isinstance(distortion, DenseDistortion) else 0)
        if key not in known:
            known[key] = (
                (0.0, 1.0, 0.0, 1.0)
                if distortion is None
                else Distorted.by(distortion.dense(), distortion.inverse(), item.code)
            )
        found.append(known[key])
    numbers = np.array(found)
    return Distorted(numbers[:, 0], numbers[:, 1], numbers[:, 2:])


def _of_units(release: Release, law: PerturbedItems, items: tuple[Item, ...]) -> BitSupports:
    columns = release.items(law.long)
    place_of = {name: place for place, name in enumerate(release.schema.names)}
    counts = columns.counts()

    def bits(places: Sequence[int]) -> BitColumns:
        chosen = [items[place] for place in places]
        codes = columns.codes([place_of[each.attribute] for each in chosen])
        return BitColumns.of(each == item.code for each, item in zip(codes, chosen, strict=True))

    return BitSupports(
        items,
        law.long.number_of_units,
        np.array([counts[place_of[each.attribute], each.code] for each in items]),
        _distorted(items, lambda _: law.distortion),
        bits,
    )


def _of_rows(release: Release, law: PerturbedRows, items: tuple[Item, ...]) -> BitSupports:
    tables = {
        name: release.count_by((name,)).counts for name in dict.fromkeys(each.attribute for each in items)
    }

    def bits(places: Sequence[int]) -> BitColumns:
        chosen = [items[place] for place in places]
        names = tuple(dict.fromkeys(each.attribute for each in chosen))
        held: list[list[Booleans]] = [[] for _ in chosen]
        for batch in release.scan(release.tables[0].name, names):
            for kept, item in zip(held, chosen, strict=True):
                kept.append(batch.codes[item.attribute] == item.code)
        return BitColumns.of(np.concatenate(each) for each in held)

    return BitSupports(
        items,
        release.number_of_rows,
        np.array([tables[each.attribute][each.code] for each in items]),
        _distorted(items, law.distortions.get),
        bits,
    )
