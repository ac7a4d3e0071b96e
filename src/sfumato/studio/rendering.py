"""Pages from templates: text is escaped, tables and charts are the report's own."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from sfumato.report.document import Grid
from sfumato.values.number_text import show_cell

if TYPE_CHECKING:
    import jinja2

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
        from sfumato.report.html import drawing_library

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
