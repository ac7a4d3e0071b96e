"""Publish: from the private rows to a release folder, whole or not at all, written down in the ledger."""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.studio import commands
from sfumato.studio.jobs import Job, Outcome
from sfumato.studio.pages.method import read_design
from sfumato.studio.studio import BUSY, Studio, first, form, go, page, refuse, studio_of

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
    settings: dict[str, Any] = {each: bool(first(sent, each)) for each in SWITCHES}
    settings |= {"format": "csv" if first(sent, "format") == "csv" else None}
    seed = first(sent, "seed")
    settings["seed"] = int(seed) if seed.isdigit() else None
    command = commands.publish(state.data, state.options, out=f"releases/{name}", settings=settings)
    job = Job("Publishing", command.arguments, "/publish", state.rows, makes=f"releases/{name}")
    if not studio.jobs.start(job, lambda outcome: _finish(studio, outcome)):
        return await refuse(request, show, BUSY)
    return go("/publish")


def _finish(studio: Studio, outcome: Outcome) -> None:
    studio.project.keep_result("publication", {**outcome.data, "said": outcome.sentences})
    studio.project.change_state(release=outcome.data["release"])


ROUTES = [Route("/publish", show), Route("/publish", start, methods=["POST"])]
