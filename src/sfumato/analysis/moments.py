"""Means, variances, quantiles and correlations of numbers that were published as categories."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.analysis.asking import Countable, ask_cells, keep_cells
from sfumato.analysis.differentiation import differentiate
from sfumato.analysis.number_ranges import sets_of
from sfumato.analysis.numbers import WHOLE_RANGE, NumberEstimate
from sfumato.analysis.quantile_ends import quantile_of_bins, quantile_of_numbers
from sfumato.analysis.routine import carry, leaning
from sfumato.analysis.scored_counts import ScoredCounts
from sfumato.analysis.scores import Scores, score
from sfumato.analysis.within_bounds import are_certain, are_loose, beyond_box, claim_of, note_of_bounds
from sfumato.errors import NoSolutionError, ParameterError
from sfumato.laws import Target, refuse_unknown_target
from sfumato.release.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates, normal_quantile
from sfumato.values.number_text import show, show_with_error
from sfumato.values.schema import Attribute

ScoresByLabel = Mapping[str, float]


def mean(
    release: Countable,
    attribute: str,
    *,
    where: str = "",
    scores: ScoresByLabel | None = None,
    confidence_level: float = 0.95,
    target: Target = "table",
) -> NumberEstimate:
    """Mean of an attribute whose categories stand for numbers; rows without a value are left out.

    Values count as the middle of their bin. ``lowest`` and ``highest`` of the result hold wherever they lie.

    Parameters
    ----------
    release
        What is asked.
    attribute
        Binned, or with ordered categories that are numbers.
    where
        Only rows that satisfy these conditions.
    scores
        Number of each category by its label, in place of middles.
    confidence_level, target
        Of the interval, and what it is about.
    """
    asked = _scored(release, attribute, where, scores)
    counts, numbers = asked.counts, asked.numbers

    def interval(own: Floats) -> tuple[float, float]:
        if asked.sets is not None:
            return asked.mean_within(own, target, confidence_level)
        return _interval(_mean(counts, own, target), confidence_level)

    found = _mean(counts, numbers.values, target)
    return _result(
        f"mean of {attribute}",
        (float(found.values[0]), float(found.standard_errors[0]), *interval(numbers.values)),
        (asked, confidence_level, target),
        hidden=(interval(numbers.lows)[0], interval(numbers.highs)[1]) if numbers.is_binned else None,
    )


def variance(
    release: Countable,
    attribute: str,
    *,
    where: str = "",
    scores: ScoresByLabel | None = None,
    confidence_level: float = 0.95,
    target: Target = "table",
) -> NumberEstimate:
    """Variance of an attribute whose categories stand for numbers; parameters as for :func:`mean`.

    The square of a noisy mean is too large by its variance, which is put back.
    """
    asked = _scored(release, attribute, where, scores)
    counts, numbers = asked.counts, asked.numbers
    rows = counts.values.sum()
    middle = _mean(counts, numbers.values, target)
    center = float(middle.values[0])
    raw = float((numbers.values - center) ** 2 @ counts.values / rows)
    gradient = ((numbers.values - center) ** 2 - raw) / rows
    value = raw + float(middle.variances[0])
    carried = _carried(value, gradient, counts, target)
    error = float(carried.standard_errors[0])
    low, high = _interval(carried, confidence_level)
    if asked.sets is not None:
        low, high = asked.variance_within(target, confidence_level)
    within = float((numbers.highs - numbers.lows) ** 2 @ counts.values / rows / 12)
    notes = (
        (
            f"values count as the middle of their bin; an even spread within bins would add {show(within, error)}",
        )
        if numbers.is_binned
        else ()
    )
    return _result(
        f"variance of {attribute}",
        (value, error, max(low, 0.0), max(high, 0.0)),
        (asked, confidence_level, target),
        notes=notes,
    )


def quantile(
    release: Countable,
    attribute: str,
    share: float,
    *,
    where: str = "",
    scores: ScoresByLabel | None = None,
    confidence_level: float = 0.95,
    target: Target = "table",
) -> NumberEstimate:
    """The number below which a share of the rows lies; other parameters as for :func:`mean`.

    Of ordered categories that are no numbers it is a category: the numbers are places in the list, from 1 on, and the
    result has the labels. Within a bin rows are spread evenly; ``lowest`` and ``highest`` of the result hold wherever they lie. The
    interval is every number whose share below is not rejected: no density has to be estimated. About a population a number is judged by
    the draw of a table in which it is the quantile, so that the top is not ruled out because nobody of a small group was drawn there.
    """
    refuse_unknown_target(target)
    if not 0 < share < 1:
        raise ParameterError(
            f"a quantile's share lies strictly between 0 and 1, got {share}. Use 0.5 for the median.",
            parameter="share",
        )
    labels = _places(release.schema[attribute]) if scores is None else None
    asked = _scored(release, attribute, where, scores or labels)
    find = quantile_of_bins if asked.numbers.is_binned else quantile_of_numbers
    half_width = normal_quantile(confidence_level)
    value, low, high, hidden = find(asked.counts, asked.numbers, share, half_width, target)
    if asked.sets is not None:
        low, high, hidden = asked.quantile_within(share, target, half_width)
    title = f"median of {attribute}" if share == 0.5 else f"quantile {share:g} of {attribute}"
    found = _result(title, (value, math.nan, low, high), (asked, confidence_level, target), hidden=hidden)
    if labels is None:
        return found
    named = {place: label for label, place in labels.items()}
    return dataclasses.replace(found, labels=(named[value], named[low], named[high]))


def _places(attribute: Attribute) -> dict[str, float] | None:
    """Places of ordered categories that are no numbers themselves, by label; None for any other attribute."""
    if not attribute.is_ordered or attribute.edges is not None or attribute.numbers is not None:
        return None
    return {label: float(place) for place, label in enumerate(attribute.stated_labels, 1)}


def correlation(
    release: Countable,
    first: str,
    second: str,
    *,
    where: str = "",
    confidence_level: float = 0.95,
    target: Target = "table",
) -> NumberEstimate:
    """Pearson's correlation of two attributes whose categories stand for numbers."""
    attributes = [release.schema[first], release.schema[second]]
    numbers = [score(each).values for each in attributes]
    cells = ask_cells(release, (first, second), where=where)
    stated = np.logical_and.reduce(
        [cells.codes[each.name] != each.missing_code for each in attributes if each.missing_code is not None]
        or [np.ones(cells.estimates.values.size, dtype=bool)]
    )
    counts = keep_cells(cells.estimates, stated)
    x, y = (known[cells.codes[each.name][stated]] for known, each in zip(numbers, attributes, strict=True))

    def formula(n: Any) -> Any:
        rows = n.sum()
        from_x, from_y = x - n @ x / rows, y - n @ y / rows
        return n @ (from_x * from_y) / np.sqrt((n @ from_x**2) * (n @ from_y**2))

    spreads = [
        float(counts.values @ (each - counts.values @ each / counts.values.sum()) ** 2) for each in (x, y)
    ]
    if min(spreads) <= 0:
        raise NoSolutionError(
            f"the variance of {(first, second)[int(np.argmin(spreads))]} is estimated as not positive, so there is no "
            "correlation. Ask a release of more rows or less noise.",
            reason="undefined",
        )
    value = float(formula(counts.values))
    carried = carry(np.array([value]), differentiate(formula, counts.values)[None, :], counts, target)
    error = float(carried.standard_errors[0])
    rows = cells.rows_of(stated)
    low, high = beyond_box(_interval(carried, confidence_level), value, formula, counts, rows, target)
    ends = max(low, -1.0), min(high, 1.0)
    return _result(
        f"correlation of {first} and {second}",
        (value, error, *ends),
        (ScoredCounts(cells, counts), confidence_level, target),
        notes=(WHOLE_RANGE,) if ends == (-1, 1) else (),
    )


def _scored(release: Countable, name: str, where: str, scores: ScoresByLabel | None) -> ScoredCounts:
    """Estimated counts of the categories that have a score, and their scores."""
    attribute = release.schema[name]
    numbers = score(attribute, scores)
    cells = ask_cells(release, (name,), where=where)
    codes = cells.codes[name]
    stated = codes != (-1 if attribute.missing_code is None else attribute.missing_code)
    counts = keep_cells(cells.estimates, stated)
    if counts.values.sum() <= 0:
        total = counts.linear(np.ones((1, counts.values.size)))
        value, error = float(total.values[0]), float(total.standard_errors[0])
        raise NoSolutionError(
            f"the number of rows with a value of {name} is estimated as {show_with_error(value, error)}, "
            "so nothing can be averaged. Ask about more rows.",
            reason="undefined",
        )
    kept = codes[stated]
    sets = None
    if are_loose(counts).any() and are_certain(counts) and isinstance(release, Release):
        sets = sets_of(release, name, where)
    own = Scores(numbers.values[kept], numbers.lows[kept], numbers.highs[kept])
    return ScoredCounts(cells, counts, own, tuple(kept.tolist()), sets)


def _mean(counts: Estimates, numbers: Floats, target: Target) -> Estimates:
    rows = counts.values.sum()
    value = float(numbers @ counts.values / rows)
    return _carried(value, (numbers - value) / rows, counts, target)


def _carried(value: float, gradient: Floats, counts: Estimates, target: Target) -> Estimates:
    """A number with its error, and an interval that leans."""
    found = carry(np.array([value]), gradient[None, :], counts, target)
    return dataclasses.replace(found, limits=leaning(found, gradient[None, :], counts, target))


def _interval(found: Estimates, confidence_level: float) -> tuple[float, float]:
    low, high = found.intervals(confidence_level)
    return float(low[0]), float(high[0])


def _result(
    statistic: str,
    numbers: tuple[float, float, float, float],
    about: tuple[ScoredCounts, float, Target],
    *,
    hidden: tuple[float, float] | None = None,
    notes: tuple[str, ...] = (),
) -> NumberEstimate:
    asked, confidence_level, target = about
    cells = asked.cells
    lowest, highest = hidden or (None, None)
    return NumberEstimate(
        statistic,
        *numbers,
        confidence_level,
        cells.source.method,
        cells.source.law,
        target,
        lowest,
        highest,
        (*cells.notes, *note_of_bounds(asked.counts), *notes),
        certainty=claim_of(asked.counts, target),
    )
