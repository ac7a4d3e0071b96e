"""Measures of a release: values, errors, ranges, and why some are undefined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from sfumato.analysis.asking import Countable, Crossed, TwoWay, as_columns, ask_two_way, show_count
from sfumato.analysis.differentiation import differentiate
from sfumato.analysis.measures.bootstrap import reflected_range, refuse_unfit, resampled
from sfumato.analysis.measures.declarations import MEASURES, Measure
from sfumato.analysis.measures.limits import limit_of, limit_text, most_of
from sfumato.analysis.measures.noise import beyond_logarithms, needed_cells, of_counts, range_above_noise
from sfumato.analysis.measures.small_groups import beyond_small_groups, perhaps_nobody
from sfumato.analysis.routine import carry, leaning
from sfumato.analysis.within_bounds import are_loose, beyond_box, claim_of, note_of_bounds
from sfumato.errors import ParameterError, nearest
from sfumato.laws import Target
from sfumato.values.answers import show_end
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.charts import separate_intervals
from sfumato.values.estimates import normal_quantile
from sfumato.values.number_text import percent_as_stated
from sfumato.values.result_tables import ResultTable
from sfumato.values.score_intervals import heavier_quantiles
from sfumato.values.tabular import Charted

if TYPE_CHECKING:
    from sfumato.release.release import Release

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
