"""Files of statistical packages and spreadsheets: SPSS, Stata, SAS, Excel, OpenDocument."""

from __future__ import annotations

import datetime as dt
import importlib
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sfumato.data.sources.base import (
    Asked,
    Heading,
    Source,
    existing,
    fresh_name,
    heading,
    told_apart,
    unchanged,
)
from sfumato.errors import MissingExtraError, SourceError, nearest
from sfumato.text import counted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# Rows that a Python library reads, on their way to the engine: every cell as text.


def cell_text(cell: Any) -> str | None:
    """A cell as a CSV file would hold it; None where it holds nothing.

    Such files store whole numbers as floating-point ones, so 1.0 is written as 1.

    Examples
    --------
    >>> [cell_text(each) for each in (1.0, 2.5, True, "x", float("nan"), dt.date(2019, 12, 31))]
    ['1', '2.5', 'true', 'x', None, '2019-12-31']
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return cell.isoformat(sep=" ") if isinstance(cell, dt.datetime) else str(cell)


@contextmanager
def registered(
    cursor: DuckDBPyConnection, names: Sequence[str], parts: Iterable[Sequence[Sequence[str | None]]]
) -> Iterator[str]:
    """The name in the engine of rows that come in parts, each one list of texts for every column."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, pa.string()) for name in names])
    batches = (
        pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in part], schema=schema)
        for part in parts
    )
    name = fresh_name("cells")
    cursor.register(name, pa.RecordBatchReader.from_batches(schema, batches))
    yield name


# --------------------------------------------------------------------------------------------------
# Files of statistical packages: SPSS, Stata, SAS.


READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Endings, and what reads them."""

ROWS_PER_PART = 50_000


@dataclass(frozen=True)
class StatisticalFile(Source):
    """A file of SPSS, Stata or SAS, read with its value labels and missing codes.

    A value that has a label is read as the label, other numbers as they are written. Codes that the
    file declares missing are missing.
    """

    kind = "statistics"
    reads = ", ".join(READERS)
    takes = frozenset({"encoding"})

    path: Path
    encoding: str | None = None

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """By the ending of the name."""
        return cls(asked.path, asked.encoding) if asked.path and asked.suffix in READERS else None

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
        """That codes are not what is read."""
        said = "values are read by their labels where they have one, codes declared missing as missing"
        return (f"{self.path.name}: {said}.",)

    def columns(self) -> tuple[str, ...]:
        """Column names from the file's head."""
        return told_apart(self._head().column_names, self.description)

    def descriptions(self) -> Mapping[str, str]:
        """The labels of variables."""
        labels = self._head().column_names_to_labels
        return {name: " ".join(label.split()) for name, label in labels.items() if label and label.strip()}

    def value_labels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of values that are not declared missing, by code."""
        # Only so does the head say which codes are declared missing; portable files and those of transport have no such reader.
        takes_it = self.path.suffix.lower() not in (".por", ".xpt")
        head = self._read(metadataonly=True, **({"user_missing": True} if takes_it else {}))[1]
        found = {}
        for name, labels in head.variable_value_labels.items():
            ranges = head.missing_ranges.get(name, ())
            kept = [code for code in labels if not _is_declared_missing(code, labels, ranges)]
            texts = _texts_of_codes(labels)
            found[name] = tuple(texts[code] for code in sorted(kept))
        return found

    def stated_number_of_rows(self) -> int | None:
        """Rows from the file's head, where it states them."""
        stated = self._head().number_rows
        return None if stated is None or stated < 0 else int(stated)

    def _head(self) -> Any:
        return self._read(metadataonly=True)[1]

    def _read(self, **options: Any) -> Any:
        """Columns and head as the library gives them; its own words could quote a cell, so they are replaced."""
        try:
            library = importlib.import_module("pyreadstat")
        except ImportError:
            raise MissingExtraError("reading files of SPSS, Stata and SAS", extra="statistics") from None
        reader = getattr(library, READERS[existing(self.path).suffix.lower()])
        try:
            # Portable files of SPSS state theirs, and their reader takes none.
            said = {} if self.encoding is None else {"encoding": self.encoding}
            return reader(str(self.path), **said, **options)
        except (library.ReadstatError, library.PyreadstatError, UnicodeDecodeError, TypeError):
            raise SourceError(
                f"{self.path.name} cannot be read: it is damaged, in another encoding, or not of the format its name says. "
                "Say --encoding, or get it again from where it came."
            ) from None

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Read the file in parts."""
        head = self._head()
        texts = {name: _texts_of_codes(labels) for name, labels in head.variable_value_labels.items()}
        with (
            unchanged(self.path),
            registered(cursor, head.column_names, self._parts(head.column_names, texts)) as rows,
        ):
            yield rows

    def _parts(self, names: list[str], texts: dict[str, dict[Any, str]]) -> Iterator[list[list[str | None]]]:
        for start in itertools.count(0, ROWS_PER_PART):
            columns, _ = self._read(output_format="dict", row_offset=start, row_limit=ROWS_PER_PART)
            part = [[_labelled(cell, texts.get(name, {})) for cell in columns[name]] for name in names]
            if part[0]:
                yield part
            if len(part[0]) < ROWS_PER_PART:
                return


def _labelled(cell: Any, texts: dict[Any, str]) -> str | None:
    found = texts.get(cell)
    return cell_text(cell) if found is None else found


def _is_declared_missing(code: Any, codes: Iterable[Any], ranges: Iterable[Mapping[str, Any]]) -> bool:
    """In a range that SPSS was told, or a letter among numbers, which in Stata and SAS is a missing value."""
    if isinstance(code, str) and not all(isinstance(each, str) for each in codes):
        return True
    return any(
        isinstance(each["lo"], str) is isinstance(code, str) and each["lo"] <= code <= each["hi"]
        for each in ranges
    )


def _texts_of_codes(labels: dict[Any, str]) -> dict[Any, str]:
    """Code to what is read for it; a label that several codes share is written with the code."""
    uses = Counter(labels.values())
    return {
        code: label if uses[label] == 1 else f"{label} ({cell_text(code)})" for code, label in labels.items()
    }


# --------------------------------------------------------------------------------------------------
# Sheets of Excel and OpenDocument workbooks.


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
        head, rows = self._all_rows()
        empty = sum(not any(row) for row in rows)
        said = f"{self.description}: {counted(empty, 'row')} without anything in a cell, not read."
        return (*head.remarks, *((said,) if empty else ()))

    def columns(self) -> tuple[str, ...]:
        """The first row's texts."""
        return told_apart(filter(None, self._all_rows()[0].names), self.description)

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """Hand the sheet's cells over."""
        with unchanged(existing(self.path)):
            head, rows = self._all_rows()
            kept = [(place, name) for place, name in enumerate(head.names) if name]
            # A row between two parts of a sheet, or below it, is nobody's.
            columns = [[row[place] for row in rows if any(row)] for place, _ in kept]
            with registered(cursor, [name or "" for _, name in kept], [columns]) as found:
                yield found

    def _all_rows(self) -> tuple[Heading, list[list[str | None]]]:
        """The header, and the rows below it as texts."""
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
        head = heading(self.description, texts[0], texts[1:])
        return head, texts[head.lines :]

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
