"""Attack: the known attacks on a release, held against people who are not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.attacks import ATTACKS
from sfumato.studio import commands
from sfumato.studio.jobs import REFUTED, Job, Outcome
from sfumato.studio.rendering import grid, grid_of
from sfumato.studio.studio import BUSY, Studio, first, form, fragment, go, page, query, refuse, studio_of
from sfumato.values.schema import Role


async def show(request: Request) -> Response:
    """The page."""
    studio = studio_of(request)
    state, releases = studio.project.state, studio.project.releases()
    found = studio.project.result("audit")
    shown = (
        [
            commands.audit(releases[0], state.data, state.options, control=""),
            commands.attack(releases[0], "linking", knowledge=""),
        ]
        if releases and state.data
        else []
    )
    tables = []
    if found is not None:
        tables = [grid(table) for each in found["attributes"] for table in each.get("tables", ())]
    return page(
        request,
        "attack.html",
        commands=shown,
        releases=releases,
        found=found,
        tables=tables,
        checks=None if found is None else _checks(found),
        attacks=await studio.listed("attacks"),
        sensitive=_sensitive(studio),
        single=_single(studio.project.result("attack")),
    )


def _checks(found: dict[str, list[dict[str, str]]]) -> object:
    rows = [(each["about"], each["verdict"], each["sentence"]) for each in found["checks"]]
    return grid_of("What the release says of itself", ("about", "verdict", "why"), rows)


async def start(request: Request) -> Response:
    """Begin to attack."""
    studio = studio_of(request)
    state, sent = studio.project.state, await form(request)
    release = first(sent, "release")
    if release not in studio.project.releases() or not state.data:
        return go("/attack")
    told = _command(studio, sent)

    def finish(outcome: Outcome) -> None:
        studio.project.keep_result(
            "audit", {**outcome.data, "release": release, "is_refuted": outcome.exit == REFUTED}
        )

    if not studio.jobs.start(Job("Attacking the release", told.arguments, "/attack"), finish):
        return await refuse(request, show, BUSY)
    return go("/attack")


def _command(studio: Studio, sent: Mapping[str, Sequence[str]]) -> commands.Command:
    """What the form for all attacks asks for."""
    state = studio.project.state
    return commands.audit(first(sent, "release"), state.data, state.options, control=first(sent, "control"))


async def command(request: Request) -> Response:
    """The commands of the form as it stands."""
    sent = query(request)
    one = commands.attack(first(sent, "release"), "linking", knowledge="")
    return fragment("commands.html", commands=[_command(studio_of(request), sent), one])


def _sensitive(studio: Studio) -> list[str]:
    """Attributes that an attack can infer."""
    schema = studio.schema()
    return [] if schema is None else [each.name for each in schema.with_role(Role.SENSITIVE)]


def _single(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """What one attack found, as the page shows it."""
    if found is None:
        return None
    return {**found, "grids": [grid(each) for each in found.get("tables", ())]}


async def start_one(request: Request) -> Response:
    """Begin one attack that was chosen."""
    studio = studio_of(request)
    sent = await form(request)
    release, name, knowledge = (first(sent, each) for each in ("release", "attack", "knowledge"))
    if release not in studio.project.releases() or name not in ATTACKS.members:
        return go("/attack")
    sensitive = first(sent, "sensitive") if "sensitive" in ATTACKS.get(name).model_fields else ""
    told = commands.attack(release, name, knowledge=knowledge, sensitive=sensitive)

    def finish(outcome: Outcome) -> None:
        studio.project.keep_result("attack", {**outcome.data, "release": release, "name": name})

    if not studio.jobs.start(Job(f"Attacking by {name}", told.arguments, "/attack"), finish):
        return await refuse(request, show, BUSY)
    return go("/attack")


ROUTES = [
    Route("/attack", show),
    Route("/attack", start, methods=["POST"]),
    Route("/attack/command", command),
    Route("/attack/one", start_one, methods=["POST"]),
]
