"""Numbers in cells, and which of some intervals they are in, as SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sfumato.data.sql_text import quote_name, quote_text

LARGEST_EXACT = 2**53
"""Whole numbers up to here are floating-point numbers; above, neighbours become one."""

LARGEST_WHOLE = 2**126
"""Whole numbers that the engine computes with, rounded down to a power of two."""

NUMBER_TYPES = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
    *("FLOAT", "DOUBLE"),
)
"""The engine's types of numbers, besides decimals, which carry their digits in the name."""

NAN_TEXTS = ("nan", "NaN", "NAN")
"""How texts write not-a-number."""

MOST_STEPS = 64
"""Intervals up to which comparing with one edge after the other is faster than searching."""


def is_number(name: str) -> str:
    """SQL: the column is one of numbers; settled before a row is read."""
    kind = f"typeof({quote_name(name)})"
    return f"({kind} in ({', '.join(map(quote_text, NUMBER_TYPES))}) or starts_with({kind}, 'DECIMAL'))"


def is_nan(name: str) -> str:
    """SQL: a column of numbers holds not-a-number here, which is how tables write that there is none.

    In the end by its text: the engine believes a file's smallest and largest value, which leave it out,
    and takes conditions on the number itself for always true or never.
    """
    column = quote_name(name)
    is_odd = f"typeof({column}) in ('DOUBLE', 'FLOAT') and not isfinite(try_cast({column} as double))"
    return f"({is_odd} and cast({column} as varchar) = 'nan')"


def plain_number(name: str) -> str:
    """SQL: the number in a column's cell as a double, NULL where it holds none."""
    column = quote_name(name)
    # The engine would read 1_5 as fifteen; with a letter in its place it is no number.
    written = f"try_cast(replace(cast({column} as varchar), '_', 'x') as double)"
    return f"case when {is_number(name)} then try_cast({column} as double) else {written} end"


def interval_of_cell(name: str, number: str, edges: Sequence[float]) -> str:
    """SQL: the place of the interval [edge, next edge) that a cell's number is in, NULL outside all of them.

    Parameters
    ----------
    name
        Of the column.
    number
        SQL of its number as a double.
    edges
        Increasing; the outer ones may be infinite.
    """
    rounded = interval_of(number, edges, _double)
    if all(abs(edge) <= LARGEST_EXACT for edge in edges if math.isfinite(edge)):
        return rounded
    # Rounding could carry a whole number over an edge; as a whole number it is below an edge exactly when
    # it is below the edge rounded up.
    column = quote_name(name)
    is_whole = rf"regexp_full_match(cast({column} as varchar), '\s*[+-]?\d+\s*')"
    whole = f"try_cast({column} as hugeint)"
    ceilings = [
        math.ceil(edge) if abs(edge) < LARGEST_WHOLE else math.copysign(math.inf, edge) for edge in edges
    ]
    exact = interval_of(whole, ceilings, lambda edge: f"({edge})::hugeint")
    return f"case when {is_whole} and {whole} is not null then {exact} else {rounded} end"


def interval_of(value: str, edges: Sequence[float], literal: Callable[[float], str]) -> str:
    """SQL: the place of the interval that a value is in, NULL outside all of them.

    Parameters
    ----------
    value
        SQL that is neither NULL nor not-a-number; infinite values are in no interval.
    edges
        Increasing; the outer ones may be infinite.
    literal
        SQL of a finite edge, of the value's type.
    """
    low, high = edges[0], edges[-1]
    outside = [f"{value} < {literal(low)}"] if math.isfinite(low) else [f"{value} = '-inf'::double"]
    outside += [f"{value} >= {literal(high)}"] if math.isfinite(high) else [f"{value} = 'inf'::double"]
    ends = edges[1:-1]
    if len(ends) < MOST_STEPS:
        steps = " ".join(f"when {value} < {literal(edge)} then {place}" for place, edge in enumerate(ends))
        return f"case when {' or '.join(outside)} then null {steps} else {len(ends)} end"
    # As many edges as a power of two less one, so that every step of the search falls on one.
    strides = [2**power for power in reversed(range(len(ends).bit_length()))]
    padded = [*ends, *[ends[-1]] * (2 * strides[0] - 1 - len(ends))]
    listed = f"[{', '.join(literal(edge) for edge in padded)}]"
    search = (
        f"list_reduce([0, {', '.join(map(str, strides))}], lambda place, stride: "
        f"case when {value} < list_extract({listed}, place + stride) then place else place + stride end)"
    )
    # Beyond the last edge the search runs through its copies.
    return f"case when {' or '.join(outside)} then null else least({search}, {len(ends)}) end"


def _double(number: float) -> str:
    return f"{float(number)!r}::double"
