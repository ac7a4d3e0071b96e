"""The analyst's pages of models: how attributes go together, and regressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.report.figures import LARGEST_CHART, interval_chart
from sfumato.studio import commands
from sfumato.studio.pages.analyst import NUMBERS, release_schema
from sfumato.studio.rendering import grid_of
from sfumato.studio.studio import first, page, query, studio_of


async def measures(request: Request) -> Response:
    """How two attributes go together."""
    studio, sent = studio_of(request), query(request)
    schema = await release_schema(studio)
    release = studio.project.state.release
    sides = (first(sent, "first"), first(sent, "second"))
    if schema is None or not all(sides):
        return page(request, "measures.html", schema=schema, sides=sides, table=None, charts=[])
    python = commands.call("release.measures", *sides)
    command = commands.asked("measures", release, "--of", sides[0], "--of", sides[1], python=python)
    outcome = await studio.run(*command.arguments)
    if not outcome.has_result:
        return page(
            request,
            "measures.html",
            problems=outcome.sentences,
            commands=[command],
            schema=schema,
            sides=sides,
            table=None,
            charts=[],
        )
    found = outcome.data
    columns = ("measure", *NUMBERS, "undefined")
    rows = [[each[name] if each[name] is not None else "" for name in columns] for each in found["measures"]]
    title = f"How {sides[0]} and {sides[1]} go together, {100 * found['confidence']:g} % intervals"
    shown = grid_of(title, ("measure", "estimate", "std. error", "low", "high", "why not"), rows)
    # Each on a scale of its own: a ratio and a correlation have none in common.
    charts = [
        _numbers_chart([{"category": each["measure"], **each}], each["measure"], across="", zero=False)
        for each in found["measures"]
        if _is_drawn(each)
    ]
    return page(
        request, "measures.html", commands=[command], schema=schema, sides=sides, table=shown, charts=charts
    )


def _is_drawn(answer: Mapping[str, Any]) -> bool:
    """An answer with an interval that an axis can show."""
    return all(
        answer.get(name) is not None and math.isfinite(answer[name]) for name in ("estimate", "low", "high")
    )


def _numbers_chart(
    answers: Sequence[Mapping[str, Any]], what: str, *, across: str, zero: bool
) -> dict[str, Any]:
    """Numbers of any size with their intervals."""
    points = [{name: each[name] for name in ("category", "estimate", "low", "high")} for each in answers]
    told = "; ".join(
        f"{each['category']} {each['estimate']:.4g}, from {each['low']:.4g} to {each['high']:.4g}"
        for each in points
    )
    return interval_chart(
        points,
        attribute=what,
        estimated="interval",
        reference=None,
        across=across,
        written=".4~g",
        zero=zero,
        description=f"Intervals: {told}.",
    )


async def regression(request: Request) -> Response:
    """A model fitted through the law."""
    studio, sent = studio_of(request), query(request)
    schema = await release_schema(studio)
    release, formula = studio.project.state.release, first(sent, "formula")
    if schema is None or not formula:
        return page(request, "regression.html", schema=schema, formula=formula, table=None, chart=None)
    command = commands.asked(
        "regression", release, question=formula, python=commands.call("release.regression", formula)
    )
    outcome = await studio.run(*command.arguments)
    if not outcome.has_result:
        return page(
            request,
            "regression.html",
            problems=outcome.sentences,
            commands=[command],
            schema=schema,
            formula=formula,
            table=None,
            chart=None,
        )
    found = outcome.data
    columns = ("term", "category", *NUMBERS)
    rows = [
        ["" if each.get(name) is None else each[name] for name in columns] for each in found["coefficients"]
    ]
    drawn = [
        {**each, "category": " ".join(filter(None, (each["term"], each.get("category"))))}
        for each in found["coefficients"]
        if _is_drawn(each)
    ]
    title = f"{found['formula']} ({found['family']}), {100 * found['confidence']:g} % intervals"
    shown = grid_of(title, ("term", "category", "estimate", "std. error", "low", "high"), rows)
    return page(
        request,
        "regression.html",
        commands=[command],
        schema=schema,
        formula=formula,
        table=shown,
        chart=_numbers_chart(drawn, "term", across="coefficient", zero=True)
        if 0 < len(drawn) <= LARGEST_CHART
        else None,
    )


ROUTES = [
    Route("/measures", measures),
    Route("/regression", regression),
]
