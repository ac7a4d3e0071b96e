"""Compare: designs on the custodian's own table by risk and error; one of them can be taken."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.methods.base import METHODS
from sfumato.report.risk_figures import frontier_chart
from sfumato.studio import commands
from sfumato.studio.jobs import Job
from sfumato.studio.pages.method import ROWS_UNKNOWN, keep_design
from sfumato.studio.project import Project
from sfumato.studio.studio import BUSY, Studio, first, form, fragment, go, page, query, refuse, studio_of
from sfumato.values.schema import Role

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


async def show(request: Request) -> Response:
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


async def start(request: Request) -> Response:
    """Begin, or go on with, a comparison."""
    studio = studio_of(request)
    state, sent = studio.project.state, await form(request)
    if studio.schema() is None or not state.data:
        return go("/compare")
    if studio.jobs.is_running:
        return await refuse(request, show, BUSY)
    told = _command(studio, sent)
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


def _command(studio: Studio, sent: Mapping[str, Sequence[str]]) -> commands.Command:
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


async def command(request: Request) -> Response:
    """The command of the form as it stands."""
    return fragment("commands.html", commands=[_command(studio_of(request), query(request))])


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
        return await refuse(request, show, *outcome.sentences)
    design = outcome.data["design"]
    keep_design(studio, METHODS.make(design.pop("method"), design))
    return go("/publish")


ROUTES = [
    Route("/compare", show),
    Route("/compare", start, methods=["POST"]),
    Route("/compare/command", command),
    Route("/compare/take", take, methods=["POST"]),
]
