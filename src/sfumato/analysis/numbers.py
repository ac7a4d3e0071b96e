"""One computed number of a release, with its error and with what the categories hide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sfumato.laws import Target
from sfumato.values.certainty import Certainty
from sfumato.values.charts import interval_chart
from sfumato.values.number_text import percent_as_stated, show
from sfumato.values.tabular import Charted

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
