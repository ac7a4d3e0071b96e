"""Sources made of other sources: rows that a query chooses, files that belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sfumato.data.sources.base import Asked, Source, told_apart
from sfumato.errors import SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
        with duckdb.connect() as cursor, source.relation(cursor) as rows:
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
