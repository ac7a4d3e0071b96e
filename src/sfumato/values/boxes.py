"""Any combination of conditions as boxes that do not overlap, so that rows of a combination are a sum of counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NoReturn

from sfumato.errors import QueryError
from sfumato.values.expressions import Condition, Expression, Joined, Negated
from sfumato.values.schema import Schema

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
