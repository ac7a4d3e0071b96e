"""Data: where the rows are, and what stands in their columns."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sfumato.errors import ParameterError, SfumatoError
from sfumato.studio import commands
from sfumato.studio.jobs import Job, Outcome
from sfumato.studio.rendering import grid_of
from sfumato.studio.studio import BUSY, REFUSED, Studio, first, form, fragment, go, page, refuse, studio_of
from sfumato.values.schema import Schema
from sfumato.writing import name_schema_file

OPTIONS = ("delimiter", "encoding", "names", "table", "query")
"""What can be said about reading a source, as the command line names it."""

BARS = 12
"""Categories of a small chart."""


async def show(request: Request) -> Response:
    """The page."""
    studio = studio_of(request)
    state = studio.project.state
    shown = [commands.infer(state.data, state.options)] if state.data else []
    beside = schema_beside(studio)
    return page(request, "data.html", commands=shown, schema=studio.schema(), beside=beside, options=OPTIONS)


async def choose(request: Request) -> Response:
    """Other data: a path or an address on this machine."""
    studio = studio_of(request)
    sent = await form(request)
    data = first(sent, "data")
    options = {name: first(sent, name) for name in OPTIONS if first(sent, name)}
    if not data:
        problem = (
            "no data were named. Give a path on this machine, or an address such as sqlite:///people.db."
        )
        return await refuse(request, show, problem)
    if studio.jobs.is_running:
        return await refuse(request, show, BUSY)
    # What begins with a dash would be an option.
    take_data(studio, f"./{data}" if data.startswith("-") else data, options)
    return go("/data")


def take_data(studio: Studio, data: str, options: dict[str, str]) -> None:
    """Let the project be about other data, and begin to guess their schema."""
    studio.project.remember("other data")
    for name in ("schema.toml", "design.toml", "hierarchies.toml"):
        (studio.project.root / name).unlink(missing_ok=True)
    studio.project.change_state(data=data, options=options, rows=None)
    infer(studio)


def infer(studio: Studio) -> bool:
    """Begin to guess a schema, unless something else is under way."""
    state = studio.project.state
    command = commands.infer(state.data, state.options)

    def finish(outcome: Outcome) -> None:
        studio.project.keep_result("inference", outcome.data)

    return studio.jobs.start(Job("Reading the columns", command.arguments, "/data"), finish)


async def infer_again(request: Request) -> Response:
    """Guess the schema of the data named; for a project that was opened with data alone."""
    studio = studio_of(request)
    if not studio.project.has("schema.toml"):
        infer(studio)
    return go("/data")


def schema_beside(studio: Studio) -> str:
    """A schema file that stands beside the data, where it is not the project's own already; else empty."""
    state = studio.project.state
    if not state.data or "://" in state.data or "::" in state.data:
        return ""
    found = name_schema_file(studio.project.root / state.data)
    try:
        is_other = found.is_file() and Schema.read(found) != studio.schema()
    except SfumatoError:
        # It is offered, and refused with its problems when it is taken.
        is_other = True
    return str(found) if is_other else ""


async def take_schema(request: Request) -> Response:
    """The schema file beside the data, in place of the guess."""
    studio = studio_of(request)
    found = schema_beside(studio)
    if found:
        try:
            schema = Schema.read(found)
        except SfumatoError as error:
            return await refuse(request, show, str(error))
        studio.project.remember("schema taken from beside the data")
        studio.project.write("schema.toml", schema.to_toml())
    return go("/data")


async def upload(request: Request) -> Response:
    """A file of the browser's, into the project folder; never over another."""
    studio = studio_of(request)
    name = request.path_params["name"]
    if studio.jobs.is_running:
        return JSONResponse({"problem": BUSY}, status_code=REFUSED)
    try:
        place = studio.project.name_for_upload(name)
    except ParameterError as error:
        return JSONResponse({"problem": str(error)}, status_code=REFUSED)
    partial = place.with_name(f".partial-{uuid.uuid4().hex}")
    try:
        with partial.open("xb") as file:
            async for chunk in request.stream():
                file.write(chunk)
        place = studio.project.keep_upload(partial, name)
    except OSError as error:
        problem = (
            f"the file could not be written ({error.strerror}). Free some space, or give its path instead."
        )
        return JSONResponse({"problem": problem}, status_code=REFUSED)
    finally:
        partial.unlink(missing_ok=True)
    take_data(studio, str(place.relative_to(studio.project.root)), {})
    return JSONResponse({"go": "/data"}, status_code=201)


async def columns(request: Request) -> Response:
    """What stands in the columns, counted: a fragment that comes when it is ready."""
    studio = studio_of(request)
    schema = studio.schema()
    if schema is None:
        return fragment("columns.html", problem="", columns=[], rows=None)
    names, state = schema.publishable.names, studio.project.state
    told = await studio.ask_private({"do": "count", "schema": schema.to_dict(), "names": names})
    if told["exit"]:
        return fragment("columns.html", problem=told["said"], columns=[], rows=None)
    rows = told["result"]["rows"]
    if studio.project.state == replace(state, rows=studio.project.state.rows) and state.rows != rows:
        # Not where another tab has chosen other data meanwhile.
        studio.project.change_state(rows=rows)
    shown = [
        {
            "attribute": each,
            "place": schema.names.index(each.name),
            "kind": "numbers in bins" if each.bins else "dates" if each.dates else "categories",
            "missing": counts[each.missing_code] / rows if each.missing_code is not None else 0,
            "bars": [(label, count / max(counts)) for label, count in zip(each.labels, counts, strict=True)][
                :BARS
            ],
        }
        for each in schema.publishable.attributes
        for counts in (told["result"]["counts"][each.name],)
    ]
    withheld = [each for each in schema.attributes if each.name not in names]
    return fragment("columns.html", problem="", columns=shown, withheld=withheld, rows=rows)


async def rows(request: Request) -> Response:
    """The first private rows, because a person asked to see them."""
    studio = studio_of(request)
    told = await studio.ask_private({"do": "rows"})
    if told["exit"]:
        return fragment("rows.html", problem=told["said"], table=None)
    found = told["result"]
    title = f"The first {len(found['rows'])} rows, as they are in {Path(studio.project.state.data).name}"
    return fragment("rows.html", problem="", table=grid_of(title, found["columns"], found["rows"]))


ROUTES = [
    Route("/data", show),
    Route("/data", choose, methods=["POST"]),
    Route("/data/infer", infer_again, methods=["POST"]),
    Route("/data/schema", take_schema, methods=["POST"]),
    Route("/data/columns", columns),
    Route("/data/rows", rows, methods=["POST"]),
    Route("/upload/{name}", upload, methods=["PUT"]),
]
