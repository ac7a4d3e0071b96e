"""Query text as a person would write it."""

from __future__ import annotations

import math
import re

from sfumato.errors import QueryError
from sfumato.values.schema import Attribute

BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*+")
"""Names that need no quotes."""

RESERVED = frozenset({"AND", "BETWEEN", "IN", "IS", "MISSING", "NOT", "OR"})
"""Words of the language, which need quotes as names."""


def write_condition(attribute: Attribute, codes: tuple[int, ...]) -> str:
    """The shortest plain text that selects these codes of an attribute.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> age = Attribute(name="age", role=Role.OTHER, bins=(17, 25, 35, 45))
    >>> write_condition(age, (1, 2))
    'age >= 25'
    >>> school = Attribute(name="school", role=Role.OTHER, categories=("none", "some", "all"), ordered=True)
    >>> write_condition(school, (0, 1))
    "school < 'all'"
    """
    name = name_text(attribute.name)
    stated = stated_size(attribute)
    if codes and codes[-1] >= attribute.size:
        raise QueryError(
            f"attribute {attribute.name!r} has codes 0 to {attribute.size - 1}, got {codes[-1]}. "
            "Describe a selection with the schema it was made for."
        )
    if codes == (attribute.missing_code,):
        return f"{name} IS MISSING"
    if len(codes) == stated and codes == tuple(range(stated)):
        return f"{name} IS NOT MISSING"
    if _is_range(attribute, codes):
        return _range_text(attribute, codes[0], codes[-1] + 1)
    is_few = len(codes) <= attribute.size - len(codes)
    # The shorter list is written, and the other one not made: there may be a hundred thousand categories.
    listed = codes if is_few else sorted(set(range(attribute.size)).difference(codes))
    labels = attribute.labels
    texts = [label_text(labels[code]) for code in listed]
    if len(texts) == 1:
        return f"{name} {'=' if is_few else '!='} {texts[0]}"
    return f"{name} {'IN' if is_few else 'NOT IN'} ({', '.join(texts)})"


def _is_range(attribute: Attribute, codes: tuple[int, ...]) -> bool:
    """Whether codes are neighbours of an order; a single category of a list is better called by its name."""
    fewest = 1 if attribute.edges is not None else 2
    return (
        attribute.is_ordered
        and len(codes) >= fewest
        and codes == tuple(range(codes[0], codes[-1] + 1))
        and codes[-1] < stated_size(attribute)
    )


def _range_text(attribute: Attribute, first: int, end: int) -> str:
    """Text of the categories from the first on, up to but without the end."""
    edges, name = attribute.edges, name_text(attribute.name)
    starts = (
        [label_text(label) for label in attribute.stated_labels]
        if edges is None
        else [number_text(edge) if math.isfinite(edge) else "" for edge in edges[:-1]]
    )
    limits = [f"{name} >= {starts[first]}"] if first > 0 else []
    if end < len(starts):
        limits.append(f"{name} < {starts[end]}")
    return " AND ".join(limits)


def stated_size(attribute: Attribute) -> int:
    """Count the categories other than the missing one; their codes come first."""
    return attribute.size if attribute.missing_code is None else attribute.missing_code


def name_text(name: str) -> str:
    """An attribute's name, in double quotes where it needs them."""
    if BARE_NAME.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def label_text(label: str) -> str:
    """A category, in single quotes."""
    return "'" + label.replace("'", "''") + "'"


def number_text(number: float) -> str:
    """A number that reads back as the very same one."""
    # repr, not a rounded format: the text must read back as the very same edge.
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
