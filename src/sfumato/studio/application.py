"""The application: every page's routes, and what is said when something is not there or goes wrong."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sfumato.studio.pages import (
    analyst,
    attack,
    compare,
    data,
    method,
    models,
    publish,
    report,
    risk,
    roles,
    work,
)
from sfumato.studio.rendering import render
from sfumato.studio.studio import Studio, plain

PAGES = (work, data, roles, risk, method, compare, publish, attack, report, analyst, models)


def make_application(studio: Studio, *, lifespan: Callable[..., Any] | None = None) -> Starlette:
    """All pages of a studio."""
    application = Starlette(
        routes=[route for each in PAGES for route in each.ROUTES],
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
    """The project folder is gone, full, or no longer ours to write in; anything else is a fault of ours."""
    root = request.app.state.studio.project.root
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
