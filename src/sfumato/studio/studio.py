"""What pages share: the project, its processes, templates, answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato.errors import SfumatoError
from sfumato.report.document import Grid
from sfumato.schema import Schema
from sfumato.studio.commands import Command
from sfumato.studio.processes import (
    COMMAND_LINE,
    NO_ANSWER,
    Jobs,
    Outcome,
    Planner,
    ProcessEndedError,
    Worker,
)
from sfumato.studio.project import Project
from sfumato.text import show_cell

if TYPE_CHECKING:
    import jinja2

# --------------------------------------------------------------------------------------------------
# Pages from templates: text is escaped, tables and charts are the report's own.


STATIC = {
    "report.css": ("sfumato.report", "templates/style.css", "text/css"),
    "studio.css": ("sfumato.studio", "static/studio.css", "text/css"),
    "fragments.js": ("sfumato.studio", "static/fragments.js", "text/javascript"),
    "charts.js": ("sfumato.studio", "static/charts.js", "text/javascript"),
    "vega.js": ("sfumato.report", "templates/vega.js", "text/javascript"),
    "favicon.svg": ("sfumato.studio", "static/favicon.svg", "image/svg+xml"),
}
"""By address, what is served as it is: no other file of the package can be asked for."""


@cache
def environment() -> jinja2.Environment:
    """Templates of the studio, and the report's under ``report/``."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader("sfumato.studio"),
                jinja2.PrefixLoader({"report": jinja2.PackageLoader("sfumato.report")}),
            ]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = shown
    made.globals["field"] = ""
    made.filters["spec"] = spec_text
    return made


def render(template: str, **content: Any) -> str:
    """A page, or a fragment of one."""
    return environment().get_template(template).render(**content)


def static_file(name: str) -> tuple[bytes, str]:
    """Content and type of a file that every page uses.

    Raises
    ------
    KeyError
        When there is none of that name.
    """
    package, path, kind = STATIC[name]
    try:
        return (resources.files(package) / path).read_bytes(), kind
    except FileNotFoundError:
        # A source tree that was never installed; whoever works in one has the development extra.
        from sfumato.report.document import drawing_library

        return drawing_library().encode(), kind


def shown(cell: Any) -> str:
    """A number or a text as tables show it; nothing for what is not known."""
    return "" if cell is None else show_cell(cell)


def spec_text(spec: Mapping[str, Any]) -> str:
    """A chart as the text of an attribute, which the template escapes."""
    return json.dumps(_finite(spec), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def grid(table: Mapping[str, Any]) -> Grid:
    """A table as verbs print it with ``--json``: a title, and rows by column."""
    columns = tuple(dict.fromkeys(name for row in table["rows"] for name in row))
    return grid_of(table["title"], columns, [[row.get(name) for name in columns] for row in table["rows"]])


def grid_of(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Grid:
    """A table of texts and numbers; words stand on the left."""
    listed = [tuple(row) for row in rows]
    numbers = [
        bool(listed) and not any(isinstance(row[place], str) for row in listed)
        for place in range(len(columns))
    ]
    text_columns = numbers.index(True) if True in numbers else len(columns)
    texts = tuple(tuple(shown(cell) for cell in row) for row in listed)
    return Grid(title, tuple(columns), texts, text_columns)


# --------------------------------------------------------------------------------------------------
# What the pages share: the project, the processes that work for it, and how a page is answered.


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
