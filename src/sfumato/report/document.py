"""A document as plain data, and its rendering as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Literal

from sfumato.atomic_files import refuse_existing, write_whole
from sfumato.errors import ParameterError, ReleaseError
from sfumato.results import ResultTable
from sfumato.text import show_cell

# --------------------------------------------------------------------------------------------------
# A document as plain data: what a page says, before anything decides how it looks.


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True)
class Promise:
    """A promise: words for everybody first, the words of the field and the small print after.

    Parameters
    ----------
    plain_words
        For a reader who is not a statistician.
    sentence
        With its numbers, in the words of the field.
    details
        Pairs of heading and text.
    """

    kind: ClassVar[str] = "promise"
    plain_words: str
    sentence: str
    details: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Bullets:
    """Sentences that stand side by side."""

    kind: ClassVar[str] = "bullets"
    items: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Short facts, each with its name."""

    kind: ClassVar[str] = "facts"
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Grid:
    """A table whose cells are already written as they are to be read.

    Parameters
    ----------
    caption
        What it shows.
    columns
        Headings.
    rows
        Texts, one for each column.
    text_columns
        How many columns, from the left, hold words; the others hold numbers.
    shares
        For each row, the length of a bar between 0 and 1; empty for no bars.

    Examples
    --------
    >>> Grid("Rows", ("job", "rows"), (("Sales", "12"),)).text_columns
    1
    """

    kind: ClassVar[str] = "grid"
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("every row must have one cell for each column.")
        if self.shares and len(self.shares) != len(self.rows):
            raise ValueError("bars need one share for each row.")

    @classmethod
    def of(cls, table: ResultTable) -> Grid:
        """A table of results, its numbers written out.

        Examples
        --------
        >>> Grid.of(ResultTable("Errors", ("job", "std. error"), (("Sales", 12.3456),))).rows
        (('Sales', '12.35'),)
        """
        columns = [[row[place] for row in table.rows] for place in range(len(table.columns))]
        # A row that is refused leaves its cells empty, and its numbers are numbers all the same.
        filled = [[cell for cell in column if cell not in ("", "-")] for column in columns]
        are_numbers = [bool(cells) and not any(isinstance(cell, str) for cell in cells) for cells in filled]
        # Words stand on the left in every table we make; a later column of words would only be set flush right.
        text_columns = are_numbers.index(True) if True in are_numbers else len(table.columns)
        rows = tuple(tuple(show_cell(cell) for cell in row) for row in table.rows)
        return cls(table.title, table.columns, rows, text_columns)


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart.

    Parameters
    ----------
    spec
        Vega-Lite, as plain data.
    caption
        What to see in it.
    description
        For those who cannot see it.
    """

    kind: ClassVar[str] = "figure"
    spec: dict[str, Any]
    caption: str
    description: str


@dataclass(frozen=True)
class Listing:
    """Text set as it is: commands or code to copy, a drawing of lines."""

    kind: ClassVar[str] = "listing"
    title: str
    text: str


@dataclass(frozen=True)
class Subheading:
    """A heading within a section."""

    kind: ClassVar[str] = "subheading"
    text: str


@dataclass(frozen=True)
class Folded:
    """Blocks behind one line, for the reader who wants them."""

    kind: ClassVar[str] = "folded"
    summary: str
    blocks: tuple[Block, ...]


Block = Paragraph | Promise | Bullets | Facts | Grid | Figure | Listing | Subheading | Folded


@dataclass(frozen=True)
class Banner:
    """What must be read before anything else.

    Parameters
    ----------
    mark
        ``"not-private"``: the release protects nobody. ``"custodian-only"``: the page itself is private.
        ``"found-rows"``: the release is weak.
    """

    mark: Literal["not-private", "custodian-only", "found-rows"]
    title: str
    text: str


@dataclass(frozen=True)
class Section:
    """A part of a document under a heading.

    Parameters
    ----------
    is_private
        Computed from private rows: for the custodian's eyes, not for publication.

    Examples
    --------
    >>> Section("What is not protected", ()).anchor
    'what-is-not-protected'
    """

    title: str
    blocks: tuple[Block, ...]
    is_private: bool = False

    @property
    def anchor(self) -> str:
        """The section's address within the page."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Document:
    """A whole page.

    Parameters
    ----------
    eyebrow
        The kind of document, above its title.
    lead
        The one sentence to read when only one is read.
    footer
        Who made it.
    """

    eyebrow: str
    title: str
    lead: str
    banners: tuple[Banner, ...]
    sections: tuple[Section, ...]
    footer: str

    @property
    def is_private(self) -> bool:
        """Some section was computed from private rows."""
        is_marked = any(banner.mark == "custodian-only" for banner in self.banners)
        return is_marked or any(section.is_private for section in self.sections)


# --------------------------------------------------------------------------------------------------
# A document as one self-contained page: no request leaves it, and no text in it can become code.
#
# Text is escaped by the template. Charts are data in a block that browsers do not run. The page's own
# policy then lets a browser run nothing but the two scripts whose digests it names, and connect to nothing.


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
        with write_whole(out, parameter="out", is_private=document.is_private) as (temporary,):
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
