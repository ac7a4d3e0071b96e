"""Sheets of Excel and OpenDocument workbooks."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.sources.base import (
    Asked,
    Source,
    existing,
    refuse_title,
    remark_on_unnamed,
    told_apart,
    unchanged,
)
from sfumato.data.sources.cells import cell_text, registered
from sfumato.errors import MissingExtraError, SourceError, nearest
from sfumato.values.number_text import counted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class WorkbookSheet(Source):
    """A sheet of a workbook, its first row the names of the columns.

    A column without a name is not read. The sheet is held in memory while it is read.
    """

    kind = "workbook"
    reads = ".xlsx, .xls, .xlsm, .xlsb, .ods"
    takes = frozenset({"table"})

    path: Path
    sheet: str | None = None

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the ending of the name."""
        return cls(asked.path, asked.table) if asked.path and asked.suffix in cls.reads.split(", ") else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    @property
    def description(self) -> str:
        """The file's name, and the sheet's where it was said."""
        return self.path.name if self.sheet is None else f"{self.path.name}, sheet {self.sheet!r}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which columns have no name, and how many rows have nothing in them."""
        names, *rows = self._all_rows()
        empty = sum(not any(row) for row in rows)
        said = f"{self.description}: {counted(empty, 'row')} without anything in a cell, not read."
        return (*remark_on_unnamed(self.description, names), *((said,) if empty else ()))

    def columns(self) -> tuple[str, ...]:
        """The first row's texts."""
        return told_apart([name for name in self._rows()[0] if name], self.description)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Hand the sheet's cells over."""
        with unchanged(existing(self.path)):
            names, *rows = self._rows()
            kept = [(place, name) for place, name in enumerate(names) if name]
            columns = [[row[place] for row in rows] for place, _ in kept]
            with registered(cursor, [name or "" for _, name in kept], [columns]) as found:
                yield found

    def _rows(self) -> list[list[str | None]]:
        """Rows as texts, the names first; a row between two parts of a sheet, or below it, is nobody's."""
        names, *rows = self._all_rows()
        return [names, *(row for row in rows if any(row))]

    def _all_rows(self) -> list[list[str | None]]:
        try:
            library = importlib.import_module("python_calamine")
        except ImportError:
            raise MissingExtraError("reading workbooks", extra="excel") from None
        try:
            with library.CalamineWorkbook.from_path(str(existing(self.path))) as book:
                rows = book.get_sheet_by_name(self._chosen(book)).to_python()
        except library.CalamineError:
            raise SourceError(
                f"{self.path.name} cannot be read: it is damaged, locked with a password, or not a workbook. "
                "Save it again, or as CSV."
            ) from None
        if not rows:
            raise SourceError(
                f"{self.description} is empty; a row with the column names comes first. Name another sheet by --table."
            )
        texts = [[cell_text(cell) for cell in row] for row in rows]
        refuse_title(self.description, texts[0], texts[1:])
        return texts

    def _chosen(self, book: Any) -> str:
        names = list(book.sheet_names)
        if self.sheet is None and len(names) == 1:
            return str(names[0])
        if self.sheet is None:
            sheets = ", ".join(map(repr, names))
            raise SourceError(f"{self.path.name} has the sheets {sheets}. Say which by --table.")
        if self.sheet not in names:
            raise SourceError(f"{self.path.name} has no sheet {self.sheet!r}; {nearest(self.sheet, names)}")
        return self.sheet
