"""What every source shares; sources made of other sources."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from sfumato.data.coding import category_code, quote_text
from sfumato.data.duckdb_connection import CAREFUL
from sfumato.errors import ReleaseDamagedError, SourceError, nearest
from sfumato.schema import Attribute

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# What every source shares: how it is asked for, what it gives, and how its file is looked at.


COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""Endings that stand after that of the format, and what the engine calls them."""

_numbers = itertools.count()


@dataclass(frozen=True)
class Asked:
    """What somebody wants read, before it is known what kind of thing it is.

    Parameters
    ----------
    data
        A path, an address, or an object in memory.
    table
        Table of a database, sheet of a workbook.
    query
        SQL that gives the rows: the database's own, or DuckDB's over the rows, which it calls ``data``.
    encoding
        Of a text file, in Python's names.
    delimiter
        What stands between the cells of a text file.
    names
        Of the columns of a text file that has no header line.
    temporary_folder
        Where rows that come only once are kept; the system's place unless said otherwise.
    """

    data: Any
    table: str | None = None
    query: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    names: tuple[str, ...] | None = None
    temporary_folder: Path | None = None

    @property
    def text(self) -> str:
        """The path or the address; empty for an object in memory."""
        return str(self.data) if isinstance(self.data, str | Path) else ""

    @property
    def path(self) -> Path | None:
        """The file, or None where an address or an object is meant."""
        # One letter before the colon is a drive, two colons name a table of a file.
        is_address = re.match(r"[a-z]{2,}:(?!:)", self.text) and not Path(self.text).exists()
        return Path(self.text) if self.text and not is_address else None

    @property
    def suffix(self) -> str:
        """Ending of the file's name that says its format, in small letters; that of a compression is left out."""
        if self.path is None:
            return ""
        endings = [each.lower() for each in self.path.suffixes[-2:]]
        return endings[-2] if len(endings) > 1 and endings[-1] in COMPRESSIONS else "".join(endings[-1:])

    @property
    def options(self) -> tuple[str, ...]:
        """Names of what was said of the data."""
        return tuple(
            each.name
            for each in fields(self)
            if each.name not in ("data", "temporary_folder") and getattr(self, each.name) is not None
        )


class Source(ABC):
    """Somewhere rows can be read from, more than once.

    A member of the family sets ``kind``. It never puts a cell's text into a message: the texts of
    DuckDB's, pyarrow's and the drivers' own errors quote the offending line, so they are replaced, not
    passed on.
    """

    kind: ClassVar[str]
    """Public name."""
    reads: ClassVar[str]
    """What it recognises, in a few words for help and messages: endings of names, addresses."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Fields of :class:`Asked` that mean something to it."""
    cure: ClassVar[str] = (
        "it is damaged, truncated, or not of the format its name says. Get it again from where it came"
    )
    """What to say when reading breaks off for a reason of its own."""

    @classmethod
    @abstractmethod
    def recognise(cls, asked: Asked) -> Source | None:
        """The source over what was asked for, or None where that is of another kind."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What the source is, for messages: a file's name, a table's name."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that its rows stand in, where they stand in files."""
        return ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences about what a reader might not expect; without values of cells."""
        return ()

    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Column names, in order."""

    @abstractmethod
    def relation(self, cursor: DuckDBPyConnection) -> AbstractContextManager[str]:
        """SQL that names the rows inside the cursor; checks afterwards that nothing changed meanwhile."""

    def code(self, attribute: Attribute) -> str:
        """SQL: the code of the category of a row's cell, NULL where it has none."""
        return category_code(attribute)

    def coded(self, attributes: Sequence[Attribute]) -> Sequence[Attribute]:
        """The attributes that cells are turned into codes of when these are asked for."""
        return attributes

    @property
    def is_taken(self) -> bool:
        """Whether rows were read already that every later pass gives again."""
        return False

    @property
    def cells(self) -> Source:
        """Where the cells stand as they were given: what does not fit is looked for there."""
        return self

    @property
    def is_drawn(self) -> bool:
        """Whether it gives rows of each unit that were drawn at random, and not all rows."""
        return False

    def descriptions(self) -> Mapping[str, str]:
        """What columns mean, where the source itself says so."""
        return {}

    def value_labels(self) -> Mapping[str, tuple[str, ...]]:
        """Texts that the source declares for a column's values, in the order of their codes; without those of missing codes."""
        return {}

    def stated_number_of_rows(self) -> int | None:
        """Rows as the source states them, or None where only a pass over the data would tell."""
        return None


def fresh_name(what: str) -> str:
    """A name in the engine that nothing else has: two sources may be read at once."""
    return f"{what}_{next(_numbers)}"


def quote_path(path: Path) -> str:
    """Quote a path for a DuckDB reader, which would take ``data[1].csv`` for a pattern and read ``data1.csv``."""
    return quote_text("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))


MOST_COLUMNS = 2_000
"""Columns of a source. From 5,000 on DuckDB exceeds its memory, 1 GB by default, or ends by a segmentation fault."""


def told_apart(names: Iterable[str], description: str) -> tuple[str, ...]:
    """Names as they are; refused when two are the same to DuckDB, or when there are too many.

    Where a file has no header its names are cells, so that places are told instead.
    """
    listed = tuple(names)
    if len(listed) > MOST_COLUMNS:
        raise SourceError(
            f"{description} has {len(listed):,} columns, and at most {MOST_COLUMNS:,} are read. Write the columns that are "
            "needed to a file of their own."
        )
    seen: dict[str, int] = {}
    for place, name in enumerate(listed, start=1):
        if name.lower() in seen:
            raise SourceError(
                f"{description} has the same name, capitals apart, for its columns {seen[name.lower()]} and {place}; names "
                "must differ. Rename one; if a text file has no header line, give the names of all columns by --names."
            )
        seen[name.lower()] = place
    return listed


_VALUE = re.compile(r"[+-]?\d+([.,]\d+)*|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*")
"""A number or a date."""

Cells = Sequence[str | None]


@dataclass(frozen=True)
class Heading:
    """Names of the columns of a table whose first line is its header, None for a column that is not read.

    Parameters
    ----------
    names
        By place.
    lines
        Of the header: a second one is not a row.
    remarks
        What was changed, by places: in a file without a header line, names are cells.
    """

    names: tuple[str | None, ...]
    lines: int = 1
    remarks: tuple[str, ...] = ()


def first_line_is(names: Cells, lines: Sequence[Cells]) -> Literal["header", "row", "unclear"]:
    """Whether the first line of a table names columns or is a row like those below it.

    Text above numbers is a name. A number above numbers is a value, and so is a text that the column has again.
    """
    header = row = 0
    for place, name in enumerate(names):
        below = {(line[place] or "").strip() for line in lines if place < len(line)} - {""}
        if not name or not below:
            continue
        if all(map(_VALUE.fullmatch, below)):
            header, row = (header, row + 1) if _VALUE.fullmatch(name.strip()) else (header + 1, row)
        else:
            row += name.strip() in below
    return "header" if header > 2 * row else "row" if row > 2 * header else "unclear"


def heading(description: str, names: Cells, lines: Sequence[Cells]) -> Heading:
    """The names in a header: a repeated one gets a number, an empty one its place, where the column holds something.

    The first column may have no name, as pandas writes row numbers, and is then not read.

    Raises
    ------
    SourceError
        When the first line is a title above the header, or a row.
    """
    told_apart(map(str, range(len(names))), description)
    unnamed = [place for place, name in enumerate(names) if place and not name]
    second = bool(unnamed) and _is_second_header(names, unnamed, lines)
    rows = lines[1:] if second else lines
    filled = [place for place in unnamed if any(line[place] for line in rows if place < len(line))]
    kind = first_line_is(names, rows)
    named = len(names) - len(unnamed)
    if filled and not second and (2 * named < len(names) or named == 1 or kind == "row"):
        raise SourceError(
            f"{description} has {len(names)} columns and names for {named} of them in its first line. "
            "Is that a title? Take the lines above the header out; or name every column that holds something."
        )
    if kind == "row":
        told_apart(filter(None, names), description)
    found = [f"unnamed_{place + 1}" if place in set(filled) else name for place, name in enumerate(names)]
    apart = _numbered(found)
    repeated = [place for place, name in enumerate(apart) if name != found[place]]
    remarks = [
        *(["the second line names columns too, and is not read as a row"] if second else []),
        *([f"{_columns(filled)} without a name, read as unnamed_ and the place"] if filled else []),
        *(
            [
                f"{_columns(repeated)} with the name of an earlier column, read with a number after it, such as _2"
            ]
            if repeated
            else []
        ),
        *(
            [
                f"{_columns(left)} without a name in the header, as pandas writes row numbers, {'is' if len(left) == 1 else 'are'} not read"
            ]
            if (left := [place for place, name in enumerate(apart) if not name])
            else []
        ),
    ]
    return Heading(tuple(apart), 2 if second else 1, tuple(f"{description}: {each}." for each in remarks))


def _is_second_header(names: Cells, unnamed: Sequence[int], lines: Sequence[Cells]) -> bool:
    """Whether the line below the header is one too, as survey tools write.

    It has text in all columns without a name, no number, and nothing in a named column that every row below has a value of.
    """
    if len(lines) < 2 or len(lines[0]) != len(names):
        return False
    line, *rows = lines
    lacking = [place for place, name in enumerate(names) if name and not line[place]]
    return (
        all(line[place] for place in unnamed)
        and not any(_VALUE.fullmatch((cell or "").strip()) for cell in line)
        and any(all(len(row) > place and row[place] for row in rows) for place in lacking)
    )


def _numbered(names: Cells) -> list[str | None]:
    """Names, of which a repeated one has a number after it.

    Examples
    --------
    >>> _numbered(["age", "Age", None, "age_2", "age"])
    ['age', 'Age_3', None, 'age_2', 'age_4']
    """
    given = {name.lower() for name in names if name}
    taken: set[str] = set()
    found: list[str | None] = []
    for name in names:
        new, number = name, 1
        while new and (new.lower() in taken or (number > 1 and new.lower() in given)):
            number += 1
            new = f"{name}_{number}"
        taken.add((new or "").lower())
        found.append(new)
    return found


def _columns(places: Sequence[int]) -> str:
    listed = ", ".join(str(place + 1) for place in places[:12]) + (", ..." if len(places) > 12 else "")
    return f"column {listed}" if len(places) == 1 else f"columns {listed}"


def existing(path: Path) -> Path:
    """The path, refused unless it is a file that can be read again and again."""
    if not path.exists():
        near = nearest(
            path.name, [each.name for each in path.parent.glob("*")] if path.parent.is_dir() else []
        )
        raise SourceError(f"there is no file {str(path)!r}; {near}")
    if path.is_dir():
        raise SourceError(f"{str(path)!r} is a folder, not a data file. Name a file in it.")
    if not path.is_file():
        raise SourceError(
            f"{str(path)!r} is a pipe or a device, and rows are read more than once. Save them to a file first."
        )
    try:
        path.open("rb").close()
    except PermissionError:
        raise SourceError(
            f"{str(path)!r} may not be read by this user: permission denied. Ask its owner for the right to read it."
        ) from None
    return path


def state_of(path: Path) -> tuple[int, int] | None:
    """What differs once a file is another: its size and when it was written; None where it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Refuse a file that is not the same after reading as before."""
    before = state_of(path)
    yield
    if before is None or state_of(path) != before:
        raise SourceError(
            f"{path.name} changed while it was read. Nothing was written; try again when it is at rest."
        )


SECONDS_OF_A_TICK = 0.02
"""A file system's clock is no finer than this: a file that was written twice within it may look untouched the second time."""

TICKS_WAITED = 5
"""After so many a file that is written all the time is refused."""

DESCRIPTORS = Path("/proc/self/fd")
"""Where the system shows what this process holds open (Linux)."""


class CheckedFile:
    """A file of a release: its stated checksum, and the state of the file that was found to have it.

    The system sets the time of a file's last change (``ctime``), whoever writes or renames it: a file in the same
    state has the content that was hashed. One in another state, or on another machine, is hashed again.

    Parameters
    ----------
    sha256
        As the manifest states it.
    """

    def __init__(self, sha256: str) -> None:
        self.sha256 = sha256
        self.state: tuple[int, ...] | None = None

    def require(self, path: Path) -> None:
        """Refuse a file that has another checksum.

        Raises
        ------
        ReleaseDamagedError
            Naming the file.
        """
        try:
            if self.is_at(path):
                return
            with path.open("rb") as file:
                before = _settled(file.fileno())
                found = hashlib.file_digest(file, "sha256").hexdigest()
                is_same = before == _identity(os.fstat(file.fileno()))
        except FileNotFoundError:
            raise self.changed(path) from None
        if not is_same:
            raise self.changed(path)
        if found != self.sha256:
            raise ReleaseDamagedError(
                f"{path.name} is not the file that was published: its checksum does not fit. "
                "Get the release again from where it came."
            )
        self.state = before

    def is_at(self, path: Path) -> bool:
        """Whether a path still leads to the file that was hashed, unchanged."""
        return self.state is not None and _identity(path.stat()) == self.state

    def changed(self, path: Path) -> ReleaseDamagedError:
        """What is said of a file that was replaced meanwhile."""
        return ReleaseDamagedError(
            f"{path.name} changed while the release was read. Open the release again when it is at rest."
        )


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _settled(descriptor: int) -> tuple[int, ...] | None:
    """The state of an open file, once any later change would show in it; None of one that is written all the time."""
    for _ in range(TICKS_WAITED):
        found = os.fstat(descriptor)
        age = time.time() - found.st_ctime_ns / 1e9
        if not 0 <= age < SECONDS_OF_A_TICK:
            return _identity(found)
        time.sleep(SECONDS_OF_A_TICK - age)
    return None


@contextmanager
def held(paths: Sequence[Path], checks: Sequence[CheckedFile]) -> Iterator[Sequence[Path]]:
    """Paths to read files of one folder by: refused unless they are, before and after, the files that were checked.

    Without checks, refused only where they change meanwhile. The folder is held open, so that another one that takes its
    name and gives it back is not read.
    """
    with ExitStack() as stack:
        if not checks:
            for each in paths:
                stack.enter_context(unchanged(existing(each)))
            yield paths
            return
        folder = stack.enter_context(_held_folder(paths[0].parent))
        found = [folder / each.name for each in paths]
        for check, path in zip(checks, found, strict=True):
            check.require(path)
        yield found
        for check, path in zip(checks, found, strict=True):
            if not path.exists() or not check.is_at(path):
                raise check.changed(path)


@contextmanager
def _held_folder(folder: Path) -> Iterator[Path]:
    if not DESCRIPTORS.is_dir():  # pragma: no cover - not Linux: the files are checked by their names alone
        yield folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield DESCRIPTORS / str(descriptor)
    finally:
        os.close(descriptor)


# --------------------------------------------------------------------------------------------------
# Sources made of other sources: rows that a query chooses, files that belong together.


@dataclass(frozen=True)
class Queried(Source):
    """The rows that DuckDB's SQL makes of another source, which it calls ``data``."""

    inner: Source
    query: str

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """None: it is made over another source, never found by itself."""
        del asked
        return None

    @property
    def files(self) -> tuple[Path, ...]:
        """Those of the rows asked."""
        return self.inner.files

    @property
    def description(self) -> str:
        """That of the rows asked."""
        return f"the query on {self.inner.description}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Those on the rows asked."""
        return self.inner.remarks

    def columns(self) -> tuple[str, ...]:
        """Column names of the query's result."""
        return columns_of_query(self, self.inner.columns())

    def descriptions(self) -> Mapping[str, str]:
        """Those of the rows asked: a column of the same name mostly is the same."""
        return self.inner.descriptions()

    def value_labels(self) -> Mapping[str, tuple[str, ...]]:
        """Those of the rows asked."""
        return self.inner.value_labels()

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """The query as a table."""
        with self.inner.relation(cursor) as rows:
            yield over_data(rows, self.query)


def over_data(rows: str, query: str) -> str:
    """SQL: a query in which some rows are called ``data``."""
    # On lines of its own: a comment at its end must not swallow the bracket.
    return f"(with data as (select * from {rows}) select * from (\n{query}\n))"


def columns_of_query(source: Source, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Column names of a source whose rows a query gives; nothing is read for it but what the query needs."""
    import duckdb

    # The engine's own words could quote values, so only the kind of its refusal is passed on.
    try:
        with duckdb.connect(config=CAREFUL) as cursor, source.relation(cursor) as rows:
            return told_apart(cursor.sql(f"select * from {rows} limit 0").columns, source.description)
    except duckdb.ParserException:
        reason = "it is not SQL that DuckDB understands"
    except (duckdb.BinderException, duckdb.CatalogException):
        # How many and not which: without a header line their names are cells.
        columns = f", their {len(known)} columns as in the header line" if known else ""
        reason = (
            "it names a table or a column that is not there, or compares text with numbers, which text files "
            f"hold as text: cast(age as double) > 30. The rows are called data{columns}"
        )
    except duckdb.Error:
        reason = "DuckDB refused it"
    raise SourceError(f"{source.description} cannot be run: {reason}. Try it in DuckDB's own shell.")


@dataclass(frozen=True)
class Several(Source):
    """Files that one pattern names, one after the other, their columns matched by name."""

    pattern: str
    parts: tuple[Source, ...]

    @classmethod
    def recognise(cls, asked: Asked) -> Self | None:
        """None: it is made of other sources, never found by itself."""
        del asked
        return None

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return tuple(file for each in self.parts for file in each.files)

    @property
    def description(self) -> str:
        """The pattern and how many files it names."""
        return f"{self.pattern} ({len(self.parts)} files)"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Those on each file."""
        return tuple(remark for each in self.parts for remark in each.remarks)

    def columns(self) -> tuple[str, ...]:
        """Column names of the first file; refused unless every file has the same."""
        first = self.parts[0].columns()
        for each in self.parts[1:]:
            names = each.columns()
            for name in sorted({*names} ^ {*first}):
                has, lacks = (each, self.parts[0]) if name in names else (self.parts[0], each)
                # A name is not told: in a file without a header it is a cell.
                place = has.columns().index(name) + 1
                raise SourceError(
                    f"column {place} of {has.description} has a name that no column of {lacks.description} has. Files of "
                    "one pattern must have the same columns; rename it, or leave the file out."
                )
        return first

    def descriptions(self) -> Mapping[str, str]:
        """Those of the first file."""
        return self.parts[0].descriptions()

    def value_labels(self) -> Mapping[str, tuple[str, ...]]:
        """Those of the first file."""
        return self.parts[0].value_labels()

    @contextmanager
    def relation(self, cursor: DuckDBPyConnection) -> Iterator[str]:
        """All files, in the order of their names."""
        with ExitStack() as stack:
            rows = [stack.enter_context(each.relation(cursor)) for each in self.parts]
            yield f"({' union all by name '.join(f'select * from {each}' for each in rows)})"

    def stated_number_of_rows(self) -> int | None:
        """The sum, where every file states its own."""
        stated = [each.stated_number_of_rows() for each in self.parts]
        return None if None in stated else sum(each or 0 for each in stated)
