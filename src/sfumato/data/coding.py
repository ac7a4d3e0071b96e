"""How a cell becomes the code of its category: one SQL expression for each column.

The expression is NULL where a value has no category, never an error of the engine: those quote the cell.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from sfumato.data.numbers import NAN_TEXTS, interval_of_cell, is_nan, is_number, plain_number
from sfumato.data.sql_text import quote_name, quote_text
from sfumato.values.schema import MISSING_LABEL, Attribute

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
