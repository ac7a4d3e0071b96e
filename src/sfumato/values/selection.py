"""Selections: which rows a question is about, and the query text that says so."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from sfumato.errors import QueryError
from sfumato.values.boxes import boxes_of, refuse_several
from sfumato.values.query_text import read_query
from sfumato.values.query_writing import write_condition
from sfumato.values.schema import Schema


@dataclass(frozen=True)
class Selection:
    """Rows chosen by attribute: a conjunction of 'attribute has one of these codes'.

    A selection without conditions is every row; one with an empty list of codes is no row.

    Parameters
    ----------
    conditions
        Pairs of attribute and increasing codes, in the order the attributes were first mentioned;
        an attribute appears once, since several conditions on it intersect.

    Raises
    ------
    QueryError
        When an attribute appears twice, or its codes are not increasing from zero on.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["Female", "Male"]
    ... [attributes.age]
    ... role = "quasi-identifier"
    ... bins = [17, 25, 35, 45]
    ... ''')
    >>> chosen = Selection.parse("sex = 'Female' and age between 17 and 34", schema)
    >>> chosen
    Selection(conditions=(('sex', (0,)), ('age', (0, 1))))
    >>> chosen.describe(schema)
    "sex = 'Female' AND age < 35"
    """

    conditions: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise QueryError(
                "a selection has one list of codes for each attribute, and here one attribute has "
                "two. Combine selections with &, which intersects them."
            )
        for name, codes in self.conditions:
            if any(low >= high for low, high in itertools.pairwise((-1, *codes))):
                raise QueryError(
                    f"codes of attribute {name!r} must increase from 0 on without repetition, "
                    f"got {codes}. Sort them and drop what is double."
                )

    @classmethod
    def parse(cls, text: str, schema: Schema) -> Selection:
        """Read query text.

        Parameters
        ----------
        text
            Conditions joined by ``AND``; empty text is every row. Keywords may be in any case. ``OR``, ``NOT`` and
            parentheses where one list of codes for each attribute says the same; :class:`Predicate` reads all others.
            Text is in single quotes, doubled to escape; numbers need none, and ``age = 39`` means
            the category whose text is 39. An attribute whose name is not a plain word, or is a
            keyword, stands in double quotes, doubled to escape.
        schema
            The attributes that can be asked about; identifiers cannot.

        Returns
        -------
        Selection
            The codes that remain for every attribute mentioned.

        Raises
        ------
        QueryError
            With the zero-based position, when the text is not a query or names what does not exist.

        Notes
        -----
        *Missing values* are a category of their own. ``!=`` and ``NOT IN`` therefore include them:
        a row without a value differs from the value given, and the counts of ``x = 'a'`` and
        ``x != 'a'`` add up to the whole. Ranges never include them. Where the schema makes missing
        values an error, ``IS MISSING`` selects no row.

        *Ranges* are answered where they are exact. Bins are [low, high), so ``x < edge`` and
        ``x >= edge`` are exact at every edge, and beyond the outermost edges. ``x <= number``,
        ``x > number`` and the upper end of ``BETWEEN`` include the number itself, which begins the
        next bin when it is an edge. They are read by a convention: an attribute whose edges are
        all whole numbers takes whole values, so ``age <= 24`` is ``age < 25``. With other edges
        they are refused, and so is every cut through the inside of a bin.

        Ordered categories are compared in the order of their list: ``education >= 'Bachelor'``. Where they
        are increasing numbers, any number cuts them: ``rooms <= 2.5``.

        Examples
        --------
        >>> schema = Schema.from_toml('''
        ... [attributes.job]
        ... role = "sensitive"
        ... categories = ["Sales", "Tech", "Other"]
        ... missing = "category"
        ... ''')
        >>> Selection.parse("job != 'Sales'", schema).codes("job")
        (1, 2, 3)
        >>> Selection.parse("job = 'Slaes'", schema)
        Traceback (most recent call last):
        ...
        sfumato.errors.QueryError: at character 7 of the query: attribute 'job' has no category
        'Slaes'; did you mean 'Sales'?
        """
        boxes = boxes_of(read_query(text, schema)[0], schema)
        if len(boxes) > 1:
            refuse_several()
        return cls(_conjunction(boxes[0].items()))

    def codes(self, name: str) -> tuple[int, ...] | None:
        """Codes an attribute may have, or None where it is not restricted."""
        return dict(self.conditions).get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes that are restricted, in the order of first mention."""
        return tuple(name for name, _ in self.conditions)

    def binding(self, schema: Schema) -> Selection:
        """The same selection without the conditions that every category of their attribute satisfies.

        Examples
        --------
        >>> schema = Schema.from_toml('''
        ... [attributes.sex]
        ... role = "other"
        ... categories = ["F", "M"]
        ... ''')
        >>> Selection((("sex", (0, 1)),)).binding(schema).names
        ()
        """
        return Selection(tuple(each for each in self.conditions if len(each[1]) < schema[each[0]].size))

    def describe(self, schema: Schema) -> str:
        """Query text that parses back to this selection.

        Raises
        ------
        QueryError
            When the schema lacks an attribute or a code of the selection.

        Examples
        --------
        >>> schema = Schema.from_toml('''
        ... [attributes."marital status"]
        ... role = "other"
        ... categories = ["Single", "Married", "Widowed"]
        ... ''')
        >>> print(Selection((("marital status", (0, 2)),)).describe(schema))
        "marital status" != 'Married'
        """
        return " AND ".join(write_condition(schema[name], codes) for name, codes in self.conditions)

    def __and__(self, other: Selection) -> Selection:
        pairs = itertools.chain(self.conditions, other.conditions)
        return Selection(_conjunction((name, frozenset(codes)) for name, codes in pairs))


@dataclass(frozen=True)
class Tabulation:
    """What is asked of a release: cells over ``by``, among the rows ``where`` selects.

    Without ``by`` there is one cell, the number of rows selected. An attribute may stand in both;
    its categories outside the selection then have no rows.

    Raises
    ------
    QueryError
        When an attribute is tabulated twice.
    """

    by: tuple[str, ...] = ()
    where: Selection = field(default_factory=Selection)

    def __post_init__(self) -> None:
        repeated = [name for name in self.by if self.by.count(name) > 1]
        if repeated:
            raise QueryError(
                f"attribute {repeated[0]!r} is tabulated more than once; a table has one axis for "
                "each attribute. Name it once."
            )


def _conjunction(
    pairs: Iterable[tuple[str, frozenset[int]]],
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    remaining: dict[str, frozenset[int]] = {}
    for name, codes in pairs:
        remaining[name] = remaining.get(name, codes) & codes
    return tuple((name, tuple(sorted(codes))) for name, codes in remaining.items())
