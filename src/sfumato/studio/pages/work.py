"""What is under way, on every page; undo; the files that every page uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from sfumato.errors import ParameterError
from sfumato.studio.rendering import static_file
from sfumato.studio.studio import BUSY, first, form, fragment, go, plain, studio_of

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


ROUTES = [
    Route("/", begin),
    Route("/job", job),
    Route("/job/cancel", cancel, methods=["POST"]),
    Route("/job/dismiss", dismiss, methods=["POST"]),
    Route("/undo", undo, methods=["POST"]),
    Route("/static/{name}", static),
    Route("/favicon.ico", favicon),
    Route("/file/{path:path}", file),
]
