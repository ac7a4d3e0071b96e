"""The custodian's pages about the data: columns, roles and categories, risk."""

from __future__ import annotations

import tomllib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sfumato.atomic_files import name_schema_file
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.report.figures import bar_chart
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.attribute import Period
from sfumato.schema.hierarchies import PathsForm
from sfumato.studio import commands
from sfumato.studio.processes import Job, Outcome
from sfumato.studio.project import MOST_EDITED, Project, edited, source_values, with_attribute
from sfumato.studio.studio import (
    BUSY,
    OUTDATED,
    REFUSED,
    Studio,
    first,
    form,
    fragment,
    go,
    grid,
    grid_of,
    page,
    query,
    refuse,
    studio_of,
)
from sfumato.text import counted, number_text, toml_key, toml_value

# --------------------------------------------------------------------------------------------------
# Data: where the rows are, and what stands in their columns.


OPTIONS = ("delimiter", "encoding", "names", "table", "query")
"""What can be said about reading a source, as the command line names it."""

BARS = 12
"""Categories of a small chart."""


async def show_data(request: Request) -> Response:
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
        return await refuse(request, show_data, problem)
    if studio.jobs.is_running:
        return await refuse(request, show_data, BUSY)
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
    except OSError:
        # A name that no file can have.
        is_other = False
    return str(found) if is_other else ""


async def take_schema(request: Request) -> Response:
    """The schema file beside the data, in place of the guess."""
    studio = studio_of(request)
    found = schema_beside(studio)
    if found:
        try:
            schema = Schema.read(found)
        except SfumatoError as error:
            return await refuse(request, show_data, str(error))
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
        partial.touch(mode=0o600, exist_ok=False)
        with partial.open("wb") as file:
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


DATA_ROUTES = [
    Route("/data", show_data),
    Route("/data", choose, methods=["POST"]),
    Route("/data/infer", infer_again, methods=["POST"]),
    Route("/data/schema", take_schema, methods=["POST"]),
    Route("/data/columns", columns),
    Route("/data/rows", rows, methods=["POST"]),
    Route("/upload/{name}", upload, methods=["PUT"]),
]


# --------------------------------------------------------------------------------------------------
# Roles and categories: what each column is for, and which categories it is published in.


MOST_LEVELS = 4


async def show_roles(request: Request) -> Response:
    """The page: every column with its role."""
    return _page(request, ())


def _page(request: Request, problems: Sequence[str]) -> Response:
    studio = studio_of(request)
    state = studio.project.state
    found = studio.project.result("inference") or {"columns": [], "decisions": []}
    reasons = {each["name"]: each["check"] for each in found["columns"]}
    shown = [commands.check(state.data, state.options)] if state.data else []
    return page(
        request,
        "roles.html",
        problems=problems,
        commands=shown,
        schema=studio.schema(),
        roles=list(Role),
        reasons=reasons,
        decisions=found["decisions"],
    )


async def change(request: Request) -> Response:
    """Other roles."""
    studio = studio_of(request)
    schema = studio.schema()
    sent = await form(request)
    if schema is None:
        return go("/data")
    if first(sent, "seen") != studio.mark():
        return _page(request, (OUTDATED,))
    content = schema.to_dict()
    for place, each in enumerate(schema.attributes):
        role = sent.get(f"role.{place}", [str(each.role)])[0]
        content["attributes"][each.name] = {**each.to_fields(), "role": role}
    return _keep(request, studio, lambda: Schema.from_dict(content), "roles changed", "/roles")


def _keep(request: Request, studio: Studio, make: Any, what: str, then: str) -> Response:
    try:
        changed = make()
    except SfumatoError as error:
        return _page(request, getattr(error, "problems", (str(error),)))
    if changed != studio.schema():
        studio.project.remember(what)
        studio.project.write("schema.toml", changed.to_toml())
    return go(then)


def _attribute(request: Request) -> tuple[Studio, Schema, Attribute] | None:
    studio = studio_of(request)
    schema = studio.schema()
    place = request.path_params["place"]
    if schema is None or place >= len(schema.attributes):
        return None
    return studio, schema, schema.attributes[place]


async def edit(request: Request) -> Response:
    """The page of one attribute."""
    found = _attribute(request)
    return go("/roles") if found is None else _editor(request, *found, problems=())


def _editor(
    request: Request, studio: Studio, schema: Schema, attribute: Attribute, *, problems: Sequence[str]
) -> Response:
    paths = read_hierarchies(studio.project).get(attribute.name, {}).get("paths", {})
    levels = max([2, *(len(each) for each in paths.values())])
    state = studio.project.state
    return page(
        request,
        "attribute.html",
        problems=problems,
        commands=[commands.check(state.data, state.options)] if state.data else [],
        schema=schema,
        attribute=attribute,
        place=request.path_params["place"],
        values=source_values(attribute) if attribute.size <= MOST_EDITED else (),
        most=MOST_EDITED,
        edges=", ".join(number_text(each) for each in attribute.bins or ()),
        periods=get_args(Period),
        date_edges=", ".join(attribute.to_fields()["dates"]["edges"])
        if attribute.dates and attribute.dates.edges
        else "",
        roles=list(Role),
        paths=paths,
        levels=min(levels, MOST_LEVELS),
    )


async def change_attribute(request: Request) -> Response:
    """Other categories, bins or order of one attribute."""
    found = _attribute(request)
    if found is None:
        return go("/roles")
    studio, schema, attribute = found
    sent = await form(request)
    if first(sent, "seen") != studio.mark():
        return _editor(request, studio, schema, attribute, problems=[OUTDATED])
    try:
        changed = with_attribute(schema, attribute.name, edited(attribute, sent))
    except SchemaError as error:
        return _editor(request, studio, schema, attribute, problems=error.problems)
    if changed != schema:
        studio.project.remember(f"{attribute.name} changed")
        studio.project.write("schema.toml", changed.to_toml())
    return go(f"/roles/{request.path_params['place']}")


async def histogram(request: Request) -> Response:
    """Rows by category as the form stands, kept or not: a fragment beside it."""
    found = _attribute(request)
    if found is None:
        return fragment("histogram.html", problem="", chart=None, sentence="")
    studio, schema, attribute = found
    sent = query(request)
    if "seen" in sent and first(sent, "seen") != studio.mark():
        return fragment("histogram.html", problem=OUTDATED, chart=None, sentence="")
    try:
        changed = with_attribute(schema, attribute.name, edited(attribute, sent))
    except SchemaError as error:
        return fragment(
            "histogram.html",
            problem=" ".join(error.problems),
            field=_field(attribute, error.problems),
            chart=None,
            sentence="",
        )
    shown = changed[attribute.name]
    if not shown.role.is_published:
        return fragment(
            "histogram.html", problem="", chart=None, sentence="Columns of this role are never published."
        )
    told = await studio.ask_private({"do": "count", "schema": changed.to_dict(), "names": [attribute.name]})
    if told["exit"]:
        return fragment("histogram.html", problem=told["said"], chart=None, sentence="")
    counts = told["result"]["counts"][attribute.name]
    empty = counts.count(0)
    sentence = (
        f"Categories: {len(counts)}, the smallest with {counted(min(counts), 'row')}"
        f"{f', {empty} without any' if empty else ''}."
    )
    description = f"Rows by category of {attribute.name}: {sentence}"
    return fragment(
        "histogram.html",
        problem="",
        chart=bar_chart(shown.labels, counts, description=description),
        sentence=sentence,
        description=description,
    )


def _field(attribute: Attribute, problems: Sequence[str]) -> str:
    """The field of an attribute's editor that problems are about."""
    if attribute.dates is not None:
        return "dates"
    if attribute.bins is None:
        return "categories"
    words = " ".join(problems)
    return next((each for each in ("top_code", "bottom_code") if each in words), "bins")


def read_hierarchies(project: Project) -> dict[str, Any]:
    """Trees of categories that were made by hand, by attribute."""
    try:
        return tomllib.loads((project.root / "hierarchies.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


async def change_hierarchy(request: Request) -> Response:
    """Another tree above the categories of one attribute; none where nothing is filled in."""
    found = _attribute(request)
    if found is None:
        return go("/roles")
    studio, schema, attribute = found
    sent = await form(request)
    if first(sent, "seen") != studio.mark():
        return _editor(request, studio, schema, attribute, problems=[OUTDATED])
    paths = hierarchy_paths(attribute, sent)
    trees = read_hierarchies(studio.project)
    trees.pop(attribute.name, None)
    if paths:
        try:
            PathsForm(paths=paths).build(attribute.as_published)
        except SfumatoError as error:
            return _editor(request, studio, schema, attribute, problems=[str(error)])
        trees[attribute.name] = {"paths": paths}
    studio.project.remember(f"tree of {attribute.name} changed")
    lines = [f"{toml_key(name)} = {toml_value(tree)}\n" for name, tree in trees.items()]
    studio.project.write("hierarchies.toml", "".join(lines))
    return go(f"/roles/{request.path_params['place']}")


def hierarchy_paths(attribute: Attribute, sent: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Labels above every category, from a form with a field for each category and level.

    A level that is empty for one category repeats the label below it.
    """
    columns = [
        [text.strip() for text in sent[f"level.{level}"]]
        for level in range(MOST_LEVELS)
        if f"level.{level}" in sent
    ]
    columns = [each for each in columns if len(each) == attribute.size and any(each)]
    paths: dict[str, tuple[str, ...]] = {}
    for place, label in enumerate(attribute.labels if columns else ()):
        above: list[str] = []
        for column in columns:
            above.append(column[place] or (above[-1] if above else label))
        paths[label] = tuple(above)
    return paths


ROLES_ROUTES = [
    Route("/roles", show_roles),
    Route("/roles", change, methods=["POST"]),
    Route("/roles/{place:int}", edit),
    Route("/roles/{place:int}", change_attribute, methods=["POST"]),
    Route("/roles/{place:int}/histogram", histogram),
    Route("/roles/{place:int}/hierarchy", change_hierarchy, methods=["POST"]),
]


# --------------------------------------------------------------------------------------------------
# Risk today: how far the rows single people out as they stand.


async def show_risk(request: Request) -> Response:
    """The page."""
    studio = studio_of(request)
    state = studio.project.state
    found = studio.project.result("inspection")
    schema = studio.schema()
    shown = [commands.inspect(state.data, state.options)] if state.data else []
    if found is None or schema is None:
        return page(request, "risk.html", commands=shown, found=None, schema=schema)
    return page(
        request,
        "risk.html",
        commands=shown,
        found=found,
        schema=schema,
        sentences=found["singled_out"]["sentences"],
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
        return await refuse(request, show_risk, BUSY)
    return go("/risk")


RISK_ROUTES = [Route("/risk", show_risk), Route("/risk", start, methods=["POST"])]
