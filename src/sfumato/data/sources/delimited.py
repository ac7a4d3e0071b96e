"""CSV files and their kin: text with a header line and a mark between the cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sfumato.data.sources.base import (
    Asked,
    Source,
    existing,
    quote_path,
    refuse_title,
    remark_on_unnamed,
    told_apart,
    unchanged,
)
from sfumato.data.sources.text_files import (
    READ_IN_PLACE,
    START_BYTES,
    compression_of,
    decode_start,
    in_utf_8,
    settle_encoding,
    start_of,
)
from sfumato.data.sql_text import quote_name, quote_text
from sfumato.errors import SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DELIMITERS = (",", ";", "\t", "|")
"""Marks that are looked for between the cells."""

_STATED_MARK = re.compile(r"sep=(.)(\r\n|\n|\r)")
"""The line by which a spreadsheet tells another what stands between the cells."""

LINES_COMPARED = 200
"""Lines after the header that must divide like it for a mark to be believed."""


@dataclass(frozen=True)
class Header:
    """What the start of a file says: its encoding, its mark, its columns, unnamed ones included, and what is before them.

    ``lines_before`` counts the lines above the names, or above the first row: spreadsheets write ``sep=;`` there.
    """

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    lines_before: int = 0


@dataclass(frozen=True)
class CsvFile(Source):
    """A CSV file with a header line, or with names that were given for it, compressed or not.

    Columns go by the names in the header, never by position. Every cell is read as text. A column
    without a name, as pandas writes its row numbers, is not read.
    """

    kind = "csv"
    reads = ".csv, .tsv, .txt, .data, also .gz or .zst"
    takes = frozenset({"encoding", "delimiter", "names"})

    path: Path
    encoding: str | None = None
    delimiter: str | None = None
    names: tuple[str, ...] | None = None

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the ending of the name."""
        if asked.path is None or asked.suffix not in (".csv", ".tsv", ".txt", ".data"):
            return None
        return cls(asked.path, asked.encoding, asked.delimiter, asked.names)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    @property
    def description(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which columns have no name."""
        return remark_on_unnamed(self.path.name, self._header().names)

    def columns(self) -> tuple[str, ...]:
        """Column names from the header line."""
        return told_apart((name for name in self._header().names if name), self.description)

    def _header(self) -> Header:
        start = start_of(existing(self.path))
        encoding = settle_encoding(self.path, start, self.encoding)
        text = decode_start(self.path, start, encoding)
        stated = _STATED_MARK.match(text)
        marks = self._marks() if stated is None or self.delimiter else (stated[1],)
        is_whole = len(start) < START_BYTES
        below = text if stated is None else text[stated.end() :]
        records = {mark: _records(below, mark, is_whole=is_whole) for mark in marks}
        if not any(any(lines[0]) for lines in records.values() if lines):
            raise self._unreadable("it is empty; a header line with the column names comes first")
        mark = self._chosen(records)
        names, *lines = records[mark]
        before = 0 if stated is None else 1
        if self.names is not None:
            return Header(encoding, mark, self._given(self.names, len(names)), before)
        refuse_title(self.description, names, lines)
        return Header(encoding, mark, tuple(names), before)

    def _given(self, names: tuple[str, ...], columns: int) -> tuple[str, ...]:
        if len(names) != columns:
            raise SourceError(
                f"{self.path.name} has {columns} columns, and {len(names)} names were given. Name every column, in order."
            )
        return names

    def _marks(self) -> tuple[str, ...]:
        if self.delimiter is None:
            return DELIMITERS
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise SourceError(
                f"a delimiter is one character and no quote, got {self.delimiter!r}. Name what stands between the cells."
            )
        return (self.delimiter,)

    def _chosen(self, records: dict[str, list[list[str]]]) -> str:
        """The mark that divides the header most, among those that divide the lines after it alike."""
        widths = {mark: len(lines[0]) for mark, lines in records.items() if lines}
        even = [
            mark
            for mark in widths
            if widths[mark] > 1 and all(len(line) == widths[mark] for line in records[mark][1:])
        ]
        if not even and self.delimiter is None and max(widths.values()) == 1:
            self._refuse_lone_title(records)
        candidates = even or list(widths)
        most = max(widths[mark] for mark in candidates)
        best = [mark for mark in candidates if widths[mark] == most]
        if len(best) > 1 and most > 1:
            marks = " or ".join(repr(mark) for mark in best)
            raise self._unreadable(
                f"its lines divide alike at {marks}. Say --delimiter with the one that is meant"
            )
        return best[0]

    def _refuse_lone_title(self, records: dict[str, list[list[str]]]) -> None:
        """Refuse a first line of one cell above lines that all divide into several."""
        for mark, (_, *lines) in ((mark, lines) for mark, lines in records.items() if lines):
            widths = {len(line) for line in lines}
            if len(lines) > 1 and len(widths) == 1 and widths != {1}:
                raise self._unreadable(
                    f"its first line is one cell, and the lines below divide into {widths.pop()} at {mark!r}. Take the lines "
                    "above the header out; if it is one column, say --delimiter with a mark that it does not hold"
                )

    def _unreadable(self, reason: str) -> SourceError:
        return SourceError(f"{self.path.name} cannot be read as CSV: {reason}.")

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Read the file with the column names and the delimiter of its own header."""
        header = self._header()
        # DuckDB takes `columns` by position, so they are the header's own names in the header's order.
        names = [name or f"unnamed column {place}" for place, name in enumerate(header.names)]
        unnamed = [each for each, name in zip(names, header.names, strict=True) if not name]
        columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
        left_out = f"exclude ({', '.join(map(quote_name, unnamed))})" if unnamed else ""
        with ExitStack() as stack:
            stack.enter_context(unchanged(self.path))
            path, encoding = self.path, READ_IN_PLACE.get(header.encoding)
            compression = compression_of(path)
            if encoding is None:
                place = cursor.sql("select current_setting('temp_directory')").fetchall()[0][0]
                path = stack.enter_context(in_utf_8(path, header.encoding, place))
                encoding, compression = "utf-8", None
            yield (
                f"(select * {left_out} from read_csv({quote_path(path)}, header={'true' if self.names is None else 'false'}, "
                "auto_detect=false, "
                f"skip={header.lines_before}, "
                f"strict_mode=true, delim={quote_text(header.delimiter)}, quote='\"', escape='\"', "
                f"encoding='{encoding}', compression='{compression or 'none'}', columns={{{columns}}}))"
            )


def _records(text: str, delimiter: str, *, is_whole: bool) -> list[list[str]]:
    """Header and first lines, divided at a mark; nothing where that is not CSV."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines: list[list[str]] = []
    try:
        for line in reader:
            # An empty first line is no header; later ones say nothing.
            if line or not lines:
                lines.append(line)
            if len(lines) > LINES_COMPARED:
                return lines
    except csv.Error:
        return lines
    # The last line of a start may be cut in its middle.
    return lines if is_whole else lines[:-1] or lines
