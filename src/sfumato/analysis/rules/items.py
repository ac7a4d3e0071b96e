"""What rules are made of: a category of an attribute is an item that a row has or lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import ParameterError, QueryError
from sfumato.values.long_tables import PRESENT
from sfumato.values.predicate import Predicate
from sfumato.values.query_writing import write_condition
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection


@dataclass(frozen=True)
class Item:
    """One category of one attribute.

    Parameters
    ----------
    attribute, code
        What a row must have.
    text
        How it is called: the name of an article of a basket, else the condition.
    """

    attribute: str
    code: int
    text: str

    @property
    def condition(self) -> tuple[str, tuple[int, ...]]:
        """As a condition of a selection."""
        return self.attribute, (self.code,)


def selection_of(items: Sequence[Item]) -> Selection:
    """The rows that have all of some items."""
    return Selection(tuple(each.condition for each in items))


def items_of(
    schema: Schema, *, are_present: bool, among: Sequence[str] | None = None, category: str | None = None
) -> tuple[Item, ...]:
    r"""The items that a schema has.

    Parameters
    ----------
    schema
        The attributes that can be asked about.
    are_present
        The first category of every attribute says that a unit lacks an item, and is none itself.
    among
        Attributes, all categories of which are items, or conditions on one attribute; all attributes when not given.
    category
        Only this category of every attribute is an item, such as ``"yes"``.

    Raises
    ------
    QueryError
        When a text is neither an attribute nor a condition on one.
    ParameterError
        When nothing is left.

    Examples
    --------
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> [each.text for each in items_of(schema, are_present=False)]
    ["job = 'a'", "job = 'b'"]
    """
    published = schema.publishable
    first = 1 if are_present else 0
    chosen: dict[tuple[str, int], None] = {}
    for text in published.names if among is None else among:
        chosen.update(dict.fromkeys(_named(text, published, first=first)))
    found = tuple(
        Item(name, code, _text(schema, name, code, are_present=are_present))
        for name, code in chosen
        if category is None or schema[name].labels[code] == category
    )
    if not found:
        raise ParameterError(
            "there are no items to make rules of"
            + ("" if category is None else f": no attribute has the category {category!r}")
            + ". Name attributes, or conditions such as \"bread = 'yes'\".",
            parameter="among" if category is None else "category",
        )
    return found


def _named(text: str, schema: Schema, *, first: int) -> list[tuple[str, int]]:
    if text in schema:
        return [(text, code) for code in range(first, schema[text].size)]
    if not any(mark in text for mark in "=<>'"):
        # The refusal names the nearest attribute.
        return [(schema[text].name, 0)]
    parts = Predicate.parse(text, schema).parts
    if len(parts) != 1 or len(parts[0].conditions) != 1:
        raise QueryError(
            f"items are categories of one attribute, got {text!r}. Name an attribute, or one condition."
        )
    ((name, codes),) = parts[0].conditions
    return [(name, code) for code in codes]


def _text(schema: Schema, name: str, code: int, *, are_present: bool) -> str:
    attribute = schema[name]
    if are_present and attribute.labels[1:] == (PRESENT,):
        return name
    return write_condition(attribute, (code,))
