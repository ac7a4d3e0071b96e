"""Method: cards in plain words, a form from the declared parameters, and what they cost before anything is spent."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import SfumatoError
from sfumato.methods.base import METHODS, Design
from sfumato.studio import commands
from sfumato.studio.forms import controls, read_form
from sfumato.studio.pages.roles import read_hierarchies
from sfumato.studio.project import Project
from sfumato.studio.rendering import grid
from sfumato.studio.studio import Studio, form, fragment, go, page, query, studio_of
from sfumato.values.schema import Schema

ROWS_UNKNOWN = 10_000
"""Rows that are planned for as long as nobody has counted them; the page says so."""


async def show(request: Request) -> Response:
    """All methods."""
    studio = studio_of(request)
    cards = await studio.describe_methods()
    chosen = read_design(studio.project)
    return page(request, "methods.html", cards=cards, schema=studio.schema(), chosen=chosen)


def read_design(project: Project) -> dict[str, Any]:
    """The design that was kept, as its file says it; empty where there is none."""
    try:
        return tomllib.loads((project.root / "design.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


async def choose(request: Request) -> Response:
    """The form of one method."""
    return await _page(request, None, None)


async def _page(request: Request, sent: Mapping[str, Any] | None, error: SfumatoError | None) -> Response:
    studio, name = studio_of(request), request.path_params["name"]
    schema = studio.schema()
    cards = await studio.describe_methods()
    if schema is None or name not in cards:
        return go("/method")
    chosen = first_choice(studio, name, schema) if sent is None else sent
    rows = studio.project.state.rows or ROWS_UNKNOWN
    return page(
        request,
        "method.html",
        problems=() if error is None else (str(error),),
        wrong={} if error is None else {_parameter(error): str(error)},
        commands=[commands.plan({"method": name, **chosen}, rows)],
        card=cards[name],
        controls=controls(METHODS.get(name), schema, chosen),
        rows=rows,
        is_counted=studio.project.state.rows is not None,
        kept=read_design(studio.project).get("method") == name,
    )


def first_choice(studio: Studio, name: str, schema: Schema) -> dict[str, Any]:
    """What a form begins with: the design that was kept, else the method's example for this schema."""
    kept = read_design(studio.project)
    if kept.pop("method", None) == name:
        return kept
    design_class = METHODS.get(name)
    chosen: dict[str, Any] = {}
    try:
        made = design_class.example(schema.publishable).to_dict()
        required = design_class.model_json_schema().get("required", ())
        chosen = {
            key: value for key, value in made.items() if key in required or key in ("retention", "epsilon")
        }
    except SfumatoError:
        # The method does not fit the schema; the plan beside the form says why.
        pass
    trees = read_hierarchies(studio.project)
    if trees and "hierarchies" in design_class.model_fields:
        chosen["hierarchies"] = trees
    return chosen


def _order(studio: Studio, name: str, schema: Schema, sent: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    parameters = read_form(METHODS.get(name), schema, sent)
    rows = studio.project.state.rows or ROWS_UNKNOWN
    return {"do": "plan", "schema": schema.to_dict(), "rows": rows, "method": name, "parameters": parameters}


async def plan(request: Request) -> Response:
    """Promise and expected errors of the form as it stands, from the number of rows alone."""
    studio, name, sent = studio_of(request), request.path_params["name"], query(request)
    schema = studio.schema()
    if schema is None or name not in METHODS.members:
        return fragment("plan.html", problem="There is no schema yet.", plan=None)
    try:
        order = _order(studio, name, schema, sent)
    except SfumatoError as error:
        return fragment("plan.html", problem=str(error), field=_parameter(error), plan=None)
    promised, whole = await studio.plan(order)
    if promised["exit"]:
        return fragment(
            "plan.html", problem=promised["said"], field=promised.get("parameter") or "", plan=None
        )
    return fragment(
        "plan.html",
        problem="",
        plan=promised["result"],
        errors=None if whole is None else _errors(whole),
        command=commands.plan({"method": name, **order["parameters"]}, order["rows"]),
        name=name,
        sent=urlencode(sent, doseq=True),
        has_data=bool(studio.project.state.data),
    )


def _parameter(error: SfumatoError) -> str:
    """The parameter that a refusal is about; empty where it is about none."""
    return str(getattr(error, "parameter", None) or "")


def _errors(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a fragment needs to show the tables of a plan, or why there are none."""
    found = told.get("result") or {"tables": []}
    return {"problem": told.get("said", ""), "tables": [grid(each) for each in found["tables"]]}


async def errors(request: Request) -> Response:
    """The errors to expect, where they took longer than the promise."""
    studio, name, sent = studio_of(request), request.path_params["name"], query(request)
    schema = studio.schema()
    if schema is None or name not in METHODS.members:
        return fragment("errors.html", errors={"problem": "There is no schema yet.", "tables": []})
    try:
        told = await studio.whole_plan(_order(studio, name, schema, sent))
    except SfumatoError as error:
        return fragment("errors.html", errors={"problem": str(error), "tables": []})
    return fragment("errors.html", errors=_errors(told))


async def private(request: Request) -> Response:
    """The errors at the true counts, when they come."""
    studio, name, sent = studio_of(request), request.path_params["name"], query(request)
    schema = studio.schema()
    if schema is None or name not in METHODS.members:
        return fragment("private.html", problem="There is no schema yet.", tables=[])
    try:
        told = await studio.ask_private(_order(studio, name, schema, sent))
    except SfumatoError as error:
        return fragment("private.html", problem=str(error), tables=[])
    if told["exit"]:
        return fragment("private.html", problem=told["said"], tables=[])
    tables = [grid(each) for each in told["result"]["tables"] if each["private"]]
    return fragment("private.html", problem="", tables=tables)


async def keep(request: Request) -> Response:
    """Keep the design of the form."""
    studio, name, sent = studio_of(request), request.path_params["name"], await form(request)
    schema = studio.schema()
    if schema is None or name not in METHODS.members:
        return go("/method")
    parameters: dict[str, Any] = {}
    try:
        parameters = read_form(METHODS.get(name), schema, sent)
        design = METHODS.make(name, parameters)
        design.guarantees(schema)
    except SfumatoError as error:
        return await _page(request, parameters, error)
    keep_design(studio, design)
    return go("/publish")


def keep_design(studio: Studio, design: Design) -> None:
    """Let a design be the project's own."""
    studio.project.remember(f"design {design.to_dict()['method']} kept")
    studio.project.write("design.toml", design.to_toml())


ROUTES = [
    Route("/method", show),
    Route("/method/{name}", choose),
    Route("/method/{name}", keep, methods=["POST"]),
    Route("/method/{name}/plan", plan),
    Route("/method/{name}/errors", errors),
    Route("/method/{name}/private", private),
]
