"""A document as plain data: what a page says, before anything decides how it looks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from sfumato.values.number_text import show_cell
from sfumato.values.result_tables import ResultTable


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
        ``"found-rows"``: rows can be found by what is published as it is.
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
