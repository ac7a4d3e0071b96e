"""Measures of association of a release: values, errors, intervals, and why some are undefined."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import numpy as np

from sfumato.analysis.counts import Countable, Crossed, TwoWay, as_columns, ask_two_way, show_count
from sfumato.analysis.equations import Formula, carry, differentiate, leaning
from sfumato.analysis.identified_sets import are_loose, beyond_box, claim_of, note_of_bounds
from sfumato.analysis.measure_formulas import (
    MEASURES,
    Measure,
    beyond_logarithms,
    needed_cells,
    of_counts,
    range_above_noise,
)
from sfumato.arrays import Booleans, Floats
from sfumato.errors import NotIdentifiableError, ParameterError, TooLargeError, nearest
from sfumato.estimates.answers import show_end
from sfumato.estimates.estimates import Certainty, normal_quantile
from sfumato.estimates.intervals import LOOSE, heavier_quantiles
from sfumato.laws import Target, refuse_target
from sfumato.methods.randomized_response.law import PerturbedCounts
from sfumato.query.selection import Predicate, Tabulation
from sfumato.randomness.streams import NoiseSource, NoiseStream
from sfumato.release.release import Release
from sfumato.results import Charted, ResultTable, separate_intervals
from sfumato.text import percent_as_stated

# --------------------------------------------------------------------------------------------------
# What measures tend to as cells that are surely empty do, and the most that those of whole tables can be.


def limit_of(declared: Measure, table: Crossed) -> float | None:
    """What a measure tends to as the cells that are surely empty do; None where noise, not emptiness, left it undefined."""
    counts = table.counts.values
    if (counts < 0).any() or (table.counts.variances[counts == 0] > 0).any():
        return None
    total = counts.sum()

    def nearly(share: float) -> float:
        shares = np.where(counts == 0, share, counts / total).reshape(table.shape)
        return declared.shown(float(np.real(declared.formula(shares + 0j, total))))

    near, nearer = nearly(1e-100), nearly(1e-200)
    if near > 1e50 and nearer > near:
        return math.inf
    return 0.0 if 0 <= nearer < near < 1e-50 else nearer


def limit_text(limit: float | None) -> str:
    """In words, behind why a measure is undefined; empty where it tends to nothing that is known."""
    if limit is None:
        return ""
    return f"; as that cell empties it tends to {'infinity' if math.isinf(limit) else f'{limit:.4g}'}"


def most_of(declared: Measure, shape: tuple[int, int], rows: float) -> float:
    """The most that a measure of a table of so many rows can be, on its own scale; infinite where there is no such number.

    Examples
    --------
    >>> from sfumato.analysis.measure_formulas import MEASURES
    >>> most_of(MEASURES["chi-square"], (2, 3), 100.0)
    100.0
    """
    fewer = min(shape)
    known = {
        "phi-squared": fewer - 1,
        "chi-square": rows * (fewer - 1),
        "mutual-information": math.log(fewer),
        "g-square": 2 * rows * math.log(fewer),
    }
    return float(known.get(declared.name, math.inf))


# --------------------------------------------------------------------------------------------------
# Ranges of measures that divide by a group which noise hardly tells from nobody.


MOST_NAMED = 3
"""Groups that a note names."""

STEEPER = 200.0
"""Times that slopes must grow where a group is a thousandth: those of ratios grow a thousand times, those of roots of ratios 32."""


def beyond_small_groups(
    ends: tuple[float, float], raw: float, declared: Measure, table: Crossed, half_width: float
) -> tuple[float, float]:
    """Ends of a number that may divide by a group of few: as far as Fieller's interval, and without an end where it may be nobody.

    Parameters
    ----------
    ends, raw
        The ends so far, and the number.
    declared, table
        A measure that does not grow with noise, and what it is of.
    half_width
        In standard errors.

    Notes
    -----
    To first order a ratio has an error as if the divisor b were known. The numbers d with ``(h - d b)^2 <= z^2 Var(h - d b)``, h the error of
    the ratio times b, are those between the roots of a quadratic: with g the looseness and ``c = z^2 Cov(ratio, b) / b`` they lie
    ``(c + sqrt(c^2 + (1 - g) r^2)) / (1 - g)`` below and as much with -c above, r being the reach so far. On the logarithm's scale the group
    is a term, which reaches as much further as the logarithm of the lower end of its interval does.

    References
    ----------
    Fieller, E. C. (1954). Some problems in interval estimation. JRSS B 16, 175-185.
    """
    formula, groups, loose = of_counts(declared, table.shape), _groups(table), looseness(table, half_width)
    places = [each for each in np.flatnonzero(loose > LOOSE) if _is_divisor(formula, table, groups[each] > 0)]
    if not places:
        return ends
    loosest = max(places, key=lambda place: float(loose[place]))
    left = 1 - float(loose[loosest])
    if left <= 0:
        return -math.inf, math.inf
    if declared.scale == "logarithm":
        half = math.sqrt(1 - left)
        further = -math.log1p(-half) / half
        return raw - further * (raw - ends[0]), raw + further * (ends[1] - raw)
    gradient = differentiate(formula, table.counts.values)
    assert table.counts.covariance is not None
    together = float(gradient @ np.nan_to_num(table.counts.covariance) @ groups[loosest])
    lean = half_width**2 * together / float(groups[loosest] @ table.counts.values)

    def reach(so_far: float, lean: float) -> float:
        return max(so_far, (lean + math.sqrt(lean**2 + left * so_far**2)) / left)

    return raw - reach(raw - ends[0], lean), raw + reach(ends[1] - raw, -lean)


def looseness(table: Crossed, half_width: float) -> Floats:
    """Square of the half-width by the number of rows, of the groups of the rows and then of the columns, ``(rows + columns,)``.

    From 1 on a group may be of nobody. Only noise is looked at: a group of whom some were drawn is not nobody in the population either.
    """
    groups = table.counts.linear(_groups(table))
    reaches, values = half_width * groups.standard_errors, np.maximum(groups.values, 0)
    by_nobody = np.where(reaches > 0, np.inf, 0.0)
    return np.asarray(np.square(np.divide(reaches, values, out=by_nobody, where=values > 0)))


def perhaps_nobody(table: Crossed, half_width: float) -> list[str]:
    """The groups that may be of nobody, in words, with their estimates: the loosest first, and how many more there are.

    Of noise with heavier tails than normal ones reach further, as ranges do.
    """
    places = [(side, each) for side in table.sides for each in range(len(side.labels))]
    whole = table.counts.linear(_groups(table))
    reach = float(np.max(heavier_quantiles(half_width, whole.variances, whole.fourth_cumulants)))
    loose, groups = looseness(table, reach), _groups(table)
    found = [each for each in np.argsort(-loose, kind="stable") if loose[each] >= 1]
    named = [
        f"rows with {places[each][0].describe(places[each][1])} are estimated as {show_count(table.counts, groups[each])}"
        for each in found[:MOST_NAMED]
    ]
    left = len(found) - len(named)
    return [*named, f"{left} others likewise"] if left else named


def _is_divisor(formula: Formula, table: Crossed, group: Booleans) -> bool:
    """Whether a formula divides by a group: its slopes then grow as the group gets smaller.

    Others move by the root, or less the fewer there are: the association of three rows with anything is no strong one.
    """
    counts = table.counts.values

    def steepness(left: float) -> float:
        place = np.where(group, left * counts, counts)
        return float(np.abs(differentiate(formula, place)[group]).max())

    return steepness(1e-6) > STEEPER * steepness(1e-3)


def _groups(table: Crossed) -> Floats:
    """Which cells are of each row, and of each column, ``(rows + columns, cells)``."""
    sides = zip(np.indices(table.shape).reshape(2, -1), table.shape, strict=True)
    return np.array([codes == place for codes, size in sides for place in range(size)], dtype=float)


# --------------------------------------------------------------------------------------------------
# Ranges by drawing published rows anew: right where rows are independent, about the population, and nowhere
# else.


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


# --------------------------------------------------------------------------------------------------
# Measures of a release: values, errors, ranges, and why some are undefined.


Interval = Literal["normal", "chebyshev"]
"""``normal``: right where the estimate is nearly normal; ``chebyshev``: right for any law with that variance, wider."""

MeasureInterval = Literal["normal", "chebyshev", "bootstrap"]
"""``bootstrap``: from rows drawn anew, for releases of independent rows and about the population."""


@dataclass(frozen=True)
class MeasuredValue:
    """One measure of a release.

    Parameters
    ----------
    name, title, null
        As declared.
    estimate, std_error, low, high
        NaN where the measure is undefined.
    noise_bias
        What noise adds on average, on the measure's own scale, and was taken out.
    undefined
        Why there is no value; empty where there is one.
    limit
        What the measure tends to as cells that are surely empty do, where it has no value for that reason; may be infinite.
    certainty
        What it claims: one that is bounded lies between low and high for certain, and its estimate rests on an assumption.
    """

    name: str
    title: str
    null: float | None
    estimate: float = math.nan
    std_error: float = math.nan
    low: float = math.nan
    high: float = math.nan
    noise_bias: float = 0.0
    undefined: str = ""
    limit: float | None = None
    certainty: Certainty = Certainty.ESTIMATED

    @property
    def is_untold(self) -> bool:
        """Whether its interval holds every value there can be."""
        declared = MEASURES[self.name]
        return not self.undefined and self.low <= declared.lowest and self.high >= declared.highest

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "measure": self.name,
            "estimate": self.estimate,
            "std_error": self.std_error,
            "low": self.low,
            "high": self.high,
            "independent": self.null,
            "noise_bias": self.noise_bias,
            "undefined": self.undefined or None,
            "limit": self.limit,
            "certainty": self.certainty.word,
        }


@dataclass(frozen=True)
class Measures(Charted):
    """How two attributes of a release go together, by every measure that is defined for them.

    Parameters
    ----------
    of
        The two attributes or conditions.
    values
        One for each measure.
    interval, confidence_level
        Kind and level of the ranges.
    method, law, target
        Of the release, and what is estimated.
    notes
        What a reader must know.
    """

    of: tuple[str, str]
    values: tuple[MeasuredValue, ...]
    interval: MeasureInterval
    confidence_level: float
    method: str
    law: str
    target: Target
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        defined = sum(not each.undefined for each in self.values)
        return f"Measures({self.of[0]} with {self.of[1]}: {defined} of {len(self.values)} defined)"

    def __str__(self) -> str:
        return self.summary()

    def __getitem__(self, name: str) -> MeasuredValue:
        for each in self.values:
            if each.name == name:
                return each
        raise KeyError(name)

    def summary(self) -> str:
        """A table for people; what noise added on average is taken out of measures that it makes larger."""
        rows = tuple(
            (
                each.name,
                *(
                    # The root of what came out below zero has no error; its interval says all there is to say.
                    "" if math.isnan(number) else show_end(number, each.std_error)
                    for number in (each.estimate, each.std_error, each.low, each.high)
                ),
                "" if each.null is None else f"{each.null:g}",
            )
            for each in self.values
            if not each.undefined
        )
        level = percent_as_stated(self.confidence_level)
        title = f"Measures of {self.of[0]} with {self.of[1]}, {level} {self.interval} intervals (about the {self.target})"
        columns = ("Measure", "Estimate", "Std. error", "Low", "High", "Independent")
        undefined = [
            f"{each.name} is undefined: {each.undefined}{limit_text(each.limit)}"
            for each in self.values
            if each.undefined
        ]
        notes = [f"Note: {each}" for each in self.notes]
        return "\n".join([ResultTable(title, columns, rows).to_text(), *undefined, *notes])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``measures --json`` prints it."""
        return {
            "of": list(self.of),
            "interval": self.interval,
            "confidence": self.confidence_level,
            "method": self.method,
            "law": self.law,
            "target": self.target,
            "measures": [each.to_dict() for each in self.values],
            "notes": list(self.notes),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each measure."""
        import pyarrow as pa

        return pa.table(as_columns([each.to_dict() for each in self.values]))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the measures that are defined, each on its own scale, as plain data."""
        points = [
            {"label": each.name, "estimate": each.estimate, "low": each.low, "high": each.high}
            for each in self.values
            if not each.undefined
        ]
        return separate_intervals(points, title=" with ".join(self.of))


def measure(
    release: Countable,
    first: str,
    second: str,
    *,
    where: str = "",
    only: Sequence[str] | None = None,
    interval: MeasureInterval = "normal",
    confidence_level: float = 0.95,
    target: Target = "table",
) -> Measures:
    """How two attributes go together, by every measure defined for them.

    Parameters
    ----------
    release
        What is asked.
    first, second
        Attributes, or conditions of the query language; a condition classifies rows by whether it holds.
    where
        Only rows that satisfy these conditions.
    only
        Names of the measures wanted; all that are defined for tables of this size when not given.
    interval
        Kind of range.
    confidence_level
        Of the ranges.
    target
        The private table's own rows, or the population behind them.

    Raises
    ------
    NoSolutionError
        When a margin is estimated as not positive, so that no measure is defined.
    """
    refuse_target(release, target)
    refuse_unknown_interval(interval, get_args(MeasureInterval))
    if interval == "bootstrap":
        refuse_unfit(release, target)
    table = ask_two_way(release, first, second, where=where)
    table.refuse_empty_margins("no measure is defined")
    half_width = half_width_of("chebyshev" if interval == "chebyshev" else "normal", confidence_level)
    declared = _chosen(only, table.shape)
    values = tuple(
        value_of(each, table, half_width, target, holds_for_any_law=interval == "chebyshev")
        for each in declared
    )
    if interval == "bootstrap":
        cells = resampled(cast("Release", release), table, where)
        values = tuple(
            _from_draws(each, value, cells, table, confidence_level)
            for each, value in zip(declared, values, strict=True)
        )
    return Measures(
        (table.sides[0].text, table.sides[1].text),
        values,
        interval,
        confidence_level,
        table.cells.source.method,
        table.cells.source.law,
        target,
        (*table.cells.notes, *note_of_bounds(table.counts), *_notes(values, table, half_width)),
    )


def _chosen(only: Sequence[str] | None, shape: tuple[int, int]) -> list[Measure]:
    fitting = {name: each for name, each in MEASURES.items() if not each.is_binary or shape == (2, 2)}
    for name in only or ():
        if name not in MEASURES:
            raise ParameterError(f"there is no measure {name!r}; {nearest(name, MEASURES)}", parameter="only")
        if name not in fitting:
            raise ParameterError(
                f"{name} is defined for two by two categories, and these have {shape[0]} by {shape[1]}. "
                "Ask about conditions in place of attributes.",
                parameter="only",
            )
    return [each for name, each in fitting.items() if only is None or name in only]


def value_of(
    declared: Measure,
    table: Crossed,
    half_width: float,
    target: Target,
    *,
    holds_for_any_law: bool = False,
) -> MeasuredValue:
    """One measure of estimated counts, with the range of so many standard errors to each side.

    Of normal ranges, somewhat more where the law says that its errors have heavier tails; Chebyshev's hold for any.
    """
    counts = table.counts
    missing = _missing(declared, table)
    if missing:
        limit = limit_of(declared, table)
        return MeasuredValue(declared.name, declared.title, declared.null, undefined=missing, limit=limit)

    formula = of_counts(declared, table.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        raw = float(np.real(formula(counts.values + 0j)))
    if not math.isfinite(raw):
        reason = "what it divides by is estimated as nobody"
        limit = raw if math.isinf(raw) else None
        return MeasuredValue(declared.name, declared.title, declared.null, undefined=reason, limit=limit)
    gradient = differentiate(formula, counts.values)[None, :]
    carried = carry(np.array([raw]), gradient, counts, target)
    error, bias = float(carried.standard_errors[0]), 0.0
    if not holds_for_any_law:
        half_width = float(np.max(heavier_quantiles(half_width, carried.variances, carried.fourth_cumulants)))
    if declared.is_quadratic:
        bias, ends, spread = range_above_noise(formula, table, error**2, half_width, target)
        # To first order a measure at its least does not move at all; its curvature still makes it vary.
        error = max(error, math.sqrt(spread))
    else:
        (low,), (high,) = leaning(carried, gradient, counts, target).reaching(half_width)
        ends = float(low), float(high)
    if declared.scale == "logarithm":
        ends = beyond_logarithms(ends, raw, declared, table, half_width, target)
    if not declared.is_quadratic:
        ends = beyond_small_groups(ends, raw, declared, table, half_width)
    value = raw - bias
    if are_loose(counts).any():
        low, high = beyond_box(ends, value, formula, counts, table.rows, target)
        ends = low, min(high, most_of(declared, table.shape, table.rows[1]))
    low, high = (float(np.clip(declared.shown(each), declared.lowest, declared.highest)) for each in ends)
    # Zero error is certainty on any scale; the root's slope at zero would make it undefined.
    std_error = error * declared.slope(value) if error > 0 else 0.0
    return MeasuredValue(
        declared.name,
        declared.title,
        declared.null,
        declared.shown(value),
        std_error,
        low,
        high,
        bias,
        certainty=claim_of(counts, target),
    )


def _from_draws(
    declared: Measure, value: MeasuredValue, cells: Floats, table: TwoWay, confidence_level: float
) -> MeasuredValue:
    """The same estimate with the range of rows drawn anew; its whole range where they leave it undefined too often."""
    if value.undefined:
        return value
    counts = table.counts.values
    raw = float(np.real(declared.formula((counts / counts.sum()).reshape(table.shape) + 0j, counts.sum())))
    error, low, high = reflected_range(declared, cells, table.shape, raw, confidence_level)
    if math.isnan(error):
        return replace(value, std_error=math.nan, low=declared.lowest, high=declared.highest)
    ends = [float(np.clip(declared.shown(each), declared.lowest, declared.highest)) for each in (low, high)]
    return replace(value, std_error=error * declared.slope(raw - value.noise_bias), low=ends[0], high=ends[1])


def _missing(declared: Measure, table: Crossed) -> str:
    """Which cell a measure needs that is not estimated as positive; empty where none is missing."""
    counts, (_, columns) = table.counts, table.shape
    for row, column in needed_cells(declared, table.shape):
        place = row * columns + column
        value = counts.values[place]
        # A cell that is certainly empty adds nothing to sums of p log p; a ratio still divides by it.
        is_known_empty = value == 0 and counts.variances[place] == 0
        if value > 0 or (is_known_empty and declared.scale != "logarithm" and declared.positive == "all"):
            continue
        cell = f"{table.sides[0].describe(row)} and {table.sides[1].describe(column)}"
        return f"rows with {cell} are estimated as {show_count(counts, np.eye(counts.values.size)[place])}"
    return ""


def half_width_of(interval: Interval, confidence_level: float) -> float:
    """Half-width of a range in standard errors; Chebyshev's holds for any distribution."""
    normal = normal_quantile(confidence_level)
    return normal if interval == "normal" else 1 / math.sqrt(1 - confidence_level)


def refuse_unknown_interval(interval: str, known: Sequence[str] = get_args(Interval)) -> None:
    """A misspelt kind of range would be answered as another one."""
    if interval not in known:
        raise ParameterError(
            f"interval must be one of {', '.join(known)}, got {interval!r}. Leave it out for normal ones.",
            parameter="interval",
        )


def _notes(values: tuple[MeasuredValue, ...], table: Crossed, half_width: float) -> tuple[str, ...]:
    notes = []
    doubtful = [
        each.name for each in values if each.name != "cramers-v" and each.noise_bias > each.std_error > 0
    ]
    if doubtful:
        notes.append(
            f"noise adds more to {', '.join(doubtful)} than the standard error; taking it out may overshoot there"
        )
    untold = [each.name for each in values if each.is_untold]
    if untold:
        nobody = perhaps_nobody(table, half_width)
        divides = any(not MEASURES[each].is_quadratic for each in untold)
        reason = f"; {', '.join(nobody)}, and may be nobody" if nobody and divides else ""
        notes.append(
            f"the interval of {', '.join(untold)} is the whole range: the release does not tell {'them' if untold[1:] else 'it'}{reason}"
        )
    return tuple(notes)
