"""Small drawings as SVG: cells, arrows, words. Colours follow the reader's light or dark page; words tell what is drawn to who does not see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH = 480
ROW = 22
STYLE = """
.page{fill:#fbfaf7}.line{stroke:#8b93a1;fill:none;stroke-width:1.3}.ink{fill:#1d2433}.quiet{fill:#5b6474}.cell{fill:#e9ebf0}.edge{stroke:#fbfaf7;stroke-width:1.5}
.strong{stroke:#1d2433;stroke-width:1.8;fill:none}.a{fill:#b3541e}.b{fill:#23725c}.c{fill:#2f5d9b}.d{fill:#7a4a91}.on{fill:#fff}.lost{fill:none;stroke:#8b93a1;stroke-dasharray:3 3}
text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif}.small{font-size:11.5px}.head{font-size:11.5px;font-weight:600}.bold{font-weight:600}
@media (prefers-color-scheme: dark){.page{fill:#1d212b}.line{stroke:#8a93a6}.ink{fill:#e8eaf0}.quiet{fill:#aab2c2}.cell{fill:#323948}.edge{stroke:#1d212b}
.strong{stroke:#e8eaf0}.a{fill:#c0652c}.b{fill:#2f8a70}.c{fill:#4273b8}.d{fill:#8d5ba6}.lost{stroke:#8a93a6}}
"""
COLOURS = {"Sales": "a", "Care": "b", "Tech": "c", "Law": "d"}


@dataclass
class Canvas:
    """A drawing under way.

    Parameters
    ----------
    title, description
        What it is, and what it shows, for those who do not see it.
    height
        In units of which 480 are the width.
    """

    title: str
    description: str
    height: int
    parts: list[str] = field(default_factory=list)

    def words(self, x: float, y: float, text: str, look: str = "ink", anchor: str = "start") -> None:
        """A line of text."""
        self.parts.append(
            f'<text x="{x}" y="{y}" class="{look}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, look: str, corner: float = 3) -> None:
        """A rectangle."""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{corner}" class="{look}"/>'
        )

    def cell(
        self, x: float, y: float, width: float, text: str, *, look: str = "", marked: bool = False
    ) -> None:
        """A cell of a table; a value of the secret has its colour, a marked one a frame."""
        colour = look or COLOURS.get(text, "cell")
        self.box(x, y, width, ROW, f"{colour} edge")
        self.words(x + width / 2, y + 15, text, "on small" if colour in "abcd" else "ink small", "middle")
        if marked:
            self.box(x + 1.5, y + 1.5, width - 3, ROW - 3, "strong")

    def table(
        self,
        x: float,
        y: float,
        heads: Sequence[str],
        rows: Sequence[Sequence[str]],
        widths: Sequence[float],
        marked: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Cells under headings; marked ones by row and column."""
        place = x
        for number, (head, width) in enumerate(zip(heads, widths, strict=True)):
            self.words(place + width / 2, y - 6, head, "quiet head", "middle")
            for line, row in enumerate(rows):
                self.cell(place, y + line * ROW, width, row[number], marked=(line, number) in marked)
            place += width

    def arrow(self, x: float, y: float, x_end: float, y_end: float, text: str = "", below: str = "") -> None:
        """From one point to another, with words above and below its middle."""
        self.parts.append(f'<path d="M{x} {y}L{x_end} {y_end}" class="line" marker-end="url(#tip)"/>')
        self.words((x + x_end) / 2, (y + y_end) / 2 - 8, text, "ink small", "middle")
        self.words((x + x_end) / 2, (y + y_end) / 2 + 18, below, "quiet small", "middle")

    def line(self, *points: tuple[float, float], look: str = "line") -> None:
        """Through points."""
        path = "L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'<path d="M{path}" class="{look}"/>')

    def svg(self) -> str:
        """The file's text."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" role="img" '
            'aria-labelledby="title description">'
        )
        tip = (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0L8 4L0 8z" class="quiet"/></marker></defs>'
        )
        told = f'<title id="title">{escape(self.title)}</title><desc id="description">{escape(self.description)}</desc>'
        page = f'<rect width="{WIDTH}" height="{self.height}" rx="6" class="page"/>'
        style = f"<style>{STYLE.strip()}</style>"
        return "\n".join([head, told, style, tip, page, *self.parts, "</svg>\n"])
