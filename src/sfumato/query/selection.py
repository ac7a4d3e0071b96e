"""Selections and predicates: the rows a query is about, as disjoint products of category sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sfumato.errors import QueryError
from sfumato.query.text import Condition, Expression, Joined, Negated, read_query, write_condition
from sfumato.schema import Attribute, Schema
from sfumato.schema.recoding import NOTHING_MERGED, MergedLabels

# --------------------------------------------------------------------------------------------------
# Any combination of conditions as boxes that do not overlap, so that rows of a combination are a sum of
# counts.


Box = dict[str, frozenset[int]]
"""By attribute, the codes that a row may have; an attribute that is not there may have any."""

LARGEST_NUMBER_OF_BOXES = 64
"""Into which one query may be taken apart: the errors of all of them go together, pair by pair."""


def boxes_of(expression: Expression, schema: Schema) -> list[Box]:
    """Boxes that share no row and together have the rows of an expression; at least one, be it empty.

    Raises
    ------
    QueryError
        When they are too many.

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
    >>> either = Joined("OR", (Condition("sex", frozenset({0})), Condition("job", frozenset({1}))))
    >>> for each in boxes_of(either, schema):
    ...     print({name: sorted(codes) for name, codes in each.items()})
    {'sex': [0]}
    {'job': [1], 'sex': [1]}
    """
    sizes = {each.name: each.size for each in schema.attributes}
    plain = _conjunction_of_conditions(expression)
    if plain is not None:
        return [plain]
    found = _boxes(expression, sizes, is_negated=False)
    if found:
        return found
    # Nothing satisfies it: said of the attribute that it mentions first.
    return [{next(_names(expression)): frozenset()}]


def refuse_several() -> NoReturn:
    """Say that one box for a query is all that can be used."""
    raise QueryError(
        "this takes conditions joined by AND, and the query says that one or another of several on different "
        "attributes holds. Ask for each by itself, or leave out OR and NOT (...)."
    )


def _conjunction_of_conditions(expression: Expression) -> Box | None:
    """The one box of conditions joined by AND, with every attribute mentioned, even where none of its codes is left."""
    parts = expression.parts if isinstance(expression, Joined) else (expression,)
    if isinstance(expression, Joined) and expression.word == "OR":
        return None
    box: Box = {}
    for each in parts:
        if not isinstance(each, Condition):
            return None
        box[each.name] = box.get(each.name, each.codes) & each.codes
    return box


def _names(expression: Expression) -> Iterator[str]:
    match expression:
        case Condition(name, _):
            yield name
        case Joined(_, parts):
            yield from itertools.chain.from_iterable(map(_names, parts))
        case Negated(part):
            yield from _names(part)


def _boxes(expression: Expression, sizes: dict[str, int], *, is_negated: bool) -> list[Box]:
    """The boxes of an expression or of its opposite, which is made by turning its words round (De Morgan)."""
    match expression:
        case Negated(part):
            return _boxes(part, sizes, is_negated=not is_negated)
        case Condition(name, codes):
            chosen = frozenset(range(sizes[name])) - codes if is_negated else codes
            return [{name: chosen}] if chosen else []
        case Joined(word, parts):
            all_hold = (word == "AND") != is_negated
            found: list[Box] = [{}] if all_hold else []
            for part in parts:
                others = _boxes(part, sizes, is_negated=is_negated)
                joined = _both(found, others) if all_hold else _either(found, others, sizes)
                found = _merged(_counted(joined), sizes)
            return found


def _both(one: list[Box], other: list[Box]) -> Iterator[Box]:
    """Rows in both: parts of boxes that did not overlap do not overlap."""
    for first, second in itertools.product(one, other):
        common = first | {name: first.get(name, codes) & codes for name, codes in second.items()}
        if all(common.values()):
            yield common


def _either(one: list[Box], other: list[Box], sizes: dict[str, int]) -> Iterator[Box]:
    """Rows in at least one: all of the first, and what of the second lies outside it."""
    yield from one
    for box in other:
        left = [box]
        for taken in one:
            left = [piece for each in left for piece in _outside(each, taken, sizes)]
        yield from left


def _outside(box: Box, taken: Box, sizes: dict[str, int]) -> Iterator[Box]:
    """What of a box lies outside another, in boxes."""

    def held(name: str, within: Box) -> frozenset[int]:
        return within[name] if name in within else frozenset(range(sizes[name]))

    if any(not held(name, box) & codes for name, codes in taken.items()):
        yield box
        return
    rest = box
    for name, codes in taken.items():
        have = held(name, rest)
        if have - codes:
            yield rest | {name: have - codes}
        rest = rest | {name: have & codes}


def _merged(boxes: list[Box], sizes: dict[str, int]) -> list[Box]:
    """The same rows in fewer boxes: two that differ in one attribute alone become one."""
    for i, j in itertools.combinations(range(len(boxes)), 2):
        joined = _union(boxes[i], boxes[j], sizes)
        if joined is not None:
            return _merged([*boxes[:i], joined, *boxes[i + 1 : j], *boxes[j + 1 :]], sizes)
    return boxes


def _union(one: Box, other: Box, sizes: dict[str, int]) -> Box | None:
    """One box with the rows of both, where there is such a box that needs no more than one attribute changed."""
    if one.keys() != other.keys():
        return None
    different = [name for name in one if one[name] != other[name]]
    if len(different) != 1:
        return None
    name = different[0]
    codes = one[name] | other[name]
    if len(codes) == sizes[name]:
        return {each: chosen for each, chosen in one.items() if each != name}
    return one | {name: codes}


def _counted(boxes: Iterable[Box]) -> list[Box]:
    """The boxes, unless they are too many; whoever sends a query does not choose how long it takes."""
    found = list(itertools.islice(boxes, LARGEST_NUMBER_OF_BOXES + 1))
    if len(found) > LARGEST_NUMBER_OF_BOXES:
        raise QueryError(
            f"the query takes more than {LARGEST_NUMBER_OF_BOXES} separate groups of rows to answer, one for each way in "
            "which its conditions can hold. Use fewer ORs over different attributes, or write IN (...) for several "
            "categories of one."
        )
    return found


# --------------------------------------------------------------------------------------------------
# Selections: which rows a question is about, and the query text that says so.


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


# --------------------------------------------------------------------------------------------------
# Predicates: rows chosen by conditions joined in any way.


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
