"""What the pages share: the project, the processes that work for it, and how a page is answered."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato.errors import SfumatoError
from sfumato.studio.commands import Command
from sfumato.studio.jobs import NO_ANSWER, Jobs, Outcome
from sfumato.studio.planning import Planner
from sfumato.studio.processes import COMMAND_LINE, ProcessEndedError, Worker
from sfumato.studio.project import Project
from sfumato.studio.rendering import render
from sfumato.values.schema import Schema

CUSTODIAN = (
    ("data", "Data"),
    ("roles", "Roles and categories"),
    ("risk", "Risk today"),
    ("method", "Method"),
    ("compare", "Compare"),
    ("publish", "Publish"),
    ("attack", "Attack"),
    ("report", "Report"),
)
ANALYST = (
    ("release", "Release"),
    ("ask", "Ask"),
    ("tables", "Tables"),
    ("measures", "Measures"),
    ("regression", "Regression"),
)

SOON = 0.12
"""Seconds for which a promise waits for the errors to expect; they come after it when they take longer."""

PLANS_KEPT = 30

REFUSED = 422

BUSY = "something else is under way. Wait until it is done, or cancel it; then try again."
OUTDATED = "the schema has changed since this page was drawn, perhaps in another tab. Look at it as it is now, then try again."


class Studio:
    """A project folder and everything that runs for it.

    Parameters
    ----------
    project
        The folder.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.jobs = Jobs(project.root)
        self.descriptions: dict[str, Any] = {}
        self._command_line = Worker(COMMAND_LINE, project.root)
        self._planner = Planner(project.root)
        self._private = Planner(project.root)
        self._plans: dict[str, asyncio.Task[dict[str, Any]]] = {}

    async def close(self) -> None:
        """End every process, and leave nothing half written."""
        await asyncio.gather(
            self.jobs.close(),
            self._command_line.close(),
            self._planner.close(),
            self._private.close(),
        )

    async def run(self, *arguments: str) -> Outcome:
        """What a quick verb of the command line comes to."""
        try:
            told = await self._command_line.carry_out({"arguments": arguments})
        except ProcessEndedError:
            return Outcome(1, said=NO_ANSWER)
        return Outcome(told["exit"], told["result"], told["said"])

    async def plan(self, order: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """The promise of a design at once, and its whole plan where that comes soon; neither sees private rows."""
        whole = self._planned(order)
        told = await self._planner.promise(order)
        if told["exit"]:
            return told, None
        finished, _ = await asyncio.wait([whole], timeout=SOON)
        return told, whole.result() if finished else None

    async def whole_plan(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """The whole plan of a design, when it comes."""
        return await asyncio.shield(self._planned(order))

    def _planned(self, order: Mapping[str, Any]) -> asyncio.Task[dict[str, Any]]:
        """The plan of a design under way, begun once however often it is asked for."""
        key = json.dumps(order)
        known = self._plans.get(key)
        if known is None or (known.done() and known.result()["exit"]):
            self._plans = dict(list(self._plans.items())[-PLANS_KEPT:])
            self._plans[key] = asyncio.get_running_loop().create_task(
                self._planner.newest({**order, "do": "plan"})
            )
        return self._plans[key]

    async def ask_private(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """An answer of the planner that sees the private rows."""
        state = self.project.state
        whole = {"data": state.data, "options": state.options, **order}
        return await (self._private.newest(whole) if order["do"] == "plan" else self._private.ask(whole))

    async def write_parquet(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Write a table of answers, where nothing else waits for it."""
        return await self._planner.ask({**order, "do": "parquet"})

    def schema(self) -> Schema | None:
        """The schema of the project; None where there is none, or none that can be read."""
        try:
            return Schema.read(self.project.root / "schema.toml")
        except (SfumatoError, OSError):
            return None

    def mark(self) -> str:
        """Tells whether the schema is still the one that a page was drawn for."""
        try:
            content = (self.project.root / "schema.toml").read_bytes()
        except OSError:
            content = b""
        return hashlib.sha256(content).hexdigest()[:16]

    async def listed(self, verb: str) -> list[dict[str, Any]]:
        """What a verb lists; nothing where it could not."""
        outcome = await self.run(verb, "--json")
        return list(outcome.data) if outcome.has_result else []

    async def describe_methods(self) -> dict[str, Any]:
        """Every method as ``sfumato methods NAME --json`` describes it, by name."""
        if not self.descriptions:
            told = {
                each["name"]: await self.run("methods", each["name"], "--json")
                for each in await self.listed("methods")
            }
            self.descriptions = {name: outcome.data for name, outcome in told.items() if outcome.has_result}
        return self.descriptions


def studio_of(request: Request) -> Studio:
    """The studio that answers a request."""
    found: Studio = request.app.state.studio
    return found


def page(
    request: Request,
    template: str,
    *,
    commands: Sequence[Command] = (),
    problems: Sequence[str] = (),
    **content: Any,
) -> Response:
    """A whole page: navigation, what is under way, the page's own content, and the commands that do the same."""
    studio = studio_of(request)
    here = request.url.path.split("/")[1]
    problems = (*problems, *getattr(request.state, "problems", ()))
    text = render(
        template,
        here=here,
        custodian=CUSTODIAN,
        analyst=ANALYST,
        project=studio.project,
        state=studio.project.state,
        job=studio.jobs.job,
        commands=commands,
        problems=problems,
        last_change=studio.project.last_change(),
        seen=studio.mark(),
        **content,
    )
    shown = studio.jobs.job
    if shown is not None and shown.state == "done" and shown.page == f"/{here}":
        # Said once, where its result is.
        studio.jobs.job = None
    return HTMLResponse(text, status_code=REFUSED if problems else 200)


async def refuse(
    request: Request, show: Callable[[Request], Awaitable[Response]], *sentences: str
) -> Response:
    """A page as it is, and above it why what was wanted is not done."""
    request.state.problems = sentences
    return await show(request)


def fragment(template: str, **content: Any) -> Response:
    """A part of a page."""
    return HTMLResponse(render(template, **content))


def plain(title: str, sentence: str, back: str) -> Response:
    """A page that says why nothing was done."""
    text = f"{sentence[:1].upper()}{sentence[1:]}"
    return HTMLResponse(render("plain.html", title=title, text=text, back=back), status_code=REFUSED)


def go(path: str) -> Response:
    """To another page, after a change: a reload then repeats nothing."""
    return RedirectResponse(path, status_code=303)


async def form(request: Request) -> dict[str, list[str]]:
    """What a form sent; values by name."""
    body = await request.body()
    return parse_qs(body.decode("utf-8", errors="replace"), keep_blank_values=True)


def first(sent: Mapping[str, Sequence[str]], name: str) -> str:
    """One value of a form, without spaces around it; empty where there is none."""
    return (sent.get(name) or [""])[0].strip()


def query(request: Request) -> dict[str, list[str]]:
    """What stands behind the question mark of an address."""
    return parse_qs(request.url.query, keep_blank_values=True)
