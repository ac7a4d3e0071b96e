"""Means, variances, quantiles and (partial) correlations of attributes whose categories stand for numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.analysis.counts import CellCounts, Classification, Countable, ask_cells, ask_classes, keep_cells
from sfumato.analysis.equations import carry, differentiate, leaning
from sfumato.analysis.identified_sets import (
    Sets,
    are_certain,
    are_loose,
    beyond_box,
    category_between,
    claim_of,
    mean_between,
    note_of_bounds,
    quantile_between,
    sets_of,
    variance_between,
)
from sfumato.arrays import Floats
from sfumato.errors import NoSolutionError, ParameterError, QueryError
from sfumato.estimates.estimates import Certainty, Estimates, normal_quantile
from sfumato.laws import Target, refuse_target
from sfumato.release.release import Release
from sfumato.results import Charted, interval_chart
from sfumato.schema import Attribute
from sfumato.text import percent_as_stated, show, show_with_error

# --------------------------------------------------------------------------------------------------
# One computed number of a release, with its error and with what the categories hide.


WHOLE_RANGE = "the interval is the whole range: the release does not tell this number"
"""What is said of an interval that holds every value there can be."""


@dataclass(frozen=True)
class NumberEstimate(Charted):
    """A number computed from estimated counts.

    Parameters
    ----------
    statistic
        What it is, such as ``mean of age``.
    estimate, std_error, low, high
        The number, its error and its interval; the error is NaN where only an interval is known.
    confidence_level
        Of the interval.
    method, law, target
        Of the release, and what is estimated.
    lowest, highest
        Interval that holds wherever values lie within their bins; None where categories are numbers themselves.
    notes
        What a reader must know.
    labels
        Categories at the estimate, low and high, where these are places in a list of ordered categories.
    certainty
        What it claims: one that is bounded lies between low and high for certain, and its estimate rests on an assumption.

    Examples
    --------
    >>> NumberEstimate("mean of age", 41.26, 0.52, 40.24, 42.28, 0.95, "anatomy", "bucketed-rows", "table")
    NumberEstimate(mean of age: 41.26 ± 0.52, 95 % interval 40.24 to 42.28)
    """

    statistic: str
    estimate: float
    std_error: float
    low: float
    high: float
    confidence_level: float
    method: str
    law: str
    target: Target
    lowest: float | None = None
    highest: float | None = None
    notes: tuple[str, ...] = ()
    labels: tuple[str, str, str] | None = None
    certainty: Certainty = Certainty.ESTIMATED

    @property
    def _interval(self) -> str:
        """What its ends are, in words."""
        if self.certainty is Certainty.BOUNDED:
            return "certainly between"
        return f"{percent_as_stated(self.confidence_level)} interval"

    @property
    def _to(self) -> str:
        return "and" if self.certainty is Certainty.BOUNDED else "to"

    @property
    def _digits(self) -> float:
        """A standard error to round by: that of the interval where there is no other."""
        return (self.high - self.low) / 4 if math.isnan(self.std_error) else self.std_error

    def __repr__(self) -> str:
        if self.labels is not None:
            return f"NumberEstimate({self.statistic}: {self._named})"
        error = "" if math.isnan(self.std_error) else f" ± {show(self.std_error, self._digits)}"
        return (
            f"NumberEstimate({self.statistic}: {show(self.estimate, self._digits)}{error}, "
            f"{self._interval} {show(self.low, self._digits)} {self._to} {show(self.high, self._digits)})"
        )

    @property
    def _named(self) -> str:
        assert self.labels is not None
        estimate, low, high = map(repr, self.labels)
        return f"{estimate}, {self._interval} {low} {self._to} {high}"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A few lines for people."""
        error = "" if math.isnan(self.std_error) else f", std. error {show(self.std_error, self._digits)}"
        about = (
            "the published table's own rows" if self.target == "table" else "the population behind the table"
        )
        low, high = (show(each, self._digits) for each in (self.low, self.high))
        lines = [
            self.statistic,
            f"Estimate {self._named}"
            if self.labels is not None
            else f"Estimate {show(self.estimate, self._digits)}{error}, {self._interval} {low} {self._to} {high}",
        ]
        if self.lowest is not None and self.highest is not None:
            lines.append(
                "Wherever values lie within their bins: "
                f"{show(self.lowest, self._digits)} to {show(self.highest, self._digits)}"
            )
        lines.append(f"(about {about}; {self.method}, law {self.law})")
        return "\n".join([*lines, *(f"Note: {each}" for each in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``mean --json`` prints it."""
        return {
            "statistic": self.statistic,
            "estimate": self.estimate,
            "std_error": self.std_error,
            "low": self.low,
            "high": self.high,
            "lowest": self.lowest,
            "highest": self.highest,
            "confidence": self.confidence_level,
            "method": self.method,
            "law": self.law,
            "target": self.target,
            "certainty": self.certainty.word,
            "notes": list(self.notes),
            **({} if self.labels is None else {"labels": list(self.labels)}),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table of one row."""
        import pyarrow as pa

        return pa.table({name: [value] for name, value in self.to_dict().items()})

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the number with its interval, as plain data."""
        point = {"label": self.statistic, "estimate": self.estimate, "low": self.low, "high": self.high}
        return interval_chart([point], title="", unit=f"about the {self.target}")


# --------------------------------------------------------------------------------------------------
# Categories as numbers: middles of bins, ordered categories that are numbers, or numbers that the analyst
# gives.


@dataclass(frozen=True, eq=False)
class Scores:
    """What each category counts for; missing values have no score and are left out.

    Parameters
    ----------
    values
        ``(categories,)``, without the missing one.
    lows, highs
        Ends of the bins; the values themselves where categories are numbers.
    """

    values: Floats
    lows: Floats
    highs: Floats

    @property
    def is_binned(self) -> bool:
        """Whether bins hide where within them values lie."""
        return bool((self.lows < self.highs).any())


def score(attribute: Attribute, scores: Mapping[str, float] | None = None) -> Scores:
    """Numbers for an attribute's categories.

    Parameters
    ----------
    attribute
        Binned, or with ordered categories that are numbers; any other with ``scores``.
    scores
        Number of each category, by its label.

    Raises
    ------
    QueryError
        When the categories have no numbers, or an outermost bin has no end.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> score(Attribute(name="age", role=Role.OTHER, bins=(0, 10, 30))).values.tolist()
    [5.0, 20.0]
    """
    labels = attribute.stated_labels
    if scores is not None:
        absent = [label for label in labels if label not in scores]
        if absent:
            raise QueryError(
                f"scores for {attribute.name!r} lack the category {absent[0]!r}. Give every category a number."
            )
        return _of_numbers([scores[label] for label in labels])
    if attribute.edges is not None:
        edges = np.array(attribute.edges, dtype=np.float64)
        if not np.isfinite(edges).all():
            raise QueryError(
                f"an outermost bin of {attribute.name!r} has no end, and so no middle. Give scores for its categories."
            )
        return Scores((edges[:-1] + edges[1:]) / 2, edges[:-1], edges[1:])
    if attribute.numbers is None:
        raise QueryError(
            f"attribute {attribute.name!r} is not declared as ordered numbers, so it has no mean. "
            "Ask about a binned attribute or one of ordered numbers, or give scores: a number for each category."
        )
    return _of_numbers(list(attribute.numbers))


def _of_numbers(numbers: list[float]) -> Scores:
    values = np.array(numbers, dtype=np.float64)
    return Scores(values, values, values)


# --------------------------------------------------------------------------------------------------
# Counts of categories that stand for numbers, and what is certain of them where they are known within bounds
# only.


_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class ScoredCounts:
    """Estimated counts of the categories that have a score.

    Parameters
    ----------
    cells
        What was asked for.
    counts, numbers, codes
        Those with a score, their scores and their codes.
    sets
        Bounds of sets of codes, where counts are known within bounds only.
    """

    cells: CellCounts
    counts: Estimates
    numbers: Scores = field(default_factory=lambda: Scores(_NONE, _NONE, _NONE))
    codes: tuple[int, ...] = ()
    sets: Sets | None = None

    def _known(self) -> Sets:
        assert self.sets is not None
        return self.sets

    @property
    def _least_rows(self) -> float:
        """Rows that there are for certain."""
        return max(self._known()(frozenset(self.codes))[0], 1.0)

    def mean_within(self, scores: Floats, target: Target, confidence_level: float) -> tuple[float, float]:
        """Ends of a mean of counts within bounds; about a population with the largest error that a draw of such rows can have."""
        low, high = mean_between(self._known(), self.codes, scores)
        if target == "table":
            return low, high
        most = variance_between(self._known(), self.codes, scores)[1]
        reach = normal_quantile(confidence_level) * math.sqrt(most / self._least_rows)
        return max(low - reach, float(scores.min())), min(high + reach, float(scores.max()))

    def variance_within(self, target: Target, confidence_level: float) -> tuple[float, float]:
        """The same of a variance."""
        low, high = variance_between(self._known(), self.codes, self.numbers.values)
        if target == "table":
            return low, high
        middle = float(self.numbers.values @ self.counts.values / self.counts.values.sum())
        squares = np.square(self.numbers.values - middle)
        most = variance_between(self._known(), self.codes, squares)[1]
        # A draw lowers a variance by its share of one row on average.
        reach = (
            normal_quantile(confidence_level) * math.sqrt(most / self._least_rows) + high / self._least_rows
        )
        # No variance is larger than that of halves at both ends.
        return max(low - reach, 0.0), min(high + reach, float(np.ptp(self.numbers.values)) ** 2 / 4)

    def quantile_within(
        self, share: float, target: Target, half_width: float
    ) -> tuple[float, float, tuple[float, float] | None]:
        """The same of a quantile, and of the bins around: how much the share below may differ by chance is known without any count."""
        drawn = math.sqrt(share * (1 - share) / self._least_rows) if target == "population" else 0.0
        slack = half_width * drawn
        values = self.numbers.values
        if not self.numbers.is_binned:
            order = np.argsort(values)
            first, last = category_between(self._known(), [self.codes[each] for each in order], share, slack)
            return float(values[order[first]]), float(values[order[last]]), None
        edges = np.append(self.numbers.lows, self.numbers.highs[-1])
        low, high = quantile_between(self._known(), self.codes, edges, share, slack)
        return low, high, bins_around(edges, low, high)


def bins_around(edges: Floats, low: float, high: float) -> tuple[float, float]:
    """Where the bins begin and end that hold two numbers."""
    last_bin = edges.size - 2
    first = int(np.clip(np.searchsorted(edges, low, side="right") - 1, 0, last_bin))
    last = int(np.clip(np.searchsorted(edges, high, side="left") - 1, 0, last_bin))
    return float(edges[first]), float(edges[last + 1])


# --------------------------------------------------------------------------------------------------
# Quantiles of estimated counts, and the numbers that could be the quantile: those whose share below is not
# rejected.


Found = tuple[float, float, float, tuple[float, float] | None]
"""A quantile, the ends of its interval, and the ends wherever rows lie within their bins."""

PARTS_OF_A_BIN = 32
"""In which it is looked for what is kept of a bin, besides the place where the share is met; ends are then found to the last digit."""


def variance_of_draw(share: float, at: float, below: float, within: float, rows: float) -> float:
    """Variance of the rows below a point, less the share of all, in drawn tables where the point is the quantile.

    Parameters
    ----------
    share
        Of the quantile.
    at
        Where the point lies in its bin, from 0 to 1; 1 where all of a category counts.
    below, within, rows
        Rows in bins below, in the bin, and all; estimates may be negative, all rows are not.

    Notes
    -----
    A row counts 1 below the bin, ``at`` in it and 0 above. In a population whose mean of these is the share s, a bin of share p leaves
    a variance of ``s (1 - s) - at (1 - at) p`` for each row: that of the sign test at ends of bins, whatever was drawn. The
    counts themselves would give a table with nobody above the point hardly any variance, and reject the top always. For p, rows are added
    above the point (or below it) until the share is met: those of the bin and below it (above it) keep their proportion.

    Examples
    --------
    Thirty rows of which none lies above: ``30 * 0.95 * 0.05``, and not ``30 * 0.05 ** 2``.

    >>> round(variance_of_draw(0.95, 1.0, 20.0, 10.0, 30.0), 4)
    1.425
    """
    counted = below + at * within
    kept = share / counted if counted >= share * rows else (1 - share) / (rows - counted)
    # More than these, and the bin by itself would hold more than the share below the point, or above it.
    most = min(share / max(at, share), (1 - share) / max(1 - at, 1 - share))
    return rows * (share * (1 - share) - at * (1 - at) * min(max(kept * within, 0.0), most))


def quantile_of_bins(
    counts: Estimates, numbers: Scores, share: float, half_width: float, target: Target
) -> Found:
    """Where the share is met, rows being spread evenly within bins; kept are all points that could be there.

    Parameters
    ----------
    counts, numbers
        Of the bins, from the lowest on.
    share
        Of the rows below.
    half_width
        Of the interval, in standard errors.
    target
        What the interval is about.
    """
    from scipy.optimize import isotonic_regression

    edges = np.append(numbers.lows, numbers.highs[-1])
    below = np.concatenate([[0.0], np.cumsum(counts.values)])
    rising = np.clip(isotonic_regression(below).x, 0, below[-1])
    value = float(np.interp(share * below[-1], rising, edges))
    kept = [
        (place, at)
        for place in range(counts.values.size)
        for at in _kept_within(counts, place, share, half_width, target)
    ]
    ends = [float(edges[place] + at * (edges[place + 1] - edges[place])) for place, at in kept]
    low, high = min([*ends, value]), max([*ends, value])
    return value, low, high, bins_around(edges, low, high)


def _kept_within(
    counts: Estimates, place: int, share: float, half_width: float, target: Target
) -> list[float]:
    """The lowest and the highest point of a bin (0 to 1) that are not rejected, or none."""
    weights = np.tile(np.where(np.arange(counts.values.size) < place, 1.0, 0.0), (3, 1))
    weights[:, place] = 0.0, 0.5, 1.0
    start, middle, end = counts.linear(weights - share).variances
    below, within = float(counts.values[:place].sum()), float(counts.values[place])
    rows = float(counts.values.sum())

    def margin(at: float) -> float:
        # Rows below a point of the bin are linear in the point, and the law's variance is quadratic.
        variance = start + (end - start) * at - 2 * (start + end - 2 * middle) * at * (1 - at)
        if target == "population":
            variance += variance_of_draw(share, at, below, within, rows)
        return float(half_width**2 * variance - (below + at * within - share * rows) ** 2)

    points = np.linspace(0, 1, PARTS_OF_A_BIN + 1).tolist()
    if within:
        met = (share * rows - below) / within
        points = sorted([*points, min(max(met, 0.0), 1.0)])
    kept = [place for place, at in enumerate(points) if margin(at) >= 0]
    if not kept:
        return []
    first, last = kept[0], kept[-1]
    low = _last_kept(margin, points[first], points[max(first - 1, 0)])
    return [low, _last_kept(margin, points[last], points[min(last + 1, len(points) - 1)])]


def _last_kept(margin: Callable[[float], float], kept: float, beyond: float) -> float:
    """The point next to one that is rejected, between it and one that is kept."""
    while kept != beyond:
        middle = (kept + beyond) / 2
        if middle in (kept, beyond):
            break
        kept, beyond = (middle, beyond) if margin(middle) >= 0 else (kept, middle)
    return kept


def quantile_of_numbers(
    counts: Estimates, numbers: Scores, share: float, half_width: float, target: Target
) -> Found:
    """The first number with at least that share of rows up to it; kept are those that could be it.

    Parameters as for :func:`quantile_of_bins`; numbers may come in any order.
    """
    order = np.argsort(numbers.values)
    kept = []
    value = float(numbers.values[order[-1]])
    is_found = False
    upto = np.zeros(counts.values.size)
    before = -math.inf, 0.0
    for place in order:
        upto[place] = 1.0
        excess, error = _excess(counts, upto, share, target)
        if not is_found and excess >= 0:
            value, is_found = float(numbers.values[place]), True
        if excess >= -half_width * error and before[0] <= half_width * before[1]:
            kept.append(float(numbers.values[place]))
        before = excess, error
    return value, min([*kept, value]), max([*kept, value]), None


def _excess(counts: Estimates, upto: Floats, share: float, target: Target) -> tuple[float, float]:
    """Rows up to a number less the share of all, and the standard error where that number is the quantile."""
    combined = counts.linear(upto[None, :] - share)
    variance = float(combined.variances[0])
    if target == "population":
        variance += variance_of_draw(share, 1.0, float(upto @ counts.values), 0.0, float(counts.values.sum()))
    return float(combined.values[0]), math.sqrt(variance)


# --------------------------------------------------------------------------------------------------
# Means, variances, quantiles and correlations of numbers that were published as categories.


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
    refuse_target(release, target)
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
    refuse_target(release, target)
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
    refuse_target(release, target)
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
    refuse_target(release, target)
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


# --------------------------------------------------------------------------------------------------
# How two attributes go together when a third is held fixed: partial correlation through the law.


def partial_correlation(
    release: Countable,
    first: str,
    second: str,
    *,
    given: str,
    where: str = "",
    confidence_level: float = 0.95,
    target: Target = "table",
) -> NumberEstimate:
    """Correlation of two binary attributes or conditions with what a third explains taken out.

    Parameters
    ----------
    release
        What is asked; any of the three may be perturbed.
    first, second, given
        Attributes of two categories, or conditions of the query language.
    where, confidence_level, target
        As for any question.

    Raises
    ------
    QueryError
        When an attribute has more than two categories, or one is named twice.
    NoSolutionError
        When a margin is not estimated as positive, or one attribute determines another.

    Notes
    -----
    ``(r_ab - r_ac r_bc) / sqrt((1 - r_ac^2)(1 - r_bc^2))`` with the phi coefficients of the three pairs (Guo 2010, eq. 4.5).
    """
    refuse_target(release, target)
    sides = [Classification.parse(each, release.schema) for each in (first, second, given)]
    for each in sides:
        if len(each.labels) != 2:
            raise QueryError(
                f"a partial correlation is of attributes with two categories, and {each.text!r} has {len(each.labels)}. Write a condition "
                "such as \"job = 'Sales'\"."
            )
    names = [name for each in sides for name in each.names]
    if len(set(names)) < len(names):
        raise QueryError("each of the three attributes of a partial correlation is named once. Name others.")
    cells = ask_classes(release, sides, where=where)
    counts = cells.estimates
    value = _partial(counts.values)
    if value is None:
        raise NoSolutionError(
            "the partial correlation is not defined: a margin is not estimated as positive, or one of the attributes determines "
            "another. Ask about conditions that more rows satisfy.",
            reason="undefined",
        )
    found = carry(np.array([value]), differentiate(_formula, counts.values)[None, :], counts, target)
    least, most = found.intervals(confidence_level)
    low, high = beyond_box((float(least[0]), float(most[0])), value, _formula, counts, cells.rows, target)
    ends = float(np.clip(low, -1, 1)), float(np.clip(high, -1, 1))
    return NumberEstimate(
        f"correlation of {sides[0].text} and {sides[1].text} given {sides[2].text}",
        value,
        float(found.standard_errors[0]),
        *ends,
        confidence_level,
        cells.source.method,
        cells.source.law,
        target,
        notes=(*cells.notes, *note_of_bounds(counts), *([WHOLE_RANGE] if ends == (-1, 1) else [])),
        certainty=claim_of(counts, target),
    )


def _phi(pair: Any) -> Any:
    rows, columns = pair.sum(axis=1), pair.sum(axis=0)
    spread = rows[0] * rows[1] * columns[0] * columns[1]
    return (pair[1, 1] * pair[0, 0] - pair[0, 1] * pair[1, 0]) / np.sqrt(spread)


def _formula(counts: Any) -> Any:
    table = counts.reshape(2, 2, 2)
    ab, ac, bc = (_phi(table.sum(axis=axis)) for axis in (2, 1, 0))
    return (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))


def _partial(counts: Any) -> float | None:
    table = counts.reshape(2, 2, 2)
    if any((table.sum(axis=axes) <= 0).any() for axes in ((1, 2), (0, 2), (0, 1))):
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(_formula(counts))
    return value if math.isfinite(value) else None
