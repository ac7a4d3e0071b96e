"""Predicates: rows chosen by conditions joined in any way."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from sfumato.errors import QueryError
from sfumato.values.boxes import boxes_of, refuse_several
from sfumato.values.expressions import Condition, Expression, Joined, Negated
from sfumato.values.merged_labels import NOTHING_MERGED, MergedLabels
from sfumato.values.query_text import read_query
from sfumato.values.schema import Attribute, Schema
from sfumato.values.selection import Selection


@dataclass(frozen=True)
class Predicate:
    """Rows chosen by AND, OR, NOT and parentheses: selections that share no row, so that their counts add up.

    Parameters
    ----------
    parts
        One or more.
    notes
        What an answer must say about how the question was read.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "other"
    ... categories = ["F", "M"]
    ... [attributes.job]
    ... role = "other"
    ... categories = ["Sales", "Tech", "Other"]
    ... ''')
    >>> Predicate.parse("sex = 'F' OR NOT job = 'Tech'", schema).describe(schema)
    "(sex = 'F') OR (job != 'Tech' AND sex = 'M')"
    """

    parts: tuple[Selection, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, text: str, schema: Schema, merged: MergedLabels = NOTHING_MERGED) -> Predicate:
        """Read query text: conditions as :meth:`Selection.parse` has them, joined by AND, OR, NOT and parentheses.

        NOT binds closest, then AND, then OR. A missing value is a value like others, so that what holds of a row and
        what does not add up to all rows. Labels that were merged with others are read as all of them, which is noted.
        """
        expression, notes = read_query(text, schema, merged)
        parts = _parts(expression, schema)
        # Of parts that nobody can be in one is left where there is no other.
        impossible = [
            f"no value of {name} meets all that is asked of it: no row is chosen"
            for each in parts
            for name, codes in each.conditions
            if not codes
        ]
        return cls(parts, (*notes, *dict.fromkeys(impossible)))

    @classmethod
    def parse_all(
        cls, texts: Sequence[str], schema: Schema, merged: MergedLabels = NOTHING_MERGED
    ) -> tuple[Predicate, ...]:
        """Read many queries; the first that cannot be read is refused with its number, counted from 1."""
        if isinstance(texts, str):
            raise QueryError("many questions are a list of texts, got one text. Ask it by query.")
        found = []
        for number, text in enumerate(texts, 1):
            try:
                found.append(cls.parse(text, schema, merged))
            except QueryError as error:
                raise QueryError(f"question {number}: {error}", position=error.position) from None
        return tuple(found)

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes that are restricted, in the order of first mention."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(each.names for each in self.parts)))

    def codes(self, attribute: Attribute) -> tuple[int, ...]:
        """Codes of an attribute that some row chosen may have."""
        chosen: set[int] = set()
        for each in self.parts:
            codes = each.codes(attribute.name)
            chosen.update(range(attribute.size) if codes is None else codes)
        return tuple(sorted(chosen))

    def single(self) -> Selection:
        """The predicate as one selection.

        Raises
        ------
        QueryError
            When it takes several.
        """
        if len(self.parts) > 1:
            refuse_several()
        return self.parts[0]

    def others(self, schema: Schema) -> Predicate:
        r"""All rows that it does not choose, with nothing said anew about how the question was read.

        Raises
        ------
        QueryError
            When they take too many selections.

        Examples
        --------
        >>> schema = Schema.from_toml('[attributes.sex]\nrole = "other"\ncategories = ["F", "M"]')
        >>> Predicate.parse("sex = 'F'", schema).others(schema).describe(schema)
        "sex = 'M'"
        """
        chosen = (
            Joined("AND", tuple(Condition(name, frozenset(codes)) for name, codes in each.conditions))
            for each in self.parts
        )
        return Predicate(_parts(Negated(Joined("OR", tuple(chosen))), schema))

    def describe(self, schema: Schema) -> str:
        """Query text that parses back to the same rows."""
        texts = [each.describe(schema) for each in self.parts]
        return texts[0] if len(texts) == 1 else " OR ".join(f"({each})" for each in texts)

    def __and__(self, other: Predicate) -> Predicate:
        both = tuple(one & another for one, another in itertools.product(self.parts, other.parts))
        possible = tuple(each for each in both if all(codes for _, codes in each.conditions))
        return Predicate(possible or both[:1], tuple(dict.fromkeys(self.notes + other.notes)))


def _parts(expression: Expression, schema: Schema) -> tuple[Selection, ...]:
    return tuple(
        Selection(tuple((name, tuple(sorted(codes))) for name, codes in each.items()))
        for each in boxes_of(expression, schema)
    )
