"""What a schema is guessed from: how many values each column has, how they are written, and which, if they are few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sfumato.custody.infer.shapes import (
    MOST_ODD_TEXTS,
    Shape,
    are_odd,
    nearly,
    settled_by_the_file,
    shape_from,
)
from sfumato.custody.infer.summaries import is_present, is_value, odd_texts_query, stacked, summary_query
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.numbers import interval_of_cell, is_number
from sfumato.data.sources.arrow import ArrowData
from sfumato.data.sources.base import Source
from sfumato.data.sql_text import quote_name
from sfumato.errors import DataError

LARGEST_CATEGORY_LIST = 1_000
"""Columns with more different texts than this are not listed."""

LONGEST_PREFIX = 4
"""Characters up to which the beginnings of codes are counted."""

FEWEST_TOGETHER = 20
"""Columns with fewer different values are not looked at for people or households."""

MOST_ROWS_EACH = 20
"""Nor are columns whose values have more rows each than this, on average."""

COLUMNS_AT_ONCE = 25
"""Columns with many values that are asked for their distributions in one pass: each takes memory of its own."""

_ROOM_FOR_APPROXIMATION = 1.5
"""Approximate numbers of values are off by a few percent; lists are fetched up to this much above the limit."""

_QUANTILES = 400
"""Points of a column's distribution that are asked for where its values are too many to list."""


@dataclass(frozen=True)
class ColumnProfile:
    """Facts about one column. Private; its ``repr`` shows the name alone.

    Parameters
    ----------
    name
        Of the column.
    number_of_rows
        Of the table.
    shape
        How its values are written.
    number_of_values
        Different values; approximate where ``values`` is None.
    values
        All of them with their rows, numbers by size and texts by alphabet, or None where there are too many.
    sample
        Numbers and how many rows stand for each, increasing: all of them, or quantiles where they are too many.
    mean
        Of the numbers; None where the column is not one of numbers.
    is_unique
        No two rows have the same value.
    number_of_runs
        Stretches of neighbouring rows with the same value; None where nobody asked.
    prefixes
        For codes: length to the beginnings of that length that occur, as long as they are few.
    description
        What the source says that the column means, if it says so.
    """

    name: str
    number_of_rows: int
    shape: Shape
    number_of_values: int
    values: tuple[tuple[str, int], ...] | None
    sample: tuple[tuple[float, float], ...] = ()
    mean: float | None = None
    is_unique: bool = False
    number_of_runs: int | None = None
    prefixes: Mapping[int, tuple[str, ...]] | None = None
    description: str = ""

    def __repr__(self) -> str:
        return f"ColumnProfile({self.name})"

    @property
    def words(self) -> str:
        """Name and description: what may tell what the column is."""
        return f"{self.name} {self.description}"

    @property
    def number_missing(self) -> int:
        """Rows without a value, or with a text that stands for none."""
        return self.number_of_rows - self.shape.present

    @property
    def is_number(self) -> bool:
        """Every value reads as a finite number, and not as a code."""
        return self.shape.notation is not None

    @property
    def largest_group(self) -> float:
        """Rows of the commonest value; where values are not listed, as far as quantiles show it."""
        of_values = [rows for _, rows in self.values or ()]
        return max([*of_values, *(rows for _, rows in self.sample)], default=0)

    @property
    def dates(self) -> tuple[tuple[str | None, datetime, datetime], ...]:
        """Formats that every value reads as a date in, each with the first and the last date."""
        return self.shape.dates


def profile_columns(source: Source, engine: DuckDBEngine) -> tuple[ColumnProfile, ...]:
    """Profiles of all columns, from a handful of passes over the rows.

    The first pass finds out roughly how many values each column has, the second lists the values of the columns that have
    few, with their rows. Then comes how values are written, for all columns at once, and at last what depends on that: quantiles,
    whether equal values stand together, beginnings of codes.

    Raises
    ------
    DataError
        When there are no rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> (town,) = profile_columns(ArrowData(pa.table({"town": ["x", "y", "?"]})), DuckDBEngine())
    >>> town, town.number_of_values, town.number_missing
    (ColumnProfile(town), 2, 1)
    """
    names = source.columns()
    rows, *approximate = _select(source, engine, ["count(*)", *(_about_how_many(name) for name in names)])
    if rows == 0:
        raise DataError("the data have no rows. There is nothing to learn from.", number_of_rows=0)
    limit = _ROOM_FOR_APPROXIMATION * LARGEST_CATEGORY_LIST
    is_few = dict(zip(names, [number <= limit for number in approximate], strict=True))
    few = [name for name in names if is_few[name]]
    values = _select(source, engine, [_every_value(name) for name in few]) if few else ()
    listed = {name: dict(found or {}) for name, found in zip(few, values, strict=True)}
    shapes = _shapes(source, engine, listed)
    many = {name: shapes[name] for name in names if not is_few[name]}
    few_rows_each = [
        name for name in listed if len(listed[name]) > max(FEWEST_TOGETHER, rows / MOST_ROWS_EACH)
    ]
    details: dict[str, Any] = {}
    runs: dict[str, int] = {}
    for some in _blocks([*many, *few_rows_each]):
        found, stretches = _details(source, engine, {name: many[name] for name in some if name in many}, some)
        details |= found
        runs |= stretches
    described = source.descriptions()
    return tuple(
        replace(
            _from_list(name, rows, shapes[name], listed[name], runs.get(name))
            if is_few[name]
            else _from_details(name, rows, shapes[name], details[name], runs[name]),
            description=described.get(name, ""),
        )
        for name in names
    )


def count_in_bins(
    source: Source, engine: DuckDBEngine, edges: Mapping[str, tuple[Shape, Sequence[float]]]
) -> dict[str, tuple[int, ...]]:
    """Rows in each bin of some columns."""
    alias = _unused("number", source.columns())
    counted: dict[str, tuple[int, ...]] = {}
    for names in _blocks(list(edges)):
        numbers, places = [], []
        for order, name in enumerate(names):
            shape, bins = edges[name]
            assert shape.notation is not None
            # Numbers first: within a condition the engine would read the cell anew for every edge.
            numbers.append(f"{shape.notation.number(name)} as {alias}{order}")
            places.append(f"histogram({interval_of_cell(name, f'{alias}{order}', bins)})")
        with engine.open(source) as (cursor, relation):
            row = cursor.execute(
                f"select {', '.join(places)} from (select *, {', '.join(numbers)} from {relation})"
            ).fetchone()
        for name, found in zip(names, row or (), strict=True):
            counted[name] = tuple((found or {}).get(place, 0) for place in range(len(edges[name][1]) - 1))
    return counted


def _blocks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The names, a few at a time."""
    for start in range(0, len(names), COLUMNS_AT_ONCE):
        yield names[start : start + COLUMNS_AT_ONCE]


def _unused(alias: str, names: Iterable[str]) -> str:
    """A beginning for names of our own that no column's name begins with."""
    while any(name.lower().startswith(alias) for name in names):
        alias += "_"
    return alias


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
    """SQL: each different value with its number of rows."""
    return f"histogram({_text(name)})"


@dataclass(frozen=True)
class _Cells:
    """Cells of columns that can be asked something together: lists of values, or the rows of the source."""

    source: Source
    engine: DuckDBEngine
    listed: Mapping[str, Mapping[str, int]]

    def ask(self, question: Callable[[str], str], names: Iterable[str]) -> dict[str, list[tuple[Any, ...]]]:
        """What a query over stacked cells finds of each column, the column's name left out."""
        import pyarrow as pa

        chosen = list(names)
        entries = [(name, text, rows) for name in chosen for text, rows in self.listed.get(name, {}).items()]
        many = [name for name in chosen if name not in self.listed]
        found: list[tuple[Any, ...]] = []
        if entries:
            columns, texts, rows = zip(*entries, strict=True)
            table = pa.table({"column": columns, "text": texts, "rows": pa.array(rows, pa.int64())})
            found += self._rows(ArrowData(table), question)
        if many:
            found += self._rows(self.source, lambda relation: question(stacked(relation, many)))
        by_column: dict[str, list[tuple[Any, ...]]] = {}
        for name, *rest in found:
            by_column.setdefault(name, []).append(tuple(rest))
        return by_column

    def _rows(self, source: Source, question: Callable[[str], str]) -> list[tuple[Any, ...]]:
        with self.engine.open(source) as (cursor, relation):
            return cursor.execute(question(relation)).fetchall()


def _shapes(
    source: Source, engine: DuckDBEngine, listed: Mapping[str, Mapping[str, int]]
) -> dict[str, Shape]:
    """How every column is written: those whose values are listed by their lists, the others by their rows."""
    names = source.columns()
    cells = _Cells(source, engine, listed)
    summaries = {name: rows[0][0] for name, rows in cells.ask(summary_query, names).items()}
    readings = {name: reading for name, found in summaries.items() if (reading := nearly(found))}
    texts = cells.ask(lambda rows: odd_texts_query(rows, readings, MOST_ODD_TEXTS), readings)
    odd = {name: [text for (text,) in found] for name, found in texts.items()}
    odd = {name: found for name, found in odd.items() if are_odd(found)}
    again = cells.ask(lambda rows: summary_query(rows, odd), odd)
    summaries |= {name: rows[0][0] for name, rows in again.items()}
    numbers = _number_columns(source, engine)
    shapes = {
        name: shape_from(name, summaries.get(name), is_typed=name in numbers, has_odd_texts=name in odd)
        for name in names
    }
    return settled_by_the_file(shapes)


def _number_columns(source: Source, engine: DuckDBEngine) -> frozenset[str]:
    """Columns that are numbers to the source itself, and not texts that look like some."""
    names = source.columns()
    with engine.open(source) as (cursor, relation):
        tests = ", ".join(f"bool_and({is_number(name)})" for name in names)
        row = cursor.execute(f"select {tests} from (select * from {relation} limit 1)").fetchone()
    return frozenset(name for name, is_one in zip(names, row or (), strict=True) if is_one)


def _from_list(
    name: str, rows: int, shape: Shape, values: Mapping[str, int], runs: int | None
) -> ColumnProfile:
    present = {text: count for text, count in values.items() if is_value(text, shape.missing_texts)}
    if shape.notation is not None:
        ordered = sorted((shape.notation.read(text), text) for text in present)
        weighed: dict[float, int] = {}
        for number, text in ordered:
            weighed[number] = weighed.get(number, 0) + present[text]
        sample = tuple((number, float(count)) for number, count in weighed.items())
        mean = sum(number * count for number, count in sample) / shape.present
    else:
        ordered, sample, mean = sorted((0.0, text) for text in present), (), None
    return ColumnProfile(
        name=name,
        number_of_rows=rows,
        shape=shape,
        number_of_values=len(present),
        values=tuple((text, present[text]) for _, text in ordered),
        sample=sample,
        mean=mean,
        is_unique=all(count == 1 for count in present.values()),
        number_of_runs=runs,
        prefixes=_prefixes(present) if shape.width is not None else None,
    )


def _prefixes(texts: Mapping[str, int]) -> dict[int, tuple[str, ...]]:
    return {
        length: tuple(sorted({text[:length] for text in texts}))
        for length in range(1, min(LONGEST_PREFIX, max(map(len, texts), default=1) - 1) + 1)
    }


def _details(
    source: Source, engine: DuckDBEngine, many: Mapping[str, Shape], compared: Sequence[str]
) -> tuple[dict[str, Any], dict[str, int]]:
    """What is asked of the columns that have many values, and the runs of equal values in the columns compared."""
    # Neighbours are compared in the order of the file, which a window without an order keeps.
    alias = _unused("before", source.columns())
    before = ", ".join(f"lag({_text(name)}) over () as {alias}{place}" for place, name in enumerate(compared))
    changed = [
        f"count(*) filter ({_text(name)} is distinct from {alias}{place})"
        for place, name in enumerate(compared)
    ]
    expressions = [*(_detail(name, shape) for name, shape in many.items()), *changed]
    with engine.open(source) as (cursor, relation):
        row = cursor.execute(
            f"select {', '.join(expressions)} from (select *, {before} from {relation})"
        ).fetchone()
    assert row is not None
    return dict(zip(many, row, strict=False)), dict(zip(compared, row[len(many) :], strict=True))


def _detail(name: str, shape: Shape) -> str:
    """SQL: different values, and what depends on how the column is written."""
    present = is_present(name, shape.missing_texts)
    parts = [f"'different': count(distinct {_text(name)}) filter ({present})"]
    if shape.notation is not None:
        number = shape.notation.number(name)
        points = ", ".join(repr(place / _QUANTILES) for place in range(_QUANTILES + 1))
        parts += [
            f"'quantiles': approx_quantile({number}, [{points}]) filter ({present})",
            f"'low': min({number}) filter ({present})",
            f"'high': max({number}) filter ({present})",
            f"'mean': avg({number}) filter ({present})",
        ]
    if shape.width is not None:
        parts += [
            f"'prefix{length}': list(distinct left({_text(name)}, {length})) filter ({present})"
            for length in range(1, min(LONGEST_PREFIX, shape.width - 1) + 1)
        ]
    return f"{{{', '.join(parts)}}}"


def _from_details(name: str, rows: int, shape: Shape, detail: Mapping[str, Any], runs: int) -> ColumnProfile:
    different = int(detail["different"])
    sample: tuple[tuple[float, float], ...] = ()
    if shape.notation is not None:
        # Quantiles are approximate; both ends are not.
        inner = [each for each in detail["quantiles"] if detail["low"] < each < detail["high"]]
        points = [detail["low"], *inner, detail["high"]]
        weighed: dict[float, float] = {}
        for point in sorted(points):
            weighed[float(point)] = weighed.get(float(point), 0.0) + shape.present / len(points)
        sample = tuple(weighed.items())
    prefixes = {
        length: tuple(sorted(detail[f"prefix{length}"] or ()))
        for length in range(1, LONGEST_PREFIX + 1)
        if f"prefix{length}" in detail
    }
    return ColumnProfile(
        name=name,
        number_of_rows=rows,
        shape=shape,
        number_of_values=different,
        values=None,
        sample=sample,
        mean=None if shape.notation is None else float(detail["mean"]),
        is_unique=different == shape.present,
        number_of_runs=runs,
        prefixes=prefixes or None,
    )
