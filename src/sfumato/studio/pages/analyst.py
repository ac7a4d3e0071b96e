"""The analyst's pages: a release, queries, tables, measures, regression."""

from __future__ import annotations

import asyncio
import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from sfumato.errors import SfumatoError
from sfumato.query.text import write_condition
from sfumato.report.figures import LARGEST_CHART, interval_chart
from sfumato.schema import Schema
from sfumato.studio import commands
from sfumato.studio.studio import Studio, first, form, fragment, go, grid, grid_of, page, query, studio_of

# --------------------------------------------------------------------------------------------------
# The analyst's pages: open a release, read its promise, ask it, tabulate; download the answers.


MOST_CLICKED = 200
"""Categories that are listed to be clicked; more are asked for by text."""

NUMBERS = ("estimate", "std_error", "low", "high")
MOST_SHOWN = 2_000
"""Cells of a table on a page; downloads have all."""


async def release_schema(studio: Studio) -> Schema | None:
    """The schema of the release that is analysed; None where there is none that can be opened."""
    from sfumato.release import load_release

    folder = studio.project.root / studio.project.state.release
    if not studio.project.state.release:
        return None
    try:
        # Opening may read whole files; the server goes on meanwhile.
        return (await asyncio.to_thread(load_release, folder)).schema
    except (SfumatoError, OSError):
        return None


async def show(request: Request) -> Response:
    """The release: its promise, its attributes, what can be asked and with what error."""
    return await _page(request, ())


async def _page(request: Request, problems: Sequence[str]) -> Response:
    studio = studio_of(request)
    release = studio.project.state.release
    found, tables, files = None, [], []
    if release and not problems:
        outcome = await studio.run("show", release, "--json")
        if outcome.has_result:
            found = outcome.data
            tables = [
                grid({"title": title, "rows": found[key]})
                for key, title in (
                    ("attributes", "Attributes"),
                    ("errors", "What can be asked, and with what error"),
                )
                if found.get(key)
            ]
            folder = studio.project.root / release
            files = sorted(each.name for each in folder.iterdir() if each.suffix in (".parquet", ".csv"))
        problems = () if outcome.has_result else outcome.sentences
    shown = [commands.asked("show", release, python="release.overview()")] if release else []
    return page(
        request,
        "release.html",
        problems=problems,
        commands=shown,
        found=found,
        tables=tables,
        files=files,
        releases=studio.project.releases(),
    )


async def choose(request: Request) -> Response:
    """Open another release."""
    studio = studio_of(request)
    sent = await form(request)
    wanted = first(sent, "release") or "."
    # What begins with a dash would be an option.
    wanted = f"./{wanted}" if wanted.startswith("-") else wanted
    outcome = await studio.run("show", wanted, "--json")
    if not outcome.has_result:
        return await _page(request, outcome.sentences)
    studio.project.remember("another release opened")
    studio.project.change_state(release=wanted)
    return go("/release")


async def download_file(request: Request) -> Response:
    """A published file of the release."""
    studio, name = studio_of(request), request.path_params["name"]
    folder = (studio.project.root / studio.project.state.release).resolve()
    path = folder / name
    # Looked up among the files that are there: a name that no file can have is then no fault.
    fits = path.suffix in (".parquet", ".csv") and name in {
        each.name for each in folder.glob("*") if each.is_file() and not each.is_symlink()
    }
    if not studio.project.state.release or not fits:
        return PlainTextResponse("There is no such file.", status_code=404)
    return FileResponse(path, filename=name)


async def ask(request: Request) -> Response:
    """The page on which a question is clicked together."""
    studio = studio_of(request)
    schema = await release_schema(studio)
    release = studio.project.state.release
    example = commands.asked("query", release, question="CONDITIONS", python="release.query('CONDITIONS')")
    return page(request, "ask.html", commands=[example] if release else [], schema=schema, most=MOST_CLICKED)


def clicked_text(schema: Schema, ticked: Sequence[str]) -> str:
    """The question that ticked values make: one of the values of each attribute, for all attributes.

    Parameters
    ----------
    ticked
        ``"attribute:code"`` as numbers, in any order; others are left out.
    """
    codes: dict[int, set[int]] = {}
    for text in ticked:
        place, _, code = text.partition(":")
        if place.isdecimal() and code.isdecimal() and int(place) < len(schema.attributes):
            codes.setdefault(int(place), set()).add(int(code))
    return " AND ".join(
        write_condition(schema.attributes[place], tuple(sorted(chosen)))
        for place, chosen in sorted(codes.items())
        if max(chosen) < schema.attributes[place].size and len(chosen) < schema.attributes[place].size
    )


async def answer(request: Request) -> Response:
    """The estimate for the question as it stands, with its interval."""
    studio, sent = studio_of(request), query(request)
    schema = await release_schema(studio)
    if schema is None:
        return fragment("answer.html", problem="No release is open.", text="", found=None)
    text = first(sent, "text") or clicked_text(schema, sent.get("v", ()))
    release = studio.project.state.release
    if not text:
        return fragment("answer.html", problem="", text="", found=None)
    given = first(sent, "given")
    more = ("--given", given) if given else ()
    python = commands.call("release.proportion" if given else "release.query", text, given=given)
    command = commands.asked("query", release, *more, question=text, python=python)
    outcome = await studio.run(*command.arguments)
    if not outcome.has_result:
        return fragment("answer.html", problem=" ".join(outcome.sentences), text=text, found=None)
    found = outcome.data
    point = {"category": "rows" if not given else "share", **{name: found[name] for name in NUMBERS}}
    description = (
        f"Estimate {found['estimate']:.6g}, interval from {found['low']:.6g} to {found['high']:.6g}."
    )
    chart = interval_chart(
        [point],
        attribute="question",
        estimated="estimate and interval",
        reference=None,
        description=description,
        across="share of the rows" if given else "rows",
        written=".4f" if given else ",.0f",
    )
    return fragment(
        "answer.html",
        problem="",
        text=text,
        found=found,
        chart=chart,
        command=command,
        description=description,
    )


def _by(names: Sequence[str]) -> str:
    """Names of attributes as ``--by`` takes them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(names)
    return out.getvalue()


def _table_command(
    release: str, schema: Schema, sent: Mapping[str, Sequence[str]]
) -> commands.Command | None:
    names = [each for each in sent.get("by", ()) if each in schema]
    if not names:
        return None
    where, consistent = first(sent, "where"), bool(first(sent, "consistent"))
    more = (*(("--where", where) if where else ()), *(("--consistent",) if consistent else ()))
    function = "release.consistent_counts" if consistent else "release.counts"
    return commands.asked(
        "counts", release, "--by", _by(names), *more, python=commands.call(function, names, where=where)
    )


async def tables(request: Request) -> Response:
    """The page of group-by tables."""
    studio = studio_of(request)
    schema = await release_schema(studio)
    release = studio.project.state.release
    command = None if schema is None else _table_command(release, schema, {"by": schema.names[:1]})
    return page(request, "tables.html", commands=[command] if command else [], schema=schema)


async def table(request: Request) -> Response:
    """The table as the form stands."""
    studio, sent = studio_of(request), query(request)
    schema = await release_schema(studio)
    command = None if schema is None else _table_command(studio.project.state.release, schema, sent)
    if command is None:
        return fragment("table.html", problem="", table=None)
    outcome = await studio.run(*command.arguments)
    if not outcome.has_result:
        return fragment("table.html", problem=" ".join(outcome.sentences), table=None)
    found = outcome.data
    names = found["attributes"]
    rows = [
        [*(row["values"][name] for name in names), *(row[each] for each in NUMBERS)] for row in found["rows"]
    ]
    kind = "consistent estimates (biased, never negative)" if found["consistent"] else "unbiased estimates"
    title = f"Rows by {', '.join(names)}: {kind}, {100 * found['confidence']:g} % intervals"
    shown = grid_of(title, [*names, "estimate", "std. error", "low", "high"], rows[:MOST_SHOWN])
    return fragment(
        "table.html",
        problem="",
        table=shown,
        left_out=max(len(rows) - MOST_SHOWN, 0),
        chart=_table_chart(found) if len(rows) <= LARGEST_CHART else None,
        description=title,
        command=command,
        address=request.url.query,
    )


def _table_chart(found: Mapping[str, Any]) -> dict[str, Any]:
    points = [
        {"category": " · ".join(row["values"].values()), **{name: row[name] for name in NUMBERS}}
        for row in found["rows"]
    ]
    return interval_chart(
        points,
        attribute=", ".join(found["attributes"]),
        estimated="estimate and interval",
        reference=None,
        description=f"Estimated rows by {', '.join(found['attributes'])}, with intervals.",
    )


async def download(request: Request) -> Response:
    """The whole table as a file."""
    studio, kind = studio_of(request), request.path_params["kind"]
    schema = await release_schema(studio)
    command = None if schema is None else _table_command(studio.project.state.release, schema, query(request))
    if command is None or kind not in ("csv", "parquet"):
        return PlainTextResponse("There is no such table.", status_code=404)
    place = studio.project.root / "results" / studio.project.free_name("results", ".table", f".{kind}")
    problem = await (_csv if kind == "csv" else _parquet)(studio, command, place)
    if problem:
        return PlainTextResponse(problem, status_code=422)
    remove = BackgroundTask(place.unlink, missing_ok=True)
    return FileResponse(place, filename=f"counts.{kind}", background=remove)


async def _csv(studio: Studio, command: commands.Command, place: Path) -> str:
    arguments = [each for each in command.arguments if each != "--json"]
    outcome = await studio.run(*arguments, "--csv", str(place))
    return "" if outcome.has_result else " ".join(outcome.sentences)


async def _parquet(studio: Studio, command: commands.Command, place: Path) -> str:
    outcome = await studio.run(*command.arguments)
    if not outcome.has_result:
        return " ".join(outcome.sentences)
    told = await studio.write_parquet({"rows": outcome.data["rows"], "numbers": NUMBERS, "to": str(place)})
    return str(told.get("said", ""))


ANALYST_ROUTES = [
    Route("/release", show),
    Route("/release", choose, methods=["POST"]),
    Route("/release/file/{name}", download_file),
    Route("/ask", ask),
    Route("/ask/answer", answer),
    Route("/tables", tables),
    Route("/tables/table", table),
    Route("/tables/download.{kind}", download),
]


# --------------------------------------------------------------------------------------------------
# The analyst's pages of models: how attributes go together, and regressions.


async def measures(request: Request) -> Response:
    """How two attributes go together."""
    studio, sent = studio_of(request), query(request)
    schema = await release_schema(studio)
    release = studio.project.state.release
    sides = (first(sent, "first"), first(sent, "second"))
    if schema is None or not all(sides):
        return page(request, "measures.html", schema=schema, sides=sides, table=None, charts=[])
    python = commands.call("release.measures", *sides)
    command = commands.asked("measures", release, "--of", sides[0], "--of", sides[1], python=python)
    outcome = await studio.run(*command.arguments)
    if not outcome.has_result:
        return page(
            request,
            "measures.html",
            problems=outcome.sentences,
            commands=[command],
            schema=schema,
            sides=sides,
            table=None,
            charts=[],
        )
    found = outcome.data
    columns = ("measure", *NUMBERS, "undefined")
    rows = [[each[name] if each[name] is not None else "" for name in columns] for each in found["measures"]]
    title = f"How {sides[0]} and {sides[1]} go together, {100 * found['confidence']:g} % intervals"
    shown = grid_of(title, ("measure", "estimate", "std. error", "low", "high", "why not"), rows)
    # Each on a scale of its own: a ratio and a correlation have none in common.
    charts = [
        _numbers_chart([{"category": each["measure"], **each}], each["measure"], across="", zero=False)
        for each in found["measures"]
        if _is_drawn(each)
    ]
    return page(
        request, "measures.html", commands=[command], schema=schema, sides=sides, table=shown, charts=charts
    )


def _is_drawn(answer: Mapping[str, Any]) -> bool:
    """An answer with an interval that an axis can show."""
    return all(
        answer.get(name) is not None and math.isfinite(answer[name]) for name in ("estimate", "low", "high")
    )


def _numbers_chart(
    answers: Sequence[Mapping[str, Any]], what: str, *, across: str, zero: bool
) -> dict[str, Any]:
    """Numbers of any size with their intervals."""
    points = [{name: each[name] for name in ("category", "estimate", "low", "high")} for each in answers]
    told = "; ".join(
        f"{each['category']} {each['estimate']:.4g}, from {each['low']:.4g} to {each['high']:.4g}"
        for each in points
    )
    return interval_chart(
        points,
        attribute=what,
        estimated="interval",
        reference=None,
        across=across,
        written=".4~g",
        zero=zero,
        description=f"Intervals: {told}.",
    )


async def regression(request: Request) -> Response:
    """A model fitted through the law."""
    studio, sent = studio_of(request), query(request)
    schema = await release_schema(studio)
    release, formula = studio.project.state.release, first(sent, "formula")
    if schema is None or not formula:
        return page(request, "regression.html", schema=schema, formula=formula, table=None, chart=None)
    command = commands.asked(
        "regression", release, question=formula, python=commands.call("release.regression", formula)
    )
    outcome = await studio.run(*command.arguments)
    if not outcome.has_result:
        return page(
            request,
            "regression.html",
            problems=outcome.sentences,
            commands=[command],
            schema=schema,
            formula=formula,
            table=None,
            chart=None,
        )
    found = outcome.data
    columns = ("term", "category", *NUMBERS)
    rows = [
        ["" if each.get(name) is None else each[name] for name in columns] for each in found["coefficients"]
    ]
    drawn = [
        {**each, "category": " ".join(filter(None, (each["term"], each.get("category"))))}
        for each in found["coefficients"]
        if _is_drawn(each)
    ]
    title = f"{found['formula']} ({found['family']}), {100 * found['confidence']:g} % intervals"
    shown = grid_of(title, ("term", "category", "estimate", "std. error", "low", "high"), rows)
    return page(
        request,
        "regression.html",
        commands=[command],
        schema=schema,
        formula=formula,
        table=shown,
        chart=_numbers_chart(drawn, "term", across="coefficient", zero=True)
        if 0 < len(drawn) <= LARGEST_CHART
        else None,
    )


MODELS_ROUTES = [
    Route("/measures", measures),
    Route("/regression", regression),
]
