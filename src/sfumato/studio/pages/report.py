"""Report: one self-contained page about a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.studio import commands
from sfumato.studio.jobs import Job
from sfumato.studio.studio import BUSY, Studio, first, form, fragment, go, page, query, refuse, studio_of


async def show(request: Request) -> Response:
    """The page."""
    studio = studio_of(request)
    releases = studio.project.releases()
    reports = sorted(
        (studio.project.root / "reports").glob("*.html"), key=lambda each: each.stat().st_mtime, reverse=True
    )
    wanted = request.query_params.get("show", "")
    names = [each.name for each in reports]
    current = wanted if wanted in names else names[0] if names else ""
    shown = [commands.report(releases[0], "reports/report.html", "", {})] if releases else []
    return page(request, "report.html", commands=shown, releases=releases, reports=names, current=current)


async def start(request: Request) -> Response:
    """Begin to write a report."""
    studio = studio_of(request)
    sent = await form(request)
    release = first(sent, "release")
    if release not in studio.project.releases():
        return go("/report")
    told, out = _command(studio, sent)
    job = Job("Writing the report", told.arguments, "/report", studio.project.state.rows, makes=out)
    if not studio.jobs.start(job, lambda _: None):
        return await refuse(request, show, BUSY)
    return go("/report")


def _command(studio: Studio, sent: Mapping[str, Sequence[str]]) -> tuple[commands.Command, str]:
    """What a form asks for, and where it goes."""
    state, release, is_private = studio.project.state, first(sent, "release"), bool(first(sent, "private"))
    stem = f"{Path(release).name}{'-private' if is_private else ''}"
    out = f"reports/{studio.project.free_name('reports', stem, '.html')}"
    against = (state.data, state.options) if is_private else ("", {})
    return commands.report(release, out, *against), out


async def command(request: Request) -> Response:
    """The command of the form as it stands."""
    return fragment("commands.html", commands=[_command(studio_of(request), query(request))[0]])


ROUTES = [
    Route("/report", show),
    Route("/report", start, methods=["POST"]),
    Route("/report/command", command),
]
