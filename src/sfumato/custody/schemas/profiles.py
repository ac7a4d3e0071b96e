"""Columns of a table, read once and dictionary-encoded; bins with round edges, periods of dates, beginnings of codes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.arrays import Floats
from sfumato.custody.schemas.roles import EncodedColumn, name_words
from sfumato.custody.schemas.value_formats import Format, format_of, settled_by_the_file, time_in
from sfumato.data.coding import quote_name
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.sources.base import Source
from sfumato.errors import DataError

# --------------------------------------------------------------------------------------------------
# One pass over the rows: all of a table of common size, blocks spread over a larger one.


MOST_CELLS = 8_000_000
"""Cells that are kept of a table whatever its size; of a larger one, blocks of rows spread over it."""

BLOCKS = 64
"""At least so many blocks are kept of a table that is not kept whole."""

LARGEST_CATEGORY_LIST = 1_000
"""Columns with more different texts than this are not listed."""

COLUMNS_AT_ONCE = 100
"""Columns that are asked in one statement for what stands in rows that were not kept."""

LONGEST_TEXT = 1_000
"""Characters of a cell that are looked at; no category is longer."""


@dataclass(frozen=True, repr=False)
class ColumnProfile:
    """One column as it was read. Private; its ``repr`` shows the name alone."""

    column: EncodedColumn
    format: Format

    def __repr__(self) -> str:
        return f"ColumnProfile({self.column.name})"

    @property
    def name(self) -> str:
        """Of the column."""
        return self.column.name

    @property
    def number_missing(self) -> int:
        """Rows without a value, or with a text that stands for none."""
        return self.column.rows - self.column.present

    @property
    def texts(self) -> list[str]:
        """Its different values: numbers by size, texts by alphabet."""
        found = [str(each) for each in self.column.values]
        numbers = self.column.numbers
        if numbers is None or not self.format.notations:
            return sorted(found)
        return [
            found[place] for place in sorted(range(len(found)), key=lambda each: (numbers[each], found[each]))
        ]

    def edges(self) -> tuple[float, ...]:
        """Round edges for its numbers."""
        assert self.column.numbers is not None
        values, places = np.unique(self.column.numbers, return_inverse=True)
        return spread_edges(values.tolist(), np.bincount(places, weights=self.column.counts).tolist())


@dataclass(frozen=True, repr=False)
class TableProfile:
    """The columns of a table: the rows that were kept, and the same with values that stand elsewhere appended."""

    sampled: tuple[EncodedColumn, ...]
    columns: tuple[ColumnProfile, ...]
    number_of_rows: int


def profile_table(source: Source, engine: DuckDBEngine) -> TableProfile:
    """Read a table once and encode its columns.

    Raises
    ------
    DataError
        When there are no rows, or too many columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato.data.sources.columnar import ArrowData
    >>> (town,) = profile_table(ArrowData(pa.table({"town": ["x", "y", "?"]})), DuckDBEngine()).columns
    >>> town, town.texts, town.number_missing
    (ColumnProfile(town), ['x', 'y'], 1)
    """
    names = source.columns()
    described = source.descriptions()
    with engine.open(source) as (cursor, relation):
        types = dict(row[:2] for row in cursor.execute(f"describe select * from {relation}").fetchall())
        batches, rows = _batches(cursor, relation, names)
        if rows == 0:
            raise DataError("the data have no rows. There is nothing to learn from.", number_of_rows=0)
        encoded = {name: _encoded(batches, place) for place, name in enumerate(names)}
        kept = sum(each.num_rows for each in batches)
        del batches

        def profiled() -> tuple[ColumnProfile, ...]:
            formats = [
                format_of(
                    texts,
                    np.bincount(codes[codes >= 0], minlength=len(texts)),
                    frozenset((*name_words(name), *name_words(name, humps=False))),
                    cursor,
                    is_typed=types[name].startswith(_NUMBER_TYPES),
                )
                for name, (texts, codes) in encoded.items()
            ]
            return tuple(
                ColumnProfile(_present(name, *encoded[name], found, described.get(name, "")), found)
                for name, found in zip(names, settled_by_the_file(formats), strict=True)
            )

        columns = profiled()
        sampled = tuple(each.column for each in columns)
        if kept < rows:
            for name, found in _elsewhere(source, engine, columns).items():
                encoded[name] = _appended(*encoded[name], found)
            columns = profiled()
    return TableProfile(sampled, columns, rows)


_NUMBER_TYPES = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
)


def _batches(cursor: Any, relation: str, names: Sequence[str]) -> tuple[list[Any], int]:
    """Blocks of rows as texts, every one of them, or every second, fourth, ..., and the number of all rows."""
    texts = (
        f"left(cast({quote_name(name)} as varchar), {LONGEST_TEXT + 1}) as c{place}"
        for place, name in enumerate(names)
    )
    at_once = max(1, MOST_CELLS // len(names) // BLOCKS)
    kept: list[Any] = []
    step, rows = 1, 0
    for place, batch in enumerate(
        cursor.sql(f"select {', '.join(texts)} from {relation}").to_arrow_reader(at_once)
    ):
        rows += batch.num_rows
        if place % step == 0:
            kept.append(batch)
        if len(kept) > 2 * BLOCKS and sum(each.num_rows for each in kept) * len(names) > 2 * MOST_CELLS:
            kept, step = kept[::2], 2 * step
    return kept, rows


def _encoded(batches: Sequence[Any], place: int) -> tuple[Any, Any]:
    """Different texts of a column in the order in which they occur, and for each row the place of its text, or -1."""
    import pyarrow as pa

    column = pa.chunked_array([each.column(place) for each in batches]).dictionary_encode()
    codes = [np.asarray(each.indices.fill_null(-1)) for each in column.chunks]
    return column.chunks[-1].dictionary, np.concatenate(codes)


def _elsewhere(
    source: Source, engine: DuckDBEngine, columns: Sequence[ColumnProfile]
) -> dict[str, list[str | None]]:
    """Texts of all rows that a schema must have room for: all of short lists, the ends of numbers and dates, and None."""
    found: dict[str, list[str | None]] = {}
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        some = columns[start : start + COLUMNS_AT_ONCE]
        with engine.open(source) as (cursor, relation):
            row = cursor.execute(f"select {', '.join(map(_texts_of, some))} from {relation}").fetchone()
        found |= {each.name: list(texts) for each, texts in zip(some, row or (), strict=True)}
    return found


def _texts_of(profile: ColumnProfile) -> str:
    """SQL: a list of texts of a column."""
    text, form = f"left(cast({quote_name(profile.name)} as varchar), {LONGEST_TEXT + 1})", profile.format
    parts = [f"case when count({text}) < count(*) then [null] else [] end::varchar[]"]
    if profile.column.size <= LARGEST_CATEGORY_LIST:
        parts.append(f"list(distinct {text})")
    elif form.dates or form.notations:
        value = time_in(text, form.dates[0][0]) if form.dates else form.notations[0].number(profile.name)
        unread = f"list(distinct {text}) filter ({text} is not null and {value} is null)"
        parts += [f"[arg_min({text}, {value}), arg_max({text}, {value})]", unread]
    return " || ".join(f"coalesce({each}, [])" for each in parts)


def _appended(texts: Any, codes: Any, found: Sequence[str | None]) -> tuple[Any, Any]:
    """Encoded texts with a row more for each that is new."""
    import pyarrow as pa

    known = set(texts.to_pylist())
    new = sorted({each for each in found if each is not None and each not in known})
    places = [*range(len(texts), len(texts) + len(new)), *([-1] if None in found else [])]
    return pa.concat_arrays([texts, pa.array(new, texts.type)]), np.append(codes, places).astype(codes.dtype)


def _present(name: str, texts: Any, codes: Any, found: Format, description: str) -> EncodedColumn:
    """The column with those of its texts that are values."""
    import pyarrow as pa

    is_present = found.is_present
    # The last entry is that of rows without a cell, whose place is -1.
    places = np.append(np.where(is_present, np.cumsum(is_present) - 1, -1), -1)
    numbers = None if found.numbers is None else found.numbers[is_present]
    return EncodedColumn(name, places[codes], texts.filter(pa.array(is_present)), numbers, description)


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
# Periods of dates, and beginnings of codes.


LONGEST_PREFIX = 4
"""Characters up to which the beginnings of codes are counted."""

MOST_PREFIXES = 60
"""Beginnings of codes that make a list a person can check."""


def prefixes(texts: Sequence[str]) -> dict[int, list[str]]:
    """Beginnings of codes that are few enough to check, by their length."""
    longest = min(LONGEST_PREFIX, max(map(len, texts)) - 1)
    found = {length: sorted({text[:length] for text in texts}) for length in range(1, longest + 1)}
    return {length: some for length, some in found.items() if 2 <= len(some) <= MOST_PREFIXES}


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
