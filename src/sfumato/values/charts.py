"""Charts as plain data (Vega-Lite): notebooks and pages draw them, nothing here does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

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
