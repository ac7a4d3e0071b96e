"""Profiles of columns, what kind of column each is, and bins with round edges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.arrays import Floats
from sfumato.custody.schemas.value_formats import (
    EXPANSION_WORDS,
    HOUSEHOLD_WORDS,
    IDENTIFIER_WORDS,
    MOST_ODD_TEXTS,
    WEIGHT_WORDS,
    Shape,
    are_odd,
    is_present,
    is_value,
    nearly,
    odd_texts_query,
    sensitive_word,
    settled_by_the_file,
    shape_from,
    stacked,
    suggests,
    summary_query,
)
from sfumato.data.coding import interval_of_cell, is_number, quote_name
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.sources.base import Source
from sfumato.data.sources.columnar import ArrowData
from sfumato.errors import DataError

# --------------------------------------------------------------------------------------------------
# Round numbers around a range, so that bins hide where exactly the data begin and end.


WANTED_ROUND_BINS = 9
"""How many bins are aimed at; steps of 1, 2 or 5 times a power of ten come near it."""

MANTISSAS = (1, 2, 5)

FINEST = Fraction(1, 10**12)
"""Shortest range that is divided, in relation to its numbers: labels of bins show fifteen digits."""


def round_edges(low: float, high: float) -> tuple[float, ...]:
    """Edges of equally wide bins that cover a range, at multiples of 1, 2 or 5 times a power of ten.

    The first edge is at most ``low`` and the last one above ``high``, since bins are half-open.

    Parameters
    ----------
    low, high
        The range; high must be above low.

    Examples
    --------
    >>> round_edges(17, 90)
    (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
    >>> round_edges(0.031, 0.42)
    (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
    """
    if not low < high:
        raise ValueError("the range must have a length.")
    # Fractions: a step such as 0.05 is no float, and its multiples must still come out as written.
    lowest, highest = Fraction(low), Fraction(high)
    step = _round_step(max(highest - lowest, FINEST * max(abs(lowest), abs(highest))))
    first, last = math.floor(lowest / step), math.floor(highest / step) + 1
    edges = [float(place * step) for place in range(first, last + 1)]
    # The last edge may have been rounded down onto the largest value; and one bin alone says nothing.
    while edges[-1] <= high or len(edges) < 3:
        last += 1
        edges.append(float(last * step))
    return tuple(edges)


def _round_step(span: Fraction) -> Fraction:
    """The step whose number of bins is nearest to the wanted one, as a ratio."""
    exponent = math.floor(math.log10(span / WANTED_ROUND_BINS))
    candidates = [
        mantissa * Fraction(10) ** power for power in (exponent, exponent + 1) for mantissa in MANTISSAS
    ]
    return min(candidates, key=lambda step: abs(math.log(span / step / WANTED_ROUND_BINS)))


# --------------------------------------------------------------------------------------------------
# Bins for numbers that are not spread evenly: round edges, no empty bin, no bin with most of the rows.


MOST_OF_THE_ROWS = 0.4
"""A bin with a larger share is cut, unless one value alone has that share."""

WANTED_QUANTILE_BINS = 8
"""Bins that quantiles are taken for."""

MOST_DIGITS = 4
"""Digits that edges may have before a crowded bin is accepted."""


def spread_edges(values: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """Round edges that give every bin its share of the rows.

    Equally wide bins where they do; else edges near the quantiles, with as few digits as keep bins from
    being crowded. A value that many rows have gets a bin of its own.

    Parameters
    ----------
    values
        Increasing and finite: at least two.
    weights
        How many rows have each.

    Examples
    --------
    >>> spread_edges(range(17, 91), [1] * 74)
    (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
    >>> incomes = [round(900 * 1.02**step) for step in range(300)]
    >>> spread_edges(incomes, [1] * 300)
    (900.0, 2000.0, 4000.0, 8000.0, 20000.0, 40000.0, 80000.0, 200000.0, 400000.0)
    """
    numbers, rows = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    even = round_edges(float(numbers[0]), float(numbers[-1]))
    if not _is_crowded(even, numbers, rows) and (_shares(even, numbers, rows) > 0).all():
        return even
    for digits in range(1, MOST_DIGITS + 1):
        edges = _merged(_near_quantiles(numbers, rows, digits), numbers, rows)
        if len(edges) > 2 and not _is_crowded(edges, numbers, rows):
            break
    return edges if len(edges) > 2 else even


def without_empty_bins(edges: Sequence[float], counts: Sequence[int]) -> tuple[float, ...]:
    """Edges without those between an empty bin and the smaller of its neighbours.

    Examples
    --------
    >>> without_empty_bins((0, 1, 2, 3), (5, 0, 2))
    (0, 1, 3)
    """
    kept, rows = list(edges), list(counts)
    while len(rows) > 2 and 0 in rows:
        place = rows.index(0)
        neighbours = [each for each in (place - 1, place + 1) if 0 <= each < len(rows)]
        other = min(neighbours, key=lambda each: rows[each])
        low = min(place, other)
        rows[low : low + 2] = [rows[place] + rows[other]]
        del kept[low + 1]
    return tuple(kept)


def _shares(edges: Sequence[float], numbers: Floats, rows: Floats) -> Floats:
    counts = np.histogram(numbers, bins=[*edges[:-1], math.inf], weights=rows)[0]
    return np.asarray(counts / rows.sum())


def _is_crowded(edges: Sequence[float], numbers: Floats, rows: Floats) -> bool:
    """Whether a bin holds most of the rows although they are of several values."""
    for share, (low, high) in zip(_shares(edges, numbers, rows), itertools.pairwise(edges), strict=True):
        inside = (numbers >= low) & (numbers < high)
        if share > MOST_OF_THE_ROWS and inside.sum() > 1:
            return True
    return False


def _merged(edges: Sequence[float], numbers: Floats, rows: Floats) -> tuple[float, ...]:
    counts = np.histogram(numbers, bins=[*edges[:-1], math.inf], weights=rows)[0]
    return without_empty_bins(edges, [math.ceil(count) for count in counts])


def _near_quantiles(numbers: Floats, rows: Floats, digits: int) -> list[float]:
    """Increasing edges: rounded quantiles, rounded ends, and both sides of every value that many rows have."""
    is_heavy = rows / rows.sum() > MOST_OF_THE_ROWS / 2
    # Quantiles of the others: a value that stands alone would else take most of them.
    others = np.where(is_heavy & ~is_heavy.all(), 0.0, rows)
    reached = np.cumsum(others) / others.sum()
    places = np.searchsorted(reached, np.arange(1, WANTED_QUANTILE_BINS) / WANTED_QUANTILE_BINS)
    low, high = float(numbers[0]), float(numbers[-1])
    wanted = {_rounded(float(numbers[place]), digits) for place in places}
    for place in np.flatnonzero(is_heavy):
        alone = float(numbers[place])
        wanted.add(alone)
        if place + 1 < numbers.size:
            wanted.add(_between(alone, float(numbers[place + 1])))
    # Bins are half-open: the last edge must be above the largest value.
    above = math.nextafter(high, math.inf)
    last = max(_rounded(above, digits, up=True), above)
    first = min(_rounded(low, digits, down=True), low)
    return sorted({first, *(edge for edge in wanted if first < edge < last), last})


def _rounded(number: float, digits: int, *, up: bool = False, down: bool = False) -> float:
    """A number of so many significant digits near another one."""
    if number == 0:
        return 0.0
    step = digits - 1 - math.floor(math.log10(abs(number)))
    scaled = number * 10.0**step if step <= 300 else number
    chosen = math.ceil(scaled) if up else math.floor(scaled) if down else round(scaled)
    # Through text, so that 3 / 10 comes out as 0.3.
    return float(f"{chosen}e{-step}") if step <= 300 else number


def _between(low: float, high: float) -> float:
    """The number of fewest digits above one number and not above another."""
    for digits in range(1, 17):
        rounded = _rounded(high, digits, down=True)
        if low < rounded <= high:
            return rounded
    return high


# --------------------------------------------------------------------------------------------------
# What a schema is guessed from: how many values each column has, how they are written, and which, if they are
# few.


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


# --------------------------------------------------------------------------------------------------
# What a column is, by the shape of its values first and by its name where the shape leaves it open.


MOST_LISTED_NUMBERS = 20
"""A column of numbers with more different values than this gets bins."""

MOST_LISTED_DATES = 12
"""A column of dates with more different values than this gets periods."""

HOURS_OF_A_DAY = 24

MOST_LISTED_CODES = 50
"""A column of codes of one width with more different values than this is cut to their beginnings."""

MOST_PREFIXES = 60
"""Beginnings of codes that make a list a person can check."""

LARGEST_HOUSEHOLD = 30
"""Rows of a value before it is no household and no person, in tables where that is a visible share."""

FEWEST_ROWS_TO_CALL_UNIQUE = 20
"""In shorter tables, values that hardly repeat say nothing."""


class Kind(Enum):
    """What a column was taken for."""

    CONSTANT = "left out"
    IDENTIFIER = "never read"
    TOGETHER = "rows together"
    WEIGHT = "weight"
    DATES = "dates"
    HOURS = "hours"
    PREFIX = "first characters"
    BINS = "bins"
    CATEGORIES = "categories"


def kind_of(profile: ColumnProfile) -> Kind:
    """What a column is: the first kind that its values, or else its name, speak for."""
    return next(kind for kind, speaks_for in _SIGNS if speaks_for(profile))


def _is_constant(profile: ColumnProfile) -> bool:
    return profile.number_of_values + (profile.number_missing > 0) < 2


def _has_a_persons_name(profile: ColumnProfile) -> bool:
    return suggests(profile.name, IDENTIFIER_WORDS)


def _are_dates(profile: ColumnProfile) -> bool:
    return bool(profile.dates) and profile.number_of_values > MOST_LISTED_DATES


def _are_times_of_day(profile: ColumnProfile) -> bool:
    return profile.shape.are_times_of_day and profile.number_of_values > HOURS_OF_A_DAY


def _are_many_numbers(profile: ColumnProfile) -> bool:
    return profile.is_number and profile.number_of_values > MOST_LISTED_NUMBERS


def has_long_decimals(profile: ColumnProfile) -> bool:
    """Whether numbers have more decimals than anybody measures."""
    return profile.shape.long_decimals >= 0.8


def is_weight(profile: ColumnProfile) -> bool:
    """Whether a column looks like survey weights: positive, with more decimals than anybody measures.

    By shape alone where the mean is 1, as of scaled weights, or where the same long decimals come again and again, as of
    weights by stratum, or in neighbouring rows, as of weights by household. What a scale shows is called weight too, but has few decimals.
    """
    if not profile.is_number or profile.number_of_values <= MOST_LISTED_NUMBERS:
        return False
    if suggests(profile.words, EXPANSION_WORDS):
        return True
    if not has_long_decimals(profile):
        return False
    if suggests(profile.words, WEIGHT_WORDS):
        return True
    assert profile.mean is not None
    is_scaled = abs(profile.mean - 1) < 0.02
    comes_again = 5 * profile.number_of_values <= profile.number_of_rows
    is_of_groups = 1.15 * profile.number_of_values < profile.shape.present and _stand_together(profile)
    return profile.sample[0][0] > 0 and (is_scaled or comes_again or is_of_groups)


def _stand_together(profile: ColumnProfile) -> bool:
    """Whether rows with the same value are neighbours in the file."""
    return profile.number_of_runs is not None and profile.number_of_runs <= 1.05 * profile.number_of_values


def rows_belong_together(profile: ColumnProfile) -> bool:
    """Whether a column looks like numbers of households or people: a few rows each, standing together in the file."""
    rows, different = profile.shape.present, profile.number_of_values
    if rows < FEWEST_ROWS_TO_CALL_UNIQUE or profile.is_unique or profile.dates:
        return False
    if profile.is_number and not profile.shape.is_whole:
        return False
    rows_each = rows / different
    if profile.largest_group > max(LARGEST_HOUSEHOLD, rows / 100):
        # A column that happens to be sorted has equal values together too, but some have many rows.
        return False
    if suggests(profile.words, HOUSEHOLD_WORDS) and 1.05 < rows_each < 50 and different > MOST_LISTED_NUMBERS:
        return True
    is_few = 1.15 < rows_each < MOST_ROWS_EACH
    return is_few and _stand_together(profile) and sensitive_word(profile.words) is None


def _is_code(profile: ColumnProfile) -> bool:
    if profile.shape.width is None or profile.is_unique or profile.number_of_values <= MOST_LISTED_CODES:
        return False
    return prefix_length(profile) is not None


def prefix_length(profile: ColumnProfile) -> int | None:
    """The beginning of codes that tells most among those of which there are not too many to check; the shortest such."""
    sizes = {length: len(found) for length, found in (profile.prefixes or {}).items()}
    lengths = [length for length, size in sizes.items() if 2 <= size <= MOST_PREFIXES]
    return max(lengths, key=lambda length: (sizes[length], -length), default=None)


def _is_identifier(profile: ColumnProfile) -> bool:
    rows, different = profile.shape.present, profile.number_of_values
    is_long = rows >= FEWEST_ROWS_TO_CALL_UNIQUE
    if profile.is_number:
        # Amounts hardly repeat either, and are not names of people: they get bins.
        return (
            is_long and profile.is_unique and profile.shape.is_whole and sensitive_word(profile.words) is None
        )
    return (is_long and 2 * different > rows) or different > LARGEST_CATEGORY_LIST


def date_bins(dates: Sequence[tuple[str | None, datetime, datetime]]) -> dict[str, Any]:
    """Periods that cover a column's dates: as short as gives a list that a person can check.

    Examples
    --------
    >>> date_bins([("%d.%m.%Y", datetime(2020, 3, 5), datetime(2021, 8, 1))])["by"]
    'month'
    >>> date_bins([(None, datetime(1931, 3, 5), datetime(2004, 8, 1))])["edges"][:2]
    ('1930-01-01', '1940-01-01')
    """
    written_as, first, last = dates[0]
    written = {} if written_as is None else {"format": written_as}
    days = (last - first).days
    for period, most_days in (
        ("day", 14),
        ("week", 182),
        ("month", 730),
        ("quarter", 2_922),
        ("year", 14_610),
    ):
        if days <= most_days:
            # From the first to the last day of calendar years, where periods are long: round, as edges of numbers are.
            low, high = first.date(), last.date()
            if period in ("month", "quarter", "year"):
                low, high = low.replace(month=1, day=1), high.replace(month=12, day=31)
            return {"by": period, "first": low.isoformat(), "last": high.isoformat(), **written}
    decades = range(first.year // 10 * 10, last.year // 10 * 10 + 11, 10)
    return {"edges": tuple(f"{year:04}-01-01" for year in decades), **written}


_SIGNS: tuple[tuple[Kind, Callable[[ColumnProfile], bool]], ...] = (
    (Kind.CONSTANT, _is_constant),
    (Kind.IDENTIFIER, _has_a_persons_name),
    (Kind.WEIGHT, is_weight),
    (Kind.TOGETHER, rows_belong_together),
    (Kind.DATES, _are_dates),
    (Kind.HOURS, _are_times_of_day),
    (Kind.PREFIX, _is_code),
    (Kind.IDENTIFIER, _is_identifier),
    (Kind.BINS, _are_many_numbers),
    (Kind.CATEGORIES, lambda _: True),
)
