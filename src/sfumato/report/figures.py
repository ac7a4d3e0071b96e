"""Charts as Vega-Lite in plain data, those of risk included."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

# --------------------------------------------------------------------------------------------------
# Charts as Vega-Lite, in plain data: nothing is drawn here, and nothing is fetched to draw it.
#
# Categories enter charts as data, never as field names or expressions, so that no category can become
# code. Colours are the page's own variables, so that a chart follows a reader's light or dark setting.


LARGEST_CHART = 30
"""Categories that one chart shows; more cannot be told apart."""

ESTIMATE_COLOUR = "var(--estimate)"
REFERENCE_COLOUR = "var(--reference)"
BOUNDS_COLOUR = "var(--ink-soft)"
SERIES_COLOURS = tuple(f"var(--series-{number})" for number in range(1, 6))
"""Told apart by readers who confuse red and green too; they repeat when there are more series."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"

INTERVAL = {"type": "rule", "strokeWidth": 3, "strokeCap": "round", "opacity": 0.45}
BOUNDS = {"type": "rule", "strokeWidth": 1.5, "opacity": 1}
DOT = {"type": "point", "filled": True, "size": 62, "opacity": 1}
RING = {"type": "point", "filled": False, "size": 62, "strokeWidth": 2, "opacity": 1}

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--ink-soft)",
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 230,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--ink-soft)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 400,
        "orient": "top",
        "direction": "horizontal",
        "columnPadding": 24,
        "symbolOpacity": 1,
        "symbolStrokeWidth": 2,
        # From the left edge of the whole chart, not of its axis: on a telephone there is no room beside long categories.
        "layout": {"top": {"anchor": "start", "bounds": "full"}},
    },
    "axisX": {"tickCount": 8},
    "axisY": {
        "gridDash": [2, 4],
        "ticks": False,
        "domain": False,
        "labelPadding": 8,
    },
}


def interval_chart(
    points: Sequence[Mapping[str, Any]],
    *,
    attribute: str,
    estimated: str,
    reference: str | None,
    bounded: str | None = None,
    across: str = "rows",
    written: str = ",.0f",
    zero: bool = False,
    description: str,
) -> dict[str, Any]:
    """Estimates with their intervals, and beside each the number it is to be held against, if there is one.

    Parameters
    ----------
    points
        Mappings with ``category``, ``estimate``, ``low``, ``high`` and, if they have a name, ``reference``
        or ``least`` and ``most``, in the order shown.
    attribute
        Whose categories they are.
    estimated, reference, bounded
        What the legend calls estimates, the numbers beside them, and certain bounds; None for those not given.
    across, written
        Title of the horizontal axis, and how its numbers are written where one points at them.
    zero
        Draw a line at zero, for numbers that are held against it.
    description
        For those who cannot see the chart.
    """
    category = {"field": "category", "type": "nominal", "sort": None, "title": None, "axis": {"grid": True}}
    named = {"estimate": estimated, "low": "low", "high": "high"}
    colours = {estimated: ESTIMATE_COLOUR}
    if reference is not None:
        named["reference"] = reference
        colours[reference] = REFERENCE_COLOUR
    if bounded is not None:
        named |= {"least": "at least", "most": "at most"}
        colours[bounded] = BOUNDS_COLOUR
    tooltip = [
        {"field": "category", "type": "nominal", "title": attribute},
        *(
            {"field": field, "type": "quantitative", "format": written, "title": title}
            for field, title in named.items()
        ),
    ]
    scale = {"domain": list(colours), "range": list(colours.values())}

    def layer(mark: dict[str, Any], name: str, field: str, **more: Any) -> dict[str, Any]:
        return {
            "mark": mark,
            "encoding": {
                "y": category,
                "x": {"field": field, "type": "quantitative", "title": across},
                "color": {
                    "datum": name,
                    "type": "nominal",
                    "scale": scale,
                    "legend": {"title": None, "columns": 1},
                },
                "tooltip": tooltip,
                **more,
            },
        }

    layers = [] if bounded is None else [layer(BOUNDS, bounded, "least", x2={"field": "most"})]
    layers.append(layer(INTERVAL, estimated, "low", x2={"field": "high"}))
    if reference is not None:
        layers.append(layer(RING, reference, "reference"))
    layers.append(layer(DOT, estimated, "estimate"))
    if zero:
        line = {
            "type": "rule",
            "strokeWidth": 1.5,
            "color": "var(--ink)",
            "strokeDash": [5, 4],
            "description": "the line at zero",
        }
        place = {"x": {"datum": 0, "type": "quantitative", "title": across}}
        layers.insert(0, {"data": {"values": [{}]}, "mark": line, "encoding": place})
    return whole_chart(description, points, layers, height=21 * len(points))


def comparison_chart(
    points: Sequence[Mapping[str, Any]], *, across: str, zero: str, description: str
) -> dict[str, Any]:
    """Intervals of several releases for the same questions, around the truth at zero.

    Parameters
    ----------
    points
        Mappings with ``question``, ``release``, ``estimate``, ``low`` and ``high``, the last three
        as differences from the truth.
    across
        Title of the horizontal axis.
    zero
        What the line at zero is called.
    description
        For those who cannot see the chart.
    """
    place = {
        "y": {"field": "question", "type": "nominal", "sort": None, "title": None},
        "yOffset": {"field": "release", "type": "nominal", "sort": None},
        "color": series_of(points, "release"),
        "tooltip": [
            {"field": "question", "type": "nominal", "title": "question"},
            {"field": "release", "type": "nominal", "title": "release"},
            *(
                {"field": each, "type": "quantitative", "format": "+.1f", "title": each}
                for each in ("estimate", "low", "high")
            ),
        ],
    }
    horizontal = {"type": "quantitative", "title": across}
    return whole_chart(
        description,
        points,
        [
            {
                "data": {"values": [{"at": 0, "name": zero}]},
                "mark": {"type": "rule", "strokeWidth": 1.5, "color": "var(--ink)", "strokeDash": [5, 4]},
                "encoding": {
                    "x": {"field": "at", **horizontal},
                    "tooltip": {"field": "name", "type": "nominal", "title": "line"},
                },
            },
            {
                "mark": INTERVAL,
                "encoding": {**place, "x": {"field": "low", **horizontal}, "x2": {"field": "high"}},
            },
            {
                "mark": DOT,
                "encoding": {**place, "x": {"field": "estimate", **horizontal}},
            },
        ],
        height=18 * len(points),
    )


def cost_chart(
    points: Sequence[Mapping[str, Any]], *, across: str, up: str, description: str
) -> dict[str, Any]:
    """What each question's answer costs in accuracy, against the strength of the promise.

    Parameters
    ----------
    points
        Mappings with ``question``, ``release``, ``promise`` and ``error``, both numbers above zero.
    across, up
        Titles of the two axes.
    description
        For those who cannot see the chart.
    """
    encoding = {
        "x": {
            "field": "promise",
            "type": "quantitative",
            "title": across,
            "scale": {"zero": False, "padding": 12},
        },
        "y": {
            "field": "error",
            "type": "quantitative",
            "title": up,
            "scale": {"type": "log", "nice": False, "padding": 12},
            # Left to itself, a logarithmic axis draws a line for every digit.
            "axis": {"values": [digit * 10.0**power for power in range(-3, 4) for digit in (1, 2, 5)]},
        },
        "color": series_of(points, "question"),
        "tooltip": [
            {"field": "question", "type": "nominal", "title": "question"},
            {"field": "release", "type": "nominal", "title": "release"},
            {"field": "promise", "type": "quantitative", "format": ".3f", "title": across},
            {"field": "error", "type": "quantitative", "format": ".2f", "title": up},
        ],
    }
    marks = [
        {"mark": {"type": "line", "strokeWidth": 2}},
        {"mark": DOT},
    ]
    return {**whole_chart(description, points, marks, height=300), "encoding": encoding}


def bar_chart(labels: Sequence[str], counts: Sequence[float], *, description: str) -> dict[str, Any]:
    """Numbers of rows by category, in the order given; of many categories the most frequent.

    Parameters
    ----------
    labels, counts
        Of the categories.
    description
        For those who cannot see the chart.
    """
    shown = sorted(sorted(range(len(labels)), key=lambda place: -counts[place])[:LARGEST_CHART])
    points = [{"category": labels[place], "rows": counts[place]} for place in shown]
    layer = {
        "mark": {"type": "bar", "color": ESTIMATE_COLOUR},
        "encoding": {
            "y": {"field": "category", "type": "nominal", "sort": None, "title": None},
            "x": {"field": "rows", "type": "quantitative", "title": "rows"},
            "tooltip": [
                {"field": "category", "type": "nominal", "title": "category"},
                {"field": "rows", "type": "quantitative", "format": ",.0f", "title": "rows"},
            ],
        },
    }
    return whole_chart(description, points, [layer], height=19 * len(points))


def series_of(points: Sequence[Mapping[str, Any]], field: str) -> dict[str, Any]:
    """How series are told apart by colour, in the order in which they come."""
    names = list(dict.fromkeys(point[field] for point in points))
    colours = list(itertools.islice(itertools.cycle(SERIES_COLOURS), len(names)))
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "scale": {"domain": names, "range": colours},
        "legend": {"title": None, "columns": 1},
    }


def whole_chart(
    description: str, points: Sequence[Mapping[str, Any]], layers: list[dict[str, Any]], *, height: int
) -> dict[str, Any]:
    """A chart as wide as its place on the page."""
    return {
        "description": description,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": CONFIG,
        "data": {"values": [dict(point) for point in points]},
        "layer": layers,
    }


# --------------------------------------------------------------------------------------------------
# Charts of risk: designs by what they risk and what they cost, and whether stated probabilities hold.


SHAPES = (
    *(
        "circle",
        "square",
        "triangle-up",
        "cross",
        "diamond",
        "triangle-right",
        "triangle-down",
        "triangle-left",
    ),
    "wedge",
)
"""One for each method and the table itself, so that a chart can be read without colour."""

LETTERS_OF_A_LINE = 36
"""Letters of an axis title that a telephone is wide enough for."""


def frontier_chart(
    points: Sequence[Mapping[str, Any]], *, across: str, up: str, description: str
) -> dict[str, Any]:
    """Designs by risk and error, with intervals of both; shapes tell methods apart where colours do not.

    Parameters
    ----------
    points
        Mappings with ``design``, ``method``, ``standing`` (frontier, beaten or anchor), ``risk``, ``low``, ``high``,
        ``error``, ``error_low``, ``error_high``.
    across, up
        Titles of the two axes.
    description
        For those who cannot see the chart.
    """
    # In lines: on a telephone what does not fit is cut off.
    lines = textwrap.wrap(across, LETTERS_OF_A_LINE)
    x = {"field": "risk", "type": "quantitative", "title": lines, "axis": {"format": ".0%"}}
    y = {"field": "error", "type": "quantitative", "title": up, "scale": {"domainMin": 0, "nice": True}}
    colour = series_of(points, "method")
    names = colour["scale"]["domain"]
    shape = {
        **colour,
        "scale": {"domain": names, "range": list(itertools.islice(itertools.cycle(SHAPES), len(names)))},
    }
    faded = {"condition": {"test": "indexof(datum.standing, 'beaten') === 0", "value": 0.35}, "value": 1}
    told = [
        {"field": "design", "type": "nominal", "title": "design"},
        {"field": "standing", "type": "nominal", "title": "standing"},
        {"field": "risk", "type": "quantitative", "format": ".3f", "title": across},
        {"field": "error", "type": "quantitative", "format": ".3f", "title": up},
    ]

    def bar(ends: dict[str, Any]) -> dict[str, Any]:
        encoding = {"x": x, "y": y, "color": colour, "opacity": faded, **ends}
        return {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": encoding}

    layers: list[dict[str, Any]] = [
        bar({"x": {**x, "field": "low"}, "x2": {"field": "high"}}),
        bar({"y": {**y, "field": "error_low"}, "y2": {"field": "error_high"}}),
        {
            "mark": {"type": "point", "filled": True, "size": 90},
            "encoding": {
                "x": x,
                "y": y,
                "color": colour,
                "shape": shape,
                "opacity": faded,
                "tooltip": told,
            },
        },
    ]
    return whole_chart(description, points, layers, height=420)


def reliability_chart(points: Sequence[Mapping[str, Any]], *, description: str) -> dict[str, Any]:
    """Stated probabilities against how often they were right; on the diagonal they hold.

    Parameters
    ----------
    points
        Mappings with ``stated``, ``observed`` and ``people``.
    description
        For those who cannot see the chart.
    """

    def axis(field: str, title: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "title": title, "scale": {"domain": [0, 1]}}

    place = {"x": axis("stated", "stated probability"), "y": axis("observed", "share that was right")}
    told = [
        {"field": field, "type": "quantitative", "format": form, "title": field}
        for field, form in (("stated", ".2f"), ("observed", ".2f"), ("people", ",.0f"))
    ]
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [{"stated": 0, "observed": 0}, {"stated": 1, "observed": 1}]},
            "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "color": BOUNDS_COLOUR},
            "encoding": place,
        },
        {"mark": {"type": "line", "strokeWidth": 2, "color": ESTIMATE_COLOUR}, "encoding": place},
        {"mark": {**DOT, "color": ESTIMATE_COLOUR}, "encoding": {**place, "tooltip": told}},
    ]
    return whole_chart(description, points, layers, height=320)
