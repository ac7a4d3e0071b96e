"""How results are shown and exported: tables, data frames, Arrow, charts as plain data."""

from __future__ import annotations

import html
import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import MissingExtraError
from sfumato.text import Cell, show_cell

# --------------------------------------------------------------------------------------------------
# Small tables of results: a title, headings, rows; shown as text, JSON or HTML.


@dataclass(frozen=True)
class ResultTable:
    """One table of a plan, an inspection, an attack or an audit.

    Parameters
    ----------
    title
        What it shows.
    columns
        Headings.
    rows
        Cells: texts and numbers.
    is_private
        Computed from private rows: for the custodian's eyes, not for publication.

    Examples
    --------
    >>> print(ResultTable("Errors", ("attribute", "std. error"), (("job", 12.3456),)).to_text())
    Errors
    attribute  std. error
    job             12.35
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_private: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("every row must have one cell for each column.")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "title": self.title,
            "private": self.is_private,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
        }

    def to_text(self) -> str:
        """Columns lined up: texts to the left, numbers to the right."""
        shown = [[show_cell(cell) for cell in row] for row in self.rows]
        widths = [
            max(len(row[place]) for row in [list(self.columns), *shown]) for place in range(len(self.columns))
        ]
        is_number = [
            bool(self.rows) and all(not isinstance(row[place], str) for row in self.rows)
            for place in range(len(self.columns))
        ]
        lines = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, is_number, strict=True)
            ).rstrip()
            for row in [list(self.columns), *shown]
        ]
        mark = "  [private: computed from the data]" if self.is_private else ""
        return "\n".join([self.title + mark, *lines])


# --------------------------------------------------------------------------------------------------
# Results as tables and charts of other libraries.


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


# --------------------------------------------------------------------------------------------------
# Charts as plain data (Vega-Lite): notebooks and pages draw them, nothing here does.


Points = Sequence[Mapping[str, Any]]


def drawable(number: float | None) -> float | None:
    """The number, or None where there is nothing to draw: plain data have no word for what is not finite.

    Examples
    --------
    >>> drawable(2.5), drawable(math.inf)
    (2.5, None)
    """
    return None if number is None or not math.isfinite(number) else number


def _label(title: str) -> dict[str, Any]:
    return {"field": "label", "type": "nominal", "sort": None, "title": title}


def interval_chart(points: Points, *, title: str, unit: str) -> dict[str, Any]:
    """Points with ``label``, ``estimate``, ``low`` and ``high``, on one scale."""
    label = _label(title)
    return {"data": _data(points), "layer": _intervals(label, unit)}


def separate_intervals(points: Points, *, title: str) -> dict[str, Any]:
    """The same, each on a scale of its own: numbers of different kinds."""
    return {
        "data": _data(points),
        "facet": {"row": {**_label(title), "header": {"labelAngle": 0, "labelAlign": "left"}}},
        "spec": {"height": 20, "layer": _intervals(None, "")},
        "resolve": {"scale": {"x": "independent"}},
    }


def _intervals(label: Mapping[str, Any] | None, unit: str) -> list[dict[str, Any]]:
    beside = {} if label is None else {"y": label}
    across = {"field": "low", "type": "quantitative", "title": unit}
    return [
        {"mark": {"type": "rule"}, "encoding": {**beside, "x": across, "x2": {"field": "high"}}},
        {
            "mark": {"type": "point", "filled": True},
            "encoding": {**beside, "x": {"field": "estimate", "type": "quantitative"}},
        },
    ]


def bar_chart(points: Points, *, title: str, unit: str, kind: str = "") -> dict[str, Any]:
    """Bars from points with ``label`` and ``value``; with ``kind``, a title of what the points name by that word, in colours."""
    value = {"field": "value", "type": "quantitative", "title": unit}
    coloured = {"color": {"field": "kind", "type": "nominal", "title": kind}, "yOffset": {"field": "kind"}}
    return {
        "data": _data(points),
        "mark": {"type": "bar"},
        "encoding": {"y": _label(title), "x": value, **(coloured if kind else {})},
    }


def scatter_chart(points: Points, *, across: str, up: str, colour: str) -> dict[str, Any]:
    """Points with a number each for three fields, and a ``label`` that is shown where one points."""
    fields = {"x": across, "y": up, "color": colour}
    encoding = {
        channel: {"field": field, "type": "quantitative", "title": field} for channel, field in fields.items()
    }
    named = [{"field": "label", "type": "nominal"}, *({"field": each} for each in fields.values())]
    return {
        "data": _data(points),
        "mark": {"type": "point", "filled": True},
        "encoding": {**encoding, "tooltip": named},
    }


def verdict_chart(points: Points, *, title: str) -> dict[str, Any]:
    """Which ``verdict`` each ``label`` has."""
    verdict = {"field": "verdict", "type": "nominal", "title": ""}
    return {
        "data": _data(points),
        "mark": {"type": "rect"},
        "encoding": {"y": _label(title), "x": verdict, "color": verdict},
    }


def _data(points: Points) -> dict[str, Any]:
    numbers = [
        {name: drawable(value) if isinstance(value, float) else value for name, value in each.items()}
        for each in points
    ]
    return {"values": numbers}
