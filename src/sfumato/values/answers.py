"""What an analyst gets back: numbers with their errors, labelled and ready to show."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sfumato.errors import ParameterError
from sfumato.values.certainty import Certainty
from sfumato.values.charts import interval_chart
from sfumato.values.estimates import Estimates
from sfumato.values.number_text import percent_as_stated, show
from sfumato.values.tabular import Charted


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
