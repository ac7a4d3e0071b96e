"""The application: every page's routes, and what is said when something is not there or goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sfumato.studio.pages import analyst, attack, compare, data, method, publish, report, risk, roles, work
from sfumato.studio.rendering import render
from sfumato.studio.studio import Studio

PAGES = (work, data, roles, risk, method, compare, publish, attack, report, analyst)


def make_application(studio: Studio, *, lifespan: Callable[..., Any] | None = None) -> Starlette:
    """All pages of a studio."""
    application = Starlette(
        routes=[route for each in PAGES for route in each.ROUTES],
        exception_handlers={404: _absent, 405: _absent, Exception: _fault},
        lifespan=lifespan,
    )
    application.state.studio = studio
    return application


async def _absent(request: Request, _error: Exception) -> Response:
    del request
    return HTMLResponse(
        render("plain.html", title="Not there", text="There is no such page."), status_code=404
    )


async def _fault(request: Request, error: Exception) -> Response:
    """A fault of ours; its message is not shown, because it may quote data."""
    del request
    text = (
        f"A fault of ours ({type(error).__name__}), not of your input. Please report it. Nothing was changed by it; "
        "go back and try something else."
    )
    return HTMLResponse(render("plain.html", title="A fault of ours", text=text), status_code=500)
