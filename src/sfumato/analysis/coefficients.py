"""Coefficients of a fitted model, and what every such fit can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.analysis.asking import as_columns
from sfumato.values.answers import finite_or_none
from sfumato.values.certainty import Certainty
from sfumato.values.charts import interval_chart
from sfumato.values.number_text import show
from sfumato.values.tabular import Charted

SHOWN = ("Term", "Estimate", "Std. error", "Low", "High")
"""Columns of a table of coefficients."""


@dataclass(frozen=True)
class Coefficient:
    """One coefficient.

    Parameters
    ----------
    term
        The column it belongs to.
    category
        Category of the response it is about; empty where there is none.
    estimate, std_error, low, high
        The number, its error and its interval, whose ends may be infinite.
    certainty
        What it claims: one that is bounded lies between low and high for certain, and its estimate rests on an assumption.
    """

    term: str
    category: str
    estimate: float
    std_error: float
    low: float
    high: float
    certainty: Certainty = Certainty.ESTIMATED

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "certainty": self.certainty.word}

    def shown(self) -> tuple[str, ...]:
        """Cells of :data:`SHOWN`, to the digits that the error supports."""
        numbers = (self.estimate, self.std_error, self.low, self.high)
        return self.term, *(show(each, self.std_error) for each in numbers)


class Fitted(Charted):
    """A fit whose result is a list of coefficients."""

    coefficients: tuple[Coefficient, ...]

    def __str__(self) -> str:
        return self.summary()

    def __getitem__(self, term: str) -> Coefficient:
        for each in self.coefficients:
            if each.term == term:
                return each
        raise KeyError(term)

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each coefficient."""
        import pyarrow as pa

        return pa.table(as_columns([each.to_dict() for each in self.coefficients]))

    def chart(self, *, title: str, unit: str) -> dict[str, Any]:
        """A Vega-Lite chart of the coefficients, as plain data; ends that are infinite are not drawn."""
        points = [
            {
                "label": " ".join(filter(None, (each.category, each.term))),
                **{name: finite_or_none(getattr(each, name)) for name in ("estimate", "low", "high")},
            }
            for each in self.coefficients
        ]
        return interval_chart(points, title=title, unit=unit)
