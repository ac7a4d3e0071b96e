"""Results as tables and charts of other libraries."""

from __future__ import annotations

import html
import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.errors import MissingExtraError
from sfumato.values.number_text import show_cell

LARGEST_SHOWN = 60
"""Rows of a table that a notebook shows; the rest is counted."""

BAR_WIDTH = 120
"""Of the drawing beside a number, in pixels."""

INTERVAL = ("low", "estimate", "high")
"""Columns that are drawn where a table has all of them and every end is finite."""


class Tabular(ABC):
    """A result with rows and columns: read by whatever reads Arrow, shown by notebooks."""

    @abstractmethod
    def to_arrow(self) -> Any:
        """A pyarrow table."""

    @abstractmethod
    def summary(self) -> str:
        """Text for people, of which the first line is a title."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For any library that reads Arrow's C stream."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.to_arrow().num_rows)

    def __bool__(self) -> bool:
        # A result is a result, be it without rows.
        return True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Rows, each as a dictionary."""
        yield from self.to_arrow().to_pylist()

    def to_pandas(self) -> Any:
        """A pandas data frame; pandas must be installed."""
        _installed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A polars data frame; polars must be installed."""
        return _installed("polars").from_arrow(self.to_arrow())

    def _repr_html_(self) -> str:
        """For notebooks: the title, the numbers, and intervals as small bars."""
        table = self.to_arrow()
        rows = table.slice(0, LARGEST_SHOWN).to_pylist()
        more = table.num_rows - len(rows)
        rest = f"<p>and {more:,} rows more</p>" if more else ""
        return f"{html_paragraph(self.summary().splitlines()[0])}{html_table(table.column_names, rows)}{rest}"


class Charted(Tabular):
    """A table that can be drawn."""

    @abstractmethod
    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart, as plain data."""

    def plot(self) -> Figure:
        """The chart, which notebooks show."""
        return Figure(self.figure())


class Figure:
    """A Vega-Lite chart in a notebook's hands.

    Parameters
    ----------
    specification
        Plain data.
    """

    def __init__(self, specification: dict[str, Any]) -> None:
        self.specification = specification

    def __repr__(self) -> str:
        return f"Figure({len(self.specification['data']['values'])} points)"

    def to_dict(self) -> dict[str, Any]:
        """The specification."""
        return self.specification

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """Notebooks draw Vega-Lite by themselves."""
        return {"application/vnd.vegalite.v5+json": self.specification, "text/plain": repr(self)}


def html_paragraph(text: str) -> str:
    """Text for a notebook; what it says is not run."""
    return f"<p>{html.escape(text)}</p>"


def html_table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows for a notebook, with a bar beside each where all have an interval."""
    bars = _bars(rows)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names) + ("<th></th>" if bars else "")
    lines = [
        "".join(_html_cell(row[name]) for name in names) + (f"<td>{bars[place]}</td>" if bars else "")
        for place, row in enumerate(rows)
    ]
    body = "".join(f"<tr>{each}</tr>" for each in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _installed(library: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError:
        raise MissingExtraError(f"a {library} data frame", extra="frames") from None


def _html_cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td style="text-align: right">{html.escape(show_cell(value))}</td>'
    return f"<td>{html.escape('' if value is None else str(value))}</td>"


def _bars(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """An interval with its estimate for each row, on one scale; nothing where an end is not a number."""
    numbers: list[tuple[Any, ...]] = [tuple(row.get(name) for name in INTERVAL) for row in rows]
    known = [each for each in numbers if all(isinstance(end, float) and math.isfinite(end) for end in each)]
    if not known or len(known) < len(numbers):
        return []
    least, most = min(min(each) for each in known), max(max(each) for each in known)
    scale = BAR_WIDTH / ((most - least) or 1.0)

    def drawn(low: float, estimate: float, high: float) -> str:
        start, point, end = ((each - least) * scale for each in (low, estimate, high))
        return (
            f'<svg width="{BAR_WIDTH + 8}" height="12" role="img" aria-label="interval">'
            f'<line x1="{4 + start:.1f}" x2="{4 + end:.1f}" y1="6" y2="6" stroke="currentColor"/>'
            f'<circle cx="{4 + point:.1f}" cy="6" r="3" fill="currentColor"/></svg>'
        )

    return [drawn(*each) for each in known]
