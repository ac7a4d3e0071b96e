"""What an analyst gets back: numbers with their errors, labelled and ready to show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from sfumato.errors import ParameterError
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates
from sfumato.values.number_text import percent_as_stated, show
from sfumato.values.schema import Attribute


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
class Answer:
    """One estimated number.

    Parameters
    ----------
    question
        What was asked, in canonical form.
    estimate, standard_error, low, high
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
    note
        What the law has to say about this answer, such as whether it is dependable; often empty.
    origin
        What combines it with another answer of the same release, by ``-`` and ``/``; None where nothing does.

    Examples
    --------
    >>> Answer("sex = 'F'", 1234.6, 12.3, 1210.4, 1258.6, 0.95, "randomized-response", "perturbed-rows", "table")
    Answer(1,235 ± 12, 95 % interval 1,210 to 1,259)
    """

    question: str
    estimate: float
    standard_error: float
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
            _bounds_of(estimates)[0],
            note,
            Certainty(int(estimates.certainty[0])),
        )

    @property
    def is_exact(self) -> bool:
        """Whether the number is the true one, so that nothing had to be estimated."""
        return self.certainty is Certainty.EXACT

    def __repr__(self) -> str:
        error = self.standard_error
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
            *([f"Note: {self.note}"] if self.note and not self.is_exact else []),
        ]
        return "\n".join(lines)

    def _statement(self) -> list[str]:
        """The number, and what it claims of itself."""
        error = self.standard_error
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
            "std_error": self.standard_error,
            "low": finite_or_none(self.low),
            "high": finite_or_none(self.high),
            "confidence": self.confidence_level,
            "method": self.method,
            "law": self.law,
            "target": self.target,
            "estimator": self.estimator,
            "certainty": self.certainty.word,
            **bounds_to_dict(self.bounds),
            **({"note": self.note} if self.note else {}),
        }


@dataclass(frozen=True, eq=False)
class AnswerTable:
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
        The values were made non-negative and to add up; they are then biased, and the standard errors
        are those of the unbiased estimates they came from.
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

    @property
    def values(self) -> Floats:
        """Estimates as an array with one axis for each attribute."""
        return self.estimates.values.reshape([len(codes) for codes in self.codes])

    @property
    def standard_errors(self) -> Floats:
        """Standard errors in the same shape."""
        return self.estimates.standard_errors.reshape([len(codes) for codes in self.codes])

    def intervals(self) -> tuple[Floats, Floats]:
        """Ends of the intervals, flattened; those of consistent estimates are cut at zero."""
        low, high = self.estimates.intervals(self.confidence_level)
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
            [attribute.labels[code] for code in codes]
            for attribute, codes in zip(self.attributes, self.codes, strict=True)
        ]
        for index, position in enumerate(np.ndindex(*[len(each) for each in labels])):
            yield (
                tuple(each[place] for each, place in zip(labels, position, strict=True)),
                float(self.estimates.values[index]),
                float(self.estimates.standard_errors[index]),
                float(low[index]),
                float(high[index]),
            )

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
        return _bounds_of(self.estimates)

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
            if self.estimator.startswith("unbiased")
            else self.estimator
        )
        title = f"Estimated counts, {percent_as_stated(self.confidence_level)} intervals ({kind})"
        return "\n".join([title, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``counts --json`` prints it."""
        names = [each.name for each in self.attributes]
        return {
            "attributes": names,
            "confidence": self.confidence_level,
            "consistent": self.is_consistent,
            "method": self.method,
            "law": self.law,
            "target": self.target,
            "estimator": "consistent" if self.is_consistent else self.estimator,
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

        rows = [(*labels, *numbers) for labels, *numbers in self.cells()]
        columns = zip(*rows, strict=True) if rows else [()] * len(self.column_names())
        return pa.table(dict(zip(self.column_names(), map(list, columns), strict=True)))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the cells with their intervals, as plain data."""
        points = [
            {"cell": ", ".join(labels), "estimate": value, "low": low, "high": high}
            for labels, value, _, low, high in self.cells()
        ]
        names = ", ".join(each.name for each in self.attributes)
        cell = {"field": "cell", "type": "nominal", "sort": None, "title": names}
        return {
            "data": {"values": points},
            "layer": [
                {
                    "mark": {"type": "rule"},
                    "encoding": {
                        "y": cell,
                        "x": {"field": "low", "type": "quantitative", "title": "rows"},
                        "x2": {"field": "high"},
                    },
                },
                {
                    "mark": {"type": "point", "filled": True},
                    "encoding": {"y": cell, "x": {"field": "estimate", "type": "quantitative"}},
                },
            ],
        }


def _bounds_of(estimates: Estimates) -> list[tuple[float, float] | None]:
    """Certain bounds of every number; None where there is none on either side."""
    if estimates.bounds is None:
        return [None] * estimates.values.size
    pairs = zip(*(each.tolist() for each in estimates.bounds), strict=True)
    return [None if math.isinf(low) and math.isinf(high) else (low, high) for low, high in pairs]
