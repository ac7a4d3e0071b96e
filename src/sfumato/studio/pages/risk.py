"""Risk today: how far the rows single people out as they stand."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.data.uniqueness import UniqueRows
from sfumato.studio import commands
from sfumato.studio.jobs import Job, Outcome
from sfumato.studio.rendering import grid
from sfumato.studio.studio import BUSY, go, page, refuse, studio_of


async def show(request: Request) -> Response:
    """The page."""
    studio = studio_of(request)
    state = studio.project.state
    found = studio.project.result("inspection")
    schema = studio.schema()
    shown = [commands.inspect(state.data, state.options)] if state.data else []
    if found is None or schema is None:
        return page(request, "risk.html", commands=shown, found=None, schema=schema)
    unique = found["unique_rows"]
    counted = UniqueRows(
        tuple(unique["attributes"]),
        unique["number_of_rows"],
        unique["unique_rows"],
        unique["is_estimated"],
        tuple(unique["found_by"]),
        unique["found_rows"],
        tuple(unique["revealed"]),
    )
    return page(
        request,
        "risk.html",
        commands=shown,
        found=found,
        schema=schema,
        sentence=counted.sentence(condition="that could be published"),
        tables=[grid(each) for each in found["tables"]],
        is_old=(found["schema"], found.get("of")) != (schema.to_dict(), state.data),
    )


async def start(request: Request) -> Response:
    """Begin to inspect."""
    studio = studio_of(request)
    state, schema = studio.project.state, studio.schema()
    if schema is None:
        return go("/data")

    def finish(outcome: Outcome) -> None:
        studio.project.keep_result(
            "inspection", {**outcome.data, "schema": schema.to_dict(), "of": state.data}
        )

    command = commands.inspect(state.data, state.options)
    if not studio.jobs.start(Job("Inspecting the rows", command.arguments, "/risk", state.rows), finish):
        return await refuse(request, show, BUSY)
    return go("/risk")


ROUTES = [Route("/risk", show), Route("/risk", start, methods=["POST"])]
