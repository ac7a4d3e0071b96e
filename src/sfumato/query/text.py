"""Query text: parsed into an expression tree, and written as a person would."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, cast

from sfumato.errors import QueryError
from sfumato.schema import Attribute, Schema
from sfumato.schema.recoding import NOTHING_MERGED, MergedLabels, ReadAsMerged

# --------------------------------------------------------------------------------------------------
# What a query says, as a tree: conditions, joined and negated.


@dataclass(frozen=True)
class Condition:
    """An attribute has one of these codes."""

    name: str
    codes: frozenset[int]


@dataclass(frozen=True)
class Joined:
    """All of the parts hold, or at least one of them."""

    word: Literal["AND", "OR"]
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Negated:
    """The part does not hold."""

    part: Expression


Expression = Condition | Joined | Negated
EVERY_ROW = Joined("AND", ())
"""What a query without conditions says."""


# --------------------------------------------------------------------------------------------------
# Query text as a person would write it.


BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*+")
"""Names that need no quotes."""

RESERVED = frozenset({"AND", "BETWEEN", "IN", "IS", "MISSING", "NOT", "OR"})
"""Words of the language, which need quotes as names."""


def write_condition(attribute: Attribute, codes: tuple[int, ...]) -> str:
    """The shortest plain text that selects these codes of an attribute.

    Examples
    --------
    >>> from sfumato.schema import Role
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


# --------------------------------------------------------------------------------------------------
# Query text, read into a tree of conditions.


_SHOWN_EDGES = 12
_Kind = Literal["text", "name", "number", "word", "symbol", "stray", "end"]

# Possessive repeats keep reading linear, and make an unclosed quote fail instead of pairing anew.
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<text>'(?:[^']|'')*+')
  | (?P<name>"(?:[^"]|"")*+")
  | (?P<number>[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)(?![\w.])
  | (?P<word>{BARE_NAME.pattern})(?!\w)
  | (?P<symbol><=|>=|!=|<>|==|[<>=(),])
  | (?P<stray>[^\s'"(),=<>!]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)

LARGEST_DEPTH = 50
"""Of parentheses within parentheses."""

_ALLOWED = (
    "A query is conditions joined by AND, OR, NOT and parentheses, each an attribute followed by =, !=, IN (...), "
    "NOT IN (...), IS MISSING or IS NOT MISSING, and on a binned or ordered attribute also by <, <=, >, >= "
    "or BETWEEN ... AND ..."
)
_ADVICE = {
    "(": "Parentheses enclose conditions and the list after IN; there are no functions.",
    "<>": "Write != for 'is different from'.",
    "==": "Write a single = for 'is equal to'.",
    "NULL": "Write IS MISSING for rows without a value.",
    "'": "The quote that opens here is never closed; a quote inside text is doubled.",
    '"': "The quote that opens here is never closed; a quote inside a name is doubled.",
}


def read_query(
    text: str, schema: Schema, merged: MergedLabels = NOTHING_MERGED
) -> tuple[Expression, tuple[str, ...]]:
    r"""What a query says, and what must be said of it. NOT binds closest, then AND, then OR.

    A label that was merged with others is read as all of them, which is said.

    Raises
    ------
    QueryError
        At the first place that cannot be read, with its position.

    Examples
    --------
    >>> schema = Schema.from_toml('[attributes.sex]\nrole = "other"\ncategories = ["F", "M"]')
    >>> read_query("sex != 'M'", schema)
    (Condition(name='sex', codes=frozenset({0})), ())
    """
    parser = _Parser(text, schema, merged)
    expression = parser.query()
    return expression, tuple(dict.fromkeys(each.note for each in parser.read_as_merged))


@dataclass(frozen=True)
class _Token:
    kind: _Kind
    source: str
    position: int

    @property
    def value(self) -> str:
        """What is meant: quotes stripped, doubled ones single."""
        if self.kind not in ("text", "name"):
            return self.source
        quote = self.source[0]
        return self.source[1:-1].replace(quote * 2, quote)

    @property
    def keyword(self) -> str:
        """What the grammar compares with; empty for quoted text, names and numbers."""
        return self.source.upper() if self.kind in ("word", "symbol", "stray", "end") else ""

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the query"
        return self.source if len(self.source) <= 30 else f"{self.source[:29]}…"


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "space":
            yield _Token(cast("_Kind", match.lastgroup), match.group(), match.start())
    yield _Token("end", "", len(text))


class _Parser:
    """Reads conditions one token ahead, so that the first fault in the text is the one reported."""

    def __init__(self, text: str, schema: Schema, merged: MergedLabels) -> None:
        self.read_as_merged: list[ReadAsMerged] = []
        self._schema = schema
        self._merged = merged
        # Identifiers are left out so that they are not suggested for a misspelt name either.
        self._publishable = schema.publishable
        self._tokens = _tokens(text)
        self._next = next(self._tokens)
        self._depth = 0

    def query(self) -> Expression:
        if self._next.kind == "end":
            return EVERY_ROW
        found = self._joined("OR")
        last = self._take()
        if last.kind != "end":
            _refuse_token(last, expected="AND, OR or the end", advice=_ALLOWED)
        return found

    def _joined(self, word: Literal["AND", "OR"]) -> Expression:
        """Parts with a word between them: of OR the parts are joined by AND, of AND they are factors."""
        parts = [self._joined("AND") if word == "OR" else self._factor()]
        while self._next.keyword == word:
            self._take()
            parts.append(self._joined("AND") if word == "OR" else self._factor())
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _factor(self) -> Expression:
        """A condition, or what parentheses hold, perhaps negated."""
        is_negated = False
        while self._next.keyword == "NOT":
            self._take()
            is_negated = not is_negated
        found = self._parentheses() if self._next.keyword == "(" else self._condition()
        return Negated(found) if is_negated else found

    def _parentheses(self) -> Expression:
        opening = self._take()
        self._depth += 1
        if self._depth > LARGEST_DEPTH:
            _refuse(
                opening,
                f"parentheses are more than {LARGEST_DEPTH} deep. Leave out those that change nothing.",
            )
        found = self._joined("OR")
        self._expect(")", advice=f"The parenthesis at character {opening.position + 1} is never closed.")
        self._depth -= 1
        return found

    def _take(self) -> _Token:
        taken = self._next
        self._next = next(self._tokens, taken)
        return taken

    def _expect(self, keyword: str, *, advice: str) -> None:
        token = self._take()
        if token.keyword != keyword:
            _refuse_token(token, expected=keyword, advice=advice)

    def _condition(self) -> Condition:
        attribute = self._attribute()
        operator = self._take()
        match operator.keyword:
            case "=":
                codes = frozenset({self._category(attribute)})
            case "!=":
                codes = frozenset(range(attribute.size)) - {self._category(attribute)}
            case "IN":
                codes = self._categories(attribute)
            case "NOT":
                codes = frozenset(range(attribute.size)) - self._negated(attribute)
            case "IS":
                codes = self._missing(attribute)
            case "<" | "<=" | ">" | ">=" | "BETWEEN":
                codes = self._range(attribute, operator)
            case _:
                after = f"a comparison after {name_text(attribute.name)}"
                _refuse_token(operator, expected=after, advice=_ALLOWED)
        return Condition(attribute.name, codes)

    def _negated(self, attribute: Attribute) -> frozenset[int]:
        """What follows NOT after an attribute."""
        if self._next.keyword == "BETWEEN":
            return self._range(attribute, self._take())
        advice = "After an attribute, NOT stands in NOT IN (...) and NOT BETWEEN ...; to negate a condition write NOT before it."
        self._expect("IN", advice=advice)
        return self._categories(attribute)

    def _attribute(self) -> Attribute:
        token = self._take()
        if token.kind not in ("name", "word"):
            advice = (
                "Names that are not plain words of A-Z, a-z, 0-9, _, . and - stand in double "
                f"quotes. {_ALLOWED}"
            )
            _refuse_token(token, expected="an attribute", advice=advice)
        if token.keyword in RESERVED:
            advice = f'An attribute of that name is written "{token}", in double quotes.'
            _refuse_token(token, expected="an attribute", advice=advice)
        name = token.value
        if self._next.keyword == "(":
            # A function call: better called that than an unknown attribute.
            _refuse_token(self._next, expected=f"a comparison after {token}", advice=_ALLOWED)
        if name in self._schema and not self._schema[name].role.is_published:
            role = self._schema[name].role.as_noun
            _refuse(
                token,
                f"attribute {name!r} is {role}, which no release contains. Ask about another attribute.",
            )
        try:
            return self._publishable[name]
        except QueryError as error:
            _refuse(token, str(error))

    def _category(self, attribute: Attribute) -> int:
        token = self._take()
        name = name_text(attribute.name)
        if token.kind in ("name", "word") and token.keyword != "NULL":
            # Words of the language too: OR may well be Oregon.
            _refuse(
                token,
                f"expected a category of {name}, found {token}. Text stands in single quotes: "
                f"{label_text(token.value)}; attributes are not compared with each other.",
            )
        if token.kind not in ("text", "number"):
            advice = f"Text stands in straight single quotes, as in {label_text(attribute.labels[0])}."
            _refuse_token(token, expected=f"a category of {name}", advice=advice)
        edges = attribute.edges
        if token.kind == "number" and edges is not None:
            examples = " or ".join(f"{name} = {label_text(each)}" for each in attribute.labels[:2])
            _refuse(
                token,
                f"{name} is published in intervals, so {token} is not a category of it. "
                f"Name an interval, as in {examples}, or a range such as "
                f"{name} < {number_text(edges[1])}.",
            )
        if token.value in attribute.missing_values and token.value not in attribute.labels:
            _refuse(
                token,
                f"{token.value!r} stands for a missing value of {name}. Write {name} IS MISSING.",
            )
        try:
            return attribute.code_of(token.value)
        except QueryError as error:
            published = self._merged.label(attribute.name, token.value)
            if published is None:
                _refuse(token, str(error))
        self.read_as_merged.append(ReadAsMerged(attribute.name, token.value, published))
        return attribute.code_of(published)

    def _categories(self, attribute: Attribute) -> frozenset[int]:
        advice = "A list is categories separated by commas, in parentheses: IN ('a', 'b')."
        self._expect("(", advice=advice)
        codes: set[int] = set()
        before = len(self.read_as_merged)
        if self._next.keyword == ")":
            self._take()
            return frozenset()
        while True:
            codes.add(self._category(attribute))
            if self._next.keyword != ",":
                self._expect(")", advice=advice)
                self.read_as_merged[before:] = self._merged.without_whole(self.read_as_merged[before:])
                return frozenset(codes)
            self._take()

    def _missing(self, attribute: Attribute) -> frozenset[int]:
        negated = self._next.keyword == "NOT"
        if negated:
            self._take()
        self._expect("MISSING", advice="After IS stands MISSING or NOT MISSING; categories use =.")
        stated = stated_size(attribute)
        return frozenset(range(stated) if negated else range(stated, attribute.size))

    def _range(self, attribute: Attribute, operator: _Token) -> frozenset[int]:
        name = name_text(attribute.name)
        if not attribute.is_ordered:
            _refuse(
                operator,
                f"{operator} needs an order, and {name} has categories without one; "
                f"only binned and ordered attributes have ranges. Write {name} IN (...) with the categories "
                "meant.",
            )
        if operator.keyword != "BETWEEN":
            cut = self._cut(attribute, operator.keyword)
            below = operator.keyword in ("<", "<=")
            return frozenset(range(cut) if below else range(cut, stated_size(attribute)))
        low = self._next
        first = self._cut(attribute, ">=")
        self._expect("AND", advice="A range between two values is BETWEEN low AND high.")
        high = self._next
        end = self._cut(attribute, "<=")
        both_numbers = low.kind == high.kind == "number"
        if (float(low.value) > float(high.value)) if both_numbers else first > end:
            _refuse(high, "the ends of BETWEEN are in the wrong order. Write the lower first.")
        return frozenset(range(first, end))

    def _cut(self, attribute: Attribute, operator: str) -> int:
        """Read a value; how many categories lie below the cut that it makes."""
        if attribute.edges is None:
            return self._cut_list(attribute, inclusive=operator in ("<=", ">"))
        token = self._take()
        if token.kind != "number":
            advice = "Ranges compare with a number, written without quotes."
            _refuse_token(token, expected="a number", advice=advice)
        number = float(token.value)
        cut = _bins_below(attribute.edges, number, inclusive=operator in ("<=", ">"))
        if cut is None:
            _refuse(token, _off_edge(attribute, attribute.edges, operator, number))
        return cut

    def _cut_list(self, attribute: Attribute, *, inclusive: bool) -> int:
        """Read a category of an ordered list, or any number where its categories are numbers."""
        numbers = attribute.numbers
        if self._next.kind == "number" and numbers is not None:
            find = bisect.bisect_right if inclusive else bisect.bisect_left
            return find(numbers, float(self._take().value))
        token = self._next
        code = self._category(attribute)
        if code == attribute.missing_code:
            _refuse(
                token,
                f"missing values of {name_text(attribute.name)} are neither low nor high. Write IS MISSING.",
            )
        return code + inclusive


def _bins_below(bins: Sequence[float], number: float, *, inclusive: bool) -> int | None:
    """Count the bins below a number (itself included or not); None when it cuts through one."""
    if number < bins[0]:
        return 0
    if number >= bins[-1]:
        return len(bins) - 1
    if not inclusive:
        return bins.index(number) if number in bins else None
    if not _is_whole(bins) or not number.is_integer():
        return None
    # An integer, not a float: from 2**53 on, adding 1 to a float may change nothing.
    successor = int(number) + 1
    return bins.index(successor) if successor in bins else None


def _is_whole(bins: Iterable[float]) -> bool:
    return all(float(edge).is_integer() for edge in bins if math.isfinite(edge))


def _off_edge(attribute: Attribute, bins: Sequence[float], operator: str, number: float) -> str:
    name = name_text(attribute.name)
    low, high = (bins[bisect.bisect_right(bins, number) + step] for step in (-1, 0))
    edges = [number_text(edge) for edge in bins if math.isfinite(edge)]
    if len(edges) > _SHOWN_EDGES:
        edges = [*edges[: _SHOWN_EDGES - 1], "…", edges[-1]]
    exact = "<" if operator in ("<", "<=") else ">="
    near = [edge for edge in (low, high) if math.isfinite(edge)]
    written = " or ".join(f"{name} {exact} {number_text(edge)}" for edge in near)
    convention = ""
    if exact != operator:
        convention = (
            f" ({operator} and BETWEEN count in whole numbers: "
            f"{name} {operator} {number_text(near[-1] - 1)} is {name} {exact} {number_text(near[-1])})"
            if _is_whole(bins)
            else f" ({operator} and BETWEEN need edges that are all whole numbers)"
        )
    return (
        f"{name} {operator} {number_text(number)} would cut through a bin; {name} can be cut at "
        f"{', '.join(edges)}; nearest to {number_text(number)} {'are' if len(near) > 1 else 'is'} "
        f"{' and '.join(map(number_text, near))}. Write {written}{convention}."
    )


def _refuse(token: _Token, sentence: str) -> NoReturn:
    message = f"at character {token.position + 1} of the query: {sentence}"
    # Without a cause: what the schema said is already in the sentence.
    raise QueryError(message, position=token.position) from None


def _refuse_token(token: _Token, *, expected: str, advice: str) -> NoReturn:
    fitting = _ADVICE.get(token.keyword, advice)
    _refuse(token, f"expected {expected}, found {token}. {fitting}")
