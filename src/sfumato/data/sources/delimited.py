"""CSV and other delimited text: any encoding, compressed or not, files or standard input."""

from __future__ import annotations

import codecs
import csv
import functools
import io
import os
import re
import shutil
import sys
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from sfumato.atomic_files import HeldFolder, owner_only, spill_folder
from sfumato.data.coding import quote_name, quote_text
from sfumato.data.sources.base import (
    Asked,
    CheckedFile,
    Source,
    existing,
    first_line_is,
    heading,
    held,
    quote_path,
    state_of,
    told_apart,
    unchanged,
)
from sfumato.data.sources.columnar import ParquetFile
from sfumato.errors import SourceError, nearest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# Text files as they come: compressed or not, in whatever encoding.


START_BYTES = 1_048_576
"""How much of a text file is looked at to find its encoding, its header and what divides its cells."""

READ_IN_PLACE = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "iso8859-1": "latin-1"}
"""Encodings, in Python's names, that the engine reads by itself, and what it calls them.

Its UTF-16 knows no character of two units, so that is not among them.
"""

_FOREIGN = {
    "cp932": "Japanese",
    "euc_jp": "Japanese",
    "gb18030": "Chinese",
    "big5": "Chinese",
    "euc_kr": "Korean",
    "cp1251": "Cyrillic",
    "cp1253": "Greek",
}
"""Encodings of scripts that are not Latin, and whose they are."""

FEWEST_FOREIGN = 20
"""Bytes beyond ASCII from which on a file is read in the only likely encoding of another script."""

_WINDOWS = {"cp1252": "Windows-1252", "cp1250": "Windows-1250 (central Europe)"}

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_COMMON = (
    "utf-8",
    "cp1252",
    "latin-1",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "cp1250",
    "iso8859-15",
    "mac-roman",
)


def compression_of(path: Path) -> str | None:
    """How a file is compressed, by its first bytes; the engine's word for it."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def _opened(path: Path) -> IO[bytes]:
    """The file's bytes as they are before compression."""
    compression = compression_of(path)
    if compression is None:
        return path.open("rb")
    import pyarrow as pa

    stream: Any = pa.input_stream(str(path), compression=compression)
    return stream  # type: ignore[no-any-return]  # pyarrow's streams are files to Python


def start_of(path: Path) -> bytes:
    """The first bytes, decompressed.

    Raises
    ------
    SourceError
        When what is compressed is cut off or damaged.
    """
    try:
        with _opened(path) as file:
            return file.read(START_BYTES)
    except OSError:
        raise SourceError(
            f"{path.name} cannot be read: it is compressed, and damaged or cut off. Get it again from where it came."
        ) from None


def settle_encoding(path: Path, start: bytes, said: str | None) -> str:
    """Python's name of a file's encoding: as said, by the file's mark, UTF-8, or the only likely one by its bytes.

    Raises
    ------
    SourceError
        When no such encoding exists, or several are likely.
    """
    if said is not None:
        try:
            # Only encodings of text encode: Python also calls base64 a codec.
            "".encode(said)
            name = codecs.lookup(said).name
        except LookupError:
            raise SourceError(f"there is no encoding {said!r}; {nearest(said, _COMMON)}") from None
        _refuse_another(path, start, name)
        return _with_its_mark(start) or "utf-16-le" if name == "utf-16" else name
    marked = _with_its_mark(start)
    if marked is not None:
        return marked
    if b"\x00" in start:
        # In UTF-16 every second byte of western text is zero.
        ending = "le" if start[1::2].count(0) >= start[::2].count(0) else "be"
        raise _asks(path, f"it is UTF-16 without its mark, or no text at all. Say --encoding utf-16-{ending}")
    if is_utf_8(start):
        return "utf-8"
    likely = _foreign(start) or (["cp1250"] if _is_central(start) else ["cp1252"])
    if len(likely) > 1 or (likely[0] in _FOREIGN and sum(byte >= 0x80 for byte in start) < FEWEST_FOREIGN):
        listed = " or ".join(f"{name} ({_FOREIGN[name]})" for name in likely)
        raise _asks(
            path, f"its bytes could be {listed}. Say --encoding {likely[0]}, or whatever it was saved in"
        )
    return likely[0]


def remark_on_encoding(path: Path, encoding: str, said: str | None) -> tuple[str, ...]:
    """A sentence about an encoding that was found by the bytes."""
    if said is not None or encoding.startswith("utf"):
        return ()
    name = _WINDOWS.get(encoding, encoding)
    return (f"{path.name}: read as {name}, because it is not UTF-8; pass --encoding to choose another.",)


def _refuse_another(path: Path, start: bytes, said: str) -> None:
    """Refuse an encoding that reads the file, but as what nobody wrote: wrong letters would become public categories."""
    if said.startswith("utf") or start.isascii():
        return
    if is_utf_8(start):
        raise SourceError(
            f"{path.name} is UTF-8 by its bytes, and {said} would read its letters as others. Leave --encoding out."
        )
    if said == "iso8859-1" and _only_cp1252(start):
        raise SourceError(
            f"{path.name} holds bytes that are no letters in latin-1, and are in cp1252 (Windows). Say --encoding cp1252."
        )


def _foreign(start: bytes) -> list[str]:
    """Encodings of other scripts that the bytes may be in; none where they look like letters with accents.

    Accents stand among plain letters, at most two together. Of other scripts every letter is beyond ASCII, or has its first byte
    where Windows has signs.
    """
    runs = re.findall(rb"[\x80-\xff]+", start)
    beyond = sum(map(len, runs))
    long_runs = sum(len(run) for run in runs if len(run) > 2)
    signs = sum(0x80 <= byte < 0xA0 for run in runs for byte in run)
    if 2 * max(long_runs, signs) <= beyond:
        return []
    # In encodings of one byte a letter, words are runs.
    likely = (
        _FOREIGN if 2 * long_runs > beyond else [name for name in _FOREIGN if not name.startswith("cp125")]
    )
    return [name for name in likely if _are_letters(start, name)]


def _is_central(start: bytes) -> bool:
    """Whether bytes that are signs and powers to western Windows, ³ or ¿, are letters to that of central Europe."""
    return _are_letters(start, "cp1250") and not _are_letters(start, "cp1252")


def _are_letters(start: bytes, encoding: str) -> bool:
    """Whether the bytes, read so, are letters wherever they are beyond ASCII, but for a few signs."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start, final=len(start) < START_BYTES)
    except UnicodeDecodeError:
        return False
    beyond = [letter for letter in text if not letter.isascii()]
    return sum(map(str.isalpha, beyond)) > 0.9 * len(beyond)


def _with_its_mark(start: bytes) -> str | None:
    if start.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    return "utf-16-be" if start.startswith(codecs.BOM_UTF16_BE) else None


def is_utf_8(start: bytes) -> bool:
    """Whether the start of a file is UTF-8; it may end in the middle of a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=len(start) < START_BYTES)
    except UnicodeDecodeError:
        return False
    return True


def _only_cp1252(start: bytes) -> bool:
    """Whether it holds bytes that are letters in cp1252 and control characters in latin-1."""
    return any(0x80 <= byte < 0xA0 for byte in start)


def _asks(path: Path, question: str) -> SourceError:
    return SourceError(f"{path.name} is not UTF-8 text: {question}; or save it as UTF-8.")


def decode_start(path: Path, start: bytes, encoding: str) -> str:
    """The first bytes as text, without a byte-order mark; the last character may be cut."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start, final=len(start) < START_BYTES)
    except UnicodeDecodeError:
        raise _wrong(path, encoding) from None
    return text.removeprefix("\ufeff")


def _wrong(path: Path, encoding: str) -> SourceError:
    return SourceError(
        f"{path.name} holds bytes that are not {encoding}. Say --encoding with the one it was saved in, "
        "such as cp1252, or save it as UTF-8."
    )


@contextmanager
def in_utf_8(path: Path, encoding: str, place: str) -> Iterator[Path]:
    """A copy of the file in UTF-8 that nobody else may read, for as long as it is needed.

    In a folder of its own where the engine puts what exceeds memory, or where the system does when that
    is no folder.
    """
    with spill_folder(Path(place) if Path(place).is_dir() else None) as folder:
        copy = folder / "utf-8"
        try:
            with (
                _opened(path) as raw,
                codecs.getreader(encoding)(raw) as read,
                # Its owner's alone from the beginning.
                open(copy, "w", encoding="utf-8", newline="", opener=owner_only) as written,
            ):
                shutil.copyfileobj(read, written, START_BYTES)
        except UnicodeDecodeError:
            raise _wrong(path, encoding) from None
        yield copy


# --------------------------------------------------------------------------------------------------
# CSV files and their kin: text with a header line and a mark between the cells.


DELIMITERS = (",", ";", "\t", "|")
"""Marks that are looked for between the cells."""

_STATED_MARK = re.compile(r"sep=(.)(\r\n|\n|\r)")
"""The line by which a spreadsheet tells another what stands between the cells."""

LINES_COMPARED = 200
"""Lines after the header that must divide like it for a mark to be believed."""


@dataclass(frozen=True)
class Header:
    """What the start of a file says: its encoding, its mark, its columns, unnamed ones included, and what is before them.

    ``lines_before`` counts the lines above the last line of the header, or above the first row: spreadsheets write ``sep=;``
    there. ``is_there`` says whether the file has a header line.
    """

    encoding: str
    delimiter: str
    names: tuple[str | None, ...]
    lines_before: int = 0
    is_there: bool = True
    remarks: tuple[str, ...] = ()


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
    checks: tuple[CheckedFile, ...] = field(default=(), compare=False)

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
        """What was made of the header, and the encoding where the file does not say it."""
        return self._header().remarks

    def columns(self) -> tuple[str, ...]:
        """Column names from the header line."""
        if self.checks:
            with held((self.path,), self.checks) as (path,):
                return replace(self, path=path, checks=()).columns()
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
        remarks = remark_on_encoding(self.path, encoding, self.encoding)
        if self.names is not None:
            if has_header := self._replaces_a_header(self.names, names, lines):
                remarks += (f"{self.description}: the names given replace the header, its first line.",)
            return Header(
                encoding, mark, told_apart(self.names, self.description), before, has_header, remarks
            )
        head = heading(self.description, names, lines)
        if head.lines > 1 and any("\n" in name for name in names):
            raise self._unreadable("it has two header lines, one with a line break. Take the second out")
        return Header(encoding, mark, head.names, before + head.lines - 1, True, (*head.remarks, *remarks))

    def _replaces_a_header(self, given: tuple[str, ...], first: list[str], lines: list[list[str]]) -> bool:
        """Whether the first line is a header, although names are given; refused where that is unclear."""
        if len(given) != len(first):
            raise SourceError(
                f"{self.path.name} has {len(first)} columns, and {len(given)} names were given. Name every column, in order."
            )
        same = sum(a.strip().lower() == b.strip().lower() for a, b in zip(given, first, strict=True))
        kind = "header" if 2 * same >= len(first) else first_line_is(first, lines)
        if kind == "unclear":
            raise self._unreadable(
                "its first line may be a header or a row, and --names is for a file without a header. Leave --names out, or "
                "put a header line first"
            )
        return kind == "header"

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
        if self.checks:
            # Its header is read by the same path as its rows.
            with (
                held((self.path,), self.checks) as (path,),
                replace(self, path=path, checks=()).relation(cursor) as found,
            ):
                yield found
            return
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
            refuse_long_lines(path, self.description)
            yield (
                f"(select * {left_out} from read_csv({quote_path(path)}, header={'true' if header.is_there else 'false'}, "
                "auto_detect=false, "
                f"skip={header.lines_before}, "
                f"strict_mode=true, delim={quote_text(header.delimiter)}, quote='\"', escape='\"', "
                f"encoding='{encoding}', compression='{compression or 'none'}', columns={{{columns}}}))"
            )


LONGEST_LINE = 2_000_000
"""Bytes of the longest line: DuckDB's own limit, which it does not keep to at the end of a file."""

_TAIL = 4_096


def refuse_long_lines(path: Path, description: str) -> None:
    """Refuse a file with a line of more bytes than DuckDB reads: a long last line is lost without an error."""
    if _has_long_line(path, state_of(path)):
        raise SourceError(
            f"{description} cannot be read: some line is longer than two million bytes. Is a quote not closed? Otherwise shorten "
            "the cell, or leave the column out."
        )


@functools.lru_cache(maxsize=1_024)
def _has_long_line(path: Path, state: tuple[int, int] | None) -> bool:
    """Whether a line is too long: looked for once a file and state, of a file that is not compressed at the ends of windows only."""
    size = 0 if state is None else state[0]
    with _opened(path) as file:
        if compression_of(path) is not None:
            length = 0
            while piece := file.read(START_BYTES):
                first = re.search(rb"[\r\n]", piece)
                if length + (len(piece) if first is None else first.start()) > LONGEST_LINE:
                    return True
                length = length + len(piece) if first is None else len(piece) - 1 - _last_end(piece)
            return False
        begin = 0
        while size - begin > LONGEST_LINE:
            end = begin + LONGEST_LINE + 1
            for length in (_TAIL, LONGEST_LINE + 1):
                file.seek(end - length)
                piece = file.read(length)
                if (place := _last_end(piece)) >= 0:
                    break
            else:
                return True
            begin = end - length + place + 1
    return False


def _last_end(piece: bytes) -> int:
    """Place of the last end of a line, -1 where there is none."""
    place = piece.rfind(b"\n")
    return place if place >= 0 else piece.rfind(b"\r")


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


# --------------------------------------------------------------------------------------------------
# Rows that another program writes into this one.


class StandardInput(Source):
    """What comes by stdin: CSV or Parquet, kept in a file of this user's until it is no longer needed.

    Rows are read more than once, and a pipe gives them once. The file has no name where the system allows it, so that
    nothing of it is left when the process is killed.
    """

    kind = "stdin"
    reads = "- for CSV or Parquet from stdin"

    @classmethod
    def recognise(cls, asked: Asked) -> Source | None:
        """By the hyphen that stands for stdin elsewhere."""
        if asked.text != "-":
            return None
        folder = spill_folder(asked.temporary_folder)
        path = folder.path / "stdin"
        copy = open(path, "w+b", opener=owner_only)  # noqa: SIM115 - it is held for as long as the source is
        try:
            _take_name_away(path, copy)
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            copy.seek(0)
            is_parquet = copy.read(4) == b"PAR1"
        except BaseException:
            _give_back(folder, copy)
            raise
        source = (
            ParquetFile(path) if is_parquet else CsvFile(path, asked.encoding, asked.delimiter, asked.names)
        )
        weakref.finalize(source, _give_back, folder, copy)
        return source


def _take_name_away(path: Path, copy: IO[bytes]) -> None:
    """Let the system remove the rows with the process, whatever ends it, where it shows open files as files.

    A link to the open file takes the place of the name. Elsewhere the rows stay under it until the next run.
    """
    held = Path(f"/proc/{os.getpid()}/fd/{copy.fileno()}")
    if held.exists():
        path.unlink()
        path.symlink_to(held)


def _give_back(folder: HeldFolder, copy: IO[bytes]) -> None:
    copy.close()
    folder.close()
