"""A document as one self-contained page: no request leaves it, and no text in it can become code.

Text is escaped by the template. Charts are data in a block that browsers do not run. The page's own
policy then lets a browser run nothing but the two scripts whose digests it names, and connect to nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, ReleaseError
from sfumato.report.document import Block, Document, Figure, Folded
from sfumato.writing import refuse_existing, write_whole


def render(document: Document) -> str:
    """The page as text.

    Examples
    --------
    >>> page = render(Document("Report", "a < b", "Lead.", (), (), "Footer."))
    >>> "<title>a &lt; b" in page
    True
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sfumato.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = list(_figures(block for section in document.sections for block in section.blocks))
    numbers = {id(figure): number for number, figure in enumerate(figures)}
    # The drawing library is most of the page; a page without charts does without.
    scripts = [drawing_library(), _resource("draw.js")] if figures else [_resource("draw.js")]
    return environment.get_template("page.html").render(
        document=document,
        style=_resource("style.css"),
        number_of_figure=lambda figure: numbers[id(figure)],
        specs=as_script_data([figure.spec for figure in figures]),
        scripts=scripts,
        policy=_policy(scripts),
    )


def write_page(document: Document, out: Path) -> Path:
    """Write the page, whole or not at all; an existing file is never overwritten.

    Raises
    ------
    ReleaseError
        When the file exists, its folder does not, or the disk refuses.
    """
    refuse_overwriting(out)
    text = render(document)
    try:
        with write_whole(out, parameter="out") as (temporary,):
            if document.is_private:
                # What was computed from private rows is its owner's alone; other pages are for whoever may read the folder.
                temporary.touch(mode=0o600)
            temporary.write_text(text, encoding="utf-8")
    except ParameterError as error:
        raise ReleaseError(str(error)) from None
    return out


def refuse_overwriting(out: Path) -> None:
    """Refuse an output that is already there, before any work is done for it.

    Raises
    ------
    ReleaseError
        Naming the file.
    """
    try:
        refuse_existing(out, parameter="out")
    except ParameterError as error:
        raise ReleaseError(str(error)) from None


def as_script_data(value: Any) -> str:
    r"""JSON that can stand inside a script element: no character in it can end the element.

    Examples
    --------
    >>> as_script_data({"category": "</script>"})
    '{"category": "\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _figures(blocks: Iterable[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Folded):
            yield from _figures(block.blocks)


def drawing_library() -> str:
    """Vega, Vega-Lite and vega-embed, which puts itself on the window: what ``hatch_build.py`` writes."""
    try:
        return _resource("vega.js")
    except FileNotFoundError:
        # A source tree that was never installed; whoever works in one has the development extra.
        import vl_convert

        return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]


def _resource(name: str) -> str:
    return (resources.files("sfumato.report") / "templates" / name).read_text(encoding="utf-8")


def _policy(scripts: Iterable[str]) -> str:
    """What the page lets a browser do: run these very scripts, style itself, and nothing else."""
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in digests)
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; form-action 'none'"
