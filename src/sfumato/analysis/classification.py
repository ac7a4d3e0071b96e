"""Ways of classifying rows: by an attribute's categories, or by whether a condition holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.errors import QueryError, nearest
from sfumato.values.arrays import Booleans, Integers
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection


@dataclass(frozen=True)
class Classification:
    """One way of classifying rows: by an attribute's categories, or by whether a condition holds.

    Parameters
    ----------
    text
        The attribute, or the condition as it is written.
    labels
        What each class is called.
    condition
        None where classes are an attribute's categories.
    """

    text: str
    labels: tuple[str, ...]
    condition: Predicate | None = None

    @classmethod
    def parse(cls, text: str, schema: Schema) -> Classification:
        """Read an attribute's name, or a condition of the query language."""
        names = schema.publishable.names
        if text in names:
            return cls(text, schema[text].labels)
        if (
            not any(mark in text for mark in "=<>")
            and " in " not in text.lower()
            and " is " not in text.lower()
        ):
            if text in schema.left_out:
                schema[text]
            raise QueryError(
                f"there is no attribute {text!r}; {nearest(text, names)} Name an attribute, or write a condition "
                "such as \"job = 'Sales'\"."
            )
        condition = Predicate.parse(text, schema)
        described = condition.describe(schema)
        return cls(described, (f"not ({described})", described), condition)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes it looks at."""
        return (self.text,) if self.condition is None else self.condition.names

    def describe(self, place: int) -> str:
        """One class in words."""
        return self.labels[place] if self.condition is not None else f"{self.text} = {self.labels[place]!r}"

    def predicates(self, schema: Schema) -> tuple[Predicate, ...]:
        """The rows of each class."""
        if self.condition is None:
            return tuple(Predicate((Selection(((self.text, (code,)),)),)) for code in range(len(self.labels)))
        return Predicate.parse(f"NOT ({self.text})", schema), self.condition

    def classes(self, codes: Mapping[str, Integers]) -> Integers:
        """Class of each of some cells, given their codes by attribute."""
        if self.condition is None:
            return codes[self.text]
        return holds(self.condition, codes).astype(np.int64)


def holds(condition: Predicate, codes: Mapping[str, Integers]) -> Booleans:
    """Whether a condition is true of each of some cells, given their codes by attribute."""
    ways = [
        np.logical_and.reduce([np.isin(codes[name], chosen) for name, chosen in part.conditions])
        for part in condition.parts
    ]
    return np.asarray(np.logical_or.reduce(ways), dtype=bool)
