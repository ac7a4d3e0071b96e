"""Roles and categories: what each column is for, and which categories it is published in."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.data.coarsening.building import PathsForm
from sfumato.errors import SchemaError, SfumatoError
from sfumato.report.figures import bar_chart
from sfumato.studio import commands
from sfumato.studio.attributes import MOST_EDITED, edited, source_values, with_attribute
from sfumato.studio.project import Project
from sfumato.studio.studio import OUTDATED, Studio, first, form, fragment, go, page, query, studio_of
from sfumato.values.number_text import counted
from sfumato.values.schema import Attribute, Role, Schema
from sfumato.values.schema.dates import Period
from sfumato.values.toml_text import number_text, toml_key, toml_value

MOST_LEVELS = 4


async def show(request: Request) -> Response:
    """The page: every column with its role."""
    return _page(request, ())


def _page(request: Request, problems: Sequence[str]) -> Response:
    studio = studio_of(request)
    state = studio.project.state
    found = studio.project.result("inference") or {"columns": [], "decisions": []}
    reasons = {each["name"]: each["check"] for each in found["columns"]}
    shown = [commands.check(state.data, state.options)] if state.data else []
    return page(
        request,
        "roles.html",
        problems=problems,
        commands=shown,
        schema=studio.schema(),
        roles=list(Role),
        reasons=reasons,
        decisions=found["decisions"],
    )


async def change(request: Request) -> Response:
    """Other roles."""
    studio = studio_of(request)
    schema = studio.schema()
    sent = await form(request)
    if schema is None:
        return go("/data")
    if first(sent, "seen") != studio.mark():
        return _page(request, (OUTDATED,))
    content = schema.to_dict()
    for place, each in enumerate(schema.attributes):
        role = sent.get(f"role.{place}", [str(each.role)])[0]
        content["attributes"][each.name] = {**each.to_fields(), "role": role}
    return _keep(request, studio, lambda: Schema.from_dict(content), "roles changed", "/roles")


def _keep(request: Request, studio: Studio, make: Any, what: str, then: str) -> Response:
    try:
        changed = make()
    except SfumatoError as error:
        return _page(request, getattr(error, "problems", (str(error),)))
    if changed != studio.schema():
        studio.project.remember(what)
        studio.project.write("schema.toml", changed.to_toml())
    return go(then)


def _attribute(request: Request) -> tuple[Studio, Schema, Attribute] | None:
    studio = studio_of(request)
    schema = studio.schema()
    place = request.path_params["place"]
    if schema is None or place >= len(schema.attributes):
        return None
    return studio, schema, schema.attributes[place]


async def edit(request: Request) -> Response:
    """The page of one attribute."""
    found = _attribute(request)
    return go("/roles") if found is None else _editor(request, *found, problems=())


def _editor(
    request: Request, studio: Studio, schema: Schema, attribute: Attribute, *, problems: Sequence[str]
) -> Response:
    paths = read_hierarchies(studio.project).get(attribute.name, {}).get("paths", {})
    levels = max([2, *(len(each) for each in paths.values())])
    state = studio.project.state
    return page(
        request,
        "attribute.html",
        problems=problems,
        commands=[commands.check(state.data, state.options)] if state.data else [],
        schema=schema,
        attribute=attribute,
        place=request.path_params["place"],
        values=source_values(attribute) if attribute.size <= MOST_EDITED else (),
        most=MOST_EDITED,
        edges=", ".join(number_text(each) for each in attribute.bins or ()),
        periods=get_args(Period),
        date_edges=", ".join(attribute.to_fields()["dates"]["edges"])
        if attribute.dates and attribute.dates.edges
        else "",
        roles=list(Role),
        paths=paths,
        levels=min(levels, MOST_LEVELS),
    )


async def change_attribute(request: Request) -> Response:
    """Other categories, bins or order of one attribute."""
    found = _attribute(request)
    if found is None:
        return go("/roles")
    studio, schema, attribute = found
    sent = await form(request)
    if first(sent, "seen") != studio.mark():
        return _editor(request, studio, schema, attribute, problems=[OUTDATED])
    try:
        changed = with_attribute(schema, attribute.name, edited(attribute, sent))
    except SchemaError as error:
        return _editor(request, studio, schema, attribute, problems=error.problems)
    if changed != schema:
        studio.project.remember(f"{attribute.name} changed")
        studio.project.write("schema.toml", changed.to_toml())
    return go(f"/roles/{request.path_params['place']}")


async def histogram(request: Request) -> Response:
    """Rows by category as the form stands, kept or not: a fragment beside it."""
    found = _attribute(request)
    if found is None:
        return fragment("histogram.html", problem="", chart=None, sentence="")
    studio, schema, attribute = found
    sent = query(request)
    if "seen" in sent and first(sent, "seen") != studio.mark():
        return fragment("histogram.html", problem=OUTDATED, chart=None, sentence="")
    try:
        changed = with_attribute(schema, attribute.name, edited(attribute, sent))
    except SchemaError as error:
        return fragment(
            "histogram.html",
            problem=" ".join(error.problems),
            field=_field(attribute, error.problems),
            chart=None,
            sentence="",
        )
    shown = changed[attribute.name]
    if not shown.role.is_published:
        return fragment(
            "histogram.html", problem="", chart=None, sentence="Columns of this role are never published."
        )
    told = await studio.ask_private({"do": "count", "schema": changed.to_dict(), "names": [attribute.name]})
    if told["exit"]:
        return fragment("histogram.html", problem=told["said"], chart=None, sentence="")
    counts = told["result"]["counts"][attribute.name]
    empty = counts.count(0)
    sentence = (
        f"Categories: {len(counts)}, the smallest with {counted(min(counts), 'row')}"
        f"{f', {empty} without any' if empty else ''}."
    )
    description = f"Rows by category of {attribute.name}: {sentence}"
    return fragment(
        "histogram.html",
        problem="",
        chart=bar_chart(shown.labels, counts, description=description),
        sentence=sentence,
        description=description,
    )


def _field(attribute: Attribute, problems: Sequence[str]) -> str:
    """The field of an attribute's editor that problems are about."""
    if attribute.dates is not None:
        return "dates"
    if attribute.bins is None:
        return "categories"
    words = " ".join(problems)
    return next((each for each in ("top_code", "bottom_code") if each in words), "bins")


def read_hierarchies(project: Project) -> dict[str, Any]:
    """Trees of categories that were made by hand, by attribute."""
    try:
        return tomllib.loads((project.root / "hierarchies.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


async def change_hierarchy(request: Request) -> Response:
    """Another tree above the categories of one attribute; none where nothing is filled in."""
    found = _attribute(request)
    if found is None:
        return go("/roles")
    studio, schema, attribute = found
    sent = await form(request)
    if first(sent, "seen") != studio.mark():
        return _editor(request, studio, schema, attribute, problems=[OUTDATED])
    paths = hierarchy_paths(attribute, sent)
    trees = read_hierarchies(studio.project)
    trees.pop(attribute.name, None)
    if paths:
        try:
            PathsForm(paths=paths).build(attribute.as_published)
        except SfumatoError as error:
            return _editor(request, studio, schema, attribute, problems=[str(error)])
        trees[attribute.name] = {"paths": paths}
    studio.project.remember(f"tree of {attribute.name} changed")
    lines = [f"{toml_key(name)} = {toml_value(tree)}\n" for name, tree in trees.items()]
    studio.project.write("hierarchies.toml", "".join(lines))
    return go(f"/roles/{request.path_params['place']}")


def hierarchy_paths(attribute: Attribute, sent: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Labels above every category, from a form with a field for each category and level.

    A level that is empty for one category repeats the label below it.
    """
    columns = [
        [text.strip() for text in sent[f"level.{level}"]]
        for level in range(MOST_LEVELS)
        if f"level.{level}" in sent
    ]
    columns = [each for each in columns if len(each) == attribute.size and any(each)]
    paths: dict[str, tuple[str, ...]] = {}
    for place, label in enumerate(attribute.labels if columns else ()):
        above: list[str] = []
        for column in columns:
            above.append(column[place] or (above[-1] if above else label))
        paths[label] = tuple(above)
    return paths


ROUTES = [
    Route("/roles", show),
    Route("/roles", change, methods=["POST"]),
    Route("/roles/{place:int}", edit),
    Route("/roles/{place:int}", change_attribute, methods=["POST"]),
    Route("/roles/{place:int}/histogram", histogram),
    Route("/roles/{place:int}/hierarchy", change_hierarchy, methods=["POST"]),
]
