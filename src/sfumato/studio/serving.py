"""Start and stop: a server on 127.0.0.1, its address with a ticket that works once, and a clean end."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sfumato.errors import MissingExtraError, ParameterError
from sfumato.studio.project import Project

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
    from sfumato.studio.application import make_application
    from sfumato.studio.guard import Guard
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
