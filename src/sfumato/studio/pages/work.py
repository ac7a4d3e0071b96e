"""Pages about attacks and reports; running work, undo, static files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from sfumato.attacks import ATTACKS
from sfumato.errors import ParameterError
from sfumato.schema import Role
from sfumato.studio import commands
from sfumato.studio.processes import REFUTED, Job, Outcome
from sfumato.studio.studio import (
    BUSY,
    Studio,
    first,
    form,
    fragment,
    go,
    grid,
    grid_of,
    page,
    plain,
    query,
    refuse,
    static_file,
    studio_of,
)

# --------------------------------------------------------------------------------------------------
# Attack: the known attacks on a release, held against people who are not in it.


async def show_attack(request: Request) -> Response:
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


async def start_attack(request: Request) -> Response:
    """Begin to attack."""
    studio = studio_of(request)
    state, sent = studio.project.state, await form(request)
    release = first(sent, "release")
    if release not in studio.project.releases() or not state.data:
        return go("/attack")
    told = _command_attack(studio, sent)

    def finish(outcome: Outcome) -> None:
        studio.project.keep_result(
            "audit", {**outcome.data, "release": release, "is_refuted": outcome.exit == REFUTED}
        )

    if not studio.jobs.start(Job("Attacking the release", told.arguments, "/attack"), finish):
        return await refuse(request, show_attack, BUSY)
    return go("/attack")


def _command_attack(studio: Studio, sent: Mapping[str, Sequence[str]]) -> commands.Command:
    """What the form for all attacks asks for."""
    state = studio.project.state
    return commands.audit(first(sent, "release"), state.data, state.options, control=first(sent, "control"))


async def command_attack(request: Request) -> Response:
    """The commands of the form as it stands."""
    sent = query(request)
    one = commands.attack(first(sent, "release"), "linking", knowledge="")
    return fragment("commands.html", commands=[_command_attack(studio_of(request), sent), one])


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
        return await refuse(request, show_attack, BUSY)
    return go("/attack")


ATTACK_ROUTES = [
    Route("/attack", show_attack),
    Route("/attack", start_attack, methods=["POST"]),
    Route("/attack/command", command_attack),
    Route("/attack/one", start_one, methods=["POST"]),
]


# --------------------------------------------------------------------------------------------------
# Report: one self-contained page about a release.


async def show_report(request: Request) -> Response:
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


async def start_report(request: Request) -> Response:
    """Begin to write a report."""
    studio = studio_of(request)
    sent = await form(request)
    release = first(sent, "release")
    if release not in studio.project.releases():
        return go("/report")
    told, out = _command_report(studio, sent)
    job = Job("Writing the report", told.arguments, "/report", studio.project.state.rows, makes=out)
    if not studio.jobs.start(job, lambda _: None):
        return await refuse(request, show_report, BUSY)
    return go("/report")


def _command_report(studio: Studio, sent: Mapping[str, Sequence[str]]) -> tuple[commands.Command, str]:
    """What a form asks for, and where it goes."""
    state, release, is_private = studio.project.state, first(sent, "release"), bool(first(sent, "private"))
    stem = f"{Path(release).name}{'-private' if is_private else ''}"
    out = f"reports/{studio.project.free_name('reports', stem, '.html')}"
    against = (state.data, state.options) if is_private else ("", {})
    return commands.report(release, out, *against), out


async def command_report(request: Request) -> Response:
    """The command of the form as it stands."""
    return fragment("commands.html", commands=[_command_report(studio_of(request), query(request))[0]])


REPORT_ROUTES = [
    Route("/report", show_report),
    Route("/report", start_report, methods=["POST"]),
    Route("/report/command", command_report),
]


# --------------------------------------------------------------------------------------------------
# What is under way, on every page; undo; the files that every page uses.


SERVED = ("reports", "releases", "comparison")
"""Folders of the project whose files a browser may have; private rows are in none of them."""

UNDONE = "the project has changed since this page was drawn, perhaps in another tab. Look at it as it is now, then try again."

DRAWN_ANEW = ("data", "risk", "compare", "publish", "attack", "report")
"""Pages that show what comes of long work, or begin it. On others somebody may be writing something: they are told."""

OF_A_REPORT = (
    # A report runs its own two scripts, which its own policy names by digest, and nothing of the studio's: it has no
    # origin here.
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
OF_OTHERS = "sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""Whatever else is in those folders may be somebody else's, and has no right to anything."""


async def begin(request: Request) -> Response:
    """The first page: where the work stands."""
    project = studio_of(request).project
    state = project.state
    if state.release and not state.data:
        return go("/release")
    if not project.has("schema.toml"):
        return go("/data")
    return go("/publish" if project.has("design.toml") else "/roles")


async def job(request: Request) -> Response:
    """What is under way: a fragment that asks for itself again as long as something is."""
    jobs, asked = studio_of(request).jobs, request.query_params
    if not jobs.is_running and asked.get("seen") != "running":
        # Nothing ran and nothing runs: what the page shows is left as it is.
        return Response(status_code=204)
    here = asked.get("here", "")
    return fragment("job.html", job=jobs.job, here=here, fresh=here in DRAWN_ANEW)


async def cancel(request: Request) -> Response:
    """Stop what is under way."""
    studio = studio_of(request)
    await studio.jobs.cancel(_number(await form(request)))
    return go(studio.jobs.job.page if studio.jobs.job is not None else "/")


def _number(sent: Mapping[str, Sequence[str]]) -> int:
    """The number that a form sends of what its page showed; none of ours where it sends none."""
    text = first(sent, "number")
    return int(text) if text.isdecimal() and len(text) < 10 else -1


async def dismiss(request: Request) -> Response:
    """Take the note about finished work away."""
    studio = studio_of(request)
    found = studio.jobs.job
    sent = await form(request)
    if found is not None and not studio.jobs.is_running and found.number == _number(sent):
        studio.jobs.job = None
    return go(found.page if found is not None else "/")


async def undo(request: Request) -> Response:
    """Bring back what was before the last change."""
    studio = studio_of(request)
    sent = await form(request)
    here = first(sent, "here")
    back = f"/{here}" if here.isalpha() else "/"
    if studio.jobs.is_running:
        return plain("Not undone", BUSY, back)
    if not studio.project.undo(_number(sent)):
        return plain("Not undone", UNDONE, back)
    return go(back)


async def static(request: Request) -> Response:
    """A style, a script, the icon."""
    try:
        content, kind = static_file(request.path_params["name"])
    except KeyError:
        return PlainTextResponse("There is no such file.", status_code=404)
    return Response(content, media_type=kind)


async def favicon(_request: Request) -> Response:
    """The icon where browsers look for it."""
    content, kind = static_file("favicon.svg")
    return Response(content, media_type=kind)


async def file(request: Request) -> Response:
    """A file of the project folder, for its owner to look at or to keep."""
    try:
        path = studio_of(request).project.path(request.path_params["path"])
        folder = path.relative_to(studio_of(request).project.root).parts[0]
        is_served = folder in SERVED and path.is_file()
    except (ParameterError, OSError, RuntimeError):
        # Too long a name, or links that lead round and round.
        is_served = False
    if not is_served:
        return PlainTextResponse("There is no such file.", status_code=404)
    is_report = folder == "reports" and path.suffix == ".html"
    return FileResponse(path, headers={"content-security-policy": OF_A_REPORT if is_report else OF_OTHERS})


WORK_ROUTES = [
    Route("/", begin),
    Route("/job", job),
    Route("/job/cancel", cancel, methods=["POST"]),
    Route("/job/dismiss", dismiss, methods=["POST"]),
    Route("/undo", undo, methods=["POST"]),
    Route("/static/{name}", static),
    Route("/favicon.ico", favicon),
    Route("/file/{path:path}", file),
]
