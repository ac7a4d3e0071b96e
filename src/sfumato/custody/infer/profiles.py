"""What a schema is guessed from: how many values each column has, how they are written, and which, if they are few."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sfumato.custody.infer.shapes import (
    Shape,
    is_present,
    is_value,
    settled_by_the_file,
    shape_expression,
    shape_from,
)
from sfumato.data.duckdb import DuckDBEngine
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

    def __repr__(self) -> str:
        return f"ColumnProfile({self.name})"

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
    """Profiles of all columns, from three passes over the rows.

    The first pass finds out roughly how many values each column has. The second lists the values of the
    columns that have few, with their rows, and summarizes the others. The third asks of those others what depends on
    how they are written: quantiles, whether equal values stand together, beginnings of codes.

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
    facts = dict(
        zip(
            names,
            _select(
                source,
                engine,
                [_every_value(name) if is_few[name] else shape_expression(name) for name in names],
            ),
            strict=True,
        )
    )
    listed = {name: dict(facts[name] or {}) for name in names if is_few[name]}
    summaries = {
        **_shapes_of_lists(listed, engine),
        **{name: facts[name] for name in names if not is_few[name]},
    }
    shapes = settled_by_the_file({name: shape_from(name, summaries.get(name)) for name in names})
    many = {name: shapes[name] for name in names if not is_few[name]}
    few_rows_each = [
        name for name in listed if len(listed[name]) > max(FEWEST_TOGETHER, rows / MOST_ROWS_EACH)
    ]
    details, runs = _details(source, engine, many, [*many, *few_rows_each])
    return tuple(
        _from_list(name, rows, shapes[name], listed[name], runs.get(name))
        if is_few[name]
        else _from_details(name, rows, shapes[name], details[name], runs[name])
        for name in names
    )


def count_in_bins(
    source: Source, engine: DuckDBEngine, edges: Mapping[str, tuple[Shape, Sequence[float]]]
) -> dict[str, tuple[int, ...]]:
    """Rows in each bin of some columns, in one pass."""
    expressions, names = [], []
    for name, (shape, bins) in edges.items():
        assert shape.notation is not None
        number = shape.notation.number(name)
        for low, high in itertools.pairwise(bins):
            expressions.append(
                f"count(*) filter ({number} >= {low!r}::double and {number} < {high!r}::double)"
            )
            names.append(name)
    counted: dict[str, list[int]] = {name: [] for name in edges}
    if expressions:
        for name, count in zip(names, _select(source, engine, expressions), strict=True):
            counted[name].append(count)
    return {name: tuple(counts) for name, counts in counted.items()}


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


def _shapes_of_lists(
    listed: Mapping[str, Mapping[str, int]], engine: DuckDBEngine
) -> dict[str, dict[str, Any]]:
    """Summaries of the columns whose values are listed, by the same expressions as of the others."""
    import pyarrow as pa

    entries = [(name, text, rows) for name, values in listed.items() for text, rows in values.items()]
    if not entries:
        return {}
    columns, texts, rows = zip(*entries, strict=True)
    table = pa.table({"column": columns, "text": texts, "rows": pa.array(rows, pa.int64())})
    with engine.open(ArrowData(table)) as (cursor, relation):
        expression = shape_expression("text", weight='"rows"')
        found = cursor.execute(f'select "column", {expression} from {relation} group by 1').fetchall()
    return dict(found)


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
    if not compared:
        return {}, {}
    # Neighbours are compared in the order of the file, which a window without an order keeps.
    before = ", ".join(f"lag({_text(name)}) over () as before{place}" for place, name in enumerate(compared))
    changed = [
        f"count(*) filter ({_text(name)} is distinct from before{place})"
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
