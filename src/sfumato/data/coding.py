"""From cells to category codes, as SQL; which cells do not fit the schema."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.errors import DataError
from sfumato.schema import MISSING_LABEL, Attribute, Role

# --------------------------------------------------------------------------------------------------
# Names and texts as SQL writes them.


def quote_name(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


# --------------------------------------------------------------------------------------------------
# Numbers in cells, and which of some intervals they are in, as SQL.


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


# --------------------------------------------------------------------------------------------------
# How a cell becomes the code of its category: one SQL expression for each column.
#
# The expression is NULL where a value has no category, never an error of the engine: those quote the cell.


_SPACES = ("\u00a0", "\u202f", "\u2009")
"""What stands for a space between digits: no-break, narrow no-break, thin."""

MOST_WRITTEN_OUT = 200
"""Labels up to which a statement lists them. A long list is declared once as a type: in a statement the engine
would read, copy and compare it many times over, for a hundred thousand labels two seconds."""


def cell_text(attribute: Attribute) -> str:
    """SQL: the cell as text."""
    return f"cast({quote_name(attribute.name)} as varchar)"


def is_missing(attribute: Attribute) -> str:
    """SQL: the cell holds no value."""
    column = quote_name(attribute.name)
    texts = ("", *attribute.missing_values, *(NAN_TEXTS if attribute.bins is not None else ()))
    listed = f"{cell_text(attribute)} in ({', '.join(map(quote_text, texts))})"
    if not attribute.missing_values:
        # Numbers need not be written out to see that they are not empty.
        listed = f"(not {is_number(attribute.name)} and {listed})"
    return f"({column} is null or {listed} or {is_nan(attribute.name)})"


def cell_number(attribute: Attribute) -> str:
    """SQL: the number a cell holds, NULL where it holds none.

    With a decimal comma or a thousands mark a text must be written exactly so: ``1.5`` is not fifteen.
    """
    column = quote_name(attribute.name)
    if attribute.decimal is None and attribute.thousands is None:
        return plain_number(attribute.name)
    text, decimal, thousands = f"trim({cell_text(attribute)})", attribute.decimal or ".", attribute.thousands
    if thousands == " ":
        text = f"translate({text}, {quote_text(''.join(_SPACES))}, {quote_text(' ' * len(_SPACES))})"
    grouped = "" if thousands is None else rf"|\d{{1,3}}({re.escape(thousands)}\d{{3}})+"
    pattern = rf"[+-]?(\d+{grouped})({re.escape(decimal)}\d*)?"
    digits = text if thousands is None else f"replace({text}, {quote_text(thousands)}, '')"
    number = f"try_cast(replace({digits}, {quote_text(decimal)}, '.') as double)"
    written = f"case when regexp_full_match({text}, {quote_text(pattern)}) then {number} end"
    return f"case when {is_number(attribute.name)} then try_cast({column} as double) else {written} end"


def cell_time(attribute: Attribute) -> str:
    """SQL: the date or time a cell holds, NULL where it holds none."""
    assert attribute.dates is not None
    column = quote_name(attribute.name)
    plain = f"try_cast({column} as timestamp)"
    if attribute.dates.format is None:
        return plain
    written = f"try_strptime(trim({cell_text(attribute)}), {quote_text(attribute.dates.format)})"
    return f"case when typeof({column}) = 'VARCHAR' then {written} else {plain} end"


def category_code(attribute: Attribute) -> str:
    """SQL: the code of the category, NULL where the value has none or is missing without leave."""
    if attribute.bins is not None:
        inside = _code_of_number(attribute)
    elif attribute.dates is not None:
        inside = _unless_missing(attribute, _code_of_time(attribute))
    elif attribute.recode is not None or attribute.prefix is not None:
        inside = _unless_missing(attribute, _code_of_value(attribute))
    else:
        text = cell_text(attribute)
        if attribute.missing == "category":
            text = f"case when {is_missing(attribute)} then {quote_text(MISSING_LABEL)} else {text} end"
        elif attribute.missing_values:
            text = f"case when {is_missing(attribute)} then null else {text} end"
        return _place(text, attribute.labels)
    return f"cast({inside} as {_integer(attribute)})"


def is_its_text(attribute: Attribute) -> bool:
    """Whether a category has one cell, its label: who knows how many rows each category has knows all cells."""
    made_over = (attribute.bins, attribute.dates, attribute.recode, attribute.prefix)
    return (
        all(each is None for each in made_over)
        and attribute.missing != "category"
        and not attribute.missing_values
    )


def _unless_missing(attribute: Attribute, code: str) -> str:
    """SQL: the code of the category of missing values where the cell holds none, otherwise that of the value."""
    missing = "null" if attribute.missing_code is None else str(attribute.missing_code)
    return f"case when {is_missing(attribute)} then {missing} else {code} end"


def _place(text: str, labels: Sequence[str]) -> str:
    """SQL: the place of a text among labels, from 0 on."""
    kind = _written_out(labels) if len(labels) <= MOST_WRITTEN_OUT else _type_name(tuple(labels))
    # try_cast: a plain cast would put the value into its error.
    return f"enum_code(try_cast({text} as {kind}))"


def declarations(attribute: Attribute) -> dict[str, str]:
    """By name, SQL that declares each type that :func:`category_code` of an attribute names."""
    listed = _listed(attribute)
    if len(listed) <= MOST_WRITTEN_OUT:
        return {}
    name = _type_name(listed)
    return {name: f"create type {name} as {_written_out(listed)}"}


def _listed(attribute: Attribute) -> tuple[str, ...]:
    """The texts that a cell is looked up among; none where it is a date."""
    if attribute.dates is not None:
        return ()
    if attribute.prefix is not None:
        return attribute.stated_labels
    return tuple(_codes_of_values(attribute)) if attribute.recode is not None else attribute.labels


def _written_out(labels: Iterable[str]) -> str:
    return f"enum({', '.join(map(quote_text, labels))})"


@lru_cache(maxsize=64)
def _type_name(labels: tuple[str, ...]) -> str:
    """A name that only these labels have; of the connection's own database, whichever is in use."""
    digest = hashlib.sha256("\x00".join(labels).encode(errors="surrogatepass")).hexdigest()
    return f"memory.main.labels_{digest[:32]}"


def _code_of_number(attribute: Attribute) -> str:
    assert attribute.edges is not None
    number = cell_number(attribute)
    place = interval_of_cell(attribute.name, number, attribute.edges)
    # A binned column may also hold the intervals' labels, as published tables do; that is looked at only
    # where the cell is no number. The number comes first: within a branch the engine would compute it anew
    # for every edge.
    labelled = _unless_missing(attribute, _place(cell_text(attribute), attribute.labels))
    return f"case when {number} is null then {labelled} else {_unless_missing(attribute, place)} end"


def _steps(value: str, ends: Iterable[str | None]) -> str:
    """SQL: the branches of a case that give the first place whose end is above the value; None is above all."""
    return " ".join(
        f"else {place}" if end is None else f"when {value} < {end} then {place}"
        for place, end in enumerate(ends)
    )


def _code_of_time(attribute: Attribute) -> str:
    assert attribute.dates is not None
    time = cell_time(attribute)
    start, *ends = [f"timestamp '{each.isoformat(sep=' ')}'" for each in attribute.dates.starts]
    if attribute.dates.by is None:
        return f"case when {time} < {start} then null {_steps(time, ends)} end"
    # Boundaries between the periods that lie between: as many as there are periods before this one.
    return (
        f"case when {time} >= {start} and {time} < {ends[-1]} "
        f"then date_diff({quote_text(attribute.dates.by)}, {start}, {time}) end"
    )


def _code_of_value(attribute: Attribute) -> str:
    """SQL: the code of a text that is recoded or cut to its first characters."""
    if attribute.prefix is not None:
        return _place(f"left({cell_text(attribute)}, {attribute.prefix})", attribute.stated_labels)
    codes = _codes_of_values(attribute)
    listed = ", ".join(str(code) for code in codes.values())
    return f"list_extract([{listed}], {_place(cell_text(attribute), tuple(codes))}::integer + 1)"


def _codes_of_values(attribute: Attribute) -> dict[str, int]:
    """The code of every text that a recoded cell may hold: the categories, and what becomes one of them."""
    codes = {label: code for code, label in enumerate(attribute.stated_labels)}
    return codes | {
        value: codes[target] for target, values in (attribute.recode or {}).items() for value in values
    }


def _integer(attribute: Attribute) -> str:
    return {1: "utinyint", 2: "usmallint", 4: "uinteger"}[np.dtype(attribute.code_type).itemsize]


def has_code(code: str, codes: tuple[int, ...]) -> str:
    """SQL: the code of the row's category is one of those given."""
    if not codes:
        return "false"
    return f"{code} in ({', '.join(str(code) for code in codes)})"


# --------------------------------------------------------------------------------------------------
# What may be wrong with a cell: for each attribute the conditions under which rows do not fit, and what to
# say then.


@dataclass(frozen=True)
class Complaint:
    """A way in which rows may not fit an attribute.

    Parameters
    ----------
    reason
        A word or two for programs.
    condition
        SQL that holds in the rows concerned.
    words
        What is wrong, between the column's name and the number of rows.
    advice
        What is allowed and what to do; follows the number of rows.
    """

    reason: str
    condition: str
    words: str
    advice: str


@dataclass(frozen=True)
class Misfit:
    """Rows of one column that do not fit the schema, for one reason; without any value of theirs.

    Examples
    --------
    >>> print(Misfit("age", "outside", 2, "has a value outside the schema's bins", ". Extend them."))
    column 'age' has a value outside the schema's bins in 2 rows. Extend them.
    """

    attribute: str
    reason: str
    number_of_rows: int
    words: str
    advice: str

    def __str__(self) -> str:
        rows = "1 row" if self.number_of_rows == 1 else f"{self.number_of_rows:,} rows"
        return f"column {self.attribute!r} {self.words} in {rows}{self.advice}"


def misfits_error(found: Sequence[Misfit]) -> DataError:
    """The refusal that names every misfit."""
    return DataError(
        " ".join(map(str, found)),
        attribute=found[0].attribute,
        number_of_rows=sum(each.number_of_rows for each in found),
    )


_EXTEND = ". Extend the schema, or correct the data."
_NONE_FITS = ", all that have a value. Is the list, the edges or the format that of another column? Correct the schema."


def misfit(attribute: Attribute, complaint: Complaint, rows: int, rows_with_value: int) -> Misfit:
    """What is said of the rows that a complaint is about."""
    advice = complaint.advice
    if complaint.reason != "missing" and attribute.role.is_published and rows == rows_with_value > 1:
        advice = _NONE_FITS
    return Misfit(attribute.name, complaint.reason, rows, complaint.words, advice)


def misfits_counted(attributes: Sequence[Attribute], rows: Sequence[int]) -> list[Misfit]:
    """The misfits that numbers of rows tell: of every complaint, then of the rows with a value of each attribute."""
    asked = [(each, complaint) for each in attributes for complaint in complaints(each)]
    with_value = dict(zip([each.name for each in attributes], rows[len(asked) :], strict=True))
    return [
        misfit(each, complaint, number, with_value[each.name])
        for (each, complaint), number in zip(asked, rows, strict=False)
        if number
    ]


def complaints(attribute: Attribute) -> Iterator[Complaint]:
    """Every way in which a row may not fit; each row falls under one of them at most."""
    missing = is_missing(attribute)
    if attribute.role in (Role.UNIT, Role.HOUSEHOLD):
        whose = "whose it is" if attribute.role is Role.UNIT else f"which {attribute.role} it belongs to"
        yield Complaint(
            "missing",
            missing,
            "has no value",
            f". Every row must say {whose}: fill the names in, or leave those rows out.",
        )
    elif attribute.role is Role.WEIGHT:
        yield from _complaints_of_weight(attribute)
    elif attribute.role.is_published:
        if attribute.missing == "error":
            yield Complaint(
                "missing",
                missing,
                "has no value",
                '; the schema says missing = "error". Set missing = "category", or fill them in.',
            )
        yield from _complaints_of_values(attribute, missing)


def _complaints_of_weight(attribute: Attribute) -> Iterator[Complaint]:
    missing, number = is_missing(attribute), cell_number(attribute)
    allowed = ". A weight is a number above 0 in every row. Correct it, or leave those rows out."
    yield Complaint("missing", missing, "is a weight and has no value", allowed)
    yield Complaint(
        "not a number",
        f"not {missing} and ({number} is null or not isfinite({number}))",
        "is a weight and holds no number",
        f"{allowed} Is the decimal mark a comma? Then set decimal.",
    )
    yield Complaint("zero", f"not {missing} and {number} = 0", "is a weight and is 0", allowed)
    yield Complaint(
        "negative",
        f"not {missing} and {number} < 0 and isfinite({number})",
        "is a weight and is below 0",
        allowed,
    )


def _complaints_of_values(attribute: Attribute, missing: str) -> Iterator[Complaint]:
    unfit = f"not {missing} and {category_code(attribute)} is null"
    if attribute.bins is not None:
        is_number = f"{cell_number(attribute)} is not null"
        yield Complaint(
            "not a number",
            f"{unfit} and not {is_number}",
            "holds no number",
            ". Bins are for numbers. Is the decimal mark a comma? Then set decimal; texts that mean no value go into missing_values.",
        )
        unfit += f" and {is_number}"
        yield Complaint("outside", unfit, "has a value outside the schema's bins", _EXTEND)
    elif attribute.dates is not None:
        is_time = f"{cell_time(attribute)} is not null"
        yield Complaint(
            "not a date",
            f"{unfit} and not {is_time}",
            "holds no date",
            ". Dates are read as 2019-12-31 unless format says how they are written; texts that mean no date go into missing_values.",
        )
        yield Complaint(
            "outside", f"{unfit} and {is_time}", "has a date before the first or after the last", _EXTEND
        )
    elif attribute.recode is not None:
        yield Complaint("outside", unfit, "has a value that neither recode nor the categories name", _EXTEND)
    else:
        yield Complaint("outside", unfit, "has a value outside the schema's category list", _EXTEND)


def alike_text(text: str) -> str:
    """SQL: a unit without case and spaces; spaces between digits stay, since 1 12 and 11 2 may be two people."""
    tidy = rf"trim(regexp_replace(lower({text}), '[\s\p{{Z}}]+', ' ', 'g'))"
    return rf"regexp_replace({tidy}, '(\p{{L}}) | (\p{{L}})', '\1\2', 'g')"


def sizes_of_units(attribute: Attribute, relation: str) -> str:
    """SQL: units and their rows; those with more rows than the schema says; those equal up to case or spaces."""
    most = attribute.rows_per_unit if attribute.excess_rows != "sample" else None
    crowded = "false" if most is None else f"size > {most}"
    return (
        f"with units as materialized (select {cell_text(attribute)} as unit, count(*) as size from {relation} "
        f"where not {is_missing(attribute)} group by all), "
        f"alike as (select count(*) as number, sum(size) as size from units group by {alike_text('unit')} "
        "having count(*) > 1), sums as (select count(*) as a, sum(size) as b, "
        f"count(*) filter ({crowded}) as c, sum(size) filter ({crowded}) as d from units) "
        "select coalesce(a, 0), coalesce(b, 0)::bigint, c, coalesce(d, 0)::bigint, "
        "(select coalesce(sum(number), 0)::bigint from alike), (select coalesce(sum(size), 0)::bigint from alike) from sums"
    )


def misfits_of_units(attribute: Attribute, sizes: Sequence[int]) -> list[Misfit]:
    """What is said of units that are one, written in several ways, or of more rows than the schema says."""
    units, rows, crowded, rows_of_crowded, alike, rows_of_alike = sizes
    found = []
    if units == 1 and rows > 1:
        found.append(
            Misfit(
                attribute.name,
                "constant",
                rows,
                "is the unit and has one value",
                ". Declare the column that tells people apart, or take the role unit out.",
            )
        )
    if alike:
        found.append(
            Misfit(
                attribute.name,
                "alike",
                rows_of_alike,
                f"has {alike:,} units that differ only by case or spaces,",
                ". Write each unit in one way; if they are different people, number them.",
            )
        )
    if crowded:
        found.append(
            Misfit(
                attribute.name,
                "too many rows",
                rows_of_crowded,
                f"has {crowded:,} {'unit' if crowded == 1 else 'units'} with more than the {attribute.rows_per_unit} rows of "
                "rows_per_unit,",
                '. Raise rows_per_unit, which costs accuracy, or set excess_rows = "sample", which draws so many.',
            )
        )
    return found
