"""The embedded engine: DuckDB reads, we get category codes.

Each column becomes an expression that gives the code of its category, or NULL where the value has
none. DuckDB evaluates it in parallel while it reads; only small unsigned integers cross into Python.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from sfumato.counts import CountTable, empty_counts
from sfumato.engines.protocol import CodedBatch, Condition
from sfumato.engines.sources import Source, quote_name, quote_text
from sfumato.errors import DataError, SfumatoError, SourceError, nearest
from sfumato.schema import MISSING_LABEL, Attribute

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS_PER_BATCH = 131_072


class DuckDBEngine:
    """Runs on this machine, out of core, with nothing to set up.

    Parameters
    ----------
    memory_limit
        What DuckDB may use before it spills to a temporary folder, in its own notation.
    """

    def __init__(self, *, memory_limit: str = "1GB") -> None:
        self.memory_limit = memory_limit

    def scan(self, source: Source, attributes: Sequence[Attribute]) -> Iterator[CodedBatch]:
        """All rows as codes, in batches."""
        _require_columns(source, attributes)
        expressions = ", ".join(f"{_code(each)} as {quote_name(each.name)}" for each in attributes)
        with self._open(source) as (cursor, relation):
            reader = cursor.sql(f"select {expressions} from {relation}").to_arrow_reader(ROWS_PER_BATCH)
            for batch in reader:
                if any(column.null_count for column in batch.columns):
                    break
                yield CodedBatch(
                    codes={
                        each.name: column.to_numpy(zero_copy_only=False).astype(each.code_type, copy=False)
                        for each, column in zip(attributes, batch.columns, strict=True)
                    },
                    number_of_rows=batch.num_rows,
                )
            else:
                return
        self._refuse(source, attributes)

    def count_by(
        self, source: Source, attributes: Sequence[Attribute], where: Sequence[Condition]
    ) -> CountTable:
        """Counts over the product of the attributes, among rows with the given codes."""
        conditioned = [attribute for attribute, _ in where]
        _require_columns(source, (*attributes, *conditioned))
        counts = empty_counts(attributes)
        keys = ", ".join(_code(each) for each in attributes)
        conditions = " and ".join(_has_code(attribute, codes) for attribute, codes in where)
        clauses = f"where {conditions}" if conditions else ""
        grouping = "group by all" if attributes else ""
        with self._open(source) as (cursor, relation):
            selected = f"select {keys + ', ' if keys else ''}count(*) from {relation} {clauses} {grouping}"
            result = cursor.sql(selected).to_arrow_reader(ROWS_PER_BATCH).read_all()
        *codes, totals = result.columns
        if any(column.null_count for column in codes):
            self._refuse(source, attributes)
        index = tuple(column.to_numpy() for column in codes)
        counts[index] = totals.to_numpy() if index else int(totals[0].as_py())
        return CountTable(tuple(attributes), counts)

    def number_of_rows(self, source: Source) -> int:
        """Rows of the source."""
        return int(self.count_by(source, (), ()).total)

    def _refuse(self, source: Source, attributes: Sequence[Attribute]) -> None:
        """Say which columns do not fit the schema, and in how many rows."""
        sums = ", ".join(
            f"count(*) filter ({_is_missing(each)}), count(*) filter ({_code(each)} is null)"
            for each in attributes
        )
        with self._open(source) as (cursor, relation):
            row = cursor.execute(f"select {sums} from {relation}").fetchone()
        assert row is not None
        problems = []
        total = 0
        first = None
        for each, missing, unfit in zip(attributes, row[::2], row[1::2], strict=True):
            if not unfit:
                continue
            first = first or each.name
            total += unfit
            refused = missing if each.missing == "error" else 0
            if refused:
                problems.append(
                    f"column {each.name!r} has no value in {_rows(refused)}; "
                    'the schema says missing = "error". Set missing = "category", or fill them in.'
                )
            if unfit > refused:
                allowed = "category list" if each.bins is None else "bins"
                problems.append(
                    f"column {each.name!r} has a value outside the schema's {allowed} in {_rows(unfit - refused)}. "
                    "Extend the schema, or correct the data."
                )
        if not problems:
            raise SourceError(
                f"{source.description} changed while it was read. Try again when it is at rest."
            )
        raise DataError(" ".join(problems), attribute=first, number_of_rows=total)

    @contextmanager
    def _open(self, source: Source) -> Iterator[tuple[DuckDBPyConnection, str]]:
        """A cursor with the source in it; every failure of reading becomes one sentence without values."""
        import duckdb

        with tempfile.TemporaryDirectory(prefix="sfumato-") as spill:
            settings: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": self.memory_limit,
                "temp_directory": spill,
                # Nothing may reach out to the network by itself.
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            }
            try:
                with duckdb.connect(config=settings) as cursor:
                    # DuckDB's own bar would print into the data result on stdout.
                    cursor.execute("set enable_progress_bar = false")
                    with source.relation(cursor) as relation:
                        yield cursor, relation
            except SfumatoError:
                raise
            except (duckdb.Error, OSError) as error:
                raise _unreadable(source, error) from None


def _unreadable(source: Source, error: Exception) -> SourceError:
    """A sentence for a failed read. The engine's own text quotes lines of the data, so none of it is used."""
    kind = str(error).lower()
    # Only these fixed words are looked for; no part of the text goes on.
    if "unicode" in kind or "utf-8" in kind or "utf8" in kind or "encoding" in kind:
        reason = "it holds bytes that are not UTF-8. Save it as UTF-8 and try again"
    elif "out of memory" in kind or "no space" in kind:
        reason = "memory or temporary disk space ran out. Free some and try again"
    elif "csv" in kind:
        reason = (
            "some line does not have the header's number of columns, or a quote is not closed. Mend the line"
        )
    else:
        reason = (
            "it is damaged, truncated, or not of the format its name says. Get it again from where it came"
        )
    return SourceError(f"{source.description} cannot be read: {reason}.")


def _require_columns(source: Source, attributes: Sequence[Attribute]) -> None:
    present = source.columns()
    absent = [each.name for each in attributes if each.name not in present]
    if absent:
        names = ", ".join(repr(name) for name in absent)
        raise DataError(
            f"{source.description} has no column {names}; {nearest(absent[0], present)}",
            attribute=absent[0],
        )


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _text(attribute: Attribute) -> str:
    return f"cast({quote_name(attribute.name)} as varchar)"


def _is_missing(attribute: Attribute) -> str:
    """SQL: the cell holds no value."""
    column = quote_name(attribute.name)
    tokens = ", ".join(quote_text(token) for token in ("", *attribute.missing_values))
    return f"({column} is null or {_text(attribute)} in ({tokens}))"


def _code(attribute: Attribute) -> str:
    """SQL: the code of the category, NULL where the value has none or is missing without leave."""
    if attribute.bins is None:
        text = _text(attribute)
        if attribute.missing == "category":
            text = f"case when {_is_missing(attribute)} then {quote_text(MISSING_LABEL)} else {text} end"
        elif attribute.missing_values:
            text = f"case when {_is_missing(attribute)} then null else {text} end"
        labels = ", ".join(quote_text(label) for label in attribute.labels)
        # try_cast: a plain cast would put the value into its error.
        return f"enum_code(try_cast({text} as enum({labels})))"
    number = f"try_cast({quote_name(attribute.name)} as double)"
    edges = [repr(edge) + "::double" for edge in attribute.bins]
    steps = " ".join(f"when {number} < {edge} then {code}" for code, edge in enumerate(edges[1:]))
    inside = f"case when {number} < {edges[0]} then null {steps} else null end"
    missing = "null" if attribute.missing_code is None else str(attribute.missing_code)
    return (
        f"cast(case when {_is_missing(attribute)} then {missing} else {inside} end as {_integer(attribute)})"
    )


def _integer(attribute: Attribute) -> str:
    return {1: "utinyint", 2: "usmallint", 4: "uinteger"}[np.dtype(attribute.code_type).itemsize]


def _has_code(attribute: Attribute, codes: tuple[int, ...]) -> str:
    """SQL: the row's category is one of the codes."""
    if not codes:
        return "false"
    return f"{_code(attribute)} in ({', '.join(str(code) for code in codes)})"
