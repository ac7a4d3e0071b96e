"""Tables of answers: estimated cells with their errors, labelled and ready to show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.values.answers import bounds_of, bounds_to_dict, finite_or_none, show_end
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.charts import interval_chart
from sfumato.values.estimates import Estimates
from sfumato.values.number_text import percent_as_stated
from sfumato.values.schema import Attribute
from sfumato.values.tabular import Charted


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
        return "\n".join([title, *lines])

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
