"""What a schema is guessed from: how many values each column has, and which, if they are few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.sources.base import Source
from sfumato.data.sql_text import quote_name, quote_text
from sfumato.errors import DataError
from sfumato.values.schema import MISSING_LABEL

MISSING_TEXTS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "Null", "NULL", MISSING_LABEL)
"""Texts that stand for 'no value' in most files that hold them, spaces around them aside."""

LARGEST_CATEGORY_LIST = 1_000
"""Columns with more different texts than this are not listed."""

_ROOM_FOR_APPROXIMATION = 1.5
"""Approximate numbers of values are off by a few percent; lists are fetched up to this much above the limit."""


@dataclass(frozen=True)
class ColumnProfile:
    """Facts about one column. Private; its ``repr`` shows the name alone.

    Parameters
    ----------
    name
        Of the column.
    number_of_rows
        Of the table.
    number_missing
        Rows without a value, or with a text that stands for none.
    missing_texts
        The texts that stood for none, as they are written; the empty text is not listed.
    number_of_values
        Different values; approximate where ``values`` is None.
    values
        All of them, numbers by size and texts by alphabet, or None where there are too many.
    is_number
        Every value reads as a finite number.
    low, high
        Smallest and largest number; None where the column is not one of numbers.
    """

    name: str
    number_of_rows: int
    number_missing: int
    missing_texts: tuple[str, ...]
    number_of_values: int
    values: tuple[str, ...] | None
    is_number: bool
    low: float | None
    high: float | None

    def __repr__(self) -> str:
        return f"ColumnProfile({self.name})"


def profile_columns(source: Source, engine: DuckDBEngine) -> tuple[ColumnProfile, ...]:
    """Profiles of all columns, from two passes over the rows.

    The first pass finds out roughly how many values each column has. The second counts each value of
    the columns that have few, and only summarizes the others.

    Raises
    ------
    DataError
        When there are no rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato.data.sources.arrow import ArrowData
    >>> (town,) = profile_columns(ArrowData(pa.table({"town": ["x", "y", "?"]})), DuckDBEngine())
    >>> town, town.number_of_values, town.number_missing
    (ColumnProfile(town), 2, 1)
    """
    names = source.columns()
    rows, *approximate = _select(source, engine, ["count(*)", *(_about_how_many(name) for name in names)])
    if rows == 0:
        raise DataError("the data have no rows. There is nothing to learn from.", number_of_rows=0)
    limit = _ROOM_FOR_APPROXIMATION * LARGEST_CATEGORY_LIST
    is_few = [number <= limit for number in approximate]
    facts = _select(
        source,
        engine,
        [_every_value(name) if few else _summary(name) for name, few in zip(names, is_few, strict=True)],
    )
    return tuple(
        _from_values(name, rows, fact) if few else _from_summary(name, rows, number, fact)
        for name, few, number, fact in zip(names, is_few, approximate, facts, strict=True)
    )


def _select(source: Source, engine: DuckDBEngine, expressions: Sequence[str]) -> tuple[Any, ...]:
    with engine.open(source) as (cursor, relation):
        row = cursor.execute(f"select {', '.join(expressions)} from {relation}").fetchone()
    assert row is not None
    return row


def _text(name: str) -> str:
    return f"cast({quote_name(name)} as varchar)"


def _about_how_many(name: str) -> str:
    return f"approx_count_distinct({_text(name)})"


def _every_value(name: str) -> str:
    """SQL: for each different value its text, number of rows, and what it is as a number."""
    entries = f"map_entries(histogram({_text(name)}))"
    return (
        f"list_transform({entries}, lambda each: "
        "{'text': each.key, 'rows': each.value, 'number': try_cast(each.key as double)})"
    )


def _from_values(name: str, rows: int, values: list[dict[str, Any]] | None) -> ColumnProfile:
    # A column without any value has no list either.
    present = [each for each in values or () if each["text"].strip(" ") not in MISSING_TEXTS]
    missing_texts = {each["text"] for each in values or ()} - {each["text"] for each in present} - {""}
    is_number = bool(present) and all(
        each["number"] is not None and math.isfinite(each["number"]) for each in present
    )
    present.sort(key=lambda each: (each["number"] if is_number else 0, each["text"]))
    return ColumnProfile(
        name=name,
        number_of_rows=rows,
        number_missing=rows - sum(each["rows"] for each in present),
        missing_texts=tuple(sorted(missing_texts)),
        number_of_values=len(present),
        values=tuple(each["text"] for each in present),
        is_number=is_number,
        low=present[0]["number"] if is_number else None,
        high=present[-1]["number"] if is_number else None,
    )


def _summary(name: str) -> str:
    """SQL: rows with a value, texts that stand for none, and the rows and the range of numbers."""
    text = _text(name)
    tokens = ", ".join(quote_text(token) for token in MISSING_TEXTS)
    present = f"({text} is not null and trim({text}) not in ({tokens}))"
    number = f"try_cast({text} as double)"
    is_number = f"{present} and isfinite({number})"
    return (
        f"{{'present': count(*) filter ({present}), "
        f"'missing_texts': list(distinct {text}) filter (not {present} and {text} != ''), "
        f"'numbers': count(*) filter ({is_number}), "
        f"'low': min({number}) filter ({is_number}), 'high': max({number}) filter ({is_number})}}"
    )


def _from_summary(name: str, rows: int, number_of_values: int, summary: dict[str, Any]) -> ColumnProfile:
    is_number = summary["numbers"] == summary["present"] > 0
    return ColumnProfile(
        name=name,
        number_of_rows=rows,
        number_missing=rows - summary["present"],
        missing_texts=tuple(sorted(summary["missing_texts"] or ())),
        number_of_values=number_of_values,
        values=None,
        is_number=is_number,
        low=summary["low"] if is_number else None,
        high=summary["high"] if is_number else None,
    )
