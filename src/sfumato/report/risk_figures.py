"""Charts of risk: designs by what they risk and what they cost, and whether stated probabilities hold."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.report.figures import BOUNDS_COLOUR, DOT, ESTIMATE_COLOUR, series_of, whole_chart

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
