"""The server: routes, access guard, start and stop on 127.0.0.1."""

from __future__ import annotations

import errno
import hmac
import html
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sfumato.errors import MissingExtraError, ParameterError
from sfumato.studio.pages import analyst, data, publish, work
from sfumato.studio.project import Project
from sfumato.studio.studio import Studio, plain, render

# --------------------------------------------------------------------------------------------------
# One guard around everything the server answers: who may ask, from where, and how much they may send.
#
# The server listens on this machine alone, and every page of every site that a browser shows can still send
# requests to
# it. So a request must name the server by its own address (no other name that resolves here), must not come
# from another
# origin, and must carry a cookie that only the one-time ticket in the printed address gives.


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_FORM_BYTES = 2**22
"""A thousand categories, each with another name, in a script that addresses write in nine characters for one."""

MOST_UPLOADED_BYTES = 2**33
UPLOADS = "/upload/"
"""Only under this path may a body be larger than a form."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'self'"
)
HEADERS = {
    # Styles may be inline because the charts' library writes them; scripts never are.
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    # Not no-referrer: a form would then be sent with the origin "null", which is refused.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

LONGEST_PATH = 4_096
"""Characters of the path of an address; no file has a longer one."""

REFUSALS = {
    404: "There is no such page.",
    403: "This page belongs to whoever started sfumato studio. Open the address that it printed in the terminal; an address "
    "works once, and pressing Enter in that terminal prints a new one.",
    413: "That is too large to be sent. Give the path of the file instead: on this machine nothing needs to be copied.",
    421: "This server answers to its own address only. Use the one that sfumato studio printed.",
}


class Guard:
    """Refuses requests before anything else sees them.

    Parameters
    ----------
    application
        What answers the others.
    port
        Of the server on 127.0.0.1.
    most_form_bytes, most_uploaded_bytes
        Largest bodies.
    say
        Told of faults, without their text.
    """

    def __init__(
        self,
        application: Application,
        port: int,
        *,
        most_form_bytes: int = MOST_FORM_BYTES,
        most_uploaded_bytes: int = MOST_UPLOADED_BYTES,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.say = say
        self.application = application
        self.host = f"127.0.0.1:{port}"
        self.origin = f"http://{self.host}"
        # Cookies do not tell ports apart: two studios in one browser would overwrite each other's.
        self.cookie_name = f"sfumato-{port}"
        self.most_form_bytes = most_form_bytes
        self.most_uploaded_bytes = most_uploaded_bytes
        self._cookie = secrets.token_urlsafe(32)
        self._ticket = ""

    def new_address(self) -> str:
        """An address that opens the studio once; earlier ones that were not used no longer do."""
        self._ticket = secrets.token_urlsafe(32)
        return f"{self.origin}/enter?ticket={self._ticket}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        headers = _Headers(scope)
        status = self._problem(scope, headers)
        if scope["type"] == "websocket":
            # Nothing here speaks over sockets.
            await send({"type": "websocket.close", "code": 1008})
        elif status is not None:
            await _refuse(status, send)
        elif scope["path"] == "/enter" and scope["method"] == "GET":
            await self._enter(scope, send)
        elif not self._is_known(headers):
            await _refuse(403, send)
        else:
            await self._pass_on(scope, receive, send)

    def _problem(self, scope: Scope, headers: _Headers) -> int | None:
        """The status of a refusal, or None."""
        # Another name that resolves to this machine is how a page elsewhere would reach it.
        if headers.all("host") != [self.host]:
            return 421
        origins = headers.all("origin")
        if any(each != self.origin for each in origins):
            return 403
        method = scope.get("method", "GET")
        if method not in ("GET", "HEAD") and origins != [self.origin]:
            return 403
        site = headers.all("sec-fetch-site")
        if any(each not in ("none", "same-origin") for each in site) and scope["path"] != "/enter":
            return 403
        if "\0" in scope["path"] or len(scope["path"]) > LONGEST_PATH:
            return 404
        length = headers.all("content-length")
        is_long = any(not each.isdecimal() or int(each) > self._most_bytes(scope) for each in length)
        return 413 if is_long else None

    def _most_bytes(self, scope: Scope) -> int:
        return self.most_uploaded_bytes if scope["path"].startswith(UPLOADS) else self.most_form_bytes

    def _is_known(self, headers: _Headers) -> bool:
        texts = [part.strip() for line in headers.all("cookie") for part in line.split(";")]
        given = [text.partition("=")[2] for text in texts if text.partition("=")[0] == self.cookie_name]
        return any(hmac.compare_digest(each.encode(), self._cookie.encode()) for each in given)

    async def _enter(self, scope: Scope, send: Send) -> None:
        """Take the ticket and give the cookie."""
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("ticket", [""])[0]
        if not self._ticket or not hmac.compare_digest(given.encode(), self._ticket.encode()):
            await _refuse(403, send)
            return
        self._ticket = ""
        # A page and not a redirect: browsers keep a Strict cookie back from a chain that began on another site.
        text = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>sfumato studio</title>'
            '<meta http-equiv="refresh" content="0;url=/"></head><body><main><h1>sfumato studio</h1>'
            '<p><a href="/">Open</a></p></main></body></html>'
        )
        cookie = f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(200, text, send, {"set-cookie": cookie})

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application's answer, with our headers; 413 when the body turns out too large."""
        most, taken, is_over = self._most_bytes(scope), 0, False

        async def counted() -> Message:
            nonlocal taken, is_over
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                is_over = True
                return {"type": "http.disconnect"}
            return message

        async def answer(message: Message) -> None:
            if is_over:
                return
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message.get("headers", ())}
                own = [
                    (name.encode(), text.encode())
                    for name, text in HEADERS.items()
                    if name.encode() not in given
                ]
                message = {**message, "headers": [*message.get("headers", ()), *own]}
            await send(message)

        try:
            await self.application(scope, counted, answer)
        except Exception as error:  # noqa: BLE001 - whatever a page raises
            # What reads a body may mind that it was cut off. Else it is a fault of ours, which the page has told; its text
            # may quote data, so that no log may have it.
            if not is_over:
                self.say(f"A fault of ours: {type(error).__name__} while answering {scope['path']}.")
        if is_over:
            await _refuse(413, send)


class _Headers:
    """Headers of a request; a name may stand there more than once."""

    def __init__(self, scope: Scope) -> None:
        self._pairs = [
            (name.decode("latin-1").lower(), text.decode("latin-1")) for name, text in scope["headers"]
        ]

    def all(self, wanted: str) -> list[str]:
        return [text for name, text in self._pairs if name == wanted]


async def _refuse(status: int, send: Send) -> None:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Refused</title></head>'
        f"<body><main><h1>Refused</h1><p>{html.escape(REFUSALS[status])}</p></main></body></html>"
    )
    await _answer(status, text, send, {"connection": "close"} if status == 413 else {})


async def _answer(status: int, text: str, send: Send, more: dict[str, str]) -> None:
    headers = {"content-type": "text/html; charset=utf-8", **HEADERS, **more}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode()})


# --------------------------------------------------------------------------------------------------
# The application: every page's routes, and what is said when something is not there or goes wrong.


ROUTES = (
    *work.WORK_ROUTES,
    *data.DATA_ROUTES,
    *data.ROLES_ROUTES,
    *data.RISK_ROUTES,
    *publish.METHOD_ROUTES,
    *publish.COMPARE_ROUTES,
    *publish.PUBLISH_ROUTES,
    *work.ATTACK_ROUTES,
    *work.REPORT_ROUTES,
    *analyst.ANALYST_ROUTES,
    *analyst.MODELS_ROUTES,
)


def make_application(studio: Studio, *, lifespan: Callable[..., Any] | None = None) -> Starlette:
    """All pages of a studio."""
    application = Starlette(
        routes=ROUTES,
        exception_handlers={404: _absent, 405: _absent, OSError: _unwritable, Exception: _fault},
        lifespan=lifespan,
    )
    application.state.studio = studio
    return application


async def _absent(request: Request, _error: Exception) -> Response:
    del request
    return HTMLResponse(
        render("plain.html", title="Not there", text="There is no such page.", back="/"), status_code=404
    )


async def _unwritable(request: Request, error: Exception) -> Response:
    """A name that no file can have; or the project folder is gone, full, or not writable; else a fault of ours."""
    root = request.app.state.studio.project.root
    if getattr(error, "errno", None) in (errno.ENAMETOOLONG, errno.EINVAL):
        return plain("No such file", "no file can have that name. Correct it, then try again.", "/")
    reason = getattr(error, "strerror", None)
    if (
        root.is_dir()
        and os.access(root, os.W_OK)
        and getattr(error, "errno", None) not in (errno.ENOSPC, errno.EDQUOT)
    ):
        raise error
    sentence = f"the project folder cannot be used ({reason}). Put it back, or make room; then try again."
    return plain("The project folder", sentence, "/")


async def _fault(request: Request, error: Exception) -> Response:
    """A fault of ours; its message is not shown, because it may quote data."""
    del request
    text = (
        f"A fault of ours ({type(error).__name__}), not of your input. Please report it. Nothing was changed by it; "
        "go back and try something else."
    )
    return HTMLResponse(render("plain.html", title="A fault of ours", text=text, back="/"), status_code=500)


# --------------------------------------------------------------------------------------------------
# Start and stop: a server on 127.0.0.1, its address with a ticket that works once, and a clean end.


SECONDS_TO_STOP = 2

LONGEST_HEAD = 2**22
"""Bytes of a request before its body: a part of a page is asked for with the whole form in its address."""


def serve(
    project: Path,
    *,
    opened: str | None,
    port: int,
    say: Callable[[str], None],
    open_browser: bool,
) -> None:
    """Serve a project folder until Ctrl-C.

    Parameters
    ----------
    project
        The folder; made when it is not there.
    opened
        Data or the folder of a release to begin with; None to go on where the folder stands.
    port
        To listen on; 0 for any that is free.
    say
        Tells a sentence to whoever started it.
    open_browser
        Open the address in a browser.

    Raises
    ------
    MissingExtraError
        When the extra ``studio`` is not installed.
    ParameterError
        When the port is taken or the folder is a file.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise MissingExtraError("the studio", extra="studio") from None
    from sfumato.studio.studio import Studio

    folder = Project(project)
    if opened is not None:
        begin(folder, opened)
    listening = _listen(port)
    studio = Studio(folder)

    @asynccontextmanager
    async def living(_application: object) -> AsyncIterator[None]:
        yield
        await studio.close()

    guard = Guard(make_application(studio, lifespan=living), listening.getsockname()[1], say=say)
    address = guard.new_address()
    say(f"Project folder: {folder.root}")
    say(f"Listening on {guard.origin}, for this machine alone. Ctrl-C stops it.")
    say(f"Open (works once): {address}")
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    if sys.stdin is not None and sys.stdin.isatty():
        say("Press Enter here for a new address.")
        threading.Thread(target=_renew, args=(guard.new_address, say), daemon=True).start()
    config = uvicorn.Config(
        guard,
        log_level="warning",
        # It would print the ticket.
        access_log=False,
        # Forwarded addresses would otherwise be believed from this machine.
        proxy_headers=False,
        server_header=False,
        ws="none",
        http="h11",
        h11_max_incomplete_event_size=LONGEST_HEAD,
        timeout_graceful_shutdown=SECONDS_TO_STOP,
    )
    # The server raises Ctrl-C again after it has shut down.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
    say("Stopped.")


def begin(project: Project, opened: str) -> None:
    """Let a project begin with data or a release, unless it has them already."""
    path = Path(opened)
    if (path / "datapackage.json").is_file():
        project.change_state(release=_seen_from(project, path))
        return
    if path.is_dir():
        raise ParameterError(
            f"{opened!r} is a folder without a release in it. Give a data file, or the folder of a release.",
            parameter="data",
        )
    named = _seen_from(project, path) if path.exists() else opened
    if project.state.data != named:
        if project.has("schema.toml"):
            raise ParameterError(
                f"the project folder {str(project.root)!r} is about other data. Choose another by --project, or start "
                "without DATA to go on there.",
                parameter="project",
            )
        project.change_state(data=named, options={}, rows=None)


def _seen_from(project: Project, path: Path) -> str:
    full = path.resolve()
    return str(full.relative_to(project.root)) if full.is_relative_to(project.root) else str(full)


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise ParameterError(
            f"port {port} cannot be listened on ({error.strerror}). Choose another by --port, or leave it out.",
            parameter="port",
        ) from None
    # Before the address is printed: whoever opens it at once must find somebody there.
    listening.listen(128)
    return listening


def _renew(new_address: Callable[[], str], say: Callable[[str], None]) -> None:
    for _ in sys.stdin:
        say(f"Open (works once): {new_address()}")
