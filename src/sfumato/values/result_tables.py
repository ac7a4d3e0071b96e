"""Small tables of results: a title, headings, rows; shown as text, JSON or HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.values.number_text import Cell, show_cell


@dataclass(frozen=True)
class ResultTable:
    """One table of a plan, an inspection, an attack or an audit.

    Parameters
    ----------
    title
        What it shows.
    columns
        Headings.
    rows
        Cells: texts and numbers.
    is_private
        Computed from private rows: for the custodian's eyes, not for publication.

    Examples
    --------
    >>> print(ResultTable("Errors", ("attribute", "std. error"), (("job", 12.3456),)).to_text())
    Errors
    attribute  std. error
    job             12.35
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_private: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("every row must have one cell for each column.")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "title": self.title,
            "private": self.is_private,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
        }

    def to_text(self) -> str:
        """Columns lined up: texts to the left, numbers to the right."""
        shown = [[show_cell(cell) for cell in row] for row in self.rows]
        widths = [
            max(len(row[place]) for row in [list(self.columns), *shown]) for place in range(len(self.columns))
        ]
        is_number = [
            bool(self.rows) and all(not isinstance(row[place], str) for row in self.rows)
            for place in range(len(self.columns))
        ]
        lines = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, is_number, strict=True)
            ).rstrip()
            for row in [list(self.columns), *shown]
        ]
        mark = "  [private: computed from the data]" if self.is_private else ""
        return "\n".join([self.title + mark, *lines])
