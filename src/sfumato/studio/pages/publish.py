"""The custodian's pages about designs: method and parameters, comparison, publishing."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import SfumatoError
from sfumato.methods.base import METHODS, Design
from sfumato.release.manifest import CHECKS
from sfumato.report.figures import frontier_chart
from sfumato.schema import Role, Schema
from sfumato.studio import commands
from sfumato.studio.commands import controls, read_form
from sfumato.studio.pages.data import read_hierarchies
from sfumato.studio.processes import Job, Outcome
from sfumato.studio.project import Project
from sfumato.studio.studio import (
    BUSY,
    Studio,
    first,
    form,
    fragment,
    go,
    grid,
    page,
    query,
    refuse,
    studio_of,
)

# --------------------------------------------------------------------------------------------------
# Method: cards in plain words, a form from the declared parameters, and what they cost before anything is
# spent.


ROWS_UNKNOWN = 10_000
"""Rows that are planned for as long as nobody has counted them; the page says so."""


async def show_method(request: Request) -> Response:
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


METHOD_ROUTES = [
    Route("/method", show_method),
    Route("/method/{name}", choose),
    Route("/method/{name}", keep, methods=["POST"]),
    Route("/method/{name}/plan", plan),
    Route("/method/{name}/errors", errors),
    Route("/method/{name}/private", private),
]


# --------------------------------------------------------------------------------------------------
# Compare: designs on the custodian's own table by risk and error; one of them can be taken.


RISK, ERROR = "risk: what being in the table costs", "error of answers"


class Size(TypedDict):
    """How large a comparison is."""

    repeats: int
    queries: int


QUICK: Size = {"repeats": 3, "queries": 100}
"""What a first look takes."""


def read_comparison(project: Project) -> dict[str, Any] | None:
    """What ``sfumato compare`` wrote, or None."""
    try:
        found: dict[str, Any] = json.loads(
            (project.root / "comparison/comparison.json").read_text(encoding="utf-8")
        )
    except (OSError, ValueError):
        return None
    return found


async def show_compare(request: Request) -> Response:
    """The page."""
    studio = studio_of(request)
    state, schema = studio.project.state, studio.schema()
    found = read_comparison(studio.project)
    sensitive = [each.name for each in schema.with_role(Role.SENSITIVE)] if schema is not None else []
    shown = (
        [commands.compare(state.data, state.options, sensitive=sensitive[0], **QUICK)]
        if sensitive and state.data
        else []
    )
    return page(
        request,
        "compare.html",
        commands=shown,
        found=found,
        chart=None if found is None else _chart(found["designs"]),
        sensitive=sensitive,
        quick=QUICK,
        designs=_designs(studio.project),
        is_old=studio.project.result("comparison") != {"of": state.data, "schema": studio.mark()},
    )


def _designs(project: Project) -> str:
    """Designs that were written by hand; empty for a grid of every method."""
    try:
        return (project.root / "designs.toml").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _chart(designs: list[dict[str, Any]]) -> dict[str, Any]:
    points = [
        {
            "design": each["design"],
            "method": each["design"].split(" ")[0] if each["command"] else each["design"],
            "standing": "anchor" if not each["command"] else "beaten" if each["beaten"] else "frontier",
            **{name: each[name] for name in ("risk", "low", "high", "error", "error_low", "error_high")},
        }
        for each in designs
        if each["risk"] is not None and each["error"] is not None
    ]
    description = f"{len(points)} designs by risk (across) and error (up); the table below has the numbers."
    return frontier_chart(points, across=RISK, up=ERROR, description=description)


async def start_compare(request: Request) -> Response:
    """Begin, or go on with, a comparison."""
    studio = studio_of(request)
    state, sent = studio.project.state, await form(request)
    if studio.schema() is None or not state.data:
        return go("/compare")
    if studio.jobs.is_running:
        return await refuse(request, show_compare, BUSY)
    told = _command_compare(studio, sent)
    designs = first(sent, "designs")
    if designs:
        studio.project.write("designs.toml", designs.replace("\r\n", "\n") + "\n")
    else:
        (studio.project.root / "designs.toml").unlink(missing_ok=True)
    if first(sent, "anew"):
        shutil.rmtree(studio.project.root / "comparison", ignore_errors=True)
    about = {"of": state.data, "schema": studio.mark()}
    studio.jobs.start(
        Job("Comparing designs", told.arguments, "/compare"),
        lambda _: studio.project.keep_result("comparison", about),
    )
    return go("/compare")


def _command_compare(studio: Studio, sent: Mapping[str, Sequence[str]]) -> commands.Command:
    """What a form asks for."""
    state = studio.project.state
    numbers: Size = {
        "repeats": _whole(first(sent, "repeats"), QUICK["repeats"]),
        "queries": _whole(first(sent, "queries"), QUICK["queries"]),
    }
    return commands.compare(
        state.data,
        state.options,
        sensitive=first(sent, "sensitive"),
        own_designs=bool(first(sent, "designs")),
        **numbers,
    )


async def command_compare(request: Request) -> Response:
    """The command of the form as it stands."""
    return fragment("commands.html", commands=[_command_compare(studio_of(request), query(request))])


def _whole(text: str, given: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else given


async def take(request: Request) -> Response:
    """Let a compared design be the project's own."""
    studio = studio_of(request)
    sent = await form(request)
    found = read_comparison(studio.project)
    wanted = first(sent, "design")
    designs = [] if found is None else found["designs"]
    command = next((each["command"] for each in designs if each["design"] == wanted), "")
    if not command:
        return go("/compare")
    words = shlex.split(command)
    chosen = words[words.index("--method") : words.index("--out")]
    rows = str(studio.project.state.rows or ROWS_UNKNOWN)
    # The command line reads its own command: its plan says the design in full.
    outcome = await studio.run("plan", "--schema", "schema.toml", "--rows", rows, *chosen, "--json")
    if not outcome.has_result:
        return await refuse(request, show_compare, *outcome.sentences)
    design = outcome.data["design"]
    keep_design(studio, METHODS.make(design.pop("method"), design))
    return go("/publish")


COMPARE_ROUTES = [
    Route("/compare", show_compare),
    Route("/compare", start_compare, methods=["POST"]),
    Route("/compare/command", command_compare),
    Route("/compare/take", take, methods=["POST"]),
]


# --------------------------------------------------------------------------------------------------
# Publish: from the private rows to a release folder, whole or not at all, written down in the ledger.


SWITCHES = ("again", "withhold_law")
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,80}")


async def show_publish(request: Request) -> Response:
    """The page."""
    studio = studio_of(request)
    state, design = studio.project.state, read_design(studio.project)
    name = studio.project.free_name("releases", design.get("method", "release"))
    shown = (
        [commands.publish(state.data, state.options, out=f"releases/{name}", settings={})]
        if state.data and design
        else []
    )
    ledger = await studio.run("ledger", "list", "--json")
    return page(
        request,
        "publish.html",
        commands=shown,
        design=design,
        name=name,
        checks=CHECKS,
        releases=studio.project.releases(),
        published=studio.project.result("publication"),
        ledger=ledger.data if ledger.has_result else [],
        ledger_problems=() if ledger.has_result else ledger.sentences,
    )


async def start_publish(request: Request) -> Response:
    """Begin to publish."""
    studio = studio_of(request)
    state, sent = studio.project.state, await form(request)
    name = first(sent, "name")
    if not PLAIN_NAME.fullmatch(name):
        return await refuse(
            request,
            show_publish,
            "the name of a release is made of letters, digits, dots and dashes. Choose another.",
        )
    if studio.schema() is None or not read_design(studio.project) or not state.data:
        return go("/publish")
    seed = first(sent, "seed")
    if seed and not seed.isdecimal():
        return await refuse(
            request, show_publish, "a seed is a whole number, 0 or more. Correct it, or leave it empty."
        )
    job = Job(
        "Publishing",
        _command_publish(studio, sent).arguments,
        "/publish",
        state.rows,
        makes=f"releases/{name}",
    )
    if not studio.jobs.start(job, lambda outcome: _finish(studio, outcome)):
        return await refuse(request, show_publish, BUSY)
    return go("/publish")


def _command_publish(studio: Studio, sent: Mapping[str, Sequence[str]]) -> commands.Command:
    """What a form asks for."""
    state, seed = studio.project.state, first(sent, "seed")
    settings: dict[str, Any] = {each: bool(first(sent, each)) for each in SWITCHES}
    settings |= {"format": "csv" if first(sent, "format") == "csv" else None}
    settings["accept"] = tuple(name for name in CHECKS if name in sent.get("accept", ()))
    settings["seed"] = int(seed) if seed.isdecimal() else None
    return commands.publish(
        state.data, state.options, out=f"releases/{first(sent, 'name')}", settings=settings
    )


async def command_publish(request: Request) -> Response:
    """The command of the form as it stands."""
    return fragment("commands.html", commands=[_command_publish(studio_of(request), query(request))])


def _finish(studio: Studio, outcome: Outcome) -> None:
    studio.project.keep_result("publication", {**outcome.data, "said": outcome.sentences})
    studio.project.change_state(release=outcome.data["release"])


PUBLISH_ROUTES = [
    Route("/publish", show_publish),
    Route("/publish", start_publish, methods=["POST"]),
    Route("/publish/command", command_publish),
]
