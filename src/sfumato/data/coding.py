"""How a cell becomes the code of its category: one SQL expression for each column.

The expression is NULL where a value has no category, never an error of the engine: those quote the cell.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.sql_text import quote_name, quote_text
from sfumato.values.schema import MISSING_LABEL, Attribute


def cell_text(attribute: Attribute) -> str:
    """SQL: the cell as text."""
    return f"cast({quote_name(attribute.name)} as varchar)"


def is_missing(attribute: Attribute) -> str:
    """SQL: the cell holds no value."""
    column = quote_name(attribute.name)
    tokens = ", ".join(quote_text(token) for token in ("", *attribute.missing_values))
    return f"({column} is null or {cell_text(attribute)} in ({tokens}))"


def category_code(attribute: Attribute) -> str:
    """SQL: the code of the category, NULL where the value has none or is missing without leave."""
    labels = ", ".join(quote_text(label) for label in attribute.labels)

    def labelled(text: str) -> str:
        # try_cast: a plain cast would put the value into its error.
        return f"enum_code(try_cast({text} as enum({labels})))"

    if attribute.bins is None:
        text = cell_text(attribute)
        if attribute.missing == "category":
            text = f"case when {is_missing(attribute)} then {quote_text(MISSING_LABEL)} else {text} end"
        elif attribute.missing_values:
            text = f"case when {is_missing(attribute)} then null else {text} end"
        return labelled(text)
    number = f"try_cast({quote_name(attribute.name)} as double)"
    edges = [repr(edge) + "::double" for edge in attribute.bins]
    steps = " ".join(f"when {number} < {edge} then {code}" for code, edge in enumerate(edges[1:]))
    # A binned column may also hold the intervals' labels, as published tables do; that is looked at only
    # where the cell is no number.
    inside = (
        f"case when {number} is null then {labelled(cell_text(attribute))} "
        f"when {number} < {edges[0]} then null {steps} else null end"
    )
    missing = "null" if attribute.missing_code is None else str(attribute.missing_code)
    return (
        f"cast(case when {is_missing(attribute)} then {missing} else {inside} end as {_integer(attribute)})"
    )


def _integer(attribute: Attribute) -> str:
    return {1: "utinyint", 2: "usmallint", 4: "uinteger"}[np.dtype(attribute.code_type).itemsize]


def has_code(attribute: Attribute, codes: tuple[int, ...]) -> str:
    """SQL: the row's category is one of the codes."""
    if not codes:
        return "false"
    return f"{category_code(attribute)} in ({', '.join(str(code) for code in codes)})"
