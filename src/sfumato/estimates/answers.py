"""Answers: one number, or a table of numbers, with errors and intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from sfumato.arrays import Floats
from sfumato.errors import ParameterError
from sfumato.estimates.estimates import Certainty, Estimates
from sfumato.results import Charted, interval_chart
from sfumato.schema import Attribute
from sfumato.text import percent_as_stated, show

# --------------------------------------------------------------------------------------------------
# What an analyst gets back: numbers with their errors, labelled and ready to show.


def show_bounds(bounds: tuple[float, float] | None) -> str:
    """A line that states what is certain, or nothing where nothing is.

    Examples
    --------
    >>> show_bounds((3.0, math.inf)).strip()
    'Certainly at least 3; no upper bound'
    """
    if bounds is None:
        return ""
    low, high = bounds
    if math.isinf(low):
        return f"Certainly at most {show(high, 0)}; no lower bound\n"
    if math.isinf(high):
        return f"Certainly at least {show(low, 0)}; no upper bound\n"
    return f"Certainly between {show(low, 0)} and {show(high, 0)}\n"


def finite_or_none(number: float) -> float | None:
    """The number, or None for an end that is infinite: plain data have no word for it."""
    return None if math.isinf(number) else number


def show_end(number: float, standard_error: float) -> str:
    """The end of an interval, to the digits that a standard error supports."""
    return "no bound" if math.isinf(number) else show(number, standard_error)


def bounds_to_dict(bounds: tuple[float, float] | None) -> dict[str, Any]:
    """Certain bounds as plain data; None stands for no bound on that side.

    Examples
    --------
    >>> bounds_to_dict((3.0, math.inf))
    {'certain_low': 3.0, 'certain_high': None}
    """
    if bounds is None:
        return {}
    low, high = bounds
    return {"certain_low": finite_or_none(low), "certain_high": finite_or_none(high)}


class Combining(Protocol):
    """What knows how the errors of two answers go together."""

    def combine(self, first: Answer, operation: Literal["-", "/"], second: Answer) -> Answer:
        """``first - second`` or ``first / second``."""


@dataclass(frozen=True)
class Answer(Charted):
    """One estimated number.

    Parameters
    ----------
    question
        What was asked, in canonical form.
    estimate, std_error, low, high
        The number, its error, and the ends of its interval.
    confidence_level
        Of the interval.
    method, law
        Public names of the release's method and law.
    target
        ``"table"`` or ``"population"``.
    estimator
        ``"unbiased"``, or the name of another estimator and what it gives up.
    bounds
        Two numbers between which the true one lies for certain, where the release says so.
    certainty
        What the number claims: that it is exact, that it is bounded, or that it is estimated.
    leeway
        How far the number may be below and above the estimate because of an assumption, besides chance; None where
        the estimate needs none. The interval holds it, the standard error does not.
    note
        What is to be said about this answer, such as whether it is dependable, or that it is about more than was asked;
        often empty.
    origin
        What combines it with another answer of the same release, by ``-`` and ``/``; None where nothing does.

    Examples
    --------
    >>> Answer("sex = 'F'", 1234.6, 12.3, 1210.4, 1258.6, 0.95, "randomized-response", "perturbed-rows", "table")
    Answer(1,235 ± 12, 95 % interval 1,210 to 1,259)
    """

    question: str
    estimate: float
    std_error: float
    low: float
    high: float
    confidence_level: float
    method: str
    law: str
    target: str
    estimator: str = "unbiased"
    bounds: tuple[float, float] | None = None
    note: str = ""
    certainty: Certainty = Certainty.ESTIMATED
    leeway: tuple[float, float] | None = None
    origin: Combining | None = field(default=None, repr=False, compare=False)

    def __sub__(self, other: Answer) -> Answer:
        return self._combine("-", other)

    def __truediv__(self, other: Answer) -> Answer:
        return self._combine("/", other)

    def _combine(self, operation: Literal["-", "/"], other: Answer) -> Answer:
        if not isinstance(other, Answer):
            return NotImplemented
        if self.origin is None:
            raise ParameterError(
                "this answer cannot be combined with another: only answers of query and proportion, by the release's own "
                "estimator and before pickling, know how their errors go together. Ask for them anew."
            )
        return self.origin.combine(self, operation, other)

    def __getstate__(self) -> dict[str, Any]:
        # An opened release does not travel with its answers.
        return {name: value for name, value in vars(self).items() if name != "origin"}

    @classmethod
    def of(
        cls,
        question: str,
        estimates: Estimates,
        confidence_level: float,
        method: str,
        law: str,
        target: str,
        *,
        estimator: str = "unbiased",
        note: str = "",
    ) -> Answer:
        """The only number of some estimates, as an answer."""
        low, high = estimates.intervals(confidence_level)
        return cls(
            question,
            float(estimates.values[0]),
            float(estimates.standard_errors[0]),
            float(low[0]),
            float(high[0]),
            confidence_level,
            method,
            law,
            target,
            estimator,
            bounds_of(estimates)[0],
            note,
            Certainty(int(estimates.certainty[0])),
            leeway_of(estimates),
        )

    @property
    def is_exact(self) -> bool:
        """Whether the number is the true one, so that nothing had to be estimated."""
        return self.certainty is Certainty.EXACT

    def __repr__(self) -> str:
        error = self.std_error
        level = percent_as_stated(self.confidence_level)
        return (
            f"Answer({show(self.estimate, error)} ± {show(error, error)}, "
            f"{level} interval {show_end(self.low, error)} to {show_end(self.high, error)})"
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A few lines for people."""
        about = (
            "the published table's own rows" if self.target == "table" else "the population behind the table"
        )
        how = "" if self.is_exact else f"{self.estimator}; "
        lines = [
            self.question or "all rows",
            *self._statement(),
            f"(about {about}; {how}{self.method}, law {self.law})",
            *([f"Note: {self.note}"] if self.note else []),
        ]
        return "\n".join(lines)

    def _statement(self) -> list[str]:
        """The number, and what it claims of itself."""
        error = self.std_error
        if self.is_exact:
            return [f"Exactly {show(self.estimate, 0)}: published as it is, no error"]
        if math.isnan(error):
            unknown = "its standard error is not known, so there is no interval"
            return [f"Estimate {self.estimate:,.1f}; {unknown}"]
        certain = show_bounds(self.bounds).splitlines()
        number = f"Estimate {show(self.estimate, error)}, std. error {show(error, error)}"
        if self.certainty is Certainty.BOUNDED:
            return [*certain, f"{number}, under an assumption"]
        ends = f"{show_end(self.low, error)} to {show_end(self.high, error)}"
        return [f"{number}, {percent_as_stated(self.confidence_level)} interval {ends}", *certain]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``query --json`` prints it."""
        return {
            "query": self.question,
            "estimate": self.estimate,
            "std_error": self.std_error,
            "low": finite_or_none(self.low),
            "high": finite_or_none(self.high),
            "confidence": self.confidence_level,
            "method": self.method,
            "law": self.law,
            "target": self.target,
            "estimator": self.estimator,
            "certainty": self.certainty.word,
            **bounds_to_dict(self.bounds),
            **({} if self.leeway is None else {"leeway": [finite_or_none(each) for each in self.leeway]}),
            **({"note": self.note} if self.note else {}),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table of one row."""
        import pyarrow as pa

        return pa.table({name: [value] for name, value in self.to_dict().items()})

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the number with its interval, as plain data."""
        point = {
            "label": self.question or "all rows",
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
        }
        return interval_chart([point], title="", unit=f"about the {self.target}")


def leeway_of(estimates: Estimates) -> tuple[float, float] | None:
    """Of the first number; None where it rests on no assumption."""
    if estimates.leeway is None or not any(each[0] > 0 for each in estimates.leeway):
        return None
    below, above = estimates.leeway
    return float(below[0]), float(above[0])


def bounds_of(estimates: Estimates) -> list[tuple[float, float] | None]:
    """Certain bounds of every number; None where there is none on either side."""
    if estimates.bounds is None:
        return [None] * estimates.values.size
    pairs = zip(*(each.tolist() for each in estimates.bounds), strict=True)
    return [None if math.isinf(low) and math.isinf(high) else (low, high) for low, high in pairs]


# --------------------------------------------------------------------------------------------------
# Tables of answers: estimated cells with their errors, labelled and ready to show.


@dataclass(frozen=True, eq=False)
class AnswerTable(Charted):
    """Estimated counts over the categories of some attributes.

    Parameters
    ----------
    attributes
        One for each axis.
    codes
        For each attribute, the codes that appear, in order.
    estimates
        Flattened in the order of the attributes, the last one fastest.
    is_consistent
        The values were made non-negative and to add up; they are then biased, and standard errors and intervals
        are those of the unbiased estimates they came from, the intervals stretched to hold the values.
    within
        Attributes within whose categories the numbers are shares; of all rows where there are none. None for counts.
    level_of_each
        Level of the single intervals where all hold together with the confidence level; None where each is by itself.
    notes
        What a reader must know besides.
    """

    attributes: tuple[Attribute, ...]
    codes: tuple[tuple[int, ...], ...]
    estimates: Estimates
    confidence_level: float
    method: str
    law: str
    target: str
    is_consistent: bool = False
    estimator: str = "unbiased"
    within: tuple[str, ...] | None = None
    level_of_each: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> Floats:
        """Estimates as an array with one axis for each attribute."""
        return self.estimates.values.reshape([len(codes) for codes in self.codes])

    @property
    def std_errors(self) -> Floats:
        """Standard errors in the same shape."""
        return self.estimates.standard_errors.reshape([len(codes) for codes in self.codes])

    def intervals(self) -> tuple[Floats, Floats]:
        """Ends of the intervals, flattened; those of consistent estimates are cut at zero."""
        low, high = self.estimates.intervals(self.level_of_each or self.confidence_level)
        return (np.clip(low, 0, None), np.clip(high, 0, None)) if self.is_consistent else (low, high)

    def __repr__(self) -> str:
        kind = "consistent" if self.is_consistent else "unbiased"
        names = ", ".join(each.name for each in self.attributes)
        return f"AnswerTable({names}: {self.estimates.values.size} cells, {kind})"

    def __str__(self) -> str:
        return self.summary()

    def cells(self) -> Iterator[tuple[tuple[str, ...], float, float, float, float]]:
        """Labels, estimate, standard error, low and high of every cell."""
        low, high = self.intervals()
        labels = [
            [texts[code] for code in codes]
            for texts, codes in zip((each.labels for each in self.attributes), self.codes, strict=True)
        ]
        numbers = (self.estimates.values, self.estimates.standard_errors, low, high)
        columns = [np.asarray(each, dtype=np.float64).tolist() for each in numbers]
        yield from zip(itertools.product(*labels), *columns, strict=True)

    def column_names(self) -> tuple[str, ...]:
        """Names for a flat table: the attributes, then estimate, std_error, low, high; never one name twice."""
        names = [each.name for each in self.attributes]
        for name in ("estimate", "std_error", "low", "high"):
            while name in names:
                # An attribute may well be called "low".
                name += "_"  # noqa: PLW2901
            names.append(name)
        return tuple(names)

    def bounds(self) -> list[tuple[float, float] | None]:
        """Certain bounds of every cell, in the order of :meth:`cells`; None where the release states none."""
        return bounds_of(self.estimates)

    def certainties(self) -> list[Certainty]:
        """What every cell claims, in the order of :meth:`cells`."""
        return [Certainty(each) for each in self.estimates.certainty.tolist()]

    def summary(self) -> str:
        """A table for people, with what must be known to read it."""
        claims = self.certainties()
        # A column that says "estimated" all the way down says nothing.
        is_mixed = any(each is not Certainty.ESTIMATED for each in claims)
        certain = () if self.estimates.bounds is None else ("At least", "At most")
        header = [*(each.name for each in self.attributes), "Estimate", "Std. error", "Low", "High", *certain]
        header += ["Certainty"] if is_mixed else []
        nothing = (-math.inf, math.inf)
        body = [
            [
                *labels,
                *(show_end(number, error) for number in (value, error, low, high)),
                *((show_end(each, 0) for each in bounds or nothing) if certain else ()),
                *([claim.word] if is_mixed else []),
            ]
            for (labels, value, error, low, high), bounds, claim in zip(
                self.cells(), self.bounds(), claims, strict=True
            )
        ]
        widths = [max(len(row[column]) for row in [header, *body]) for column in range(len(header))]
        text_columns = len(self.attributes)
        lines = [
            "  ".join(
                cell.ljust(width) if column < text_columns else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [header, *body]
        ]
        kind = (
            "consistent: not negative and adding up, therefore biased"
            if self.is_consistent
            else f"{self.estimator}, so small counts can come out negative"
            if self.estimator.startswith("unbiased") and self.within is None
            else self.estimator
        )
        together = "" if self.level_of_each is None else " that hold all together"
        level = percent_as_stated(self.confidence_level)
        title = f"Estimated {self._what}, {level} intervals{together} ({kind})"
        return "\n".join([title, *lines, *(f"Note: {each}" for each in self.notes)])

    @property
    def _what(self) -> str:
        """What the numbers are."""
        if self.within is None:
            return "counts"
        return f"shares within {' and '.join(self.within)}" if self.within else "shares of all rows"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``counts --json`` prints it."""
        names = [each.name for each in self.attributes]
        shares = {} if self.within is None else {"shares_within": list(self.within)}
        each_level = {} if self.level_of_each is None else {"confidence_of_each": self.level_of_each}
        return {
            "attributes": names,
            **shares,
            "confidence": self.confidence_level,
            **each_level,
            "consistent": self.is_consistent,
            "method": self.method,
            "law": self.law,
            "target": self.target,
            "estimator": "consistent" if self.is_consistent else self.estimator,
            **({"notes": list(self.notes)} if self.notes else {}),
            "rows": [
                {
                    "values": dict(zip(names, labels, strict=True)),
                    "estimate": value,
                    "std_error": error,
                    "low": finite_or_none(low),
                    "high": finite_or_none(high),
                    "certainty": claim.word,
                    **bounds_to_dict(bounds),
                }
                for (labels, value, error, low, high), bounds, claim in zip(
                    self.cells(), self.bounds(), self.certainties(), strict=True
                )
            ],
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with the columns of :meth:`column_names`."""
        import pyarrow as pa

        names = self.column_names()
        rows = [(*labels, *numbers) for labels, *numbers in self.cells()]
        texts = len(self.attributes)
        fields = [
            pa.field(name, pa.string() if place < texts else pa.float64()) for place, name in enumerate(names)
        ]
        columns = [list(each) for each in zip(*rows, strict=True)] if rows else [[] for _ in names]
        return pa.table(columns, schema=pa.schema(fields))

    @property
    def _unit(self) -> str:
        return "rows" if self.within is None else "share"

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the cells with their intervals, as plain data."""
        points = [
            {"label": ", ".join(labels), "estimate": value, "low": low, "high": high}
            for labels, value, _, low, high in self.cells()
        ]
        return interval_chart(points, title=", ".join(each.name for each in self.attributes), unit=self._unit)
