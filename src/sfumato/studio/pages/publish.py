"""Publish: from the private rows to a release folder, whole or not at all, written down in the ledger."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.studio import commands
from sfumato.studio.jobs import Job, Outcome
from sfumato.studio.pages.method import read_design
from sfumato.studio.studio import BUSY, Studio, first, form, fragment, go, page, query, refuse, studio_of

SWITCHES = ("again", "accept_unique_rows", "withhold_law")
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,80}")


async def show(request: Request) -> Response:
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
        releases=studio.project.releases(),
        published=studio.project.result("publication"),
        ledger=ledger.data if ledger.has_result else [],
    )


async def start(request: Request) -> Response:
    """Begin to publish."""
    studio = studio_of(request)
    state, sent = studio.project.state, await form(request)
    name = first(sent, "name")
    if not PLAIN_NAME.fullmatch(name):
        return await refuse(
            request,
            show,
            "the name of a release is made of letters, digits, dots and dashes. Choose another.",
        )
    if studio.schema() is None or not read_design(studio.project) or not state.data:
        return go("/publish")
    seed = first(sent, "seed")
    if seed and not seed.isdecimal():
        return await refuse(
            request, show, "a seed is a whole number, 0 or more. Correct it, or leave it empty."
        )
    job = Job(
        "Publishing", _command(studio, sent).arguments, "/publish", state.rows, makes=f"releases/{name}"
    )
    if not studio.jobs.start(job, lambda outcome: _finish(studio, outcome)):
        return await refuse(request, show, BUSY)
    return go("/publish")


def _command(studio: Studio, sent: Mapping[str, Sequence[str]]) -> commands.Command:
    """What a form asks for."""
    state, seed = studio.project.state, first(sent, "seed")
    settings: dict[str, Any] = {each: bool(first(sent, each)) for each in SWITCHES}
    settings |= {"format": "csv" if first(sent, "format") == "csv" else None}
    settings["seed"] = int(seed) if seed.isdecimal() else None
    return commands.publish(
        state.data, state.options, out=f"releases/{first(sent, 'name')}", settings=settings
    )


async def command(request: Request) -> Response:
    """The command of the form as it stands."""
    return fragment("commands.html", commands=[_command(studio_of(request), query(request))])


def _finish(studio: Studio, outcome: Outcome) -> None:
    studio.project.keep_result("publication", {**outcome.data, "said": outcome.sentences})
    studio.project.change_state(release=outcome.data["release"])


ROUTES = [
    Route("/publish", show),
    Route("/publish", start, methods=["POST"]),
    Route("/publish/command", command),
]
