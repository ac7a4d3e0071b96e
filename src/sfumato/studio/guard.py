"""One guard around everything the server answers: who may ask, from where, and how much they may send.

The server listens on this machine alone, and every page of every site that a browser shows can still send requests to
it. So a request must name the server by its own address (no other name that resolves here), must not come from another
origin, and must carry a cookie that only the one-time ticket in the printed address gives.
"""

from __future__ import annotations

import hmac
import html
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

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

REFUSALS = {
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
        length = headers.all("content-length")
        if any(not each.isdecimal() or int(each) > self._most_bytes(scope) for each in length):
            return 413
        return None

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
